package server_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// often makes a server keep its anchors without delay.
func often(s *server.Server) { s.Anchoring(5 * time.Millisecond) }

func record(t *testing.T, l *servertest.Log, run receipt.Name) {
	t.Helper()
	if a := submit(t, l, signed(t, opening(servertest.Engine, run), servertest.Engine)); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
}

// until waits for what happens on another goroutine.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not in time", what)
		}
	}
}

// put replaces file in one step: a server that keeps it never meets it empty,
// which would be an anchor that knows nothing yet.
func put(t *testing.T, file string, b []byte) {
	t.Helper()
	aside := file + ".new"
	if err := os.WriteFile(aside, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, file); err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, file string, note []byte) bool {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(b, note)
}

// says is the rollback_protection of /readyz.
func says(t *testing.T, l *servertest.Log, file string) string {
	t.Helper()
	body := string(get(t, l, "/readyz").body)
	if strings.Contains(body, filepath.Dir(file)) {
		t.Errorf("/readyz tells a path: %s", body)
	}
	_, word, _ := strings.Cut(body, `"rollback_protection":"`)
	word, _, _ = strings.Cut(word, `"`)
	return word
}

// TestAnchor: a file on another volume holds the newest checkpoint, and an older
// copy of the log does not start beside it.
func TestAnchor(t *testing.T) {
	files := faultfs.New()
	l := servertest.On(t, files)
	record(t, l, "one")
	l.Stop()
	older := files.Clone()

	file := filepath.Join(t.TempDir(), "kept")
	put(t, file, nil)
	l.Anchors = []string{file}
	l.Start(often)
	if word := says(t, l, file); word != "anchored" {
		t.Errorf("rollback_protection is %q", word)
	}
	until(t, "the first checkpoint", func() bool { return holds(t, file, l.Server.Head().Note) })
	record(t, l, "two")
	until(t, "the next checkpoint", func() bool { return holds(t, file, l.Server.Head().Note) })
	l.Stop()

	l.Start(func(s *server.Server) { s.Anchoring(time.Hour) })
	record(t, l, "three")
	l.Stop()
	if !holds(t, file, l.Server.Head().Note) {
		t.Error("the last checkpoint before the end is not kept")
	}

	cfg := l.Config()
	cfg.FS = older
	for _, cfg.UnreachableAnchors = range []bool{false, true} {
		s, err := server.Open(cfg)
		if report.CodeOf(err) != "LOG-ROLLBACK" {
			t.Errorf("an older copy, unreachable anchors allowed %v: %v", cfg.UnreachableAnchors, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

// TestAnchorUnreachable: without its anchor a log does not start but by the
// operator's word, and then it says so until the anchor is there.
func TestAnchorUnreachable(t *testing.T) {
	l := servertest.New(t)
	l.Stop()
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage")
	put(t, garbage, []byte("hello\n"))
	for _, file := range []string{filepath.Join(dir, "missing"), filepath.Join(dir, "no", "such", "volume"), dir, garbage} {
		cfg := l.Config()
		cfg.Anchors = []string{file}
		s, err := server.Open(cfg)
		if report.CodeOf(err) != "ANCHOR-UNREACHABLE" {
			t.Errorf("%s: %v", file, err)
		}
		if err == nil {
			s.Close()
		}
	}

	file := filepath.Join(dir, "volume", "kept")
	serving := serve(t, l, file)
	if word := says(t, l, file); word != "degraded" {
		t.Errorf("rollback_protection is %q", word)
	}
	record(t, l, "one")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, file, nil)
	until(t, "the anchor", func() bool { return says(t, l, file) == "anchored" })
	if !holds(t, file, l.Server.Head().Note) {
		t.Error("the anchor does not hold the checkpoint")
	}

	// A volume that goes away is not made up for beside it.
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	record(t, l, "two")
	until(t, "the lost anchor", func() bool { return says(t, l, file) == "degraded" })
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, file, []byte("hello\n"))
	record(t, l, "three")
	if err := serving(); err != nil {
		t.Error(err)
	}
	if !holds(t, file, []byte("hello\n")) {
		t.Error("what is no checkpoint of this log was replaced")
	}
}

// serve serves l with an anchor that need not be reachable, and returns what
// ends it.
func serve(t *testing.T, l *servertest.Log, file string) (end func() error) {
	t.Helper()
	cfg := l.Config()
	cfg.Anchors, cfg.UnreachableAnchors = []string{file}, true
	s, err := server.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	often(s)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Server, l.URL = s, "http://"+ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	return func() error {
		t.Helper()
		cancel()
		err := <-served
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		return err
	}
}

// TestTwoHistories: an anchor that shows that another history was signed while
// this one was served ends the server, and keeps what it holds.
func TestTwoHistories(t *testing.T) {
	files := faultfs.New()
	l := servertest.On(t, files)
	l.Stop()
	copied := files.Clone()

	l.Start()
	record(t, l, "here")
	shorter := l.Server.Head().Note
	record(t, l, "and-here")
	longer := l.Server.Head().Note
	l.Stop()

	l.FS = copied
	for name, note := range map[string][]byte{"ahead": longer, "another history": shorter} {
		l.FS = copied.Clone()
		file := filepath.Join(t.TempDir(), "kept")
		end := serve(t, l, file)
		record(t, l, "there")
		put(t, file, note)
		until(t, name+": the end", func() bool {
			conn, err := net.Dial("tcp", strings.TrimPrefix(l.URL, "http://"))
			if err == nil {
				conn.Close()
			}
			return err != nil
		})
		if err := end(); report.CodeOf(err) != "LOG-ROLLBACK" {
			t.Errorf("%s: %v, want LOG-ROLLBACK", name, err)
		}
		if !holds(t, file, note) {
			t.Errorf("%s: the proof was replaced", name)
		}
	}
}
