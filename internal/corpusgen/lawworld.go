package corpusgen

import (
	"slices"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

const (
	lawTrust = "trust/laws.trust"            // engine, rival and approver by their keys
	lawNow   = receipttest.Start + 1_000_000 // behind every expiry here
	nextType = "application/vnd.obstat.receipt.v2+cbor"
)

// lawWorld is a log under construction, with one engine, its rival and an
// approver. What is not lawful in it is signed all the same.
type lawWorld struct {
	b       *builder
	run     *receipttest.Run // the engine's
	entries []lawEntry
	ask     corpus.Ask
	files   map[corpus.Part]string
}

type lawEntry struct {
	d     *receipt.Decoded
	typ   string
	label string // of the key that signs
}

func idOf(label string) receipt.KeyID { return receipt.KeyID(testlog.ID(label)) }

func (b *builder) newLawWorld() *lawWorld {
	return &lawWorld{b: b, run: receipttest.NewRun(idOf("engine"), "run-1"), ask: corpus.Ask{Now: lawNow, Principal: "engine", Run: "run-1"}, files: map[corpus.Part]string{}}
}

// log appends a statement and returns it.
func (w *lawWorld) log(d *receipt.Decoded) *receipt.Decoded {
	label := "engine"
	for _, other := range []string{"rival", "approver", "engine-2", "stranger"} {
		if d.Statement.Call.By == idOf(other) {
			label = other
		}
	}
	w.entries = append(w.entries, lawEntry{d, dsse.ReceiptType, label})
	return d
}

func (w *lawWorld) open() *receipt.Decoded {
	return w.log(w.run.Add(receipttest.Open(testlog.Origin, "example.org/second")))
}

func (w *lawWorld) close() *receipt.Decoded { return w.log(w.run.Close()) }

func (w *lawWorld) judge(label string, r receipt.Ruling) *receipt.Decoded {
	return w.log(w.run.Add(receipttest.Judgment(label, r)))
}

func (w *lawWorld) deny(label string) *receipt.Decoded {
	return w.judge(label, receipttest.Deny("NO-RULE"))
}

func (w *lawWorld) admit(label string) *receipt.Decoded {
	return w.judge(label, receipttest.Admit("rule"))
}

func (w *lawWorld) escalate(label string) *receipt.Decoded {
	return w.judge(label, receipttest.Escalate("RULE-ASKS"))
}

func (w *lawWorld) settle(of *receipt.Decoded, d receipt.Disposition) *receipt.Decoded {
	return w.log(w.run.Settle(of, d))
}

func (w *lawWorld) commit(of *receipt.Decoded) *receipt.Decoded {
	return w.settle(of, receipttest.Commit(of))
}

func (w *lawWorld) decide(of *receipt.Decoded, a receipt.Answer) *receipt.Decoded {
	return w.log(receipttest.Decide(idOf("approver"), of, a))
}

// commitUnder commits what was approved.
func (w *lawWorld) commitUnder(of, approval *receipt.Decoded) *receipt.Decoded {
	d := receipttest.Commit(of)
	d.Approval = approval.CID
	return w.settle(of, d)
}

// settleWith settles with an outcome and call that the case has changed.
func (w *lawWorld) settleWith(of *receipt.Decoded, change func(*receipt.Call, *receipt.Outcome)) *receipt.Decoded {
	c := w.run.Call()
	c.Settles = of.CID
	o := receipttest.Outcome(of, receipttest.Commit(of))
	change(&c, &o)
	return w.log(w.run.AddCall(c, o))
}

// undo judges and commits a compensation.
func (w *lawWorld) undo(label string, of *receipt.Decoded, seen receipt.Observation) *receipt.Decoded {
	return w.settleWith(w.admit(label), func(_ *receipt.Call, o *receipt.Outcome) {
		o.Compensates = &receipt.Compensates{Outcome: of.CID, Observation: seen}
	})
}

func (w *lawWorld) fault() *receipt.Decoded {
	return w.log(w.run.Add(receipt.Fault{
		Stage: receipt.StageEvaluate, Code: "RULE-FAILED", Posture: receipt.FailOpen{Request: receipttest.Request("exec", "unjudged")},
	}))
}

// swap exchanges two entries, drop removes one, move takes one to another place.
func (w *lawWorld) swap(i, j int) { w.entries[i], w.entries[j] = w.entries[j], w.entries[i] }

func (w *lawWorld) drop(i int) { w.entries = slices.Delete(w.entries, i, i+1) }

func (w *lawWorld) move(from, to int) {
	e := w.entries[from]
	w.drop(from)
	w.entries = slices.Insert(w.entries, to, e)
}

// later makes the last entry one of a version that has only a frame here.
func (w *lawWorld) later() { w.entries[len(w.entries)-1].typ = nextType }

// fill puts the entries into a log behind its genesis.
func (w *lawWorld) fill(l *testlog.Log) {
	w.b.t.Helper()
	for _, e := range w.entries {
		env, err := dsse.Sign(e.typ, e.d.Payload(), testlog.Key(e.label))
		if err != nil {
			w.b.t.Fatal(err)
		}
		l.Append(env)
	}
}

// held adds the case of the run in this world.
func (w *lawWorld) held(name string, x want, why string) {
	w.b.t.Helper()
	dir := w.b.path(name, "")
	l := testlog.New(w.b.t)
	w.fill(l)
	w.b.site(dir, l, l.Size())
	w.add(name, dir, x, why)
}

func (w *lawWorld) add(name, dir string, x want, why string) {
	files := map[corpus.Part]string{corpus.Log: dir, corpus.Policy: noQuorum, corpus.Trust: lawTrust}
	for part, path := range w.files {
		files[part] = path
	}
	w.b.add(name, corpus.Case{Command: corpus.AskRun, Files: files, Ask: w.ask}, x, why)
}
