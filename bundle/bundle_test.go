package bundle_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/report"
)

var update = flag.Bool("update", false, "write golden files")

// one returns a log with every example and options that verify it all.
func one(t testing.TB) (*testlog.Log, map[string]uint64, bundle.Options) {
	t.Helper()
	l := testlog.New(t)
	at := l.Examples()
	return l, at, bundle.Options{Policy: l.Policy("2", "w1", "w2", "w3"), Engines: l.Engines()}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

func sameBundle(t *testing.T, a, b *bundle.Bundle) {
	t.Helper()
	if d := cmp.Diff(a, b, cmpopts.IgnoreUnexported(bundle.Bundle{}), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

func TestRoundTrip(t *testing.T) {
	l, at, _ := one(t)
	for name, index := range at {
		b := l.Bundle(index, l.Size(), "w1", "w2")
		doc := b.Append(nil)
		if !json.Valid(doc) {
			t.Fatalf("%s: no JSON", name)
		}
		again, err := bundle.Parse(doc)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sameBundle(t, b, again)
		if !bytes.Equal(again.Append(nil), doc) {
			t.Errorf("%s: written again it is another", name)
		}
		text, err := b.TlogProof()
		if err != nil {
			t.Fatal(err)
		}
		fromText, err := bundle.ParseTlogProof(text)
		if err != nil {
			t.Fatal(err)
		}
		b.Registry, b.Level = nil, bundle.Promise
		sameBundle(t, b, fromText)
		if back, err := fromText.TlogProof(); err != nil || !bytes.Equal(back, text) {
			t.Errorf("%s: .tlog-proof written again is another: %v", name, err)
		}
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	l, at, _ := one(t)
	doc := l.Bundle(at["run-open"], l.Size()).Append([]byte("before"))
	if !bytes.HasPrefix(doc, []byte(`before{"mediaType":"application/vnd.obstat.bundle.v1+json"`)) {
		t.Errorf("%.80s", doc)
	}
}

// The bytes of a bundle are fixed, and what the report on it says.
func TestGolden(t *testing.T) {
	l, index, o := small(t)
	b := l.Bundle(index, l.Size(), "w1")
	golden(t, "denial.receipt.json", append(b.Append(nil), '\n'))
	r := bundle.Verify(b, o)
	golden(t, "denial.txt", []byte(r.Text()))
	golden(t, "denial.report.json", r.JSON())
}

// Members in another order, spaces, and every spelling of an envelope that
// DSSE allows lead to the same leaf.
func TestSpellings(t *testing.T) {
	l, at, o := one(t)
	b := l.Bundle(at["judgment-admit"], l.Size(), "w1", "w2")
	var m map[string]any
	if err := json.Unmarshal(b.Append(nil), &m); err != nil {
		t.Fatal(err)
	}
	envelope := m["envelope"].(map[string]any)
	urlSafe := strings.NewReplacer("+", "-", "/", "_", "=", "")
	for name, edit := range map[string]func(){
		"indented":       func() {},
		"url-safe":       func() { envelope["payload"] = urlSafe.Replace(envelope["payload"].(string)) },
		"keyid empty":    func() { sig(envelope)["keyid"] = "" },
		"keyid absent":   func() { delete(sig(envelope), "keyid") },
		"keyid of other": func() { sig(envelope)["keyid"] = "ffff" },
		"more members":   func() { envelope["publicKey"] = map[string]any{"pem": 1.5} },
	} {
		edit()
		doc, err := json.MarshalIndent(m, " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		r := bundle.Check(append([]byte("\r\n"), doc...), o)
		if r.Overall() != report.AllVerified {
			t.Errorf("%s:\n%s", name, r.Text())
		}
	}
	delete(envelope, "publicKey")
}

func sig(envelope map[string]any) map[string]any {
	return envelope["signatures"].([]any)[0].(map[string]any)
}

// What an artifact carries for its own good is ignored and said to be.
func TestIgnored(t *testing.T) {
	l, at, o := one(t)
	b := l.Bundle(at["judgment-admit"], l.Size(), "w1", "w2")
	b.Envelope = bytes.Replace(b.Envelope, []byte(`{"payload"`), []byte(`{"publicKey":"mine","payload"`), 1)
	b.Envelope = bytes.Replace(b.Envelope, []byte(`"keyid":"`), []byte(`"cert":1,"keyid":"00`), 1)
	r := bundle.Verify(b, o)
	if r.Overall() != report.AllVerified || len(r.Ignored) != 3 {
		t.Fatalf("%q\n%s", r.Ignored, r.Text())
	}
	for _, want := range []string{`"publicKey"`, `"cert"`, `keyid "00`} {
		if !strings.Contains(strings.Join(r.Ignored, "\n"), want) {
			t.Errorf("%s is not named: %q", want, r.Ignored)
		}
	}
	o.Engines = l.PlainEngines()
	if r := bundle.Verify(l.Bundle(1, l.Size(), "w1", "w2"), o); len(r.Ignored) != 1 || r.Overall() != report.AllVerified {
		t.Errorf("%s", r.Text())
	}
}

func TestParseRefusals(t *testing.T) {
	l, at, _ := one(t)
	good := string(l.Bundle(at["run-open"], l.Size()).Append(nil))
	rep := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(good, old, with, 1)
	}
	for _, c := range []struct {
		name, doc string
		code      report.Code
		where     string
	}{
		{"empty", "", report.CodeInputEmpty, ""},
		{"a space", " ", report.CodeJSONSyntax, "byte 1"},
		{"no object", "[]", report.CodeProofBundleType, "/"},
		{"null", "null", report.CodeProofBundleType, "/"},
		{"no media type", "{}", report.CodeProofBundleMissing, "/mediaType"},
		{"media type is a number", `{"mediaType":1}`, report.CodeProofBundleType, "/mediaType"},
		{"other media type", `{"mediaType":"application/json"}`, report.CodeProofBundleMediaType, "/mediaType"},
		{"version 2", `{"mediaType":"application/vnd.obstat.bundle.v2+json","new":1}`, report.CodeVersionUnknown, "/mediaType"},
		{"version 01", `{"mediaType":"application/vnd.obstat.bundle.v01+json"}`, report.CodeProofBundleMediaType, "/mediaType"},
		{"version 0", `{"mediaType":"application/vnd.obstat.bundle.v0+json"}`, report.CodeProofBundleMediaType, "/mediaType"},
		{"a chain", `{"mediaType":"` + bundle.ChainMediaType + `"}`, report.CodeProofBundleMediaType, "/mediaType"},
		{"trailing", good + "x", report.CodeJSONTrailing, ""},
		{"trailing null byte", good + "\x00", report.CodeJSONTrailing, ""},
		{"cut", good[:len(good)-1], report.CodeJSONSyntax, ""},
		{"member twice", rep(`"level":"promise"`, `"level":"promise","level":"promise"`), report.CodeJSONNameTwice, ""},
		{"member twice by an escape", rep(`"level":"promise"`, `"level":"promise","l\u0065vel":"promise"`), report.CodeJSONNameTwice, ""},
		{"member in other case", rep(`"level"`, `"Level"`), report.CodeProofBundleCase, "/Level"},
		{"unknown member", rep(`"level"`, `"publicKey":"x","level"`), report.CodeProofBundleUnknown, "/publicKey"},
		{"invalid UTF-8", rep(`"promise"`, "\"promis\xff\""), report.CodeJSONUTF8, ""},
		{"half a pair", rep(`"promise"`, `"promis\ud800"`), report.CodeJSONSurrogate, ""},
		{"no level", rep(`"level":"promise",`, ``), report.CodeProofBundleMissing, "/level"},
		{"another level", rep(`"promise"`, `"sworn"`), report.CodeProofBundleValue, "/level"},
		{"level is null", rep(`"promise"`, `null`), report.CodeProofBundleType, "/level"},
		{"envelope is a string", rep(`"envelope":{`, `"envelope":"","x":{`), report.CodeProofBundleUnknown, "/x"},
		{"envelope of another form", rep(`"payloadType"`, `"payloadtype"`), report.CodeDSSECase, "/envelope, byte"},
		{"envelope member twice", rep(`"payloadType":`, `"payloadType":"","payloadType":`), report.CodeJSONNameTwice, ""},
		{"index 1.0", rep(`"index":0`, `"index":0.0`), report.CodeJSONNumber, ""},
		{"index -1", rep(`"index":0`, `"index":-1`), report.CodeProofBundleValue, "/registry/0/index"},
		{"index 0.5", rep(`"index":0`, `"index":0.5`), report.CodeProofBundleValue, "/registry/0/index"},
		{"index above 2^53-1", rep(`"index":0`, `"index":9007199254740992`), report.CodeProofBundleValue, "/registry/0/index"},
		{"index is a string", rep(`"index":0`, `"index":"0"`), report.CodeProofBundleType, "/registry/0/index"},
		{"registry is null", rep(`"registry":[`, `"registry":null,"x":[`), report.CodeProofBundleUnknown, "/x"},
		{"no tlog-proof", rep(`"c2sp.org/tlog-proof@v1`, `"c2sp.org/tlog-proof@v2`), report.CodeTlogProofMalformed, "line 1"},
		{"tlog-proof with extra", rep(`@v1\n`, `@v1\nextra \n`), report.CodeProofBundleValue, "/proof"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := bundle.Parse([]byte(c.doc))
			if b != nil || report.CodeOf(err) != c.code {
				t.Fatalf("got %v, %v; want %s", b, err, c.code)
			}
			if e := err.(*report.Error); !strings.HasPrefix(e.Where, c.where) || c.where == "" && c.code == report.CodeInputEmpty && e.Where != "" {
				t.Errorf("where %q, want %q", e.Where, c.where)
			}
		})
	}
}

func TestParseRefusesRegistryForms(t *testing.T) {
	l, at, _ := one(t)
	good := l.Bundle(at["run-open"], l.Size(), "w1").Append(nil)
	var m map[string]json.RawMessage
	if err := json.Unmarshal(good, &m); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		registry string
		code     report.Code
		where    string
	}{
		"empty":          {`[]`, report.CodeProofBundleValue, "/registry"},
		"object":         {`{}`, report.CodeProofBundleType, "/registry"},
		"of strings":     {`[""]`, report.CodeProofBundleType, "/registry/0"},
		"of nothing":     {`[{}]`, report.CodeProofBundleMissing, "/registry/0/envelope"},
		"unknown member": {`[{"leaf":1}]`, report.CodeProofBundleUnknown, "/registry/0/leaf"},
		"other case":     {`[{"Index":1}]`, report.CodeProofBundleCase, "/registry/0/Index"},
		"envelope null":  {`[{"envelope":null,"index":0,"proof":[]}]`, report.CodeProofBundleType, "/registry/0/envelope"},
		"proof a string": {`[{"envelope":` + string(m["envelope"]) + `,"index":0,"proof":""}]`, report.CodeProofBundleType, "/registry/0/proof"},
		"short hash":     {`[{"envelope":` + string(m["envelope"]) + `,"index":0,"proof":["AA=="]}]`, report.CodeProofBundleValue, "/registry/0/proof/0"},
		"hash no string": {`[{"envelope":` + string(m["envelope"]) + `,"index":0,"proof":[1]}]`, report.CodeProofBundleValue, "/registry/0/proof/0"},
		"many hashes":    {`[{"envelope":` + string(m["envelope"]) + `,"index":0,"proof":[""` + strings.Repeat(`,""`, 64) + `]}]`, report.CodeProofBundleValue, "/registry/0/proof"},
	} {
		m["registry"] = json.RawMessage(c.registry)
		doc, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		_, err = bundle.Parse(doc)
		if e, ok := err.(*report.Error); !ok || e.Code != c.code || e.Where != c.where {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseTlogProofRefusals(t *testing.T) {
	l, at, _ := one(t)
	b := l.Bundle(at["run-open"], l.Size(), "w1")
	text, err := b.TlogProof()
	if err != nil {
		t.Fatal(err)
	}
	bare := *b.Proof
	for name, c := range map[string]struct {
		text []byte
		code report.Code
	}{
		"empty":     {nil, report.CodeInputEmpty},
		"no extra":  {bare.Bytes(), report.CodeProofBundleMissing},
		"too large": {bytes.Repeat([]byte{'x'}, bundle.MaxTlogProof+1), report.CodeProofBundleSize},
		"cut":       {text[:len(text)-1], report.CodeTlogProofMalformed},
	} {
		if _, err := bundle.ParseTlogProof(c.text); report.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := bundle.Parse(bytes.Repeat([]byte{' '}, bundle.MaxBundle+1)); report.CodeOf(err) != report.CodeProofBundleSize {
		t.Error(err)
	}
}

func TestChainRoundTrip(t *testing.T) {
	l, _, _ := one(t)
	c := &bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size(), "w1")}
	doc := c.Append(nil)
	again, err := bundle.ParseChain(doc)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c, again); d != "" {
		t.Error(d)
	}
	for old, code := range map[string]report.Code{
		`"registry":`:         report.CodeProofBundleUnknown,
		`"checkpoint":"`:      report.CodeNoteMalformed,
		`registry-chain.v1`:   report.CodeVersionUnknown,
		`vnd.obstat.registry`: report.CodeProofBundleMediaType,
	} {
		with := map[string]string{
			`"registry":`: `"leaves":[],"registry":`, `"checkpoint":"`: `"checkpoint":"x`,
			`registry-chain.v1`: `registry-chain.v3`, `vnd.obstat.registry`: `vnd.obstat.receipt`,
		}[old]
		doc := bytes.Replace(doc, []byte(old), []byte(with), 1)
		if old == `"checkpoint":"` {
			doc = bytes.Replace(doc, []byte(`\n\n`), []byte(`\n`), 1)
		}
		if _, err := bundle.ParseChain(doc); report.CodeOf(err) != code {
			t.Errorf("%s: %v", old, err)
		}
	}
}
