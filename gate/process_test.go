package gate

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// sh is a program that every Unix has; tests that need it are skipped elsewhere.
func sh(t *testing.T) string {
	t.Helper()
	p, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh on this system")
	}
	if p, err = filepath.EvalSymlinks(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func prog(t *testing.T, path string) *program {
	t.Helper()
	p, err := openProgram(path, PinAuto)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.close() })
	return p
}

func opened(t *testing.T, dir string) *os.File {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestProcessGetsWhatItSaysAndNothingElse(t *testing.T) {
	t.Setenv("OBSTAT_LEAK", "yes")
	dir := t.TempDir()
	p := process{
		program: prog(t, sh(t)), argv: []string{"sh", "-c", `cat; echo "$A|$OBSTAT_LEAK|$0|$1"; pwd; echo bad >&2; exit 7`, "zero", "one two"},
		env: []string{"A=b c", "PATH=" + os.Getenv("PATH")}, dir: dir, stdin: []byte("in\x00put\n"),
	}
	e, started, err := p.run(t.Context(), opened(t, p.dir))
	var exit *exec.ExitError
	if !started || !errors.As(err, &exit) || e.exit != 7 {
		t.Fatalf("run: started %v, exit %d, %v", started, e.exit, err)
	}
	real, _ := filepath.EvalSymlinks(dir)
	if got, want := string(e.stdout.kept), "in\x00put\nb c||zero|one two\n"+real+"\n"; got != want {
		t.Errorf("stdout %q, want %q", got, want)
	}
	if got := string(e.stderr.kept); got != "bad\n" {
		t.Errorf("stderr %q", got)
	}
}

func TestProcessWithoutEnvironmentInheritsNone(t *testing.T) {
	t.Setenv("OBSTAT_LEAK", "yes")
	p := process{program: prog(t, sh(t)), argv: []string{"sh", "-c", `echo "[$OBSTAT_LEAK]"`}, dir: t.TempDir()}
	e, _, err := p.run(t.Context(), opened(t, p.dir))
	if err != nil || string(e.stdout.kept) != "[]\n" {
		t.Fatalf("%q, %v", e.stdout.kept, err)
	}
}

func TestProcessThatCannotStart(t *testing.T) {
	p := process{program: prog(t, sh(t)), argv: []string{"sh"}, dir: t.TempDir()}
	d := opened(t, p.dir)
	if err := os.Remove(p.dir); err != nil {
		t.Fatal(err)
	}
	p.argv = []string{"sh", "\x00"} // no argument has a NUL
	if _, started, err := p.run(t.Context(), d); started || err == nil {
		t.Fatalf("started %v, %v; want neither", started, err)
	}
}

func TestProcessIsKilledWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := process{program: prog(t, sh(t)), argv: []string{"sh", "-c", ": >runs; while :; do :; done"}, dir: t.TempDir()}
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(p.dir, "runs")); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	e, started, err := p.run(ctx, opened(t, p.dir))
	if !started || err == nil || e.exit != -1 {
		t.Fatalf("started %v, exit %d, %v", started, e.exit, err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	var o output
	for range 3 {
		if n, err := o.Write(bytes.Repeat([]byte("x"), MaxOutput/2+1)); n != MaxOutput/2+1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(o.kept) != MaxOutput || o.dropped != MaxOutput/2+3 {
		t.Errorf("kept %d, dropped %d", len(o.kept), o.dropped)
	}
}

// A program that is swapped after it was hashed is not the one that runs.
func TestProgramIsTheOneThatWasHashed(t *testing.T) {
	src := sh(t)
	b, err := os.ReadFile(src)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "prog")
	if err := os.WriteFile(path, b, 0o700); err != nil {
		t.Fatal(err)
	}
	p := process{program: prog(t, path), argv: []string{"sh", "-c", "echo judged"}, dir: dir}
	if err := os.WriteFile(path+".new", []byte("#!"+src+"\necho swapped\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	e, _, err := p.run(t.Context(), opened(t, p.dir))
	if runtime.GOOS != "linux" {
		t.Skip("this system cannot execute an open file; program_other.go says so")
	}
	if err != nil || string(e.stdout.kept) != "judged\n" {
		t.Fatalf("%q, %v", e.stdout.kept, err)
	}
}

func TestProgramRefusals(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"script": "#!/bin/sh\n", "empty": "", "short": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"script": "script", "empty": "too short", "short": "too short", ".": "not a regular file", "missing": "no such file",
	} {
		p, err := openProgram(filepath.Join(dir, name), PinAuto)
		if err == nil {
			p.close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
