package laws

import "github.com/obstat/obstat/report"

// readUses is law 4 for approvals: the second order of outcomes, by the
// approval they rest on. Only those that answer a judgment or fault are there,
// since an outcome that settles another rests on the approval of that one.
func (c *Check) readUses() error {
	var last digest
	var first uint64
	var firstFlags byte
	started := false
	return c.uses.each(func(record []byte) error {
		r := reader{b: record}
		id, _, index := r.digest(), r.byte(), r.uint64()
		flags, who := r.byte(), r.names()
		if r.bad {
			return spoilt()
		}
		if started && id == last {
			return c.find(finding{law: SettledOnce, code: report.CodeLaw4Approval, flags: flags | firstFlags,
				evidence: evidence(index, first), leaves: 2}, who.run())
		}
		started, last, first, firstFlags = true, id, index, flags
		return nil
	})
}
