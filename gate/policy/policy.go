// Package policy judges proposals by Cedar policies, through
// github.com/cedar-policy/cedar-go as it is. docs/gate.md#policies says what a
// policy sees and how to write one.
//
// A judgment admits only where Cedar allows, and where it is no shell and no
// environment that loads what nobody named, unless a permit says @allow. Cedar has two answers and a
// receipt has three arms, so a forbid can say @escalate("CODE"): where nothing
// but such policies stands in the way, a person decides. Another forbid denies,
// by the word of its @reason. What no policy permits is denied.
//
// Cedar leaves out a policy that cannot be evaluated and decides by the others.
// Here that is a fault, so that a forbid which stumbles over a request does not
// let it pass.
package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cedar-policy/cedar-go"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// Policy is a set of Cedar policies as a gate.Rule. It is immutable.
type Policy struct {
	pin       receipt.Pin
	principal cedar.EntityUID
	rules     map[cedar.PolicyID]rule
	all       cedar.PolicyMap
	firm      cedar.PolicyMap // without those that escalate
}

// rule is what the annotations of one policy say.
type rule struct {
	name     string // in judgment.verdict.admit.by
	reason   string // of a forbid
	escalate bool
	shell    bool // of a permit: it admits shells
	loader   bool // of a permit: it admits environments that load what no argument names
}

// Parse reads the text of a policy file and refuses what would fault, or would
// not be understood, later: annotations that say nothing, and words that are
// none of the vocabulary. agent is the principal of every request, Agent::"…".
func Parse(file string, text []byte, agent string) (*Policy, error) {
	list, err := cedar.NewPolicyListFromBytes(file, text)
	if err != nil {
		return nil, err
	}
	p := &Policy{
		pin: receipt.PinBLAKE3(text), principal: cedar.NewEntityUID("Agent", cedar.String(agent)),
		rules: map[cedar.PolicyID]rule{}, all: cedar.PolicyMap{}, firm: cedar.PolicyMap{},
	}
	for i, c := range list {
		r, err := readRule(i, c)
		if err != nil {
			at := c.Position()
			return nil, fmt.Errorf("%s:%d:%d: %w", file, at.Line, at.Column, err)
		}
		id := cedar.PolicyID(r.name)
		if _, twice := p.rules[id]; twice {
			return nil, fmt.Errorf("%s: two policies are called %q", file, r.name)
		}
		p.rules[id], p.all[id] = r, c
		if !r.escalate {
			p.firm[id] = c
		}
	}
	return p, nil
}

func readRule(i int, c *cedar.Policy) (rule, error) {
	r := rule{name: fmt.Sprintf("policy%d", i), reason: "RULE-DENIES"}
	said := ""
	for key, value := range c.Annotations() {
		text := string(value)
		switch key {
		case "id":
			if !verdict.ValidName(text) || strings.HasPrefix(text, "policy") || strings.HasPrefix(text, gate.ReservedName) {
				return r, fmt.Errorf("@id(%q) is no name that a receipt can carry: 1 to 128 bytes from [A-Za-z0-9._/@:+-], not beginning with policy or %s",
					text, gate.ReservedName)
			}
			r.name = text
		case "allow":
			if c.Effect() != cedar.Permit {
				return r, errors.New("@allow on a forbid says nothing")
			}
			for _, word := range strings.Fields(text) {
				switch word {
				case "shell":
					r.shell = true
				case "loader":
					r.loader = true
				default:
					return r, fmt.Errorf("@allow(%q): it allows shell, loader or both", text)
				}
			}
		case "reason", "escalate":
			if c.Effect() != cedar.Forbid {
				return r, fmt.Errorf("@%s on a permit says nothing: write a forbid beside it", key)
			}
			if said != "" {
				return r, fmt.Errorf("@reason and @escalate on one policy: it denies or it asks a person")
			}
			if !receipt.StandardVocabulary().Knows(receipt.PlaceReason, receipt.Code(text)) {
				return r, fmt.Errorf("@%s(%q) is no reason of the vocabulary (spec/vocabulary.md#reason)", key, text)
			}
			said, r.reason, r.escalate = text, text, key == "escalate"
		}
	}
	return r, nil
}

// Pin is BLAKE3 of the policy file: what the run-open and every preview pin.
func (p *Policy) Pin() receipt.Pin { return p.pin }

// errEvaluation says that at least one policy could not be evaluated.
type errEvaluation struct {
	fault    verdict.Fault
	policies []cedar.DiagnosticError
}

func (e *errEvaluation) Error() string {
	var b strings.Builder
	for _, d := range e.policies {
		fmt.Fprintf(&b, "policy %s: %s; ", d.PolicyID, d.Message)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func (e *errEvaluation) Unwrap() error { return e.fault }

// Judge asks Cedar once for every part of the proposal and lets the answers
// meet: a change set has as many parts as changes, any other effect has one.
func (p *Policy) Judge(_ context.Context, proposal gate.Proposal) (verdict.Verdict, error) {
	requests, err := p.requests(proposal)
	if err != nil {
		return verdict.Verdict{}, err
	}
	var met verdict.Evaluation
	var first error
	for _, r := range requests {
		v, err := p.decide(r)
		if first == nil {
			first = err
		}
		met = verdict.Meet(met, verdict.Evaluated(v, err))
	}
	v, err := met.Result()
	if err != nil && first != nil {
		err = first // which says what broke
	}
	return v, err
}

func (p *Policy) decide(r request) (verdict.Verdict, error) {
	decision, found := cedar.Authorize(p.all, r.entities, r.Request)
	var firm, asks []string
	if decision == cedar.Deny {
		for _, reason := range found.Reasons {
			if rule := p.rules[reason.PolicyID]; rule.escalate {
				asks = append(asks, rule.reason)
			} else {
				firm = append(firm, rule.reason)
			}
		}
	}
	switch {
	case len(firm) > 0: // sound, whatever could not be evaluated
		return verdict.Deny(firm...)
	case len(found.Errors) > 0:
		return verdict.Verdict{}, failed(found.Errors)
	case decision == cedar.Allow:
		return p.allowed(r, found)
	case len(asks) == 0:
		return verdict.Deny("NO-RULE")
	}
	// Only policies that ask a person stand in the way. Without them it must be
	// admitted: a person is not asked to permit what no policy permits.
	if decision, found = cedar.Authorize(p.firm, r.entities, r.Request); decision == cedar.Deny {
		return verdict.Deny("NO-RULE")
	}
	if v, err := p.allowed(r, found); err != nil || v.Arm() == verdict.ArmDeny {
		return v, err
	}
	return verdict.Escalate(asks...)
}

// allowed is what Cedar allows: admitted, unless it is a shell or loads what
// nobody named, and no permit that holds allows that.
func (p *Policy) allowed(r request, found cedar.Diagnostic) (verdict.Verdict, error) {
	var by []string
	shell, loader := !r.shell, !r.loader
	for _, reason := range found.Reasons {
		rule := p.rules[reason.PolicyID]
		by = append(by, rule.name)
		shell, loader = shell || rule.shell, loader || rule.loader
	}
	switch {
	case !shell:
		return verdict.Deny("COMMAND-NOT-ALLOWED")
	case !loader:
		return verdict.Deny("ARGUMENT-NOT-ALLOWED")
	}
	return verdict.Admit(by...)
}

func failed(all []cedar.DiagnosticError) error {
	fault, err := verdict.NewFault("RULE-FAILED")
	if err != nil {
		return err
	}
	return &errEvaluation{fault, all}
}
