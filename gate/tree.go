package gate

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/preview"
)

// A write is one change of a change set with the bytes that it writes.
type write struct {
	preview.Change
	after []byte // nil where the file is deleted
}

// applied says how far a change set got.
type applied int

const (
	appliedNothing applied = iota // no file of the set has changed
	appliedPart                   // some have and some have not
	appliedAll
)

// tree writes change sets below one directory. It goes through os.Root, so no
// path leads outside however links are moved meanwhile; on top of that it
// refuses every path that crosses a symbolic link, because two names for one
// file would let one change hide another.
type tree struct{ root *os.Root }

func openTree(dir string) (*tree, error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{root}, nil
}

// openRoot opens the root of an effect by the one name that no link leads to.
// A root behind a link would be another place as soon as the link is moved, and
// the preview, which names it, would not show that.
func openRoot(dir string) (*os.Root, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if real != filepath.Clean(dir) {
		return nil, fmt.Errorf("%s leads through a symbolic link; name the root as %s", dir, real)
	}
	return os.OpenRoot(dir)
}

func (t *tree) close() error { return t.root.Close() }

// look returns what a file holds, and its mode; an absent content and a zero
// mode where there is no file.
func (t *tree) look(name string) (preview.Content, fs.FileInfo, error) {
	if err := t.plain(name); err != nil {
		return preview.Content{}, nil, err
	}
	f, err := t.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return preview.Content{}, nil, nil
	}
	if err != nil {
		return preview.Content{}, nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return preview.Content{}, nil, err
	}
	c, err := preview.ReadContent(f)
	return c, st, err
}

// plain refuses a path that is not made of directories and, at its end, a
// regular file or nothing.
func (t *tree) plain(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.ContainsRune(name, '\\') {
		return fmt.Errorf("%q is not a clean relative path", name)
	}
	parts := strings.Split(name, "/")
	for i := range parts {
		p := strings.Join(parts[:i+1], "/")
		st, err := t.root.Lstat(p)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		last := i == len(parts)-1
		switch {
		case st.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%q is a symbolic link; a change set names files by their one path", p)
		case last && !st.Mode().IsRegular():
			return fmt.Errorf("%q is not a regular file", p)
		case !last && !st.IsDir():
			return fmt.Errorf("%q is not a directory", p)
		}
	}
	return nil
}

// stage is one temporary file waiting to become its target.
type stage struct {
	write
	temp string // empty for a delete
}

// apply compares every witness before it writes anything, then writes every
// new content to a temporary file beside its target, and only then puts them
// in place, one by one. A witness that fails is a *MovedError and nothing has
// been written. A file created by somebody else after the comparison is not
// overwritten, and counts as a failure like any other.
//
// What it does not promise yet: a crash between two renames leaves a part of
// the set in place, and so does an error there, which the answer then says; and
// a file that somebody replaces between the comparison and the rename is lost.
func (t *tree) apply(set []write) (applied, error) {
	modes, err := t.compare(set)
	if err != nil {
		return appliedNothing, err
	}
	var dirs []string
	var staged []stage
	undo := func() error {
		var errs []error
		for _, s := range staged {
			if s.temp != "" {
				errs = append(errs, t.root.Remove(s.temp))
			}
		}
		for i := len(dirs) - 1; i >= 0; i-- {
			_ = t.root.Remove(dirs[i]) // stays where somebody has put something in it
		}
		return errors.Join(errs...)
	}
	for i, w := range set {
		if w.After.IsAbsent() {
			staged = append(staged, stage{write: w})
			continue
		}
		made, err := t.parents(w.Path)
		dirs = append(dirs, made...)
		if err == nil {
			var temp string
			if temp, err = t.writeTemp(w, modes[i]); temp != "" {
				staged = append(staged, stage{w, temp})
			}
		}
		if err != nil {
			return appliedNothing, errors.Join(err, undo())
		}
	}
	for i, s := range staged {
		placed, err := t.place(s)
		if err == nil {
			continue
		}
		staged = staged[i:]
		if i > 0 || placed {
			return appliedPart, errors.Join(err, undo())
		}
		return appliedNothing, errors.Join(err, undo())
	}
	return appliedAll, nil
}

// compare holds every file against its witness and returns the modes that the
// set leaves the files with.
func (t *tree) compare(set []write) ([]fs.FileMode, error) {
	modes := make([]fs.FileMode, len(set))
	infos := make([]fs.FileInfo, len(set))
	for i, w := range set {
		seen, st, err := t.look(w.Path)
		if err != nil {
			return nil, err
		}
		if seen != w.Before {
			return nil, &MovedError{Change: i, Path: w.Path, Expected: w.Before, Seen: seen}
		}
		for j := range i {
			// A name that the file system folds into another, or a second hard
			// link: one change would undo the other.
			if st != nil && infos[j] != nil && os.SameFile(st, infos[j]) {
				return nil, fmt.Errorf("%q and %q are one file", set[j].Path, w.Path)
			}
		}
		infos[i] = st
		switch {
		case w.Mode == preview.ModeProgram:
			modes[i] = 0o755
		case w.Mode == preview.ModePlain || st == nil:
			modes[i] = 0o644
		default:
			modes[i] = st.Mode().Perm()
		}
	}
	return modes, nil
}

// parents makes the directories above name that are missing and returns them.
func (t *tree) parents(name string) (made []string, err error) {
	dir := path.Dir(name)
	if dir == "." {
		return nil, nil
	}
	parts := strings.Split(dir, "/")
	for i := range parts {
		p := strings.Join(parts[:i+1], "/")
		switch err := t.root.Mkdir(p, 0o755); {
		case err == nil:
			made = append(made, p)
		case !errors.Is(err, fs.ErrExist):
			return made, err
		}
	}
	return made, nil
}

// writeTemp writes w.after beside its target. The name it returns is that of a
// file that exists, even beside an error.
func (t *tree) writeTemp(w write, mode fs.FileMode) (string, error) {
	var r [8]byte
	_, _ = rand.Read(r[:]) // crypto/rand.Read never fails
	temp := path.Join(path.Dir(w.Path), ".obstat-"+hex.EncodeToString(r[:]))
	f, err := t.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = f.Write(w.after)
	if err == nil && !w.Before.IsAbsent() {
		err = f.Chmod(mode) // the umask is for new files, not for a mode that was there
	}
	return temp, errors.Join(err, f.Close())
}

// place puts a staged file in its place. A create links, which fails where a
// file has appeared since it was looked for; a rename would overwrite it.
// The answer says whether the change is made, which it may be beside an error.
func (t *tree) place(s stage) (placed bool, err error) {
	switch {
	case s.After.IsAbsent():
		err := t.root.Remove(s.Path)
		return err == nil, err
	case !s.Before.IsAbsent():
		err := t.root.Rename(s.temp, s.Path)
		return err == nil, err
	}
	if err := t.root.Link(s.temp, s.Path); err != nil {
		return false, err
	}
	return true, t.root.Remove(s.temp)
}

// found returns what the files of a set hold now; nil where one cannot be read.
func (t *tree) found(set []write) []preview.Content {
	all := make([]preview.Content, len(set))
	for i, w := range set {
		var err error
		if all[i], _, err = t.look(w.Path); err != nil {
			return nil
		}
	}
	return all
}
