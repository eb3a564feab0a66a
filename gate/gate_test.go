package gate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
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
		{&MovedError{Key: "x", Seen: preview.ContentOf(nil)}, "failed", receipt.RestoredUnknown}, // of a file that it does not rest on
		{&RefusedError{codeLockHeld, errors.New("held")}, "refused", ""},
		{&WithheldError{"TITLE-MISSING", errors.New("no title")}, "withheld", ""},
		{&UnobservedError{codeNoAnswer, errors.New("silence")}, "unobserved", ""},
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

// A sink that panics may have fired: that settles the call, and committing
// again does not fire again.
func TestPanickingSinkFiresOnce(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	p := &probe{onFire: func() { panic("behind the effect") }}
	j := judged(t, g, p)
	for range 2 {
		out, err := j.Commit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if out.Disposition.Word() != "unobserved" || out.Err == nil || !strings.Contains(out.Err.Error(), "behind the effect") {
			t.Errorf("%s, %v", out.Disposition.Word(), out.Err)
		}
	}
	if p.fired != 1 {
		t.Errorf("fired %d times", p.fired)
	}
	wants(t, l, "judgment admit", "outcome unobserved")
}

// A rule sees what has the digest, whatever the engine or another rule does to
// the slices that the request was made of.
func TestRulesSeeWhatWasSealed(t *testing.T) {
	inputs := []preview.Input{{Name: "to", Value: "mallory"}}
	forge := RuleFunc(func(_ context.Context, p Proposal) (verdict.Verdict, error) {
		inputs[0].Value, p.Inputs[0].Value = "alice", "alice"
		return verdict.Verdict{}, nil
	})
	var saw string
	look := RuleFunc(func(_ context.Context, p Proposal) (verdict.Verdict, error) {
		saw = p.Inputs[0].Value
		return denies, nil
	})
	g, _ := gated(t, forge, look)
	req := request(&probe{})
	req.Inputs = inputs
	if _, err := g.Judge(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if saw != "mallory" {
		t.Errorf("the second rule judged %q", saw)
	}
}

// A root is named by the path that no link leads to: moving a link would move
// the effect, and the preview would not show it.
func TestRootIsNoLink(t *testing.T) {
	d, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(d+"/A", 0o755), os.Symlink("A", d+"/root")); err != nil {
		t.Fatal(err)
	}
	if _, err := PlanFiles(d+"/root", FileChange{Path: "f", After: []byte("x")}); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a change set under a link: %v", err)
	}
	f, err := PlanFiles(d+"/A", FileChange{Path: "f", After: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	g, _ := gated(t, says(admits, nil))
	req := request(f)
	j, err := g.Judge(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	// The judged directory becomes a link to another one.
	if err := errors.Join(os.Rename(d+"/A", d+"/B"), os.Symlink("B", d+"/A")); err != nil {
		t.Fatal(err)
	}
	out, err := j.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d + "/B/f"); err == nil {
		t.Errorf("%s, and the file landed behind the link", out.Disposition.Word())
	}
	if out.Disposition.Word() == "committed" {
		t.Error("committed")
	}
}

// Nothing that the gate can say is outside of the vocabulary that runs pin.
func TestGateSpeaksTheVocabulary(t *testing.T) {
	v := receipt.StandardVocabulary()
	for place, codes := range map[receipt.Place][]receipt.Code{
		receipt.PlaceReason:     {codeNoRule},
		receipt.PlaceCancelled:  {codeWithdrawn, codeDiscarded},
		receipt.PlaceFailed:     {codeExitStatus, codeStartFailed, codeSignalled, codeTimedOut, codeInterrupted, codeIOError},
		receipt.PlaceUnobserved: {codeCrashed},
		receipt.PlaceFault:      {codeEvaluation, codePreview},
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
	ok := Config{Log: &fakeLog{}, Store: store(t), Secret: secret(t), Rules: []Rule{says(admits, nil)}, Now: time.Now, Patience: time.Second}
	for name, spoil := range map[string]func(*Config){
		"no log": func(c *Config) { c.Log = nil }, "no store": func(c *Config) { c.Store = nil }, "no rule": func(c *Config) { c.Rules = nil },
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
