package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// TempSuffix ends the name of a file that WriteFile has not finished.
const TempSuffix = ".tmp"

// WriteFile makes name hold exactly data: a temporary file beside it, synced,
// renamed over it, and the directory synced. After an error or a power cut name
// holds what it held before, or data, never anything else; a file with
// TempSuffix may be left.
func WriteFile(f FS, name string, data []byte) error {
	tmp := name + TempSuffix
	if err := f.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := f.Create(tmp)
	if err != nil {
		return err
	}
	if err := w.Append(data); err != nil {
		w.Close()
		return err
	}
	if err := w.SyncData(); err != nil {
		w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := f.Rename(tmp, name); err != nil {
		return err
	}
	return f.SyncDir(path.Dir(name))
}

// ReadFile returns the whole of a file of at most limit bytes.
func ReadFile(f FS, name string, limit int64) ([]byte, error) {
	r, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	size, err := r.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("file is longer than its kind can be")}
	}
	b := make([]byte, size)
	if err := ReadFull(r, b, 0); err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return b, nil
}

// ReadFull fills p from off on; a shorter file is io.ErrUnexpectedEOF.
func ReadFull(r Reader, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// SyncFile makes what was written to an open file durable. It is for whoever
// holds files open that are in no FS, below an os.Root; the rules of this
// package for SyncData hold.
func SyncFile(f *os.File) error { return syncData(f) }

// SyncOpenDir makes creations, renames and removals in an open directory
// durable, as FS.SyncDir does.
func SyncOpenDir(d *os.File) error { return syncOpenDir(d) }

// LockOpen takes the exclusive lock of an open file or directory, without
// waiting; closing it gives the lock back. A lock held by somebody else is a
// *LockedError.
func LockOpen(f *os.File) error {
	err := lockFile(f)
	switch {
	case errors.Is(err, errLocked):
		return &LockedError{Name: f.Name()}
	case err != nil:
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}
