package main

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/server/servertest"
)

// requests are n signed submissions to a log of package servertest.
func requests(t testing.TB, f form, n int) [][]byte {
	t.Helper()
	envs, err := envelopes(servertest.Key(servertest.Engine), "test", n)
	if err != nil {
		t.Fatal(err)
	}
	all := make([][]byte, n)
	for i, env := range envs {
		body, err := f.body(env)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = request(f.mediaType, body)
	}
	return all
}

func callersTo(t testing.TB, l *servertest.Log, n int) []*caller {
	t.Helper()
	callers := make([]*caller, n)
	for i := range callers {
		c, err := dial(strings.TrimPrefix(l.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.conn.Close() })
		callers[i] = c
	}
	return callers
}

// TestDrive: a load puts every statement into the log once, in both forms, and
// counts what is not new.
func TestDrive(t *testing.T) {
	for _, f := range forms() {
		l := servertest.New(t)
		reqs := requests(t, f, 60)
		callers := callersTo(t, l, 7)
		for _, failed := range []int{0, 60} {
			got, err := drive(callers, reqs)
			if err != nil {
				t.Fatal(err)
			}
			if got.Failed != failed || got.Statements != 60 || got.Rate <= 0 || got.P50 <= 0 || got.P99 < got.P50 {
				t.Errorf("%s: %+v, want %d failed", f.name, got, failed)
			}
		}
		if size := l.Server.Head().Size; size != 61 {
			t.Errorf("%s: size %d, want 61", f.name, size)
		}
		if err := again(callers[0], reqs, bundle.Options{Policy: l.Policy, Engines: l.Engines}); err != nil {
			t.Error(err)
		}
	}
}

// TestSizes: statements are of the size that the goals speak of.
func TestSizes(t *testing.T) {
	for _, req := range requests(t, forms()[0], 3) {
		_, body, _ := strings.Cut(string(req), "\r\n\r\n")
		if n := len(body); n < 1300 || n > 1500 {
			t.Errorf("a leaf of %d bytes, want about 1,400", n)
		}
	}
}

// BenchmarkLog is a whole load in one process, over a real directory, for
// profiles; what counts is measured by the command.
func BenchmarkLog(b *testing.B) {
	fs, err := durable.OpenDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	l := servertest.On(b, fs)
	reqs := requests(b, forms()[0], b.N)
	callers := callersTo(b, l, 64)
	b.ReportAllocs()
	b.ResetTimer()
	got, err := drive(callers, reqs)
	if err != nil {
		b.Fatal(err)
	}
	if got.Failed > 0 {
		b.Fatalf("%d failed", got.Failed)
	}
}
