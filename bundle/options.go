package bundle

import (
	"errors"

	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// Options is what the caller trusts and asks. Trust that is not given leaves
// checks not made.
type Options struct {
	Policy   *trust.Policy  // log keys, witnesses, quorum
	Engines  *trust.Engines // whose receipts are believed, and in which log
	Registry *Chain         // a registry chain by the caller, beside the artifact's own
	// Successions lead from the log that Engines names to those that go on. With
	// them the trust files of a log reach what its successors hold.
	Successions []*Succession
	Expect      []Expectation // content that becomes a required check
	Require     []string      // checks that become required, by name
}

// Expectation asks that a value of the content be this one; Key is one of
// ExpectKeys.
type Expectation struct{ Key, Value string }

// Names of the checks (spec/report.md#checks).
const (
	CheckForm             = "form"
	CheckSchema           = "schema"
	CheckSignature        = "signature"
	CheckIdentity         = "identity"
	CheckSigner           = "signer" // of an envelope alone: known, and of the role that signs this kind
	CheckInclusion        = "inclusion"
	CheckCheckpoint       = "checkpoint"
	CheckPolicy           = "policy"
	CheckKeyListedAt      = "KEY-LISTED-AT"
	CheckKeyNotDisowned   = "KEY-NOT-DISOWNED"
	CheckRegistryComplete = "REGISTRY-COMPLETE"
	CheckDisclosures      = "disclosures"
)

// RequiredOfBundle are the checks without which no bundle is verified.
func RequiredOfBundle() []string {
	return []string{CheckForm, CheckSchema, CheckSignature, CheckIdentity, CheckInclusion, CheckCheckpoint, CheckPolicy, CheckKeyListedAt}
}

// RequiredOfEnvelope are those of an envelope alone.
func RequiredOfEnvelope() []string {
	return []string{CheckForm, CheckSchema, CheckSignature, CheckIdentity, CheckSigner}
}

// Requirable returns every name that Options.Require may hold.
func Requirable() []string {
	return append(RequiredOfBundle(), CheckSigner, CheckKeyNotDisowned, CheckRegistryComplete, CheckSuccession, CheckDisclosures)
}

func verified(note string) report.Check {
	return report.Check{Answer: report.Verified, Code: report.CodeOK, Note: note}
}

func refuted(err error) report.Check { return from(report.Refuted, err) }

// unchecked says why a check could not be made.
func unchecked(code report.Code, expected, actual string) report.Check {
	return report.Check{Answer: report.NotChecked, Code: code, Expected: expected, Actual: actual}
}

// waits is a check that rests on another one.
func waits(on string) report.Check {
	return unchecked(report.CodeNotReached, on+" verified first", "")
}

// from turns an error of a parser or a kernel check into a check.
func from(a report.Answer, err error) report.Check {
	c := report.Check{Answer: a, Code: report.CodeOf(err), Actual: err.Error()}
	var e *report.Error
	if errors.As(err, &e) {
		c.Expected, c.Actual, c.Note = e.Expected, e.Actual, e.Fix
		if e.Where != "" {
			c.Actual += ", at " + e.Where
		}
	}
	return c
}
