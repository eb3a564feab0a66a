package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// OpenDir returns the tree under an existing directory of the operating
// system.
func OpenDir(path string) (FS, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	st, err := os.Stat(abs)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: abs, Err: errors.New("not a directory")}
	}
	return dirFS{root: abs}, nil
}

type dirFS struct{ root string }

func (d dirFS) String() string { return d.root }

func (d dirFS) path(name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return filepath.Join(d.root, filepath.FromSlash(name)), nil
}

func (d dirFS) Create(name string) (File, error) {
	p, err := d.path(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(p, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return &dirFile{f: f}, nil
}

func (d dirFS) Append(name string) (File, error) {
	p, err := d.path(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	file := &dirFile{f: f}
	file.end.Store(st.Size())
	return file, nil
}

func (d dirFS) Open(name string) (Reader, error) {
	p, err := d.path(name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(p)
	if err != nil {
		return nil, err
	}
	return &dirFile{f: f}, nil
}

func (d dirFS) ReadDir(name string) ([]fs.DirEntry, error) {
	p, err := d.path(name)
	if err != nil {
		return nil, err
	}
	return os.ReadDir(p)
}

func (d dirFS) Mkdir(name string) error {
	p, err := d.path(name)
	if err != nil {
		return err
	}
	if err := os.Mkdir(p, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (d dirFS) Rename(oldname, newname string) error {
	from, err := d.path(oldname)
	if err != nil {
		return err
	}
	to, err := d.path(newname)
	if err != nil {
		return err
	}
	return rename(from, to)
}

func (d dirFS) Remove(name string) error {
	p, err := d.path(name)
	if err != nil {
		return err
	}
	return os.Remove(p)
}

func (d dirFS) SyncDir(name string) error {
	p, err := d.path(name)
	if err != nil {
		return err
	}
	return syncDir(p)
}

// Lock keeps the file: removing it would let two processes hold locks on two
// files of one name.
func (d dirFS) Lock(name string) (Lock, error) {
	p, err := d.path(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(p, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		defer f.Close()
		if !errors.Is(err, errLocked) {
			return nil, &fs.PathError{Op: "lock", Path: p, Err: err}
		}
		b := make([]byte, 64)
		n, _ := f.ReadAt(b, 0)
		return nil, &LockedError{Name: p, Holder: strings.TrimSpace(string(b[:n]))}
	}
	// Who holds it is a help to a person, not a fact anybody relies on.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt(fmt.Appendf(nil, "pid %d\n", os.Getpid()), 0)
	}
	return f, nil
}

// dirFile is a file of the operating system.
type dirFile struct {
	f   *os.File
	end atomic.Int64 // where Append writes; written by the appending goroutine
}

func (f *dirFile) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(p, off) }
func (f *dirFile) Close() error                            { return f.f.Close() }

func (f *dirFile) Size() (int64, error) {
	st, err := f.f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (f *dirFile) Append(p []byte) error {
	n, err := f.f.WriteAt(p, f.end.Load())
	f.end.Add(int64(n))
	return err
}

func (f *dirFile) SyncData() error { return syncData(f.f) }

func (f *dirFile) Truncate(size int64) error {
	if err := f.f.Truncate(size); err != nil {
		return err
	}
	f.end.Store(size)
	return nil
}

// zeros are what Preallocate writes; never changed.
var zeros [1 << 20]byte

// Preallocate writes zeros: a write into blocks that hold data already changes
// no metadata, so that the fdatasync behind it has no journal to commit. Room
// that was only reserved (fallocate) saves nothing here.
func (f *dirFile) Preallocate(size int64) error {
	have, err := f.Size()
	if err != nil {
		return err
	}
	for have < size {
		n := min(size-have, int64(len(zeros)))
		if _, err := f.f.WriteAt(zeros[:n], have); err != nil {
			return err
		}
		have += n
	}
	return nil
}
