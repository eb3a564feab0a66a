package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/obstat/obstat/report"
)

var update = flag.Bool("update", false, "write golden files and spec/codes.md")

const (
	nc = report.NotChecked
	ok = report.Verified
	no = report.Refuted
)

func check(a report.Answer, required, law bool) report.Check {
	return report.Check{Name: "x", Answer: a, Required: required, Law: law}
}

// The table of exit statuses of VERIFY.md, by which checks there are.
func TestOverallAndExit(t *testing.T) {
	for _, c := range []struct {
		name   string
		checks []report.Check
		want   report.Overall
		exit   int
	}{
		{"nothing", nil, report.AllNotChecked, 3},
		{"nothing required", []report.Check{check(ok, false, false)}, report.AllNotChecked, 3},
		{"verified", []report.Check{check(ok, true, false)}, report.AllVerified, 0},
		{"an optional one not checked", []report.Check{check(ok, true, false), check(nc, false, false)}, report.AllVerified, 0},
		{"a required one not checked", []report.Check{check(ok, true, false), check(nc, true, false)}, report.AllNotChecked, 3},
		{"refuted", []report.Check{check(ok, true, false), check(no, true, false)}, report.AnyRefuted, 1},
		{"an optional one refuted", []report.Check{check(ok, true, false), check(no, false, false)}, report.AnyRefuted, 1},
		{"refuted over not checked", []report.Check{check(nc, true, false), check(no, true, false)}, report.AnyRefuted, 1},
		{"refuted over violated", []report.Check{check(no, true, true), check(no, true, false)}, report.AnyRefuted, 1},
		{"violated", []report.Check{check(ok, true, false), check(no, true, true)}, report.LawViolated, 4},
		{"violated over not checked", []report.Check{check(no, true, true), check(nc, true, false)}, report.LawViolated, 4},
		{"not checked, then violated", []report.Check{check(nc, true, false), check(no, true, true)}, report.LawViolated, 4},
	} {
		r := &report.Report{Checks: c.checks}
		if r.Overall() != c.want || r.ExitCode() != c.exit {
			t.Errorf("%s: %s (%d), want %s (%d)", c.name, r.Overall(), r.ExitCode(), c.want, c.exit)
		}
	}
	show := &report.Report{ShowOnly: true}
	if show.ExitCode() != 0 || show.Overall() != report.AllNotChecked {
		t.Error("inspect")
	}
	show.Add(check(no, true, false))
	if show.ExitCode() != 1 {
		t.Error("inspect of something malformed")
	}
}

func TestZeroAnswersAreNotChecked(t *testing.T) {
	if (report.Check{}).Answer != report.NotChecked || (&report.Report{}).Overall() != report.AllNotChecked {
		t.Error("what was forgotten must not pass")
	}
}

func samples() map[string]*report.Report {
	full := &report.Report{
		Command: "bundle", Says: "DENIED: fs.write, class red, because NOT-PERMITTED",
		Facts:   []report.Fact{{Name: "kind", Value: "judgment"}, {Name: "statement", Value: "bafyr4i"}},
		Ignored: []string{`keyid "zz"`},
	}
	full.Add(report.Check{Name: "form", Answer: ok, Code: report.CodeOK, Required: true})
	full.Add(report.Check{Name: "signature", Answer: no, Code: report.CodeProofInvalid, Expected: "a", Actual: "b\x1b[2J\n\u202ec", Note: "so", Required: true})
	full.Add(report.Check{Name: "KEY-NOT-DISOWNED", Answer: nc, Code: report.CodeOK, Expected: "c", Actual: "d"})
	verified := &report.Report{Command: "receipt", Says: "ADMITTED: git.commit"}
	verified.Add(report.Check{Name: "form", Answer: ok, Code: report.CodeOK, Required: true})
	law := &report.Report{Command: "log", Says: "a log"}
	law.Add(report.Check{Name: "settled-once", Answer: no, Code: report.CodeOK, Required: true, Law: true})
	waiting := &report.Report{Command: "bundle"}
	waiting.Add(report.Check{Name: "form", Answer: nc, Code: report.CodeInputEmpty, Expected: "an artifact", Actual: "0 bytes", Required: true})
	waiting.Add(report.Check{Name: "schema", Answer: nc, Code: report.CodeNotReached, Expected: "form verified first", Required: true})
	waiting.Add(report.Check{Name: "keys", Answer: nc, Code: report.CodeNotReached, Expected: "registry verified first", Note: "leaf 7", Required: true})
	open := &report.Report{Command: "log", Says: "a log; laws not checked: 5"}
	open.Add(report.Check{Name: "root", Answer: ok, Code: report.CodeOK, Required: true})
	open.Add(report.Check{Name: "law-4-settled-once", Answer: ok, Code: report.CodeOK, Law: true})
	open.Add(report.Check{Name: "law-5-nothing-missing", Answer: nc, Code: report.CodeLaw5Open, Law: true})
	unheld := &report.Report{Command: "log", Says: "a log; no law between receipts was checked"}
	unheld.Add(report.Check{Name: "root", Answer: ok, Code: report.CodeOK, Required: true})
	unheld.Add(report.Check{Name: "law-4-settled-once", Answer: nc, Code: report.CodeLawStateLimit, Law: true})
	unheld.Add(report.Check{Name: "law-5-nothing-missing", Answer: nc, Code: report.CodeLawStateLimit, Law: true})
	return map[string]*report.Report{
		"law-open": open, "laws-unheld": unheld,
		"full": full, "waiting": waiting, "verified": verified, "law": law, "empty": {Command: "bundle"},
		"shown": {Command: "inspect", Says: "a checkpoint", ShowOnly: true},
	}
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

func TestGolden(t *testing.T) {
	for name, r := range samples() {
		golden(t, name+".txt", []byte(r.Text()))
		golden(t, name+".json", r.JSON())
	}
}

// Text and JSON say the same: every string of the JSON stands in the text,
// except the constants that only a program reads.
func TestTextSaysWhatJSONSays(t *testing.T) {
	for name, r := range samples() {
		var m map[string]any
		if err := json.Unmarshal(r.JSON(), &m); err != nil {
			t.Fatal(err)
		}
		text := r.Text()
		var walk func(path string, v any)
		walk = func(path string, v any) {
			switch v := v.(type) {
			case string:
				if !strings.Contains(text, v) && path != "/mediaType" && path != "/command" && !strings.HasSuffix(path, "/answer") {
					t.Errorf("%s: %s %q is not in the text", name, path, v)
				}
			case map[string]any:
				for k, x := range v {
					walk(path+"/"+k, x)
				}
			case []any:
				for i, x := range v {
					walk(fmt.Sprintf("%s/%d", path, i), x)
				}
			}
		}
		walk("", m)
		if !strings.Contains(text, fmt.Sprintf("(exit %v)", m["exit"])) {
			t.Errorf("%s: exit", name)
		}
	}
}

// The word VALID alone says more than any report can.
func TestNeverValid(t *testing.T) {
	word := regexp.MustCompile(`(?i)\bvalid\b`)
	for name, r := range samples() {
		if word.MatchString(r.Text()) || word.Match(r.JSON()) {
			t.Errorf("%s says valid", name)
		}
	}
}

func TestNoTerminalControl(t *testing.T) {
	r := samples()["full"]
	r.Says = "\x1b]0;title\a\r\u2066\xff"
	for _, out := range []string{r.Text(), string(r.JSON())} {
		for _, c := range out {
			if c != '\n' && (c < 0x20 || c == 0x7f || c == '\u2066' || c == '\u202e' || c == '\uFFFD') {
				t.Errorf("%q in %q", c, out)
			}
		}
	}
}

func TestFirstLine(t *testing.T) {
	for name, want := range map[string]string{
		"full":     "REFUTED. It claims: DENIED: fs.write",
		"verified": "It says: ADMITTED: git.commit",
		"law":      "LAW VIOLATED. It says: a log",
		"empty":    "NOT CHECKED. It claims: nothing that could be read",
		"shown":    "Unchecked, it reads: a checkpoint",
	} {
		if got := samples()[name].Text(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestRequire(t *testing.T) {
	r := samples()["full"]
	if !r.Require("KEY-NOT-DISOWNED") || r.Require("nothing of that name") {
		t.Error("Require")
	}
	if c, found := r.Find("KEY-NOT-DISOWNED"); !found || !c.Required {
		t.Errorf("%+v", c)
	}
}

// declared reads the constants of codes.go, since a map cannot tell that one is
// missing from it.
func declared(t *testing.T) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		s, is := n.(*ast.ValueSpec)
		if !is || len(s.Names) != 1 || len(s.Values) != 1 {
			return true
		}
		if lit, is := s.Values[0].(*ast.BasicLit); is {
			out[s.Names[0].Name] = strings.Trim(lit.Value, `"`)
		}
		return true
	})
	return out
}

func TestEveryCodeHasAMeaning(t *testing.T) {
	form := regexp.MustCompile(`^[A-Z0-9]+(-[A-Z0-9]+)*$`)
	byCode := map[string]string{}
	for name, code := range declared(t) {
		if other, twice := byCode[code]; twice {
			t.Errorf("%s and %s are both %s", name, other, code)
		}
		byCode[code] = name
		if !form.MatchString(code) || len(code) > 64 {
			t.Errorf("%s is %q", name, code)
		}
		m := report.Meaning[report.Code(code)]
		if m == "" || strings.HasSuffix(m, ".") || strings.Contains(m, "\n") {
			t.Errorf("%s means %q", code, m)
		}
	}
	for code := range report.Meaning {
		if byCode[string(code)] == "" {
			t.Errorf("%s has a meaning and no constant", code)
		}
	}
}

func TestCodesDocument(t *testing.T) {
	var codes []string
	for c := range report.Meaning {
		codes = append(codes, string(c))
	}
	sort.Strings(codes)
	var b strings.Builder
	b.WriteString(`# Codes

Every refusal and every check carries one of these. They are never renamed and never reused; a released code keeps
its meaning. Each line has its code as anchor: the ` + "`type`" + ` of a problem leads to it. This file is printed from
` + "`report/codes.go`" + ` (` + "`go test ./report -update`" + `), and a test holds it to that.

| code | says |
|---|---|
`)
	for _, c := range codes {
		fmt.Fprintf(&b, "| <a id=\"%[1]s\"></a>`%[1]s` | %[2]s |\n", c, strings.ReplaceAll(report.Meaning[report.Code(c)], "|", "\\|"))
	}
	path := filepath.Join("..", "spec", "codes.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Errorf("spec/codes.md is not what report/codes.go says: go test ./report -update")
	}
}

func TestErrorText(t *testing.T) {
	e := &report.Error{Code: "A-B", Where: "/x", Expected: "this", Actual: "that", Fix: "do so"}
	if got := e.Error(); got != "A-B at /x: expected this, got that; do so" {
		t.Error(got)
	}
	if c := report.CodeOf(fmt.Errorf("wrapped: %w", e)); c != "A-B" {
		t.Error(c)
	}
	if c := report.CodeOf(fmt.Errorf("other")); c != report.CodeInternal {
		t.Error(c)
	}
	if !slices.Equal(report.NotClaimed(), report.NotClaimed()) || len(report.NotClaimed()) != 5 {
		t.Error("not claimed")
	}
}
