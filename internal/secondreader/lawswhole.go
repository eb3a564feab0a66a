package secondreader

import "slices"

// This file is laws.md#nothing-missing and #nothing-hanging.

// missing is law 5.
func (l *lawful) missing() {
	places, seen := map[int64][]*record{}, map[string]bool{}
	for _, r := range l.run {
		if seen[name(r)] {
			l.leaves(5, "LAW-REPEATED", r)
			continue
		}
		seen[name(r)] = true
		places[r.st.int("seq")] = append(places[r.st.int("seq")], r)
	}
	var seqs []int64
	for seq := range places {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	whole := true
	for _, seq := range seqs {
		if p := places[seq]; len(p) > 1 {
			whole = false
			l.violates(5, "LAW5-FORK", p[1], p[0])
		}
	}
	lost := map[int64]bool{}
	for _, seq := range seqs {
		r := places[seq][0]
		if r.later || r.st.kind != "gap" {
			continue
		}
		l.leaves(5, "LAW5-GAP", r)
		for place := seq - at(r.st.body, "count").(int64); place < seq; place++ {
			if lost[place] = true; places[place] != nil {
				l.violates(5, "LAW5-CONTRADICTED", r, places[place][0])
			}
		}
	}
	last := int64(-1)
	for _, seq := range seqs {
		r := places[seq][0]
		for place := last + 1; place < seq; place++ {
			if !lost[place] {
				whole = false
				l.violates(5, "LAW5-HOLE", r)
				break
			}
		}
		follows := last == seq-1 || !r.later && r.st.kind == "gap" && last >= seq-at(r.st.body, "count").(int64)-1
		if last >= 0 && follows {
			l.linked(places[seq], places[last])
		}
		last = seq
	}
	l.closes(places, seqs, whole)
}

// linked holds prev and the order of the log between neighbours.
func (l *lawful) linked(here, before []*record) {
	for _, r := range here {
		prev, _ := r.st.call.m["prev"].(link)
		if !slices.ContainsFunc(before, func(b *record) bool { return name(b) == cidText(prev) }) {
			l.violates(5, "LAW5-PREV", r)
		}
	}
	if len(here) == 1 && len(before) == 1 && here[0].index < before[0].index {
		l.violates(5, "LAW5-ORDER", here[0], before[0])
	}
}

// closes holds the run-close to what stands before it.
func (l *lawful) closes(places map[int64][]*record, seqs []int64, whole bool) {
	var end *record
	count := map[string]int64{}
	for _, seq := range seqs {
		for _, r := range places[seq] {
			switch {
			case end != nil:
				l.violates(5, "LAW5-AFTER-CLOSE", r)
			case r.st.kind == "run-close":
				end = r
			case r.later:
			case r.st.kind == "judgment":
				count["judgments "+arm(at(r.st.body, "verdict"))]++
			case r.st.kind == "outcome":
				count["outcomes "+r.word()]++
			default:
				count[r.st.kind+"s"]++
			}
		}
	}
	if end == nil {
		last := l.run[len(l.run)-1]
		l.leaves(5, "LAW5-OPEN", last)
		l.leaves(6, "LAW6-OPEN", last)
		return
	}
	if !whole || l.later {
		return
	}
	said := map[string]int64{}
	for key, v := range end.st.body.m {
		switch v := v.(type) {
		case int64:
			said[key] = v
		case *dict:
			for word, n := range v.m {
				said[key+" "+word] = n.(int64)
			}
		}
	}
	delete(said, "statements")
	delete(count, "run-opens")
	same := len(said) == len(count)
	for key, n := range count {
		same = same && said[key] == n
	}
	if !same {
		l.violates(5, "LAW5-TALLY", end)
	}
}

// hanging is law 6 for one call.
func (l *lawful) hanging(call *record) {
	verdict := arm(at(call.st.body, "verdict"))
	if verdict != "admit" && verdict != "escalate" && !call.openFault() {
		return
	}
	for _, o := range l.run {
		if (o.later || o.st.kind == "outcome") && l.answers(o) == call {
			return
		}
	}
	code, at := "LAW6-HANGING", []*record{call}
	if verdict == "escalate" {
		d := l.decision(call)
		inTime := d != nil && !d.later && fits(d, call) && d.st.int("at") <= call.st.int("expires")
		switch {
		case d != nil && l.disowned(d):
			l.leaves(6, "LAW-DISOWNED", d)
			return
		case d != nil && d.later:
			l.leaves(6, "LAW-VERSION-UNKNOWN", call)
			return
		case inTime && d.st.text("answer") == "reject":
			return
		case inTime:
			at = append(at, d)
		case l.a.time() == 0:
			l.leaves(6, "LAW6-NOW", call)
			return
		case l.a.time() <= call.st.int("expires"):
			return
		default:
			code = "LAW6-EXPIRED"
		}
	}
	if l.closed {
		l.violates(6, "LAW6-CLOSED", at...)
	} else {
		l.leaves(6, code, at...)
	}
}

// time is what the caller says, or the latest verified cosignature.
func (a *audit) time() int64 {
	if a.now != 0 || !a.policy.met(a.policy.quorum, a.open.signers) {
		return a.now
	}
	var last uint64
	for _, t := range a.open.signers {
		last = max(last, t)
	}
	return int64(last) * 1000
}
