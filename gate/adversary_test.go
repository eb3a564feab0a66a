package gate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// between is an effect to which something happens after its precondition was
// checked and before it is applied.
type between struct {
	Effect
	do func()
}

type frozenBetween struct {
	Frozen
	do func()
}

func (b *between) Freeze() (Frozen, error) {
	f, err := b.Effect.Freeze()
	return &frozenBetween{f, b.do}, err
}

func (f *frozenBetween) Check(ctx context.Context) error {
	err := f.Frozen.Check(ctx)
	f.do()
	return err
}

// Arguments that are filled in after the judgment are other arguments.
func TestArgumentsRenderedAfterJudgment(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	dir := realDir(t)
	argv := []string{"sh", "-c", "echo {{target}} > made"}
	j := judged(t, g, &Exec{Root: dir, Dir: dir, Program: sh(t), Argv: argv})
	argv[2] = strings.ReplaceAll(argv[2], "{{target}}", "anything")
	commit(t, j)
	if got := listing(t, dir); len(got) != 0 {
		t.Errorf("it ran: %v", got)
	}
	wants(t, l, "judgment admit", "outcome diverged")
}

// Program and working directory change places with others between check and
// start: what was judged runs, where it was judged to run, or nothing does.
func TestSwappedBetweenCheckAndStart(t *testing.T) {
	shell, err := os.ReadFile(sh(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, swap := range map[string]func(dir, away string) error{
		"another program": func(dir, _ string) error {
			return errors.Join(os.WriteFile(dir+"/new", []byte("#!/bin/sh\necho swapped > out\n"), 0o755), os.Rename(dir+"/new", dir+"/prog"))
		},
		"a link to another program": func(dir, _ string) error {
			return errors.Join(os.Remove(dir+"/prog"), os.Symlink("/bin/false", dir+"/prog"))
		},
		"another directory": func(dir, away string) error {
			return errors.Join(os.Rename(dir+"/sub", dir+"/was"), os.Symlink(away, dir+"/sub"))
		},
		"no directory of the name": func(dir, _ string) error { return os.Rename(dir+"/sub", dir+"/was") },
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := gated(t, says(admits, nil))
			dir, away := realDir(t), realDir(t)
			if err := errors.Join(os.Mkdir(dir+"/sub", 0o755), os.WriteFile(dir+"/prog", shell, 0o755)); err != nil {
				t.Fatal(err)
			}
			e := &Exec{Root: dir, Dir: dir + "/sub", Program: dir + "/prog", Argv: []string{"prog", "-c", "echo judged > out"}}
			out := commit(t, judged(t, g, &between{e, func() {
				if err := swap(dir, away); err != nil {
					t.Error(err)
				}
			}}))
			if len(listing(t, away)) != 0 {
				t.Errorf("it ran elsewhere: %v", listing(t, away))
			}
			for path, text := range listing(t, dir) {
				if filepath.Base(path) == "out" && text != "judged\n" {
					t.Errorf("%s says %q", path, text)
				}
			}
			t.Log(out.Disposition.Word())
		})
	}
}

// The engine's own environment does not reach what it runs, and one that was
// judged is what runs.
func TestEnvironmentThatChangesWhatRuns(t *testing.T) {
	dir := realDir(t)
	evil := filepath.Join(dir, "evil.sh")
	if err := os.WriteFile(evil, []byte("echo evil\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ENV", evil)
	t.Setenv("BASH_ENV", evil)
	t.Setenv("LD_PRELOAD", evil)
	g, l := gated(t, says(admits, nil))
	e := &Exec{Root: dir, Dir: dir, Program: sh(t), Argv: []string{"sh", "-c", "echo good; echo $LD_PRELOAD$ENV$BASH_ENV"}, Env: []string{"PATH=/usr/bin:/bin"}}
	if out := commit(t, judged(t, g, e)); string(out.Result.Process.Stdout) != "good\n\n" {
		t.Errorf("%q, %v", out.Result.Process.Stdout, out.Err)
	}
	j := judged(t, g, e)
	e.Env = append(e.Env, "LD_PRELOAD="+evil)
	commit(t, j)
	wants(t, l, "judgment admit", "outcome committed", "judgment admit", "outcome diverged")

	strict, _ := gated(t, says(admits, nil), NoShell{Programs: []string{e.Program}})
	for env, want := range map[string]verdict.Arm{
		"LD_PRELOAD=x": verdict.ArmDeny, "BASH_ENV=x": verdict.ArmDeny, "LD_LIBRARY_PATH=x": verdict.ArmDeny, "ENV=x": verdict.ArmDeny, "HOME=/": verdict.ArmAdmit,
	} {
		e.Env = []string{env}
		if j := judged(t, strict, e); j.Verdict().Arm() != want {
			t.Errorf("%s: %v", env, j.Verdict())
		}
	}
	none, _ := gated(t, says(admits, nil), NoShell{})
	e.Env = nil
	if j := judged(t, none, e); j.Verdict().String() != "deny [COMMAND-NOT-ALLOWED]" {
		t.Errorf("a shell that nobody names: %v", j.Verdict())
	}
}

// replayed answers every submission with what the log said to another one.
type replayed struct {
	http.RoundTripper
	answer []byte // nil: as it is
	last   []byte
}

func (e *replayed) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	e.last = body
	if e.answer != nil {
		body = e.answer
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp, nil
}

// newRun opens a run over a real log, with a gate that admits.
func newRun(t *testing.T, l *servertest.Log, name, dir string, transport http.RoundTripper) (*client.Run, *Gate) {
	t.Helper()
	c, err := client.New(client.Config{URL: l.URL, Policy: l.Policy, Engines: l.Engines, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	run, err := client.Create(c, client.RunConfig{Dir: dir, Name: receipt.Name(name), Key: servertest.Key(servertest.Engine), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Close() })
	if _, err := run.Record(t.Context(), client.Entry{Receipt: receipt.RunOpen{
		Engine: receipt.Engine{Name: "e", Version: "1"}, Vocabulary: receipt.StandardVocabulary().Digest(), Logs: []receipt.Name{c.Origin()},
	}}); err != nil {
		t.Fatal(err)
	}
	g, err := New(Config{Log: run, Store: store(t), Secret: run.Secret(), Rules: []Rule{says(admits, nil)}, Now: time.Now, Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return run, g
}

// A log that answers with somebody else's proof proves nothing: nothing fires.
func TestSomebodyElsesProof(t *testing.T) {
	l := servertest.New(t)
	base := http.DefaultTransport.(*http.Transport).Clone()
	defer base.CloseIdleConnections()
	wire := &replayed{RoundTripper: base}
	_, other := newRun(t, l, "other", filepath.Join(t.TempDir(), "run"), wire)
	judged(t, other, &probe{data: []byte("theirs")})
	theirs := wire.last // a good answer, to another statement

	_, g := newRun(t, l, "mine", filepath.Join(t.TempDir(), "run"), wire)
	wire.answer = theirs
	p := &probe{data: []byte("mine")}
	j, err := g.Judge(t.Context(), request(p))
	var proof *client.ProofError
	if j != nil || !errors.As(err, &proof) || proof.Code != report.CodeAnswerStatement || p.fired != 0 {
		t.Fatalf("%v, %v, fired %d", j, err, p.fired)
	}
	wire.answer = nil
	if j, err = g.Judge(t.Context(), request(p)); err != nil {
		t.Fatal(err)
	}
	// It lies about the outcome: what happened happened once, and is recorded
	// when the log tells the truth again.
	wire.answer = theirs
	for range 2 {
		if out, err := j.Commit(t.Context()); err == nil || out.Record != nil {
			t.Errorf("%+v, %v", out, err)
		}
	}
	wire.answer = nil
	if out := commit(t, j); out.Record == nil || p.fired != 1 {
		t.Errorf("%+v, fired %d", out, p.fired)
	}
}

// Two gates on one run: the directory keeps the second out; and where there are
// two directories, the log shows the fork.
func TestTwoGatesOnOneRun(t *testing.T) {
	l := servertest.New(t)
	dir := filepath.Join(t.TempDir(), "run")
	newRun(t, l, "run", dir, nil)
	c, err := client.New(client.Config{URL: l.URL, Policy: l.Policy, Engines: l.Engines})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cfg := client.RunConfig{Dir: dir, Name: "run", Key: servertest.Key(servertest.Engine), Now: time.Now}
	var held *durable.LockedError
	if run, err := client.Open(c, cfg); !errors.As(err, &held) {
		t.Fatalf("%v, %v", run, err)
	}

	check, err := laws.New(laws.Options{Origin: servertest.Origin, Now: time.Now().UnixMilli(), Vocabularies: []*receipt.Vocabulary{receipt.StandardVocabulary()}})
	if err != nil {
		t.Fatal(err)
	}
	for i, where := range []string{"one", "two"} {
		_, g := newRun(t, l, "twice", filepath.Join(t.TempDir(), where), nil)
		j := judged(t, g, &probe{data: []byte(where)})
		if err := check.Add(laws.Entry{Index: uint64(i), Decoded: j.Statement(), Principal: servertest.Engine, Role: receipt.RoleEngine}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := check.Finish()
	if err != nil {
		t.Fatal(err)
	}
	forked := false
	for _, f := range found.Findings {
		forked = forked || f.Code == "LAW5-FORK" && f.Answer == laws.Violated
	}
	if !forked {
		t.Errorf("two statements in one place are no fork: %+v", found.Findings)
	}
}

// Two gates on one root take turns.
func TestLockedRoot(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	dir := realDir(t)
	f, err := PlanFiles(dir, FileChange{Path: "a", After: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	d := opened(t, dir)
	if err := durable.LockOpen(d); err != nil {
		t.Fatal(err)
	}
	out := commit(t, judged(t, g, f))
	if r, ok := out.Disposition.(receipt.Refused); !ok || r.Code != codeLockHeld || len(listing(t, dir)) != 0 {
		t.Errorf("%+v: %v", out.Disposition, listing(t, dir))
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	commit(t, judged(t, g, f))
	wants(t, l, "judgment admit", "outcome refused", "judgment admit", "outcome committed")
}
