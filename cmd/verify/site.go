package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// siteFS is the directory of a log. Only regular files inside it are files of
// it, behind symbolic links or not: a FIFO would hold the audit until somebody
// writes, a device has no end, and whoever made a mirror does not say what else
// on this machine is read. Whatever else stands at a path, and a path that leads
// nowhere or out of the directory, is a file that is not there, and so an answer
// about the log.
type siteFS struct{ root *os.Root }

var (
	_ fs.FS     = siteFS{}
	_ fs.StatFS = siteFS{}
)

// openSite opens a directory. Close closes it.
func openSite(name string) (siteFS, error) {
	root, err := os.OpenRoot(name)
	return siteFS{root}, err
}

func (s siteFS) Close() error { return s.root.Close() }

// Open opens a regular file.
func (s siteFS) Open(name string) (fs.File, error) {
	if _, err := s.Stat(name); err != nil { // before a device is touched
		return nil, err
	}
	// Not blocking, in case it is another thing by now.
	f, err := s.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, s.absent("open", name, err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(s.absent("open", name, err), f.Close())
	}
	return f, nil
}

// Stat describes a regular file.
func (s siteFS) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	st, err := s.root.Stat(filepath.FromSlash(name))
	if err == nil && !st.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, s.absent("stat", name, err)
	}
	return st, nil
}

// absent makes one error of every way in which there is no such file, and names
// the directory in those of reading. What os.Root refuses by itself, a path that
// leads out of it, has no number of the system.
func (s siteFS) absent(op, name string, err error) error {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	for _, e := range []error{fs.ErrNotExist, syscall.ELOOP, syscall.ENOTDIR, syscall.ENXIO} {
		if errors.Is(number, e) {
			return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
	}
	return &fs.PathError{Op: op, Path: filepath.Join(s.root.Name(), filepath.FromSlash(name)), Err: number}
}
