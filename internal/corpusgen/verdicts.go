package corpusgen

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

func words(list ...string) string { return `["` + strings.Join(list, `","`) + `"]` }

// The evaluations of claims.
func admit(by ...string) string      { return `{"admit":{"by":` + words(by...) + `}}` }
func deny(reasons ...string) string  { return `{"deny":{"reasons":` + words(reasons...) + `}}` }
func asked(reasons ...string) string { return `{"escalate":{"reasons":` + words(reasons...) + `}}` }
func fault(codes ...string) string   { return `{"fault":{"codes":` + words(codes...) + `}}` }

const nothing = `{"nothing":{}}`

func claim(is string, of ...string) string {
	return `{"of":[` + strings.Join(of, ",") + `],"is":` + is + `}`
}

func claims(list ...string) []byte { return []byte("[\n" + strings.Join(list, ",\n") + "\n]\n") }

// verdicts: the three arms in receipts, how evaluations meet, and what is
// derived from a refusal.
func verdicts(b *builder) {
	b.in("verdicts-and-meet")
	b.about("verdict.md#arms")
	for _, arm := range []string{"admit", "deny", "escalate"} {
		d := b.example("judgment-" + arm)
		b.signed("a-judgment-to-"+arm, d.Payload(), "engine", ok(), "a genuine judgment that says "+arm, "kind=judgment", "verdict="+arm)
		for _, other := range []string{"admit", "deny", "escalate"} {
			if other != arm {
				b.signed(arm+"-is-not-"+other, d.Payload(), "engine", no("expect verdict", report.CodeExpectationUnmet), "genuine, and not the verdict that is asked for", "verdict="+other)
			}
		}
	}
	b.about("verdict.md#names")
	relaxed := put(b.t, tree(b.t, b.example("judgment-for-refused").Payload()), "receipt.judgment.verdict.admit.by", l{s("exec/allowed"), s("obstat/relaxed")})
	b.signed("admitted-before-it-was-logged", encode(b.t, relaxed), "engine", ok(), "the gate's own name says that the effect did not wait for the log", "verdict=admit")
	b.about("verdict.md#faults")
	for _, posture := range []string{"closed", "open"} {
		b.signed("a-fault-"+posture, b.example("fault-"+posture).Payload(), "engine", ok(), "no verdict was reached, and the posture says what happened then", "kind=fault", "posture="+posture)
	}
	b.signed("a-fault-is-no-verdict", b.example("fault-open").Payload(), "engine", no("expect verdict", report.CodeExpectationUnmet), "an open fault admitted nothing, it let something through unjudged", "verdict=admit")
	b.meets()
	b.tickets()
}

func (b *builder) meets() {
	b.about("verdict.md#meet")
	meet := func(name string, w want, why string, list ...string) {
		b.one(corpus.AskMeet, name, ".meet.json", claims(list...), w, why)
	}
	meet("one-alone", ok(), "what one says alone stays as it is",
		claim(admit("a"), admit("a")), claim(deny("A"), deny("A")), claim(asked("A"), asked("A")), claim(fault("A"), fault("A")))
	meet("sets-unite", ok(), "sets on one level unite, sorted and each once",
		claim(admit("a", "b", "c"), admit("c", "a"), admit("b", "a")), claim(deny("A", "B"), deny("B"), deny("A")),
		claim(asked("A", "B"), asked("B", "A"), asked("A")), claim(fault("A", "B"), fault("B"), fault("A")))
	level := []string{admit("a"), asked("E"), fault("F"), deny("D")}
	var table []string
	for i, x := range level {
		for j, y := range level {
			table = append(table, claim(level[max(i, j)], x, y))
		}
	}
	meet("the-table", ok(), "the sixteen cells: deny above fault above escalate above admit", table...)
	meet("three-in-any-order", ok(), "associative and commutative: six orders, one result",
		claim(deny("D"), admit("a"), asked("E"), deny("D")), claim(deny("D"), admit("a"), deny("D"), asked("E")), claim(deny("D"), asked("E"), admit("a"), deny("D")),
		claim(deny("D"), asked("E"), deny("D"), admit("a")), claim(deny("D"), deny("D"), admit("a"), asked("E")), claim(deny("D"), deny("D"), asked("E"), admit("a")))
	meet("idempotent", ok(), "said twice is said once", claim(deny("D"), deny("D"), deny("D")), claim(admit("a"), admit("a"), admit("a")))
	meet("nothing-is-neutral", ok(), "who has nothing to say changes nothing", claim(admit("a"), nothing, admit("a"), nothing), claim(fault("F"), nothing, fault("F")))
	meet("nothing-alone-is-a-fault", ok(), "nothing admits nothing", claim(fault("EVALUATION-NONE"), nothing), claim(fault("EVALUATION-NONE")), claim(fault("EVALUATION-NONE"), nothing, nothing))
	wrong := no("claims", report.CodeExpectationUnmet)
	meet("a-fault-does-not-admit", wrong, "admit with a fault is the fault", claim(admit("a"), admit("a"), fault("F")))
	meet("a-fault-hides-no-denial", wrong, "deny with a fault is the denial", claim(fault("F"), deny("D"), fault("F")))
	meet("nobody-is-asked-about-half-a-judgment", wrong, "escalate with a fault is the fault", claim(asked("E"), asked("E"), fault("F")))
	meet("an-admission-adds-no-reason", wrong, "only sets on the highest level unite", claim(deny("A", "D"), deny("D"), asked("A")))
	meet("majority-counts-for-nothing", wrong, "one denial is enough", claim(admit("a", "b", "c"), admit("a"), admit("b"), admit("c"), deny("D")))
	b.about("verdict.md#arms")
	meet("empty-by", no("form", report.CodeVerdictEmpty), "an admission names a rule", claim(`{"admit":{"by":[]}}`, nothing))
	meet("empty-reasons", no("form", report.CodeVerdictEmpty), "a denial has a reason", claim(`{"deny":{"reasons":[]}}`, nothing))
	meet("empty-fault", no("form", report.CodeVerdictEmpty), "a fault has a code", claim(`{"fault":{"codes":[]}}`, nothing))
	meet("rule-that-is-no-name", no("form", report.CodeVerdictName), "rules are names", claim(admit("a rule"), nothing))
	meet("reason-that-is-no-code", no("form", report.CodeVerdictReason), "reasons are codes", claim(deny("because"), nothing))
	meet("reason-of-65-bytes", no("form", report.CodeVerdictReason), "codes have at most 64 bytes", claim(deny(strings.Repeat("A", 65)), nothing))
}

// deriveKey is BLAKE3 in derive-key mode over a canonical block.
func (b *builder) deriveKey(context string, v dagcbor.Value, n int) string {
	out := make([]byte, n)
	blake3.DeriveKey(context, encode(b.t, v), out)
	return hex.EncodeToString(out)
}

func (b *builder) tickets() {
	request := receipttest.Digest("request")
	digits := hex.EncodeToString(request[:])
	reasons := l{s("CLASS-RED"), s("RULE-ASKS")}
	refusal := func(arm string) string {
		return b.deriveKey("obstat refusal v1", l{dagcbor.Bytes(request[:]), s(arm), reasons}, 32)
	}
	ticket := b.deriveKey("obstat ticket v1", l{dagcbor.Bytes(request[:]), reasons}, 16)
	claim := func(verdict, more string) string {
		return `{"request":"` + digits + `","verdict":` + verdict + more + `}`
	}
	ask := func(name string, w want, why string, list ...string) {
		b.one(corpus.AskTicket, name, ".ticket.json", claims(list...), w, why)
	}
	escalated, denied := asked("CLASS-RED", "RULE-ASKS"), deny("RULE-ASKS", "CLASS-RED")
	wrong := no("claims", report.CodeExpectationUnmet)
	b.about("preview.md#refusal")
	ask("refusal-of-a-denial", ok(), "one digest for one refusal, whatever the order of its reasons", claim(denied, `,"refusal":"`+refusal("deny")+`"`))
	ask("refusal-of-an-escalation", ok(), "the arm enters the digest", claim(escalated, `,"refusal":"`+refusal("escalate")+`"`))
	ask("refusal-of-the-other-arm", wrong, "a denial is no escalation for the same reasons", claim(denied, `,"refusal":"`+refusal("escalate")+`"`))
	ask("refusal-of-an-admission", no("form", report.CodePreviewTicket), "an admission refuses nothing", claim(admit("a"), `,"refusal":"`+refusal("deny")+`"`))
	b.about("preview.md#ticket")
	ask("ticket-of-an-escalation", ok(), "16 bytes that bind the question to its reasons", claim(escalated, `,"ticket":"`+ticket+`","refusal":"`+refusal("escalate")+`"`))
	ask("ticket-for-fewer-reasons", wrong, "other reasons, another question", claim(asked("RULE-ASKS"), `,"ticket":"`+ticket+`"`))
	ask("ticket-of-a-denial", no("form", report.CodePreviewTicket), "nobody is asked about a denial", claim(denied, `,"ticket":"`+ticket+`"`))
	d := b.example("decision-approve").Statement.Receipt.(receipt.Decision)
	j := b.example("judgment-escalate").Statement.Receipt.(receipt.Judgment)
	ask("ticket-in-a-decision", ok(), "what the decision of the example log carries, derived from the judgment that it answers",
		fmt.Sprintf(`{"request":"%s","verdict":%s,"ticket":"%s"}`, j.Request.Digest, asked("RULE-ASKS"), hex.EncodeToString(d.Ticket[:])))
}

// origins: the twelve inhabitants and how they combine.
func origins(b *builder) {
	b.in("origin")
	b.about("verdict.md#origin")
	stages := []string{"unknown", "deterministic_replay", "llm_originated"}
	judgment := tree(b.t, b.example("judgment-for-refused").Payload())
	type origin struct {
		mixed             bool
		intent, rendering int
	}
	var all []origin
	for i := range stages {
		all = append(all, origin{false, i, i})
	}
	for i := range stages {
		for j := range stages {
			all = append(all, origin{true, i, j})
		}
	}
	value := func(o origin) dagcbor.Value {
		if o.mixed {
			return m{{Key: "mixed", Value: m{{Key: "intent", Value: s(stages[o.intent])}, {Key: "rendering", Value: s(stages[o.rendering])}}}}
		}
		return m{{Key: stages[o.intent], Value: m{}}}
	}
	text := func(o origin) string {
		if o.mixed {
			return fmt.Sprintf(`{"mixed":{"intent":"%s","rendering":"%s"}}`, stages[o.intent], stages[o.rendering])
		}
		return `{"` + stages[o.intent] + `":{}}`
	}
	var table []string
	for _, o := range all {
		name := stages[o.intent]
		if o.mixed {
			name = "mixed " + name + " " + stages[o.rendering]
		}
		b.signed(slug(name), encode(b.t, put(b.t, judgment, "receipt.judgment.origin", value(o))), "engine", ok(), "one of the twelve inhabitants")
		for _, p := range all {
			table = append(table, claim(text(origin{o.mixed || p.mixed, max(o.intent, p.intent), max(o.rendering, p.rendering)}), text(o), text(p)))
		}
	}
	thirteenth := put(b.t, judgment, "receipt.judgment.origin", m{{Key: "human", Value: m{}}})
	b.signed("a-thirteenth", encode(b.t, thirteenth), "engine", no("schema", report.CodeSchemaArm), "the list of twelve is closed")
	b.about("verdict.md#combine")
	combine := func(name string, w want, why string, list ...string) {
		b.one(corpus.AskCombine, name, ".combine.json", claims(list...), w, why)
	}
	combine("the-table", ok(), "all 144 cells", table...)
	unknown, replay, llm := `{"unknown":{}}`, `{"deterministic_replay":{}}`, `{"llm_originated":{}}`
	combine("three", ok(), "associative: three accounts of one effect", claim(llm, replay, llm, unknown), claim(llm, unknown, replay, llm))
	wrong := no("claims", report.CodeExpectationUnmet)
	combine("unknown-displaces-nothing", wrong, "unknown is no finding", claim(unknown, unknown, replay))
	combine("a-model-cannot-be-replayed-away", wrong, "of two findings the one with less determinism stays", claim(replay, replay, llm))
	combine("mixed-of-one-word-is-not-that-word", wrong, "two stages that were looked at are not an effect that nobody took apart",
		claim(replay, replay, `{"mixed":{"intent":"deterministic_replay","rendering":"deterministic_replay"}}`))
	combine("word-that-is-none", no("form", report.CodeOriginWord), "three words and no fourth", claim(unknown, `{"human":{}}`))
	combine("stage-that-is-none", no("form", report.CodeOriginWord), "three words and no fourth, in a stage too", claim(unknown, `{"mixed":{"intent":"human","rendering":"unknown"}}`))
}
