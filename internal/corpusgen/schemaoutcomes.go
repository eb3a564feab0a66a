package corpusgen

import (
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

func outcomeViolations() []violation {
	typ, missing, unknown, arm := report.CodeSchemaType, report.CodeSchemaMissing, report.CodeSchemaUnknown, report.CodeSchemaArm
	o := "receipt.outcome."
	v := []violation{
		{"outcome has an of", "outcome-committed", o + "of", nil, missing},
		{"outcome has a request", "outcome-committed", o + "request", nil, missing},
		{"outcome has a disposition", "outcome-committed", o + "disposition", nil, missing},
		{"outcome has nothing else", "outcome-committed", o + "verdict", m{}, unknown},
		{"of is of the one form", "outcome-committed", o + "of", foreignLink(), report.CodeSchemaLink},
		{"request is a digest", "outcome-committed", o + "request", m{}, typ},
		{"disposition is one arm", "outcome-committed", dispo + "failed", m{}, arm},
		{"disposition is a known arm", "outcome-committed", o + "disposition", m{{Key: "done", Value: m{}}}, arm},
		{"committed has nothing else", "outcome-committed", dispo + "committed.code", s("A"), unknown},
		{"committed has no recovery", "outcome-committed", dispo + "committed.recovery", m{}, unknown},
		{"wrote is not empty", "outcome-committed", dispo + "committed.wrote", l{}, report.CodeSchemaEmpty},
		{"a postcondition has a key", "outcome-committed", dispo + "committed.wrote.0.key", nil, missing},
		{"a postcondition has a value", "outcome-committed", dispo + "committed.wrote.0.value", nil, missing},
		{"a postcondition's value is committed", "outcome-committed", dispo + "committed.wrote.0.value", s("x"), typ},
		{"approval is of the one form", "outcome-committed-approved", dispo + "committed.approval", foreignLink(), report.CodeSchemaLink},
		{"a failure's approval is of the one form", "outcome-failed-approved", dispo + "failed.approval", foreignLink(), report.CodeSchemaLink},
		{"an unobserved's approval is of the one form", "outcome-unobserved-approved", dispo + "unobserved.approval", foreignLink(), report.CodeSchemaLink},
		{"refused has no approval", "outcome-refused", dispo + "refused.approval", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), unknown},
		{"rendered has no recovery", "outcome-rendered", dispo + "rendered.recovery", m{}, unknown},
		{"failed has no recovery", "outcome-failed-no", dispo + "failed.recovery", m{}, unknown},
		{"unobserved has no recovery", "outcome-unobserved", dispo + "unobserved.recovery", m{}, unknown},
		{"restored is a word", "outcome-failed-no", dispo + "failed.restored", s("partly"), report.CodeSchemaWord},
		{"compensates has an outcome", "outcome-undo-attested", o + "compensates.outcome", nil, missing},
		{"compensates has an observation", "outcome-undo-attested", o + "compensates.observation", nil, missing},
		{"compensates has nothing else", "outcome-undo-attested", o + "compensates.of", n(1), unknown},
		{"observation is a known arm", "outcome-undo-attested", o + "compensates.observation", m{{Key: "trust-me", Value: m{}}}, arm},
		{"attested compared something", "outcome-undo-attested", o + "compensates.observation.attested.compared", l{}, report.CodeSchemaEmpty},
		{"attested has compared", "outcome-undo-attested", o + "compensates.observation.attested.compared", nil, missing},
		{"a comparison has a key", "outcome-undo-attested", o + "compensates.observation.attested.compared.0.key", nil, missing},
		{"a comparison has an expected", "outcome-undo-attested", o + "compensates.observation.attested.compared.0.expected", nil, missing},
		{"a comparison has a seen", "outcome-undo-attested", o + "compensates.observation.attested.compared.0.seen", nil, missing},
		{"unobservable has a code", "outcome-undo-unobservable", o + "compensates.observation.unobservable.code", nil, missing},
	}
	for _, field := range []struct{ example, path string }{
		{"outcome-committed", "committed.fired"},
		{"outcome-diverged", "diverged.fired"}, {"outcome-diverged", "diverged.recovery"},
		{"outcome-refused", "refused.code"}, {"outcome-refused", "refused.recovery"},
		{"outcome-rejected", "rejected.decision"}, {"outcome-rejected", "rejected.recovery"},
		{"outcome-expired", "expired.recovery"},
		{"outcome-cancelled", "cancelled.code"}, {"outcome-cancelled", "cancelled.recovery"},
		{"outcome-stale", "stale.key"}, {"outcome-stale", "stale.expected"}, {"outcome-stale", "stale.seen"}, {"outcome-stale", "stale.recovery"},
		{"outcome-withheld", "withheld.code"}, {"outcome-withheld", "withheld.recovery"},
		{"outcome-rendered", "rendered.digest"},
		{"outcome-failed-no", "failed.code"}, {"outcome-failed-no", "failed.restored"},
		{"outcome-unobserved", "unobserved.code"},
	} {
		v = append(v, violation{field.path + " is required", field.example, dispo + field.path, nil, missing})
	}
	return v
}

func runViolations() []violation {
	typ, missing, unknown := report.CodeSchemaType, report.CodeSchemaMissing, report.CodeSchemaUnknown
	open, shut, fault := "receipt.run-open.", "receipt.run-close.", "receipt.fault."
	v := []violation{
		{"engine has a name", "run-open", open + "engine.name", nil, missing},
		{"engine has a version", "run-open", open + "engine.version", nil, missing},
		{"engine has nothing else", "run-open", open + "engine.os", s("A"), unknown},
		{"vocabulary is 32 bytes", "run-open", open + "vocabulary", bytesOf(34), report.CodeSchemaLength},
		{"logs is not empty", "run-open", open + "logs", l{}, report.CodeSchemaEmpty},
		{"logs ascend", "run-open", open + "logs", l{s("b"), s("a")}, report.CodeSchemaOrder},
		{"logs are names", "run-open", open + "logs", l{s("a b")}, report.CodeSchemaName},
		{"a pin of a run is a pin", "run-open", open + "policy", bytesOf(34), report.CodeSchemaPin},
		{"parent is of the one form", "run-open", open + "parent", foreignLink(), report.CodeSchemaLink},
		{"run-open has nothing else", "run-open", open + "at", n(1), unknown},

		{"answer is a word", "decision-approve", "receipt.decision.answer", s("maybe"), report.CodeSchemaWord},
		{"ticket is 16 bytes", "decision-approve", "receipt.decision.ticket", bytesOf(32), report.CodeSchemaLength},
		{"decision has nothing else", "decision-approve", "receipt.decision.why", s("A"), unknown},

		{"stage is a word", "fault-open", fault + "stage", s("lunch"), report.CodeSchemaWord},
		{"posture is a word", "fault-open", fault + "posture", s("ajar"), report.CodeSchemaWord},
		{"posture is text", "fault-open", fault + "posture", m{}, typ},
		{"an open fault has a request", "fault-open", fault + "request", nil, report.CodeSchemaOpen},
		{"fault has nothing else", "fault-open", fault + "recovery", m{}, unknown},
		{"fault's request is a request", "fault-open", fault + "request.verb", nil, missing},

		{"count from 1", "gap", "receipt.gap.count", n(0), report.CodeSchemaRange},
		{"count is below seq", "gap", "receipt.gap.count", n(1000), report.CodeSchemaGap},
		{"gap has a code", "gap", "receipt.gap.code", nil, missing},
		{"gap has a count", "gap", "receipt.gap.count", nil, missing},
		{"gap has nothing else", "gap", "receipt.gap.since", n(1), unknown},

		{"statements are what the tallies say", "run-close", shut + "statements", n(3), report.CodeSchemaTally},
		{"statements is required", "run-close", shut + "statements", nil, missing},
		{"tallies are what statements says", "run-close", shut + "outcomes.committed", n(1), report.CodeSchemaTally},
		{"a tally counts from 1", "run-close", shut + "faults", n(0), report.CodeSchemaRange},
		{"a tally is of known words", "run-close", shut + "judgments.maybe", n(1), unknown},
		{"a tally is not empty", "run-close", shut + "judgments", m{}, report.CodeSchemaEmpty},
		{"run-close has nothing else", "run-close", shut + "decisions", n(1), unknown},
	}
	for _, path := range []string{"engine", "vocabulary", "logs"} {
		v = append(v, violation{"run-open has " + path, "run-open", open + path, nil, missing})
	}
	for _, path := range []string{"judgment", "request", "ticket", "answer"} {
		v = append(v, violation{"decision has " + path, "decision-approve", "receipt.decision." + path, nil, missing})
	}
	for _, path := range []string{"stage", "code", "posture"} {
		v = append(v, violation{"fault has " + path, "fault-open", fault + path, nil, missing})
	}
	return v
}
