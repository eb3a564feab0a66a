package preview

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/obstat/obstat/report"
)

func TestOpen(t *testing.T) {
	rho := must(anExec().Seal(testSecret))
	o := must(rho.Open(testSecret))
	if len(o.Inputs) != 2 || o.Inputs[1].Item() != (Item{FieldInput, "user", Text("ci")}) {
		t.Errorf("inputs: %v", o.Inputs)
	}
	if len(o.Slots) != 1 || o.Slots[0].Source != "model" || o.Slots[0].Value.Item() != (Item{FieldSlot, "message", Text("näher\n")}) {
		t.Errorf("slots: %v", o.Slots)
	}
	if len(o.Effects) != 2 || o.Effects[1].On != OnWrites || o.Effects[1].Target.Item() != (Item{FieldTarget, "1", Text("repo/.git")}) {
		t.Errorf("effects: %v", o.Effects)
	}
	if len(o.Changes) != 0 || len(o.Reads) != 2 || o.Reads[1].Key.Item() != (Item{FieldKey, "1", Text("repo/.git/index")}) ||
		o.Reads[1].Seen.Item() != (Item{FieldSeen, "1", ContentOf([]byte("index")).Value()}) || !o.Reads[0].Seen.Item().Value.IsAbsent() {
		t.Errorf("changes %v, reads %v", o.Changes, o.Reads)
	}

	rho = must(someFiles().Seal(testSecret))
	o = must(rho.Open(testSecret))
	if len(o.Changes) != 5 || len(o.Reads) != 5 {
		t.Fatalf("%d changes, %d reads", len(o.Changes), len(o.Reads))
	}
	made, gone := o.Changes[0], o.Changes[2]
	if made.Path.Item() != (Item{FieldPath, "0", Text("bin/run")}) || !made.Before.Item().Value.IsAbsent() || made.After.Item().Value.IsAbsent() {
		t.Errorf("created: %v", made)
	}
	if gone.Path.Item() != (Item{FieldPath, "2", Text("gone")}) || gone.Before.Item().Value.IsAbsent() || !gone.After.Item().Value.IsAbsent() {
		t.Errorf("deleted: %v", gone)
	}
	if o.Reads[2] != (OpenedRead{gone.Path, gone.Before}) {
		t.Errorf("the read of a change is not its path and old content: %v", o.Reads[2])
	}
}

// TestReadsTellNothingFromNone keeps the two apart from ρ to the receipt.
func TestReadsTellNothingFromNone(t *testing.T) {
	p := anExec()
	p.Reads = nil
	if o := must(must(p.Seal(testSecret)).Open(testSecret)); o.Reads != nil {
		t.Errorf("not recorded became %v", o.Reads)
	}
	p.Reads = []Read{}
	rho := must(ParseRho(must(p.Seal(testSecret)).JSON()))
	if o := must(rho.Open(testSecret)); o.Reads == nil || len(o.Reads) != 0 {
		t.Errorf("compared nothing became %v", o.Reads)
	}
}

// TestSaltsAreApart: no two places and no two requests share a salt.
func TestSaltsAreApart(t *testing.T) {
	seen := map[Salt]string{}
	other := someFiles()
	other.Task = "another"
	for _, p := range []Preview{anExec(), someFiles(), other} {
		rho := must(p.Seal(testSecret))
		for _, item := range rho.Items() {
			s := must(testSecret.Salt(rho.Digest(), item.Field, item.Name))
			at := fmt.Sprint(rho.Digest(), item.Field, item.Name)
			if seen[s] != "" {
				t.Errorf("%s has the salt of %s", at, seen[s])
			}
			seen[s] = at
		}
	}
}

// TestWith: what was seen commits to the same bytes as what was expected
// exactly if it is the same.
func TestWith(t *testing.T) {
	o := must(must(someFiles().Seal(testSecret)).Open(testSecret))
	expected := o.Changes[3].Before
	same := must(expected.With(ContentOf([]byte("old")).Value()))
	moved := must(expected.With(ContentOf([]byte("edited")).Value()))
	gone := must(expected.With(Content{}.Value()))
	if same != expected || moved.Commitment() == expected.Commitment() || gone.Commitment() == expected.Commitment() {
		t.Error("With does not compare")
	}
	if moved.Salt() != expected.Salt() || moved.Item().Name != expected.Item().Name {
		t.Error("With moved to another place")
	}
	if _, err := expected.With(Text("old")); report.CodeOf(err) != report.CodePreviewDisclosure {
		t.Errorf("a content field took a text: %v", err)
	}
}

// TestNoValueHasTwoMeanings: values that could be mixed up have different
// commitments under one salt, or are refused.
func TestNoValueHasTwoMeanings(t *testing.T) {
	sum, _ := ContentOf([]byte("x")).Sum()
	seen := map[Commitment]string{}
	for name, v := range map[string]Value{
		"empty text": Text(""), "false": Text("false"), "none": Text("none"), "NUL": Text("\x00"), "the byte f4": Bytes([]byte{0xf4}),
		"digest as bytes": Bytes(sum[:]), "digest as text": Text("b3:" + fmt.Sprintf("%x", sum)), "b64 as text": Text(`{"b64":"//4="}`), "bytes": Bytes([]byte{0xff, 0xfe}),
	} {
		d := must(NewDisclosure(Salt{1}, FieldInput, "x", v))
		if seen[d.Commitment()] != "" {
			t.Errorf("%s and %s commit alike", name, seen[d.Commitment()])
		}
		seen[d.Commitment()] = name
	}
	if Bytes([]byte("text")) != Text("text") {
		t.Error("bytes that are text are not the text")
	}
	a := must(NewDisclosure(Salt{1}, FieldBefore, "0", Content{}.Value()))
	b := must(NewDisclosure(Salt{1}, FieldBefore, "0", ContentOf(nil).Value()))
	if a.Commitment() == b.Commitment() {
		t.Error("no content and an empty one commit alike")
	}
	for _, tt := range []struct {
		field Field
		name  string
		value Value
	}{
		{FieldInput, "x", ContentSum(sum).Value()}, {FieldInput, "x", Content{}.Value()}, {FieldSeen, "0", Bytes(sum[:])},
		{"", "0", Text("")}, {"ticket", "0", Text("")}, {FieldInput, "", Text("")}, {FieldInput, "a b", Text("")},
		{FieldPath, "", Text("")}, {FieldPath, "00", Text("")}, {FieldPath, "+1", Text("")}, {FieldPath, "-1", Text("")},
		{FieldPath, "x", Text("")}, {FieldPath, "4294967296", Text("")},
	} {
		if d, err := NewDisclosure(Salt{1}, tt.field, tt.name, tt.value); report.CodeOf(err) != report.CodePreviewDisclosure {
			t.Errorf("%v: got %v, %v", tt, d, err)
		}
		if _, err := testSecret.Disclose(Digest{1}, tt.field, tt.name, tt.value); report.CodeOf(err) != report.CodePreviewDisclosure {
			t.Errorf("Disclose %v: got %v", tt, err)
		}
	}
}

func TestRecompute(t *testing.T) {
	rho := must(someFiles().Seal(testSecret))
	o := must(rho.Open(testSecret))
	first := o.Changes[0]
	moved := must(first.Before.With(ContentOf([]byte("surprise")).Value()))
	wrote := must(testSecret.Disclose(rho.Digest(), FieldWrote, "0", ContentOf([]byte("0")).Value()))
	foreign := must(NewDisclosure(Salt{9}, FieldPath, "0", Text("elsewhere")))
	r, err := Recompute(rho.JSON(), []Disclosure{first.Path, moved, first.After, first.After, wrote, foreign})
	if err != nil {
		t.Fatal(err)
	}
	if r.Rho.Digest() != rho.Digest() || len(r.Items) != 15 {
		t.Fatalf("digest %v, %d items", r.Rho.Digest(), len(r.Items))
	}
	underForeign := must(foreign.With(Text("bin/run"))).Commitment()
	for i, want := range [][]Commitment{
		{first.Path.Commitment(), underForeign}, // every salt for the place is tried
		{first.Before.Commitment()},             // over ρ's value, whatever the disclosure says
		{first.After.Commitment()},              // once
		nil,                                     // nobody disclosed a salt: not checked
	} {
		if got := r.Items[i].Commitments; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("item %v: got %v, want %v", r.Items[i].Item, got, want)
		}
	}
	if len(r.Observed) != 3 || r.Observed[0] != moved || r.Observed[1] != wrote || r.Observed[2] != foreign {
		t.Errorf("observed %v", r.Observed)
	}
	if _, err := Recompute([]byte("{}"), nil); report.CodeOf(err) != report.CodePreviewSchema {
		t.Errorf("recomputed no ρ: %v", err)
	}
}

// TestRecomputeWhole: with everything disclosed, every commitment that the
// engine made is found again.
func TestRecomputeWhole(t *testing.T) {
	for _, p := range []Preview{anExec(), someFiles()} {
		rho := must(p.Seal(testSecret))
		var all []Disclosure
		for _, item := range rho.Items() {
			d := must(testSecret.Disclose(rho.Digest(), item.Field, item.Name, item.Value))
			all = append(all, must(ParseDisclosure(must(json.Marshal(d)))))
		}
		r := must(Recompute(rho.JSON(), all))
		for i, item := range r.Items {
			if len(item.Commitments) != 1 || item.Commitments[0] != all[i].Commitment() {
				t.Errorf("%v: %v", item.Item, item.Commitments)
			}
		}
		if len(r.Observed) != 0 {
			t.Errorf("observed %v", r.Observed)
		}
	}
}

func TestParseDisclosureRefuses(t *testing.T) {
	good := `{"field":"input","name":"user","salt":"` + strings.Repeat("0a", 32) + `","value":"ci"}`
	if _, err := ParseDisclosure([]byte(good)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		old, new string
		code     report.Code
	}{
		{good, `[]`, report.CodePreviewSchema},
		{good, ``, report.CodeJSONSyntax},
		{`"field":"input",`, ``, report.CodePreviewSchema},
		{`"name":"user",`, ``, report.CodePreviewSchema},
		{`,"value":"ci"`, ``, report.CodePreviewSchema},
		{`"name":"user"`, `"name":1`, report.CodePreviewSchema},
		{`"name":"user"`, `"name":"user","of":1`, report.CodePreviewSchema},
		{`"field":"input"`, `"field":"inputs"`, report.CodePreviewDisclosure},
		{`"name":"user"`, `"name":"a b"`, report.CodePreviewDisclosure},
		{`"0a0a`, `"0A0a`, report.CodePreviewDisclosure},
		{`"0a0a`, `"0a`, report.CodePreviewDisclosure},
		{`"value":"ci"`, `"value":null`, report.CodePreviewValue},
		{`"value":"ci"`, `"value":{"b64":"Y2k="}`, report.CodePreviewValue},
		{`"value":"ci"`, `"value":{"b3":"` + strings.Repeat("0", 64) + `"}`, report.CodePreviewValue},
		{`"input","name":"user"`, `"before","name":"0"`, report.CodePreviewValue},
	}
	for _, tt := range tests {
		doc := strings.Replace(good, tt.old, tt.new, 1)
		var e *report.Error
		if d, err := ParseDisclosure([]byte(doc)); !errors.As(err, &e) || e.Code != tt.code || d != (Disclosure{}) {
			t.Errorf("%s: got %v, want %s", doc, err, tt.code)
		}
	}
}

func TestRunSecret(t *testing.T) {
	for name, key := range map[string][]byte{"short": make([]byte, 31), "long": make([]byte, 33), "none": nil, "zeros": make([]byte, 32)} {
		if _, err := NewRunSecret(key); report.CodeOf(err) != report.CodePreviewSecret {
			t.Errorf("%s: %v", name, err)
		}
	}
	key := testKey()
	s := must(NewRunSecret(key))
	key[0] ^= 0xff
	if a, b := must(anExec().Seal(s)), must(anExec().Seal(testSecret)); a.Digest() != b.Digest() {
		t.Error("the secret is the caller's slice")
	}
	var none RunSecret
	if _, err := anExec().Seal(none); report.CodeOf(err) != report.CodePreviewSecret {
		t.Errorf("sealed without a secret: %v", err)
	}
	if _, err := none.Salt(Digest{1}, FieldPath, "0"); report.CodeOf(err) != report.CodePreviewSecret {
		t.Errorf("a salt without a secret: %v", err)
	}
	rho := must(anExec().Seal(testSecret))
	other := must(NewRunSecret(bytes.Repeat([]byte{7}, 32)))
	for _, wrong := range []RunSecret{none, other} {
		if _, err := rho.Open(wrong); report.CodeOf(err) != report.CodePreviewSecret {
			t.Errorf("opened with another secret: %v", err)
		}
	}
}

// TestRunSecretIsNotShown prints it in every way that comes to mind, bare,
// behind a pointer, and in an unexported field, where fmt calls no methods.
func TestRunSecretIsNotShown(t *testing.T) {
	key := []byte("\x81SECRETSECRETSECRETSECRETSECRET!")
	s := must(NewRunSecret(key))
	type run struct {
		name   string
		secret RunSecret
		Public RunSecret
	}
	leaks := []string{"SECRET", fmt.Sprintf("%x", key[1:7]), fmt.Sprintf("%X", key[1:7]), strings.Trim(fmt.Sprint(key[1:7]), "[]"),
		"0x53, 0x45", base64.StdEncoding.EncodeToString(key)[4:12]}
	check := func(how, out string) {
		for _, leak := range leaks {
			if strings.Contains(out, leak) {
				t.Errorf("%s shows the secret: %s", how, out)
			}
		}
	}
	for _, v := range []any{s, &s, run{"r", s, s}, &run{"r", s, s}, []RunSecret{s}, map[string]RunSecret{"a": s}, fmt.Errorf("no: %v", s)} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%t", "%p", "%c", "%U", "%e"} {
			check(verb, fmt.Sprintf(verb, v))
		}
		out, err := json.Marshal(v)
		check("json", string(out)+fmt.Sprint(err))
		var b bytes.Buffer
		err = gob.NewEncoder(&b).Encode(v)
		check("gob", b.String()+fmt.Sprint(err))
		slog.New(slog.NewJSONHandler(&b, nil)).Info("m", "v", v)
		slog.New(slog.NewTextHandler(&b, nil)).Info("m", "v", v)
		check("slog", b.String())
	}
	if out, err := json.Marshal(run{Public: s}); err == nil {
		t.Errorf("marshalled without an error: %s", out)
	}
}

func TestReadContentPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	if c, err := ReadContent(io.MultiReader(strings.NewReader("half"), errReader{broken})); !errors.Is(err, broken) || !c.IsAbsent() {
		t.Errorf("got %v, %v", c, err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }
