package receipt_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

func TestRoleFor(t *testing.T) {
	for _, k := range append(receipt.Kinds(), "later") {
		want := receipt.RoleEngine
		if k == receipt.KindDecision {
			want = receipt.RoleApprover
		}
		if got := receipt.RoleFor(k); got != want {
			t.Errorf("%s: %s, want %s", k, got, want)
		}
	}
}

// TestFrameOfALaterVersion: a receipt that this version does not know still has
// its frame, and only that.
func TestFrameOfALaterVersion(t *testing.T) {
	base := tree(t, example(t, "judgment-admit"))
	later := m{{Key: "weather", Value: m{{Key: "wind", Value: l{n(1), m{{Key: "deep", Value: b("x")}}}}}}}
	payload := encode(t, put(t, base, "receipt", later))
	f, err := receipt.DecodeFrame(payload)
	if err != nil {
		t.Fatal(err)
	}
	want := example(t, "judgment-admit").Frame()
	want.Kind, want.CID, want.ReceiptCID = "weather", dagcbor.Sum(payload), dagcbor.Sum(encode(t, later))
	if f != want {
		t.Errorf("frame %+v, want %+v", f, want)
	}
	if _, err := receipt.Decode(payload); report.CodeOf(err) != report.CodeSchemaArm {
		t.Errorf("decoded: %v", err)
	}
	changed := put(t, base, "receipt.judgment.score", n(1)) // a known kind, changed
	if _, err := receipt.DecodeFrame(encode(t, changed)); err != nil {
		t.Errorf("a judgment with a new field: %v", err)
	}
	for rule, c := range map[string]struct {
		path string
		put  dagcbor.Value
		code report.Code
	}{
		"call is frozen":        {"call.extra", n(1), report.CodeSchemaUnknown},
		"statement is frozen":   {"extra", n(1), report.CodeSchemaUnknown},
		"one kind":              {"receipt.gap", m{}, report.CodeSchemaArm},
		"a kind is a word":      {"receipt", m{{Key: "We ather", Value: m{}}}, report.CodeSchemaArm},
		"a run's seq":           {"call.seq", n(0), report.CodeSchemaSeq},
		"prev behind seq 0":     {"call.prev", nil, report.CodeSchemaPrev},
		"a run is required":     {"call.run", nil, report.CodeSchemaMissing},
		"links of the one form": {"call.prev", foreignLink(), report.CodeSchemaLink},
	} {
		_, err := receipt.DecodeFrame(encode(t, put(t, base, c.path, c.put)))
		if report.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", rule, err, c.code)
		}
	}
}

// TestClearForm: escaping is one-to-one, and nothing but its image is taken.
func TestClearForm(t *testing.T) {
	for text, clear := range map[string]string{
		"src/main.go": "src/main.go",
		"a b":         "a%20b",
		"100%":        "100%25",
		"täg":         "t%C3%A4g",
		"\x1b[31m":    "%1B%5B31m",
		"a\nb":        "a%0Ab",
	} {
		if got := receipt.EscapeClear(text); got != clear {
			t.Errorf("%q is %q, want %q", text, got, clear)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		back, ok := receipt.UnescapeClear(receipt.EscapeClear(text))
		if !ok || back != text {
			t.Fatalf("%q came back as %q, %v", text, back, ok)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		clear := rapid.StringMatching(`[A-Za%+.]{0,3}(%[0-9A-Fa-f]{0,2}){0,3}[a-z]?`).Draw(t, "clear")
		if text, ok := receipt.UnescapeClear(clear); ok && receipt.EscapeClear(text) != clear {
			t.Fatalf("%q is taken for %q, whose form is %q", clear, text, receipt.EscapeClear(text))
		}
	})
}

// TestSortSet: values sort by their bytes whatever form they are in, and the
// encoder takes what SortSet made.
func TestSortSet(t *testing.T) {
	same := receipt.Commitment([]byte("0123456789abcdef0123456789abcdef"))
	reads := []receipt.Read{
		{Key: receipt.Clear("zz")}, {Key: receipt.Clear(string(same[:]))}, {Key: receipt.CommittedTo(same)}, {Key: receipt.Clear("0")},
	}
	receipt.SortSet(reads)
	want := []receipt.Value{receipt.Clear("0"), receipt.CommittedTo(same), receipt.Clear(string(same[:])), receipt.Clear("zz")}
	for i, r := range reads {
		if r.Key != want[i] {
			t.Errorf("at %d: %v, want %v", i, r.Key, want[i])
		}
	}
	j := receipttest.Judgment("x", receipttest.Admit("rule"))
	j.Reads = reads
	if _, err := receipt.EncodeReceipt(j); err != nil {
		t.Error(err)
	}
}

func TestRule(t *testing.T) {
	admit, _ := verdict.Admit("rule")
	deny, _ := verdict.Deny("NO-RULE")
	some := receipttest.Recovery("deny")
	for name, c := range map[string]struct {
		v    verdict.Verdict
		r    receipt.Recovery
		code report.Code
	}{
		"admit":                 {admit, receipt.Recovery{}, report.CodeOK},
		"deny":                  {deny, some, report.CodeOK},
		"admit with recovery":   {admit, some, report.CodeSchemaRecovery},
		"deny without recovery": {deny, receipt.Recovery{}, report.CodeSchemaRecovery},
		"no verdict":            {verdict.Verdict{}, some, report.CodeSchemaMissing},
	} {
		ruling, err := receipt.Rule(c.v, c.r)
		code := report.CodeOK
		if err != nil {
			code = report.CodeOf(err)
		}
		if code != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
		if _, refuses := ruling.Recovery(); refuses != (name == "deny") {
			t.Errorf("%s: refuses %v", name, refuses)
		}
	}
}

func TestPins(t *testing.T) {
	b3, sha := receipt.PinBLAKE3([]byte("x")), receipt.PinSHA256([]byte("x"))
	for _, p := range []receipt.Pin{b3, sha} {
		back, err := receipt.ParsePin(p.String())
		if err != nil || back != p {
			t.Errorf("%v came back as %v: %v", p, back, err)
		}
	}
	if b3.Comparable(sha) || !b3.Comparable(receipt.PinBLAKE3(nil)) || (receipt.Pin{}).Comparable(receipt.Pin{}) {
		t.Error("pins compare exactly where they name the same function")
	}
	for _, s := range []string{"", "blake3:", sha.String()[1:], strings.ToUpper(sha.String()), "md5:" + sha.String()[7:]} {
		if _, err := receipt.ParsePin(s); report.CodeOf(err) != report.CodeSchemaPin {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// TestViewForms fixes what stands where in the JSON view, and that nothing
// else is read.
func TestViewForms(t *testing.T) {
	view, err := receipt.ToJSON(example(t, "judgment-admit"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"approval":"two-eyes"`, `"path":{"clear":"src/old%20file.go"}`, `"plan":"blake3:`, `"by":["files/inside-root","git@feature"]`, `"prev":"bafyr4i`,
	} {
		if !bytes.Contains(view, []byte(want)) {
			t.Errorf("the view lacks %s: %s", want, view)
		}
	}
	outcome, err := receipt.ToJSON(example(t, "outcome-committed-approved"))
	if err != nil || !bytes.Contains(outcome, []byte(`"approval":"bafyr4i`)) {
		t.Errorf("the view lacks the approval's CID: %s %v", outcome, err)
	}
	for name, c := range map[string]struct {
		old, new string
		code     report.Code
	}{
		"null":               {`"two-eyes"`, `null`, report.CodeReceiptJSON},
		"fraction":           {`"attempt":2`, `"attempt":2.5`, report.CodeReceiptJSON},
		"number spelling":    {`"attempt":2`, `"attempt":2.0`, report.CodeJSONNumber},
		"too large":          {`"attempt":2`, `"attempt":9007199254740992`, report.CodeReceiptJSON},
		"upper-case hex":     {`"digest":"a`, `"digest":"A`, report.CodeReceiptJSON},
		"odd hex":            {`"digest":"a`, `"digest":"`, report.CodeReceiptJSON},
		"foreign CID":        {`"prev":"bafyr4i`, `"prev":"bafkr4i`, report.CodeReceiptJSON},
		"pin without a name": {`"plan":"blake3:`, `"plan":"`, report.CodeReceiptJSON},
		"clear as a string":  {`{"clear":"src/new.go"}`, `"src/new.go"`, report.CodeReceiptJSON},
		"clear and more":     {`{"clear":"src/new.go"}`, `{"clear":"src/new.go","x":1}`, report.CodeReceiptJSON},
		"twice":              {`"attempt":2`, `"attempt":2,"attempt":2`, report.CodeJSONNameTwice},
		"schema":             {`"class":"yellow"`, `"class":"blue"`, report.CodeSchemaWord},
	} {
		doc := strings.Replace(string(view), c.old, c.new, 1)
		if doc == string(view) {
			t.Fatalf("%s: the view lacks %s", name, c.old)
		}
		if _, err := receipt.FromJSON([]byte(doc)); report.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}

// TestVocabulary fixes the standard vocabulary and what it knows.
func TestVocabulary(t *testing.T) {
	v := receipt.StandardVocabulary()
	view := new(bytes.Buffer)
	for _, place := range receipt.Places() {
		view.WriteString(string(place) + ":")
		for _, c := range v.Codes(place) {
			view.WriteString(" " + string(c))
		}
		view.WriteString("\n")
	}
	for _, w := range v.Recoveries() {
		view.WriteString("recovery " + string(w.Class) + " " + string(w.Code) + ":")
		for _, h := range w.Hints {
			view.WriteString(" " + string(h))
		}
		view.WriteString("\n")
	}
	digest := v.Digest()
	golden(t, "vocabulary-1.cbor", v.Document())
	golden(t, "vocabulary-1.golden", append([]byte(receipt.Digest(digest).String()+"\n"), view.Bytes()...))

	for _, e := range receipttest.Examples() {
		if where, word := v.Unknown(e.Decoded.Statement.Receipt); where != "" {
			t.Errorf("%s: %q at %s is in no vocabulary", e.Name, word, where)
		}
	}
	if !v.Knows(receipt.PlaceReason, "NO-RULE") || v.Knows(receipt.PlaceGap, "NO-RULE") || v.Knows(receipt.PlaceReason, "NO-RUL") {
		t.Error("a code is known exactly at its place")
	}
	good := receipttest.Recovery("deny")
	for _, bad := range []receipt.Recovery{
		{Class: receipt.RecoveryRetry, Code: good.Code, Hint: good.Hint},
		{Class: good.Class, Code: "HUMAN-SAID-NO", Hint: "WAIT"},
		{Class: good.Class, Code: "UNHEARD-OF", Hint: good.Hint},
	} {
		if v.KnowsRecovery(bad) {
			t.Errorf("%v is known", bad)
		}
	}
	if !v.KnowsRecovery(good) || (&receipt.Vocabulary{}).KnowsRecovery(good) {
		t.Error("a recovery is known exactly where it is listed")
	}
}

// TestUnknownWords: each place of a code is looked at.
func TestUnknownWords(t *testing.T) {
	empty := &receipt.Vocabulary{}
	for name, want := range map[string]string{
		"judgment-deny":             "judgment.verdict.deny.reasons",
		"judgment-escalate":         "judgment.verdict.escalate.reasons",
		"outcome-refused":           "outcome.disposition.refused.code",
		"outcome-cancelled":         "outcome.disposition.cancelled.code",
		"outcome-withheld":          "outcome.disposition.withheld.code",
		"outcome-failed-no":         "outcome.disposition.failed.code",
		"outcome-unobserved":        "outcome.disposition.unobserved.code",
		"outcome-diverged":          "outcome.disposition.diverged.recovery",
		"outcome-rejected":          "outcome.disposition.rejected.recovery",
		"outcome-expired":           "outcome.disposition.expired.recovery",
		"outcome-stale":             "outcome.disposition.stale.recovery",
		"outcome-undo-unobservable": "outcome.compensates.observation.unobservable.code",
		"fault-closed":              "fault.code",
		"gap":                       "gap.code",
		"judgment-admit":            "",
		"outcome-committed":         "",
		"run-open":                  "",
		"decision-approve":          "",
	} {
		if where, _ := empty.Unknown(example(t, name).Statement.Receipt); where != want {
			t.Errorf("%s: %q, want %q", name, where, want)
		}
	}
	j := example(t, "judgment-deny").Statement.Receipt.(receipt.Judgment)
	j.Ruling = receipttest.Admit("rule")
	if where, _ := empty.Unknown(j); where != "judgment.inverse.none.code" {
		t.Errorf("inverse: %q", where)
	}
}

func TestParseVocabularyRefuses(t *testing.T) {
	root := func() dagcbor.Value {
		node, err := dagcbor.Parse(receipt.StandardVocabulary().Document())
		if err != nil {
			t.Fatal(err)
		}
		return node.Value()
	}
	for rule, c := range map[string]struct {
		path string
		put  dagcbor.Value
	}{
		"a map":              {"", n(1)},
		"has a name":         {"name", nil},
		"has a version":      {"version", nil},
		"version from 1":     {"version", n(0)},
		"has codes":          {"codes", nil},
		"has recoveries":     {"recovery", nil},
		"known places":       {"codes.weather", l{s("A")}},
		"no empty place":     {"codes.gap", l{}},
		"codes are codes":    {"codes.gap", l{s("a")}},
		"codes ascend":       {"codes.gap", l{s("B"), s("A")}},
		"a class is a word":  {"recovery.0.class", s("pray")},
		"hints are required": {"recovery.0.hints", nil},
		"hints are some":     {"recovery.0.hints", l{}},
		"recoveries ascend":  {"recovery.0.code", s("ZZZ")},
		"nothing else":       {"extra", n(1)},
	} {
		if _, err := receipt.ParseVocabulary(encode(t, put(t, root(), c.path, c.put))); report.CodeOf(err) != report.CodeVocabulary {
			t.Errorf("%s: %v", rule, err)
		}
	}
	if _, err := receipt.ParseVocabulary(nil); report.CodeOf(err) != report.CodeCBORTruncated {
		t.Errorf("nothing: %v", err)
	}
}

// TestTally: a run-close counts what the run holds.
func TestTally(t *testing.T) {
	examples := receipttest.Examples()
	last := examples[len(examples)-1].Decoded.Statement.Receipt.(receipt.RunClose)
	decisions := 0
	for _, e := range examples {
		if e.Decoded.Statement.Receipt.Kind() == receipt.KindDecision {
			decisions++
		}
	}
	if got, want := last.Statements(), uint64(len(examples)-decisions); got != want {
		t.Errorf("%d statements, want %d", got, want)
	}
	if last.Judgments.Deny != 1 || last.Outcomes.Rejected != 1 || last.Faults != 3 || last.Gaps != 1 {
		t.Errorf("tally %+v", last)
	}
}

// TestTicketOfADecision: the ticket that a decision carries is derived from the
// judgment it answers.
func TestTicketOfADecision(t *testing.T) {
	j := example(t, "judgment-escalate").Statement.Receipt.(receipt.Judgment)
	d := example(t, "decision-approve").Statement.Receipt.(receipt.Decision)
	if want := receipt.Digest(j.Request.Digest); d.Request != want || d.Ticket == (receipt.Ticket{}) {
		t.Errorf("decision over %v, want %v, ticket %v", d.Request, want, d.Ticket)
	}
}
