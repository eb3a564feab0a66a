package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/gate/sinktest"
	"github.com/obstat/obstat/preview"
)

var update = flag.Bool("update", false, "write the golden files")

const said = "It broke when I pressed the button.\nThe log says:\n```\npanic: ````` nil\n```\nThanks"

// issue is a rendering of everything that there is.
func issue() *Rendering {
	return &Rendering{
		Template: "github/issue@1",
		Slots: []Slot{
			{"title", "It broke when I pressed the button.", "mail"}, {"summary", "The button does nothing.", "model"}, {"details", said, "mail"},
		},
		Sources: []Source{
			{"mail", Person, []byte("Dear all,\n" + said + ",\nA.")}, {"model", Agent, []byte("The button does nothing.")},
		},
	}
}

func comment() *Rendering {
	return &Rendering{
		Template: "github/comment@1", Segments: []string{"17", "18"},
		Slots:   []Slot{{"issue", "17", "mail"}, {"text", "exit status 1\n", "ci"}},
		Sources: []Source{{"mail", Person, []byte("see #17")}, {"ci", Tool, []byte("+ make\nexit status 1\n")}},
	}
}

func freeze(t testing.TB, r *Rendering) *frozen {
	t.Helper()
	f, err := r.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	return f.(*frozen)
}

func TestGolden(t *testing.T) {
	for name, r := range map[string]*Rendering{"issue": issue(), "comment": comment()} {
		f := freeze(t, r)
		if err := f.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		b.Write(append(f.payload, "\n\n"...))
		var doc struct{ Body map[string]string }
		if err := json.Unmarshal(f.payload, &doc); err != nil {
			t.Fatal(err)
		}
		b.WriteString(doc.Body["body"])
		path := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(want, b.Bytes()) {
			t.Errorf("%s is\n%s\n%v", path, b.Bytes(), err)
		}
		if !strings.Contains(string(f.payload), `"path":"/repos/{owner}/{repo}/issues`) {
			t.Error("owner and repository are bound")
		}
	}
}

// Whatever is not as it must be, there is no payload, and the code says why.
func TestWithheld(t *testing.T) {
	for _, c := range []struct {
		name, code string
		of         func() *Rendering
		change     func(*Rendering)
	}{
		{"no title", "TITLE-MISSING", issue, func(r *Rendering) { r.Slots = r.Slots[1:] }},
		{"an empty title", "TITLE-MISSING", issue, func(r *Rendering) { r.Slots[0].Value = " \t" }},
		{"a title of two lines", "LINE-BREAK", issue, func(r *Rendering) { r.Slots[0].Value = "button.\nThe" }},
		{"a title of two lines for some", "LINE-BREAK", issue, func(r *Rendering) {
			r.Slots[0].Value = "a\u2028b"
			r.Sources[0].Text = []byte("a\u2028b" + said)
		}},
		{"a slot that is missing", "SLOT-UNFILLED", issue, func(r *Rendering) { r.Slots = r.Slots[:2] }},
		{"an empty slot", "SLOT-UNFILLED", issue, func(r *Rendering) { r.Slots[2].Value = "" }},
		{"a slot too many", "SLOT-REFUSED", issue, func(r *Rendering) { r.Slots = append(r.Slots, Slot{"labels", "bug", "mail"}) }},
		{"a slot twice", "SLOT-REFUSED", issue, func(r *Rendering) { r.Slots = append(r.Slots, r.Slots[1]) }},
		{"a value that its source does not hold", "SLOT-UNGROUNDED", issue, func(r *Rendering) { r.Slots[1].Value = "The button does something." }},
		{"a value of another source", "SLOT-UNGROUNDED", issue, func(r *Rendering) { r.Slots[1].Source = "mail" }},
		{"a source that is not there", "SLOT-UNGROUNDED", issue, func(r *Rendering) { r.Slots[1].Source = "chat" }},
		{"a source that is there twice", "SLOT-UNGROUNDED", issue, func(r *Rendering) { r.Sources = append(r.Sources, r.Sources[1]) }},
		{"a value pieced together", "SLOT-UNGROUNDED", issue, func(r *Rendering) { r.Slots[1].Value = "button nothing" }},
		{"nobody speaks", "ROLE-UNLABELLED", issue, func(r *Rendering) { r.Sources[1].Role = "" }},
		{"an unknown role", "ROLE-UNLABELLED", issue, func(r *Rendering) { r.Sources[0].Role = "admin" }},
		{"an escape", "SLOT-REFUSED", issue, func(r *Rendering) { r.Slots[1].Value, r.Sources[1].Text = "a\x1b[31m", []byte("a\x1b[31m") }},
		{"a carriage return", "SLOT-REFUSED", issue, func(r *Rendering) { r.Slots[1].Value, r.Sources[1].Text = "a\rb", []byte("a\rb") }},
		{"bytes that are no text", "SLOT-REFUSED", issue, func(r *Rendering) { r.Slots[1].Value, r.Sources[1].Text = "a\xff", []byte("a\xff") }},
		{"letters turned round", "SLOT-REFUSED", issue, func(r *Rendering) { r.Slots[1].Value, r.Sources[1].Text = "a\u202eb", []byte("a\u202eb") }},
		{"another issue", "SEGMENT-NOT-ALLOWED", comment, func(r *Rendering) { r.Segments = []string{"18"} }},
		{"a way out", "SEGMENT-NOT-ALLOWED", comment, func(r *Rendering) {
			r.Slots[0].Value, r.Sources[0].Text, r.Segments = "../..", []byte("../.."), []string{"../.."}
		}},
		{"a path through", "SEGMENT-NOT-ALLOWED", comment, func(r *Rendering) {
			r.Slots[0].Value, r.Sources[0].Text, r.Segments = "17%2f", []byte("17%2f"), []string{"17%2f"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.of()
			c.change(r)
			f := freeze(t, r)
			var w *gate.WithheldError
			if err := f.Check(t.Context()); !errors.As(err, &w) || string(w.Code) != c.code {
				t.Errorf("Check: %v, want %s", err, c.code)
			}
			res := f.Apply(t.Context(), gate.Call{})
			if !errors.As(res.Err, &w) || res.Rendered || res.Output != nil {
				t.Errorf("Apply: %+v", res)
			}
			if in := f.Plan().Intent.(preview.Render); !in.Payload.IsAbsent() {
				t.Error("the plan has a payload")
			}
		})
	}
	if _, err := (&Rendering{Template: "github/merge@1"}).Freeze(); err == nil {
		t.Error("a template that there is not was taken")
	}
}

// Whatever the slots hold, the payload reads back as the slots and the template;
// and with any byte changed, added or taken away it does not.
func TestReadBackProperty(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "\n", "`", "```", "````text", "~~~", "   ```", "    ```", "```\n### Details\n", "A person wrote this:", "\t", "<b>", "&", "\u2028", "\\", `"`, "😀", "@all", "\n\n"})
	rapid.Check(t, func(rt *rapid.T) {
		text := func(name string) string {
			s := strings.Join(rapid.SliceOfN(piece, 1, 12).Draw(rt, name), "")
			if strings.TrimSpace(s) == "" {
				s += "x"
			}
			return s
		}
		r := issue()
		r.Slots[1].Value, r.Slots[2].Value = text("summary"), text("details")
		r.Sources[1].Text = []byte("<" + r.Slots[1].Value + ">")
		r.Sources[0].Text = append(r.Sources[0].Text, r.Slots[2].Value...)
		f := freeze(t, r)
		if err := f.Check(t.Context()); err != nil {
			rt.Fatal(err)
		}
		at := rapid.IntRange(0, len(f.payload)-1).Draw(rt, "at")
		b := rapid.Byte().Draw(rt, "byte")
		for name, changed := range map[string][]byte{
			"changed":    append(append(bytes.Clone(f.payload[:at]), b), f.payload[at+1:]...),
			"added":      append(append(bytes.Clone(f.payload[:at]), b), f.payload[at:]...),
			"taken away": append(bytes.Clone(f.payload[:at]), f.payload[at+1:]...),
		} {
			if bytes.Equal(changed, f.payload) {
				continue
			}
			if err := readBack(changed, f.template, f.slots, f.sources); err == nil {
				rt.Fatalf("byte %d %s: it reads back all the same:\n%q\n%q", at, name, f.payload, changed)
			}
		}
	})
}

func TestReadBackRefuses(t *testing.T) {
	f := freeze(t, issue())
	good := string(f.payload)
	for name, bad := range map[string]string{
		"a blank":             strings.Replace(good, ":", ": ", 1),
		"a member twice":      strings.Replace(good, `"method":"POST"`, `"method":"POST","method":"POST"`, 1),
		"a member more":       strings.Replace(good, `"method":"POST"`, `"method":"POST","x":"y"`, 1),
		"a label":             strings.Replace(good, `"title":`, `"labels":"bug","title":`, 1),
		"a list":              strings.Replace(good, `"title":`, `"labels":["bug"],"title":`, 1),
		"a number":            strings.Replace(good, `"method":"POST"`, `"method":1`, 1),
		"another document":    good + good,
		"another method":      strings.Replace(good, "POST", "PUT", 1),
		"a bound owner":       strings.Replace(good, "{owner}", "obstat", 1),
		"another path":        strings.Replace(good, "/issues", "/pulls", 1),
		"another role":        strings.Replace(good, labels[Agent], labels[Person], 1),
		"a line at the end":   strings.Replace(good, "\\n\",\"title", "\\nmore\\n\",\"title", 1),
		"a fence that closes": strings.Replace(good, "``````text", "```text", 1),
		"no JSON":             "x",
		"nothing":             "",
	} {
		if bad == good {
			t.Errorf("%s: nothing to replace", name)
		}
		if err := readBack([]byte(bad), f.template, f.slots, f.sources); err == nil {
			t.Errorf("%s: it reads back", name)
		}
	}
	if err := readBack(f.payload, f.template, f.slots, f.sources); err != nil {
		t.Error(err)
	}
}

func TestConforms(t *testing.T) {
	sinktest.Test(t, func() sinktest.World {
		r := comment()
		return sinktest.World{
			Effect: r, Look: func() string { return "" },
			Tamper: []func(){
				func() { r.Slots[1].Value = "exit status" }, func() { r.Slots[1].Source = "mail" }, func() { r.Sources[1].Text[0] = '-' },
				func() { r.Template = "github/issue@1" }, func() { r.Slots = r.Slots[:1] }, func() { r.Sources[1].Role = Agent },
				func() { r.Segments[0] = "19" },
			},
		}
	})
}

// The scaffolding is pinned: a template that says something else is another.
func TestScaffoldingIsAllOfATemplate(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range catalogue {
		for _, change := range []func(*template){
			func(*template) {}, func(x *template) { x.name += "x" }, func(x *template) { x.method = "PUT" }, func(x *template) { x.body += "x" },
			func(x *template) { x.title += "x" },
			func(x *template) { x.path = append([]segment{{literal: "x"}}, x.path...) },
			func(x *template) { x.parts = append([]part{{"X", "x"}}, x.parts...) },
		} {
			y := x
			change(&y)
			b, err := y.scaffolding()
			if err != nil || seen[string(b)] {
				t.Errorf("%s: %s, %v", y.name, b, err)
			}
			seen[string(b)] = true
		}
	}
	if len(Templates()) != len(catalogue) || !utf8.ValidString(strings.Join(Templates(), "")) {
		t.Error(Templates())
	}
}
