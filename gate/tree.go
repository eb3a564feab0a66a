package gate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/preview"
)

// tree looks at, and changes, files below one directory. It goes through
// os.Root, so no path leads outside however links are moved meanwhile; on top of
// that it enters no symbolic link at all, because two names for one file would
// let one change hide another.
type tree struct {
	root *os.Root
	dirs map[string]*os.Root // those that were entered, by path; "." is root
	step func(string)        // as Store.step
}

func openTree(dir string) (*tree, error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{root: root, dirs: map[string]*os.Root{".": root}, step: func(string) {}}, nil
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

func (t *tree) close() error {
	var errs []error
	for _, d := range t.dirs {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// dir enters a directory, one element after the other. Where one is missing the
// error is fs.ErrNotExist, unless it is to be made.
func (t *tree) dir(name string, make bool) (*os.Root, error) {
	if d, ok := t.dirs[name]; ok {
		return d, nil
	}
	up, err := t.dir(path.Dir(name), make)
	if err != nil {
		return nil, err
	}
	base := path.Base(name)
	st, err := up.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) && make {
		t.step("mkdir")
		if err := up.Mkdir(base, 0o755); err != nil {
			return nil, err
		}
		st, err = up.Lstat(base)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%q is a symbolic link; a change set names files by their one path", name)
	case !st.IsDir():
		return nil, fmt.Errorf("%q is not a directory", name)
	}
	d, err := up.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	if now, err := d.Stat("."); err != nil || !os.SameFile(st, now) {
		return nil, errors.Join(fmt.Errorf("%q was replaced while it was looked at", name), err, d.Close())
	}
	t.dirs[name] = d
	return d, nil
}

// plain refuses a path that is not made of directories and, at its end, a
// regular file or nothing. It returns what stands there, nil for nothing.
func (t *tree) plain(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) || name == "." || strings.ContainsRune(name, '\\') {
		return nil, fmt.Errorf("%q is not a clean relative path", name)
	}
	d, err := t.dir(path.Dir(name), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	st, err := d.Lstat(path.Base(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case st.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%q is a symbolic link; a change set names files by their one path", name)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%q is not a regular file", name)
	}
	return st, nil
}

// open opens a file by its one path; all three are nil where there is none.
func (t *tree) open(name string) (*os.File, fs.FileInfo, error) {
	st, err := t.plain(name)
	if st == nil || err != nil {
		return nil, nil, err
	}
	f, err := t.dirs[path.Dir(name)].Open(path.Base(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(st, now) {
		return nil, nil, errors.Join(fmt.Errorf("%q was replaced while it was looked at", name), err, f.Close())
	}
	return f, st, nil
}

// look returns what a file holds, and its information; an absent content and nil
// where there is no file.
func (t *tree) look(name string) (preview.Content, fs.FileInfo, error) {
	f, st, err := t.open(name)
	if f == nil || err != nil {
		return preview.Content{}, nil, err
	}
	defer f.Close()
	c, err := preview.ReadContent(f)
	return c, st, err
}

// errTooLarge says that a file is too large to be kept in memory.
var errTooLarge = errors.New("it is too large to be kept")

// read returns the bytes of a file, which must have a content, and its
// information. A file of more than limit bytes is errTooLarge.
func (t *tree) read(name string, want preview.Content, limit int64) ([]byte, fs.FileInfo, error) {
	f, st, err := t.open(name)
	if err != nil {
		return nil, nil, err
	}
	var b []byte
	var got preview.Content
	if f != nil {
		defer f.Close()
		if st.Size() > limit {
			return nil, nil, fmt.Errorf("%q: %w", name, errTooLarge)
		}
		if b, err = io.ReadAll(io.LimitReader(f, limit+1)); err != nil {
			return nil, nil, err
		}
		got = preview.ContentOf(b)
	}
	if got != want {
		return nil, nil, &MovedError{Key: name, Expected: want, Seen: got}
	}
	return b, st, nil
}
