package spec

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

var (
	namedTest = regexp.MustCompile("`((?:[a-z]+/)*[a-z]+)\\.((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)`")
	limitRef  = regexp.MustCompile(`limits: \*([^*]+)\*`)
	lawRef    = regexp.MustCompile(`\[laws? ?[1-8]?\]\(laws\.md(#[a-z-]+)?\)`)
	codeRef   = regexp.MustCompile("`([A-Z0-9]+(?:-[A-Z0-9]+)+)`")
)

// TestNamedTestsExist: a test that a page names can be found and run.
func TestNamedTestsExist(t *testing.T) {
	known := map[string]map[string]bool{}
	named := 0
	for _, page := range pages(t) {
		for _, m := range namedTest.FindAllStringSubmatch(read(t, page), -1) {
			named++
			if known[m[1]] == nil {
				known[m[1]] = testsOf(t, m[1])
			}
			if !known[m[1]][m[2]] {
				t.Errorf("%s names %s.%s, which does not exist", page, m[1], m[2])
			}
		}
	}
	if named < 50 {
		t.Errorf("only %d tests are named: the pattern is wrong", named)
	}
}

// testsOf returns the tests, fuzz targets and benchmarks of a package.
func testsOf(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, file := range must(filepath.Glob(filepath.Join("..", filepath.FromSlash(pkg), "*_test.go"))) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				out[fn.Name.Name] = true
			}
		}
	}
	return out
}

// rows returns the cells of the rows of every table of a page that has this
// column first.
func rows(text, firstColumn string) [][]string {
	var out [][]string
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			in = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case cells[0] == firstColumn:
			in = true
		case in && !strings.HasPrefix(cells[0], "---"):
			out = append(out, cells)
		}
	}
	return out
}

// TestLimitsNameTheirBorder: each line of what is not proven names a test or a
// law.
func TestLimitsNameTheirBorder(t *testing.T) {
	all := rows(read(t, "limits.md"), "beyond")
	if len(all) < 10 {
		t.Fatalf("only %d lines", len(all))
	}
	seen := map[string]bool{}
	for _, r := range all {
		if seen[r[0]] {
			t.Errorf("two lines are called %q", r[0])
		}
		seen[r[0]] = true
		if len(r) != 3 || !namedTest.MatchString(r[2]) && !lawRef.MatchString(r[2]) {
			t.Errorf("%s names neither a test nor a law", r[0])
		}
	}
	for _, must := range []string{
		"the predicate was right", "intent", "another route to the world", "root on the host",
		"what was never submitted", "completeness over what was planned", "a loosened policy", "wall time",
	} {
		if !seen[must] {
			t.Errorf("no line on %q", must)
		}
	}
}

// TestEveryDefectIsCovered: each of the 69 entries stands in at least one row,
// and every row names a test, a law or a line of limits.md.
func TestEveryDefectIsCovered(t *testing.T) {
	const entries = 69
	lines := map[string]bool{}
	for _, r := range rows(read(t, "limits.md"), "beyond") {
		lines[r[0]] = true
	}
	covered := map[int]bool{}
	for _, r := range rows(read(t, "defects.md"), "entries") {
		if len(r) != 3 {
			t.Fatalf("row %q has %d cells", r, len(r))
		}
		for n := range strings.SplitSeq(r[0], ", ") {
			i, err := strconv.Atoi(n)
			if err != nil || i < 1 || i > entries {
				t.Errorf("%q is no entry", n)
			}
			covered[i] = true
		}
		refs := limitRef.FindAllStringSubmatch(r[2], -1)
		if len(refs) == 0 && !namedTest.MatchString(r[2]) {
			t.Errorf("entries %s: neither a test nor a line of limits.md", r[0])
		}
		for _, m := range refs {
			if !lines[m[1]] {
				t.Errorf("entries %s: limits.md has no line %q", r[0], m[1])
			}
		}
	}
	for i := 1; i <= entries; i++ {
		if !covered[i] {
			t.Errorf("entry %d is in no row", i)
		}
	}
}

// TestCodesExist: what a page spells as a code is one, or a word of the
// standard vocabulary, or the name of a check.
func TestCodesExist(t *testing.T) {
	known := map[string]bool{"THIS-FORM": true}
	for code := range report.Meaning {
		known[string(code)] = true
	}
	for _, name := range bundle.Requirable() {
		known[name] = true
	}
	v := receipt.StandardVocabulary()
	for _, place := range receipt.Places() {
		for _, c := range v.Codes(place) {
			known[string(c)] = true
		}
	}
	for _, r := range v.Recoveries() {
		known[string(r.Code)] = true
		for _, h := range r.Hints {
			known[string(h)] = true
		}
	}
	named := map[string]bool{}
	for _, page := range pages(t) {
		if page == "codes.md" {
			continue
		}
		for _, m := range codeRef.FindAllStringSubmatch(read(t, page), -1) {
			if !known[m[1]] {
				t.Errorf("%s names the code %s, which does not exist", page, m[1])
			}
			named[m[1]] = true
		}
	}
	// A stranger who implements from the pages must meet every code of a format.
	for code := range report.Meaning {
		family, _, _ := strings.Cut(string(code), "-")
		if slices.Contains([]string{"CBOR", "SCHEMA", "PREVIEW", "JSON", "BUNDLE", "REGISTRY", "POLICY", "TRUST", "KEY", "VERDICT",
			"LAW1", "LAW2", "LAW3", "LAW4", "LAW5", "LAW6", "LAW7", "LAW8", "LAW"}, family) && !named[string(code)] {
			t.Errorf("no page says when %s comes", code)
		}
	}
}

// TestVocabularyPage: the page explains exactly the words of the standard
// vocabulary, place by place.
func TestVocabularyPage(t *testing.T) {
	v := receipt.StandardVocabulary()
	sections := strings.Split(read(t, "vocabulary.md"), "\n### ")
	words := map[string][]string{}
	for _, s := range sections[1:] {
		title, body, _ := strings.Cut(s, "\n")
		for line := range strings.Lines(body) {
			if cells := strings.Split(line, "|"); len(cells) > 2 && strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
				words[title] = append(words[title], strings.TrimSpace(line))
			}
		}
	}
	for _, place := range receipt.Places() {
		var page []string
		for _, line := range words[string(place)] {
			page = append(page, strings.Trim(strings.TrimSpace(strings.Split(line, "|")[1]), "`"))
		}
		slices.Sort(page)
		var want []string
		for _, c := range v.Codes(place) {
			want = append(want, string(c))
		}
		if !slices.Equal(page, want) {
			t.Errorf("%s: the page has %q, the vocabulary %q", place, page, want)
		}
	}
	var page, want []string
	for _, line := range words["recovery"] {
		cells := strings.Split(line, "|")
		hints := strings.Fields(strings.ReplaceAll(cells[3], "`", ""))
		slices.Sort(hints)
		page = append(page, strings.Join(append([]string{strings.Trim(strings.TrimSpace(cells[1]), "`"), strings.Trim(strings.TrimSpace(cells[2]), "`")}, hints...), " "))
	}
	for _, r := range v.Recoveries() {
		words := []string{string(r.Class), string(r.Code)}
		for _, h := range r.Hints {
			words = append(words, string(h))
		}
		want = append(want, strings.Join(words, " "))
	}
	slices.Sort(page)
	slices.Sort(want)
	if !slices.Equal(page, want) {
		t.Errorf("recovery: the page has %q, the vocabulary %q", page, want)
	}
}

// TestOldBundlesStay: a growing log never turns an old bundle into a refusal.
func TestOldBundlesStay(t *testing.T) {
	w := newWorld(t)
	_, index := w.leaf("judgment")
	for size := index + 1; size <= w.log.Size(); size++ {
		if r := bundle.Verify(w.log.Bundle(index, size, witness), w.options(t)); r.ExitCode() != 0 {
			t.Errorf("in the tree of %d:\n%s", size, r.Text())
		}
	}
}

// TestNothingInTheClear: what a request is made of stands in no leaf, unless the
// engine opts in.
func TestNothingInTheClear(t *testing.T) {
	w := newWorld(t)
	for _, hidden := range []string{
		"notes/today.md", "today", "notes/.lock", "bread", "/srv/work", "naïve", "na\xefve", "git", "HOME", "buy milk",
	} {
		for i, l := range w.log.Leaves {
			if bytes.Contains(l, []byte(hidden)) {
				t.Errorf("leaf %d tells %q", i, hidden)
			}
		}
	}
	if !bytes.Contains(w.log.Leaves[2], []byte("item")) || !bytes.Contains(w.log.Leaves[2], []byte("tidy-notes")) {
		t.Error("the test looks at the wrong leaf")
	}
}

// TestPagesAreListed: the first page names every other.
func TestPagesAreListed(t *testing.T) {
	first := read(t, "README.md")
	for _, e := range must(os.ReadDir(".")) {
		name := e.Name()
		switch filepath.Ext(name) {
		case ".md", ".json", ".cddl":
			if name != "README.md" && !strings.Contains(first, "]("+name+")") {
				t.Errorf("README.md does not name %s", name)
			}
		}
	}
}

// TestReportPageHasEveryCheck: the page says of each check which commands
// require it, and nothing of others.
func TestReportPageHasEveryCheck(t *testing.T) {
	text := read(t, "report.md")
	tick := func(s string) []string {
		var out []string
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(s, -1) {
			out = append(out, m[1])
		}
		return out
	}
	require := map[string][]string{"receipt": {}, "bundle": {}}
	var named, log []string
	for _, r := range rows(text, "check") {
		names := tick(r[0])
		if len(r) < 4 { // of a whole log
			log = append(log, names...)
			continue
		}
		named = append(named, names...)
		if r[2] == "required" {
			require["receipt"] = append(require["receipt"], names...)
		}
		if r[3] == "required" {
			require["bundle"] = append(require["bundle"], names...)
		}
	}
	const expectation = "expect …"
	for command, want := range map[string][]string{"receipt": bundle.RequiredOfEnvelope(), "bundle": bundle.RequiredOfBundle()} {
		got := slices.DeleteFunc(require[command], func(s string) bool { return s == expectation })
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: the page requires %q, the code %q", command, got, want)
		}
	}
	want := append(bundle.Requirable(), expectation)
	if slices.Sort(named); !slices.Equal(named, slices.Sorted(slices.Values(want))) {
		t.Errorf("the page names %q, the code %q", named, want)
	}
	// Laws are checks too, and not among the required ones.
	log = slices.DeleteFunc(log, func(s string) bool { return strings.HasPrefix(s, "law-") })
	ofLog := append(audit.Required(), audit.CheckGrowth, audit.CheckResume, bundle.CheckSuccession)
	if slices.Sort(log); !slices.Equal(log, slices.Sorted(slices.Values(ofLog))) {
		t.Errorf("of a log the page names %q, the code %q", log, ofLog)
	}
	heads, of := map[string][]string{}, ""
	for _, r := range rows(text, "command") {
		if names := tick(r[0]); len(names) == 1 {
			of = names[0]
		}
		heads[of] = append(heads[of], tick(r[1])...)
	}
	for command, want := range map[string][]string{"consistency": audit.RequiredOfConsistency(), "fork": audit.RequiredOfFork()} {
		if !slices.Equal(heads[command], want) {
			t.Errorf("of %s the page names %q, the code %q", command, heads[command], want)
		}
	}
	var keys []string
	for _, r := range rows(text, "key") {
		keys = append(keys, tick(r[0])...)
	}
	if want := bundle.ExpectKeys(); !slices.Equal(slices.Sorted(slices.Values(keys)), slices.Sorted(slices.Values(want))) {
		t.Errorf("the page expects %q, the code %q", keys, want)
	}
}
