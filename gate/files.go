package gate

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// Files changes files below one directory (spec/preview.md#files): every file
// is compared with what its change was made from before the first is written,
// and if one has moved nothing is applied. Each file changes in one step. The
// set as a whole does not, yet: a crash, or an error in the middle, leaves a
// part of it; after an error the outcome says so, after a crash nobody does.
//
// Paths stay inside Root whatever links are there; a path that crosses a
// symbolic link is refused.
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

// Freeze copies the change set; it does not look at the files.
func (f *Files) Freeze() (Frozen, error) {
	out := &frozenFiles{root: f.Root}
	for _, c := range f.Changes {
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
}

func (f *frozenFiles) Intent() preview.Intent {
	changes := make([]preview.Change, len(f.set))
	for i, w := range f.set {
		changes[i] = w.Change
	}
	return preview.Files{Root: f.root, Changes: changes}
}

func (f *frozenFiles) Close() error { return nil }

func (f *frozenFiles) Fire(context.Context) Result {
	t, err := openTree(f.root)
	if err != nil {
		return Result{Err: &FailedError{codeIOError, receipt.RestoredYes, err}}
	}
	defer t.close()
	n, err := t.apply(f.set)
	var moved *MovedError
	switch {
	case err == nil:
		return Result{Wrote: t.found(f.set)}
	case errors.As(err, &moved):
		return Result{Err: moved}
	case n == appliedNothing:
		return Result{Err: &FailedError{codeIOError, receipt.RestoredYes, err}}
	}
	return Result{Err: &FailedError{codeIOError, receipt.RestoredNo, err}}
}
