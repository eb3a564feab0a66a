package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

func schema(t testing.TB, src string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// jsonHeld is one JSON object with its schema; see held.
type jsonHeld struct {
	file   string
	docs   [][]byte
	stride int // every so many changed documents are judged; 0 is 1
	decode func([]byte) error
	blind  func(e *report.Error) bool
}

// alike names examples whose schema is that of another but for its word; the
// CDDL tests take them all.
var alike = regexp.MustCompile(`^outcome-(refused|cancelled|expired|diverged|after-fault)|^fault-closed$`)

func jsonObjects(t testing.TB) []jsonHeld {
	var views [][]byte
	for _, e := range receipttest.Examples() {
		if !again.MatchString(e.Name) && !alike.MatchString(e.Name) {
			views = append(views, must(receipt.ToJSON(e.Decoded)))
		}
	}
	w := newWorld(t)
	chain := bundle.Chain{Leaves: w.log.Chain(w.log.Size()), Checkpoint: w.log.Checkpoint(w.log.Size())}
	foreign := strings.Replace(string(w.exec.rho.JSON()), `"verb":"exec"`, `"verb":"launch"`, 1)
	slots := filesPreview()
	slots.Slots = []preview.Slot{{Name: "title", Value: "x", Source: "user"}}
	slots.Effects = []preview.Effect{{On: preview.OnHuman, Target: "\xff"}}
	slots.Context.Plan = preview.Pin(receipt.PinBLAKE3(nil))
	return []jsonHeld{
		{
			file: "statement.schema.json", docs: views, stride: 3,
			decode: func(b []byte) error { _, err := receipt.FromJSON(b); return err },
			blind: func(e *report.Error) bool {
				return e.Code == report.CodeSchemaExpires && strings.HasPrefix(e.Expected, "not before") || slices.Contains([]report.Code{
					report.CodeSchemaOrder, report.CodeSchemaFired, report.CodeSchemaStale, report.CodeSchemaTally, report.CodeSchemaGap, report.CodeSchemaPath,
				}, e.Code)
			},
		},
		{
			file: "preview.schema.json", docs: append(otherVerbs(), w.files.rho.JSON(), w.exec.rho.JSON(), []byte(foreign), seal(slots).rho.JSON()),
			decode: func(b []byte) error { _, err := preview.ParseRho(b); return err },
			blind: func(e *report.Error) bool {
				switch e.Code {
				case report.CodePreviewSpelling, report.CodePreviewTwice, report.CodePreviewPath:
					return true
				case report.CodePreviewIntent: // a change that changes nothing, a mode where there is none, NUL
					return strings.HasPrefix(e.Where, "intent.changes[") || strings.HasPrefix(e.Expected, "no NUL") || strings.HasPrefix(e.Expected, "a file with") ||
						slices.Contains([]string{"intent.url", "intent.address", "intent.headers", "intent.outcome"}, e.Where) || strings.HasPrefix(e.Where, "intent.headers[")
				case report.CodePreviewValue:
					return strings.Contains(e.Expected, "valid UTF-8") || e.Expected == "standard base64 with padding"
				}
				return false
			},
		},
		{
			file: "bundle.schema.json", docs: [][]byte{w.bundle().Append(nil)},
			decode: func(b []byte) error { _, err := bundle.Parse(b); return err },
			blind:  blindBundle,
		},
		{
			file: "bundle.schema.json", docs: [][]byte{chain.Append(nil)},
			decode: func(b []byte) error { _, err := bundle.ParseChain(b); return err },
			blind:  blindBundle,
		},
		{
			file: "bundle.schema.json", docs: [][]byte{forkOf(w.log, 2, 5).Append(nil), forkOf(w.log, 5, 5).Append(nil)},
			decode: func(b []byte) error { _, err := bundle.ParseFork(b); return err },
			blind: func(e *report.Error) bool {
				// Whether root and proof stand there is a matter of the sizes in the notes.
				return blindBundle(e) || e.Where == "/root" || e.Where == "/proof" || e.Where == "/checkpoints"
			},
		},
	}
}

// forkOf is evidence by its form: the two checkpoints do not contradict each
// other, which a schema cannot know.
func forkOf(l *testlog.Log, from, to uint64) *bundle.Fork {
	f := &bundle.Fork{Checkpoints: [2][]byte{l.Checkpoint(from), l.Checkpoint(to)}, Grown: from < to}
	if f.Grown {
		f.Root, f.Proof = l.Root(from), l.Growth(from, to)
	}
	return f
}

// otherVerbs is one ρ of every verb that the examples of the pages do not show.
func otherVerbs() (all [][]byte) {
	for _, in := range []preview.Intent{
		preview.HTTP{
			Method: "PUT", URL: "https://h/a", Headers: []preview.Header{{Name: "Content-Length", Value: "1"}},
			Body: preview.ContentOf([]byte("x")), Address: "127.0.0.1:8443",
		},
		preview.Tool{Server: "s", Tool: "t", Arguments: []byte(`{"a":[1]}`)},
		preview.Render{Template: "t", Scaffolding: preview.ContentOf(nil), Payload: preview.ContentOf(nil)},
		preview.Undo{Outcome: dagcbor.Sum(nil), Root: "/r", Changes: []preview.Change{{Path: "a", After: preview.ContentOf(nil)}}},
	} {
		all = append(all, seal(preview.Preview{Intent: in}).rho.JSON())
	}
	return all
}

// blindBundle: texts with a syntax of their own.
func blindBundle(e *report.Error) bool {
	switch e.Code {
	case report.CodeTlogProofMalformed, report.CodeNoteMalformed, report.CodeDSSEBase64, report.CodeDSSESigSize,
		report.CodePreviewDisclosure, report.CodePreviewValue, report.CodeDSSECase, report.CodeProofBundleMediaType:
		return true
	}
	return false
}

// jsonJunk stands in for every value once: some of every type, and the forms of
// one file.
func jsonJunk(file string) []any {
	junk := []any{
		nil, true, 0.0, 1.0, -1.0, 1.5, 9007199254740992.0, "", "x y", "OK-1", "lower", strings.Repeat("a", 64),
		strings.Repeat("n", 129), []any{}, []any{1.0}, map[string]any{}, map[string]any{"zz": 1.0},
	}
	switch file {
	case "statement.schema.json":
		return append(junk, strings.Repeat("A", 65), "blake3:"+strings.Repeat("0", 64), "md5:"+strings.Repeat("0", 64),
			receiptCID, receiptCID[:58], receiptCID[:58]+"b", map[string]any{"clear": ""}, map[string]any{"clear": "a b"},
			map[string]any{"clear": "%41"}, map[string]any{"clear": "%c3%a4"}, map[string]any{"clear": "ok/%C3%A4"},
			map[string]any{"clear": strings.Repeat("c", 1025)})
	case "preview.schema.json":
		return append(junk, "1e20"+strings.Repeat("0", 64), "1320"+strings.Repeat("0", 64), "644", "755", "700",
			map[string]any{"b3": strings.Repeat("0", 64)}, map[string]any{"b3": "00"}, map[string]any{"b64": "/w=="}, map[string]any{"b64": "_w=="})
	}
	return append(junk, "AAAA", strings.Repeat("A", 43)+"=", strings.Repeat("A", 42)+"B=")
}

const receiptCID = "bafyr4ia7stf7ge5tzyrsk6tskhva7sk2erkw5jqr4t4pi5pfjglrxlw3ai"

// jsonMutants yields a JSON value with one thing changed.
func jsonMutants(v any, junk []any) iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, j := range junk {
			if !yield(j) {
				return
			}
		}
		switch v := v.(type) {
		case map[string]any:
			for name, value := range map[string]any{
				"zz": 1.0, "x y": 1.0, "code": "OK-1", "settles": receiptCID, "expires": 1.0, "before": strings.Repeat("a", 64),
				"changes": []any{}, "reads": []any{}, "approval": receiptCID,
			} {
				if _, has := v[name]; has {
					continue
				}
				out := maps.Clone(v)
				out[name] = value
				if !yield(out) {
					return
				}
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				out := maps.Clone(v)
				delete(out, name)
				if !yield(out) {
					return
				}
				for m := range jsonMutants(v[name], junk) {
					out := maps.Clone(v)
					out[name] = m
					if !yield(out) {
						return
					}
				}
			}
		case []any:
			for i, item := range v {
				if !yield(slices.Delete(slices.Clone(v), i, i+1)) {
					return
				}
				for m := range jsonMutants(item, junk) {
					out := slices.Clone(v)
					out[i] = m
					if !yield(out) {
						return
					}
				}
			}
		}
	}
}

func (h jsonHeld) disagreements(t testing.TB, src string, limit int) (out []string, count int) {
	s := schema(t, src)
	for _, doc := range h.docs {
		var v any
		if err := json.Unmarshal(doc, &v); err != nil {
			t.Fatal(err)
		}
		judge := func(v any) {
			b := must(json.Marshal(v))
			count++
			err, invalid := h.decode(b), s.Validate(v)
			switch {
			case err == nil && invalid != nil:
				out = append(out, fmt.Sprintf("%s: the reader takes and the schema refuses: %s\n%v", h.file, b, invalid))
			case err != nil && invalid == nil:
				if e, ok := err.(*report.Error); !ok || !h.blind(e) {
					out = append(out, fmt.Sprintf("%s: the schema takes and the reader refuses (%v): %s", h.file, err, b))
				}
			}
		}
		if err := h.decode(doc); err != nil {
			out = append(out, fmt.Sprintf("%s: example: %v", h.file, err))
		}
		judge(v)
		n := 0
		for m := range jsonMutants(v, jsonJunk(h.file)) {
			if n++; n%max(h.stride, 1) != 0 {
				continue
			}
			if judge(m); len(out) >= limit {
				return out, count
			}
		}
	}
	return out, count
}

// TestJSONSchemasAgree: what the readers take the schemas take, and what they
// refuse these refuse, but for what they say they cannot say.
func TestJSONSchemasAgree(t *testing.T) {
	t.Parallel()
	for _, h := range jsonObjects(t) {
		out, count := h.disagreements(t, read(t, h.file), 3)
		for _, s := range out {
			t.Error(s)
		}
		t.Logf("%s: %d changed documents", h.file, count)
		if count < 300 {
			t.Errorf("%s: only %d changed documents", h.file, count)
		}
	}
}

// TestJSONSchemaMutants: a schema that says less is found out.
func TestJSONSchemaMutants(t *testing.T) {
	t.Parallel()
	all := jsonObjects(t)
	for _, m := range []struct{ file, old, new string }{
		{"statement.schema.json", `"^bafyr4i[a-h][a-z2-7]{50}[aeimquy4]$"`, `"^bafyr4i[a-h][a-z2-7]{50}[a-z2-7]$"`},
		{"statement.schema.json", `"maxLength": 1024`, `"maxLength": 1025`},
		{"statement.schema.json", `"hint": {"$ref": "#/$defs/code"}`, `"hint": {"$ref": "#/$defs/name"}`},
		{"preview.schema.json", `"^(?:1e|12)20[0-9a-f]{64}$"`, `"^[0-9a-f]{68}$"`},
		{"bundle.schema.json", `"maximum": 9007199254740991`, `"maximum": 9007199254740992`},
		{"bundle.schema.json", `["promise", "witnessed"]`, `["promise", "witnessed", "lower"]`},
	} {
		src := read(t, m.file)
		if !strings.Contains(src, m.old) {
			t.Errorf("%s does not have %s", m.file, m.old)
			continue
		}
		found := false
		for _, h := range all {
			if h.file == m.file {
				out, _ := h.disagreements(t, strings.ReplaceAll(src, m.old, m.new), 1)
				found = found || len(out) > 0
			}
		}
		if !found {
			t.Errorf("%s: %s instead of %s is not noticed", m.file, m.new, m.old)
		}
	}
}

// TestProblemSchema: every refusal of a real log is of the schema.
func TestProblemSchema(t *testing.T) {
	log := servertest.New(t)
	s := schema(t, read(t, "problem.schema.json"))
	w := newWorld(t)
	stranger := w.log.Leaves[1] // by a key that this log does not list
	for _, c := range []struct {
		method, path, mediaType string
		body                    []byte
		code                    report.Code
	}{
		{"POST", "/v1/receipts", "application/json", []byte("{"), report.CodeDSSESyntax},
		{"POST", "/v1/receipts", "text/plain", []byte("x"), report.CodeHTTPType},
		{"POST", "/v1/receipts?x=1", "application/json", []byte("{}"), report.CodeHTTPQuery},
		{"POST", "/v1/receipts", "application/vnd.obstat.leaf.v1+cbor", []byte{0xa0}, report.CodeLeafForm},
		{"POST", "/v1/receipts", "application/vnd.obstat.leaf.v1+cbor", stranger, report.CodeKeyUnknown},
		{"POST", "/v1/receipts", "application/json", bytes.Repeat([]byte(" "), 1<<18), report.CodeHTTPSize},
		{"GET", "/v1/receipts", "", nil, report.CodeHTTPMethod},
		{"GET", "/nothing", "", nil, report.CodeHTTPPath},
		{"GET", "/tile/0/999", "", nil, report.CodeBeyondSize},
		{"GET", "/tile/0/1", "", nil, report.CodeTilePath},
	} {
		req := must(http.NewRequest(c.method, log.URL+c.path, bytes.NewReader(c.body)))
		req.Header.Set("Content-Type", c.mediaType)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body := must(io.ReadAll(resp.Body))
		resp.Body.Close()
		var v map[string]any
		if err := json.Unmarshal(body, &v); err != nil {
			t.Fatalf("%s %s: %v: %s", c.method, c.path, err, body)
		}
		if err := s.Validate(any(v)); err != nil {
			t.Errorf("%s %s: %v", c.method, c.path, err)
		}
		if v["code"] != string(c.code) || v["status"] != float64(resp.StatusCode) || resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %d %s, want %s", c.method, c.path, resp.StatusCode, body, c.code)
		}
		v["more"] = 1.0
		if s.Validate(any(v)) == nil {
			t.Error("the schema takes a member that no problem has")
		}
	}
}

// TestReportSchema holds a real report against its schema with a library that
// knows all of JSON Schema; package report holds every report with less.
func TestReportSchema(t *testing.T) {
	w := newWorld(t)
	s := schema(t, read(t, "report.schema.json"))
	for _, o := range []bundle.Options{w.options(t), {}} {
		var v any
		if err := json.Unmarshal(bundle.Check(w.bundle().Append(nil), o).JSON(), &v); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(v); err != nil {
			t.Error(err)
		}
		v.(map[string]any)["exit"] = 2.0
		if s.Validate(v) == nil {
			t.Error("a report with status 2 is taken")
		}
	}
}
