package server_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/report"
)

// witness stands in for one: it answers what was put into it, at the path that
// C2SP tlog-witness has for the log, and nothing elsewhere.
type witness struct {
	*httptest.Server
	status atomic.Int64
	note   atomic.Pointer[[]byte]
}

func newWitness(t *testing.T, origin string) *witness {
	w := &witness{}
	w.status.Store(http.StatusNotFound)
	path := fmt.Sprintf("/mon/%x/checkpoint", sha256.Sum256([]byte(origin)))
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != path {
			out.WriteHeader(http.StatusTeapot)
			return
		}
		if at := w.status.Load(); at != http.StatusOK {
			if at == http.StatusFound {
				out.Header().Set("Location", "https://example.com/")
			}
			out.WriteHeader(int(at))
			return
		}
		_, _ = out.Write(*w.note.Load())
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *witness) knows(note []byte) {
	w.note.Store(&note)
	w.status.Store(http.StatusOK)
}

// TestWitnessAnchor: a witness is asked by its address before anything is
// signed. What it saw and the log has not is a rollback; a log that it never saw
// starts; one that cannot be asked stops the start unless the operator says so.
func TestWitnessAnchor(t *testing.T) {
	files := faultfs.New()
	l := servertest.On(t, files)
	record(t, l, "one")
	l.Stop()
	older := files.Clone()
	w := newWitness(t, servertest.Origin)
	l.Anchors = []string{w.URL + "/mon"}
	l.Start()
	record(t, l, "two")
	if word := says(t, l, "/mon"); word != "asked" {
		t.Errorf("rollback_protection is %q", word)
	}
	newest := l.Server.Head().Note
	l.Stop()
	w.knows(newest)
	l.Start()
	l.Stop()

	try := func(anchor string, unreachable bool) (string, error) {
		cfg := l.Config()
		cfg.FS, cfg.Anchors, cfg.UnreachableAnchors = older.Clone(), []string{anchor}, unreachable
		s, err := server.Open(cfg)
		if err != nil {
			return "", err
		}
		word := s.Protection()
		return word, s.Close()
	}
	for name, c := range map[string]struct {
		set    func()
		anchor string
		code   report.Code
	}{
		"ahead":      {func() { w.knows(newest) }, w.URL + "/mon", report.CodeLogRollback},
		"a slash":    {func() { w.knows(newest) }, w.URL + "/mon/", report.CodeLogRollback},
		"500":        {func() { w.status.Store(500) }, w.URL + "/mon", report.CodeAnchorUnreachable},
		"a redirect": {func() { w.status.Store(302) }, w.URL + "/mon", report.CodeAnchorUnreachable},
		"garbage":    {func() { w.knows([]byte("hello\n")) }, w.URL + "/mon", report.CodeAnchorUnreachable},
		"too much":   {func() { w.knows([]byte(strings.Repeat("a", 1<<20))) }, w.URL + "/mon", report.CodeAnchorUnreachable},
		"gone":       {func() {}, "http://127.0.0.1:1/mon", report.CodeAnchorUnreachable},
	} {
		c.set()
		if _, err := try(c.anchor, false); report.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if word, err := try("http://127.0.0.1:1/mon", true); err != nil || word != "degraded" {
		t.Errorf("rollback_protection is %q, %v", word, err)
	}
	// The operator's word is about whom nobody can ask, not about what was said.
	w.knows(newest)
	if _, err := try(w.URL+"/mon", true); report.CodeOf(err) != report.CodeLogRollback {
		t.Errorf("%v", err)
	}
}
