package laws

import (
	"bytes"

	"github.com/obstat/obstat/report"
)

// readCompensation is law 7.
func (c *Check) readCompensation(ds *dossier, index uint64, r *reader) error {
	flags, who := c.readFlags(r, index), r.names()
	committed, attested := r.bool(), r.bool()
	s := &ds.subject
	x := finding{law: UndoneSoundly, flags: flags, evidence: evidence(index), leaves: 1}
	if s.has {
		x.flags |= s.flags
		x.evidence[1], x.leaves = s.index, 2
	}
	found := func(code report.Code, only bool) error {
		x.code, x.only = code, only
		return c.find(x, who.run())
	}
	switch {
	case !s.has: // it may stand in another log
		return found(report.CodeLaw7Missing, true)
	case s.flags&flagVersion != 0:
		return found(report.CodeLawVersion, true)
	case !s.act.isOutcome():
		return found(report.CodeLaw7Kind, false)
	}
	if index < s.index {
		if err := found(report.CodeLaw7Later, false); err != nil {
			return err
		}
	}
	if !attested {
		return found(report.CodeLaw7Unobservable, true)
	}
	recorded, unchanged := true, true
	for len(r.b) > 0 && !r.bad {
		same := r.bool()
		entry := r.entry()
		unchanged = unchanged && same
		recorded = recorded && holdsEntry(s.wrote, entry)
	}
	if !recorded {
		if err := found(report.CodeLaw7Expected, false); err != nil {
			return err
		}
	}
	if committed && !unchanged {
		return found(report.CodeLaw7Overwrote, false)
	}
	return nil
}

// entry reads a value and the digest behind it as one byte string.
func (r *reader) entry() []byte {
	all := r.b
	r.byte()
	n := r.take(2)
	r.take(int(n[0])<<8 | int(n[1]))
	r.take(32)
	if r.bad {
		return nil
	}
	return all[:len(all)-len(r.b)]
}

func holdsEntry(wrote, entry []byte) bool {
	r := reader{b: wrote}
	for len(r.b) > 0 && !r.bad {
		if bytes.Equal(r.entry(), entry) {
			return true
		}
	}
	return false
}
