package faultfs

import (
	"io"
	"io/fs"
)

// file is an open file. Its end is owned by the appending goroutine.
type file struct {
	fs   *FS
	n    *inode
	name string
	end  int64
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if _, err := f.fs.step(Read, f.name, len(p)); err != nil {
		return 0, err
	}
	if off >= int64(len(f.n.cache)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.cache[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.fs.dead {
		return 0, ErrPowerCut
	}
	return int64(len(f.n.cache)), nil
}

func (f *file) Append(p []byte) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	fault, err := f.fs.step(Append, f.name, len(p))
	switch {
	case err == nil:
		f.n.write(f.end, p)
		f.end += int64(len(p))
	case fault != nil && fault.Applied:
		f.n.write(f.end, p)
	case fault != nil && fault.Partial > 0:
		f.n.write(f.end, p[:min(fault.Partial, len(p))])
	}
	return err
}

func (f *file) SyncData() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	fault, err := f.fs.step(SyncData, f.name, 0)
	if err != nil && (fault == nil || !fault.Applied) {
		// The kernel marks the pages clean all the same.
		if fault != nil && fault.Err != ErrPowerCut {
			f.n.doomed = append(f.n.doomed, f.n.pend...)
			f.n.pend = nil
		}
		return err
	}
	if f.fs.mutant.NoSyncData {
		return err
	}
	for _, w := range f.n.pend {
		f.n.disk = w.apply(f.n.disk)
	}
	f.n.pend = nil
	return err
}

func (f *file) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	fault, err := f.fs.step(Truncate, f.name, 0)
	if err != nil && (fault == nil || !fault.Applied) {
		return err
	}
	w := write{off: size, trim: true}
	f.n.cache = w.apply(f.n.cache)
	f.n.pend = append(f.n.pend, w)
	f.end = size
	return err
}

func (f *file) Preallocate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	have := int64(len(f.n.cache))
	fault, err := f.fs.step(Preallocate, f.name, int(max(0, size-have)))
	if err != nil && (fault == nil || !fault.Applied) {
		return err
	}
	if size > have {
		f.n.write(have, make([]byte, size-have))
	}
	return err
}

func (f *file) Close() error { return nil }

func (n *inode) write(off int64, p []byte) {
	w := write{off: off, data: append([]byte(nil), p...)}
	n.cache = w.apply(n.cache)
	n.pend = append(n.pend, w)
}

// apply returns b with the write done, in place where there is room.
func (w write) apply(b []byte) []byte {
	if w.trim {
		return extend(b, w.off)[:w.off]
	}
	b = extend(b, w.off+int64(len(w.data)))
	copy(b[w.off:], w.data)
	return b
}

// extend makes b at least n long, with zeros.
func extend(b []byte, n int64) []byte {
	if int64(len(b)) >= n {
		return b
	}
	if int64(cap(b)) >= n {
		old := len(b)
		b = b[:n]
		clear(b[old:])
		return b
	}
	out := make([]byte, n, 2*n)
	copy(out, b)
	return out
}

var _ fs.DirEntry = entry{}
