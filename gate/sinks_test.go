package gate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/receipt"
)

func TestFilesThroughTheGate(t *testing.T) {
	dir := realDir(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plan := func(changes ...FileChange) *Files {
		t.Helper()
		f, err := PlanFiles(dir, changes...)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	g, l := gated(t, says(admits, nil))
	write("b", "old")
	j := judged(t, g, plan(
		FileChange{Path: "b", After: []byte("new")}, FileChange{Path: "a", After: []byte("made")}))
	out := commit(t, j)
	settles(t, j, out)
	if got := listing(t, dir); !equal(got, map[string]string{"a": "made", "b": "new"}) {
		t.Errorf("tree is %v", got)
	}
	// Each postcondition is the commitment that the judgment announced.
	changes := j.Record().Statement.Statement.Receipt.(receipt.Judgment).Request.Changes
	wrote := out.Disposition.(receipt.Committed).Wrote
	if len(wrote) != 2 {
		t.Fatalf("%d postconditions", len(wrote))
	}
	for i, ch := range changes {
		after := receipt.Commitment{}
		switch e := ch.Edit.(type) {
		case receipt.Create:
			after = e.After
		case receipt.Replace:
			after = e.After
		}
		if wrote[i].Key != ch.Path || wrote[i].Value != after {
			t.Errorf("postcondition %d is not what was judged", i)
		}
	}

	j = judged(t, g, plan(FileChange{Path: "a", After: []byte("mine")}, FileChange{Path: "c", After: []byte("new")}))
	write("a", "theirs")
	out = commit(t, j)
	settles(t, j, out)
	stale := out.Disposition.(receipt.Stale)
	read := j.Record().Statement.Statement.Receipt.(receipt.Judgment).Reads
	found := false
	for _, r := range read {
		found = found || r.Key == stale.Key && r.Seen == stale.Expected
	}
	if !found || stale.Seen == stale.Expected {
		t.Errorf("stale does not name what was judged: %+v", stale)
	}
	if got := listing(t, dir); !equal(got, map[string]string{"a": "theirs", "b": "new"}) {
		t.Errorf("a stale change set was applied: %v", got)
	}

	f := plan(FileChange{Path: "d", After: []byte("judged")})
	j = judged(t, g, f)
	f.Changes[0].After[0] ^= 1
	commit(t, j)
	if _, err := os.Stat(filepath.Join(dir, "d")); !os.IsNotExist(err) {
		t.Errorf("a diverged change set was applied: %v", err)
	}
	wants(t, l, "judgment admit", "outcome committed", "judgment admit", "outcome stale", "judgment admit", "outcome diverged")
}

func TestExecThroughTheGate(t *testing.T) {
	shell, dir := sh(t), realDir(t)
	g, l := gated(t, says(admits, nil))
	run := func(script string) *Exec {
		return &Exec{Root: dir, Dir: dir, Program: shell, Argv: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}}
	}
	out := commit(t, judged(t, g, run("echo made > made; echo said")))
	if string(out.Result.Process.Stdout) != "said\n" || !equal(listing(t, dir), map[string]string{"made": "made\n"}) {
		t.Errorf("%q, %v", out.Result.Process.Stdout, listing(t, dir))
	}
	out = commit(t, judged(t, g, run("exit 3")))
	if f := out.Disposition.(receipt.Failed); f.Code != codeExitStatus || f.Restored != receipt.RestoredUnknown || out.Result.Process.Exit != 3 {
		t.Errorf("%+v", f)
	}
	e := run("echo made > made2")
	j := judged(t, g, e)
	e.Argv[2] = "echo made > made3"
	commit(t, j)
	e = run("echo $A")
	j = judged(t, g, e)
	e.Env = append(e.Env, "A=b")
	commit(t, j)
	if got := listing(t, dir); len(got) != 1 {
		t.Errorf("a diverged command ran: %v", got)
	}
	// The working directory leaves the root behind the gate's back.
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	e = run("echo made > made4")
	e.Dir = sub
	j = judged(t, g, e)
	away := t.TempDir()
	if err := errors.Join(os.Remove(sub), os.Symlink(away, sub)); err != nil {
		t.Fatal(err)
	}
	out = commit(t, j)
	if f := out.Disposition.(receipt.Failed); f.Code != codeStartFailed || f.Restored != receipt.RestoredYes || len(listing(t, away)) != 0 {
		t.Errorf("%+v; outside: %v", f, listing(t, away))
	}
	wants(t, l, "judgment admit", "outcome committed", "judgment admit", "outcome failed",
		"judgment admit", "outcome diverged", "judgment admit", "outcome diverged", "judgment admit", "outcome failed")
}

// What is frozen is what was there: no memory is shared with the effect.
func TestFreezeSharesNothing(t *testing.T) {
	shell := sh(t)
	e := &Exec{Root: "/", Dir: "/", Program: shell, Argv: []string{"sh", "-c"}, Env: []string{"A=b"}, Stdin: []byte("in")}
	f := &Files{Root: "/", Changes: []FileChange{{Path: "a", After: []byte("after")}}}
	for _, c := range []struct {
		effect Effect
		change func()
		fires  func(Frozen) string
	}{
		{e, func() { e.Argv[0], e.Env[0], e.Stdin[0] = "x", "A=x", 'x' }, func(z Frozen) string {
			p := z.(*frozenExec).process
			return fmt.Sprint(p.argv, p.env, string(p.stdin))
		}},
		{f, func() { f.Changes[0].Path, f.Changes[0].After[0] = "x", 'x' }, func(z Frozen) string {
			w := z.(*frozenFiles).set[0]
			return w.Path + string(w.after)
		}},
	} {
		frozen, err := c.effect.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		intent := func() string { return fmt.Sprintf("%v", frozen.Plan()) }
		said, fires := intent(), c.fires(frozen)
		c.change()
		if intent() != said || c.fires(frozen) != fires {
			t.Errorf("%T: %s, fires %s; was %s, %s", c.effect, intent(), c.fires(frozen), said, fires)
		}
		if err := frozen.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A program that was replaced after it was judged is not run.
func TestSwappedProgramDiverges(t *testing.T) {
	shell, dir := sh(t), realDir(t)
	b, err := os.ReadFile(shell)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "prog")
	if err := os.WriteFile(program, b, 0o700); err != nil {
		t.Fatal(err)
	}
	g, l := gated(t, says(admits, nil))
	j := judged(t, g, &Exec{Root: dir, Dir: dir, Program: program, Argv: []string{"prog", "-c", "echo > fired"}})
	b[len(b)-1] ^= 1
	if err := os.WriteFile(program, b, 0o700); err != nil {
		t.Fatal(err)
	}
	commit(t, j)
	if _, err := os.Stat(filepath.Join(dir, "fired")); !os.IsNotExist(err) {
		t.Errorf("it ran: %v", err)
	}
	wants(t, l, "judgment admit", "outcome diverged")
}

// realDir is a temporary directory by the name that no link leads to.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
