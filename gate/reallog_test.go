package gate

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// The same gate over a real log: the server's tree holds the judgment, and
// nothing after it, at the moment of firing.
func TestGateOverARealLog(t *testing.T) {
	t.Parallel()
	l := servertest.New(t)
	c, err := client.New(client.Config{URL: l.URL, Policy: l.Policy, Engines: l.Engines})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	run, err := client.Create(c, client.RunConfig{
		Dir: filepath.Join(t.TempDir(), "run"), Name: "gate", Key: servertest.Key(servertest.Engine), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	g, err := New(Config{
		Log: run, Store: store(t), Secret: run.Secret(), Now: time.Now, Patience: 20 * time.Millisecond,
		Rules: []Rule{RuleFunc(func(ctx context.Context, p Proposal) (verdict.Verdict, error) {
			if p.Class == receipt.Red {
				return escalates, nil
			}
			return admits, nil
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &probe{}
	if _, err := g.Judge(t.Context(), request(p)); err == nil {
		t.Fatal("judged in a run that is not open")
	}
	if _, err := run.Record(t.Context(), client.Entry{Receipt: receipt.RunOpen{
		Engine:     receipt.Engine{Name: "e", Version: "1"},
		Vocabulary: receipt.StandardVocabulary().Digest(), Logs: []receipt.Name{c.Origin()},
	}}); err != nil {
		t.Fatal(err)
	}
	j := judged(t, g, p)
	p.onFire = func() {
		if size := l.Server.Head().Size; size != j.Record().Index+1 {
			t.Errorf("fired when the log had %d leaves; the judgment is leaf %d", size, j.Record().Index)
		}
	}
	out := commit(t, j)
	settles(t, j, out)

	// A log that is down while an answer is awaited hears of it later or never;
	// the caller hears of that now.
	red := request(p)
	red.Class = receipt.Red
	j, err = g.Judge(t.Context(), red)
	if err != nil {
		t.Fatal(err)
	}
	l.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if out, err = j.Commit(ctx); err == nil || out.Disposition.Word() != "expired" {
		t.Fatalf("an outcome was recorded in a log that is down: %+v, %v", out, err)
	}
}
