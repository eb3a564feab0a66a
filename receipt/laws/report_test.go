package laws_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

func TestNothing(t *testing.T) {
	w := newWorld()
	empty := w.check(t)
	w.lawful()
	w.o.Only = &laws.Run{Principal: "engine", Name: "another"}
	for _, r := range []*laws.Report{empty, w.check(t)} {
		if r.Answer() != laws.NotChecked || r.Runs != 0 {
			t.Errorf("%v over %d runs", r.Answer(), r.Runs)
		}
		for _, l := range laws.All() {
			if _, ok := found(r, l, report.CodeLawNothing); !ok {
				t.Errorf("law %d: %v", l, r.Of(l))
			}
		}
	}
}

// TestOnly: one run is held to the laws, whatever stands in the others.
func TestOnly(t *testing.T) {
	w := newWorld()
	bad := receipttest.NewRun(receipttest.Key("engine"), "bad")
	bad.Add(receipttest.Open(origin))
	j := w.log(bad.Add(receipttest.Judgment("x", receipttest.Deny("BECAUSE"))))
	w.log(bad.Settle(j, receipttest.Commit(j)))
	w.lawful()
	if r := w.check(t); r.Answer() != laws.Violated || r.Runs != 2 {
		t.Errorf("both: %v over %d", r.Answer(), r.Runs)
	}
	w.o.Only = &laws.Run{Principal: "engine", Name: "run"}
	if r := w.check(t); r.Answer() != laws.Held || r.Runs != 1 {
		t.Errorf("the lawful one: %v over %d:%s", r.Answer(), r.Runs, list(r))
	}
	w.o.Only = &laws.Run{Principal: "engine", Name: "bad"}
	r := w.check(t)
	if r.Answer() != laws.Violated || r.Runs != 1 {
		t.Errorf("the bad one: %v over %d:%s", r.Answer(), r.Runs, list(r))
	}
	for _, f := range r.Findings {
		if f.Run.Name != "bad" {
			t.Errorf("a finding of %v", f.Run)
		}
	}
}

// TestOthersDoNotCount: what a rival says about my calls, and what somebody
// decides who is no approver, leaves my run as it is.
func TestOthersDoNotCount(t *testing.T) {
	w := newWorld()
	rival := receipttest.NewRun(receipttest.Key("rival"), "run") // my run's name
	w.log(rival.Add(receipttest.Open(origin)))
	w.open()
	j := w.ask("x")
	w.log(rival.Settle(j, receipt.Cancelled{Code: "WITHDRAWN", Recovery: receipttest.Recovery("cancelled")}))
	w.decide(j, receipt.Reject) // by an engine's key
	w.last().Principal, w.last().Role = "rival", receipt.RoleEngine
	w.commitUnder(j, w.decide(j, receipt.Approve))
	w.decide(j, receipt.Reject) // too late to change anything
	w.close()
	r := w.check(t)
	for _, f := range r.Findings {
		if f.Run.Principal == "engine" {
			t.Errorf("held against me: law %d %s", f.Law, f.Code)
		}
	}
	if r.Late != 1 {
		t.Errorf("%d late decisions", r.Late)
	}
	if r.Of(laws.JudgedFirst).Answer != laws.Violated {
		t.Errorf("the rival goes free:%s", list(r))
	}
}

// TestDisowned: a violation that a disowned leaf is needed to show is listed and
// leaves the law not checked; one that others suffice to show stands.
func TestDisowned(t *testing.T) {
	fork := func(disown ...int) *laws.Report {
		w := newWorld()
		w.open()
		c := w.run.Call()
		w.judge("x", receipttest.Deny("NO-RULE"))
		w.log(receipttest.Build(c, receipttest.Judgment("y", receipttest.Deny("NO-RULE"))))
		w.settle(w.judge("z", receipttest.Deny("NO-RULE")), receipt.Committed{Fired: receipttest.Digest("z")})
		for _, i := range disown {
			w.entries[i].Key = disowned
		}
		return w.check(t)
	}
	r := fork()
	if r.Of(laws.NothingMissing).Answer != laws.Violated || r.Findings[0].Code != report.CodeLaw5Fork {
		t.Errorf("fork: %v:%s", r.Of(laws.NothingMissing), list(r))
	}
	r = fork(2)
	f, ok := found(r, laws.NothingMissing, report.CodeLaw5Fork)
	if !ok || !f.Disowned || f.Answer != laws.Violated || r.Of(laws.NothingMissing).Answer != laws.NotChecked {
		t.Errorf("fork with a disowned leaf: %v:%s", r.Of(laws.NothingMissing), list(r))
	}
	if r.Of(laws.AdmittedFirst).Answer != laws.Violated {
		t.Errorf("a violation that needs no disowned leaf: %v:%s", r.Of(laws.AdmittedFirst), list(r))
	}
	if r.Of(laws.JudgedFirst).Answer != laws.NotChecked {
		t.Errorf("a law that nothing violates: %v", r.Of(laws.JudgedFirst))
	}
	if r = fork(4); r.Of(laws.AdmittedFirst).Answer != laws.NotChecked {
		t.Errorf("a violation by a disowned leaf: %v:%s", r.Of(laws.AdmittedFirst), list(r))
	}
}

// TestDisownedLater: a revocation behind everything disowns what stands before
// it, and only from the index on that it names.
func TestDisownedLater(t *testing.T) {
	w := newWorld()
	w.lawful()
	w.settle(w.entries[1].Decoded, receipt.Committed{Fired: receipttest.Digest("other")})
	from, asked := uint64(0), 0
	w.o.Disowned = func(key uint32, index uint64) bool { asked++; return key == 7 && index >= from }
	for i := range w.entries {
		w.entries[i].Key = 7
	}
	c, err := laws.New(w.o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range w.entries {
		if err := c.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	from = w.last().Index
	if asked != 0 {
		t.Error("asked before the last leaf was there")
	}
	r, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range laws.All() {
		if got := r.Of(l); got.Answer != laws.NotChecked || got.Violated != 0 {
			t.Errorf("law %d: %+v:%s", l, got, list(r))
		}
	}
	if f, ok := found(r, laws.JudgedIsExecuted, report.CodeLaw3Fired); !ok || !f.Disowned {
		t.Errorf("law 3: %v:%s", f, list(r))
	}
	from++
	if r := w.check(t); r.Of(laws.JudgedIsExecuted).Answer != laws.Violated || r.Of(laws.SettledOnce).Answer != laws.Violated {
		t.Errorf("one leaf later: %s", list(r))
	}
}

// TestGravest: holes and forks say what class the run may have lost.
func TestGravest(t *testing.T) {
	for want, classes := range map[receipt.Class][]receipt.Class{
		"":             {},
		receipt.Green:  {receipt.Green},
		receipt.Yellow: {receipt.Green, receipt.Yellow, receipt.Green},
		receipt.Red:    {receipt.Red, receipt.Yellow},
	} {
		w := newWorld()
		w.open()
		w.judge("lost", receipttest.Deny("NO-RULE"))
		for _, class := range classes {
			j := receipttest.Judgment(string(class), receipttest.Deny("NO-RULE"))
			j.Class = class
			w.log(w.run.Add(j))
		}
		w.close()
		w.drop(1)
		f, ok := found(w.check(t), laws.NothingMissing, report.CodeLaw5Hole)
		if !ok || f.Gravest != want || f.Detail != "seq 1" {
			t.Errorf("hole %v, want gravest %q", f, want)
		}
	}
}

// TestSeen counts outcomes that were signed after their judgment was logged: a
// tree of size n holds the leaves below n.
func TestSeen(t *testing.T) {
	w := newWorld()
	w.open()
	for i, seen := range []func(judgment uint64) receipt.Seen{
		func(uint64) receipt.Seen { return receipt.Seen{} },
		func(j uint64) receipt.Seen { return receipt.Seen{Origin: origin, Size: j} },
		func(j uint64) receipt.Seen { return receipt.Seen{Origin: origin, Size: j + 1} },
		func(j uint64) receipt.Seen { return receipt.Seen{Origin: "other", Size: j + 1} },
	} {
		j := w.admit(string(rune('a' + i)))
		s := seen(w.last().Index)
		w.settleWith(j, func(c *receipt.Call, _ *receipt.Outcome) { c.Seen = s })
	}
	w.close()
	if r := w.check(t); r.Outcomes != 4 || r.Seen != 1 || r.Answer() != laws.Held {
		t.Errorf("%d of %d, %v", r.Seen, r.Outcomes, r.Answer())
	}
}

// TestDecidedInTime: a decision at the expiry is in time, one ms later it is not.
func TestDecidedInTime(t *testing.T) {
	for late, want := range map[int64]laws.Answer{0: laws.Held, 1: laws.Violated} {
		w := newWorld()
		w.open()
		j := w.ask("x")
		d := receipttest.Decide(receipttest.Key("approver"), j, receipt.Approve).Statement
		d.Call.At = j.Statement.Call.Expires + late
		w.commitUnder(j, w.log(receipttest.Build(d.Call, d.Receipt)))
		w.close()
		if r := w.check(t); r.Answer() != want {
			t.Errorf("%d ms late: %v, want %v:%s", late, r.Answer(), want, list(r))
		}
	}
}

// TestContradictedGapLinks: a gap links to the last statement that the engine
// knows, which is no fault where one that it does not know turns up.
func TestContradictedGapLinks(t *testing.T) {
	w := newWorld()
	open := w.open()
	w.judge("x", receipttest.Deny("NO-RULE"))
	c := w.run.Call()
	c.Prev = open.CID
	w.log(w.run.AddCall(c, receipt.Gap{Count: 1, Code: "SPOOL-LOST"}))
	r := w.check(t)
	if _, ok := found(r, laws.NothingMissing, report.CodeLaw5Contradicted); !ok {
		t.Errorf("not contradicted:%s", list(r))
	}
	if f, ok := found(r, laws.NothingMissing, report.CodeLaw5Prev); ok {
		t.Errorf("a wrong link too: %v", f)
	}
}

// TestPending: an escalation that is not past its expiry hangs nowhere, and a
// person's no needs no outcome.
func TestPending(t *testing.T) {
	w := newWorld()
	w.open()
	j := w.ask("x")
	w.close()
	w.o.Now = j.Statement.Call.Expires
	if r := w.check(t); r.Answer() != laws.Held {
		t.Errorf("not yet expired: %v%s", r.Answer(), list(r))
	}
	w.o.Now++
	if r := w.check(t); r.Answer() != laws.Violated {
		t.Errorf("expired: %v", r.Answer())
	}
	w = newWorld()
	w.open()
	w.decide(w.ask("x"), receipt.Reject)
	w.close()
	if r := w.check(t); r.Answer() != laws.Held {
		t.Errorf("rejected: %v%s", r.Answer(), list(r))
	}
}

// TestCosignedInTime: a later cosignature over a tree that holds the decision,
// and an earlier one over a tree that does not, say nothing against it.
func TestCosignedInTime(t *testing.T) {
	w := newWorld()
	w.open()
	j := w.ask("x")
	d := w.decide(j, receipt.Approve)
	expires, index := j.Statement.Call.Expires, w.last().Index
	w.commitUnder(j, d)
	w.close()
	for _, c := range []struct {
		cosigned []laws.Cosigned
		want     laws.Answer
	}{
		{nil, laws.Held},
		{[]laws.Cosigned{{Size: index, Time: expires}}, laws.Held},
		{[]laws.Cosigned{{Size: index + 1, Time: expires + 1}}, laws.Held},
		{[]laws.Cosigned{{Size: index, Time: expires + 1}}, laws.Violated},
		{[]laws.Cosigned{{Size: 99, Time: expires + 1}, {Size: index, Time: expires + 2}, {Size: 99, Time: expires + 3}}, laws.Violated},
	} {
		w.o.Cosigned = c.cosigned
		if r := w.check(t); r.Answer() != c.want {
			t.Errorf("%v: %v, want %v:%s", c.cosigned, r.Answer(), c.want, list(r))
		}
	}
}

// TestLaterVersionSettles: an outcome that only has a frame keeps its call from
// hanging, and says no more.
func TestLaterVersionSettles(t *testing.T) {
	w := newWorld()
	w.open()
	w.commit(w.admit("x"))
	w.later()
	w.close()
	r := w.check(t)
	if _, ok := found(r, laws.NothingHanging, report.CodeLaw6Closed); ok || r.Of(laws.NothingHanging).Answer != laws.NotChecked {
		t.Errorf("%v:%s", r.Of(laws.NothingHanging), list(r))
	}
	if r.Of(laws.NothingMissing).Violated != 0 {
		t.Errorf("the chain is not followed:%s", list(r))
	}
}

// TestNoOrigin: without an origin it is not asked whether runs list the log.
func TestNoOrigin(t *testing.T) {
	w := newWorld()
	w.lawful()
	w.o.Origin = ""
	if r := w.check(t); r.Answer() != laws.Held {
		t.Errorf("%v:%s", r.Answer(), list(r))
	}
}

// TestMaxFindings: all are counted, some are kept.
func TestMaxFindings(t *testing.T) {
	w := newWorld()
	w.open()
	for i := range 20 {
		w.commit(w.judge(strings.Repeat("x", i+1), receipttest.Deny("NO-RULE")))
	}
	w.close()
	w.o.MaxFindings = 3
	r := w.check(t)
	if r.Of(laws.AdmittedFirst).Violated != 20 || len(r.Findings) != 3 {
		t.Errorf("%d counted, %d kept", r.Of(laws.AdmittedFirst).Violated, len(r.Findings))
	}
}

func TestAddRefuses(t *testing.T) {
	w := newWorld()
	w.open()
	c, err := laws.New(w.o)
	if err != nil {
		t.Fatal(err)
	}
	e := w.entries[0]
	if err := c.Add(e); err != nil {
		t.Fatal(err)
	}
	if err := c.Add(e); err == nil {
		t.Error("the same leaf again")
	}
	e.Index, e.Principal = 9, strings.Repeat("x", 256)
	if err := c.Add(e); err == nil {
		t.Error("a long principal")
	}
	if _, err := laws.New(laws.Options{Vocabularies: make([]*receipt.Vocabulary, 65)}); err == nil {
		t.Error("65 vocabularies")
	}
}

func TestWords(t *testing.T) {
	if laws.Held.String() != "held" || laws.Violated.String() != "violated" || laws.NotChecked.String() != "not checked" {
		t.Error("answers")
	}
	for _, l := range laws.All() {
		if l.String() == "no law" {
			t.Errorf("law %d has no name", l)
		}
	}
}
