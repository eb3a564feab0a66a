package gate

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// A write is one change of a change set with the bytes that it writes.
type write struct {
	preview.Change
	after []byte // nil where the file is deleted
}

// changeset is a change set under way. Every change has a name of its own beside
// its target, its aside. There the new content waits until it is put in place,
// and the old content from then on, until the outcome stands in the log:
//
//	intend   the record of all of this is durable
//	stage    new contents are written to their asides and synced
//	place    one by one, target and aside change places; what comes out of the
//	         target must be what the change was made from
//	sync     the directories
//	done     old contents are removed
//
// So at every moment either content of every file is on disk, and [restore] or a
// look at all of them settles the set.
type changeset struct {
	tree  *tree
	items []item
	made  []string // directories that were missing
}

// item is one change of a set, as the intent record has it.
type item struct {
	path          string
	before, after preview.Content
	mode          fs.FileMode // that the file is left with
	oldMode       fs.FileMode // that it had; 0 where it was not there
	aside         string      // path beside path
}

// begin compares every witness, and prepares the set without changing anything.
// A witness that fails is a *MovedError.
func (t *tree) begin(set []write) (*changeset, error) {
	var r [8]byte
	_, _ = rand.Read(r[:]) // crypto/rand.Read never fails
	prefix := ".obstat-" + hex.EncodeToString(r[:]) + "-"
	c := &changeset{tree: t}
	infos := make([]fs.FileInfo, len(set))
	missing := map[string]bool{}
	for i, w := range set {
		seen, st, err := t.look(w.Path)
		if err != nil {
			return nil, err
		}
		if seen != w.Before {
			return nil, &MovedError{Key: w.Path, Expected: w.Before, Seen: seen}
		}
		for j := range i {
			// A name that the file system folds into another, or a second hard
			// link: one change would undo the other.
			if st != nil && infos[j] != nil && os.SameFile(st, infos[j]) {
				return nil, fmt.Errorf("%q and %q are one file", set[j].Path, w.Path)
			}
		}
		infos[i] = st
		it := item{
			path: w.Path, before: w.Before, after: w.After, mode: 0o644,
			aside: path.Join(path.Dir(w.Path), prefix+strconv.Itoa(i)),
		}
		if st != nil {
			it.oldMode = st.Mode().Perm()
		}
		switch {
		case w.Mode == preview.ModeProgram:
			it.mode = 0o755
		case w.Mode == preview.ModeKept && st != nil:
			it.mode = it.oldMode
		}
		c.items = append(c.items, it)
		if err := c.missingAbove(w.Path, missing); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// missingAbove adds the directories above name that are not there, outermost
// first.
func (c *changeset) missingAbove(name string, known map[string]bool) error {
	dir := path.Dir(name)
	if known[dir] {
		return nil
	}
	if _, err := c.tree.dir(dir, false); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := c.missingAbove(dir, known); err != nil {
		return err
	}
	known[dir] = true
	c.made = append(c.made, dir)
	return nil
}

// apply makes the set happen. It ends with all of it in place and synced, or
// with an error: a *MovedError or a *FailedError, which says whether everything
// is as it was.
func (c *changeset) apply(set []write, intend func([]byte) error, root string, request receipt.Digest) error {
	record, err := c.encode(root, request)
	if err == nil {
		c.tree.step("intend")
		err = intend(record)
	}
	if err != nil {
		return &FailedError{codeIOError, receipt.RestoredYes, err}
	}
	if err := c.stage(set); err != nil {
		return c.undo(0, err, receipt.RestoredYes)
	}
	for i := range c.items {
		if err := c.place(&c.items[i]); err != nil {
			return c.undo(i, err, receipt.RestoredYes)
		}
	}
	if err := c.syncDirs(); err != nil {
		return c.undo(len(c.items), err, receipt.RestoredUnknown) // the disk does not say what it has
	}
	return nil
}

// stage makes directories, and writes new contents to their asides, synced.
func (c *changeset) stage(set []write) error {
	for i, it := range c.items {
		dir, err := c.tree.dir(path.Dir(it.path), true)
		if err != nil {
			return err
		}
		if it.after.IsAbsent() {
			continue
		}
		if err := c.writeAside(dir, it, set[i].after); err != nil {
			return err
		}
	}
	return c.syncDirs()
}

func (c *changeset) writeAside(dir *os.Root, it item, b []byte) error {
	c.tree.step("stage")
	f, err := dir.OpenFile(path.Base(it.aside), os.O_WRONLY|os.O_CREATE|os.O_EXCL, it.mode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil && !it.before.IsAbsent() {
		err = f.Chmod(it.mode) // the umask is for new files, not for a mode that was there
	}
	if err == nil {
		c.tree.step("sync")
		err = durable.SyncFile(f)
	}
	return errors.Join(err, f.Close())
}

// syncDirs makes names durable, in every directory of the set and in those
// above directories that were made.
func (c *changeset) syncDirs() error {
	dirs := map[string]bool{}
	for _, it := range c.items {
		dirs[path.Dir(it.path)] = true
	}
	for _, d := range c.made {
		dirs[path.Dir(d)] = true
	}
	for name := range dirs {
		d, err := c.tree.dir(name, false)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was to be made, and is not
		}
		if err != nil {
			return err
		}
		f, err := d.Open(".")
		if err != nil {
			return err
		}
		c.tree.step("syncdir")
		if err := errors.Join(durable.SyncOpenDir(f), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// place puts one change in its place. After an error the change is not made.
// Nothing that somebody else put there meanwhile is lost: what comes out of the
// target is compared, and goes back where it is not what the change was made
// from.
func (c *changeset) place(it *item) error {
	dir, err := c.tree.dir(path.Dir(it.path), false)
	if err != nil {
		return err
	}
	target, aside := path.Base(it.path), path.Base(it.aside)
	switch {
	case it.before.IsAbsent():
		c.tree.step("link")
		if err := dir.Link(aside, target); errors.Is(err, fs.ErrExist) {
			return c.moved(it, it.path)
		} else if err != nil {
			return err
		}
		c.tree.step("unlink")
		if err := dir.Remove(aside); err != nil {
			return errors.Join(err, dir.Remove(target))
		}
		return nil
	case it.after.IsAbsent():
		c.tree.step("rename")
		if err := dir.Rename(target, aside); errors.Is(err, fs.ErrNotExist) {
			return &MovedError{Key: it.path, Expected: it.before}
		} else if err != nil {
			return err
		}
		if came := c.came(it, it.before); came != nil {
			return errors.Join(came, putBack(dir, aside, target))
		}
		return nil
	}
	c.tree.step("exchange")
	if err := exchange(dir, aside, target, c.tree.step); errors.Is(err, fs.ErrNotExist) {
		return &MovedError{Key: it.path, Expected: it.before}
	} else if err != nil {
		return err
	}
	if came := c.came(it, it.before); came != nil {
		return errors.Join(came, exchange(dir, aside, target, c.tree.step))
	}
	return nil
}

// putBack gives a file its name back, unless somebody has taken it.
func putBack(dir *os.Root, aside, target string) error {
	if err := dir.Link(aside, target); err != nil {
		return err
	}
	return dir.Remove(aside)
}

// came compares what has come out of a target with what was to come out.
func (c *changeset) came(it *item, want preview.Content) error {
	seen, _, err := c.tree.look(it.aside)
	if err == nil && seen != want {
		err = &MovedError{Key: it.path, Expected: want, Seen: seen}
	}
	return err
}

// moved is the *MovedError for what a path holds now.
func (c *changeset) moved(it *item, at string) error {
	seen, _, err := c.tree.look(at)
	if err != nil {
		return err
	}
	return &MovedError{Key: it.path, Expected: it.before, Seen: seen}
}

// undo takes the first n changes back, removes what was staged, and returns why
// as a *MovedError or a *FailedError; restored is the answer where everything is
// as it was.
func (c *changeset) undo(n int, why error, restored receipt.Restored) error {
	err := c.restore(n)
	var moved *MovedError
	switch {
	case err != nil:
		return &FailedError{codeIOError, receipt.RestoredNo, errors.Join(why, err)}
	case restored == receipt.RestoredYes && errors.As(why, &moved):
		return moved
	}
	return &FailedError{codeIOError, restored, why}
}

// restore takes the first n changes back and removes what was staged. Where a
// file has changed since, it stays as it is, and so does its old content, whose
// name the error gives.
func (c *changeset) restore(n int) error {
	var errs []error
	for i := len(c.items) - 1; i >= 0; i-- {
		it := &c.items[i]
		var err error
		switch {
		case i < n:
			err = c.takeBack(it)
		case i == n:
			err = c.dropStaged(it)
		default:
			err = c.drop(it.aside)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s is not restored: %w", it.path, err))
		}
	}
	for i := len(c.made) - 1; i >= 0; i-- {
		c.removeDir(c.made[i])
	}
	return errors.Join(append(errs, c.syncDirs())...)
}

// takeBack is the inverse of place.
func (c *changeset) takeBack(it *item) error {
	dir, err := c.tree.dir(path.Dir(it.path), false)
	if err != nil {
		return err
	}
	target, aside := path.Base(it.path), path.Base(it.aside)
	switch {
	case it.before.IsAbsent():
		// A crash may have left both names, and to rename one name of a file to
		// another does nothing.
		if err := c.drop(it.aside); err != nil {
			return err
		}
		c.tree.step("rename")
		if err := dir.Rename(target, aside); err != nil {
			return err
		}
		if came := c.came(it, it.after); came != nil {
			return errors.Join(came, putBack(dir, aside, target))
		}
	case it.after.IsAbsent():
		c.tree.step("link")
		if err := dir.Link(aside, target); err != nil {
			return fmt.Errorf("%w; what it held is %s", err, it.aside)
		}
	default:
		c.tree.step("exchange")
		if err := exchange(dir, aside, target, c.tree.step); err != nil {
			return fmt.Errorf("%w; what it held is %s", err, it.aside)
		}
		if came := c.came(it, it.after); came != nil {
			return errors.Join(fmt.Errorf("%w; what it held is %s", came, it.aside), exchange(dir, aside, target, c.tree.step))
		}
	}
	return c.drop(it.aside)
}

// dropStaged removes the aside of a change that could not be placed, unless
// what was in the target did not find its way back from there.
func (c *changeset) dropStaged(it *item) error {
	if !it.before.IsAbsent() {
		if seen, _, err := c.tree.look(it.path); err != nil || seen != it.before {
			aside, _, asideErr := c.tree.look(it.aside)
			if asideErr != nil || !aside.IsAbsent() && aside != it.after {
				return errors.Join(fmt.Errorf("what it held is %s", it.aside), err, asideErr)
			}
		}
	}
	return c.drop(it.aside)
}

// drop removes an aside, if it is there.
func (c *changeset) drop(aside string) error {
	dir, err := c.tree.dir(path.Dir(aside), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	base := path.Base(aside)
	if _, err := dir.Lstat(base); errors.Is(err, fs.ErrNotExist) {
		return nil // where nothing can be written, to remove nothing fails too
	}
	c.tree.step("unlink")
	return dir.Remove(base)
}

// removeDir removes a directory that was made, unless somebody has put something
// in it.
func (c *changeset) removeDir(name string) {
	up, err := c.tree.dir(path.Dir(name), false)
	if err != nil {
		return
	}
	if d, ok := c.tree.dirs[name]; ok {
		d.Close()
		delete(c.tree.dirs, name)
	}
	c.tree.step("rmdir")
	_ = up.Remove(path.Base(name))
}

// done removes the old contents: the outcome stands in the log.
func (c *changeset) done() error {
	var errs []error
	for _, it := range c.items {
		errs = append(errs, c.drop(it.aside))
	}
	return errors.Join(errs...)
}

// found returns what the files of the set hold now; nil where one cannot be read.
func (c *changeset) found() []preview.Content {
	all := make([]preview.Content, len(c.items))
	for i, it := range c.items {
		var err error
		if all[i], _, err = c.tree.look(it.path); err != nil {
			return nil
		}
	}
	return all
}
