package gate

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// Files changes files below one directory (spec/preview.md#files). Every file is
// compared with what its change was made from before the first is written, and
// again at the moment when it is replaced; if one has moved nothing is applied.
// After a crash at any moment [Gate.Recover] leaves all of the set or none of
// it, or says that it cannot (docs/gate.md#change-sets).
//
// Paths stay inside Root whatever links are there; a path that crosses a
// symbolic link is refused before there is a preview.
type Files struct {
	Root    string // directory that the engine was let into: absolute, clean
	Changes []FileChange
}

// FileChange creates, replaces or deletes one file.
type FileChange struct {
	Path   string          // relative, clean, inside Root
	Before preview.Content // what the file must hold; absent: it must not exist
	After  []byte          // what it holds afterwards
	Delete bool            // it does not exist afterwards; After is then empty
	Mode   preview.Mode
}

// PlanFiles makes a change set from what files are to hold, and fills in what
// they hold now as the witnesses.
func PlanFiles(root string, changes ...FileChange) (*Files, error) {
	t, err := openTree(root)
	if err != nil {
		return nil, err
	}
	defer t.close()
	f := &Files{Root: root, Changes: slices.Clone(changes)}
	for i := range f.Changes {
		c := &f.Changes[i]
		if c.Before, _, err = t.look(c.Path); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Freeze copies the change set, and refuses paths that do not lead to files of
// the root.
func (f *Files) Freeze() (Frozen, error) {
	out := &frozenFiles{root: f.Root}
	t, err := openTree(f.Root)
	if err != nil {
		return nil, err
	}
	defer t.close()
	for _, c := range f.Changes {
		if _, err := t.plain(c.Path); err != nil {
			return nil, err
		}
		w := write{Change: preview.Change{Path: c.Path, Before: c.Before, Mode: c.Mode}}
		if !c.Delete {
			w.after = slices.Clone(c.After)
			w.After = preview.ContentOf(w.after)
		}
		out.set = append(out.set, w)
	}
	// In the order of ρ, so that an index here is an index there.
	slices.SortFunc(out.set, func(a, b write) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

type frozenFiles struct {
	root string
	set  []write
	once
}

func (f *frozenFiles) Plan() Plan {
	return Plan{Intent: preview.Files{Root: f.root, Changes: f.changes()}, Effects: f.effects()}
}

func (f *frozenFiles) changes() []preview.Change {
	changes := make([]preview.Change, len(f.set))
	for i, w := range f.set {
		changes[i] = w.Change
	}
	return changes
}

func (f *frozenFiles) effects() []preview.Effect {
	var all []preview.Effect
	for _, w := range f.set {
		all = append(all, preview.Effect{On: preview.OnWrites, Target: w.Path})
	}
	return all
}

func (f *frozenFiles) Close() error { return nil }

// Check compares every witness.
func (f *frozenFiles) Check(context.Context) error {
	t, err := openTree(f.root)
	if err != nil {
		return &FailedError{codeIOError, receipt.RestoredYes, err}
	}
	defer t.close()
	if _, err = t.begin(f.set); err != nil && !errors.As(err, new(*MovedError)) {
		err = &FailedError{codeIOError, receipt.RestoredYes, err}
	}
	return err
}

func (f *frozenFiles) Apply(_ context.Context, call Call) Result {
	if err := f.take(); err != nil {
		return Result{Err: err}
	}
	failed := func(err error) Result { return Result{Err: &FailedError{codeIOError, receipt.RestoredYes, err}} }
	t, err := openTree(f.root)
	if err != nil {
		return failed(err)
	}
	defer t.close()
	if call.step != nil {
		t.step = call.step
	}
	lock, err := t.root.Open(".")
	if err != nil {
		return failed(err)
	}
	defer lock.Close()
	var held *durable.LockedError
	if err := durable.LockOpen(lock); errors.As(err, &held) {
		return Result{Err: &RefusedError{codeLockHeld, err}}
	} else if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return failed(err)
	}
	c, err := t.begin(f.set)
	if err != nil {
		if errors.As(err, new(*MovedError)) {
			return Result{Err: err}
		}
		return failed(err)
	}
	if err := c.apply(f.set, call.Intend, f.root, call.Request); err != nil {
		return Result{Err: err}
	}
	return Result{Wrote: c.found(), Done: func() error { return c.doneIn(f.root) }}
}

// doneIn is done, in a tree of its own: the one that the set was applied in is
// closed by then.
func (c *changeset) doneIn(root string) error {
	t, err := openTree(root)
	if err != nil {
		return err
	}
	defer t.close()
	t.step = c.tree.step
	c.tree = t
	return c.done()
}

// Invert reads what the files hold now. Where one of them could not be put back
// exactly there is no inverse: a mode that ρ cannot name, or too much to keep.
func (f *frozenFiles) Invert() (Inverse, error) {
	t, err := openTree(f.root)
	if err != nil {
		return Inverse{}, err
	}
	defer t.close()
	d := delta{Version: 1, Root: []byte(f.root)}
	left := int64(maxDelta / 2)
	for _, w := range f.set {
		b, st, err := t.read(w.Path, w.Before, left)
		if errors.Is(err, errTooLarge) {
			return Inverse{None: codeTooLarge}, nil
		}
		if err != nil {
			return Inverse{}, err
		}
		left -= int64(len(b))
		back := deltaChange{Path: []byte(w.Path), Holds: hexOf(w.After), Gets: b, Delete: w.Before.IsAbsent()}
		if st != nil && (w.Mode != preview.ModeKept || w.After.IsAbsent()) {
			var ok bool
			if back.Mode, ok = modeOf(st.Mode().Perm(), w.After.IsAbsent()); !ok {
				return Inverse{None: codeNotSupported}, nil
			}
		}
		d.Changes = append(d.Changes, back)
	}
	b, err := json.Marshal(d)
	if err == nil {
		err = checkDelta(b, f.root, f.changes())
	}
	return Inverse{Delta: b}, err
}

// modeOf is the mode of ρ that leaves a file with perm; a file that is made anew
// is not executable without one.
func modeOf(perm fs.FileMode, anew bool) (preview.Mode, bool) {
	switch {
	case perm == 0o755:
		return preview.ModeProgram, true
	case perm == 0o644 && anew:
		return preview.ModeKept, true
	case perm == 0o644:
		return preview.ModePlain, true
	}
	return "", false
}
