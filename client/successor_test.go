package client

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

const heirOrigin = "example.com/log-2"

// handOver ends w, and returns the log that goes on, where it answers, and the
// evidence.
func (w *witnessed) handOver(t *testing.T) (*witnessed, string, *bundle.Succession) {
	t.Helper()
	heir := &witnessed{Log: testlog.Named(t, heirOrigin)}
	srv := httptest.NewServer(heir)
	t.Cleanup(srv.Close)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Freeze(&trust.Heir{Log: heirOrigin, Key: trust.PublicKey(testlog.Public(heirOrigin)), Genesis: heir.Genesis})
	w.ended = true
	final := w.Checkpoint(w.Size(), "w1", "w2")
	heir.Succeed(w.Final(), final)
	return heir, srv.URL, &bundle.Succession{
		Predecessor: &bundle.Chain{Leaves: w.Chain(w.Size()), Checkpoint: final},
		Successor:   &bundle.Chain{Leaves: heir.Chain(heir.Size()), Checkpoint: heir.Checkpoint(heir.Size())},
	}
}

// following is a client of the log that goes on, with trust in the one that ended.
func (w *witnessed) following(t *testing.T, url string, s ...*bundle.Succession) (*Client, error) {
	t.Helper()
	c, err := New(Config{URL: url, Policy: w.Policy("2", "w1", "w2"), Engines: w.Engines(), Successions: s})
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

// A run stops where its log ends, and goes on where the log does.
func TestARunFollowsItsLog(t *testing.T) {
	old, c, srv := newWitnessed(t)
	for range 4 {
		old.Change(trust.Change{})
	}
	cfg := old.config(t, "border")
	r, err := Create(c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	begin := runOpen("1")
	begin.Logs = []receipt.Name{c.Origin(), heirOrigin}
	receipt.SortSet(begin.Logs)
	first, err := r.Record(t.Context(), Entry{Receipt: begin})
	if err != nil {
		t.Fatal(err)
	}
	if _, ended, err := c.Frozen(t.Context()); ended || err != nil {
		t.Fatalf("a log that goes on: %v, %v", ended, err)
	}
	heir, url, evidence := old.handOver(t)

	_, err = r.Record(t.Context(), fault("INTERNAL"))
	if report.CodeOf(err) != report.CodeLogFrozen {
		t.Fatalf("behind the end: %v", err)
	}
	if s := standing(t, r); s.Unanswered != 1 || s.Statements != 2 {
		t.Errorf("behind the end: %+v", s)
	}
	z, ended, err := c.Frozen(t.Context())
	if err != nil || !ended || z.Heir.Log != heirOrigin {
		t.Errorf("frozen: %+v, %v, %v", z, ended, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	c, err = old.following(t, url, evidence)
	if err != nil || c.Origin() != heirOrigin {
		t.Fatal(c, err)
	}
	if r, err = Open(c, cfg); err != nil {
		t.Fatal(err)
	}
	second, err := r.Record(t.Context(), fault("INTERNAL")) // the one that was kept
	if err != nil || second.Statement.Statement.Call.Seq != 1 || second.Statement.Statement.Call.Prev != first.Statement.CID {
		t.Fatalf("%v, %v", second, err)
	}
	third, err := r.Record(t.Context(), fault("INTERNAL"))
	if err != nil || third.Statement.Statement.Call.Seen.Origin != heirOrigin {
		t.Fatalf("%v, %v", third, err)
	}
	if b, err := bundle.Parse(third.JSON); err != nil || bundle.Verify(b, c.known).Overall() == report.AnyRefuted {
		t.Errorf("the caller's trust does not reach the answer: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	// Another process: what it has seen is of the log that goes on, and what the
	// old log proved stays proven.
	c, err = old.following(t, url, evidence)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = Open(c, cfg); err != nil {
		t.Fatal(err)
	}
	if s := c.Seen(); s.Origin != heirOrigin || s.Size <= third.Index {
		t.Errorf("seen %+v", s)
	}
	// The witnesses of the log that goes on say nothing about the old one's word,
	// though its tree is larger by now.
	for heir.Size() <= old.Size() {
		heir.Change(trust.Change{})
	}
	heir.cosign()
	if left, err := r.CheckPromises(t.Context()); err != nil || left != 0 {
		t.Errorf("promises: %d, %v", left, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	past, err := Look(cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if s := past.Standing(); s.Fulfilled != 2 || s.Promises != 1 || s.Bygone != 1 {
		t.Errorf("%+v", s)
	}
	asked := len(old.asked) + len(heir.asked)
	for _, rec := range []*Recorded{first, second, third} {
		again, err := past.Bundle(t.Context(), c, rec.Statement.CID)
		if err != nil || again.Index != rec.Index {
			t.Errorf("%v, %v", again, err)
		}
	}
	if now := len(old.asked) + len(heir.asked); now != asked {
		t.Errorf("%d requests for what was proven", now-asked)
	}
	// An answer that is gone is asked for where it came from, and nowhere else.
	for _, seq := range []uint64{0, 1} {
		if err := os.Remove(filepath.Join(cfg.Dir, answerName(seq))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := past.Bundle(t.Context(), c, first.Statement.CID); err == nil || len(old.asked)+len(heir.asked) != asked {
		t.Errorf("a statement of the log that ended: %v", err)
	}
	if again, err := past.Bundle(t.Context(), c, second.Statement.CID); err != nil || again.Index != second.Index {
		t.Errorf("a statement of the log that goes on: %v", err)
	}

	// The log that ended is not asked for anything new, at whatever URL it stands.
	c, err = old.following(t, srv.URL, evidence)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = Open(c, cfg); err != nil {
		t.Fatal(err)
	}
	old.ended = false // a thief of its key goes on
	_, err = r.Record(t.Context(), fault("INTERNAL"))
	var p *ProofError
	if !errors.As(err, &p) || p.Code != report.CodeLogOther {
		t.Errorf("behind the final tree: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// Who goes on is what registrars say, and nobody else.
func TestFollowRefuses(t *testing.T) {
	old, _, _ := newWitnessed(t)
	heir, url, evidence := old.handOver(t)
	bare := *evidence
	bare.Predecessor = &bundle.Chain{Leaves: evidence.Predecessor.Leaves, Checkpoint: old.Checkpoint(old.Size())}
	young := *evidence
	young.Successor = &bundle.Chain{Leaves: heir.Chain(1), Checkpoint: heir.Checkpoint(1)}
	open := *evidence
	open.Predecessor = &bundle.Chain{Leaves: old.Chain(old.Size() - 1), Checkpoint: old.Checkpoint(old.Size()-1, "w1", "w2")}
	for name, x := range map[string]struct {
		s    []*bundle.Succession
		code report.Code
	}{
		"without witnesses":      {[]*bundle.Succession{&bare}, report.CodeQuorumUnmet},
		"nobody says it":         {[]*bundle.Succession{&young}, report.CodeSuccessionOpen},
		"a log that did not end": {[]*bundle.Succession{&open}, report.CodeSuccessionOpen},
		"twice":                  {[]*bundle.Succession{evidence, evidence}, report.CodeLogOther},
	} {
		_, err := old.following(t, url, x.s...)
		if report.CodeOf(err) != x.code {
			t.Errorf("%s: %v, want %s", name, err, x.code)
		}
	}
}
