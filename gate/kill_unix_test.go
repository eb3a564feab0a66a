//go:build unix

package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/trust"
	"github.com/obstat/obstat/verdict"
)

// killer counts steps and ends the process at one of them, as kill -9 does.
type killer struct{ at, n int }

func (k *killer) step(string) {
	if k.n++; k.n == k.at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// steppedLog is a log whose every word can be the last.
type steppedLog struct {
	Log
	k *killer
}

func (l *steppedLog) Record(ctx context.Context, e client.Entry) (*client.Recorded, error) {
	l.k.step("record")
	rec, err := l.Log.Record(ctx, e)
	l.k.step("recorded")
	return rec, err
}

// stepped is an effect that can be killed before and behind its sink.
type stepped struct {
	Effect
	k *killer
}

type steppedFrozen struct {
	Frozen
	k *killer
}

func (e *stepped) Freeze() (Frozen, error) {
	f, err := e.Effect.Freeze()
	if u, ok := f.(*frozenUndo); ok { // which says what it compensates
		return u, err
	}
	return &steppedFrozen{f, e.k}, err
}

func (f *steppedFrozen) Apply(ctx context.Context, c Call) Result {
	f.k.step("apply")
	r := f.Frozen.Apply(ctx, c)
	f.k.step("applied")
	return r
}

// session is an engine's run over a directory: the same in the process that is
// killed and in the one that comes after it.
type session struct {
	client *client.Client
	run    *client.Run
	gate   *Gate
	dir    string // with root, run and store
}

func (s *session) close() {
	s.run.Close()
	s.client.Close()
}

func (s *session) path(name string) string { return filepath.Join(s.dir, name) }

func openSession(dir string, k *killer) (*session, error) {
	s := &session{dir: dir}
	read := func(name string) []byte {
		b, err := os.ReadFile(s.path(name))
		if err != nil {
			panic(err)
		}
		return b
	}
	policy, err := trust.ParsePolicy(read("policy"))
	if err != nil {
		return nil, err
	}
	engines, err := trust.ParseEngines(read("engines"))
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Config{URL: string(read("url")), Policy: policy, Engines: engines})
	if err != nil {
		return nil, err
	}
	s.client = c
	cfg := client.RunConfig{Dir: s.path("run"), Name: receipt.Name("run-" + filepath.Base(dir)), Key: servertest.Key(servertest.Engine), Now: time.Now}
	if _, err := os.Stat(s.path("run")); err == nil {
		s.run, err = client.Open(c, cfg)
		if err != nil {
			return nil, err
		}
	} else if s.run, err = client.Create(c, cfg); err != nil {
		return nil, err
	}
	st, err := OpenStore(s.path("store"))
	if err != nil {
		return nil, err
	}
	log := Log(s.run)
	if k != nil {
		st.step, log = k.step, &steppedLog{s.run, k}
	}
	admit := RuleFunc(func(context.Context, Proposal) (verdict.Verdict, error) { return admits, nil })
	s.gate, err = New(Config{Log: log, Store: st, Secret: s.run.Secret(), Rules: []Rule{admit}, Now: time.Now, Patience: time.Second})
	return s, err
}

// work is what the engine does until it is killed: a change set, a command that
// counts outside of the gate, the undo of the change set, a replacement.
func (s *session) work(ctx context.Context, k *killer) error {
	do := func(e Effect, err error) (*Outcome, error) {
		if err != nil {
			return nil, err
		}
		j, err := s.gate.Judge(ctx, Request{Effect: &stepped{e, k}, Class: receipt.Green, Origin: verdict.Whole(verdict.Replay)})
		if err != nil {
			return nil, err
		}
		out, err := j.Commit(ctx)
		if err != nil {
			return nil, err
		}
		if out.Disposition.Word() != "committed" || out.Err != nil {
			return nil, fmt.Errorf("%s: %w", out.Disposition.Word(), out.Err)
		}
		return out, nil
	}
	root := s.path("root")
	first, err := do(PlanFiles(root,
		FileChange{Path: "a", After: []byte("uno")}, FileChange{Path: "b", Delete: true},
		FileChange{Path: "n/c", After: []byte("tre")}, FileChange{Path: "x", After: []byte("#!"), Mode: preview.ModeProgram}))
	if err != nil {
		return err
	}
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		return err
	}
	if _, err := do(&Exec{Root: root, Dir: root, Program: shell, Argv: []string{"sh", "-c", "echo x >> ../counter"}}, nil); err != nil {
		return err
	}
	u, err := s.gate.cfg.Store.PlanUndo(first.Statement.CID)
	if _, err = do(u, err); err != nil {
		return err
	}
	_, err = do(PlanFiles(root, FileChange{Path: "a", After: []byte("due")}))
	return err
}

// TestKilledChild is the process that TestKilledAtEveryStep starts and that
// kills itself.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv("OBSTAT_KILL_DIR")
	if dir == "" {
		t.Skip("for TestKilledAtEveryStep")
	}
	at, err := strconv.Atoi(os.Getenv("OBSTAT_KILL_AT"))
	if err != nil {
		t.Fatal(err)
	}
	k := &killer{at: at}
	s, err := openSession(dir, k)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if os.Getenv("OBSTAT_KILL_RECOVERY") != "" {
		if err := s.run.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.gate.Recover(t.Context(), s.run.Statements(t.Context())); err != nil {
			t.Fatal(err)
		}
		return
	}
	if _, err := s.run.Record(t.Context(), client.Entry{Receipt: receipt.RunOpen{
		Engine:     receipt.Engine{Name: "e", Version: "1"},
		Vocabulary: receipt.StandardVocabulary().Digest(), Logs: []receipt.Name{servertest.Origin},
	}}); err != nil {
		t.Fatal(err)
	}
	if err := s.work(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if _, err := s.run.CloseRun(t.Context()); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("steps: %d\n", k.n)
}

// bench is where engines are killed.
type bench struct {
	t    *testing.T
	log  *servertest.Log
	base string
}

// engine starts an engine over a directory of its own, which it makes first
// unless it is there, and kills it at a step; 0 is never.
func (b *bench) engine(name string, at int, env ...string) (dir, out string, killed bool) {
	b.t.Helper()
	dir = filepath.Join(b.base, name)
	must := func(err error) {
		if err != nil {
			b.t.Helper()
			b.t.Fatal(err)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		must(os.MkdirAll(filepath.Join(dir, "root"), 0o755))
		for name, text := range map[string]string{
			"root/a": "one", "root/b": "two", "root/x": "#!",
			"url": b.log.URL, "policy": string(b.log.PolicyFile), "engines": string(b.log.EnginesFile),
		} {
			must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledChild$", "-test.v")
	cmd.Env = append(append(os.Environ(), env...), "OBSTAT_KILL_DIR="+dir, "OBSTAT_KILL_AT="+strconv.Itoa(at))
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return dir, "", true
	}
	if err != nil {
		b.t.Fatalf("%s, step %d: %v\n%s", name, at, err, text)
	}
	return dir, string(text), false
}

// steps is how many an engine takes that nobody kills.
func (b *bench) steps() int {
	b.t.Helper()
	_, whole, _ := b.engine("whole", 0)
	_, count, _ := strings.Cut(whole, "steps: ")
	n, err := strconv.Atoi(strings.Fields(count)[0])
	if err != nil || n < 40 {
		b.t.Fatalf("%d steps, %v\n%s", n, err, whole)
	}
	return n
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if testing.Short() {
		t.Skip("starts many processes")
	}
	return &bench{t, servertest.New(t), realDir(t)}
}

// The engine is killed at every step on its way. Afterwards every file is as it
// was or as it was to be, nothing was fired twice, every call has an outcome that
// is true, and the run closes over them.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	steps, stride := b.steps(), 4
	if os.Getenv("OBSTAT_HEAVY") != "" {
		stride = 1
	}
	became := map[string]int{}
	for at := 1; at <= steps; at += stride {
		dir, _, killed := b.engine(strconv.Itoa(at), at)
		if !killed {
			t.Fatalf("step %d: it was not killed", at)
		}
		after(t, dir, became)
	}
	t.Logf("%d steps, every %d. one: %v", steps, stride, became)
	if became["committed"] == 0 || became["failed"] == 0 || became["cancelled"] == 0 || became["unobserved"] == 0 {
		t.Errorf("not every end came up: %v", became)
	}
}

// So it is where whoever comes after is killed, too, and yet another comes.
func TestKilledWhileRecovering(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	steps, stride := b.steps(), 13
	if os.Getenv("OBSTAT_HEAVY") != "" {
		stride = 1
	}
	kills := 0
	for at := 1; at <= steps; at += stride {
		for again := 1; ; again++ {
			name := fmt.Sprintf("%d-%d", at, again)
			dir, _, _ := b.engine(name, at)
			_, _, killed := b.engine(name, again, "OBSTAT_KILL_RECOVERY=1")
			after(t, dir, map[string]int{})
			if !killed {
				break
			}
			kills++
		}
	}
	t.Logf("%d kills", kills)
	if kills < 5 {
		t.Errorf("only %d kills", kills)
	}
}

// after is the process that comes after the one that was killed.
func after(t *testing.T, dir string, became map[string]int) {
	t.Helper()
	s, err := openSession(dir, nil)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	defer s.close()
	ctx := t.Context()
	if err := s.run.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	recovered, err := s.gate.Recover(ctx, s.run.Statements(ctx))
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	for _, r := range recovered {
		became[r.Disposition.Word()]++
	}
	if again, err := s.gate.Recover(ctx, s.run.Statements(ctx)); err != nil || len(again) != 0 {
		t.Errorf("%s: recovered again: %v, %v", dir, again, err)
	}
	if left, err := s.gate.cfg.Store.intents(); err != nil || len(left) != 0 {
		t.Errorf("%s: intent records are left: %v, %v", dir, left, err)
	}
	words := map[string][]string{} // dispositions by verb, in order
	var statements int
	for st, err := range s.run.Statements(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		statements++
		if out, ok := st.Statement.Receipt.(receipt.Outcome); ok {
			rho, err := s.gate.cfg.Store.Rho(out.Request)
			if err != nil {
				t.Fatal(err)
			}
			words[rho.Verb()] = append(words[rho.Verb()], out.Disposition.Word())
		}
	}
	if statements > 0 {
		if _, err := s.run.CloseRun(ctx); err != nil {
			t.Errorf("%s: the run does not close: %v", dir, err)
		}
		lawful(t, dir, s.run.Statements(ctx))
	}
	holds(t, dir, words, listing(t, s.path("root")))
}

// holds holds what the receipts say against the world.
func holds(t *testing.T, dir string, words map[string][]string, tree map[string]string) {
	t.Helper()
	counter, err := os.ReadFile(filepath.Join(dir, "counter"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	fired := strings.Count(string(counter), "x")
	ran := strings.Join(words["exec"], " ")
	if fired > 1 || ran == "committed" && fired != 1 || (ran == "" || ran == "cancelled") && fired != 0 {
		t.Errorf("%s: it was fired %d times, and the receipts say %q", dir, fired, ran)
	}
	one := map[string]string{"a": "one", "b": "two", "x": "#!"}
	want := maps.Clone(one)
	files := words["files"]
	done := func(i int) bool { return len(files) > i && files[i] == "committed" }
	undone := len(words["undo"]) > 0 && words["undo"][0] == "committed"
	switch {
	case done(1):
		want["a"] = "due"
	case done(0) && !undone:
		want = map[string]string{"a": "uno", "n": "(dir)", "n/c": "tre", "x": "#!"}
	}
	if undone || done(1) {
		delete(tree, "n") // an undo removes no directory
	}
	if !equal(tree, want) {
		t.Errorf("%s: files %v, undo %v: tree is %v, want %v", dir, files, words["undo"], tree, want)
	}
}
