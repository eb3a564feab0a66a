package corpusgen

import (
	"strings"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

type (
	s = dagcbor.Text
	n = dagcbor.Int
	l = dagcbor.List
	m = dagcbor.Map
)

func bytesOf(length int) dagcbor.Bytes { return make(dagcbor.Bytes, length) }

// foreignLink is a well-formed CID (raw, SHA-256) that is not the one form.
func foreignLink() dagcbor.Link {
	return append(dagcbor.Link("\x01\x55\x12\x20"), make([]byte, 32)...)
}

// violation is one example with one thing wrong. The rule says what is right.
type violation struct {
	rule string
	base string // example
	path string // what is replaced, added or (nil) removed
	put  dagcbor.Value
	code report.Code
}

const (
	full     = "judgment-admit"
	req      = "receipt.judgment.request."
	dispo    = "receipt.outcome.disposition."
	escalate = "judgment-escalate"
	small    = "judgment-for-refused" // an admission
)

func violations() []violation {
	code, missing, unknown := report.CodeSchemaType, report.CodeSchemaMissing, report.CodeSchemaUnknown
	v := []violation{
		{"statement is a map", small, "", n(1), code},
		{"statement has a call", small, "call", nil, missing},
		{"statement has a receipt", small, "receipt", nil, missing},
		{"statement has nothing else", small, "extra", n(1), unknown},

		{"call is a map", small, "call", n(1), code},
		{"call has nothing else", small, "call.extra", n(1), unknown},
		{"by is bytes", small, "call.by", s("x"), code},
		{"by is 32 bytes", small, "call.by", bytesOf(31), report.CodeSchemaLength},
		{"by is required", small, "call.by", nil, missing},
		{"run is required", small, "call.run", nil, missing},
		{"run is a name", small, "call.run", s("a b"), report.CodeSchemaName},
		{"run is not empty", small, "call.run", s(""), report.CodeSchemaName},
		{"run is at most 128 bytes", small, "call.run", s(strings.Repeat("a", 129)), report.CodeSchemaName},
		{"seq is required", small, "call.seq", nil, missing},
		{"seq is not negative", small, "call.seq", n(-1), report.CodeSchemaRange},
		{"seq is an integer", small, "call.seq", s("1"), code},
		{"at is required", small, "call.at", nil, missing},
		{"at is not negative", small, "call.at", n(-1), report.CodeSchemaRange},
		{"seq 0 is a run-open's", small, "call.seq", n(0), report.CodeSchemaSeq},
		{"a run-open's seq is 0", "run-open", "call.seq", n(1), report.CodeSchemaSeq},
		{"prev stands behind seq 0", small, "call.prev", nil, report.CodeSchemaPrev},
		{"no prev at seq 0", "run-open", "call.prev", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaPrev},
		{"prev is a link", small, "call.prev", bytesOf(36), code},
		{"prev is of the one form", small, "call.prev", foreignLink(), report.CodeSchemaLink},
		{"no settles in a judgment", small, "call.settles", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaSettles},
		{"no settles in a run-open", "run-open", "call.settles", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaSettles},
		{"no settles in a fault", "fault-open", "call.settles", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaSettles},
		{"no settles in a gap", "gap", "call.settles", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaSettles},
		{"no settles in a run-close", "run-close", "call.settles", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaSettles},
		{"settles in an outcome", "outcome-committed", "call.settles", nil, report.CodeSchemaSettles},
		{"settles in a decision", "decision-approve", "call.settles", nil, report.CodeSchemaSettles},
		{"settles is of the one form", "outcome-committed", "call.settles", foreignLink(), report.CodeSchemaLink},
		{"expires where it escalates", escalate, "call.expires", nil, report.CodeSchemaExpires},
		{"no expires where it admits", small, "call.expires", n(9e12), report.CodeSchemaExpires},
		{"no expires where it denies", "judgment-deny", "call.expires", n(9e12), report.CodeSchemaExpires},
		{"no expires in an outcome", "outcome-committed", "call.expires", n(9e12), report.CodeSchemaExpires},
		{"no expires in a run-open", "run-open", "call.expires", n(9e12), report.CodeSchemaExpires},
		{"no expires in a fault", "fault-open", "call.expires", n(9e12), report.CodeSchemaExpires},
		{"expires not before at", escalate, "call.expires", n(1), report.CodeSchemaExpires},
		{"expires from 1", escalate, "call.expires", n(0), report.CodeSchemaRange},
		{"seen is a map", small, "call.seen", n(1), code},
		{"seen has an origin", small, "call.seen", m{{Key: "size", Value: n(1)}, {Key: "root", Value: bytesOf(32)}}, missing},
		{"seen has a size", "outcome-after-fault", "call.seen.size", nil, missing},
		{"seen has a root", "outcome-after-fault", "call.seen.root", nil, missing},
		{"seen's size is not negative", "outcome-after-fault", "call.seen.size", n(-1), report.CodeSchemaRange},
		{"seen's root is 32 bytes", "outcome-after-fault", "call.seen.root", bytesOf(33), report.CodeSchemaLength},
		{"seen's origin is a name", "outcome-after-fault", "call.seen.origin", s("a\n"), report.CodeSchemaName},
		{"seen has nothing else", "outcome-after-fault", "call.seen.time", n(1), unknown},
		{"a decision is in no run", "decision-approve", "call.run", s("run-1"), report.CodeSchemaCall},
		{"a decision has no seq", "decision-approve", "call.seq", n(1), report.CodeSchemaCall},
		{"a decision has no prev", "decision-approve", "call.prev", receipt.CID{1, 0x71, 0x1e, 0x20}.Link(), report.CodeSchemaCall},
		{"a decision has no expires", "decision-approve", "call.expires", n(9e12), report.CodeSchemaCall},
		{"a decision has an at", "decision-approve", "call.at", nil, missing},
		{"a decision has a by", "decision-approve", "call.by", nil, missing},

		{"receipt is a map", small, "receipt", s("judgment"), code},
		{"receipt is one kind", small, "receipt.gap", m{}, report.CodeSchemaArm},
		{"receipt is some kind", small, "receipt", m{}, report.CodeSchemaArm},
		{"receipt is a known kind", small, "receipt", m{{Key: "verdict", Value: m{}}}, report.CodeSchemaArm},
		{"a kind is a map", small, "receipt.judgment", l{}, code},
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
		{"judgment has nothing else", small, j + "score", n(1), unknown},
		{"class is a word", small, j + "class", s("orange"), report.CodeSchemaWord},
		{"class is text", small, j + "class", n(1), typ},
		{"verdict has one arm", small, j + "verdict.deny", m{}, arm},
		{"verdict has an arm", small, j + "verdict", m{}, arm},
		{"verdict has no fourth arm", small, j + "verdict", m{{Key: "defer", Value: m{}}}, arm},
		{"verdict is a map", small, j + "verdict", s("admit"), typ},
		{"admit has by", small, j + "verdict.admit", m{}, missing},
		{"admit has nothing else", small, j + "verdict.admit.reasons", l{s("A")}, unknown},
		{"by is a list", small, j + "verdict.admit.by", s("rule"), typ},
		{"by is not empty", small, j + "verdict.admit.by", l{}, report.CodeSchemaEmpty},
		{"by is of names", small, j + "verdict.admit.by", l{s("a rule")}, report.CodeSchemaName},
		{"by ascends", small, j + "verdict.admit.by", l{s("b"), s("a")}, report.CodeSchemaOrder},
		{"by has none twice", small, j + "verdict.admit.by", l{s("a"), s("a")}, report.CodeSchemaOrder},
		{"deny has reasons", "judgment-deny", j + "verdict.deny", m{}, missing},
		{"reasons are codes", "judgment-deny", j + "verdict.deny.reasons", l{s("because")}, report.CodeSchemaCode},
		{"codes have no dash at the end", "judgment-deny", j + "verdict.deny.reasons", l{s("A-")}, report.CodeSchemaCode},
		{"codes are at most 64 bytes", "judgment-deny", j + "verdict.deny.reasons", l{s(strings.Repeat("A", 65))}, report.CodeSchemaCode},
		{"reasons are not empty", "judgment-deny", j + "verdict.deny.reasons", l{}, report.CodeSchemaEmpty},
		{"reasons ascend", escalate, j + "verdict.escalate.reasons", l{s("B"), s("A")}, report.CodeSchemaOrder},
		{"recovery beside deny", "judgment-deny", j + "recovery", nil, report.CodeSchemaRecovery},
		{"recovery beside escalate", escalate, j + "recovery", nil, report.CodeSchemaRecovery},
		{"no recovery beside admit", small, j + "recovery", m{{Key: "class", Value: s("stop")}, {Key: "code", Value: s("A")}, {Key: "hint", Value: s("B")}}, report.CodeSchemaRecovery},
		{"recovery has a class", "judgment-deny", j + "recovery.class", nil, missing},
		{"recovery has a code", "judgment-deny", j + "recovery.code", nil, missing},
		{"recovery has a hint", "judgment-deny", j + "recovery.hint", nil, missing},
		{"recovery's class is a word", "judgment-deny", j + "recovery.class", s("pray"), report.CodeSchemaWord},
		{"recovery's hint is a code", "judgment-deny", j + "recovery.hint", s("try harder"), report.CodeSchemaCode},
		{"recovery has nothing else", "judgment-deny", j + "recovery.text", s("A"), unknown},
		{"origin is a map", small, j + "origin", s("unknown"), typ},
		{"origin has a known word", small, j + "origin", m{{Key: "human", Value: m{}}}, arm},
		{"origin has one arm", full, j + "origin.unknown", m{}, arm},
		{"a whole origin carries nothing", "judgment-deny", j + "origin.unknown.intent", s("unknown"), unknown},
		{"a whole origin carries a map", "judgment-deny", j + "origin.unknown", n(0), typ},
		{"mixed has an intent", full, j + "origin.mixed.intent", nil, missing},
		{"mixed has a rendering", full, j + "origin.mixed.rendering", nil, missing},
		{"a stage is a word", full, j + "origin.mixed.intent", s("mixed"), report.CodeSchemaWord},
		{"a stage is text", full, j + "origin.mixed.intent", m{}, typ},
		{"mixed has nothing else", full, j + "origin.mixed.sending", s("unknown"), unknown},
		{"mixed carries a map", full, j + "origin.mixed", n(0), typ},
		{"reads is a list", full, j + "reads", m{}, typ},
		{"a read has a key", full, j + "reads.0.key", nil, missing},
		{"a read has a seen", full, j + "reads.0.seen", nil, missing},
		{"seen is committed", full, j + "reads.0.seen", s("clear"), typ},
		{"a read has nothing else", full, j + "reads.0.at", n(1), unknown},
		{"reads ascend", full, j + "reads.1.key", s("A"), report.CodeSchemaOrder},
		{"inverse is a map", small, j + "inverse", s("unneeded"), typ},
		{"inverse has a known arm", full, j + "inverse", m{{Key: "later", Value: m{}}}, arm},
		{"escrowed has a delta", full, j + "inverse.escrowed.delta", nil, missing},
		{"delta is 32 bytes", full, j + "inverse.escrowed.delta", bytesOf(34), report.CodeSchemaLength},
		{"escrowed has nothing else", full, j + "inverse.escrowed.code", s("A"), unknown},
		{"none has a code", "judgment-deny", j + "inverse.none.code", nil, missing},
		{"none's code is a code", "judgment-deny", j + "inverse.none.code", s("no"), report.CodeSchemaCode},
		{"unneeded carries nothing", escalate, j + "inverse.unneeded.code", s("A"), unknown},
	}
	for _, field := range []string{"request", "class", "verdict", "origin", "inverse"} {
		v = append(v, violation{"judgment has " + field, small, j + field, nil, missing})
	}
	return v
}

func requestViolations() []violation {
	typ, missing, unknown := report.CodeSchemaType, report.CodeSchemaMissing, report.CodeSchemaUnknown
	return []violation{
		{"request is a map", full, "receipt.judgment.request", bytesOf(32), typ},
		{"request has a verb", full, req + "verb", nil, missing},
		{"request has a digest", full, req + "digest", nil, missing},
		{"request has nothing else", full, req + "reason", s("A"), unknown},
		{"verb is a name", full, req + "verb", s("rm -rf"), report.CodeSchemaName},
		{"digest is 32 bytes", full, req + "digest", bytesOf(20), report.CodeSchemaLength},
		{"task is a name", full, req + "task", s("täsk"), report.CodeSchemaName},
		{"attempt from 1", full, req + "attempt", n(0), report.CodeSchemaRange},
		{"inputs is a list", full, req + "inputs", m{}, typ},
		{"inputs is not empty", full, req + "inputs", l{}, report.CodeSchemaEmpty},
		{"an input is a map", full, req + "inputs.0", n(1), typ},
		{"an input has a name", full, req + "inputs.0.name", nil, missing},
		{"an input has a value", full, req + "inputs.0.value", nil, missing},
		{"an input has nothing else", full, req + "inputs.0.salt", bytesOf(32), unknown},
		{"inputs ascend", full, req + "inputs.0.name", s("zzz"), report.CodeSchemaOrder},
		{"no input twice", full, req + "inputs.0.name", s("message"), report.CodeSchemaOrder},
		{"a value is bytes or text", full, req + "inputs.0.value", n(1), typ},
		{"a commitment is 32 bytes", full, req + "inputs.0.value", bytesOf(31), report.CodeSchemaLength},
		{"a clear form is not empty", full, req + "inputs.0.value", s(""), report.CodeSchemaClear},
		{"a clear form is at most 1,024 bytes", full, req + "inputs.0.value", s(strings.Repeat("a", 1025)), report.CodeSchemaClear},
		{"a clear form has no space", full, req + "inputs.0.value", s("a b"), report.CodeSchemaClear},
		{"a clear form escapes in upper case", full, req + "inputs.0.value", s("a%2b"), report.CodeSchemaClear},
		{"a clear form escapes what it must", full, req + "inputs.0.value", s("%61"), report.CodeSchemaClear},
		{"a clear form escapes whole bytes", full, req + "inputs.0.value", s("a%2"), report.CodeSchemaClear},
		{"changes is not empty", full, req + "changes", l{}, report.CodeSchemaEmpty},
		{"a change has a path", full, req + "changes.0.path", nil, missing},
		{"a change has nothing else", full, req + "changes.0.mode", n(1), unknown},
		{"a change changes something", full, req + "changes.0.after", nil, report.CodeSchemaEdit},
		{"contents are committed to", full, req + "changes.0.after", s("hello"), typ},
		{"changes ascend", full, req + "changes.2.path", s("a"), report.CodeSchemaOrder},
		{"no path twice", full, req + "changes.1.path", s("src/new.go"), report.CodeSchemaOrder},
		{"a path is relative", full, req + "changes.0.path", s("/etc/passwd"), report.CodeSchemaPath},
		{"a path stays inside", full, req + "changes.0.path", s("a/../b"), report.CodeSchemaPath},
		{"a path has no dot", full, req + "changes.0.path", s("./b"), report.CodeSchemaPath},
		{"a path has no double slash", full, req + "changes.0.path", s("a//b"), report.CodeSchemaPath},
		{"a path has no slash at the end", full, req + "changes.0.path", s("a/"), report.CodeSchemaPath},
		{"a path has no NUL", full, req + "changes.0.path", s("a%00b"), report.CodeSchemaPath},
		{"slots is not empty", full, req + "slots", l{}, report.CodeSchemaEmpty},
		{"a slot has a name", full, req + "slots.0.name", nil, missing},
		{"a slot has a value", full, req + "slots.0.value", nil, missing},
		{"a slot has a source", full, req + "slots.0.source", nil, missing},
		{"a slot has nothing else", full, req + "slots.0.x", n(1), unknown},
		{"effects is not empty", full, req + "effects", l{}, report.CodeSchemaEmpty},
		{"an effect is on something", full, req + "effects.0.on", nil, missing},
		{"an effect is on a known thing", full, req + "effects.0.on", s("air"), report.CodeSchemaWord},
		{"an effect has a target", full, req + "effects.0.target", nil, missing},
		{"effects ascend", full, req + "effects.0.on", s("writes"), report.CodeSchemaOrder},
		{"an effect has nothing else", full, req + "effects.0.x", n(1), unknown},
		{"context is not empty", full, req + "context", m{}, report.CodeSchemaEmpty},
		{"context has nothing else", full, req + "context.policy", bytesOf(34), unknown},
		{"a pin is 34 bytes", full, req + "context.plan", bytesOf(32), report.CodeSchemaLength},
		{"a pin names a function", full, req + "context.plan", bytesOf(34), report.CodeSchemaPin},
		{"an approval class is a name", full, req + "context.approval", s(""), report.CodeSchemaName},
	}
}
