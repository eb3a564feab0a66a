package laws

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// Check holds the statements of one log to the laws. It is made by New, fed by
// Add and used up by Finish or Close, all from one goroutine.
type Check struct {
	o        Options
	budget   budget
	dossiers table // by statement
	uses     table // by approval
	runs     table // by run

	rec   record // being written
	leaf  leaf   // being taken
	out   *findings
	rep   Report
	added bool
	// strangers: a statement is by a signer who is not known, and might be one
	// that is missed elsewhere.
	strangers bool
	cosig     []Cosigned // by time, descending; Size is the least of this and later times
}

// New returns a check. It refuses more vocabularies than MaxVocabularies.
func New(o Options) (*Check, error) {
	if len(o.Vocabularies) > MaxVocabularies {
		return nil, &report.Error{Code: report.CodeInternal, Where: "vocabularies", Expected: fmt.Sprintf("at most %d", MaxVocabularies), Actual: fmt.Sprint(len(o.Vocabularies))}
	}
	if o.MaxState == 0 {
		o.MaxState = DefaultMaxState
	}
	if o.MaxFindings == 0 {
		o.MaxFindings = DefaultMaxFindings
	}
	c := &Check{o: o, budget: budget{left: o.MaxState, spill: o.NewSorter}}
	c.dossiers.budget, c.uses.budget, c.runs.budget = &c.budget, &c.budget, &c.budget
	c.out = newFindings(o.MaxFindings)
	c.cosig = slices.Clone(o.Cosigned)
	slices.SortFunc(c.cosig, func(a, b Cosigned) int { return cmp.Compare(b.Time, a.Time) })
	for i := 1; i < len(c.cosig); i++ {
		c.cosig[i].Size = min(c.cosig[i].Size, c.cosig[i-1].Size)
	}
	if o.Now == 0 && len(c.cosig) > 0 {
		c.o.Now = c.cosig[0].Time
	}
	return c, nil
}

// cosignedWithout reports whether a cosignature later than ms covers a tree that
// does not hold index.
func (c *Check) cosignedWithout(ms int64, index uint64) bool {
	later, _ := slices.BinarySearchFunc(c.cosig, ms, func(s Cosigned, ms int64) int {
		if s.Time > ms {
			return -1
		}
		return 1
	})
	return later > 0 && c.cosig[later-1].Size <= index
}

// Add takes the next statement; indexes ascend. The error is the sorter's, or
// says that the entry does not come in log order.
func (c *Check) Add(e Entry) error {
	if c.added && e.Index < c.rep.Size || len(e.Principal) > 255 {
		return &report.Error{
			Code: report.CodeInternal, Where: fmt.Sprintf("leaf %d", e.Index),
			Expected: "leaves in log order, and principals of at most 255 bytes",
			Actual:   fmt.Sprintf("size %d before it, principal of %d bytes", c.rep.Size, len(e.Principal)),
		}
	}
	c.added = true
	c.rep.Size = e.Index + 1
	c.rep.Statements++
	if e.Decoded != nil {
		e.Frame = e.Decoded.Frame()
	}
	if e.Principal == "" {
		c.strangers = true
		for _, l := range All() {
			c.out.add(Finding{Law: l, Code: report.CodeLawSigner, Evidence: []uint64{e.Index}})
		}
		return nil
	}
	c.leaf = leaf{Entry: e, flags: flagsOf(&e), run: Run{e.Principal, e.Frame.Call.Run}, id: e.Frame.CID.Digest()}
	if e.Frame.Kind == receipt.KindDecision {
		return c.addDecision(&c.leaf)
	}
	return c.addPlaced(&c.leaf)
}

// leaf is an entry on its way into records.
type leaf struct {
	Entry
	flags byte
	run   Run
	id    digest
}

// flagsOf returns what is known while leaves come.
func flagsOf(e *Entry) (flags byte) {
	if e.Decoded == nil {
		flags |= flagVersion
	}
	if e.Role != receipt.RoleFor(e.Frame.Kind) {
		flags |= flagWrongRole
	}
	return flags
}

func (c *Check) addDecision(l *leaf) error {
	r := &c.rec
	r.head(l.id, tagSubject, l.Index)
	r.signer(l)
	r.run(l.run)
	r.byte(byte(actDecision))
	if err := c.dossiers.add(*r); err != nil {
		return err
	}
	if l.flags&flagWrongRole != 0 {
		return nil // not an approver's: it decides nothing
	}
	r.head(l.Frame.Call.Settles.Digest(), tagDecision, l.Index)
	r.signer(l)
	if l.Decoded != nil {
		d, ok := l.Decoded.Statement.Receipt.(receipt.Decision)
		if !ok {
			return nil
		}
		r.digest(l.id)
		r.digest(d.Judgment.Digest())
		r.digest(d.Request)
		*r = append(*r, d.Ticket[:]...)
		r.bool(d.Answer == receipt.Approve)
		r.uint64(uint64(l.Frame.Call.At))
	}
	return c.dossiers.add(*r)
}

// addPlaced takes a statement that has a place in a run.
func (c *Check) addPlaced(l *leaf) error {
	if err := c.addSubject(l); err != nil {
		return err
	}
	if err := c.addToRun(l); err != nil {
		return err
	}
	if !l.Frame.Call.Settles.IsZero() {
		return c.addAnswer(l)
	}
	return nil
}

func (c *Check) addSubject(l *leaf) error {
	r := &c.rec
	r.head(l.id, tagSubject, l.Index)
	r.signer(l)
	r.run(l.run)
	if l.Decoded == nil {
		r.byte(byte(actOfKind(l.Frame.Kind)))
		return c.dossiers.add(*r)
	}
	actAt := len(*r)
	r.byte(byte(actOther))
	r.digest(l.Frame.ReceiptCID.Digest())
	kind := actOther
	switch s := l.Decoded.Statement.Receipt.(type) {
	case receipt.RunOpen:
		kind = actRunOpen
	case receipt.Gap:
		kind = actGap
	case receipt.RunClose:
		kind = actRunClose
	case receipt.Judgment:
		r.digest(s.Request.Digest)
		switch v := s.Ruling.Verdict(); v.Arm() {
		case verdict.ArmAdmit:
			kind = actAdmit
		case verdict.ArmDeny:
			kind = actDeny
		case verdict.ArmEscalate:
			kind = actEscalate
			ticket, err := preview.TicketOf(s.Request.Digest, v)
			if err != nil {
				return err // an escalation has a ticket
			}
			*r = append(*r, ticket[:]...)
			r.uint64(uint64(l.Frame.Call.Expires))
		}
	case receipt.Fault:
		kind = actFaultClosed
		if p, open := s.Posture.(receipt.FailOpen); open {
			kind = actFaultOpen
			r.digest(p.Request.Digest)
		}
	case receipt.Outcome:
		kind = actOfDisposition(s.Disposition)
		r.digest(s.Request)
		r.cid(receipt.ApprovalOf(s.Disposition))
		if d, ok := s.Disposition.(receipt.Committed); ok {
			for _, w := range d.Wrote {
				r.value(w.Key)
				r.digest(w.Value)
			}
		}
	}
	(*r)[actAt] = byte(kind)
	return c.dossiers.add(*r)
}

// addAnswer takes an outcome as what it says about the statement it settles,
// and about what it compensates.
func (c *Check) addAnswer(l *leaf) error {
	r := &c.rec
	r.head(l.Frame.Call.Settles.Digest(), tagAnswer, l.Index)
	r.signer(l)
	r.run(l.run)
	if l.Decoded == nil {
		return c.dossiers.add(*r)
	}
	o, ok := l.Decoded.Statement.Receipt.(receipt.Outcome)
	if !ok {
		return nil
	}
	fired := true
	rests := receipt.ApprovalOf(o.Disposition)
	switch d := o.Disposition.(type) {
	case receipt.Committed:
		fired = d.Fired == o.Request
	case receipt.Rejected:
		rests = d.Decision
	}
	r.digest(l.id)
	r.byte(byte(actOfDisposition(o.Disposition)))
	r.digest(o.Of.Digest())
	r.digest(o.Request)
	r.bool(fired)
	r.cid(rests)
	seen := uint64(0)
	if s := l.Frame.Call.Seen; s.Origin == c.o.Origin {
		seen = s.Size
	}
	r.uint64(seen)
	if err := c.dossiers.add(*r); err != nil {
		return err
	}
	return c.addCompensation(l, &o)
}

func (c *Check) addCompensation(l *leaf, o *receipt.Outcome) error {
	if o.Compensates == nil {
		return nil
	}
	r := &c.rec
	r.head(o.Compensates.Outcome.Digest(), tagCompensation, l.Index)
	r.signer(l)
	r.run(l.run)
	_, committed := o.Disposition.(receipt.Committed)
	r.bool(committed)
	attested, ok := o.Compensates.Observation.(receipt.Attested)
	r.bool(ok)
	for _, k := range attested.Compared {
		r.bool(k.Expected == k.Seen)
		r.value(k.Key)
		r.digest(k.Expected)
	}
	return c.dossiers.add(*r)
}

// addToRun takes a statement as a place of its run.
func (c *Check) addToRun(l *leaf) error {
	r := &c.rec
	call := &l.Frame.Call
	r.headOfRun(l.run, tagStatement)
	r.uint64(call.Seq)
	r.uint64(l.Index)
	r.signer(l)
	r.digest(l.id)
	r.cid(call.Prev)
	if l.Decoded == nil {
		r.byte(byte(actOfKind(l.Frame.Kind)))
		return c.runs.add(*r)
	}
	known := uint64(0) // bit i: vocabulary i knows every word
	for i, v := range c.o.Vocabularies {
		if where, _ := v.Unknown(l.Decoded.Statement.Receipt); where == "" {
			known |= 1 << i
		}
	}
	switch s := l.Decoded.Statement.Receipt.(type) {
	case receipt.RunOpen:
		r.byte(byte(actRunOpen))
		r.uint64(known)
		r.bool(c.o.Origin == "" || slices.Contains(s.Logs, c.o.Origin))
		r.byte(c.vocabulary(s.Vocabulary))
	case receipt.Judgment:
		kind := actAdmit
		switch s.Ruling.Verdict().Arm() {
		case verdict.ArmDeny:
			kind = actDeny
		case verdict.ArmEscalate:
			kind = actEscalate
		}
		r.byte(byte(kind))
		r.uint64(known)
		r.byte(byte(gravity(s.Class)))
	case receipt.Outcome:
		r.byte(byte(actOfDisposition(s.Disposition)))
		r.uint64(known)
	case receipt.Fault:
		r.byte(byte(actFaultClosed)) // the posture is not counted
		r.uint64(known)
	case receipt.Gap:
		r.byte(byte(actGap))
		r.uint64(known)
		r.uint64(s.Count)
	case receipt.RunClose:
		r.byte(byte(actRunClose))
		r.uint64(known)
		for _, n := range tallyOf(s) {
			r.uint64(n)
		}
	}
	return c.runs.add(*r)
}

const vocabularyUnknown = 255

// vocabulary returns the place of a vocabulary in the options.
func (c *Check) vocabulary(digest [32]byte) byte {
	for i, v := range c.o.Vocabularies {
		if v.Digest() == digest {
			return byte(i)
		}
	}
	return vocabularyUnknown
}

// gravity ranks classes; 0 is none seen.
func gravity(c receipt.Class) int {
	switch c {
	case receipt.Green:
		return 1
	case receipt.Yellow:
		return 2
	case receipt.Red:
		return 3
	}
	return 0
}

func classOf(gravity int) receipt.Class {
	return [...]receipt.Class{"", receipt.Green, receipt.Yellow, receipt.Red}[gravity]
}

// Finish decides the laws and lets go of all state. The error is the sorter's.
func (c *Check) Finish() (*Report, error) {
	if err := errors.Join(c.finish(), c.Close()); err != nil {
		return nil, err
	}
	return &c.rep, nil
}

// Close lets go of all state without deciding anything. After Finish there is
// nothing left to let go of.
func (c *Check) Close() error {
	var err error
	for _, t := range []*table{&c.dossiers, &c.uses, &c.runs} {
		err = errors.Join(err, t.close())
	}
	return err
}

func (c *Check) finish() error {
	for _, read := range []func() error{c.readDossiers, c.readUses, c.readRuns} {
		if c.budget.over { // adding to a later order may pass the bound too
			break
		}
		if err := read(); err != nil {
			return err
		}
	}
	if c.budget.over {
		c.out = newFindings(c.o.MaxFindings)
		c.rep.Runs, c.rep.Outcomes, c.rep.Seen, c.rep.Late = 0, 0, 0, 0
		for _, l := range All() {
			c.out.add(Finding{Law: l, Code: report.CodeLawStateLimit})
		}
	} else if c.rep.Runs == 0 {
		for _, l := range All() {
			c.out.add(Finding{Law: l, Code: report.CodeLawNothing})
		}
	}
	c.rep.Findings, c.rep.Results = c.out.sorted()
	return nil
}
