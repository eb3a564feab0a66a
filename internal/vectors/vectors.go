// Package vectors finds and reads test cases made by other people. They live
// outside the module, in the folder that OBSTAT_VECTORS names or else in
// ../shared/vectors from the module root; where there is none, tests skip and
// say so.
package vectors

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// Env names the folder of cases.
const Env = "OBSTAT_VECTORS"

// Root returns the folder of cases and whether it exists.
func Root() (string, bool) {
	dir := os.Getenv(Env)
	if dir == "" {
		root, err := moduleRoot()
		if err != nil {
			return "", false
		}
		dir = filepath.Join(root, "..", "shared", "vectors")
	}
	st, err := os.Stat(dir)
	return dir, err == nil && st.IsDir()
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", os.ErrNotExist
		}
		dir = up
	}
}

// Path returns where the named case file or folder lies. It skips the test
// where there is no folder of cases, or the folder does not have this one.
func Path(t testing.TB, name string) string {
	t.Helper()
	root, ok := Root()
	if !ok {
		t.Skipf("no test cases: %s is not set and ../shared/vectors does not exist", Env)
	}
	p := filepath.Join(root, filepath.FromSlash(name))
	if _, err := os.Stat(p); err != nil {
		t.Skipf("the folder of cases has no %s", name)
	}
	return p
}

// File returns the bytes of the named case file; it skips as Path does.
func File(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Lines decodes the named file, one JSON object a line, into T; it skips as
// Path does.
func Lines[T any](t testing.TB, name string) []T {
	t.Helper()
	var out []T
	sc := bufio.NewScanner(bytes.NewReader(File(t, name)))
	sc.Buffer(nil, 64<<20)
	for n := 1; sc.Scan(); n++ {
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatalf("%s:%d: %v", name, n, err)
		}
		out = append(out, v)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Rule is a place where our profile is deliberately narrower than a case.
type Rule struct {
	Why    string // with the section of spec/ that says so
	Answer string // what we answer instead
}

// Exception names one case that a rule touches.
type Exception struct{ Case, Rule string }

// Table holds what is expected of one case file.
type Table struct {
	File       string // such as "dagcbor/cases.jsonl"
	SHA256     string // of the file whose cases Exceptions names, lowercase hex
	Rules      map[string]Rule
	Exceptions []Exception
}

// Result is how one case ended. Rule is the rule that touches this case as
// found from the case itself, never from what our code answered; empty where
// none does.
type Result struct{ ID, Want, Got, Rule string }

// Judge holds results against expectations and prints the count. A difference
// that no rule explains fails. Against the very file the table was written
// for, a difference must also be listed by name, and every entry must be used;
// against another file of the same form the rules alone decide.
func (tb Table) Judge(t *testing.T, results []Result) {
	t.Helper()
	sum := sha256.Sum256(File(t, tb.File))
	own := hex.EncodeToString(sum[:]) == tb.SHA256
	listed := map[string]string{}
	for _, e := range tb.Exceptions {
		if _, dup := listed[e.Case]; dup {
			t.Errorf("%s: exception %s is listed twice", tb.File, e.Case)
		}
		listed[e.Case] = e.Rule
	}
	used, byRule, ok := map[string]bool{}, map[string]int{}, 0
	for _, r := range results {
		if r.Got == r.Want {
			ok++
			continue
		}
		rule, known := tb.Rules[r.Rule]
		switch name, named := listed[r.ID]; {
		case !known:
			t.Errorf("%s: %s: want %s, got %s", tb.File, r.ID, r.Want, r.Got)
		case r.Got != rule.Answer:
			t.Errorf("%s: %s: rule %s answers %s, got %s (the case wants %s)", tb.File, r.ID, r.Rule, rule.Answer, r.Got, r.Want)
		case named && name != r.Rule:
			t.Errorf("%s: %s is listed under %s, but %s touches it", tb.File, r.ID, name, r.Rule)
		case !named && own:
			t.Errorf("%s: %s: differs under rule %s (want %s, got %s) and is not listed: {Case: %q, Rule: %q}", tb.File, r.ID, r.Rule, r.Want, r.Got, r.ID, r.Rule)
		default:
			used[r.ID] = true
			byRule[r.Rule]++
		}
	}
	if own {
		for _, e := range tb.Exceptions {
			if !used[e.Case] {
				t.Errorf("%s: exception %s (%s) is not used", tb.File, e.Case, e.Rule)
			}
		}
	}
	var parts []string
	for name, n := range byRule {
		parts = append(parts, fmt.Sprintf("%s %d", name, n))
	}
	sort.Strings(parts)
	line := fmt.Sprintf("vectors: %s: %d cases, %d as expected", tb.File, len(results), ok)
	if len(parts) > 0 {
		line += ", narrower by rule: " + strings.Join(parts, ", ")
	}
	if len(results) == 0 {
		t.Errorf("%s: no cases were read", tb.File)
	}
	fmt.Println(line)
}
