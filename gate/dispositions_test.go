package gate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/gate/render"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// engine is a run over a real log with a gate whose rules can be exchanged.
type engine struct {
	t     *testing.T
	run   *client.Run
	gate  *gate.Gate
	store *gate.Store
	judge func(gate.Proposal) (verdict.Verdict, error)
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	l := servertest.New(t)
	c, err := client.New(client.Config{URL: l.URL, Policy: l.Policy, Engines: l.Engines})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	e := &engine{t: t, judge: func(gate.Proposal) (verdict.Verdict, error) { return verdict.Admit("test") }}
	e.run, err = client.Create(c, client.RunConfig{Dir: filepath.Join(t.TempDir(), "run"), Name: "run", Key: servertest.Key(servertest.Engine), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.run.Close() })
	if _, err := e.run.Record(t.Context(), client.Entry{Receipt: receipt.RunOpen{
		Engine: receipt.Engine{Name: "e", Version: "1"}, Vocabulary: receipt.StandardVocabulary().Digest(), Logs: []receipt.Name{c.Origin()},
	}}); err != nil {
		t.Fatal(err)
	}
	if e.store, err = gate.OpenStore(filepath.Join(t.TempDir(), "store")); err != nil {
		t.Fatal(err)
	}
	e.gate, err = gate.New(gate.Config{
		Log: e.run, Store: e.store, Secret: e.run.Secret(), Now: time.Now, Patience: 10 * time.Millisecond, FailOpen: []receipt.Code{"RULE-FAILED"},
		Rules: []gate.Rule{gate.RuleFunc(func(_ context.Context, p gate.Proposal) (verdict.Verdict, error) { return e.judge(p) })},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// end judges an effect and commits it; between the two something may happen.
func (e *engine) end(want string, x gate.Effect, meanwhile func()) *gate.Outcome {
	e.t.Helper()
	j, err := e.gate.Judge(e.t.Context(), gate.Request{Effect: x, Class: receipt.Green, Origin: verdict.Whole(verdict.Replay)})
	if err != nil {
		e.t.Fatal(err)
	}
	if meanwhile != nil {
		meanwhile()
	}
	out, err := j.Commit(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	word := "" // a denial has no outcome
	if out.Disposition != nil {
		word = out.Disposition.Word()
	}
	if word != want {
		e.t.Fatalf("%q, want %q: %v", word, want, out.Err)
	}
	return out
}

// Every way for a call to end, but those that need an approver, by effects on the
// real world, over a real log; and every law holds of it.
func TestEveryDisposition(t *testing.T) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Skip("no sh on this system")
	}
	e := newEngine(t)
	root := dir(t)
	command := func(script string) *gate.Exec {
		return &gate.Exec{Root: root, Dir: root, Program: shell, Argv: []string{"sh", "-c", script}}
	}
	write := func(name, text string) *gate.Files {
		f, err := gate.PlanFiles(root, gate.FileChange{Path: name, After: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	undo := func(outcome receipt.CID) *gate.Undo {
		u, err := e.store.PlanUndo(outcome)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	first := e.end("committed", write("a", "one"), nil)
	e.end("stale", write("a", "two"), func() { put(t, root, map[string]string{"a": "theirs"}) })
	e.end("stale", undo(first.Statement.CID), nil)
	put(t, root, map[string]string{"a": "one"})
	e.end("committed", undo(first.Statement.CID), nil)
	e.end("refused", undo(first.Statement.CID), nil)

	changed := command("true")
	e.end("diverged", changed, func() { changed.Argv[2] = "false" })
	e.end("failed", command("exit 3"), nil)
	e.end("unobserved", &gate.HTTP{Method: "GET", URL: "http://h.example/", Address: gate.Silence(t)}, nil)
	r := &render.Rendering{
		Template: "github/comment@1", Segments: []string{"17"},
		Slots:   []render.Slot{{Name: "issue", Value: "17", Source: "mail"}, {Name: "text", Value: "It broke.", Source: "mail"}},
		Sources: []render.Source{{Name: "mail", Role: render.Person, Text: []byte("It broke. See 17.")}},
	}
	if out := e.end("rendered", r, nil); len(out.Result.Output) == 0 {
		t.Error("rendered, and there is no payload")
	}
	r.Slots[1].Value = "It broke again."
	e.end("withheld", r, nil)

	j, err := e.gate.Judge(t.Context(), gate.Request{Effect: command("true"), Class: receipt.Green, Origin: verdict.Whole(verdict.LLM)})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := j.Withdraw(t.Context()); err != nil || out.Disposition.Word() != "cancelled" {
		t.Fatal(err)
	}
	e.judge = func(gate.Proposal) (verdict.Verdict, error) { return verdict.Deny("COMMAND-NOT-ALLOWED") }
	e.end("", command("true"), nil)
	e.judge = func(gate.Proposal) (verdict.Verdict, error) { return verdict.Escalate("CLASS-RED") }
	e.end("expired", command("true"), nil)
	e.judge = func(gate.Proposal) (verdict.Verdict, error) { panic("broken") }
	e.end("committed", command("true"), nil) // over an open fault
	e.judge = func(gate.Proposal) (verdict.Verdict, error) { return verdict.Verdict{}, errors.New("broken otherwise") }
	if _, err := e.gate.Judge(t.Context(), gate.Request{Effect: command("true"), Class: receipt.Green}); !errors.As(err, new(*gate.FaultError)) {
		t.Fatalf("judged without a verdict: %v", err)
	}

	closed, err := e.run.CloseRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tally := closed.Statement.Statement.Receipt.(receipt.RunClose)
	want := receipt.OutcomeTally{Committed: 3, Diverged: 1, Refused: 1, Expired: 1, Cancelled: 1, Stale: 2, Withheld: 1, Rendered: 1, Failed: 1, Unobserved: 1}
	if tally.Outcomes != want || tally.Faults != 2 || tally.Judgments.Deny != 1 {
		t.Errorf("the run says %+v", tally)
	}
	gate.Lawful(t, "all", e.run.Statements(t.Context()))
	share, err := gate.Reversible(e.run.Statements(t.Context()))
	if err != nil || share.Committed != 3 || share.Escrowed != 2 || share.Unjudged != 1 || len(share.None) != 0 {
		t.Errorf("%+v, %v", share, err)
	}
	if _, err := os.Stat(filepath.Join(root, "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the undone file: %v", err)
	}
}
