package receipt

import "github.com/obstat/obstat/verdict"

// RunClose closes a run and says what stands in it (spec/receipt.md#run-close).
// Counts are of statements that the engine knows, so those lost behind a gap
// are in none of them.
type RunClose struct {
	Judgments JudgmentTally
	Outcomes  OutcomeTally
	Faults    uint64
	Gaps      uint64
}

// JudgmentTally counts judgments by arm.
type JudgmentTally struct {
	Admit, Deny, Escalate uint64
}

// OutcomeTally counts outcomes by disposition.
type OutcomeTally struct {
	Committed, Diverged, Refused, Rejected, Expired, Cancelled, Stale,
	Withheld, Rendered, Failed, Unobserved uint64
}

// Total is the number of judgments.
func (t JudgmentTally) Total() uint64 { return t.Admit + t.Deny + t.Escalate }

// Total is the number of outcomes.
func (t OutcomeTally) Total() uint64 {
	n := uint64(0)
	for _, f := range t.fields() {
		n += *f.count
	}
	return n
}

// Statements is the number of statements in the run, the run-open and this
// run-close included.
func (c RunClose) Statements() uint64 {
	return 2 + c.Judgments.Total() + c.Outcomes.Total() + c.Faults + c.Gaps
}

// Count adds one statement of the run to the tally. A run-open, a run-close and
// a decision change nothing: the first two are always one each, and the last
// is outside the run.
func (c *RunClose) Count(r Receipt) {
	switch r := r.(type) {
	case Judgment:
		switch r.Ruling.verdict.Arm() {
		case verdict.ArmAdmit:
			c.Judgments.Admit++
		case verdict.ArmDeny:
			c.Judgments.Deny++
		case verdict.ArmEscalate:
			c.Judgments.Escalate++
		}
	case Outcome:
		if r.Disposition == nil {
			return
		}
		for _, f := range c.Outcomes.fields() {
			if f.word == r.Disposition.Word() {
				*f.count++
			}
		}
	case Fault:
		c.Faults++
	case Gap:
		c.Gaps++
	}
}

type tallyField struct {
	word  string
	count *uint64
}

func (t *JudgmentTally) fields() []tallyField {
	return []tallyField{
		{verdict.ArmAdmit.String(), &t.Admit},
		{verdict.ArmDeny.String(), &t.Deny},
		{verdict.ArmEscalate.String(), &t.Escalate},
	}
}

func (t *OutcomeTally) fields() []tallyField {
	return []tallyField{
		{wordCommitted, &t.Committed}, {wordDiverged, &t.Diverged}, {wordRefused, &t.Refused},
		{wordRejected, &t.Rejected}, {wordExpired, &t.Expired}, {wordCancelled, &t.Cancelled},
		{wordStale, &t.Stale}, {wordWithheld, &t.Withheld}, {wordRendered, &t.Rendered},
		{wordFailed, &t.Failed}, {wordUnobserved, &t.Unobserved},
	}
}
