package spec

import (
	"testing"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/trust"
	"github.com/obstat/obstat/verdict"
)

// witness is the one witness of the example log's policy.
const witness = "witness.example"

// world is the example log that the pages show: one run from its run-open to
// its run-close, with one admitted change of files, one program that a person
// approves, one fault and one gap. Nothing in it is drawn: keys come from
// labels, the run secret is counted.
type world struct {
	log    *testlog.Log
	leaves []leaf
	files  sealed
	exec   sealed
	ticket preview.Ticket
}

// leaf is one leaf with what it holds; statement is nil for the genesis.
type leaf struct {
	name      string
	statement *receipt.Decoded
	envelope  *dsse.Envelope
}

// sealed is a request with everything that was computed for it.
type sealed struct {
	rho    preview.Rho
	opened preview.Opened
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// secretBytes is the run secret of the example: 00 01 … 1f.
func secretBytes() []byte {
	b := make([]byte, 32)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func secret() preview.RunSecret { return must(preview.NewRunSecret(secretBytes())) }

func seal(p preview.Preview) sealed {
	rho := must(p.Seal(secret()))
	return sealed{rho, must(rho.Open(secret()))}
}

func filesPreview() preview.Preview {
	return preview.Preview{
		Task: "tidy-notes", Attempt: 1,
		Intent: preview.Files{Root: "/srv/work", Changes: []preview.Change{{
			Path:   "notes/today.md",
			Before: preview.ContentOf([]byte("buy milk\n")),
			After:  preview.ContentOf([]byte("buy milk and bread\n")),
		}}},
		Inputs: []preview.Input{{Name: "item", Value: "bread"}},
		Reads:  []preview.Read{{Key: "notes/.lock", Seen: preview.Content{}}},
	}
}

func execPreview() preview.Preview {
	return preview.Preview{
		Task: "tidy-notes", Attempt: 2,
		Intent: preview.Exec{
			Root: "/srv/work", Dir: "/srv/work/notes", Program: "/usr/bin/git",
			File: preview.ContentOf([]byte("the program file")),
			Argv: []string{"git", "commit", "-m", "na\xefve"}, // not UTF-8
			Env:  []string{"HOME=/srv/work", "LC_ALL=C"},
		},
		Effects: []preview.Effect{{On: preview.OnWrites, Target: "/srv/work/.git"}},
		Context: preview.Context{Sandbox: preview.Pin(receipt.PinSHA256([]byte("sandbox profile"))), Approval: "one-person"},
	}
}

func hidden(d preview.Disclosure) receipt.Value { return receipt.CommittedTo(d.Commitment()) }

// request is what a receipt says of a request, all values committed to.
func (s sealed) request() receipt.Request {
	c := s.rho.Context()
	q := receipt.Request{
		Verb: receipt.Name(s.rho.Verb()), Digest: s.rho.Digest(),
		Task: receipt.Name(s.rho.Task()), Attempt: s.rho.Attempt(),
		Context: receipt.Context{Sandbox: receipt.Pin(c.Sandbox), Approval: receipt.Name(c.Approval)},
	}
	for _, in := range s.opened.Inputs {
		q.Inputs = append(q.Inputs, receipt.Input{Name: receipt.Name(in.Item().Name), Value: hidden(in)})
	}
	for _, ch := range s.opened.Changes {
		q.Changes = append(q.Changes, receipt.Change{
			Path: hidden(ch.Path), Edit: receipt.Replace{Before: ch.Before.Commitment(), After: ch.After.Commitment()},
		})
	}
	for _, e := range s.opened.Effects {
		q.Effects = append(q.Effects, receipt.Effect{On: receipt.On(e.On), Target: hidden(e.Target)})
	}
	return q
}

func (s sealed) reads() []receipt.Read {
	var out []receipt.Read
	for _, r := range s.opened.Reads {
		out = append(out, receipt.Read{Key: hidden(r.Key), Seen: r.Seen.Commitment()})
	}
	receipt.SortSet(out)
	return out
}

// newWorld makes the example log; it is the same every time.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{log: testlog.New(t), files: seal(filesPreview()), exec: seal(execPreview())}
	w.leaves = []leaf{{name: "registry", envelope: must(dsse.ParseLeaf(w.log.Leaves[0]))}}
	engine := receipt.KeyID(testlog.ID("engine"))
	run := receipttest.NewRun(engine, "run-1")
	add := func(name, signer string, d *receipt.Decoded) *receipt.Decoded {
		env := must(dsse.Sign(dsse.ReceiptType, d.Payload(), testlog.Key(signer)))
		w.log.Append(env)
		w.leaves = append(w.leaves, leaf{name, d, env})
		return d
	}
	open := receipttest.Open(testlog.Origin)
	add("run-open", "engine", run.Add(open))

	judged := add("judgment", "engine", run.Add(receipt.Judgment{
		Request: w.files.request(), Class: receipt.Green, Ruling: receipttest.Admit("files/inside-root"),
		Origin: verdict.Mixed(verdict.LLM, verdict.Replay), Reads: w.files.reads(),
		Inverse: receipt.Escrowed{Delta: must(secret().Disclose(w.files.rho.Digest(), preview.FieldDelta, "0",
			preview.ContentOf([]byte("buy milk\n")).Value())).Commitment()},
	}))
	wrote := w.files.opened.Changes[0]
	add("outcome", "engine", run.Settle(judged, receipt.Committed{
		Fired: w.files.rho.Digest(),
		Wrote: []receipt.Wrote{{Key: hidden(wrote.Path), Value: wrote.After.Commitment()}},
	}))

	asked := add("escalation", "engine", run.Add(receipt.Judgment{
		Request: w.exec.request(), Class: receipt.Red, Ruling: receipttest.Escalate("CLASS-RED", "RULE-ASKS"),
		Origin: verdict.Whole(verdict.LLM), Inverse: receipt.NoInverse{Code: "IRREVERSIBLE"},
	}))
	w.ticket = must(preview.TicketOf(w.exec.rho.Digest(), asked.Statement.Receipt.(receipt.Judgment).Ruling.Verdict()))
	approved := add("decision", "approver", receipttest.Decide(receipt.KeyID(testlog.ID("approver")), asked, receipt.Approve))

	// By now the engine holds the log's checkpoint of the first four leaves.
	call := run.Call()
	call.Settles = asked.CID
	root := w.log.Root(4)
	call.Seen = receipt.Seen{Origin: testlog.Origin, Size: 4, Root: root}
	add("outcome-approved", "engine", run.AddCall(call,
		receipttest.Outcome(asked, receipt.Committed{Fired: w.exec.rho.Digest(), Approval: approved.CID})))

	add("fault", "engine", run.Add(receipt.Fault{Stage: receipt.StageIntake, Code: "REQUEST-MALFORMED", Posture: receipt.FailClosed{}}))
	add("gap", "engine", run.Lose(2))
	add("run-close", "engine", run.Close())
	return w
}

// leaf returns the leaf of a name and its index.
func (w *world) leaf(name string) (leaf, uint64) {
	for i, l := range w.leaves {
		if l.name == name {
			return l, uint64(i)
		}
	}
	panic("no leaf " + name)
}

// bundle is the bundle of the judgment, with chain, disclosure and cosignature.
func (w *world) bundle() *bundle.Bundle {
	_, index := w.leaf("judgment")
	b := w.log.Bundle(index, w.log.Size(), witness)
	b.Disclosures = []preview.Disclosure{w.files.opened.Changes[0].Path}
	return b
}

func (w *world) policyFile() []byte { return testlog.PolicyFile("any", witness) }

func (w *world) options(t testing.TB) bundle.Options {
	t.Helper()
	return bundle.Options{Policy: must(trust.ParsePolicy(w.policyFile())), Engines: must(trust.ParseEngines(w.log.Engines().Bytes()))}
}

// TestTheWorldIsOne: the example log is the same every time it is made, and its
// bundle is verified.
func TestTheWorldIsOne(t *testing.T) {
	a, b := newWorld(t), newWorld(t)
	if x, y := a.bundle().Append(nil), b.bundle().Append(nil); blake3.Sum256(x) != blake3.Sum256(y) {
		t.Error("two worlds differ")
	}
	r := bundle.Check(a.bundle().Append(nil), a.options(t))
	if r.ExitCode() != 0 {
		t.Errorf("the bundle of the example is not verified:\n%s", r.Text())
	}
}
