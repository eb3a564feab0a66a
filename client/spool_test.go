package client

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// draining runs a Drain until the test, or stop, ends it; stop returns its error.
func draining(t *testing.T, r *Run) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Drain(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() })
	return stop
}

// eventually waits for what another goroutine brings about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func standing(t *testing.T, r *Run) Standing {
	t.Helper()
	s, err := r.Standing()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestKeepDoesNotWaitForTheLog(t *testing.T) {
	l := servertest.New(t)
	hold, asked := make(chan struct{}), make(chan struct{}, 100)
	b := &between{before: func(n int64) (*http.Response, error) {
		if n > 1 {
			asked <- struct{}{}
			<-hold
		}
		return nil, nil
	}}
	dir := filepath.Join(t.TempDir(), "run")
	r := create(t, dial(t, l, b), dir, "keep")
	if _, err := r.Record(t.Context(), open("1")); err != nil {
		t.Fatal(err)
	}
	stop := draining(t, r)
	// A statement is on its way and the log says nothing: others are kept.
	var kept []receipt.CID
	for range 20 {
		st, err := r.Keep(t.Context(), fault("RULE-FAILED"))
		if err != nil {
			t.Fatal(err)
		}
		if len(kept) == 0 {
			<-asked
		}
		kept = append(kept, st.CID)
	}
	if s := standing(t, r); s.Unanswered != 20 || s.Statements != 21 {
		t.Errorf("%+v", s)
	}
	close(hold)
	// Record comes behind them, in the run and in the log.
	rec, err := r.Record(t.Context(), fault("RULE-FAILED"))
	if err != nil {
		t.Fatal(err)
	}
	if call := rec.Statement.Statement.Call; call.Seq != 21 || call.Prev != kept[19] || rec.Index != 22 {
		t.Errorf("seq %d at %d after %s", call.Seq, rec.Index, call.Prev)
	}
	n := 0
	for st, err := range r.Statements(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && n < 21 && st.CID != kept[n-1] {
			t.Errorf("statement %d is another", n)
		}
		n++
	}
	if err := stop(); err != nil || n != 22 {
		t.Errorf("%d statements, %v", n, err)
	}
}

func TestKeptIsSaidOnceEach(t *testing.T) {
	l := servertest.New(t)
	c := dial(t, l, nil)
	dir := filepath.Join(t.TempDir(), "run")
	r := create(t, c, dir, "each")
	for _, e := range []Entry{open("1"), fault("RULE-FAILED"), fault("RULE-FAILED")} {
		if _, err := r.Keep(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(c, runConfig(dir, "each"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// What was kept was said; saying it again is another statement.
	rec, err := r.Record(t.Context(), fault("RULE-FAILED"))
	if err != nil || rec.Statement.Statement.Call.Seq != 3 || l.Server.Head().Size != 5 {
		t.Errorf("%+v, %v; %d leaves", rec, err, l.Server.Head().Size)
	}
}

// fill keeps faults until there is no room.
func fill(t *testing.T, r *Run) {
	t.Helper()
	for {
		_, err := r.Keep(t.Context(), fault("RULE-FAILED"))
		var full *FullError
		if errors.As(err, &full) {
			if report.CodeOf(err) != report.CodeSpoolFull || full.Waiting > full.Limit {
				t.Fatalf("%v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestDropsAreDisclosed(t *testing.T) {
	c := newCrashes(t)
	down := false
	b := &between{next: c.transport, before: func(int64) (*http.Response, error) {
		if down {
			return answer(503, http.Header{"Retry-After": {"600"}}, ""), nil
		}
		return nil, nil
	}}
	cl, err := New(Config{URL: c.log.URL, Policy: c.log.Policy, Engines: c.log.Engines, Transport: b})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	cfg := runConfig(dir, "drops")
	cfg.Spool = MinSpool
	r, err := Create(cl, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Record(t.Context(), open("1")); err != nil {
		t.Fatal(err)
	}
	down = true
	fill(t, r)
	before := standing(t, r)
	if before.Spooled > MinSpool || before.Spooled < MinSpool-1000 {
		t.Errorf("%d bytes wait", before.Spooled)
	}
	for range 3 {
		if st, err := r.Offer(t.Context(), fault("INTERNAL")); st != nil || err != nil {
			t.Fatalf("%v, %v", st, err)
		}
	}
	// An outcome has room of its own, behind the gap.
	outcome := Entry{Settles: otherCID(t), Receipt: receipt.Outcome{
		Of: otherCID(t), Request: receipt.Digest{1}, Disposition: receipt.Unobserved{Code: "ENGINE-CRASHED"},
	}}
	st, err := r.Keep(t.Context(), outcome)
	if err != nil || st.Statement.Call.Seq != before.Statements+3+1 {
		t.Fatalf("%v, %v", st, err)
	}
	for range 4 {
		if _, err := r.Offer(t.Context(), fault("INTERNAL")); err != nil {
			t.Fatal(err)
		}
	}
	if s := standing(t, r); s.Lost != 4 || s.Statements != before.Statements+2 {
		t.Errorf("%+v", s)
	}
	if err := r.Flush(t.Context()); report.CodeOf(err) == report.CodeOK || err == nil {
		t.Errorf("flushed into a log that is down: %v", err)
	}
	// Another process, and the log is there again.
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	down = false
	if r, err = Open(cl, cfg); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if s := standing(t, r); s.Lost != 4 {
		t.Errorf("after a restart %+v", s)
	}
	stop := draining(t, r)
	eventually(t, "the gap is disclosed", func() bool { s := standing(t, r); return s.Lost == 0 && s.Unanswered == 0 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	var gaps []uint64
	for st, err := range r.Statements(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if g, ok := st.Statement.Receipt.(receipt.Gap); ok {
			gaps = append(gaps, g.Count)
		}
	}
	if len(gaps) != 2 || gaps[0] != 3 || gaps[1] != 4 {
		t.Errorf("gaps of %d", gaps)
	}
	rec, err := r.CloseRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if tally := rec.Statement.Statement.Receipt.(receipt.RunClose); tally.Gaps != 2 || tally.Outcomes.Unobserved != 1 {
		t.Errorf("%+v", tally)
	}
	found := false
	for _, f := range c.audited().Checks {
		found = found || f.Code == report.CodeLaw5Gap
		if f.Answer == report.Refuted && strings.HasPrefix(string(f.Code), "LAW5") {
			t.Errorf("%s: %s %s %s", f.Name, f.Answer, f.Code, f.Actual)
		}
	}
	if !found {
		t.Error("the audit does not tell of a gap")
	}
}

func TestDrainGoesOnUntilTheLogIsBack(t *testing.T) {
	l := servertest.New(t)
	var down atomic.Bool
	var asked atomic.Int64
	b := &between{before: func(int64) (*http.Response, error) {
		if down.Load() {
			asked.Add(1)
			return answer(429, nil, `{"code":"BUSY"}`), nil
		}
		return nil, nil
	}}
	c := dial(t, l, b)
	r := create(t, c, filepath.Join(t.TempDir(), "run"), "back")
	r.pause = time.Millisecond
	if _, err := r.Record(t.Context(), open("1")); err != nil {
		t.Fatal(err)
	}
	down.Store(true)
	stop := draining(t, r)
	for range 5 {
		if _, err := r.Keep(t.Context(), fault("RULE-FAILED")); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the log is asked again and again", func() bool { return asked.Load() > 2*attempts })
	if s := standing(t, r); s.Unanswered != 5 {
		t.Errorf("%+v", s)
	}
	down.Store(false)
	eventually(t, "everything is answered", func() bool { return standing(t, r).Unanswered == 0 })
	// It waits, and hears of the next.
	if _, err := r.Keep(t.Context(), fault("INTERNAL")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the next is answered", func() bool { return standing(t, r).Unanswered == 0 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	if l.Server.Head().Size != 8 {
		t.Errorf("%d leaves", l.Server.Head().Size)
	}
}

func TestDrainEnds(t *testing.T) {
	l := servertest.New(t)
	mode := atomic.Value{}
	mode.Store("")
	b := &between{
		before: func(int64) (*http.Response, error) {
			if mode.Load() == "refuse" {
				return answer(403, nil, `{"code":"KEY-ENDED"}`), nil
			}
			return nil, nil
		},
		after: func(_ int64, body []byte) []byte {
			if mode.Load() == "garbage" {
				return []byte("garbage")
			}
			return body
		},
	}
	for _, c := range []struct {
		mode string
		code report.Code
	}{{"refuse", report.CodeKeyEnded}, {"garbage", report.CodeJSONSyntax}} {
		t.Run(c.mode, func(t *testing.T) {
			mode.Store("")
			r := create(t, dial(t, l, b), filepath.Join(t.TempDir(), "run"), "ends-"+c.mode)
			if _, err := r.Record(t.Context(), open("1")); err != nil {
				t.Fatal(err)
			}
			mode.Store(c.mode)
			if _, err := r.Keep(t.Context(), fault("INTERNAL")); err != nil {
				t.Fatal(err)
			}
			if err := r.Drain(t.Context()); report.CodeOf(err) != c.code {
				t.Errorf("%v, want %s", err, c.code)
			}
			mode.Store("")
			if err := r.Flush(t.Context()); err != nil { // what was kept is still there
				t.Error(err)
			}
			if got := len(standing(t, r).Evidence); got != map[string]int{"garbage": 1}[c.mode] {
				t.Errorf("%d pieces of evidence", got)
			}
		})
	}
	t.Run("closed", func(t *testing.T) {
		mode.Store("")
		r := create(t, dial(t, l, b), filepath.Join(t.TempDir(), "run"), "ends-closed")
		done := make(chan error, 1)
		go func() { done <- r.Drain(context.Background()) }()
		if _, err := r.Record(t.Context(), open("1")); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestRecordAndKeepTogether(t *testing.T) {
	l := servertest.New(t)
	r := create(t, dial(t, l, nil), filepath.Join(t.TempDir(), "run"), "together")
	if _, err := r.Record(t.Context(), open("1")); err != nil {
		t.Fatal(err)
	}
	stop := draining(t, r)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				if _, err := r.Keep(t.Context(), fault("RULE-FAILED")); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range 5 {
				rec, err := r.Record(t.Context(), fault("INTERNAL"))
				if err != nil {
					t.Error(err)
				} else if rec.Index != rec.Statement.Statement.Call.Seq+1 {
					t.Errorf("seq %d stands at %d", rec.Statement.Statement.Call.Seq, rec.Index)
				}
			}
		})
		wg.Go(func() {
			for range 3 {
				_, _ = r.CheckPromises(t.Context())
				for _, err := range r.Statements(t.Context()) {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if s := standing(t, r); s.Statements != 61 || s.Unanswered != 0 || l.Server.Head().Size != 62 {
		t.Errorf("%+v; %d leaves", s, l.Server.Head().Size)
	}
}

// A statement that waits for its turn is not sent ahead of it by whoever looks.
func TestLookingSendsNothingAhead(t *testing.T) {
	l := servertest.New(t)
	c := dial(t, l, nil)
	dir := filepath.Join(t.TempDir(), "run")
	r := create(t, c, dir, "ahead")
	if _, err := r.Record(t.Context(), open("1")); err != nil {
		t.Fatal(err)
	}
	var last *receipt.Decoded
	for range 2 {
		st, err := r.Keep(t.Context(), fault("INTERNAL"))
		if err != nil {
			t.Fatal(err)
		}
		last = st
	}
	past, err := Look(dir)
	if err != nil {
		t.Fatal(err)
	}
	before := l.Server.Head().Size
	if rec, err := past.Bundle(t.Context(), c, last.CID); err == nil {
		t.Errorf("seq 2 is leaf %d, before seq 1", rec.Index)
	}
	if size := l.Server.Head().Size; size != before {
		t.Errorf("%d leaves, and %d before", size, before)
	}
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if past, err = Look(dir); err != nil {
		t.Fatal(err)
	}
	if rec, err := past.Bundle(t.Context(), c, last.CID); err != nil || rec.Index != before+1 {
		t.Errorf("%v, %v", rec, err)
	}
}
