package gate

import (
	"strings"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// Refusal says in a sentence why the request was not admitted, and what can be
// done; empty for an admit. It is put together of fixed sentences, one for each
// word of the vocabulary, so nothing that somebody put into the request gets
// back to whoever asked by way of its refusal.
func (j *Judged) Refusal() string {
	r, refuses := j.Recovery()
	if !refuses {
		return ""
	}
	word := "denied"
	if j.verdict.Arm() == verdict.ArmEscalate {
		word = "a person decides"
	}
	var why []string
	for _, reason := range j.verdict.Reasons() {
		why = append(why, sentence(receipt.PlaceReason, receipt.Code(reason)))
	}
	return refusal(word, strings.Join(why, "; "), r)
}

// Refusal says in a sentence why a judged request did not happen, and what can
// be done; empty where it was attempted, and after a denial. It is put together
// as the refusal of a [Judged] is.
func (o *Outcome) Refusal() string {
	r, refuses := receipt.RecoveryOf(o.Disposition)
	if !refuses {
		return ""
	}
	why := ""
	switch d := o.Disposition.(type) {
	case receipt.Refused:
		why = sentence(receipt.PlaceRefused, d.Code)
	case receipt.Cancelled:
		why = sentence(receipt.PlaceCancelled, d.Code)
	case receipt.Withheld:
		why = sentence(receipt.PlaceWithheld, d.Code)
	case receipt.Diverged:
		why = "what was about to be done is not what was judged"
	case receipt.Stale:
		why = "something that the request rests on has changed"
	case receipt.Expired:
		why = "nobody answered in time"
	case receipt.Rejected:
		why = "a person said no"
	}
	return refusal(o.Disposition.Word(), why, r)
}

func refusal(word, why string, r receipt.Recovery) string {
	next, ok := hintSentences[r.Hint]
	if !ok {
		next = string(r.Hint) // its alphabet holds no prose
	}
	return word + ": " + why + ". Next: " + next + "."
}

func sentence(place receipt.Place, code receipt.Code) string {
	if s, ok := sentences[place][code]; ok {
		return s
	}
	return string(code) // of a vocabulary of the engine's own; its alphabet holds no prose
}

// sentences are what spec/vocabulary.md says of each word.
var sentences = map[receipt.Place]map[receipt.Code]string{
	receipt.PlaceReason: {
		"NO-RULE":              "no rule spoke about this request",
		"RULE-DENIES":          "a rule denies it, and has no more precise code",
		"RULE-ASKS":            "a rule wants a person to decide",
		"COMMAND-NOT-ALLOWED":  "the program may not be run",
		"ARGUMENT-NOT-ALLOWED": "the program may be run, not with this argument",
		"TOOL-NOT-ALLOWED":     "the tool may not be called",
		"TOOL-CHANGED":         "the tool is not the one that was pinned",
		"PATH-NOT-ALLOWED":     "the path is inside the root and not permitted",
		"PATH-OUTSIDE-ROOT":    "the path leads out of the root",
		"HOST-NOT-ALLOWED":     "the host may not be reached",
		"NETWORK-NOT-ALLOWED":  "no network is permitted here",
		"SECRET-NOT-ALLOWED":   "the secret may not be used here",
		"MODEL-NOT-ALLOWED":    "the model may not be used here",
		"CONTENT-NOT-ALLOWED":  "what would be written or sent is not permitted",
		"SPEND-LIMIT":          "it would cost more than is left",
		"RATE-LIMIT":           "too many in too short a time",
		"SIZE-LIMIT":           "it is larger than is permitted",
		"ATTEMPT-LIMIT":        "it was tried as often as is permitted",
		"PLAN-MISMATCH":        "it is not part of the plan that was pinned",
		"LOCK-MISMATCH":        "it does not agree with the lock that was pinned",
		"PERMIT-MISSING":       "a permit is needed and none is there",
		"PERMIT-EXPIRED":       "the permit is past its time",
		"SANDBOX-MISSING":      "it may only be done in a sandbox that is not there",
		"ORIGIN-NOT-ALLOWED":   "effects of this origin are not permitted here",
		"SOURCE-NOT-ALLOWED":   "a slot was filled from a source that may not fill it",
		"CLASS-YELLOW":         "the class is yellow, and that is reason enough",
		"CLASS-RED":            "the class is red, and that is reason enough",
		"IRREVERSIBLE":         "it cannot be undone",
		"STATE-UNKNOWN":        "what it would change could not be read",
	},
	receipt.PlaceRefused: {
		"POLICY-CHANGED":      "the policy is not the one that judged",
		"PERMIT-REVOKED":      "the permit was taken back",
		"APPROVAL-UNUSABLE":   "the approval does not fit, or was used before",
		"LIMIT-REACHED":       "a limit was reached since the judgment",
		"LOCK-HELD":           "somebody else holds what it would change",
		"SANDBOX-UNAVAILABLE": "the sandbox cannot be had",
		"LOG-UNAVAILABLE":     "the judgment could not be made durable",
		"ENGINE-STOPPING":     "the engine is about to stop",
		"ALREADY-UNDONE":      "the effect was undone before",
	},
	receipt.PlaceCancelled: {
		"WITHDRAWN": "whoever asked took it back",
		"DISCARDED": "the engine let it go without an effect",
		"REPLACED":  "another request took its place",
		"RUN-ENDED": "the run ended before it was committed",
	},
	receipt.PlaceWithheld: {
		"DRY-RUN":             "nothing was to be rendered",
		"SLOT-UNFILLED":       "a slot has no value",
		"SLOT-REFUSED":        "a slot has a value that may not stand there",
		"SLOT-UNGROUNDED":     "a slot has a value that its source does not hold",
		"TITLE-MISSING":       "the payload would have no title",
		"ROLE-UNLABELLED":     "nothing says who speaks in a part of the payload",
		"LINE-BREAK":          "a value of several lines would stand outside a fence",
		"SEGMENT-NOT-ALLOWED": "a part of the path is not in the list of those allowed",
		"RENDERING-FAILED":    "the payload could not be made",
		"NOT-ASKED":           "nobody asked for the payload",
	},
}

var hintSentences = map[receipt.Code]string{
	"WAIT":                 "wait, then ask again",
	"SLOW-DOWN":            "ask less often",
	"ANSWER-CAME-TOO-LATE": "the answer came too late; ask again",
	"APPROVER-WAS-AWAY":    "nobody was there to answer; ask again",
	"READ-AGAIN":           "read what is there now, and ask again",
	"PREVIEW-AGAIN":        "make the preview again, and ask again",
	"OTHER-COMMAND":        "ask for another command",
	"OTHER-PATH":           "ask for another path",
	"OTHER-HOST":           "ask for another host",
	"OTHER-TOOL":           "ask for another tool",
	"LESS":                 "ask for less",
	"NO-SECRET":            "ask without the secret",
	"FILL-SLOTS":           "fill the slots from their sources",
	"ASK-OPERATOR":         "ask the operator",
	"WAIT-FOR-ANSWER":      "wait for a person's answer",
	"DO-NOT-ASK-AGAIN":     "do not ask again",
	"ASK-APPROVER":         "ask the person who said no",
	"NOTHING-TO-DO":        "nothing is to be done",
	"USE-REPLACEMENT":      "use the request that took its place",
}
