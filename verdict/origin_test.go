package verdict

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestTwelveInhabitants(t *testing.T) {
	all := Origins()
	seen := map[Origin]bool{}
	words := map[string]bool{}
	for _, o := range all {
		seen[o], words[o.String()] = true, true
	}
	if len(all) != 12 || len(seen) != 12 || len(words) != 12 {
		t.Fatalf("%d origins, %d distinct, %d renderings; want 12", len(all), len(seen), len(words))
	}
	if (Origin{}) != Whole(Unknown) {
		t.Error("the zero origin is not unknown")
	}
	// No argument makes a thirteenth.
	for s := range Stage(255) {
		for r := range Stage(255) {
			if !seen[Whole(s)] || !seen[Mixed(s, r)] {
				t.Fatalf("Whole(%d) or Mixed(%d, %d) is none of the twelve", s, s, r)
			}
		}
	}
	for _, s := range []Stage{Unknown, Replay, LLM} {
		if Mixed(s, s) == Whole(s) {
			t.Errorf("mixed{%v, %v} is %v", s, s, s)
		}
		if got, err := ParseStage(s.String()); err != nil || got != s {
			t.Errorf("ParseStage(%v) = %v, %v", s, got, err)
		}
	}
	for _, w := range []string{"", "mixed", "Unknown", "unknown ", "llm"} {
		if s, err := ParseStage(w); err == nil {
			t.Errorf("ParseStage(%q) = %v", w, s)
		}
	}
}

// TestCombineLaws goes through all 12 × 12 × 12 cases.
func TestCombineLaws(t *testing.T) {
	all := Origins()
	in := map[Origin]bool{}
	for _, o := range all {
		in[o] = true
	}
	established := func(s Stage) bool { return s != Unknown }
	for _, a := range all {
		if Combine(a, a) != a {
			t.Errorf("not idempotent at %v", a)
		}
		if Combine(a, Whole(Unknown)) != a {
			t.Errorf("unknown is not neutral at %v", a)
		}
		for _, b := range all {
			ab := Combine(a, b)
			if !in[ab] {
				t.Errorf("%v with %v is none of the twelve", a, b)
			}
			if ab != Combine(b, a) {
				t.Errorf("not commutative at %v, %v", a, b)
			}
			// Never unknown over a stage that either side had established, and
			// never a word that neither side said.
			for _, stage := range []func(Origin) Stage{Origin.Intent, Origin.Rendering} {
				if (established(stage(a)) || established(stage(b))) != established(stage(ab)) {
					t.Errorf("%v with %v is %v", a, b, ab)
				}
				if stage(ab) != stage(a) && stage(ab) != stage(b) {
					t.Errorf("%v with %v is %v, which nobody said", a, b, ab)
				}
				// A model at work is never combined away.
				if (stage(a) == LLM || stage(b) == LLM) != (stage(ab) == LLM) {
					t.Errorf("%v with %v is %v", a, b, ab)
				}
			}
			if ab.IsMixed() != (a.IsMixed() || b.IsMixed()) {
				t.Errorf("%v with %v is %v: a distinction was lost or invented", a, b, ab)
			}
			for _, c := range all {
				if Combine(ab, c) != Combine(a, Combine(b, c)) {
					t.Errorf("not associative at %v, %v, %v", a, b, c)
				}
			}
		}
	}
}

// TestCombineTable holds every cell against the table that spec/verdict.md
// prints.
func TestCombineTable(t *testing.T) {
	short := map[Stage]string{Unknown: "u", Replay: "r", LLM: "l"}
	name := func(o Origin) string {
		if o.IsMixed() {
			return short[o.Intent()] + "/" + short[o.Rendering()]
		}
		return short[o.Intent()]
	}
	var b strings.Builder
	b.WriteString("`u` is unknown, `r` deterministic_replay, `l` llm_originated; `r/l` is mixed{intent: r, rendering: l}.\n\n|  |")
	for _, o := range Origins() {
		b.WriteString(" " + name(o) + " |")
	}
	b.WriteString("\n|" + strings.Repeat("---|", 13) + "\n")
	for _, row := range Origins() {
		b.WriteString("| **" + name(row) + "** |")
		for _, col := range Origins() {
			b.WriteString(" " + name(Combine(row, col)) + " |")
		}
		b.WriteString("\n")
	}
	golden(t, "combine.md", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs; got:\n%s", path, got)
	}
}
