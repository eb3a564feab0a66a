package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/report"
)

// witnessed is a log whose witnesses cosign when they are told to.
type witnessed struct {
	*testlog.Log
	mu        sync.Mutex
	cosigned  uint64 // size of the tree that the witnesses have cosigned
	waits     int    // answers with their cosignatures that come late: 202 first
	asked     []string
	published []byte // what /checkpoint answers instead
	ended     bool   // takes nothing new
}

func newWitnessed(t *testing.T) (*witnessed, *Client, *httptest.Server) {
	t.Helper()
	w := &witnessed{Log: testlog.New(t)}
	srv := httptest.NewServer(w)
	t.Cleanup(srv.Close)
	return w, w.client(t, srv.URL, false), srv
}

func (w *witnessed) client(t *testing.T, url string, level bool) *Client {
	t.Helper()
	c, err := New(Config{URL: url, Policy: w.Policy("2", "w1", "w2"), Engines: w.Engines(), Witnessed: level})
	if err != nil {
		t.Fatal(err)
	}
	c.wait = func(context.Context, time.Duration) error { return nil }
	t.Cleanup(c.Close)
	return c
}

func (w *witnessed) config(t *testing.T, name string) RunConfig {
	cfg := runConfig(filepath.Join(t.TempDir(), "run"), name)
	cfg.Key = testlog.Key("engine")
	return cfg
}

func (w *witnessed) cosign() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cosigned = w.Size()
}

func (w *witnessed) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Method == http.MethodGet {
		name := r.URL.Path[1:]
		b := w.published
		if name == "v1/registry" {
			_, _ = rw.Write((&bundle.Chain{Leaves: w.Chain(w.Size()), Checkpoint: w.Checkpoint(w.Size())}).Append(nil))
			return
		}
		if name != "checkpoint" {
			f, ok := w.Site(w.cosigned)[name]
			if !ok {
				http.NotFound(rw, r)
				return
			}
			b = f.Data
		} else if b == nil {
			b = w.Checkpoint(w.cosigned, "w1", "w2")
		}
		_, _ = rw.Write(b)
		return
	}
	w.asked = append(w.asked, r.URL.Query().Get("wait"))
	leaf, _ := io.ReadAll(r.Body)
	index := w.Size()
	for i, have := range w.Leaves {
		if string(have) == string(leaf) {
			index = uint64(i)
		}
	}
	if index == w.Size() && w.ended {
		rw.WriteHeader(http.StatusGone)
		_, _ = io.WriteString(rw, `{"code":"LOG-FROZEN","expected":"a log that goes on","actual":"one that ended","fix":"submit to example.com/thief"}`)
		return
	}
	if index == w.Size() {
		w.AppendLeaf(leaf)
	}
	if w.asked[len(w.asked)-1] == "witnessed" && w.waits == 0 {
		_, _ = rw.Write(w.Bundle(index, w.Size(), "w1", "w2").Append(nil))
		return
	}
	if w.waits > 0 {
		w.waits--
		rw.WriteHeader(http.StatusAccepted)
	}
	_, _ = rw.Write(w.Bundle(index, w.Size()).Append(nil))
}

func TestPromisesAreKeptUntilWitnessed(t *testing.T) {
	w, c, _ := newWitnessed(t)
	cfg := w.config(t, "promises")
	r, err := Create(c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range []Entry{open("1"), fault("INTERNAL"), fault("INTERNAL")} {
		rec, err := r.Record(t.Context(), e)
		if err != nil || rec.Level != bundle.Promise {
			t.Fatalf("%d: %v, %v", i, rec, err)
		}
		if i == 1 {
			w.cosign()
		}
	}
	if s := standing(t, r); s.Promises != 3 || s.Fulfilled != 0 || s.Oldest != 1 {
		t.Errorf("%+v", s)
	}
	// Two are covered, one is above what was cosigned.
	left, err := r.CheckPromises(t.Context())
	if err != nil || left != 1 {
		t.Fatalf("%d, %v", left, err)
	}
	// An old checkpoint, and one that lacks a witness, fulfil nothing.
	w.published = w.Checkpoint(w.Size(), "w1")
	if left, err = r.CheckPromises(t.Context()); err != nil || left != 1 {
		t.Fatalf("%d, %v", left, err)
	}
	w.published = nil
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	past, err := Look(cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if s := past.Standing(); s.Promises != 1 || s.Fulfilled != 2 || s.Oldest != 3 || s.Run != "promises" {
		t.Errorf("after a restart %+v", s)
	}
	if r, err = Open(c, cfg); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.cosign()
	if left, err = r.CheckPromises(t.Context()); err != nil || left != 0 {
		t.Fatalf("%d, %v", left, err)
	}
	if s := standing(t, r); s.Promises != 0 || s.Fulfilled != 3 || len(s.Evidence) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestWitnessedAnswersAreWaitedFor(t *testing.T) {
	w, _, srv := newWitnessed(t)
	c := w.client(t, srv.URL, true)
	r, err := Create(c, w.config(t, "waits"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.waits = 2
	rec, err := r.Record(t.Context(), open("1"))
	if err != nil || rec.Level != bundle.Witnessed || strings.Join(w.asked, " ") != "witnessed witnessed witnessed" {
		t.Fatalf("%v, %v, after %q", rec, err, w.asked)
	}
	w.waits = 100
	_, err = r.Record(t.Context(), fault("INTERNAL"))
	var late *UnwitnessedError
	if !errors.As(err, &late) || report.CodeOf(err) != report.CodeQuorumUnmet || late.Promise.Index != 2 {
		t.Fatalf("%v", err)
	}
	if s := standing(t, r); s.Unanswered != 1 || len(s.Evidence) != 0 {
		t.Errorf("%+v", s)
	}
	w.waits = 0
	if rec, err = r.Record(t.Context(), fault("INTERNAL")); err != nil || rec.Index != 2 || w.Size() != 3 {
		t.Errorf("%v, %v, %d leaves", rec, err, w.Size())
	}
}

func TestABrokenPromiseIsEvidence(t *testing.T) {
	// Two logs with one key and one genesis: one log, forked.
	one, two := servertest.New(t), servertest.New(t)
	c := dial(t, one, nil)
	cfg := runConfig(filepath.Join(t.TempDir(), "run"), "broken")
	r, err := Create(c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Record(t.Context(), open("1")); err != nil {
		t.Fatal(err)
	}
	other := dial(t, two, nil)
	for _, run := range []string{"a", "b", "c"} {
		if _, err := other.Submit(t.Context(), envelope(t, run)); err != nil {
			t.Fatal(err)
		}
	}
	c.prefix = two.URL
	left, err := r.CheckPromises(t.Context())
	var p *ProofError
	if left != 1 || !errors.As(err, &p) || p.Code != report.CodeLogForked || p.Fork() == nil {
		t.Fatalf("%d, %v", left, err)
	}
	// Nothing more is said, and the evidence convinces others.
	if _, err := r.Record(t.Context(), fault("INTERNAL")); report.CodeOf(err) != report.CodeLogForked {
		t.Errorf("after a fork: %v", err)
	}
	if _, err := r.Keep(t.Context(), fault("INTERNAL")); report.CodeOf(err) != report.CodeLogForked {
		t.Errorf("after a fork: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(cfg.Dir, evidenceDir, "*.fork.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if rep := audit.Fork(b, one.Policy); rep.Overall() != report.AllVerified {
		t.Errorf("the evidence is %s:\n%s", rep.Overall(), rep.Text())
	}
	if s := standing(t, r); len(s.Evidence) != 1 || s.Promises != 1 {
		t.Errorf("%+v", s)
	}
}

// A fork at one size shows at once, and is evidence too.
func TestAForkedAnswerIsEvidence(t *testing.T) {
	one, two := servertest.New(t), servertest.New(t)
	c := dial(t, one, nil)
	cfg := runConfig(filepath.Join(t.TempDir(), "run"), "forked")
	r, err := Create(c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Record(t.Context(), open("1")); err != nil {
		t.Fatal(err)
	}
	c.prefix = two.URL
	if _, err := r.Record(t.Context(), fault("INTERNAL")); report.CodeOf(err) != report.CodeLogForked {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(cfg.Dir, evidenceDir, "000001-LOG-FORKED-*"))
	if len(files) != 3 { // leaf, answer, fork
		t.Fatalf("%q", files)
	}
	b, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	if rep := audit.Fork(b, one.Policy); rep.Overall() != report.AllVerified {
		t.Errorf("%s is %s", files[1], rep.Overall())
	}
}

// What does not prove anything is kept, and is no proof against the log either.
func TestPromisesOverTilesThatDoNotFit(t *testing.T) {
	w, c, _ := newWitnessed(t)
	r, err := Create(c, w.config(t, "tiles"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, e := range []Entry{open("1"), fault("INTERNAL")} {
		if _, err := r.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	w.AppendLeaf([]byte("another"))
	w.cosign()
	w.published = w.Checkpoint(w.Size(), "w1", "w2")
	w.cosigned = 1 // the tiles of another tree
	if left, err := r.CheckPromises(t.Context()); err != nil && report.CodeOf(err) == report.CodeLogForked || left != 2 {
		t.Fatalf("%d, %v", left, err)
	}
	w.published = []byte("garbage")
	if left, err := r.CheckPromises(t.Context()); err == nil || left != 2 {
		t.Fatalf("%d, %v", left, err)
	}
	w.published = nil
	w.cosign()
	if left, err := r.CheckPromises(t.Context()); err != nil || left != 0 {
		t.Fatalf("%d, %v", left, err)
	}
	if rec, err := r.Record(t.Context(), fault("INTERNAL")); err != nil || rec == nil {
		t.Errorf("the run goes on: %v", err)
	}
}

// A log that answers with somebody else's proof is not believed, and what it said
// is kept.
func TestAnotherProofIsEvidence(t *testing.T) {
	l := servertest.New(t)
	other, err := dial(t, l, nil).Submit(t.Context(), envelope(t, "other"))
	if err != nil {
		t.Fatal(err)
	}
	lying := true
	b := &between{after: func(_ int64, body []byte) []byte {
		if lying {
			return other.JSON
		}
		return body
	}}
	cfg := runConfig(filepath.Join(t.TempDir(), "run"), "mine")
	r, err := Create(dial(t, l, b), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 3 { // the same again is kept once
		if _, err := r.Record(t.Context(), open("1")); report.CodeOf(err) != report.CodeAnswerStatement {
			t.Fatal(err)
		}
	}
	names := standing(t, r).Evidence
	if len(names) != 1 || !strings.HasPrefix(names[0], "000000-ANSWER-STATEMENT-") {
		t.Fatalf("%q", names)
	}
	at := filepath.Join(cfg.Dir, evidenceDir, names[0])
	if got, err := os.ReadFile(at + ".answer"); err != nil || string(got) != string(other.JSON) {
		t.Errorf("the answer is not kept as it came: %v", err)
	}
	leaf, err := os.ReadFile(at + ".leaf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dsse.ParseLeaf(leaf); err != nil {
		t.Error(err)
	}
	lying = false
	if rec, err := r.Record(t.Context(), open("1")); err != nil || rec.Statement.Statement.Call.Seq != 0 {
		t.Errorf("%v, %v", rec, err)
	}
	// A log that lies at length does not fill the disk.
	n := 0
	b.after = func(int64, []byte) []byte { n++; return []byte(strings.Repeat("x", n)) }
	for range 3 * maxEvidence {
		if _, err := r.Record(t.Context(), fault("INTERNAL")); err == nil {
			t.Fatal("garbage was believed")
		}
	}
	if got := len(standing(t, r).Evidence); got != maxEvidence {
		t.Errorf("%d pieces of evidence", got)
	}
}
