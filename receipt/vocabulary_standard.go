package receipt

// StandardVocabulary returns version 1 of the vocabulary that this project's
// gates use; spec/vocabulary.md prints it with what each word means. An engine
// with words of its own publishes a document of its own.
//
// A published version never changes: its digest stands in run-opens.
func StandardVocabulary() *Vocabulary {
	v, err := NewVocabulary("obstat", 1, map[Place][]Code{
		PlaceReason: {
			// rules
			"NO-RULE", "RULE-DENIES", "RULE-ASKS",
			// what is asked for
			"COMMAND-NOT-ALLOWED", "ARGUMENT-NOT-ALLOWED", "TOOL-NOT-ALLOWED", "TOOL-CHANGED",
			"PATH-NOT-ALLOWED", "PATH-OUTSIDE-ROOT", "HOST-NOT-ALLOWED", "NETWORK-NOT-ALLOWED",
			"SECRET-NOT-ALLOWED", "MODEL-NOT-ALLOWED", "CONTENT-NOT-ALLOWED",
			// how much
			"SPEND-LIMIT", "RATE-LIMIT", "SIZE-LIMIT", "ATTEMPT-LIMIT",
			// under what
			"PLAN-MISMATCH", "LOCK-MISMATCH", "PERMIT-MISSING", "PERMIT-EXPIRED", "SANDBOX-MISSING",
			// where it comes from
			"ORIGIN-NOT-ALLOWED", "SOURCE-NOT-ALLOWED",
			// how grave it is
			"CLASS-YELLOW", "CLASS-RED", "IRREVERSIBLE", "STATE-UNKNOWN",
		},
		PlaceInverse:   {"IRREVERSIBLE", "EXTERNAL", "TOO-LARGE", "NOT-SUPPORTED", "UNKNOWN"},
		PlaceRefused:   {"POLICY-CHANGED", "PERMIT-REVOKED", "APPROVAL-UNUSABLE", "LIMIT-REACHED", "LOCK-HELD", "SANDBOX-UNAVAILABLE", "LOG-UNAVAILABLE", "ENGINE-STOPPING", "ALREADY-UNDONE"},
		PlaceCancelled: {"WITHDRAWN", "DISCARDED", "REPLACED", "RUN-ENDED"},
		PlaceWithheld: {
			"DRY-RUN", "SLOT-UNFILLED", "SLOT-REFUSED", "SLOT-UNGROUNDED", "TITLE-MISSING", "ROLE-UNLABELLED", "LINE-BREAK",
			"SEGMENT-NOT-ALLOWED", "RENDERING-FAILED", "NOT-ASKED",
		},
		PlaceFailed:      {"EXIT-STATUS", "START-FAILED", "SIGNALLED", "TIMED-OUT", "INTERRUPTED", "IO-ERROR", "UNREACHABLE", "REMOTE-REFUSED", "POSTCONDITION"},
		PlaceUnobserved:  {"NO-ANSWER", "CONNECTION-LOST", "TIMED-OUT", "ENGINE-CRASHED"},
		PlaceObservation: {"NO-STATE", "NOT-RECORDED", "NOT-SUPPORTED", "ACCESS-LOST"},
		PlaceFault: {
			"EVALUATION-NONE", "EVALUATION-FAILED", "RULE-FAILED", "RULE-TIMED-OUT", "POLICY-UNREADABLE",
			"REQUEST-MALFORMED", "PREVIEW-FAILED", "APPROVER-UNREACHABLE", "LOG-UNAVAILABLE", "EXHAUSTED", "INTERNAL",
		},
		PlaceGap: {"SPOOL-LOST", "SPOOL-DAMAGED", "ENGINE-CRASHED", "REFUSED-BY-LOG"},
	}, []RecoveryWords{
		{Code: "TRY-LATER", Class: RecoveryRetry, Hints: []Code{"WAIT", "SLOW-DOWN"}},
		{Code: "ASK-AGAIN", Class: RecoveryRetry, Hints: []Code{"ANSWER-CAME-TOO-LATE", "APPROVER-WAS-AWAY"}},
		{Code: "STATE-MOVED", Class: RecoveryRefresh, Hints: []Code{"READ-AGAIN"}},
		{Code: "REQUEST-MOVED", Class: RecoveryRefresh, Hints: []Code{"PREVIEW-AGAIN"}},
		{Code: "CHANGE-REQUEST", Class: RecoveryRevise, Hints: []Code{"OTHER-COMMAND", "OTHER-PATH", "OTHER-HOST", "OTHER-TOOL", "LESS", "NO-SECRET", "FILL-SLOTS"}},
		{Code: "GET-PERMIT", Class: RecoveryRevise, Hints: []Code{"ASK-OPERATOR"}},
		{Code: "HUMAN-DECIDES", Class: RecoveryAwait, Hints: []Code{"WAIT-FOR-ANSWER"}},
		{Code: "NOT-ALLOWED", Class: RecoveryStop, Hints: []Code{"DO-NOT-ASK-AGAIN", "ASK-OPERATOR"}},
		{Code: "HUMAN-SAID-NO", Class: RecoveryStop, Hints: []Code{"DO-NOT-ASK-AGAIN", "ASK-APPROVER"}},
		{Code: "NO-LONGER-WANTED", Class: RecoveryStop, Hints: []Code{"NOTHING-TO-DO", "USE-REPLACEMENT"}},
	})
	if err != nil {
		panic("receipt: the standard vocabulary is malformed: " + err.Error()) // a test holds that it is not
	}
	return v
}
