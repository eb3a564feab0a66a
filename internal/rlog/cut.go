package rlog

import (
	"bytes"
	"fmt"

	"github.com/obstat/obstat/internal/durable"
)

// cutName names the file that keeps what was cut from a segment.
func cutName(segment uint64, off int64) string {
	return fmt.Sprintf("%s/%020d-%d", cutDir, segment, off)
}

// cut removes the torn record behind the last whole one. Its bytes are kept,
// without the checkpoint: that may be signed over a tree which will never
// exist, and nobody must come to see it. The copy is durable before the segment
// is shortened.
func (r *replay) cut() error {
	if r.torn.off == r.torn.end {
		return nil
	}
	s := r.lastIn
	b := make([]byte, r.torn.end-r.torn.off)
	if err := durable.ReadFull(s.file, b, r.torn.off); err != nil {
		return ioError("read", s.name, err)
	}
	clearNote(b, int(r.torn.noteLen), r.cfg.Origin)
	if err := r.cfg.FS.Mkdir(cutDir); err != nil {
		return ioError("make", cutDir, err)
	}
	if err := r.cfg.FS.SyncDir("."); err != nil {
		return ioError("sync directory", ".", err)
	}
	name := cutName(s.number, r.torn.off)
	if err := durable.WriteFile(r.cfg.FS, name, b); err != nil {
		return ioError("write", name, err)
	}
	f, err := r.cfg.FS.Append(s.name)
	if err != nil {
		return ioError("open", s.name, err)
	}
	defer f.Close()
	if err := f.Truncate(r.torn.off); err != nil {
		return ioError("truncate", s.name, err)
	}
	if err := f.SyncData(); err != nil {
		return ioError("sync", s.name, err)
	}
	r.cfg.Logger.Warn("cut the last record, which is not whole: torn while it was written, or damaged since", "segment", s.name,
		"byte", r.torn.off, "bytes", len(b), "kept", name)
	return nil
}

// clearNote zeroes the part of a record that holds the signature, and whatever
// else looks like a signature line of the log.
func clearNote(b []byte, noteLen int, origin string) {
	if len(b) > recordHeaderSize {
		clear(b[recordHeaderSize:min(len(b), recordHeaderSize+noteLen)])
	}
	line := []byte("\u2014 " + origin + " ")
	for i := bytes.Index(b, line); i >= 0; i = bytes.Index(b, line) {
		end := bytes.IndexByte(b[i:], '\n')
		if end < 0 || end > len(line)+128 {
			end = min(len(b)-i, len(line)+128)
		}
		clear(b[i : i+end])
	}
}
