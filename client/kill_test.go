package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/trust"
)

// engineEnv makes the test binary an engine, in the directory that it names.
const engineEnv = "OBSTAT_TEST_ENGINE"

// engine keeps, records and drains until it is killed. What it is told it writes
// to a file of its own before it goes on.
func engine(dir string) error {
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			panic(err)
		}
		return b
	}
	policy, err := trust.ParsePolicy(read("policy"))
	if err != nil {
		return err
	}
	engines, err := trust.ParseEngines(read("engines"))
	if err != nil {
		return err
	}
	c, err := New(Config{URL: string(read("url")), Policy: policy, Engines: engines})
	if err != nil {
		return err
	}
	told, err := os.OpenFile(filepath.Join(dir, "told"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cfg := runConfig(filepath.Join(dir, "run"), "killed")
	begun, err := Exists(cfg.Dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	var r *Run
	if begun {
		r, err = Open(c, cfg)
	} else {
		r, err = Create(c, cfg)
	}
	if err != nil {
		return err
	}
	if s, err := r.Standing(); err != nil || s.Statements == 0 {
		if _, err := r.Record(ctx, open("1")); err != nil {
			return err
		}
	}
	go func() { panic(r.Drain(ctx)) }() // it ends with the process
	fmt.Println("ready")
	for n := 0; ; n++ {
		var st *receipt.Decoded
		if n%5 == 4 {
			rec, err := r.Record(ctx, fault("INTERNAL"))
			if err != nil {
				return err
			}
			st = rec.Statement
		} else if st, err = r.Keep(ctx, fault("RULE-FAILED")); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(told, st.CID); err != nil {
			return err
		}
	}
}

// An engine that is killed again and again says everything once, in one chain, and
// what it was told was kept is in the log in the end.
func TestKilledEngine(t *testing.T) {
	c := newCrashes(t)
	dir := t.TempDir()
	for name, b := range map[string][]byte{"policy": c.log.PolicyFile, "engines": c.log.EnginesFile, "url": []byte(c.log.URL)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kills := 8
	if os.Getenv("OBSTAT_HEAVY") != "" {
		kills = 80
	}
	told := filepath.Join(dir, "told")
	for range kills {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), engineEnv+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatalf("the engine said %q: %v", line, err)
		}
		for was := size(t, told); size(t, told) == was; { // it is told something
			time.Sleep(time.Millisecond)
		}
		time.Sleep(rand.N(60 * time.Millisecond)) // whenever
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); runtime.GOOS != "windows" && cmd.ProcessState.Exited() {
			t.Fatalf("the engine ended by itself: %v", err)
		}
	}
	b, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(c.client(), runConfig(filepath.Join(dir, "run"), "killed"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	said := map[string]bool{}
	for st, err := range r.Statements(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		said[st.CID.String()] = true
	}
	all := strings.Fields(string(b))
	for _, cid := range all {
		if !said[cid] {
			t.Errorf("told and gone: %s", cid)
		}
	}
	rec, err := r.CloseRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if size := c.log.Server.Head().Size; rec.Index != size-1 || rec.Statement.Statement.Call.Seq != size-2 || len(all) < kills {
		t.Errorf("%d leaves, the last at seq %d; %d were told", size, rec.Statement.Statement.Call.Seq, len(all))
	}
	t.Logf("%d kills, %d statements, of which %d were told", kills, len(said), len(all))
	if left, err := r.CheckPromises(t.Context()); err != nil || left != 0 {
		t.Errorf("%d promises are left, %v", left, err)
	}
	c.lawful()
}

// size is that of a file, 0 where there is none.
func size(t *testing.T, file string) int64 {
	t.Helper()
	f, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return f.Size()
}

// Two processes never speak for one run.
func TestASecondProcessIsRefused(t *testing.T) {
	l := servertest.New(t)
	dir := t.TempDir()
	for name, b := range map[string][]byte{"policy": l.PolicyFile, "engines": l.EnginesFile, "url": []byte(l.URL)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	create(t, dial(t, l, nil), filepath.Join(dir, "run"), "killed")
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), engineEnv+"="+dir)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "RUN-LOCKED") || !strings.Contains(string(out), fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("%v: %s", err, out)
	}
}
