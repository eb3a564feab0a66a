//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/internal/server/servertest"
)

// killable is a gate whose commands are killed at any moment.
type killable struct {
	*testing.T
	dir   string
	rnd   *rand.Rand
	takes time.Duration // about how long a command takes here
	kills int
}

// gate runs a command to its end.
func (k *killable) gate(in string, args ...string) (status int, said string) {
	k.Helper()
	return k.command(in, args, time.Hour)
}

// killed runs a command and kills it at a moment of its life, or behind it.
func (k *killable) killed(in string, args ...string) (status int, said string) {
	k.Helper()
	return k.command(in, args, time.Duration(k.rnd.Int64N(int64(3*k.takes))))
}

func (k *killable) command(in string, args []string, life time.Duration) (status int, said string) {
	k.Helper()
	cmd := exec.Command("gate", args...)
	var out strings.Builder
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = k.dir, strings.NewReader(in), &out, &out
	if err := cmd.Start(); err != nil {
		k.Fatal(err)
	}
	killer := time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	killer.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		k.Fatal(err)
	}
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		k.kills++
		return -1, out.String()
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// must runs a command that has to succeed.
func (k *killable) must(args ...string) {
	k.Helper()
	if status, said := k.gate("", args...); status != 0 {
		k.Fatalf("gate %q: %d\n%s", args, status, said)
	}
}

func (k *killable) write(name, text string) {
	k.Helper()
	file := filepath.Join(k.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		k.Fatal(err)
	}
}

// whole fails where some of a change set stands and some does not, or where
// something of the gate's own is left.
func (k *killable) whole() {
	k.Helper()
	var have []string
	for _, name := range []string{"a", "b", "c"} {
		b, err := os.ReadFile(filepath.Join(k.dir, "root", name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			k.Fatal(err)
		}
		have = append(have, string(b))
	}
	if len(slices.Compact(slices.Clone(have))) > 1 {
		k.Errorf("a change set stands in part: %q", have)
	}
	names, err := filepath.Glob(filepath.Join(k.dir, "root", ".obstat-*"))
	if err != nil || len(names) > 0 {
		k.Errorf("left in the root: %q, %v", names, err)
	}
}

// The program is killed again and again, in everything that it does. Nothing
// happens twice, no change set stands in part, and every run is closed in the end
// and holds every law.
func TestKilledProgram(t *testing.T) {
	if _, err := exec.LookPath("/bin/sh"); err != nil {
		t.Skip("no sh on this system")
	}
	runs := 2
	if os.Getenv("OBSTAT_HEAVY") != "" {
		runs = 15
	}
	for _, mode := range []string{modeStrict, modeRelaxed} {
		t.Run(mode, func(t *testing.T) {
			l := servertest.New(t)
			k := &killable{T: t, dir: t.TempDir(), rnd: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))}
			k.write("log.policy", string(l.PolicyFile))
			k.write("trust", string(l.EnginesFile))
			key, err := keyfile.Marshal(servertest.Key(servertest.Engine), nil)
			if err != nil {
				t.Fatal(err)
			}
			k.write("engine.key", string(key))
			k.write("rules.cedar", `@allow("shell") permit (principal, action, resource);`)
			k.write("root/fired", "")
			k.must("init", "--dir", ".gate", "--log", l.URL, "--policy", "log.policy", "--trust", "trust", "--key", "engine.key",
				"--rules", "rules.cedar", "--root", "root", "--mode", mode)
			for n := range runs {
				k.run(fmt.Sprintf("run-%d", n), n)
			}
			b, err := os.ReadFile(filepath.Join(k.dir, "root", "fired"))
			if err != nil {
				t.Fatal(err)
			}
			fired := strings.Fields(string(b))
			once := slices.Compact(slices.Sorted(slices.Values(fired)))
			if len(once) != len(fired) {
				t.Errorf("fired twice: %q", fired)
			}
			t.Logf("%d kills, %d commands of which %d fired", k.kills, runs*killedEffects, len(fired))
			if k.kills == 0 && runs > 2 {
				t.Error("nothing was killed")
			}
			l.Stop()
			site := t.TempDir()
			if err := export(l, site); err != nil {
				t.Fatal(err)
			}
			for n := range runs {
				if err := lawful(l, site, fmt.Sprintf("run-%d", n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// killedEffects is how many commands of each kind a run is asked for.
const killedEffects = 6

// run opens a run, lets things happen in it, and closes it; all of that until the
// program got to its end.
func (k *killable) run(name string, n int) {
	k.Helper()
	if n > 0 {
		_, _ = k.killed("", "run", "open", "--dir", ".gate", name)
	}
	began := time.Now()
	if status, said := k.gate("", "run", "open", "--dir", ".gate", name); status != 0 && !strings.Contains(said, "is open: gate run close") {
		k.Fatalf("run open: %d\n%s", status, said)
	}
	if n == 0 {
		k.takes = time.Since(began)
	}
	for i := range killedEffects {
		began := time.Now()
		if status, _ := k.killed("", "exec", "--dir", ".gate", "--", "/bin/sh", "-c", fmt.Sprintf("echo %d-%d >> fired", n, i)); status == 0 {
			k.takes = min(k.takes, time.Since(began))
		}
		for _, f := range []string{"a", "b", "c"} {
			k.write(fmt.Sprintf("new-%d-%d/%s", n, i, f), fmt.Sprintln(n, i))
		}
		_, _ = k.killed("yes\n", "apply", "--dir", ".gate", fmt.Sprintf("new-%d-%d", n, i))
		_, _ = k.killed("yes\n", "undo", "--dir", ".gate", "last")
		if i%3 == 2 {
			_, _ = k.killed("", "sync", "--dir", ".gate")
		}
	}
	for range 2 {
		_, _ = k.killed("", "run", "close", "--dir", ".gate")
	}
	if status, said := k.gate("", "run", "close", "--dir", ".gate"); status != 0 && !strings.Contains(said, "no run is open") {
		k.Fatalf("run close: %d\n%s", status, said)
	}
	k.whole()
}
