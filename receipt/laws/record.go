package laws

import (
	"bytes"
	"encoding/binary"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// Records are byte strings whose order is the order in which they are needed.
// Those about statements begin
//
//	digest of the statement's CID (32) | tag (1) | index (8)
//
// and those about runs begin
//
//	hash of principal and run (8) | principal | run | tag (1) | seq or law (8) | index (8)
//
// with texts behind a length byte. The hash only brings the records of a run
// together quickly; the names behind it decide.

// Tags of the first order.
const (
	tagSubject      = 0 // the statement itself
	tagDecision     = 1 // a decision that settles it
	tagAnswer       = 2 // an outcome that settles it
	tagCompensation = 3 // an outcome that compensates it
)

// Tags of the second order.
const (
	tagStatement = 0
	tagFinding   = 1
)

// Flags of a leaf. Its record has those that are known while leaves come, and
// the signer's key behind them; readFlags asks whether the leaf is disowned.
const (
	flagDisowned  = 1 << 0
	flagVersion   = 1 << 1 // only the frame is known
	flagWrongRole = 1 << 2
)

// act is what a statement does: kind and arm in one byte, as far as the laws ask.
type act uint8

const (
	actOther act = iota // a kind of a later version
	actRunOpen
	actAdmit
	actDeny
	actEscalate
	actDecision
	actFaultClosed
	actFaultOpen
	actGap
	actRunClose
	// outcomes
	actCommitted
	actDiverged
	actRefused
	actRejected
	actExpired
	actCancelled
	actStale
	actWithheld
	actRendered
	actFailed
	actFailedUnknown
	actUnobserved
	actJudgment // of a later version
	actOutcome  // of a later version
	actFault    // of a later version
)

func (a act) isOutcome() bool { return a >= actCommitted && a <= actUnobserved }

func (a act) isJudgment() bool { return a >= actAdmit && a <= actEscalate }

// attempted: the effect was fired, whatever came of it.
func (a act) attempted() bool {
	return a == actCommitted || a == actFailed || a == actFailedUnknown || a == actUnobserved
}

// leftOpen: one later outcome may settle this one.
func (a act) leftOpen() bool { return a == actUnobserved || a == actFailedUnknown }

func actOfDisposition(d receipt.Disposition) act {
	switch d := d.(type) {
	case receipt.Committed:
		return actCommitted
	case receipt.Diverged:
		return actDiverged
	case receipt.Refused:
		return actRefused
	case receipt.Rejected:
		return actRejected
	case receipt.Expired:
		return actExpired
	case receipt.Cancelled:
		return actCancelled
	case receipt.Stale:
		return actStale
	case receipt.Withheld:
		return actWithheld
	case receipt.Rendered:
		return actRendered
	case receipt.Failed:
		if d.Restored == receipt.RestoredUnknown {
			return actFailedUnknown
		}
		return actFailed
	case receipt.Unobserved:
		return actUnobserved
	}
	return actOther
}

// actOfKind is what the frame alone tells.
func actOfKind(k receipt.Kind) act {
	switch k {
	case receipt.KindRunOpen:
		return actRunOpen
	case receipt.KindJudgment:
		return actJudgment
	case receipt.KindDecision:
		return actDecision
	case receipt.KindOutcome:
		return actOutcome
	case receipt.KindFault:
		return actFault
	case receipt.KindGap:
		return actGap
	case receipt.KindRunClose:
		return actRunClose
	}
	return actOther
}

type digest = [32]byte

// record is one being written.
type record []byte

func (r *record) byte(b byte) { *r = append(*r, b) }

func (r *record) uint64(v uint64) { *r = binary.BigEndian.AppendUint64(*r, v) }

func (r *record) digest(d digest) { *r = append(*r, d[:]...) }

func (r *record) bool(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	r.byte(b)
}

func (r *record) text(s string) {
	r.byte(byte(len(s)))
	*r = append(*r, s...)
}

// cid writes the digest of a CID, or one byte for none.
func (r *record) cid(c receipt.CID) {
	r.bool(!c.IsZero())
	if !c.IsZero() {
		*r = append(*r, c[len(c)-32:]...)
	}
}

// signer writes the flags of a leaf and the number of its signer's key.
func (r *record) signer(l *leaf) {
	r.byte(l.flags)
	*r = binary.BigEndian.AppendUint32(*r, l.Key)
}

// readFlags reads what signer wrote of the leaf at index.
func (c *Check) readFlags(r *reader, index uint64) byte {
	flags, key := r.byte(), binary.BigEndian.Uint32(r.take(4))
	if !r.bad && c.o.Disowned != nil && c.o.Disowned(key, index) {
		flags |= flagDisowned
	}
	return flags
}

func (r *record) run(run Run) {
	r.text(run.Principal)
	r.text(string(run.Name))
}

// value writes what tells one value from another: its form and its bytes.
func (r *record) value(v receipt.Value) {
	if c, ok := v.Commitment(); ok {
		*r = append(append(*r, 0, 0, 32), c[:]...)
		return
	}
	clear, _ := v.ClearForm() // at most 1,024 bytes
	*r = binary.BigEndian.AppendUint16(append(*r, 1), uint16(len(clear)))
	*r = append(*r, clear...)
}

// head begins a record about a statement.
func (r *record) head(id digest, tag byte, index uint64) {
	*r = (*r)[:0]
	r.digest(id)
	r.byte(tag)
	r.uint64(index)
}

// headOfRun begins a record about a run.
func (r *record) headOfRun(run Run, tag byte) {
	*r = (*r)[:0]
	r.uint64(hashOf(run))
	r.run(run)
	r.byte(tag)
}

// hashOf is FNV-1a over both names. Nothing rests on it but speed.
func hashOf(run Run) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for i := range len(run.Principal) {
		h = (h ^ uint64(run.Principal[i])) * prime
	}
	h *= prime
	for i := range len(run.Name) {
		h = (h ^ uint64(run.Name[i])) * prime
	}
	return h
}

// reader takes a record apart. A record that a Sorter has spoilt makes bad true
// and reads as zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return make([]byte, n)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte { return r.take(1)[0] }

func (r *reader) bool() bool { return r.byte() != 0 }

func (r *reader) uint64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }

func (r *reader) digest() digest { return digest(r.take(32)) }

func (r *reader) text() []byte { return r.take(int(r.byte())) }

// optional reads what record.cid wrote; zeros are none.
func (r *reader) optional() (d digest) {
	if r.bool() {
		return r.digest()
	}
	return d
}

// names reads what record.run wrote as one byte string, to be compared.
func (r *reader) names() names {
	all := r.b
	p := r.text()
	n := r.text()
	if r.bad {
		return nil
	}
	return names(all[:2+len(p)+len(n)])
}

// names is principal and run, each behind its length.
type names []byte

func (n names) principal() []byte {
	if len(n) == 0 {
		return nil
	}
	return n[1 : 1+int(n[0])]
}

func (n names) run() Run {
	if len(n) == 0 {
		return Run{}
	}
	p := n.principal()
	return Run{Principal: string(p), Name: receipt.Name(n[2+len(p):])}
}

func (n names) equal(m names) bool { return bytes.Equal(n, m) }

func spoilt() error {
	return &report.Error{Code: report.CodeInternal, Expected: "the records that were added", Actual: "another record", Fix: "the sorter that was given is broken"}
}
