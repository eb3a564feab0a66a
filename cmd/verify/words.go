package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// closedWords are the values that a key of --expect can have at all; nil where
// its list is open.
func closedWords(key string) []string {
	switch key {
	case "verdict":
		return []string{verdict.ArmAdmit.String(), verdict.ArmDeny.String(), verdict.ArmEscalate.String()}
	case "answer":
		return []string{string(receipt.Approve), string(receipt.Reject)}
	case "posture":
		return []string{receipt.FailClosed{}.Word(), receipt.FailOpen{}.Word()}
	case "level":
		return []string{bundle.Promise.String(), bundle.Witnessed.String()}
	case "kind":
		var out []string
		for _, k := range receipt.Kinds() {
			out = append(out, string(k))
		}
		return out
	case "disposition":
		var out []string
		for _, d := range []receipt.Disposition{
			receipt.Committed{}, receipt.Diverged{}, receipt.Refused{}, receipt.Rejected{}, receipt.Expired{}, receipt.Cancelled{},
			receipt.Stale{}, receipt.Withheld{}, receipt.Rendered{}, receipt.Failed{}, receipt.Unobserved{},
		} {
			out = append(out, d.Word())
		}
		return out
	}
	return nil
}

// possible refuses a value that no receipt can have: the check would only ever
// fail, and read as if the receipt were at fault.
func possible(key, value string) error {
	words := closedWords(key)
	if words == nil || slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("--expect %s=%s: want one of %s", key, value, strings.Join(words, " "))
}
