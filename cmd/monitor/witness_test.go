package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/testlog"
)

func post(t *testing.T, url string, body []byte) (status int, answer string) {
	t.Helper()
	res, err := http.Post(url, "text/plain", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// TestWitnessIsKilled: what it answered it knows after a kill at any moment, and
// its list can change while it serves.
func TestWitnessIsKilled(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	dir := filepath.Join(t.TempDir(), "w")
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"witness", "init", "--dir", dir, "--name", "witness.example/w1"}, &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	vkey, err := checkpoint.ParseVKey(strings.Fields(out.String())[2])
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "logs")
	write := func(s string) {
		if err := os.WriteFile(list, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("logs/v0\n")
	args := []string{"witness", "serve", "--dir", dir, "--logs", list, "--listen", "127.0.0.1:0"}
	p := start(t, args...)
	first := checkpoint.AddCheckpoint{Checkpoint: l.Checkpoint(1)}
	if status, answer := post(t, p.url+"/add-checkpoint", first.Bytes()); status != 404 {
		t.Fatalf("a log that is not listed: %d %s", status, answer)
	}
	write("logs/v0\nvkey " + testlog.VKey("log") + "\n")
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		status, answer := post(t, p.url+"/add-checkpoint", first.Bytes())
		if status == 200 {
			break
		}
		if i == 100 {
			t.Fatalf("after the list changed: %d %s\n%s", status, answer, p.stderr)
		}
		time.Sleep(20 * time.Millisecond)
	}
	for size := uint64(1); size < 8; size++ {
		a := checkpoint.AddCheckpoint{Old: size, Proof: l.Growth(size, size+1), Checkpoint: l.Checkpoint(size + 1)}
		status, answer := post(t, p.url+"/add-checkpoint", a.Bytes())
		if status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		if _, err := checkpoint.Open([]byte(string(a.Checkpoint)+answer), []checkpoint.VKey{vkey}); err != nil {
			t.Fatal(err)
		}
		p.kill()
		p = start(t, args...)
		if _, answer := post(t, p.url+"/add-checkpoint", checkpointAt(l, 9)); answer != fmt.Sprintf("%d\n", size+1) {
			t.Fatalf("after a kill it knows %q, want %d", answer, size+1)
		}
	}
	p.end()
}

// checkpointAt asks for a size as somebody does who knows nothing.
func checkpointAt(l *testlog.Log, size uint64) []byte {
	a := checkpoint.AddCheckpoint{Checkpoint: l.Checkpoint(size)}
	return a.Bytes()
}
