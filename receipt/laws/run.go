package laws

import (
	"bytes"
	"fmt"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// tally is what a run-close counts: judgments by arm, outcomes by disposition,
// faults, gaps.
type tally [3 + 11 + 2]uint64

func tallyOf(c receipt.RunClose) tally {
	j, o := c.Judgments, c.Outcomes
	return tally{
		j.Admit, j.Deny, j.Escalate,
		o.Committed, o.Diverged, o.Refused, o.Rejected, o.Expired, o.Cancelled, o.Stale, o.Withheld, o.Rendered, o.Failed, o.Unobserved,
		c.Faults, c.Gaps,
	}
}

func (t *tally) count(a act) {
	switch {
	case a.isJudgment():
		t[a-actAdmit]++
	case a.isOutcome():
		i := 3 + a - actCommitted
		if a >= actFailedUnknown { // counted with failed
			i--
		}
		t[i]++
	case a == actFaultClosed:
		t[14]++
	case a == actGap:
		t[15]++
	}
}

// step is one statement of a run, as it comes.
type step struct {
	seq, index uint64
	flags      byte
	id, prev   digest
	act        act
	known      uint64
	gravity    int
	listed     bool
	vocabulary byte
	count      uint64
	tally      tally
}

func (c *Check) readStep(r *reader) (a step) {
	a.seq, a.index = r.uint64(), r.uint64()
	a.flags = c.readFlags(r, a.index)
	a.id, a.prev = r.digest(), r.optional()
	a.act = act(r.byte())
	if a.flags&flagVersion != 0 {
		return a
	}
	a.known = r.uint64()
	switch {
	case a.act == actRunOpen:
		a.listed, a.vocabulary = r.bool(), r.byte()
	case a.act.isJudgment():
		a.gravity = min(int(r.byte()), 3)
	case a.act == actGap:
		a.count = r.uint64()
	case a.act == actRunClose:
		for i := range a.tally {
			a.tally[i] = r.uint64()
		}
	}
	return a
}

// runState follows one run by seq.
type runState struct {
	names names
	run   Run
	skip  bool // not the run that was asked for

	statements uint64
	last       step     // the last place
	ids        []digest // of the statements in that place, at most a few
	closed     bool
	closing    step
	counted    tally
	gravest    int
	special    [3]*uint64 // first leaf that is disowned, of a later version, in a wrong role
	opened     bool       // a run-open of this version was there
	listed     bool       // and it, or another in its place, lists this log
	vocabulary byte
	unknown    bool // a statement's version is not known

	graded []Finding // holes and forks, until the gravest class is known
	done   bool      // the statements are over
}

const (
	specialDisowned = iota
	specialVersion
	specialRole
)

// readRuns goes through the second order.
func (c *Check) readRuns() error {
	var s runState
	err := c.runs.each(func(record []byte) error {
		r := reader{b: record}
		r.uint64()
		who := r.names()
		tag := r.byte()
		if r.bad {
			return spoilt()
		}
		if s.names == nil || !s.names.equal(who) {
			c.endStatements(&s)
			s = runState{names: bytes.Clone(who), run: who.run(), vocabulary: vocabularyUnknown}
			s.skip = c.o.Only != nil && *c.o.Only != s.run
		}
		if s.skip {
			return nil
		}
		switch tag {
		case tagStatement:
			a := c.readStep(&r)
			if r.bad {
				return spoilt()
			}
			c.place(&s, &a)
		case tagFinding:
			c.endStatements(&s)
			f := readFinding(&r)
			if r.bad {
				return spoilt()
			}
			c.weigh(&s, f)
		}
		return nil
	})
	c.endStatements(&s)
	return err
}

// say adds a finding of the run itself.
func (c *Check) say(s *runState, l Law, answer Answer, code report.Code, flags byte, detail string, leaves ...uint64) {
	f := Finding{
		Law: l, Answer: answer, Code: code, Run: s.run, Evidence: leaves,
		Disowned: flags&flagDisowned != 0, Detail: detail,
	}
	if code == report.CodeLaw5Hole || code == report.CodeLaw5Fork {
		if len(s.graded) < c.o.MaxFindings {
			s.graded = append(s.graded, f)
			return
		}
	}
	c.tell(s, f)
}

// tell adds a finding unless the run is foreign: then none of its laws is
// checked, and one finding a law says so.
func (c *Check) tell(s *runState, f Finding) {
	if c.strangers && restsOnAbsence(f.Code) {
		f.Answer = NotChecked
	}
	if s.opened && !s.listed {
		return
	}
	c.out.add(f)
}

// restsOnAbsence: that something is not there shows it, and a statement by a
// signer who is not known could be just that. What a statement that is there
// shows stands whoever else signs.
func restsOnAbsence(code report.Code) bool {
	switch code {
	case report.CodeLaw1Missing, report.CodeLaw5Hole, report.CodeLaw5Prev, report.CodeLaw5Tally, report.CodeLaw6Closed,
		// an unknown approver may have decided first
		report.CodeLaw2Undecided, report.CodeLaw2Early, report.CodeLaw2Rejected, report.CodeLaw2Mismatch, report.CodeLaw2Late,
		report.CodeLaw2LateLogged, report.CodeLaw2Approval, report.CodeLaw2Rejection:
		return true
	}
	return false
}

// place takes the next statement by seq (law 5).
func (c *Check) place(s *runState, a *step) {
	first := s.statements == 0
	s.statements++
	s.note(a)
	if !first && a.seq == s.last.seq {
		for _, id := range s.ids {
			if id == a.id {
				return // one statement in two leaves, which the first order has told
			}
		}
		c.say(s, NothingMissing, Violated, report.CodeLaw5Fork, a.flags|s.last.flags, fmt.Sprintf("seq %d", a.seq), a.index, s.last.index)
		if len(s.ids) < 8 {
			s.ids = append(s.ids, a.id)
		}
	} else {
		c.follow(s, a, first)
		s.ids = append(s.ids[:0], a.id)
	}
	c.words(s, a)
	if s.closed && a.seq > s.closing.seq {
		c.say(s, NothingMissing, Violated, report.CodeLaw5AfterClose, a.flags|s.closing.flags, fmt.Sprintf("seq %d, closed at %d", a.seq, s.closing.seq), a.index, s.closing.index)
	}
	if a.act == actRunClose && !s.closed {
		s.closed, s.closing = true, *a
		if a.flags&flagVersion == 0 && !s.unknown && a.tally != s.counted {
			c.say(s, NothingMissing, Violated, report.CodeLaw5Tally, a.flags|s.allFlags(), tallyDetail(a.tally, s.counted), a.index)
		}
	}
	s.counted.count(a.act)
	s.last = *a
}

// note remembers what the run as a whole is weighed by.
func (s *runState) note(a *step) {
	for i, flag := range []byte{flagDisowned, flagVersion, flagWrongRole} {
		if a.flags&flag != 0 && s.special[i] == nil {
			index := a.index
			s.special[i] = &index
		}
	}
	s.unknown = s.unknown || a.flags&flagVersion != 0
	s.gravest = max(s.gravest, a.gravity)
	if a.act == actRunOpen && a.flags&flagVersion == 0 {
		if !s.opened {
			s.vocabulary = a.vocabulary
		}
		s.opened = true
		s.listed = s.listed || a.listed
	}
}

// allFlags: what rests on the whole run rests on its disowned leaves.
func (s *runState) allFlags() byte {
	if s.special[specialDisowned] != nil {
		return flagDisowned
	}
	return 0
}

// follow holds a statement to the one in the place before it.
func (c *Check) follow(s *runState, a *step, first bool) {
	next, evidence := uint64(0), []uint64{a.index}
	flags := a.flags
	if !first {
		next = s.last.seq + 1
		evidence = append(evidence, s.last.index)
		flags |= s.last.flags
	}
	missing := a.seq - next
	linked := !first
	if a.act == actGap && a.flags&flagVersion != 0 && missing > 0 {
		missing = 0 // how many it says are lost is not known; the run is not checked
	}
	if a.act == actGap && a.flags&flagVersion == 0 {
		switch {
		case a.count > missing:
			c.say(s, NothingMissing, Violated, report.CodeLaw5Contradicted, flags, fmt.Sprintf("a gap of %d at seq %d", a.count, a.seq), evidence...)
			linked = false // it links to the last that it knows
		case a.count < missing:
			c.hole(s, next, a.seq-a.count-1, flags, evidence)
			linked = false
		}
		c.say(s, NothingMissing, NotChecked, report.CodeLaw5Gap, flags, fmt.Sprintf("a gap of %d at seq %d", a.count, a.seq), evidence...)
	} else if missing > 0 {
		c.hole(s, next, a.seq-1, flags, evidence)
		linked = false
	}
	if linked && !s.holds(a.prev) {
		c.say(s, NothingMissing, Violated, report.CodeLaw5Prev, flags, fmt.Sprintf("seq %d", a.seq), evidence...)
	}
	if !first && a.index < s.last.index {
		c.say(s, NothingMissing, Violated, report.CodeLaw5Order, flags, fmt.Sprintf("seq %d before seq %d", a.seq, s.last.seq), evidence...)
	}
}

func (s *runState) holds(id digest) bool {
	for _, x := range s.ids {
		if x == id {
			return true
		}
	}
	return false
}

func (c *Check) hole(s *runState, from, to uint64, flags byte, evidence []uint64) {
	detail := fmt.Sprintf("seq %d", from)
	if to > from {
		detail = fmt.Sprintf("seq %d to %d", from, to)
	}
	c.say(s, NothingMissing, Violated, report.CodeLaw5Hole, flags, detail, evidence...)
}

// words is law 8.
func (c *Check) words(s *runState, a *step) {
	if a.flags&flagVersion != 0 || s.vocabulary == vocabularyUnknown {
		return
	}
	if a.known&(1<<s.vocabulary) == 0 {
		c.say(s, ClosedVocabulary, Violated, report.CodeLaw8Word, a.flags, fmt.Sprintf("seq %d", a.seq), a.index)
	}
}

// endStatements says what the run as a whole shows. It may be called twice.
func (c *Check) endStatements(s *runState) {
	if s.done || s.skip || s.statements == 0 {
		return
	}
	s.done = true
	c.rep.Runs++
	if s.opened && !s.listed {
		for _, l := range All() {
			c.out.add(Finding{Law: l, Code: report.CodeLawForeign, Run: s.run, Evidence: []uint64{s.last.index}})
		}
		return
	}
	for _, f := range s.graded {
		f.Gravest = classOf(s.gravest)
		c.tell(s, f)
	}
	for i, code := range []report.Code{report.CodeLawDisowned, report.CodeLawVersion, report.CodeLawRole} {
		if s.special[i] == nil {
			continue
		}
		for _, l := range All() {
			c.tell(s, Finding{Law: l, Code: code, Run: s.run, Evidence: []uint64{*s.special[i]}, Disowned: i == specialDisowned})
		}
	}
	if !s.closed {
		c.say(s, NothingMissing, NotChecked, report.CodeLaw5Open, 0, "", s.last.index)
		c.say(s, NothingHanging, NotChecked, report.CodeLaw6Open, 0, "", s.last.index)
	}
	if s.vocabulary == vocabularyUnknown {
		c.say(s, ClosedVocabulary, NotChecked, report.CodeLaw8Vocabulary, 0, "", s.last.index)
	}
}

// weigh takes what was found about the run elsewhere.
func (c *Check) weigh(s *runState, f finding) {
	x := Finding{
		Law: f.law, Answer: Violated, Code: f.code, Run: s.run,
		Evidence: append([]uint64{}, f.evidence[:f.leaves]...), Disowned: f.flags&flagDisowned != 0,
	}
	switch {
	case f.only, f.hangs && !s.closed:
		x.Answer = NotChecked
	case f.hangs:
		x.Detail = string(f.code)
		x.Code = report.CodeLaw6Closed
		x.Evidence = append(x.Evidence, s.closing.index)
		x.Disowned = x.Disowned || s.closing.flags&flagDisowned != 0
	}
	c.tell(s, x)
}

func tallyDetail(said, counted tally) string {
	words := [...]string{
		"admit", "deny", "escalate", "committed", "diverged", "refused", "rejected", "expired", "cancelled",
		"stale", "withheld", "rendered", "failed", "unobserved", "faults", "gaps",
	}
	for i, w := range words {
		if said[i] != counted[i] {
			return fmt.Sprintf("%s: says %d, has %d", w, said[i], counted[i])
		}
	}
	return ""
}
