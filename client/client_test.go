package client

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(engineEnv); dir != "" { // kill_test.go
		fmt.Fprintln(os.Stderr, engine(dir))
		os.Exit(1)
	}
	// Every example syncs a few files; -rapid.checks asks for more.
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// between is a transport that may answer instead of the log, or change what
// the log says. Requests that it lets through are counted.
type between struct {
	next    *http.Transport
	before  func(n int64) (*http.Response, error) // nil, nil: let it through
	after   func(n int64, body []byte) []byte
	n, sent atomic.Int64
}

func (b *between) RoundTrip(r *http.Request) (*http.Response, error) {
	n := b.n.Add(1)
	if b.before != nil {
		if resp, err := b.before(n); resp != nil || err != nil {
			return resp, err
		}
	}
	b.sent.Add(1)
	resp, err := b.next.RoundTrip(r)
	if err != nil || b.after == nil {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(b.after(n, body)))
	return resp, nil
}

func answer(status int, header http.Header, body string) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader([]byte(body)))}
}

// dial returns a client of l that goes through b, without waiting in between.
func dial(t *testing.T, l *servertest.Log, b *between) *Client {
	t.Helper()
	cfg := Config{URL: l.URL, Policy: l.Policy, Engines: l.Engines}
	if b != nil {
		b.next = http.DefaultTransport.(*http.Transport).Clone()
		t.Cleanup(b.next.CloseIdleConnections)
		cfg.Transport = b
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	t.Cleanup(c.Close)
	return c
}

func runOpen(version string) receipt.RunOpen {
	return receipt.RunOpen{
		Engine:     receipt.Engine{Name: "test-engine", Version: receipt.Name(version)},
		Vocabulary: receipt.StandardVocabulary().Digest(), Logs: []receipt.Name{servertest.Origin},
	}
}

// envelope is a signed run-open of a run.
func envelope(t *testing.T, run string) *dsse.Envelope {
	t.Helper()
	key := servertest.Key(servertest.Engine)
	payload, err := receipt.Statement{
		Call:    receipt.Call{By: keyID(key), Run: receipt.Name(run), At: 1},
		Receipt: runOpen("1"),
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	e, err := dsse.Sign(dsse.ReceiptType, payload, key)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestSubmit(t *testing.T) {
	l := servertest.New(t)
	c := dial(t, l, nil)
	if !c.Seen().IsZero() {
		t.Error("a client has seen a checkpoint before the first answer")
	}
	e := envelope(t, "a")
	rec, err := c.Submit(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Index != 1 || rec.Report.Overall() != report.AllVerified {
		t.Errorf("index %d, %s", rec.Index, rec.Report.Overall())
	}
	if s := c.Seen(); s.Origin != servertest.Origin || s.Size != 2 {
		t.Errorf("seen %v", s)
	}
	b, err := bundle.Parse(rec.JSON)
	if err != nil || len(b.Registry) != 1 {
		t.Fatalf("the answer is no bundle with a registry chain: %v, %v", b, err)
	}
	// Again: the first index.
	if _, err := c.Submit(t.Context(), envelope(t, "b")); err != nil {
		t.Fatal(err)
	}
	if again, err := c.Submit(t.Context(), e); err != nil || again.Index != 1 {
		t.Errorf("again: %v, %v", again, err)
	}
}

// Whatever a log answers beside the truth, nothing comes back but an error
// with the evidence.
func TestSubmitRefusesWhatDoesNotProve(t *testing.T) {
	l := servertest.New(t)
	honest := dial(t, l, nil)
	other, err := honest.Submit(t.Context(), envelope(t, "other"))
	if err != nil {
		t.Fatal(err)
	}
	edit := func(f func(b *bundle.Bundle)) func(int64, []byte) []byte {
		return func(_ int64, body []byte) []byte {
			b, err := bundle.Parse(body)
			if err != nil {
				t.Fatal(err)
			}
			f(b)
			return b.Append(nil)
		}
	}
	for _, c := range []struct {
		name  string
		after func(int64, []byte) []byte
		code  report.Code
	}{
		{"a sound bundle of another leaf", func(int64, []byte) []byte { return other.JSON }, report.CodeAnswerStatement},
		{"the proof of another leaf", edit(func(b *bundle.Bundle) { b.Proof = other.Bundle.Proof }), ""},
		{"another index", edit(func(b *bundle.Bundle) { b.Proof.Index-- }), ""},
		{"a hash of the proof changed", edit(func(b *bundle.Bundle) { b.Proof.Hashes[0][0] ^= 1 }), ""},
		{"a checkpoint changed", edit(func(b *bundle.Bundle) { b.Proof.Checkpoint[len(servertest.Origin)+1] ^= 1 }), ""},
		{"no registry", edit(func(b *bundle.Bundle) { b.Registry = nil }), ""},
		{"another signature", edit(func(b *bundle.Bundle) {
			i := bytes.LastIndex(b.Envelope, []byte(`"sig":"`)) + 9
			b.Envelope[i] ^= 1
		}), ""},
		{"no bundle", func(int64, []byte) []byte { return []byte("{}") }, ""},
		{"nothing", func(int64, []byte) []byte { return nil }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := dial(t, l, &between{after: c.after})
			rec, err := cl.Submit(t.Context(), envelope(t, "mine"))
			var p *ProofError
			if rec != nil || !errors.As(err, &p) {
				t.Fatalf("%v, %v; want a ProofError", rec, err)
			}
			if c.code != "" && p.Code != c.code {
				t.Errorf("code %s, want %s", p.Code, c.code)
			}
			if p.Code == report.CodeOK || p.Code == report.CodeInternal || p.Leaf == nil {
				t.Errorf("evidence: code %s, leaf of %d bytes", p.Code, len(p.Leaf))
			}
			if !cl.Seen().IsZero() {
				t.Error("a checkpoint was believed")
			}
			t.Log(err)
		})
	}
}

func TestSubmitRefusesAFork(t *testing.T) {
	// Two logs with one key and one genesis: one log, forked.
	one, two := servertest.New(t), servertest.New(t)
	c := dial(t, one, nil)
	if _, err := c.Submit(t.Context(), envelope(t, "a")); err != nil {
		t.Fatal(err)
	}
	c.prefix = two.URL
	_, err := c.Submit(t.Context(), envelope(t, "b"))
	var p *ProofError
	if !errors.As(err, &p) || p.Code != report.CodeLogForked {
		t.Fatalf("%v; want %s", err, report.CodeLogForked)
	}
	if !bytes.Contains(p.Prior, []byte(servertest.Origin)) || p.Answer == nil {
		t.Error("both notes are not there as evidence")
	}
}

func TestSubmitTriesAgain(t *testing.T) {
	l := servertest.New(t)
	busy := http.Header{"Retry-After": {"1"}}
	for _, c := range []struct {
		name   string
		before func(n int64) (*http.Response, error)
		tries  int64
		want   any // nil: it succeeds
	}{
		{"busy twice", func(n int64) (*http.Response, error) {
			if n < 3 {
				return answer(503, busy, `{"code":"BUSY"}`), nil
			}
			return nil, nil
		}, 3, nil},
		{"connection lost once", func(n int64) (*http.Response, error) {
			if n == 1 {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, nil
		}, 2, nil},
		{"always busy", func(int64) (*http.Response, error) { return answer(503, busy, ""), nil }, attempts, new(*UnansweredError)},
		{"always lost", func(int64) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, attempts, new(*UnansweredError)},
		{"refused", func(int64) (*http.Response, error) { return answer(403, nil, `{"code":"KEY-UNKNOWN"}`), nil }, 1, new(*RefusedError)},
		{"not a log", func(int64) (*http.Response, error) { return answer(404, nil, "<html>"), nil }, 1, new(*RefusedError)},
		{"sent elsewhere", func(int64) (*http.Response, error) {
			return answer(307, http.Header{"Location": {"http://elsewhere.example/"}}, ""), nil
		}, 1, new(*RefusedError)},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &between{before: c.before}
			_, err := dial(t, l, b).Submit(t.Context(), envelope(t, "a"))
			if c.want == nil && err != nil || c.want != nil && (err == nil || !errors.As(err, c.want)) {
				t.Errorf("%v, want %T", err, c.want)
			}
			if b.n.Load() != c.tries {
				t.Errorf("%d requests, want %d", b.n.Load(), c.tries)
			}
		})
	}
}

func TestSubmitObeysTheLogsPause(t *testing.T) {
	l := servertest.New(t)
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for asked, want := range map[string]time.Duration{"2": 2 * time.Second, in(4 * time.Second): 2 * time.Second, "soon": 0, "-1": 0, in(-time.Hour): 0} {
		c := dial(t, l, &between{before: func(n int64) (*http.Response, error) {
			if n == 1 {
				return answer(503, http.Header{"Retry-After": {asked}}, ""), nil
			}
			return nil, nil
		}})
		var waited time.Duration
		c.wait = func(_ context.Context, d time.Duration) error { waited = d; return nil }
		if _, err := c.Submit(t.Context(), envelope(t, "a")); err != nil {
			t.Fatal(err)
		}
		if want == 0 && waited > firstWait || want > 0 && (waited < want || waited > want+2*time.Second) {
			t.Errorf("Retry-After %q: waited %v, want %v", asked, waited, want)
		}
	}
	// Who asks for a long time is not asked again by this caller.
	for asked, want := range map[string]time.Duration{"60": time.Minute, "3600000": maxAfter} {
		b := &between{before: func(int64) (*http.Response, error) {
			return answer(503, http.Header{"Retry-After": {asked}}, `{"code":"LOG-STOPPED"}`), nil
		}}
		_, err := dial(t, l, b).Submit(t.Context(), envelope(t, "a"))
		var silent *UnansweredError
		if !errors.As(err, &silent) || silent.After != want || silent.Attempts != 1 || b.n.Load() != 1 || report.CodeOf(err) != report.CodeLogStopped {
			t.Errorf("Retry-After %q: %v after %d requests", asked, err, b.n.Load())
		}
	}
}

func TestSubmitStopsWithItsContext(t *testing.T) {
	l := servertest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := dial(t, l, &between{before: func(int64) (*http.Response, error) {
		cancel()
		return answer(503, nil, ""), nil
	}})
	c.wait = sleep // the real one: it must not sleep
	if _, err := c.Submit(ctx, envelope(t, "a")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
}

func TestLogsRefusalKeepsItsCode(t *testing.T) {
	l := servertest.New(t)
	key := servertest.Key("nobody")
	payload, err := receipt.Statement{Call: receipt.Call{By: keyID(key), Run: "a", At: 1}, Receipt: runOpen("1")}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	e, err := dsse.Sign(dsse.ReceiptType, payload, key)
	if err != nil {
		t.Fatal(err)
	}
	_, err = dial(t, l, nil).Submit(t.Context(), e)
	var r *RefusedError
	if !errors.As(err, &r) || r.Status != http.StatusForbidden || report.CodeOf(err) != report.CodeKeyUnknown {
		t.Errorf("%v; want 403 KEY-UNKNOWN", err)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	l := servertest.New(t)
	for _, cfg := range []Config{
		{},
		{URL: l.URL},
		{URL: l.URL, Policy: l.Policy},
		{URL: "ftp://x", Policy: l.Policy, Engines: l.Engines},
		{URL: "127.0.0.1:80", Policy: l.Policy, Engines: l.Engines},
		{URL: l.URL + "?x=y", Policy: l.Policy, Engines: l.Engines},
	} {
		if c, err := New(cfg); err == nil {
			c.Close()
			t.Errorf("%q was taken", cfg.URL)
		}
	}
}
