package corpusgen

import (
	"strings"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// schema: signed statements that are canonical, and right or wrong by the schema
// alone. Every example is one case; every rule has one that breaks it.
func schema(b *builder) {
	b.in("schema")
	for _, e := range b.exampleNames() {
		d := b.example(e)
		kind := d.Frame().Kind
		b.about(sectionOf("receipt." + string(kind)))
		b.signed(e, d.Payload(), signerOf(kind), ok(), "an example of its kind: "+e, "kind="+string(kind))
	}
	for _, v := range violations() {
		b.about(sectionOfRule(v))
		d := b.example(v.base)
		payload := encode(b.t, put(b.t, tree(b.t, d.Payload()), v.path, v.put))
		b.signed("not-"+slug(v.rule), payload, signerOf(d.Frame().Kind), no("schema", v.code), "the rule that is broken: "+v.rule)
	}
	b.acrossFields()
}

// acrossFields are the rules that compare two fields.
func (b *builder) acrossFields() {
	b.about("receipt.md#dispositions")
	same := tree(b.t, b.example("outcome-diverged").Payload())
	same = put(b.t, same, dispo+"diverged.fired", get(b.t, same, "receipt.outcome.request"))
	b.signed("not-diverged-differs", encode(b.t, same), "engine", no("schema", report.CodeSchemaFired), "the rule that is broken: fired of a diverged differs from the request")
	still := tree(b.t, b.example("outcome-stale").Payload())
	still = put(b.t, still, dispo+"stale.seen", get(b.t, still, dispo+"stale.expected"))
	b.signed("not-stale-differs", encode(b.t, still), "engine", no("schema", report.CodeSchemaStale), "the rule that is broken: seen of a stale differs from what was expected")
	other := put(b.t, tree(b.t, b.example("outcome-committed").Payload()), dispo+"committed.fired", bytesOf(32))
	b.signed("committed-over-another-digest", encode(b.t, other), "engine", ok(), "no rule of the schema: a receipt must be able to show what law 3 forbids")
	b.about("statement.md#call")
	seen := get(b.t, tree(b.t, b.example("outcome-after-fault").Payload()), "call.seen")
	d := put(b.t, tree(b.t, b.example("decision-approve").Payload()), "call.seen", seen)
	b.signed("not-a-decision-without-seen", encode(b.t, d), "approver", no("schema", report.CodeSchemaCall), "the rule that is broken: a decision has by, settles and at and no other field")
}

// exampleNames are the names of the examples in the order of the log.
func (b *builder) exampleNames() []string {
	out := make([]string, len(b.world.at))
	for name, index := range b.world.at {
		out[index-1] = name
	}
	return out
}

// sectionOfRule is the section that gives a rule its code, where the code is of
// one form that many fields have; else that of the field.
func sectionOfRule(v violation) string {
	switch v.code {
	case report.CodeSchemaPin:
		return "receipt.md#pins"
	case report.CodeSchemaOrder:
		return "receipt.md#sets"
	case report.CodeSchemaEmpty:
		return "encoding.md#sets"
	case report.CodeSchemaArm:
		return "encoding.md#sums"
	case report.CodeSchemaName, report.CodeSchemaCode:
		return "encoding.md#text"
	case report.CodeSchemaLength, report.CodeSchemaLink:
		return "receipt.md#values"
	case report.CodeSchemaClear, report.CodeSchemaPath:
		return "receipt.md#clear-form"
	}
	return sectionOf(v.path)
}

// sectionOf is the section that says what stands at a path of a statement.
func sectionOf(path string) string {
	for _, s := range [][2]string{
		{"receipt.judgment.request.context", "receipt.md#request"},
		{"receipt.judgment.request", "receipt.md#request"},
		{"receipt.judgment.verdict", "receipt.md#verdict"},
		{"receipt.judgment.recovery", "receipt.md#recovery"},
		{"receipt.judgment.origin", "verdict.md#origin"},
		{"receipt.judgment", "receipt.md#judgment"},
		{"receipt.decision", "receipt.md#decision"},
		{"receipt.outcome.disposition", "receipt.md#dispositions"},
		{"receipt.outcome", "receipt.md#outcome"},
		{"receipt.run-open", "receipt.md#run-open"},
		{"receipt.run-close", "receipt.md#run-close"},
		{"receipt.fault", "receipt.md#fault"},
		{"receipt.gap", "receipt.md#gap"},
		{"call", "statement.md#call"},
	} {
		if strings.HasPrefix(path, s[0]) {
			return s[1]
		}
	}
	return "statement.md"
}

// dispositions: what became of a judged call, each word by itself.
func dispositions(b *builder) {
	b.in("dispositions")
	b.about("receipt.md#dispositions")
	for _, e := range b.exampleNames() {
		o, is := b.example(e).Statement.Receipt.(receipt.Outcome)
		if !is {
			continue
		}
		b.bundle(strings.TrimPrefix(e, "outcome-"), b.world.log.Bundle(b.world.at[e], b.world.log.Size()), noQuorum, ok(),
			"an outcome that says "+o.Disposition.Word(), "disposition="+o.Disposition.Word())
	}
	d := b.example("outcome-refused")
	b.bundle("refused-is-not-committed", b.world.log.Bundle(b.world.at["outcome-refused"], b.world.log.Size()), noQuorum,
		no("expect disposition", report.CodeExpectationUnmet), "who asks for a committed effect is not given a refusal", "disposition=committed")
	b.bundle("an-admission-is-no-outcome", b.world.log.Bundle(b.world.at["judgment-admit"], b.world.log.Size()), noQuorum,
		no("expect disposition", report.CodeExpectationUnmet), "what was admitted has not happened yet", "disposition=committed")
	done := put(b.t, tree(b.t, d.Payload()), "receipt.outcome.disposition", m{{Key: "done", Value: m{}}})
	b.signed("a-twelfth-word", encode(b.t, done), "engine", no("schema", report.CodeSchemaArm), "the list of eleven dispositions is closed")
}
