package secondreader

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/zeebo/blake3"
)

// This file is verdict.md, and preview.md#ticket and #refusal.

// spoken is what one evaluation says: a level and a set.
type spoken struct {
	level int
	set   []string
}

// The levels, in the order of verdict.md#meet.
const (
	levelNothing = iota
	levelAdmit
	levelEscalate
	levelFault
	levelDeny
)

func readEvaluation(v any) (s spoken, err refusal) {
	const bad = refusal("CORPUS-MANIFEST")
	o, is := v.(object)
	if !is || len(o) != 1 {
		return s, bad
	}
	inner, is := o[0].value.(object)
	if !is {
		return s, bad
	}
	names := map[string]string{"admit": "by", "deny": "reasons", "escalate": "reasons", "fault": "codes"}
	s.level = map[string]int{"nothing": levelNothing, "admit": levelAdmit, "escalate": levelEscalate, "fault": levelFault, "deny": levelDeny}[o[0].name]
	if o[0].name == "nothing" && len(inner) == 0 {
		return s, ""
	}
	list, _ := inner.get(names[o[0].name])
	items, is := list.([]any)
	if s.level == levelNothing || !is || len(inner) != 1 {
		return s, bad
	}
	if len(items) == 0 {
		return s, "VERDICT-EMPTY"
	}
	for _, x := range items {
		w, is := x.(string)
		switch {
		case !is:
			return s, bad
		case s.level == levelAdmit && !isName(w):
			return s, "VERDICT-NAME"
		case s.level != levelAdmit && !isCode(w):
			return s, "VERDICT-REASON"
		}
		s.set = append(s.set, w)
	}
	slices.Sort(s.set)
	s.set = slices.Compact(s.set)
	return s, ""
}

func meet(all []spoken) (out spoken) {
	for _, s := range all {
		switch {
		case s.level > out.level:
			out = spoken{s.level, slices.Clone(s.set)}
		case s.level == out.level:
			out.set = append(out.set, s.set...)
		}
	}
	slices.Sort(out.set)
	out.set = slices.Compact(out.set)
	return out
}

// ended is how an evaluation ends: nothing ends in a fault.
func (s spoken) ended() spoken {
	if s.level == levelNothing {
		return spoken{levelFault, []string{"EVALUATION-NONE"}}
	}
	return s
}

func (s spoken) same(t spoken) bool {
	s, t = s.ended(), t.ended()
	return s.level == t.level && slices.Equal(s.set, t.set)
}

// origin is one word about both stages, or one about each.
type origin struct {
	mixed             bool
	intent, rendering int
}

func readOrigin(v any) (o origin, err refusal) {
	stages := []string{"unknown", "deterministic_replay", "llm_originated"}
	stage := func(v any) (int, refusal) {
		s, _ := v.(string)
		n := slices.Index(stages, s)
		if n < 0 {
			return 0, "ORIGIN-WORD"
		}
		return n, ""
	}
	x, is := v.(object)
	if !is || len(x) != 1 {
		return o, "CORPUS-MANIFEST"
	}
	if o.mixed = x[0].name == "mixed"; !o.mixed {
		if inner, is := x[0].value.(object); !is || len(inner) > 0 {
			return o, "CORPUS-MANIFEST"
		}
		o.intent, err = stage(x[0].name)
		o.rendering = o.intent
		return o, err
	}
	inner, _ := x[0].value.(object)
	if !exactly(inner, map[string]bool{"intent": true, "rendering": true}) {
		return o, "CORPUS-MANIFEST"
	}
	intent, _ := inner.get("intent")
	rendering, _ := inner.get("rendering")
	if o.intent, err = stage(intent); err == "" {
		o.rendering, err = stage(rendering)
	}
	return o, err
}

func combine(a, b origin) origin {
	return origin{a.mixed || b.mixed, max(a.intent, b.intent), max(a.rendering, b.rendering)}
}

// claimsOf answers the commands meet, combine and ticket.
func claimsOf(command string, data []byte) []finding {
	var f findings
	v, err := strictJSON(data)
	if err != "" {
		f.refute("form", err)
		return f.list
	}
	const bad = refusal("CORPUS-MANIFEST")
	list, _ := v.([]any)
	if len(list) == 0 {
		f.refute("form", bad)
		return f.list
	}
	names := map[string]bool{"of": true, "is": true}
	if command == "ticket" {
		names = map[string]bool{"request": true, "verdict": true, "refusal": false, "ticket": false}
	}
	for _, x := range list {
		o, _ := x.(object)
		if !exactly(o, names) {
			f.list = nil
			f.refute("form", bad)
			return f.list
		}
		var holds bool
		switch command {
		case "meet":
			holds, err = meetClaim(o)
		case "combine":
			holds, err = combineClaim(o)
		default:
			holds, err = ticketClaim(o)
		}
		if err != "" {
			f.list = nil
			f.refute("form", err)
			return f.list
		}
		if !holds && len(f.list) == 0 {
			f.refute("claims", "EXPECTATION-UNMET")
		}
	}
	return f.list
}

// exactly: members of these names, and always those that are true.
func exactly(o object, names map[string]bool) bool {
	for _, m := range o {
		if _, known := names[m.name]; !known {
			return false
		}
	}
	for name, must := range names {
		if _, has := o.get(name); must && !has {
			return false
		}
	}
	return true
}

func meetClaim(o object) (bool, refusal) {
	of, _ := o.get("of")
	list, _ := of.([]any)
	var all []spoken
	for _, x := range list {
		s, err := readEvaluation(x)
		if err != "" {
			return false, err
		}
		all = append(all, s)
	}
	is, _ := o.get("is")
	want, err := readEvaluation(is)
	return meet(all).same(want), err
}

func combineClaim(o object) (bool, refusal) {
	of, _ := o.get("of")
	list, _ := of.([]any)
	var got origin
	for i, x := range list {
		one, err := readOrigin(x)
		if err != "" {
			return false, err
		}
		if i == 0 {
			got = one
		} else {
			got = combine(got, one)
		}
	}
	is, _ := o.get("is")
	want, err := readOrigin(is)
	return got == want, err
}

func ticketClaim(o object) (bool, refusal) {
	v, _ := o.get("verdict")
	s, err := readEvaluation(v)
	if err != "" {
		return false, err
	}
	digits, _ := o.get("request")
	text, _ := digits.(string)
	request, hexErr := hex.DecodeString(text)
	if hexErr != nil || len(request) != 32 {
		return false, "CORPUS-MANIFEST"
	}
	for _, name := range []string{"refusal", "ticket"} {
		if v, has := o.get(name); has {
			if s, _ := v.(string); s == "" {
				return false, "CORPUS-MANIFEST"
			}
		}
	}
	arm := map[int]string{levelDeny: "deny", levelEscalate: "escalate"}[s.level]
	holds := true
	if want, has := o.get("refusal"); has {
		if arm == "" {
			return false, "PREVIEW-TICKET"
		}
		holds = holds && want == refusalDigest(request, arm, s.set)
	}
	if want, has := o.get("ticket"); has {
		if arm != "escalate" {
			return false, "PREVIEW-TICKET"
		}
		holds = holds && want == hex.EncodeToString(ticket(request, s.set))
	}
	return holds, ""
}

func refusalDigest(request []byte, arm string, reasons []string) string {
	var out [32]byte
	message := strings.Join([]string{string(head(4, 3)), string(encBytes(request)), string(encText(arm)), string(encTexts(reasons))}, "")
	blake3.DeriveKey("obstat refusal v1", []byte(message), out[:])
	return hex.EncodeToString(out[:])
}

func ticket(request []byte, reasons []string) []byte {
	var out [16]byte
	message := append(append(head(4, 2), encBytes(request)...), encTexts(reasons)...)
	blake3.DeriveKey("obstat ticket v1", message, out[:])
	return out[:]
}
