package receipt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

type (
	b = dagcbor.Bytes
	s = dagcbor.Text
	n = dagcbor.Int
	l = dagcbor.List
	m = dagcbor.Map
)

func bytesOf(length int) b { return make(b, length) }

// foreignLink is a well-formed CID (raw, SHA-256) that is not the one form.
func foreignLink() dagcbor.Link {
	return append(dagcbor.Link("\x01\x55\x12\x20"), make([]byte, 32)...)
}

// violation is one example with one thing wrong.
type violation struct {
	rule string
	base string // example
	path string // what is replaced, added or (nil) removed
	put  dagcbor.Value
	code report.Code
	at   string // where the error points; path if empty
}

const (
	full     = "judgment-admit"
	req      = "receipt.judgment.request."
	dispo    = "receipt.outcome.disposition."
	escalate = "judgment-escalate"
)

func violations() []violation {
	code, missing, unknown := report.CodeSchemaType, report.CodeSchemaMissing, report.CodeSchemaUnknown
	v := []violation{
		{"statement is a map", full, "", n(1), code, ""},
		{"statement has a call", full, "call", nil, missing, ""},
		{"statement has a receipt", full, "receipt", nil, missing, ""},
		{"statement has nothing else", full, "extra", n(1), unknown, ""},

		{"call is a map", full, "call", n(1), code, ""},
		{"call has nothing else", full, "call.extra", n(1), unknown, ""},
		{"by is bytes", full, "call.by", s("x"), code, ""},
		{"by is 32 bytes", full, "call.by", bytesOf(31), report.CodeSchemaLength, ""},
		{"by is required", full, "call.by", nil, missing, ""},
		{"run is required", full, "call.run", nil, missing, ""},
		{"run is a name", full, "call.run", s("a b"), report.CodeSchemaName, ""},
		{"run is not empty", full, "call.run", s(""), report.CodeSchemaName, ""},
		{"run is at most 128 bytes", full, "call.run", s(strings.Repeat("a", 129)), report.CodeSchemaName, ""},
		{"seq is required", full, "call.seq", nil, missing, ""},
		{"seq is not negative", full, "call.seq", n(-1), report.CodeSchemaRange, ""},
		{"seq is an integer", full, "call.seq", s("1"), code, ""},
		{"at is required", full, "call.at", nil, missing, ""},
		{"at is not negative", full, "call.at", n(-1), report.CodeSchemaRange, ""},
		{"seq 0 is a run-open's", full, "call.seq", n(0), report.CodeSchemaSeq, ""},
		{"a run-open's seq is 0", "run-open", "call.seq", n(1), report.CodeSchemaSeq, ""},
		{"prev stands behind seq 0", full, "call.prev", nil, report.CodeSchemaPrev, ""},
		{"no prev at seq 0", "run-open", "call.prev", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaPrev, ""},
		{"prev is a link", full, "call.prev", bytesOf(36), code, ""},
		{"prev is of the one form", full, "call.prev", foreignLink(), report.CodeSchemaLink, ""},
		{"no settles in a judgment", full, "call.settles", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaSettles, ""},
		{"no settles in a run-open", "run-open", "call.settles", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaSettles, ""},
		{"no settles in a fault", "fault-open", "call.settles", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaSettles, ""},
		{"no settles in a gap", "gap", "call.settles", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaSettles, ""},
		{"no settles in a run-close", "run-close", "call.settles", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaSettles, ""},
		{"settles in an outcome", "outcome-committed", "call.settles", nil, report.CodeSchemaSettles, ""},
		{"settles in a decision", "decision-approve", "call.settles", nil, report.CodeSchemaSettles, ""},
		{"settles is of the one form", "outcome-committed", "call.settles", foreignLink(), report.CodeSchemaLink, ""},
		{"expires where it escalates", escalate, "call.expires", nil, report.CodeSchemaExpires, ""},
		{"no expires where it admits", full, "call.expires", n(9e12), report.CodeSchemaExpires, ""},
		{"no expires where it denies", "judgment-deny", "call.expires", n(9e12), report.CodeSchemaExpires, ""},
		{"no expires in an outcome", "outcome-committed", "call.expires", n(9e12), report.CodeSchemaExpires, ""},
		{"no expires in a run-open", "run-open", "call.expires", n(9e12), report.CodeSchemaExpires, ""},
		{"no expires in a fault", "fault-open", "call.expires", n(9e12), report.CodeSchemaExpires, ""},
		{"expires not before at", escalate, "call.expires", n(1), report.CodeSchemaExpires, ""},
		{"expires from 1", escalate, "call.expires", n(0), report.CodeSchemaRange, ""},
		{"seen is a map", full, "call.seen", n(1), code, ""},
		{"seen has an origin", full, "call.seen", m{{Key: "size", Value: n(1)}, {Key: "root", Value: bytesOf(32)}}, missing, "call.seen.origin"},
		{"seen has a size", "outcome-after-fault", "call.seen.size", nil, missing, ""},
		{"seen has a root", "outcome-after-fault", "call.seen.root", nil, missing, ""},
		{"seen's size is not negative", "outcome-after-fault", "call.seen.size", n(-1), report.CodeSchemaRange, ""},
		{"seen's root is 32 bytes", "outcome-after-fault", "call.seen.root", bytesOf(33), report.CodeSchemaLength, ""},
		{"seen's origin is a name", "outcome-after-fault", "call.seen.origin", s("a\n"), report.CodeSchemaName, ""},
		{"seen has nothing else", "outcome-after-fault", "call.seen.time", n(1), unknown, ""},
		{"a decision is in no run", "decision-approve", "call.run", s("run-1"), report.CodeSchemaCall, ""},
		{"a decision has no seq", "decision-approve", "call.seq", n(1), report.CodeSchemaCall, ""},
		{"a decision has no prev", "decision-approve", "call.prev", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaCall, ""},
		{"a decision has no expires", "decision-approve", "call.expires", n(9e12), report.CodeSchemaCall, ""},
		{"a decision has an at", "decision-approve", "call.at", nil, missing, ""},
		{"a decision has a by", "decision-approve", "call.by", nil, missing, ""},

		{"receipt is a map", full, "receipt", s("judgment"), code, ""},
		{"receipt is one kind", full, "receipt.gap", m{}, report.CodeSchemaArm, "receipt"},
		{"receipt is some kind", full, "receipt", m{}, report.CodeSchemaArm, ""},
		{"receipt is a known kind", full, "receipt", m{{Key: "verdict", Value: m{}}}, report.CodeSchemaArm, ""},
		{"a kind is a map", full, "receipt.judgment", l{}, code, ""},
	}
	v = append(v, judgmentViolations()...)
	v = append(v, requestViolations()...)
	v = append(v, outcomeViolations()...)
	return append(v, runViolations()...)
}

func judgmentViolations() []violation {
	typ, missing, unknown, arm := report.CodeSchemaType, report.CodeSchemaMissing, report.CodeSchemaUnknown, report.CodeSchemaArm
	j := "receipt.judgment."
	v := []violation{
		{"judgment has nothing else", full, j + "score", n(1), unknown, ""},
		{"class is a word", full, j + "class", s("orange"), report.CodeSchemaWord, ""},
		{"class is text", full, j + "class", n(1), typ, ""},
		{"verdict has one arm", full, j + "verdict.deny", m{}, arm, "receipt.judgment.verdict"},
		{"verdict has an arm", full, j + "verdict", m{}, arm, ""},
		{"verdict has no fourth arm", full, j + "verdict", m{{Key: "defer", Value: m{}}}, arm, ""},
		{"verdict is a map", full, j + "verdict", s("admit"), typ, ""},
		{"admit has by", full, j + "verdict.admit", m{}, missing, "receipt.judgment.verdict.admit.by"},
		{"admit has nothing else", full, j + "verdict.admit.reasons", l{s("A")}, unknown, ""},
		{"by is a list", full, j + "verdict.admit.by", s("rule"), typ, ""},
		{"by is not empty", full, j + "verdict.admit.by", l{}, report.CodeSchemaEmpty, ""},
		{"by is of names", full, j + "verdict.admit.by", l{s("a rule")}, report.CodeSchemaName, "receipt.judgment.verdict.admit.by[0]"},
		{"by ascends", full, j + "verdict.admit.by", l{s("b"), s("a")}, report.CodeSchemaOrder, "receipt.judgment.verdict.admit.by[1]"},
		{"by has none twice", full, j + "verdict.admit.by", l{s("a"), s("a")}, report.CodeSchemaOrder, "receipt.judgment.verdict.admit.by[1]"},
		{"deny has reasons", "judgment-deny", j + "verdict.deny", m{}, missing, "receipt.judgment.verdict.deny.reasons"},
		{"reasons are codes", "judgment-deny", j + "verdict.deny.reasons", l{s("because")}, report.CodeSchemaCode, "receipt.judgment.verdict.deny.reasons[0]"},
		{"codes have no dash at the end", "judgment-deny", j + "verdict.deny.reasons", l{s("A-")}, report.CodeSchemaCode, "receipt.judgment.verdict.deny.reasons[0]"},
		{"codes are at most 64 bytes", "judgment-deny", j + "verdict.deny.reasons", l{s(strings.Repeat("A", 65))}, report.CodeSchemaCode, "receipt.judgment.verdict.deny.reasons[0]"},
		{"reasons are not empty", "judgment-deny", j + "verdict.deny.reasons", l{}, report.CodeSchemaEmpty, ""},
		{"reasons ascend", escalate, j + "verdict.escalate.reasons", l{s("B"), s("A")}, report.CodeSchemaOrder, "receipt.judgment.verdict.escalate.reasons[1]"},
		{"recovery beside deny", "judgment-deny", j + "recovery", nil, report.CodeSchemaRecovery, ""},
		{"recovery beside escalate", escalate, j + "recovery", nil, report.CodeSchemaRecovery, ""},
		{"no recovery beside admit", full, j + "recovery", m{{Key: "class", Value: s("stop")}, {Key: "code", Value: s("A")}, {Key: "hint", Value: s("B")}}, report.CodeSchemaRecovery, ""},
		{"recovery has a class", "judgment-deny", j + "recovery.class", nil, missing, ""},
		{"recovery has a code", "judgment-deny", j + "recovery.code", nil, missing, ""},
		{"recovery has a hint", "judgment-deny", j + "recovery.hint", nil, missing, ""},
		{"recovery's class is a word", "judgment-deny", j + "recovery.class", s("pray"), report.CodeSchemaWord, ""},
		{"recovery's hint is a code", "judgment-deny", j + "recovery.hint", s("try harder"), report.CodeSchemaCode, ""},
		{"recovery has nothing else", "judgment-deny", j + "recovery.text", s("A"), unknown, ""},
		{"origin is a map", full, j + "origin", s("unknown"), typ, ""},
		{"origin has a known word", full, j + "origin", m{{Key: "human", Value: m{}}}, arm, ""},
		{"origin has one arm", full, j + "origin.unknown", m{}, arm, "receipt.judgment.origin"},
		{"a whole origin carries nothing", "judgment-deny", j + "origin.unknown.intent", s("unknown"), unknown, ""},
		{"a whole origin carries a map", "judgment-deny", j + "origin.unknown", n(0), typ, ""},
		{"mixed has an intent", full, j + "origin.mixed.intent", nil, missing, ""},
		{"mixed has a rendering", full, j + "origin.mixed.rendering", nil, missing, ""},
		{"a stage is a word", full, j + "origin.mixed.intent", s("mixed"), report.CodeSchemaWord, ""},
		{"a stage is text", full, j + "origin.mixed.intent", m{}, typ, ""},
		{"mixed has nothing else", full, j + "origin.mixed.sending", s("unknown"), unknown, ""},
		{"mixed carries a map", full, j + "origin.mixed", n(0), typ, ""},
		{"reads is a list", full, j + "reads", m{}, typ, ""},
		{"a read has a key", full, j + "reads.0.key", nil, missing, "receipt.judgment.reads[0].key"},
		{"a read has a seen", full, j + "reads.0.seen", nil, missing, "receipt.judgment.reads[0].seen"},
		{"seen is committed", full, j + "reads.0.seen", s("clear"), typ, "receipt.judgment.reads[0].seen"},
		{"a read has nothing else", full, j + "reads.0.at", n(1), unknown, "receipt.judgment.reads[0].at"},
		{"reads ascend", full, j + "reads.1.key", s("A"), report.CodeSchemaOrder, "receipt.judgment.reads[1]"},
		{"inverse is a map", full, j + "inverse", s("unneeded"), typ, ""},
		{"inverse has a known arm", full, j + "inverse", m{{Key: "later", Value: m{}}}, arm, ""},
		{"escrowed has a delta", full, j + "inverse.escrowed.delta", nil, missing, ""},
		{"delta is 32 bytes", full, j + "inverse.escrowed.delta", bytesOf(34), report.CodeSchemaLength, ""},
		{"escrowed has nothing else", full, j + "inverse.escrowed.code", s("A"), unknown, ""},
		{"none has a code", "judgment-deny", j + "inverse.none.code", nil, missing, ""},
		{"none's code is a code", "judgment-deny", j + "inverse.none.code", s("no"), report.CodeSchemaCode, ""},
		{"unneeded carries nothing", escalate, j + "inverse.unneeded.code", s("A"), unknown, ""},
	}
	for _, field := range []string{"request", "class", "verdict", "origin", "inverse"} {
		v = append(v, violation{"judgment has " + field, full, j + field, nil, missing, ""})
	}
	return v
}

func requestViolations() []violation {
	typ, missing, unknown := report.CodeSchemaType, report.CodeSchemaMissing, report.CodeSchemaUnknown
	return []violation{
		{"request is a map", full, "receipt.judgment.request", bytesOf(32), typ, ""},
		{"request has a verb", full, req + "verb", nil, missing, ""},
		{"request has a digest", full, req + "digest", nil, missing, ""},
		{"request has nothing else", full, req + "reason", s("A"), unknown, ""},
		{"verb is a name", full, req + "verb", s("rm -rf"), report.CodeSchemaName, ""},
		{"digest is 32 bytes", full, req + "digest", bytesOf(20), report.CodeSchemaLength, ""},
		{"task is a name", full, req + "task", s("täsk"), report.CodeSchemaName, ""},
		{"attempt from 1", full, req + "attempt", n(0), report.CodeSchemaRange, ""},
		{"inputs is a list", full, req + "inputs", m{}, typ, ""},
		{"inputs is not empty", full, req + "inputs", l{}, report.CodeSchemaEmpty, ""},
		{"an input is a map", full, req + "inputs.0", n(1), typ, "receipt.judgment.request.inputs[0]"},
		{"an input has a name", full, req + "inputs.0.name", nil, missing, "receipt.judgment.request.inputs[0].name"},
		{"an input has a value", full, req + "inputs.0.value", nil, missing, "receipt.judgment.request.inputs[0].value"},
		{"an input has nothing else", full, req + "inputs.0.salt", bytesOf(32), unknown, "receipt.judgment.request.inputs[0].salt"},
		{"inputs ascend", full, req + "inputs.0.name", s("zzz"), report.CodeSchemaOrder, "receipt.judgment.request.inputs[1]"},
		{"no input twice", full, req + "inputs.0.name", s("message"), report.CodeSchemaOrder, "receipt.judgment.request.inputs[1]"},
		{"a value is bytes or text", full, req + "inputs.0.value", n(1), typ, "receipt.judgment.request.inputs[0].value"},
		{"a commitment is 32 bytes", full, req + "inputs.0.value", bytesOf(31), report.CodeSchemaLength, "receipt.judgment.request.inputs[0].value"},
		{"a clear form is not empty", full, req + "inputs.0.value", s(""), report.CodeSchemaClear, "receipt.judgment.request.inputs[0].value"},
		{"a clear form is at most 1,024 bytes", full, req + "inputs.0.value", s(strings.Repeat("a", 1025)), report.CodeSchemaClear, "receipt.judgment.request.inputs[0].value"},
		{"a clear form has no space", full, req + "inputs.0.value", s("a b"), report.CodeSchemaClear, "receipt.judgment.request.inputs[0].value"},
		{"a clear form escapes in upper case", full, req + "inputs.0.value", s("a%2b"), report.CodeSchemaClear, "receipt.judgment.request.inputs[0].value"},
		{"a clear form escapes what it must", full, req + "inputs.0.value", s("%61"), report.CodeSchemaClear, "receipt.judgment.request.inputs[0].value"},
		{"a clear form escapes whole bytes", full, req + "inputs.0.value", s("a%2"), report.CodeSchemaClear, "receipt.judgment.request.inputs[0].value"},
		{"changes is not empty", full, req + "changes", l{}, report.CodeSchemaEmpty, ""},
		{"a change has a path", full, req + "changes.0.path", nil, missing, "receipt.judgment.request.changes[0].path"},
		{"a change has nothing else", full, req + "changes.0.mode", n(1), unknown, "receipt.judgment.request.changes[0].mode"},
		{"a change changes something", full, req + "changes.0.after", nil, report.CodeSchemaEdit, "receipt.judgment.request.changes[0]"},
		{"contents are committed to", full, req + "changes.0.after", s("hello"), typ, "receipt.judgment.request.changes[0].after"},
		{"changes ascend", full, req + "changes.2.path", s("a"), report.CodeSchemaOrder, "receipt.judgment.request.changes[2]"},
		{"no path twice", full, req + "changes.1.path", s("src/new.go"), report.CodeSchemaOrder, "receipt.judgment.request.changes[1]"},
		{"a path is relative", full, req + "changes.0.path", s("/etc/passwd"), report.CodeSchemaPath, "receipt.judgment.request.changes[0].path"},
		{"a path stays inside", full, req + "changes.0.path", s("a/../b"), report.CodeSchemaPath, "receipt.judgment.request.changes[0].path"},
		{"a path has no dot", full, req + "changes.0.path", s("./b"), report.CodeSchemaPath, "receipt.judgment.request.changes[0].path"},
		{"a path has no double slash", full, req + "changes.0.path", s("a//b"), report.CodeSchemaPath, "receipt.judgment.request.changes[0].path"},
		{"a path has no slash at the end", full, req + "changes.0.path", s("a/"), report.CodeSchemaPath, "receipt.judgment.request.changes[0].path"},
		{"a path has no NUL", full, req + "changes.0.path", s("a%00b"), report.CodeSchemaPath, "receipt.judgment.request.changes[0].path"},
		{"slots is not empty", full, req + "slots", l{}, report.CodeSchemaEmpty, ""},
		{"a slot has a name", full, req + "slots.0.name", nil, missing, "receipt.judgment.request.slots[0].name"},
		{"a slot has a value", full, req + "slots.0.value", nil, missing, "receipt.judgment.request.slots[0].value"},
		{"a slot has a source", full, req + "slots.0.source", nil, missing, "receipt.judgment.request.slots[0].source"},
		{"a slot has nothing else", full, req + "slots.0.x", n(1), unknown, "receipt.judgment.request.slots[0].x"},
		{"effects is not empty", full, req + "effects", l{}, report.CodeSchemaEmpty, ""},
		{"an effect is on something", full, req + "effects.0.on", nil, missing, "receipt.judgment.request.effects[0].on"},
		{"an effect is on a known thing", full, req + "effects.0.on", s("air"), report.CodeSchemaWord, "receipt.judgment.request.effects[0].on"},
		{"an effect has a target", full, req + "effects.0.target", nil, missing, "receipt.judgment.request.effects[0].target"},
		{"effects ascend", full, req + "effects.0.on", s("writes"), report.CodeSchemaOrder, "receipt.judgment.request.effects[1]"},
		{"an effect has nothing else", full, req + "effects.0.x", n(1), unknown, "receipt.judgment.request.effects[0].x"},
		{"context is not empty", full, req + "context", m{}, report.CodeSchemaEmpty, ""},
		{"context has nothing else", full, req + "context.policy", bytesOf(34), unknown, ""},
		{"a pin is 34 bytes", full, req + "context.plan", bytesOf(32), report.CodeSchemaLength, ""},
		{"a pin names a function", full, req + "context.plan", bytesOf(34), report.CodeSchemaPin, ""},
		{"an approval class is a name", full, req + "context.approval", s(""), report.CodeSchemaName, ""},
	}
}

func outcomeViolations() []violation {
	typ, missing, unknown, arm := report.CodeSchemaType, report.CodeSchemaMissing, report.CodeSchemaUnknown, report.CodeSchemaArm
	o := "receipt.outcome."
	v := []violation{
		{"outcome has an of", "outcome-committed", o + "of", nil, missing, ""},
		{"outcome has a request", "outcome-committed", o + "request", nil, missing, ""},
		{"outcome has a disposition", "outcome-committed", o + "disposition", nil, missing, ""},
		{"outcome has nothing else", "outcome-committed", o + "verdict", m{}, unknown, ""},
		{"of is of the one form", "outcome-committed", o + "of", foreignLink(), report.CodeSchemaLink, ""},
		{"request is a digest", "outcome-committed", o + "request", m{}, typ, ""},
		{"disposition is one arm", "outcome-committed", dispo + "failed", m{}, arm, "receipt.outcome.disposition"},
		{"disposition is a known arm", "outcome-committed", o + "disposition", m{{Key: "done", Value: m{}}}, arm, ""},
		{"committed has nothing else", "outcome-committed", dispo + "committed.code", s("A"), unknown, ""},
		{"committed has no recovery", "outcome-committed", dispo + "committed.recovery", m{}, unknown, ""},
		{"wrote is not empty", "outcome-committed", dispo + "committed.wrote", l{}, report.CodeSchemaEmpty, ""},
		{"a postcondition has a key", "outcome-committed", dispo + "committed.wrote.0.key", nil, missing, "receipt.outcome.disposition.committed.wrote[0].key"},
		{"a postcondition has a value", "outcome-committed", dispo + "committed.wrote.0.value", nil, missing, "receipt.outcome.disposition.committed.wrote[0].value"},
		{"a postcondition's value is committed", "outcome-committed", dispo + "committed.wrote.0.value", s("x"), typ, "receipt.outcome.disposition.committed.wrote[0].value"},
		{"approval is of the one form", "outcome-committed-approved", dispo + "committed.approval", foreignLink(), report.CodeSchemaLink, ""},
		{"a failure's approval is of the one form", "outcome-failed-approved", dispo + "failed.approval", foreignLink(), report.CodeSchemaLink, ""},
		{"an unobserved's approval is of the one form", "outcome-unobserved-approved", dispo + "unobserved.approval", foreignLink(), report.CodeSchemaLink, ""},
		{"refused has no approval", "outcome-refused", dispo + "refused.approval", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), unknown, ""},
		{"rendered has no recovery", "outcome-rendered", dispo + "rendered.recovery", m{}, unknown, ""},
		{"failed has no recovery", "outcome-failed-no", dispo + "failed.recovery", m{}, unknown, ""},
		{"unobserved has no recovery", "outcome-unobserved", dispo + "unobserved.recovery", m{}, unknown, ""},
		{"restored is a word", "outcome-failed-no", dispo + "failed.restored", s("partly"), report.CodeSchemaWord, ""},
		{"compensates has an outcome", "outcome-undo-attested", o + "compensates.outcome", nil, missing, ""},
		{"compensates has an observation", "outcome-undo-attested", o + "compensates.observation", nil, missing, ""},
		{"compensates has nothing else", "outcome-undo-attested", o + "compensates.of", n(1), unknown, ""},
		{"observation is a known arm", "outcome-undo-attested", o + "compensates.observation", m{{Key: "trust-me", Value: m{}}}, arm, ""},
		{"attested compared something", "outcome-undo-attested", o + "compensates.observation.attested.compared", l{}, report.CodeSchemaEmpty, ""},
		{"attested has compared", "outcome-undo-attested", o + "compensates.observation.attested.compared", nil, missing, ""},
		{"a comparison has a key", "outcome-undo-attested", o + "compensates.observation.attested.compared.0.key", nil, missing, "receipt.outcome.compensates.observation.attested.compared[0].key"},
		{"a comparison has an expected", "outcome-undo-attested", o + "compensates.observation.attested.compared.0.expected", nil, missing, "receipt.outcome.compensates.observation.attested.compared[0].expected"},
		{"a comparison has a seen", "outcome-undo-attested", o + "compensates.observation.attested.compared.0.seen", nil, missing, "receipt.outcome.compensates.observation.attested.compared[0].seen"},
		{"unobservable has a code", "outcome-undo-unobservable", o + "compensates.observation.unobservable.code", nil, missing, ""},
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
		v = append(v, violation{field.path + " is required", field.example, dispo + field.path, nil, missing, ""})
	}
	return v
}

func runViolations() []violation {
	typ, missing, unknown := report.CodeSchemaType, report.CodeSchemaMissing, report.CodeSchemaUnknown
	open, shut, fault := "receipt.run-open.", "receipt.run-close.", "receipt.fault."
	v := []violation{
		{"engine has a name", "run-open", open + "engine.name", nil, missing, ""},
		{"engine has a version", "run-open", open + "engine.version", nil, missing, ""},
		{"engine has nothing else", "run-open", open + "engine.os", s("A"), unknown, ""},
		{"vocabulary is 32 bytes", "run-open", open + "vocabulary", bytesOf(34), report.CodeSchemaLength, ""},
		{"logs is not empty", "run-open", open + "logs", l{}, report.CodeSchemaEmpty, ""},
		{"logs ascend", "run-open", open + "logs", l{s("b"), s("a")}, report.CodeSchemaOrder, "receipt.run-open.logs[1]"},
		{"logs are names", "run-open", open + "logs", l{s("a b")}, report.CodeSchemaName, "receipt.run-open.logs[0]"},
		{"a pin of a run is a pin", "run-open", open + "policy", bytesOf(34), report.CodeSchemaPin, ""},
		{"parent is of the one form", "run-open", open + "parent", foreignLink(), report.CodeSchemaLink, ""},
		{"run-open has nothing else", "run-open", open + "at", n(1), unknown, ""},

		{"answer is a word", "decision-approve", "receipt.decision.answer", s("maybe"), report.CodeSchemaWord, ""},
		{"ticket is 16 bytes", "decision-approve", "receipt.decision.ticket", bytesOf(32), report.CodeSchemaLength, ""},
		{"decision has nothing else", "decision-approve", "receipt.decision.why", s("A"), unknown, ""},

		{"stage is a word", "fault-open", fault + "stage", s("lunch"), report.CodeSchemaWord, ""},
		{"posture is a word", "fault-open", fault + "posture", s("ajar"), report.CodeSchemaWord, ""},
		{"posture is text", "fault-open", fault + "posture", m{}, typ, ""},
		{"an open fault has a request", "fault-open", fault + "request", nil, report.CodeSchemaOpen, ""},
		{"fault has nothing else", "fault-open", fault + "recovery", m{}, unknown, ""},
		{"fault's request is a request", "fault-open", fault + "request.verb", nil, missing, ""},

		{"count from 1", "gap", "receipt.gap.count", n(0), report.CodeSchemaRange, ""},
		{"count is below seq", "gap", "receipt.gap.count", n(1000), report.CodeSchemaGap, ""},
		{"gap has a code", "gap", "receipt.gap.code", nil, missing, ""},
		{"gap has a count", "gap", "receipt.gap.count", nil, missing, ""},
		{"gap has nothing else", "gap", "receipt.gap.since", n(1), unknown, ""},

		{"statements are what the tallies say", "run-close", shut + "statements", n(3), report.CodeSchemaTally, ""},
		{"statements is required", "run-close", shut + "statements", nil, missing, ""},
		{"tallies are what statements says", "run-close", shut + "outcomes.committed", n(1), report.CodeSchemaTally, "receipt.run-close.statements"},
		{"a tally counts from 1", "run-close", shut + "faults", n(0), report.CodeSchemaRange, ""},
		{"a tally is of known words", "run-close", shut + "judgments.maybe", n(1), unknown, ""},
		{"a tally is not empty", "run-close", shut + "judgments", m{}, report.CodeSchemaEmpty, ""},
		{"run-close has nothing else", "run-close", shut + "decisions", n(1), unknown, ""},
	}
	for _, path := range []string{"engine", "vocabulary", "logs"} {
		v = append(v, violation{"run-open has " + path, "run-open", open + path, nil, missing, ""})
	}
	for _, path := range []string{"judgment", "request", "ticket", "answer"} {
		v = append(v, violation{"decision has " + path, "decision-approve", "receipt.decision." + path, nil, missing, ""})
	}
	for _, path := range []string{"stage", "code", "posture"} {
		v = append(v, violation{"fault has " + path, "fault-open", fault + path, nil, missing, ""})
	}
	return v
}

// TestSchemaViolations holds one broken rule to one code and one place.
func TestSchemaViolations(t *testing.T) {
	seen := make(map[string]bool)
	for _, v := range violations() {
		if seen[v.rule] {
			t.Errorf("%s: twice", v.rule)
		}
		seen[v.rule] = true
		payload := encode(t, put(t, tree(t, example(t, v.base)), v.path, v.put))
		at := v.at
		if at == "" {
			at = v.path
		}
		expectRefusal(t, v.rule, payload, v.code, at)
	}
}

func expectRefusal(t *testing.T, rule string, payload []byte, code report.Code, at string) {
	t.Helper()
	d, err := receipt.Decode(payload)
	var e *report.Error
	switch {
	case err == nil:
		t.Errorf("%s: accepted", rule)
	case d != nil:
		t.Errorf("%s: refused and returned", rule)
	case !errors.As(err, &e):
		t.Errorf("%s: %v is no *report.Error", rule, err)
	case e.Code != code || e.Where != at:
		t.Errorf("%s: got %s at %q, want %s at %q (%v)", rule, e.Code, e.Where, code, at, err)
	case e.Expected == "" || e.Actual == "":
		t.Errorf("%s: %v does not say what was expected and what came", rule, err)
	}
}

// TestSchemaRulesAcrossFields are violations that one edit of an example does
// not make.
func TestSchemaRulesAcrossFields(t *testing.T) {
	same := tree(t, example(t, "outcome-diverged"))
	same = put(t, same, dispo+"diverged.fired", get(t, same, "receipt.outcome.request"))
	expectRefusal(t, "diverged differs", encode(t, same), report.CodeSchemaFired, dispo+"diverged.fired")

	unmoved := tree(t, example(t, "outcome-stale"))
	unmoved = put(t, unmoved, dispo+"stale.seen", get(t, unmoved, dispo+"stale.expected"))
	expectRefusal(t, "stale differs", encode(t, unmoved), report.CodeSchemaStale, dispo+"stale.seen")

	seen := get(t, tree(t, example(t, "outcome-after-fault")), "call.seen")
	decision := put(t, tree(t, example(t, "decision-approve")), "call.seen", seen)
	expectRefusal(t, "a decision has no seen", encode(t, decision), report.CodeSchemaCall, "call.seen")

	// committed over another digest is for law 3 to show, not for the schema.
	other := put(t, tree(t, example(t, "outcome-committed")), dispo+"committed.fired", bytesOf(32))
	if _, err := receipt.Decode(encode(t, other)); err != nil {
		t.Errorf("committed over another digest: %v", err)
	}
}

// TestDecodeForm holds that what is not canonical is refused before the schema.
func TestDecodeForm(t *testing.T) {
	good := example(t, full).Payload()
	for _, c := range []struct {
		name    string
		payload []byte
		code    report.Code
	}{
		{"empty", nil, report.CodeCBORTruncated},
		{"trailing byte", append(append([]byte{}, good...), 0), report.CodeCBORTrailing},
		{"cut short", good[:len(good)-1], report.CodeCBORTruncated},
		{"null", []byte{0xa1, 0x64, 'c', 'a', 'l', 'l', 0xf6}, report.CodeCBORNull},
		{"too long", make([]byte, receipt.MaxStatement+1), report.CodeSchemaSize},
	} {
		if _, err := receipt.Decode(c.payload); report.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", c.name, err, c.code)
		}
		if _, err := receipt.DecodeFrame(c.payload); report.CodeOf(err) != c.code {
			t.Errorf("%s: frame: %v, want %s", c.name, err, c.code)
		}
	}
}
