package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// fakeSpool takes statements into their places in the run, and counts.
type fakeSpool struct {
	l    *fakeLog
	kept int
}

func (s *fakeSpool) Keep(ctx context.Context, e client.Entry) (*receipt.Decoded, error) {
	rec, err := s.l.Record(ctx, e)
	if err != nil {
		return nil, err
	}
	s.kept++
	return rec.Statement, nil
}

// A relaxed gate does not wait for the log where an effect was admitted, and
// says so in the judgment. It waits where a person is asked.
func TestRelaxed(t *testing.T) {
	g, l := gated(t, RuleFunc(func(_ context.Context, p Proposal) (verdict.Verdict, error) {
		switch p.Class {
		case receipt.Red:
			return escalates, nil
		case receipt.Yellow:
			return denies, nil
		}
		return admits, nil
	}))
	spool := &fakeSpool{l: l}
	g.cfg.Spool = spool
	down := errors.New("log is down")
	waits := 0
	g.cfg.Log = logFunc(func(ctx context.Context, e client.Entry) (*client.Recorded, error) {
		waits++
		return nil, down
	})
	p := &probe{}
	j := judged(t, g, p)
	if by := j.Verdict().By(); !slices.Contains(by, Relaxed) || !slices.Contains(by, "test-rule") || j.Record() != nil {
		t.Errorf("admitted by %v", by)
	}
	out := commit(t, j)
	if p.fired != 1 || out.Disposition.Word() != "committed" || out.Record != nil || out.Statement == nil || waits != 0 || spool.kept != 2 {
		t.Errorf("fired %d, %+v, %d waits, %d kept", p.fired, out.Disposition, waits, spool.kept)
	}
	req := request(p)
	req.Class = receipt.Yellow
	denied, err := g.Judge(t.Context(), req)
	if err != nil || denied.Verdict().Arm() != verdict.ArmDeny || slices.Contains(denied.Verdict().Reasons(), Relaxed) {
		t.Errorf("%v, %v", denied, err)
	}
	req.Class = receipt.Red
	if j, err := g.Judge(t.Context(), req); !errors.Is(err, down) || waits != 1 {
		t.Errorf("a person was asked by way of the spool: %v, %v", j, err)
	}
	wants(t, l, "judgment admit", "outcome committed", "judgment deny")
}

type logFunc func(context.Context, client.Entry) (*client.Recorded, error)

func (f logFunc) Record(ctx context.Context, e client.Entry) (*client.Recorded, error) {
	return f(ctx, e)
}

// A strict gate never says that it is relaxed, and no rule says it for it.
func TestNobodyElseSaysRelaxed(t *testing.T) {
	g, _ := gated(t, says(must(verdict.Admit(Relaxed)), nil))
	if j, err := g.Judge(t.Context(), request(&probe{})); err == nil {
		t.Errorf("a rule called itself %v", j.Verdict().By())
	}
}

var (
	errBroken = errors.New("rule file is gone")
	broken    = says(verdict.Verdict{}, errBroken)
)

// Over a fault an effect happens only where that very fault is named, nothing
// denies it and nobody wanted to ask; and the log holds the fault before.
func TestFailOpen(t *testing.T) {
	unreadable, err := verdict.NewFault("POLICY-UNREADABLE")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		open  []receipt.Code
		rules []Rule
		want  []string
	}{
		{"closed by default", nil, []Rule{broken}, []string{"fault"}},
		{"another fault", []receipt.Code{"RULE-TIMED-OUT"}, []Rule{broken}, []string{"fault"}},
		{"this fault", []receipt.Code{codeEvaluation}, []Rule{broken}, []string{"fault", "outcome committed"}},
		{"beside an admit", []receipt.Code{codeEvaluation}, []Rule{says(admits, nil), broken}, []string{"fault", "outcome committed"}},
		{"under a denial", []receipt.Code{codeEvaluation}, []Rule{says(denies, nil), broken}, []string{"judgment deny"}},
		{"beside an escalation", []receipt.Code{codeEvaluation}, []Rule{says(escalates, nil), broken}, []string{"fault"}},
		{"by its code", []receipt.Code{"POLICY-UNREADABLE"}, []Rule{says(verdict.Verdict{}, unreadable)}, []string{"fault", "outcome committed"}},
		{"a rule that panics", []receipt.Code{codeRuleFailed}, []Rule{RuleFunc(func(context.Context, Proposal) (verdict.Verdict, error) { panic("x") })}, []string{"fault", "outcome committed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, l := gated(t, c.rules...)
			g.cfg.FailOpen = c.open
			p := &probe{}
			p.onFire = func() {
				if got := l.said(1)[0]; got != "fault" {
					t.Errorf("fired when the log's last word was %q", got)
				}
			}
			j, err := g.Judge(t.Context(), request(p))
			if err == nil {
				if j.Unjudged() == nil != !j.Verdict().IsZero() {
					t.Errorf("unjudged %v, verdict %v", j.Unjudged(), j.Verdict())
				}
				commit(t, j)
			}
			wants(t, l, c.want...)
			if fired := len(c.want) - 1; p.fired != fired {
				t.Errorf("fired %d times", p.fired)
			}
		})
	}
	if _, err := New(Config{Log: &fakeLog{}, Store: store(t), Secret: secret(t), Rules: []Rule{broken}, Now: time.Now, Patience: time.Second, FailOpen: []receipt.Code{"ANY"}}); err == nil {
		t.Error("a word of nobody's was taken")
	}
}

// An open fault is strictly durable even where the gate is relaxed.
func TestOpenFaultWaitsForTheLog(t *testing.T) {
	g, l := gated(t, broken)
	g.cfg.FailOpen = []receipt.Code{codeEvaluation}
	spool := &fakeSpool{l: l}
	g.cfg.Spool = spool
	g.cfg.Log = logFunc(func(context.Context, client.Entry) (*client.Recorded, error) { return nil, errors.New("down") })
	if j, err := g.Judge(t.Context(), request(&probe{})); err == nil || spool.kept != 0 {
		t.Errorf("%v, %d kept", j, spool.kept)
	}
}

// standing is a rule whose policy may change.
type standing struct {
	Rule
	err error
}

func (s *standing) Stands(context.Context) (receipt.Code, error) { return "POLICY-CHANGED", s.err }

func TestRuleThatLostItsGround(t *testing.T) {
	r := &standing{Rule: says(admits, nil)}
	g, l := gated(t, r)
	p := &probe{}
	commit(t, judged(t, g, p))
	j := judged(t, g, p)
	r.err = errors.New("the policy file is another")
	out := commit(t, j)
	if d, ok := out.Disposition.(receipt.Refused); !ok || d.Code != "POLICY-CHANGED" || p.fired != 1 || out.Err == nil {
		t.Errorf("%+v, fired %d", out.Disposition, p.fired)
	}
	wants(t, l, "judgment admit", "outcome committed", "judgment admit", "outcome refused")
}

// What a precondition finds is an outcome, and nothing fires.
func TestPrecondition(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"withheld": {&WithheldError{"TITLE-MISSING", errors.New("x")}, "withheld"},
		"refused":  {&RefusedError{codeLockHeld, errors.New("x")}, "refused"},
		"failed":   {errors.New("x"), "failed"},
	} {
		g, l := gated(t, says(admits, nil))
		p := &probe{noCheck: c.err}
		out := commit(t, judged(t, g, p))
		if f, ok := out.Disposition.(receipt.Failed); ok && f.Restored != receipt.RestoredYes {
			t.Errorf("%s: %+v", name, f)
		}
		if p.fired != 0 || out.Result != nil {
			t.Errorf("%s: fired %d", name, p.fired)
		}
		wants(t, l, "judgment admit", "outcome "+c.want)
	}
}

func TestDiscardAndReplace(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	p := &probe{}
	for _, c := range []struct {
		cancel func(*Judged) (*Outcome, error)
		want   string
	}{
		{func(j *Judged) (*Outcome, error) { return j.Discard(t.Context()) }, "DISCARDED NOTHING-TO-DO"},
		{func(j *Judged) (*Outcome, error) { return j.Replace(t.Context()) }, "REPLACED USE-REPLACEMENT"},
	} {
		j := judged(t, g, p)
		out, err := c.cancel(j)
		if err != nil {
			t.Fatal(err)
		}
		d := out.Disposition.(receipt.Cancelled)
		if got := fmt.Sprint(d.Code, " ", d.Recovery.Hint); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
		if again := commit(t, j); again != out || p.fired != 0 {
			t.Errorf("fired %d times", p.fired)
		}
	}
	wants(t, l, "judgment admit", "outcome cancelled", "judgment admit", "outcome cancelled")
}
