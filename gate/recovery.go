package gate

import (
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// Words of receipt.StandardVocabulary that the gate itself uses; a test holds
// that they are.
const (
	codeNoRule         receipt.Code = "NO-RULE"
	codeWithdrawn      receipt.Code = "WITHDRAWN"
	codeDiscarded      receipt.Code = "DISCARDED"
	codeExitStatus     receipt.Code = "EXIT-STATUS"
	codeStartFailed    receipt.Code = "START-FAILED"
	codeSignalled      receipt.Code = "SIGNALLED"
	codeTimedOut       receipt.Code = "TIMED-OUT"
	codeInterrupted    receipt.Code = "INTERRUPTED"
	codeIOError        receipt.Code = "IO-ERROR"
	codeCrashed        receipt.Code = "ENGINE-CRASHED"
	codeEvaluation     receipt.Code = "EVALUATION-FAILED"
	codePreview        receipt.Code = "PREVIEW-FAILED"
	codeRuleFailed     receipt.Code = "RULE-FAILED"
	codeRuleTimedOut   receipt.Code = "RULE-TIMED-OUT"
	codeExhausted      receipt.Code = "EXHAUSTED"
	codeUnknown        receipt.Code = "UNKNOWN"
	codeTooLarge       receipt.Code = "TOO-LARGE"
	codeNotSupported   receipt.Code = "NOT-SUPPORTED"
	codeExternal       receipt.Code = "EXTERNAL"
	codeReplaced       receipt.Code = "REPLACED"
	codeRunEnded       receipt.Code = "RUN-ENDED"
	codeLockHeld       receipt.Code = "LOCK-HELD"
	codeAlreadyUndone  receipt.Code = "ALREADY-UNDONE"
	codeUnreachable    receipt.Code = "UNREACHABLE"
	codeRemoteRefused  receipt.Code = "REMOTE-REFUSED"
	codeNoAnswer       receipt.Code = "NO-ANSWER"
	codeConnectionLost receipt.Code = "CONNECTION-LOST"
	codeNotRecorded    receipt.Code = "NOT-RECORDED"
	codeAccessLost     receipt.Code = "ACCESS-LOST"
)

// Recoveries that do not depend on reasons.
var (
	recoverAwait    = receipt.Recovery{Class: receipt.RecoveryAwait, Code: "HUMAN-DECIDES", Hint: "WAIT-FOR-ANSWER"}
	recoverExpired  = receipt.Recovery{Class: receipt.RecoveryRetry, Code: "ASK-AGAIN", Hint: "APPROVER-WAS-AWAY"}
	recoverDiverged = receipt.Recovery{Class: receipt.RecoveryRefresh, Code: "REQUEST-MOVED", Hint: "PREVIEW-AGAIN"}
	recoverStale    = receipt.Recovery{Class: receipt.RecoveryRefresh, Code: "STATE-MOVED", Hint: "READ-AGAIN"}
	recoverUnwanted = receipt.Recovery{Class: receipt.RecoveryStop, Code: "NO-LONGER-WANTED", Hint: "NOTHING-TO-DO"}
	recoverReplaced = receipt.Recovery{Class: receipt.RecoveryStop, Code: "NO-LONGER-WANTED", Hint: "USE-REPLACEMENT"}
	recoverLater    = receipt.Recovery{Class: receipt.RecoveryRetry, Code: "TRY-LATER", Hint: "WAIT"}
	recoverSlots    = receipt.Recovery{Class: receipt.RecoveryRevise, Code: "CHANGE-REQUEST", Hint: "FILL-SLOTS"}
	recoverNever    = receipt.Recovery{Class: receipt.RecoveryStop, Code: "NOT-ALLOWED", Hint: "DO-NOT-ASK-AGAIN"}
	recoverOperator = receipt.Recovery{Class: receipt.RecoveryStop, Code: "NOT-ALLOWED", Hint: "ASK-OPERATOR"}
)

// recoveryOf says what whoever was refused can do about it; zero for an admit.
// Several reasons that lead to different steps leave none that is sure to help,
// so then the operator is asked.
func recoveryOf(v verdict.Verdict) receipt.Recovery {
	switch v.Arm() {
	case verdict.ArmAdmit:
		return receipt.Recovery{}
	case verdict.ArmEscalate:
		return recoverAwait
	}
	var all receipt.Recovery
	for _, reason := range v.Reasons() {
		r := recoveryOfDenial(reason)
		if !all.IsZero() && r != all {
			return recoverOperator
		}
		all = r
	}
	return all
}

func recoveryOfDenial(reason string) receipt.Recovery {
	revise := func(hint receipt.Code) receipt.Recovery {
		return receipt.Recovery{Class: receipt.RecoveryRevise, Code: "CHANGE-REQUEST", Hint: hint}
	}
	switch reason {
	case "COMMAND-NOT-ALLOWED", "ARGUMENT-NOT-ALLOWED":
		return revise("OTHER-COMMAND")
	case "TOOL-NOT-ALLOWED", "TOOL-CHANGED":
		return revise("OTHER-TOOL")
	case "PATH-NOT-ALLOWED", "PATH-OUTSIDE-ROOT":
		return revise("OTHER-PATH")
	case "HOST-NOT-ALLOWED", "NETWORK-NOT-ALLOWED":
		return revise("OTHER-HOST")
	case "SECRET-NOT-ALLOWED":
		return revise("NO-SECRET")
	case "SIZE-LIMIT", "SPEND-LIMIT":
		return revise("LESS")
	case "PERMIT-MISSING", "PERMIT-EXPIRED":
		return receipt.Recovery{Class: receipt.RecoveryRevise, Code: "GET-PERMIT", Hint: "ASK-OPERATOR"}
	case "RATE-LIMIT":
		return receipt.Recovery{Class: receipt.RecoveryRetry, Code: "TRY-LATER", Hint: "SLOW-DOWN"}
	case "STATE-UNKNOWN":
		return recoverStale
	case "RULE-DENIES", "CONTENT-NOT-ALLOWED", "IRREVERSIBLE", "CLASS-RED":
		return recoverNever
	}
	return recoverOperator
}

// recoveryOfRefusal says so of a refusal at commit.
func recoveryOfRefusal(code receipt.Code) receipt.Recovery {
	switch code {
	case codeLockHeld, "LIMIT-REACHED", "LOG-UNAVAILABLE", "SANDBOX-UNAVAILABLE", "ENGINE-STOPPING":
		return recoverLater
	case codeAlreadyUndone:
		return recoverUnwanted
	case "POLICY-CHANGED":
		return recoverDiverged
	}
	return recoverOperator
}
