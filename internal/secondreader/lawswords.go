package secondreader

import (
	"bytes"
	"encoding/hex"
	"slices"

	"github.com/zeebo/blake3"
)

// This file is laws.md#undone-soundly and #closed-vocabulary.

// undone is law 7.
func (l *lawful) undone(o *record) {
	target := o.st.link("compensates", "outcome")
	if target == "" {
		return
	}
	u := l.all[cidText([]byte(target))]
	switch {
	case u == nil:
		l.leaves(7, "LAW7-MISSING", o)
		return
	case u.later:
		l.leaves(7, "LAW-VERSION-UNKNOWN", o)
		return
	case u.st.kind != "outcome":
		l.violates(7, "LAW7-KIND", o, u)
		return
	case u.index > o.index:
		l.violates(7, "LAW7-LATER", o, u)
	}
	if at(o.st.body, "compensates", "observation", "unobservable") != nil {
		l.leaves(7, "LAW7-UNOBSERVABLE", o)
		return
	}
	wrote, _ := at(u.st.body, "disposition", "committed", "wrote").(list)
	for _, x := range at(o.st.body, "compensates", "observation", "attested", "compared").(list) {
		c := x.(*dict).m
		recorded := slices.ContainsFunc(wrote, func(w item) bool {
			m := w.(*dict).m
			return bytes.Equal(bytesOf(m["key"]), bytesOf(c["key"])) && bytes.Equal(m["value"].([]byte), c["expected"].([]byte))
		})
		switch {
		case !recorded:
			l.violates(7, "LAW7-EXPECTED", o, u)
		case o.word() == "committed" && !bytes.Equal(c["expected"].([]byte), c["seen"].([]byte)):
			l.violates(7, "LAW7-OVERWROTE", o, u)
		}
	}
}

// words is law 8.
func (l *lawful) words() {
	var v *vocabulary
	for _, r := range l.run { // of a fork at the first place, the one that was logged first
		if r.st.kind == "run-open" && !r.later && v == nil {
			v = l.a.vocabularies()[hex.EncodeToString(r.st.bytes("vocabulary"))]
			break
		}
	}
	if v == nil {
		l.leaves(8, "LAW8-VOCABULARY", l.run[0])
		return
	}
	for _, r := range l.run {
		if !r.later && !v.knowsAll(r) {
			l.violates(8, "LAW8-WORD", r)
		}
	}
}

func (v *vocabulary) knowsAll(r *record) bool {
	known := true
	word := func(place string, path ...string) {
		if s := r.st.text(path...); s != "" {
			known = known && v.codes[place][s]
		}
	}
	recovery := func(path ...string) {
		d, is := at(r.st.body, path...).(*dict)
		if !is {
			return
		}
		x, has := v.recoveries[d.m["code"].(string)]
		known = known && has && x.class == d.m["class"] && x.hints[d.m["hint"].(string)]
	}
	for _, verdict := range []string{"deny", "escalate"} {
		reasons, _ := at(r.st.body, "verdict", verdict, "reasons").(list)
		for _, s := range reasons {
			known = known && v.codes["reason"][s.(string)]
		}
	}
	word("inverse", "inverse", "none", "code")
	recovery("recovery")
	for _, d := range []string{"refused", "cancelled", "withheld", "failed", "unobserved"} {
		word(d, "disposition", d, "code")
	}
	recovery("disposition", r.word(), "recovery")
	word("observation", "compensates", "observation", "unobservable", "code")
	if r.st.kind == "fault" || r.st.kind == "gap" {
		word(r.st.kind, "code")
	}
	return known
}

// vocabularies are those that the caller has, by digest.
func (a *audit) vocabularies() map[string]*vocabulary {
	out := map[string]*vocabulary{}
	for _, doc := range a.known {
		if v, err := readVocabulary(doc); err == "" {
			sum := blake3.Sum256(doc)
			out[hex.EncodeToString(sum[:])] = v
		}
	}
	return out
}
