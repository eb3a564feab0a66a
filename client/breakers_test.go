package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/report"
)

// A log that takes a request and says nothing, or says it byte by byte, costs one
// attempt's time and is asked again; the caller's context ends it at once.
func TestSlowLogs(t *testing.T) {
	l := servertest.New(t)
	for name, handle := range map[string]func(w http.ResponseWriter, r *http.Request){
		"silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"drips": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(" "))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Millisecond)
			}
		},
		"hangs up": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				conn.Close()
			}
		},
		"half a head": func(w http.ResponseWriter, _ *http.Request) {
			conn, buf, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = buf.WriteString("HTTP/1.1 201 Created\r\nContent-Le")
				_ = buf.Flush()
				conn.Close()
			}
		},
		"less than it says": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte("{"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				// Without the body read, the server does not see that a client is gone.
				b := make([]byte, r.ContentLength)
				_, _ = r.Body.Read(b)
				handle(w, r)
			}))
			t.Cleanup(srv.Close)
			c := dial(t, l, nil)
			c.prefix, c.timeout = srv.URL, 20*time.Millisecond
			_, err := c.Submit(t.Context(), envelope(t, "slow"))
			var silent *UnansweredError
			if !errors.As(err, &silent) || asked.Load() < attempts {
				t.Errorf("%v, after %d requests", err, asked.Load())
			}
			c.timeout = time.Hour
			if name != "silent" && name != "drips" {
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if _, err := c.Submit(ctx, envelope(t, "slow")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Another log is no log of the trust files, however well it answers.
func TestAnotherLog(t *testing.T) {
	l := servertest.New(t)
	_, _, srv := newWitnessed(t) // of another name and key
	c := dial(t, l, nil)
	c.prefix = srv.URL
	cfg := runConfig(filepath.Join(t.TempDir(), "run"), "other")
	r := create(t, c, cfg.Dir, "other")
	_, err := r.Record(t.Context(), open("1"))
	var p *ProofError
	if !errors.As(err, &p) || p.Code != report.CodeLogOther {
		t.Fatalf("%v", err)
	}
	if s := standing(t, r); len(s.Evidence) != 1 || s.Unanswered != 1 || !c.Seen().IsZero() {
		t.Errorf("%+v", s)
	}
	c.prefix = l.URL
	if rec, err := r.Record(t.Context(), open("1")); err != nil || rec.Index != 1 {
		t.Errorf("%v, %v", rec, err)
	}
	c.prefix = srv.URL
	if left, err := r.CheckPromises(t.Context()); err == nil || left != 1 {
		t.Errorf("%d, %v", left, err)
	}
}

// Nobody is there: every kind of call comes back, and nothing is lost.
func TestNobodyThere(t *testing.T) {
	l := servertest.New(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	c := dial(t, l, nil)
	r := create(t, c, filepath.Join(t.TempDir(), "run"), "nobody")
	if _, err := r.Record(t.Context(), open("1")); err != nil {
		t.Fatal(err)
	}
	c.prefix = "http://" + ln.Addr().String()
	if _, err := r.Keep(t.Context(), fault("INTERNAL")); err != nil {
		t.Error(err)
	}
	var silent *UnansweredError
	if _, err := r.Record(t.Context(), fault("RULE-FAILED")); !errors.As(err, &silent) {
		t.Error(err)
	}
	if err := r.Flush(t.Context()); !errors.As(err, &silent) {
		t.Error(err)
	}
	if _, err := r.CloseRun(t.Context()); !errors.As(err, &silent) {
		t.Error(err)
	}
	if left, err := r.CheckPromises(t.Context()); err == nil || left != 1 {
		t.Errorf("%d, %v", left, err)
	}
	if s := standing(t, r); s.Statements != 2 || s.Unanswered != 1 {
		t.Errorf("%+v", s)
	}
	c.prefix = l.URL
	if _, err := r.CloseRun(t.Context()); err != nil {
		t.Error(err)
	}
}
