package gate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// changed commits a change set over a directory that holds what before says.
func changed(t *testing.T, g *Gate, before map[string]string, changes ...FileChange) (dir string, out *Outcome) {
	t.Helper()
	dir = realDir(t)
	for name, text := range before {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := PlanFiles(dir, changes...)
	if err != nil {
		t.Fatal(err)
	}
	j := judged(t, g, f)
	if _, ok := j.Statement().Statement.Receipt.(receipt.Judgment).Inverse.(receipt.Escrowed); !ok {
		t.Fatal("no inverse was escrowed")
	}
	if out = commit(t, j); out.Disposition.Word() != "committed" || out.Err != nil {
		t.Fatalf("%s: %v", out.Disposition.Word(), out.Err)
	}
	return dir, out
}

func undo(t *testing.T, g *Gate, outcome receipt.CID) *Outcome {
	t.Helper()
	u, err := g.cfg.Store.PlanUndo(outcome)
	if err != nil {
		t.Fatal(err)
	}
	return commit(t, judged(t, g, u))
}

// attested returns what an undo compared, which must be byte copies of what was
// recorded.
func attested(t *testing.T, out *Outcome, undone *receipt.Decoded) (equal, differ int) {
	t.Helper()
	if out.Compensates == nil || out.Compensates.Outcome != undone.CID {
		t.Fatalf("it compensates %+v", out.Compensates)
	}
	recorded := map[receipt.Value]receipt.Commitment{}
	for _, w := range undone.Statement.Receipt.(receipt.Outcome).Disposition.(receipt.Committed).Wrote {
		recorded[w.Key] = w.Value
	}
	seen := out.Compensates.Observation.(receipt.Attested).Compared
	if len(seen) != len(recorded) {
		t.Fatalf("%d compared, %d recorded", len(seen), len(recorded))
	}
	for _, c := range seen {
		if recorded[c.Key] != c.Expected {
			t.Errorf("expected is not what was recorded")
		}
		if c.Seen == c.Expected {
			equal++
		} else {
			differ++
		}
	}
	return equal, differ
}

func TestUndo(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	before := map[string]string{"a": "one", "b": "two", "x": "prog"}
	dir, out := changed(t, g, before,
		FileChange{Path: "a", After: []byte("uno")}, FileChange{Path: "b", Delete: true},
		FileChange{Path: "c", After: []byte("tre")}, FileChange{Path: "x", After: []byte("prog"), Mode: preview.ModeProgram})
	first := out.Statement

	back := undo(t, g, first.CID)
	if back.Disposition.Word() != "committed" || !equal(listing(t, dir), before) {
		t.Fatalf("%s, %v: %v", back.Disposition.Word(), back.Err, listing(t, dir))
	}
	if e, d := attested(t, back, first); e != 4 || d != 0 {
		t.Errorf("%d equal, %d not", e, d)
	}
	if st, err := os.Stat(filepath.Join(dir, "x")); err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("x has mode %v, %v", st.Mode(), err)
	}

	again := undo(t, g, first.CID)
	if r, ok := again.Disposition.(receipt.Refused); !ok || r.Code != codeAlreadyUndone {
		t.Errorf("a second undo: %+v, %v", again.Disposition, again.Err)
	}
	if e, d := attested(t, again, first); e+d != 4 || d == 0 {
		t.Errorf("%d equal, %d not", e, d)
	}

	// An undo is an effect, and can be undone.
	redo := undo(t, g, back.Statement.CID)
	want := map[string]string{"a": "uno", "c": "tre", "x": "prog"}
	if redo.Disposition.Word() != "committed" || !equal(listing(t, dir), want) {
		t.Errorf("%s: %v", redo.Disposition.Word(), listing(t, dir))
	}
	wants(t, l, "judgment admit", "outcome committed", "judgment admit", "outcome committed",
		"judgment admit", "outcome refused", "judgment admit", "outcome committed")
}

func TestUndoOfWhatHasMovedIsStale(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	dir, out := changed(t, g, map[string]string{"a": "one"}, FileChange{Path: "a", After: []byte("uno")}, FileChange{Path: "c", After: []byte("tre")})
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	back := undo(t, g, out.Statement.CID)
	if e, d := attested(t, back, out.Statement); e != 1 || d != 1 {
		t.Errorf("%d equal, %d not", e, d)
	}
	if got := listing(t, dir); !equal(got, map[string]string{"a": "mine", "c": "tre"}) {
		t.Errorf("it was applied: %v", got)
	}
	// When it is as it was, it can be undone: stale is not the last word.
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("uno"), 0o644); err != nil {
		t.Fatal(err)
	}
	if again := undo(t, g, out.Statement.CID); again.Disposition.Word() != "committed" || !equal(listing(t, dir), map[string]string{"a": "one"}) {
		t.Errorf("%+v: %v", again.Disposition, listing(t, dir))
	}
	wants(t, l, "judgment admit", "outcome committed", "judgment admit", "outcome stale", "judgment admit", "outcome committed")
}

// "Could not look" and "nothing was recorded" are two things.
func TestUndoUnobservable(t *testing.T) {
	g, l := gated(t, says(admits, nil))
	dir, out := changed(t, g, nil, FileChange{Path: "d/c", After: []byte("tre")})
	u, err := g.cfg.Store.PlanUndo(out.Statement.CID)
	if err != nil {
		t.Fatal(err)
	}
	j := judged(t, g, &gone{u, func() {
		if err := errors.Join(os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "e")), os.Symlink("e", filepath.Join(dir, "d"))); err != nil {
			t.Error(err)
		}
	}})
	back := commit(t, j)
	if f, ok := back.Disposition.(receipt.Failed); !ok || f.Restored != receipt.RestoredYes {
		t.Errorf("%+v, %v", back.Disposition, back.Err)
	}
	if o, ok := back.Compensates.Observation.(receipt.Unobservable); !ok || o.Code != codeAccessLost {
		t.Errorf("it saw %+v", back.Compensates.Observation)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "d")), os.Rename(filepath.Join(dir, "e"), filepath.Join(dir, "d"))); err != nil {
		t.Fatal(err)
	}

	rec, err := g.cfg.Store.outcome(out.Statement.CID)
	if err != nil {
		t.Fatal(err)
	}
	rec.Wrote = nil // as where nobody could look after the effect
	if err := g.cfg.Store.putOutcome(out.Statement.CID, rec); err != nil {
		t.Fatal(err)
	}
	back = undo(t, g, out.Statement.CID)
	if back.Disposition.Word() != "committed" || len(listing(t, dir)) != 1 {
		t.Errorf("%+v, %v: %v", back.Disposition, back.Err, listing(t, dir))
	}
	if o, ok := back.Compensates.Observation.(receipt.Unobservable); !ok || o.Code != codeNotRecorded {
		t.Errorf("it saw %+v", back.Compensates.Observation)
	}
	wants(t, l, "judgment admit", "outcome committed", "judgment admit", "outcome failed", "judgment admit", "outcome committed")
}

// gone does something between the freezing of a commit and its check.
type gone struct {
	Effect
	before func()
}

func (e *gone) Freeze() (Frozen, error) {
	f, err := e.Effect.Freeze()
	if err != nil {
		return nil, err
	}
	return &frozenGone{f.(*frozenUndo), e.before}, nil
}

type frozenGone struct {
	*frozenUndo
	before func()
}

func (f *frozenGone) Check(ctx context.Context) error {
	f.before()
	return f.frozenUndo.Check(ctx)
}

// What cannot be put back exactly has no inverse, and the judgment says why.
func TestNoInverse(t *testing.T) {
	g, _ := gated(t, says(admits, nil))
	dir := realDir(t)
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := func(c FileChange) *Files {
		f, err := PlanFiles(dir, c)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	inverse := func(e Effect) receipt.Inverse {
		req := request(e)
		req.Inverse = nil
		j, err := g.Judge(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return j.Statement().Statement.Receipt.(receipt.Judgment).Inverse
	}
	for name, c := range map[string]struct {
		e    Effect
		want receipt.Inverse
	}{
		"a deleted file of mode 600":   {plan(FileChange{Path: "secret", Delete: true}), receipt.NoInverse{Code: codeNotSupported}},
		"another mode than 644 or 755": {plan(FileChange{Path: "secret", After: []byte("s"), Mode: preview.ModeProgram}), receipt.NoInverse{Code: codeNotSupported}},
		"a command":                    {&probe{inverse: Inverse{None: codeNotSupported}}, receipt.NoInverse{Code: codeNotSupported}},
		"nothing to undo":              {&probe{}, receipt.Unneeded{}},
	} {
		if got := inverse(c.e); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, ok := inverse(plan(FileChange{Path: "secret", After: []byte("t")})).(receipt.Escrowed); !ok {
		t.Error("a replacement that keeps its mode has no inverse")
	}
	d := plan(FileChange{Path: "new", After: []byte("t")})
	denied, _ := gated(t, says(denies, nil))
	if j := judged(t, denied, d); j.Statement().Statement.Receipt.(receipt.Judgment).Inverse != (receipt.Unneeded{}) {
		t.Error("a denial has something to undo")
	}
	if _, err := os.Stat(filepath.Join(denied.cfg.Store.fs.String(), inverseName(judged(t, denied, d).Digest()))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an inverse of what never happened was kept: %v", err)
	}
	req := request(&probe{})
	req.Inverse = receipt.Escrowed{}
	if _, err := g.Judge(t.Context(), req); err == nil {
		t.Error("the engine said that the gate holds an inverse")
	}
}

// An escrowed inverse that somebody has changed is not applied.
func TestDamagedInverse(t *testing.T) {
	g, _ := gated(t, says(admits, nil))
	_, out := changed(t, g, map[string]string{"a": "one"}, FileChange{Path: "a", After: []byte("uno")})
	name := filepath.Join(g.cfg.Store.fs.String(), inverseName(out.Statement.Statement.Receipt.(receipt.Outcome).Request))
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if u, err := g.cfg.Store.PlanUndo(out.Statement.CID); err == nil {
		t.Errorf("planned: %+v", u)
	}
	if _, err := g.cfg.Store.PlanUndo(out.Statement.ReceiptCID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an outcome that there is not: %v", err)
	}
}
