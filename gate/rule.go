package gate

import (
	"context"
	"slices"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// Proposal is what a rule judges: the preview that will have the digest, as
// values, and what the engine says about it. It is not changed.
type Proposal struct {
	preview.Preview
	Class  receipt.Class
	Origin verdict.Origin
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

// judge asks every rule. Where all of them had nothing to say the answer is a
// denial: what no rule admits does not happen.
func judge(ctx context.Context, rules []Rule, p Proposal) (verdict.Verdict, error) {
	var met verdict.Evaluation
	for _, r := range rules {
		p := p // its own: a rule that changes what it was shown changes it for nobody
		p.Inputs, p.Slots, p.Effects, p.Reads = slices.Clone(p.Inputs), slices.Clone(p.Slots), slices.Clone(p.Effects), slices.Clone(p.Reads)
		met = verdict.Meet(met, verdict.Evaluated(r.Judge(ctx, p)))
	}
	if met.Equal(verdict.Evaluation{}) {
		return verdict.Deny(string(codeNoRule))
	}
	return met.Result()
}
