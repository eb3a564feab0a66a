package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeLog is a log in this process: it takes what a real one would take, in
// order, and can be told to fail.
type fakeLog struct {
	mu      sync.Mutex
	entries []*client.Recorded
	fail    func(e client.Entry) error
}

func (l *fakeLog) Record(ctx context.Context, e client.Entry) (*client.Recorded, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.fail != nil {
		if err := l.fail(e); err != nil {
			return nil, err
		}
	}
	s := receipt.Statement{Receipt: e.Receipt, Call: receipt.Call{
		By: receipt.KeyID{1}, Run: "test", Seq: uint64(len(l.entries)), At: time.Now().UnixMilli(), Settles: e.Settles,
	}}
	if n := len(l.entries); n > 0 {
		s.Call.Prev = l.entries[n-1].Statement.CID
	}
	if !e.Expires.IsZero() {
		s.Call.Expires = e.Expires.UnixMilli()
	}
	payload, err := s.Encode()
	if err != nil {
		return nil, err
	}
	d, err := receipt.Decode(payload)
	if err != nil {
		return nil, err
	}
	rec := &client.Recorded{Statement: d, Index: s.Call.Seq + 1}
	l.entries = append(l.entries, rec)
	return rec, nil
}

// said is the last n receipts, by kind and word: "judgment admit".
func (l *fakeLog) said(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, e := range l.entries[max(0, len(l.entries)-n):] {
		all = append(all, words(e))
	}
	return all
}

func words(rec *client.Recorded) string {
	switch r := rec.Statement.Statement.Receipt.(type) {
	case receipt.Judgment:
		return "judgment " + r.Ruling.Verdict().Arm().String()
	case receipt.Outcome:
		return "outcome " + r.Disposition.Word()
	default:
		return string(r.Kind())
	}
}

// probe is an effect that counts how often it fires, and looks at the log when
// it does.
type probe struct {
	data   []byte
	result Result
	onFire func()
	fired  int
	closed int
	frozen int
	noFire error // Freeze fails with it
}

type frozenProbe struct {
	p    *probe
	data []byte
}

func (p *probe) Freeze() (Frozen, error) {
	if p.noFire != nil {
		return nil, p.noFire
	}
	p.frozen++
	return &frozenProbe{p, bytes.Clone(p.data)}, nil
}

func (f *frozenProbe) Intent() preview.Intent {
	return preview.Exec{
		Root: "/root", Dir: "/root", Program: "/bin/probe", File: preview.ContentOf([]byte("probe")),
		Argv: []string{"probe"}, Stdin: preview.ContentOf(f.data),
	}
}

func (f *frozenProbe) Fire(context.Context) Result {
	f.p.fired++
	if f.p.onFire != nil {
		f.p.onFire()
	}
	return f.p.result
}

func (f *frozenProbe) Close() error { f.p.closed++; return nil }

func says(v verdict.Verdict, err error) Rule {
	return RuleFunc(func(context.Context, Proposal) (verdict.Verdict, error) { return v, err })
}

func must(v verdict.Verdict, err error) verdict.Verdict {
	if err != nil {
		panic(err)
	}
	return v
}

var (
	admits    = must(verdict.Admit("test-rule"))
	denies    = must(verdict.Deny("COMMAND-NOT-ALLOWED"))
	escalates = must(verdict.Escalate("CLASS-RED"))
)

func secret(t testing.TB) preview.RunSecret {
	t.Helper()
	s, err := preview.NewRunSecret(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// gated returns a gate over a log in which the run is open.
func gated(t testing.TB, rules ...Rule) (*Gate, *fakeLog) {
	t.Helper()
	l := &fakeLog{}
	g, err := New(Config{Log: l, Secret: secret(t), Rules: rules, Now: time.Now, Patience: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	open := receipt.RunOpen{
		Engine:     receipt.Engine{Name: "e", Version: "1"},
		Vocabulary: receipt.StandardVocabulary().Digest(), Logs: []receipt.Name{"log"},
	}
	if _, err := l.Record(t.Context(), client.Entry{Receipt: open}); err != nil {
		t.Fatal(err)
	}
	return g, l
}

func request(e Effect) Request {
	return Request{
		Effect: e, Task: "task", Attempt: 1, Class: receipt.Green, Origin: verdict.Whole(verdict.Replay), Inverse: receipt.Unneeded{},
		Effects: []preview.Effect{{On: preview.OnExec, Target: "probe"}},
		Inputs:  []preview.Input{{Name: "in", Value: "put"}},
		Slots:   []preview.Slot{{Name: "slot", Value: "filled", Source: "test"}},
	}
}

func judged(t *testing.T, g *Gate, e Effect) *Judged {
	t.Helper()
	j, err := g.Judge(t.Context(), request(e))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func commit(t *testing.T, j *Judged) *Outcome {
	t.Helper()
	out, err := j.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wants(t *testing.T, l *fakeLog, want ...string) {
	t.Helper()
	if got := l.said(len(l.entries) - 1); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the log says %q after the run-open, want %q", got, want)
	}
}

// settles holds an outcome against the judgment that it answers.
func settles(t *testing.T, j *Judged, out *Outcome) {
	t.Helper()
	o := out.Record.Statement.Statement.Receipt.(receipt.Outcome)
	if o.Of != j.Record().Statement.ReceiptCID || o.Request != j.Digest() || out.Record.Statement.Statement.Call.Settles != j.Record().Statement.CID {
		t.Errorf("the outcome answers another call: %+v", o)
	}
	if out.Record.Index <= j.Record().Index {
		t.Errorf("the outcome stands at %d, the judgment at %d", out.Record.Index, j.Record().Index)
	}
}

func TestAdmittedFiresOnceAfterItsJudgment(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	p := &probe{data: []byte("data")}
	p.onFire = func() {
		// The judgment is in the log by now, and nothing else is.
		if got := l.said(1); got[0] != "judgment admit" {
			t.Errorf("fired when the log's last word was %q", got)
		}
	}
	j := judged(t, g, p)
	if p.fired != 0 {
		t.Fatal("fired while it was judged")
	}
	out := commit(t, j)
	settles(t, j, out)
	if d := out.Disposition.(receipt.Committed); d.Fired != j.Digest() {
		t.Errorf("fired %s, judged %s", d.Fired, j.Digest())
	}
	if again := commit(t, j); p.fired != 1 || again != out {
		t.Errorf("fired %d times", p.fired)
	}
	if p.frozen != p.closed {
		t.Errorf("%d frozen, %d closed", p.frozen, p.closed)
	}
	wants(t, l, "judgment admit", "outcome committed")
}

func TestDeniedNeverFires(t *testing.T) {
	g, l := gated(t, says(admits, nil), says(denies, nil), says(escalates, nil))
	p := &probe{}
	j := judged(t, g, p)
	out := commit(t, j)
	if p.fired != 0 || out.Disposition != nil || out.Record != nil {
		t.Errorf("fired %d times, %+v", p.fired, out)
	}
	if r, ok := j.Recovery(); !ok || r.Hint != "OTHER-COMMAND" {
		t.Errorf("recovery %v", r)
	}
	wants(t, l, "judgment deny")
}

func TestWhatNoRuleAdmitsIsDenied(t *testing.T) {
	g, l := gated(t, says(verdict.Verdict{}, nil))
	p := &probe{}
	j := judged(t, g, p)
	if commit(t, j); p.fired != 0 || j.Verdict().Reasons()[0] != "NO-RULE" {
		t.Errorf("fired %d, %s", p.fired, j.Verdict())
	}
	wants(t, l, "judgment deny")
}

func TestEscalatedExpires(t *testing.T) {
	g, l := gated(t, says(escalates, nil), says(admits, nil))
	p := &probe{}
	start := time.Now()
	j := judged(t, g, p)
	out := commit(t, j)
	if took := time.Since(start); took < 25*time.Millisecond {
		t.Errorf("silence was a denial after %v", took)
	}
	expires := j.Record().Statement.Statement.Call.Expires
	if at := out.Record.Statement.Statement.Call.At; at < expires {
		t.Errorf("expired at %d, before %d", at, expires)
	}
	settles(t, j, out)
	if p.fired != 0 {
		t.Error("fired")
	}
	if r, ok := j.Recovery(); !ok || r.Class != receipt.RecoveryAwait {
		t.Errorf("recovery %v", r)
	}
	wants(t, l, "judgment escalate", "outcome expired")
}

func TestFailingRuleIsAFault(t *testing.T) {
	for name, rules := range map[string][]Rule{
		"an error":            {says(admits, nil), says(verdict.Verdict{}, errors.New("rule file is gone"))},
		"under an escalation": {says(escalates, nil), says(verdict.Verdict{}, errors.New("rule file is gone"))},
		"unknown reason":      {says(must(verdict.Deny("FROM-NOWHERE")), nil)},
	} {
		t.Run(name, func(t *testing.T) {
			g, l := gated(t, rules...)
			p := &probe{}
			j, err := g.Judge(t.Context(), request(p))
			var f *FaultError
			if j != nil || !errors.As(err, &f) || f.Recorded == nil || p.fired != 0 {
				t.Fatalf("%v, %v, fired %d", j, err, p.fired)
			}
			if req, ok := f.Fault.Request(); !ok || req.Verb != "exec" || f.Fault.Posture.Word() != "closed" {
				t.Errorf("fault %+v", f.Fault)
			}
			wants(t, l, "fault")
		})
	}
	// A denial is sound whatever the missing rule would have said.
	g, l := gated(t, says(denies, nil), says(verdict.Verdict{}, errors.New("rule file is gone")))
	judged(t, g, &probe{})
	wants(t, l, "judgment deny")
}

func TestUnreadableEffectIsAFault(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	for _, e := range []Effect{
		&probe{noFire: errors.New("no program")},
		&Exec{Root: "/", Dir: "/", Program: "/nonexistent/program", Argv: []string{"x"}},
		&Files{Root: "relative", Changes: []FileChange{{Path: "a"}}},
		&Files{Root: "/"},
	} {
		if j, err := g.Judge(t.Context(), request(e)); j != nil || !errors.As(err, new(*FaultError)) {
			t.Errorf("%v, %v", j, err)
		}
	}
	wants(t, l, "fault", "fault", "fault", "fault")
}

// A single bit, anywhere in the bytes that would be fired, and nothing is.
func TestOneBitDivergesProperty(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	rapid.Check(t, func(rt *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(rt, "data")
		bit := rapid.IntRange(0, len(data)*8-1).Draw(rt, "bit")
		p := &probe{data: data}
		j, err := g.Judge(t.Context(), request(p))
		if err != nil {
			rt.Fatal(err)
		}
		p.data[bit/8] ^= 1 << (bit % 8)
		out, err := j.Commit(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		d, ok := out.Disposition.(receipt.Diverged)
		if p.fired != 0 || !ok || d.Fired == j.Digest() || l.said(1)[0] != "outcome diverged" {
			rt.Fatalf("fired %d times, %T", p.fired, out.Disposition)
		}
		if p.data[bit/8] ^= 1 << (bit % 8); true {
			if _, err := j.Commit(t.Context()); err != nil || p.fired != 0 {
				rt.Fatalf("a settled request fired: %v", err)
			}
		}
	})
}

// What stands beside the effect is judged too.
func TestWhatIsSaidBesideDiverges(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"input":  func(r *Request) { r.Inputs[0].Value = "puT" },
		"slot":   func(r *Request) { r.Slots[0].Source = "elsewhere" },
		"effect": func(r *Request) { r.Effects[0].On = preview.OnNetwork },
	} {
		t.Run(name, func(t *testing.T) {
			g, l := gated(t, says(admits, nil))
			p := &probe{}
			req := request(p)
			j, err := g.Judge(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			change(&req) // the slices are those that the gate was given
			if commit(t, j); p.fired != 0 {
				t.Error("fired")
			}
			wants(t, l, "judgment admit", "outcome diverged")
		})
	}
}

func TestWhatBecameUnreadableIsDiscarded(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	p := &probe{}
	j := judged(t, g, p)
	p.noFire = errors.New("the program is gone")
	if out := commit(t, j); p.fired != 0 || out.Err == nil {
		t.Errorf("fired %d, %v", p.fired, out.Err)
	}
	wants(t, l, "judgment admit", "outcome cancelled")
}

func TestResultsBecomeDispositions(t *testing.T) {
	for _, c := range []struct {
		err      error
		word     string
		restored receipt.Restored
	}{
		{nil, "committed", ""},
		{&FailedError{codeExitStatus, receipt.RestoredUnknown, errors.New("exit 1")}, "failed", receipt.RestoredUnknown},
		{&FailedError{codeStartFailed, receipt.RestoredYes, errors.New("no such file")}, "failed", receipt.RestoredYes},
		{errors.New("no idea"), "failed", receipt.RestoredUnknown},
		{&MovedError{Change: 3}, "failed", receipt.RestoredUnknown}, // of a change that there is not
	} {
		g, l := gated(t, says(admits, nil))
		j := judged(t, g, &probe{result: Result{Err: c.err}})
		out := commit(t, j)
		settles(t, j, out)
		if f, ok := out.Disposition.(receipt.Failed); out.Disposition.Word() != c.word || ok && f.Restored != c.restored {
			t.Errorf("%v became %+v", c.err, out.Disposition)
		}
		wants(t, l, "judgment admit", "outcome "+c.word)
	}
}

func TestNothingFiresWithoutTheLog(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	down := errors.New("log is down")
	l.fail = func(client.Entry) error { return down }
	p := &probe{}
	if j, err := g.Judge(t.Context(), request(p)); j != nil || !errors.Is(err, down) || p.fired != 0 {
		t.Fatalf("%v, %v", j, err)
	}
	wants(t, l)
}

func TestOutcomeIsRecordedWhenTheLogIsBack(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	p := &probe{}
	j := judged(t, g, p)
	down := errors.New("log is down")
	l.fail = func(client.Entry) error { return down }
	for range 2 {
		out, err := j.Commit(t.Context())
		if !errors.Is(err, down) || out == nil || out.Record != nil || out.Disposition.Word() != "committed" {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	l.fail = nil
	if out := commit(t, j); out.Record == nil || p.fired != 1 {
		t.Errorf("%+v, fired %d times", out, p.fired)
	}
	wants(t, l, "judgment admit", "outcome committed")
}

func TestCallerGoesAway(t *testing.T) {
	t.Run("before firing", func(t *testing.T) {
		g, l := gated(t, says(admits, nil))
		p := &probe{}
		j := judged(t, g, p)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if out, err := j.Commit(ctx); err != nil || p.fired != 0 || !errors.Is(out.Err, context.Canceled) {
			t.Errorf("%+v, %v", out, err)
		}
		wants(t, l, "judgment admit", "outcome cancelled")
	})
	t.Run("while firing", func(t *testing.T) {
		g, l := gated(t, says(admits, nil))
		ctx, cancel := context.WithCancel(t.Context())
		p := &probe{onFire: cancel}
		j := judged(t, g, p)
		if _, err := j.Commit(ctx); err != nil { // what happened is recorded all the same
			t.Error(err)
		}
		wants(t, l, "judgment admit", "outcome committed")
	})
	t.Run("while waiting", func(t *testing.T) {
		g, l := gated(t, says(escalates, nil))
		g.cfg.Patience = time.Hour
		j := judged(t, g, &probe{})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if _, err := j.Commit(ctx); err != nil {
			t.Error(err)
		}
		wants(t, l, "judgment escalate", "outcome cancelled")
	})
}

func TestWithdraw(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	p := &probe{}
	j := judged(t, g, p)
	if _, err := j.Withdraw(t.Context()); err != nil {
		t.Fatal(err)
	}
	if commit(t, j); p.fired != 0 {
		t.Error("a withdrawn request fired")
	}
	if _, err := j.Withdraw(t.Context()); err == nil {
		t.Error("withdrawn twice")
	}
	wants(t, l, "judgment admit", "outcome cancelled")
}

func TestCommitsFromManyGoroutinesFireOnce(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	p := &probe{}
	j := judged(t, g, p)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := j.Commit(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	if wg.Wait(); p.fired != 1 {
		t.Errorf("fired %d times", p.fired)
	}
	wants(t, l, "judgment admit", "outcome committed")
}

func TestFilesThroughTheGate(t *testing.T) {
	dir := realDir(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plan := func(changes ...FileChange) *Files {
		t.Helper()
		f, err := PlanFiles(dir, changes...)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	g, l := gated(t, says(admits, nil))
	write("b", "old")
	j := judged(t, g, plan(
		FileChange{Path: "b", After: []byte("new")}, FileChange{Path: "a", After: []byte("made")}))
	out := commit(t, j)
	settles(t, j, out)
	if got := listing(t, dir); !equal(got, map[string]string{"a": "made", "b": "new"}) {
		t.Errorf("tree is %v", got)
	}
	// Each postcondition is the commitment that the judgment announced.
	changes := j.Record().Statement.Statement.Receipt.(receipt.Judgment).Request.Changes
	wrote := out.Disposition.(receipt.Committed).Wrote
	if len(wrote) != 2 {
		t.Fatalf("%d postconditions", len(wrote))
	}
	for i, ch := range changes {
		after := receipt.Commitment{}
		switch e := ch.Edit.(type) {
		case receipt.Create:
			after = e.After
		case receipt.Replace:
			after = e.After
		}
		if wrote[i].Key != ch.Path || wrote[i].Value != after {
			t.Errorf("postcondition %d is not what was judged", i)
		}
	}

	j = judged(t, g, plan(FileChange{Path: "a", After: []byte("mine")}, FileChange{Path: "c", After: []byte("new")}))
	write("a", "theirs")
	out = commit(t, j)
	settles(t, j, out)
	stale := out.Disposition.(receipt.Stale)
	read := j.Record().Statement.Statement.Receipt.(receipt.Judgment).Reads
	found := false
	for _, r := range read {
		found = found || r.Key == stale.Key && r.Seen == stale.Expected
	}
	if !found || stale.Seen == stale.Expected {
		t.Errorf("stale does not name what was judged: %+v", stale)
	}
	if got := listing(t, dir); !equal(got, map[string]string{"a": "theirs", "b": "new"}) {
		t.Errorf("a stale change set was applied: %v", got)
	}

	f := plan(FileChange{Path: "d", After: []byte("judged")})
	j = judged(t, g, f)
	f.Changes[0].After[0] ^= 1
	commit(t, j)
	if _, err := os.Stat(filepath.Join(dir, "d")); !os.IsNotExist(err) {
		t.Errorf("a diverged change set was applied: %v", err)
	}
	wants(t, l, "judgment admit", "outcome committed", "judgment admit", "outcome stale", "judgment admit", "outcome diverged")
}

func TestExecThroughTheGate(t *testing.T) {
	shell, dir := sh(t), realDir(t)
	g, l := gated(t, says(admits, nil))
	run := func(script string) *Exec {
		return &Exec{Root: dir, Dir: dir, Program: shell, Argv: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}}
	}
	out := commit(t, judged(t, g, run("echo made > made; echo said")))
	if string(out.Process.Stdout) != "said\n" || !equal(listing(t, dir), map[string]string{"made": "made\n"}) {
		t.Errorf("%q, %v", out.Process.Stdout, listing(t, dir))
	}
	out = commit(t, judged(t, g, run("exit 3")))
	if f := out.Disposition.(receipt.Failed); f.Code != codeExitStatus || f.Restored != receipt.RestoredUnknown || out.Process.Exit != 3 {
		t.Errorf("%+v", f)
	}
	e := run("echo made > made2")
	j := judged(t, g, e)
	e.Argv[2] = "echo made > made3"
	commit(t, j)
	e = run("echo $A")
	j = judged(t, g, e)
	e.Env = append(e.Env, "A=b")
	commit(t, j)
	if got := listing(t, dir); len(got) != 1 {
		t.Errorf("a diverged command ran: %v", got)
	}
	// The working directory leaves the root behind the gate's back.
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	e = run("echo made > made4")
	e.Dir = sub
	j = judged(t, g, e)
	away := t.TempDir()
	if err := errors.Join(os.Remove(sub), os.Symlink(away, sub)); err != nil {
		t.Fatal(err)
	}
	out = commit(t, j)
	if f := out.Disposition.(receipt.Failed); f.Code != codeStartFailed || f.Restored != receipt.RestoredYes || len(listing(t, away)) != 0 {
		t.Errorf("%+v; outside: %v", f, listing(t, away))
	}
	wants(t, l, "judgment admit", "outcome committed", "judgment admit", "outcome failed",
		"judgment admit", "outcome diverged", "judgment admit", "outcome diverged", "judgment admit", "outcome failed")
}

// What is frozen is what was there: no memory is shared with the effect.
func TestFreezeSharesNothing(t *testing.T) {
	shell := sh(t)
	e := &Exec{Root: "/", Dir: "/", Program: shell, Argv: []string{"sh", "-c"}, Env: []string{"A=b"}, Stdin: []byte("in")}
	f := &Files{Root: "/", Changes: []FileChange{{Path: "a", After: []byte("after")}}}
	for _, c := range []struct {
		effect Effect
		change func()
		fires  func(Frozen) string
	}{
		{e, func() { e.Argv[0], e.Env[0], e.Stdin[0] = "x", "A=x", 'x' }, func(z Frozen) string {
			p := z.(*frozenExec).process
			return fmt.Sprint(p.argv, p.env, string(p.stdin))
		}},
		{f, func() { f.Changes[0].Path, f.Changes[0].After[0] = "x", 'x' }, func(z Frozen) string {
			w := z.(*frozenFiles).set[0]
			return w.Path + string(w.after)
		}},
	} {
		frozen, err := c.effect.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		intent := func() string { return fmt.Sprintf("%v", frozen.Intent()) }
		said, fires := intent(), c.fires(frozen)
		c.change()
		if intent() != said || c.fires(frozen) != fires {
			t.Errorf("%T: %s, fires %s; was %s, %s", c.effect, intent(), c.fires(frozen), said, fires)
		}
		if err := frozen.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A program that was replaced after it was judged is not run.
func TestSwappedProgramDiverges(t *testing.T) {
	shell, dir := sh(t), realDir(t)
	b, err := os.ReadFile(shell)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "prog")
	if err := os.WriteFile(program, b, 0o700); err != nil {
		t.Fatal(err)
	}
	g, l := gated(t, says(admits, nil))
	j := judged(t, g, &Exec{Root: dir, Dir: dir, Program: program, Argv: []string{"prog", "-c", "echo > fired"}})
	b[len(b)-1] ^= 1
	if err := os.WriteFile(program, b, 0o700); err != nil {
		t.Fatal(err)
	}
	commit(t, j)
	if _, err := os.Stat(filepath.Join(dir, "fired")); !os.IsNotExist(err) {
		t.Errorf("it ran: %v", err)
	}
	wants(t, l, "judgment admit", "outcome diverged")
}

// realDir is a temporary directory by the name that no link leads to.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Nothing that the gate can say is outside of the vocabulary that runs pin.
func TestGateSpeaksTheVocabulary(t *testing.T) {
	v := receipt.StandardVocabulary()
	for place, codes := range map[receipt.Place][]receipt.Code{
		receipt.PlaceReason:    {codeNoRule},
		receipt.PlaceCancelled: {codeWithdrawn, codeDiscarded},
		receipt.PlaceFailed:    {codeExitStatus, codeStartFailed, codeSignalled, codeTimedOut, codeInterrupted, codeIOError},
		receipt.PlaceFault:     {codeEvaluation, codePreview},
	} {
		for _, c := range codes {
			if !v.Knows(place, c) {
				t.Errorf("%s is no word for %s", c, place)
			}
		}
	}
	for _, r := range []receipt.Recovery{recoverAwait, recoverExpired, recoverDiverged, recoverStale, recoverUnwanted, recoverNever, recoverOperator} {
		if !v.KnowsRecovery(r) {
			t.Errorf("%v is no recovery", r)
		}
	}
	for _, reason := range v.Codes(receipt.PlaceReason) {
		deny, err := verdict.Deny(string(reason))
		if err != nil {
			t.Fatal(err)
		}
		if r := recoveryOf(deny); !v.KnowsRecovery(r) {
			t.Errorf("%s leads to %v, which is no recovery", reason, r)
		}
	}
	two := must(verdict.Deny("COMMAND-NOT-ALLOWED", "HOST-NOT-ALLOWED"))
	if r := recoveryOf(two); r != recoverOperator {
		t.Errorf("two ways on: %v", r)
	}
	same := must(verdict.Deny("COMMAND-NOT-ALLOWED", "ARGUMENT-NOT-ALLOWED"))
	if r := recoveryOf(same); r.Hint != "OTHER-COMMAND" {
		t.Errorf("one way on: %v", r)
	}
}

func TestNewRefusesWhatCannotJudge(t *testing.T) {
	ok := Config{Log: &fakeLog{}, Secret: secret(t), Rules: []Rule{says(admits, nil)}, Now: time.Now, Patience: time.Second}
	for name, spoil := range map[string]func(*Config){
		"no log": func(c *Config) { c.Log = nil }, "no rule": func(c *Config) { c.Rules = nil },
		"no clock": func(c *Config) { c.Now = nil }, "no patience": func(c *Config) { c.Patience = 0 },
		"half a millisecond": func(c *Config) { c.Patience = time.Millisecond / 2 },
	} {
		c := ok
		spoil(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if _, err := New(ok); err != nil {
		t.Error(err)
	}
}
