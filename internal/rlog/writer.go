package rlog

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/internal/durable"
)

// writer appends group records to segments. Owner: the sequencer, after Open.
type writer struct {
	fs     durable.FS
	origin string
	rand   io.Reader
	chunk  int64 // bytes to make room for at once

	number uint64 // of the current segment
	file   durable.File
	keyed  *blake3.Hasher
	off    int64 // where the next record will stand
	zeroed int64 // up to here the file was made longer ahead of need
	group  uint64
	prev   sum
	buf    []byte
}

// start makes the segment number, beginning with r, which becomes the last
// record written. The segment has its final name only with r in it, synced, and
// the name is synced before start returns. The file that was current stays open
// for its readers.
func (w *writer) start(number uint64, r *record) (op, name string, err error) {
	final := segmentName(number)
	tmp := final + tempExt
	h, err := newSegmentHeader(number, w.origin, w.rand)
	if err != nil {
		return "draw a key for", final, err
	}
	keyed := h.keyed()
	b, s, err := appendRecord(h.append(nil), keyed, r)
	if err != nil {
		return "encode", final, err
	}
	f, err := w.fs.Create(tmp)
	if err != nil {
		return "create", tmp, err
	}
	if err := f.Append(b); err != nil {
		f.Close()
		return "write", tmp, err
	}
	if err := f.SyncData(); err != nil {
		f.Close()
		return "sync", tmp, err
	}
	if err := w.fs.Rename(tmp, final); err != nil {
		f.Close()
		return "rename", final, err
	}
	if err := w.fs.SyncDir(segmentsDir); err != nil {
		f.Close()
		return "sync directory", segmentsDir, err
	}
	w.number, w.file, w.keyed, w.off, w.zeroed = number, f, keyed, int64(len(b)), 0
	w.group, w.prev = r.group, s
	return "", "", nil
}

// append writes r behind the last record and syncs; where the segment is as
// long as limit, at the beginning of a new one. It returns where r stands.
func (w *writer) append(r *record, limit int64) (at int64, op, name string, err error) {
	if w.off >= limit {
		op, name, err = w.start(w.number+1, r)
		return segmentHeaderSize, op, name, err
	}
	name = segmentName(w.number)
	var s sum
	if w.buf, s, err = appendRecord(w.buf[:0], w.keyed, r); err != nil {
		return 0, "encode", name, err
	}
	if err := w.makeRoom(int64(len(w.buf))); err != nil {
		return 0, "make longer", name, err
	}
	if err := w.file.Append(w.buf); err != nil {
		return 0, "write", name, err
	}
	if err := w.file.SyncData(); err != nil {
		return 0, "sync", name, err
	}
	at = w.off
	w.off += int64(len(w.buf))
	w.group, w.prev = r.group, s
	if cap(w.buf) > 1<<20 {
		w.buf = nil // one large group does not hold its memory for ever
	}
	return at, "", "", nil
}

// makeRoom writes zeros ahead of a small record that would make the file longer.
// The records that follow it then change no length and no blocks, and their
// fdatasync has no journal to wait for: measured, two thirds of the time. A
// large record gains nothing, since its own bytes take longer than the journal.
func (w *writer) makeRoom(n int64) error {
	if w.chunk == 0 || n > w.chunk/4 || w.off+n <= w.zeroed {
		return nil
	}
	if err := w.file.Preallocate(w.off + w.chunk); err != nil {
		return err
	}
	w.zeroed = w.off + w.chunk
	return nil
}

// removeTemp removes what an earlier start did not finish.
func removeTemp(f durable.FS) error {
	entries, err := f.ReadDir(segmentsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return ioError("list", segmentsDir, err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), tempExt) {
			if err := f.Remove(segmentsDir + "/" + e.Name()); err != nil {
				return ioError("remove", segmentsDir+"/"+e.Name(), err)
			}
		}
	}
	return nil
}
