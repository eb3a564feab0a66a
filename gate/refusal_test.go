package gate

import (
	"context"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// There is a sentence for every word, and it is the one that the page prints.
func TestEveryWordHasItsSentence(t *testing.T) {
	page, err := os.ReadFile("../spec/vocabulary.md")
	if err != nil {
		t.Fatal(err)
	}
	v := receipt.StandardVocabulary()
	for place, all := range sentences {
		for _, c := range v.Codes(place) {
			if s := all[c]; s == "" || !strings.Contains(string(page), "| `"+string(c)+"` | "+s+" |") {
				t.Errorf("%s %s: %q is not what the page says", place, c, s)
			}
		}
		if len(all) != len(v.Codes(place)) {
			t.Errorf("%s: %d sentences for %d words", place, len(all), len(v.Codes(place)))
		}
	}
	for _, r := range v.Recoveries() {
		for _, h := range r.Hints {
			if hintSentences[h] == "" {
				t.Errorf("no sentence for %s", h)
			}
		}
	}
}

// A refusal is the same whatever the request holds.
func TestRefusalsHoldNoContentProperty(t *testing.T) {
	g, _ := gated(t, RuleFunc(func(_ context.Context, p Proposal) (verdict.Verdict, error) {
		switch p.Class {
		case receipt.Red:
			return escalates, nil
		case receipt.Green:
			return admits, nil
		}
		return denies, nil
	}))
	g.cfg.Patience = 1e6
	want := map[receipt.Class]string{
		receipt.Yellow: "denied: the program may not be run. Next: ask for another command.",
		receipt.Red:    "a person decides: the class is red, and that is reason enough. Next: wait for a person's answer.",
	}
	rapid.Check(t, func(rt *rapid.T) {
		req := request(&probe{data: rapid.SliceOf(rapid.Byte()).Draw(rt, "data")})
		req.Inputs = []preview.Input{{Name: "in", Value: rapid.String().Draw(rt, "input")}}
		for class, sentence := range want {
			req.Class = class
			j, err := g.Judge(t.Context(), req)
			if err != nil {
				rt.Fatal(err)
			}
			if got := j.Refusal(); got != sentence {
				rt.Fatalf("%q", got)
			}
			commit(t, j)
		}
		req.Class = receipt.Green
		p := req.Effect.(*probe)
		j, err := g.Judge(t.Context(), req)
		if err != nil {
			rt.Fatal(err)
		}
		p.data = append(p.data, 'x')
		if got := commit(t, j).Refusal(); j.Refusal() != "" || got != "diverged: what was about to be done is not what was judged. Next: make the preview again, and ask again." {
			rt.Fatalf("%q", got)
		}
	})
}
