package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// siteFS is the directory of a log. Only regular files are files of it, behind
// symbolic links or not: a FIFO would hold the audit until somebody writes, and
// a device has no end. Whatever else stands at a path, and a path that leads
// nowhere, is a file that is not there, and so an answer about the log.
type siteFS string

var (
	_ fs.FS     = siteFS("")
	_ fs.StatFS = siteFS("")
)

func (s siteFS) path(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return filepath.Join(string(s), filepath.FromSlash(name)), nil
}

// Open opens a regular file.
func (s siteFS) Open(name string) (fs.File, error) {
	path, err := s.path("open", name)
	if err != nil {
		return nil, err
	}
	if _, err := s.Stat(name); err != nil { // before a device is touched
		return nil, err
	}
	// Not blocking, in case it is another thing by now.
	f, err := os.OpenFile(path, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, absent("open", name, err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(absent("open", name, err), f.Close())
	}
	return f, nil
}

// Stat describes a regular file.
func (s siteFS) Stat(name string) (fs.FileInfo, error) {
	path, err := s.path("stat", name)
	if err != nil {
		return nil, err
	}
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, absent("stat", name, err)
	}
	return st, nil
}

// absent makes one error of every way in which there is no such file, and
// leaves those of reading.
func absent(op, name string, err error) error {
	for _, e := range []error{fs.ErrNotExist, syscall.ELOOP, syscall.ENOTDIR, syscall.ENXIO} {
		if errors.Is(err, e) {
			return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
	}
	return err
}
