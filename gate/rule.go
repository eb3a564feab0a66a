package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// Proposal is what a rule judges: the preview that will have the digest, as
// values, and what the engine says about it. It is not changed.
type Proposal struct {
	preview.Preview
	Class      receipt.Class
	Origin     verdict.Origin
	Reversible bool // the gate will hold what undoes it
}

// ReservedName begins the names of rules that are the gate's own.
const ReservedName = "obstat/"

// Rule judges proposals. Several rules meet by package verdict: a denial stands
// whatever the others say, an escalation stands over an admit, and an admit
// needs at least one rule that admits.
//
// A rule that has nothing to say about a proposal returns the zero Verdict. A
// rule that could not judge returns an error, which is a fault and lets nothing
// happen. Reasons are words of the run's vocabulary; other words are a fault.
type Rule interface {
	Judge(ctx context.Context, p Proposal) (verdict.Verdict, error)
}

// RuleFunc is a function as a Rule.
type RuleFunc func(ctx context.Context, p Proposal) (verdict.Verdict, error)

// Judge calls f.
func (f RuleFunc) Judge(ctx context.Context, p Proposal) (verdict.Verdict, error) { return f(ctx, p) }

// Standing is a rule whose judgments can lose their ground. A commit asks it
// before it fires, and refuses with the code, a word of the vocabulary for this
// place, where there is an error.
type Standing interface {
	Rule
	Stands(ctx context.Context) (receipt.Code, error)
}

// ruleTime is how long one rule may take. A rule that heeds its context then
// ends in RULE-TIMED-OUT; nothing happens while one does not.
const ruleTime = 10 * time.Second

// judge asks every rule. Where all of them had nothing to say the answer is a
// denial: what no rule admits does not happen. rest is what those that could
// judge say together.
func judge(ctx context.Context, rules []Rule, p Proposal) (v verdict.Verdict, rest verdict.Evaluation, err error) {
	var met verdict.Evaluation
	var first error
	for _, r := range rules {
		p := p // its own: a rule that changes what it was shown changes it for nobody
		p.Inputs, p.Slots, p.Effects, p.Reads = slices.Clone(p.Inputs), slices.Clone(p.Slots), slices.Clone(p.Effects), slices.Clone(p.Reads)
		v, err := ask(ctx, r, p)
		met = verdict.Meet(met, verdict.Evaluated(v, err))
		if err == nil {
			rest = verdict.Meet(rest, verdict.Evaluated(v, nil))
		} else if first == nil {
			first = err
		}
	}
	if met.Equal(verdict.Evaluation{}) {
		v, err = verdict.Deny(string(codeNoRule))
		return v, rest, err
	}
	v, err = met.Result()
	if err != nil && first != nil {
		err = &evaluationError{err, first}
	}
	return v, rest, err
}

// evaluationError is a fault of rules with what the first of them says about it.
type evaluationError struct{ fault, first error }

func (e *evaluationError) Error() string   { return e.fault.Error() + ": " + e.first.Error() }
func (e *evaluationError) Unwrap() []error { return []error{e.fault, e.first} }

// ask asks one rule; a rule that panics has failed.
func ask(ctx context.Context, r Rule, p Proposal) (v verdict.Verdict, err error) {
	ctx, cancel := context.WithTimeout(ctx, ruleTime)
	defer cancel()
	defer func() {
		if e := recover(); e != nil {
			v, err = verdict.Verdict{}, faultOf(codeRuleFailed, fmt.Errorf("a rule panicked: %v", e))
		}
	}()
	v, err = r.Judge(ctx, p)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = faultOf(codeRuleTimedOut, err)
	}
	return v, err
}

// faultOf is err as a fault with a code.
func faultOf(code receipt.Code, err error) error {
	f, bad := verdict.NewFault(string(code))
	if bad != nil {
		return errors.Join(err, bad)
	}
	return &evaluationError{f, err}
}
