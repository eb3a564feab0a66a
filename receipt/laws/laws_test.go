package laws_test

import (
	"fmt"
	"testing"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

const origin = "example.com/log"

// disowned is the number of a key all of whose leaves are disowned; everything
// else is signed by key 0.
const disowned = 1

// world is a log under construction, with one engine, its rival and an
// approver.
type world struct {
	entries []laws.Entry
	o       laws.Options
	run     *receipttest.Run // the engine's
}

func newWorld() *world {
	w := &world{run: receipttest.NewRun(receipttest.Key("engine"), "run")}
	w.o = laws.Options{
		Origin: origin, Now: receipttest.Start + 1_000_000,
		Vocabularies: []*receipt.Vocabulary{receipt.StandardVocabulary()},
		Disowned:     func(key uint32, _ uint64) bool { return key == disowned },
	}
	return w
}

// log appends a statement and returns it.
func (w *world) log(d *receipt.Decoded) *receipt.Decoded {
	who, role := "engine", receipt.RoleEngine
	switch {
	case d.Statement.Receipt.Kind() == receipt.KindDecision:
		who, role = "approver", receipt.RoleApprover
	case d.Statement.Call.By == receipttest.Key("rival"):
		who = "rival"
	}
	w.entries = append(w.entries, laws.Entry{Index: w.next(), Decoded: d, Principal: who, Role: role})
	return d
}

// next is the index of the next leaf; every third leaf is no statement.
func (w *world) next() uint64 {
	n := uint64(len(w.entries))
	return n + n/2 + 1
}

// last is the entry of the last statement.
func (w *world) last() *laws.Entry { return &w.entries[len(w.entries)-1] }

func (w *world) open() *receipt.Decoded { return w.log(w.run.Add(receipttest.Open(origin, "other"))) }

func (w *world) close() *receipt.Decoded { return w.log(w.run.Close()) }

func (w *world) judge(label string, r receipt.Ruling) *receipt.Decoded {
	return w.log(w.run.Add(receipttest.Judgment(label, r)))
}

func (w *world) admit(label string) *receipt.Decoded {
	return w.judge(label, receipttest.Admit("rule"))
}

func (w *world) ask(label string) *receipt.Decoded {
	return w.judge(label, receipttest.Escalate("RULE-ASKS"))
}

func (w *world) settle(of *receipt.Decoded, d receipt.Disposition) *receipt.Decoded {
	return w.log(w.run.Settle(of, d))
}

func (w *world) commit(of *receipt.Decoded) *receipt.Decoded {
	return w.settle(of, receipttest.Commit(of))
}

func (w *world) decide(of *receipt.Decoded, a receipt.Answer) *receipt.Decoded {
	return w.log(receipttest.Decide(receipttest.Key("approver"), of, a))
}

// commitUnder commits what was approved.
func (w *world) commitUnder(of, approval *receipt.Decoded) *receipt.Decoded {
	d := receipttest.Commit(of)
	d.Approval = approval.CID
	return w.settle(of, d)
}

// settleWith settles with an outcome and call that the case has spoilt.
func (w *world) settleWith(of *receipt.Decoded, spoil func(*receipt.Call, *receipt.Outcome)) *receipt.Decoded {
	c := w.run.Call()
	c.Settles = of.CID
	o := receipttest.Outcome(of, receipttest.Commit(of))
	spoil(&c, &o)
	return w.log(w.run.AddCall(c, o))
}

func (w *world) fault() *receipt.Decoded {
	return w.log(w.run.Add(receipt.Fault{
		Stage: receipt.StageEvaluate, Code: "RULE-FAILED",
		Posture: receipt.FailOpen{Request: receipttest.Request("exec", "unjudged")},
	}))
}

// check runs the laws over the world.
func (w *world) check(t testing.TB) *laws.Report {
	t.Helper()
	c, err := laws.New(w.o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range w.entries {
		if err := c.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	r, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lawful is a run with something for every law, closed.
func (w *world) lawful() {
	w.open()
	first := w.settle(w.admit("a"), receipt.Committed{
		Fired: receipttest.Digest("a"), Wrote: []receipt.Wrote{{Key: receipttest.Hidden("k"), Value: receipttest.Commitment("v")}},
	})
	w.judge("b", receipttest.Deny("NO-RULE"))
	asked := w.ask("c")
	w.commitUnder(asked, w.decide(asked, receipt.Approve))
	asked = w.ask("d")
	no := w.decide(asked, receipt.Reject)
	w.settle(asked, receipt.Rejected{Decision: no.CID, Recovery: receipttest.Recovery("rejected")})
	w.settle(w.ask("e"), receipt.Expired{Recovery: receipttest.Recovery("expired")})
	lost := w.settle(w.admit("f"), receipt.Unobserved{Code: "NO-ANSWER"})
	w.settle(lost, receipt.Failed{Code: "IO-ERROR", Restored: receipt.RestoredUnknown})
	w.settle(w.entries[len(w.entries)-1].Decoded, receipt.Failed{Code: "IO-ERROR", Restored: receipt.RestoredYes})
	w.commit(w.fault())
	w.undo("g", first, receipt.Attested{Compared: []receipt.Comparison{{
		Key: receipttest.Hidden("k"), Expected: receipttest.Commitment("v"), Seen: receipttest.Commitment("v"),
	}}})
	w.close()
}

// undo judges and commits a compensation.
func (w *world) undo(label string, of *receipt.Decoded, seen receipt.Observation) *receipt.Decoded {
	return w.settleWith(w.admit(label), func(_ *receipt.Call, o *receipt.Outcome) {
		o.Compensates = &receipt.Compensates{Outcome: of.CID, Observation: seen}
	})
}

// found is whether a report has a finding.
func found(r *laws.Report, l laws.Law, code report.Code) (laws.Finding, bool) {
	for _, f := range r.Findings {
		if f.Law == l && f.Code == code {
			return f, true
		}
	}
	return laws.Finding{}, false
}

func list(r *laws.Report) string {
	s := ""
	for _, f := range r.Findings {
		s += fmt.Sprintf("\n  law %d %v %s %v %v disowned=%v %s", f.Law, f.Answer, f.Code, f.Run, f.Evidence, f.Disowned, f.Detail)
	}
	return s
}

func TestLawfulRunIsHeld(t *testing.T) {
	w := newWorld()
	w.lawful()
	r := w.check(t)
	if r.Answer() != laws.Held || len(r.Findings) != 0 {
		t.Fatalf("%v:%s", r.Answer(), list(r))
	}
	if r.Runs != 1 || r.Statements != uint64(len(w.entries)) || r.Size != w.last().Index+1 || r.Outcomes != 9 {
		t.Errorf("report %+v", r)
	}
}

// swap exchanges two entries; the indexes stay where they are.
func (w *world) swap(i, j int) {
	w.entries[i], w.entries[j] = w.entries[j], w.entries[i]
	w.renumber()
}

// move takes an entry to another place.
func (w *world) move(from, to int) {
	e := w.entries[from]
	w.entries = append(w.entries[:from], w.entries[from+1:]...)
	rest := append([]laws.Entry{e}, w.entries[to:]...)
	w.entries = append(w.entries[:to], rest...)
	w.renumber()
}

// drop removes an entry and its index, as if it had never been logged.
func (w *world) drop(i int) {
	w.entries = append(w.entries[:i], w.entries[i+1:]...)
	w.renumber()
}

func (w *world) renumber() {
	for i := range w.entries {
		n := uint64(i)
		w.entries[i].Index = n + n/2 + 1
	}
}

// later makes the last entry one of a version that only has a frame here.
func (w *world) later() {
	e := w.last()
	e.Frame, e.Decoded = e.Decoded.Frame(), nil
}
