package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/obstat/obstat/internal/keyfile"
)

// lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestFollowOverRestart: a follower prints every entry once and in order while the
// log comes, grows, goes away and comes again, and ends well when it is told to.
func TestFollowOverRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if code := run(t.Context(), []string{"init", "--dir", dir, "--origin", "example.com/log", "--make-engine", "ci"}, io.Discard, os.Stderr); code != 0 {
		t.Fatal(code)
	}
	key, err := keyfile.Read(filepath.Join(dir, "keys", "engine-ci.key"), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := launch(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.end(os.Kill) })
	// One address for both servers; the second would not surely get the first's port.
	var at atomic.Pointer[url.URL]
	missed := make(chan struct{}, 1) // somebody asked while the log was away
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u := at.Load()
		if u == nil {
			select {
			case missed <- struct{}{}:
			default:
			}
			panic(http.ErrAbortHandler) // as a port that nobody listens on
		}
		proxy := &httputil.ReverseProxy{Rewrite: func(pr *httputil.ProxyRequest) { pr.SetURL(u) }}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	up := func(p *process) {
		u, err := url.Parse(p.url)
		if err != nil {
			t.Fatal(err)
		}
		at.Store(u)
	}
	up(p)
	runs := 0
	add := func(p *process) {
		t.Helper()
		runs++
		env, err := opening(fmt.Sprintf("run-%d", runs), key)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post(p.url+"/v1/receipts", "application/json", bytes.NewReader(env.JSON()))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			t.Fatal(resp.Status)
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var stderr lockedBuffer
	code := make(chan int, 1)
	go func() {
		c := run(ctx, []string{"follow", "--url", front.URL}, in, &stderr)
		in.Close()
		code <- c
	}()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	next := 0
	want := func() {
		t.Helper()
		if !lines.Scan() {
			t.Fatal("it ended: ", stderr.String())
		}
		if !strings.HasPrefix(lines.Text(), fmt.Sprintf(`{"leaf":%d,`, next)) {
			t.Fatalf("want leaf %d, got %s", next, lines.Text())
		}
		next++
	}
	want()
	add(p)
	want()
	at.Store(nil)
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if p, err = launch(dir); err != nil {
		t.Fatal(err)
	}
	add(p)
	add(p)
	select {
	case <-missed:
	case c := <-code:
		t.Fatal("it ended: ", c, stderr.String())
	}
	up(p)
	want()
	want()
	stop()
	if lines.Scan() {
		t.Fatalf("one more: %s", lines.Text())
	}
	if c := <-code; c != 0 {
		t.Fatal(c, stderr.String())
	}
}
