package secondreader

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// This file is laws.md.

var lawNames = [...]string{
	"", "law-1-judged-first", "law-2-admitted-first", "law-3-judged-is-executed", "law-4-settled-once",
	"law-5-nothing-missing", "law-6-nothing-hanging", "law-7-undone-soundly", "law-8-closed-vocabulary",
}

// breach is one finding of a law.
type breach struct {
	law      int
	code     string
	violates bool
	at       []uint64 // leaves, that at fault first
}

// lawful holds one run.
type lawful struct {
	a        *audit
	run      []*record // of this run, in the order of the log
	all      map[string]*record
	breaches []breach
	closed   bool
	later    bool // a statement of the run is of a later version
}

func (a *audit) holdLaws() {
	for _, f := range a.list {
		waits := slices.Contains([]string{"entries", "form", "schema", "signatures", "keys"}, f.check)
		if waits && f.code != "VERSION-UNKNOWN" && f.code != "KEY-UNKNOWN" && f.code != "KEY-OUT-OF-RANGE" {
			return // what is forged or left out would be held against its signer
		}
	}
	if a.engines == nil || a.engines.origin != a.head.origin || !a.engines.plain() && a.failedCheck("registry") {
		return
	}
	all, runs, stranger := map[string]*record{}, map[[2]string][]*record{}, false
	for i := range a.records {
		r := &a.records[i]
		if r.principal == "" {
			stranger = true
			continue
		}
		if name := cid(r.st.payload); all[name] == nil {
			all[name] = r
		}
		if run, in := r.st.call.m["run"].(string); in && r.st.kind != "decision" {
			key := [2]string{r.principal, run}
			runs[key] = append(runs[key], r)
		}
	}
	var found []breach
	every := func(code string) {
		for law := 1; law <= 8; law++ {
			found = append(found, breach{law: law, code: code})
		}
	}
	if stranger {
		every("LAW-SIGNER-UNKNOWN")
	}
	if a.only[0] != "" && len(runs[a.only]) == 0 {
		every("LAW-NOTHING")
	}
	for key, run := range runs {
		if a.only[0] == "" || key == a.only {
			l := &lawful{a: a, run: run, all: all}
			l.hold()
			found = append(found, l.breaches...)
		}
	}
	for i := range found {
		found[i].violates = found[i].violates && !(stranger && restsOnAbsence(found[i].code))
	}
	a.concludeLaws(found)
}

// restsOnAbsence: a statement by nobody could be what is not there.
func restsOnAbsence(code string) bool {
	return slices.Contains([]string{"LAW1-MISSING", "LAW5-HOLE", "LAW5-PREV", "LAW5-TALLY", "LAW6-CLOSED"}, code) ||
		strings.HasPrefix(code, "LAW2-") && code != "LAW2-DENIED"
}

func (a *audit) failedCheck(name string) bool {
	return slices.ContainsFunc(a.list, func(f finding) bool { return f.check == name })
}

// concludeLaws gives each law the code of its first finding.
func (a *audit) concludeLaws(found []breach) {
	slices.SortStableFunc(found, func(x, y breach) int {
		rank := func(b breach) int {
			switch {
			case b.code == "LAW5-FORK":
				return 0
			case b.violates:
				return 1
			}
			return 2
		}
		return cmp.Or(cmp.Compare(rank(x), rank(y)), slices.Compare(x.at, y.at), cmp.Compare(x.code, y.code))
	})
	for law := 1; law <= 8; law++ {
		i := slices.IndexFunc(found, func(b breach) bool { return b.law == law })
		if i < 0 {
			continue
		}
		required := a.only[0] != "" || slices.Contains(a.require, "laws") || slices.Contains(a.require, lawNames[law])
		switch {
		case found[i].violates:
			a.list = append(a.list, finding{lawNames[law], "violated", found[i].code})
		case required:
			a.leave(lawNames[law], refusal(found[i].code))
		}
	}
}

func (l *lawful) violates(law int, code string, at ...*record) { l.say(law, code, true, at) }

func (l *lawful) leaves(law int, code string, at ...*record) { l.say(law, code, false, at) }

func (l *lawful) say(law int, code string, violates bool, at []*record) {
	b := breach{law: law, code: code, violates: violates}
	for _, r := range at {
		b.at = append(b.at, r.index)
		if violates && l.disowned(r) {
			return // listed beside, by whoever prints
		}
	}
	l.breaches = append(l.breaches, b)
}

func (l *lawful) disowned(r *record) bool {
	if l.a.reg == nil {
		return false
	}
	k := l.a.reg.byID([]byte(r.by))
	return k != nil && k.disownedAt(r.index)
}

func (l *lawful) hold() {
	every := func(code string) {
		for law := 1; law <= 8; law++ {
			l.leaves(law, code)
		}
	}
	opened, lists := false, false
	for _, r := range l.run {
		switch {
		case r.later:
			l.later = true
		case r.st.kind == "run-open": // of two in one place, one suffices
			opened = true
			lists = lists || slices.Contains(at(r.st.body, "logs").(list), item(l.a.head.origin))
		}
		l.closed = l.closed || r.st.kind == "run-close"
	}
	if opened && !lists {
		every("LAW-FOREIGN-RUN")
		return
	}
	if l.later {
		every("LAW-VERSION-UNKNOWN") // what the others show is violated all the same
	}
	if slices.ContainsFunc(l.run, l.disowned) {
		every("LAW-DISOWNED")
	}
	for _, r := range l.run {
		if r.later || l.all[name(r)] != r { // a frame says no more, and a repeated leaf nothing new
			continue
		}
		if r.st.kind == "outcome" {
			l.outcome(r)
			l.undone(r)
		}
		l.hanging(r)
	}
	l.once()
	l.missing()
	l.words()
}

func name(r *record) string { return cid(r.st.payload) }

// disposition returns the word of an outcome and a field of it.
func (r *record) word() string { return arm(at(r.st.body, "disposition")) }

func (r *record) open() bool {
	return r.word() == "unobserved" || r.word() == "failed" && r.st.text("disposition", "failed", "restored") == "unknown"
}

func (r *record) approval() string {
	if l := r.st.link("disposition", r.word(), "approval"); l != "" {
		return cidText([]byte(l))
	}
	return ""
}

func (r *record) attempt() bool {
	return slices.Contains([]string{"committed", "failed", "unobserved"}, r.word())
}

func (r *record) openFault() bool { return r.st.kind == "fault" && r.st.text("posture") == "open" }

// request is the digest of what was judged.
func (r *record) request() []byte {
	if r.st.kind == "outcome" {
		return r.st.bytes("request")
	}
	return r.st.bytes("request", "digest")
}

// answers is the statement that a call settles, nil where it is not in the log.
func (l *lawful) answers(r *record) *record {
	s := r.st.settles()
	if s == "" {
		return nil
	}
	return l.all[cidText([]byte(s))]
}

func sameRun(a, b *record) bool {
	return a.principal == b.principal && a.st.call.m["run"] == b.st.call.m["run"]
}

// outcome holds one outcome to laws 1 to 3.
func (l *lawful) outcome(o *record) {
	s := l.answers(o)
	if o.word() == "committed" {
		fired := o.st.bytes("disposition", "committed", "fired")
		if !bytes.Equal(fired, o.request()) || s != nil && !s.later && sameRun(s, o) && s.request() != nil && !bytes.Equal(fired, s.request()) {
			l.violates(3, "LAW3-FIRED", o)
		}
	}
	broken := ""
	switch {
	case s == nil:
		l.violates(1, "LAW1-MISSING", o)
		l.unasked("LAW1-MISSING", o)
		return
	case s.principal != o.principal:
		broken = "LAW1-PRINCIPAL"
	case !sameRun(s, o):
		broken = "LAW1-RUN"
	case s.later:
		return // what it answers is not known
	case s.st.kind != "judgment" && !s.openFault() && s.st.kind != "outcome":
		broken = "LAW1-KIND"
	}
	if broken != "" {
		l.violates(1, broken, o, s)
		l.unasked(broken, o)
		return
	}
	if s.st.kind == "outcome" && !s.open() {
		l.violates(1, "LAW1-KIND", o, s)
		l.violates(4, "LAW4-AGAIN", o, s)
	}
	if o.index < s.index {
		l.violates(1, "LAW1-LATER", o, s)
	}
	if cidText([]byte(o.st.link("of"))) != cid(s.st.receipt) {
		l.violates(1, "LAW1-RECEIPT", o, s)
	}
	if !bytes.Equal(o.request(), s.request()) {
		l.violates(1, "LAW1-REQUEST", o, s)
	}
	call := s
	for call != nil && !call.later && call.st.kind == "outcome" {
		call = l.answers(call)
	}
	if call != nil && !call.later {
		l.admitted(o, call)
	}
}

// unasked: law 2 would be asked of an attempt or a rejection, and cannot be.
func (l *lawful) unasked(code string, o *record) {
	if o.attempt() || o.word() == "rejected" {
		l.leaves(2, code, o)
	}
}

// decision is the first in the log that settles a call.
func (l *lawful) decision(call *record) *record {
	for i := range l.a.records {
		d := &l.a.records[i]
		if d.principal != "" && d.st.kind == "decision" && cidText([]byte(d.st.settles())) == name(call) {
			return d
		}
	}
	return nil
}

// fits: a decision names judgment, request and ticket of what it answers.
func fits(d, call *record) bool {
	var reasons []string
	for _, r := range at(call.st.body, "verdict", "escalate", "reasons").(list) {
		reasons = append(reasons, r.(string))
	}
	return cidText([]byte(d.st.link("judgment"))) == cid(call.st.receipt) && bytes.Equal(d.st.bytes("request"), call.request()) &&
		bytes.Equal(d.st.bytes("ticket"), ticket(call.request(), reasons))
}

// admitted is law 2 for an outcome of a call.
func (l *lawful) admitted(o, call *record) {
	verdict := arm(at(call.st.body, "verdict"))
	rejected := o.word() == "rejected"
	if verdict != "escalate" {
		switch {
		case rejected:
			l.violates(2, "LAW2-REJECTION", o, call)
		case o.attempt() && verdict == "deny":
			l.violates(2, "LAW2-DENIED", o, call)
		case o.attempt() && o.approval() != "":
			l.violates(2, "LAW2-APPROVAL", o, call)
		}
		return
	}
	d := l.decision(call)
	switch {
	case !rejected && !o.attempt():
		return
	case d != nil && l.disowned(d):
		for _, law := range []int{2, 4, 6} {
			l.leaves(law, "LAW-DISOWNED", d)
		}
		return
	case d != nil && d.later:
		l.leaves(2, "LAW-VERSION-UNKNOWN", o, d)
		return
	case rejected:
		if d == nil || d.index > o.index || d.index < call.index || d.st.text("answer") != "reject" || !fits(d, call) ||
			cidText([]byte(o.st.link("disposition", "rejected", "decision"))) != name(d) {
			l.violates(2, "LAW2-REJECTION", o, call)
		}
		return
	case d == nil || d.index > o.index:
		l.violates(2, "LAW2-UNDECIDED", o, call)
		return
	}
	for _, x := range []struct {
		broken bool
		code   string
	}{
		{d.index < call.index, "LAW2-EARLY"}, {d.st.text("answer") != "approve", "LAW2-REJECTED"}, {!fits(d, call), "LAW2-MISMATCH"},
		{d.st.int("at") > call.st.int("expires"), "LAW2-LATE"}, {o.approval() != name(d), "LAW2-APPROVAL"},
	} {
		if x.broken {
			l.violates(2, x.code, o, call, d)
		}
	}
}

// once is law 4.
func (l *lawful) once() {
	settled, approved := map[*record]*record{}, map[string]*record{}
	seen := map[string]bool{}
	for _, o := range l.run {
		s := l.answers(o)
		if o.later || o.st.kind != "outcome" || s == nil || s.later || !sameRun(s, o) || seen[name(o)] {
			continue
		}
		seen[name(o)] = true
		if before := settled[s]; before != nil {
			l.violates(4, "LAW4-TWICE", o, before)
		}
		settled[s] = o
		call := s
		for call != nil && !call.later && call.st.kind == "outcome" {
			call = l.answers(call)
		}
		if a := o.approval(); a != "" && call != nil {
			if before := approved[a]; before != nil && before != call {
				l.violates(4, "LAW4-APPROVAL", o)
			}
			approved[a] = call
		}
	}
}
