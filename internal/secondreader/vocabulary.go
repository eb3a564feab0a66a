package secondreader

import (
	"encoding/hex"

	"github.com/zeebo/blake3"
)

// This file is vocabulary.md.

// vocabulary is a closed list of words.
type vocabulary struct {
	codes      map[string]map[string]bool // by place
	recoveries map[string]recovery        // by code
}

type recovery struct {
	class string
	hints map[string]bool
}

func places() []string {
	return []string{"reason", "inverse", "refused", "cancelled", "withheld", "failed", "unobserved", "observation", "fault", "gap"}
}

func readVocabulary(b []byte) (*vocabulary, refusal) {
	v, err := block(b)
	if err != "" {
		return nil, err
	}
	code := textOf("x", isCode)
	codes := fields{}
	for _, p := range places() {
		codes["?"+p] = set(code, bytesOf)
	}
	form := fields{
		"name": textOf("x", isName), "version": atLeast(1), "codes": codes.rule,
		"recovery": set(fields{"code": code, "class": word("retry", "refresh", "revise", "await", "stop"), "hints": set(code, bytesOf)}.rule, by("code")),
	}
	if form.rule(v) != "" {
		return nil, "VOCABULARY"
	}
	d := v.(*dict)
	out := &vocabulary{map[string]map[string]bool{}, map[string]recovery{}}
	for place, l := range d.m["codes"].(*dict).m {
		out.codes[place] = wordsOf(l)
	}
	for _, x := range d.m["recovery"].(list) {
		r := x.(*dict).m
		out.recoveries[r["code"].(string)] = recovery{r["class"].(string), wordsOf(r["hints"])}
	}
	return out, ""
}

func wordsOf(v item) map[string]bool {
	out := map[string]bool{}
	for _, w := range v.(list) {
		out[w.(string)] = true
	}
	return out
}

func vocabularyOf(b []byte, digest string) []finding {
	var f findings
	if _, err := readVocabulary(b); err != "" {
		f.refute("form", err)
	} else if sum := blake3.Sum256(b); digest != "" && hex.EncodeToString(sum[:]) != digest {
		f.refute("expect digest", "EXPECTATION-UNMET")
	}
	return f.list
}
