package client

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/report"
)

// The journal is the one file in which a run keeps what it has said. A record
// is written once and never changed:
//
//	kind    1 byte
//	length  4 bytes, of the body
//	synced  8 bytes: how much of the file was known to be on disk by then
//	sum     4 bytes: CRC-32C of where the record stands, the 13 bytes before, and the body
//	body
//
// Numbers are big endian. Behind the last record stand zeros, which are room
// for more: a write into them is synced without a change to the file's size.
//
// A power cut may take what was not synced, in any pieces. So whatever stands
// behind the first record that is not whole is cut off, unless a record tells
// that it had been synced; then the file is damaged, and nobody speaks for the
// run.
const (
	journalName  = "journal"
	journalMagic = "obstat run journal v1\n"
	recordHead   = 17
	journalRoom  = 64 << 10 // zeros are written ahead in pieces of this, in bytes
	maxBody      = 16 + maxNote
)

// maxNote is how long a signed checkpoint in a record may be, in bytes; a leaf is
// shorter than that.
const maxNote = 128 << 10

// The kinds of records. Zero is none.
const (
	kindRecorded byte = 'S' // a leaf, by a caller who waited for the log's answer
	kindKept     byte = 'K' // a leaf, by a caller who did not
	kindLost     byte = 'L' // a place whose statement was dropped; the code says why
	kindAnswered byte = 'A' // seq, index, and the signed checkpoint that proves it
	kindWitness  byte = 'W' // a checkpoint that fulfils the promises up to a size; the size first
	kindSynced   byte = 'Z' // nothing: its head says that what stands before it was synced
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// journal is the open file. Who may call what, the Run says.
type journal struct {
	file   durable.File
	end    int64 // where the next record goes
	room   int64 // length of the file, zeros included
	synced int64 // so much is on disk
}

// record is one record that was read.
type record struct {
	kind   byte
	synced int64
	off    int64 // of the body
	body   []byte
}

// read is what readJournal found.
type read struct {
	end    int64 // of the records
	proven int64 // so much had been synced, for all that the records tell
	torn   bool  // more than zeros stands behind them
}

// createJournal makes an empty journal, in place of one that nobody wrote to.
func createJournal(tree durable.FS) error {
	return durable.WriteFile(tree, journalName, []byte(journalMagic))
}

// openJournal opens the file to append behind its records, and cuts off what
// stands there. need is the end of the last record that must be on disk before
// anything is sent.
func openJournal(tree durable.FS, was read, need int64) (*journal, error) {
	if was.proven < need {
		// If a sync failed before, the page cache may show what the disk never
		// got, and another sync of this file would say that all is well.
		if err := rewriteJournal(tree, was.end); err != nil {
			return nil, err
		}
		was = read{was.end, was.end, false}
	}
	f, err := tree.Append(journalName)
	if err != nil {
		return nil, err
	}
	err = f.Truncate(was.end)
	if err == nil && was.torn { // or it could come back behind what is written next
		err = f.SyncData()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &journal{file: f, end: was.end, room: was.end, synced: was.proven}, nil
}

// rewriteJournal puts a copy of the records in place of the file.
func rewriteJournal(tree durable.FS, end int64) error {
	f, err := tree.Open(journalName)
	if err != nil {
		return err
	}
	all, err := readBody(f, 0, int(end))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return durable.WriteFile(tree, journalName, all)
}

// append writes a record and returns where its body stands. It is not synced.
func (j *journal) append(kind byte, body []byte) (int64, error) {
	n := int64(recordHead + len(body))
	if j.end+n > j.room {
		room := (j.end + n + 2*journalRoom - 1) / journalRoom * journalRoom
		if err := j.file.Preallocate(room); err != nil {
			return 0, err
		}
		j.room = room
	}
	b := make([]byte, recordHead, n)
	b[0] = kind
	binary.BigEndian.PutUint32(b[1:], uint32(len(body)))
	binary.BigEndian.PutUint64(b[5:], uint64(j.synced))
	binary.BigEndian.PutUint32(b[13:], recordSum(j.end, b[:13], body))
	if err := j.file.Append(append(b, body...)); err != nil {
		return 0, err
	}
	at := j.end + recordHead
	j.end += n
	return at, nil
}

// recordSum binds a record to its place, so that none counts anywhere else.
func recordSum(at int64, head, body []byte) uint32 {
	sum := crc32.Update(0, castagnoli, binary.BigEndian.AppendUint64(nil, uint64(at)))
	sum = crc32.Update(sum, castagnoli, head)
	return crc32.Update(sum, castagnoli, body)
}

// readJournal hands every record in order to visit. The file may be written to
// meanwhile.
func readJournal(tree durable.FS, visit func(record) error) (was read, err error) {
	f, err := tree.Open(journalName)
	if err != nil {
		return read{}, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return read{}, err
	}
	s := &journalScan{file: f, size: size}
	magic, err := s.bytes(0, int64(len(journalMagic)))
	if err != nil {
		return read{}, err
	}
	if string(magic) != journalMagic {
		return read{}, damaged(0, fmt.Sprintf("%q", journalMagic), "something else")
	}
	end := int64(len(magic))
	for {
		r, err := s.record(end)
		if err != nil {
			return read{}, err
		}
		if r == nil {
			torn, err := s.rest(end)
			return read{end, s.proven, torn}, err
		}
		s.proven = max(s.proven, r.synced)
		if err := visit(*r); err != nil {
			return read{}, err
		}
		end = r.off + int64(len(r.body))
	}
}

// journalScan reads a journal through a window.
type journalScan struct {
	file   durable.Reader
	size   int64
	at     int64 // of the window
	window []byte
	proven int64 // so much is known to have been synced
}

// bytes returns n bytes from off on, fewer at the end of the file. They are good
// until the next call.
func (s *journalScan) bytes(off, n int64) ([]byte, error) {
	n = min(n, s.size-off)
	if n <= 0 {
		return nil, nil
	}
	if off < s.at || off+n > s.at+int64(len(s.window)) {
		w := make([]byte, min(max(n, 256<<10), s.size-off))
		if err := durable.ReadFull(s.file, w, off); err != nil {
			return nil, err
		}
		s.at, s.window = off, w
	}
	return s.window[off-s.at:][:n], nil
}

// record reads the record at off; nil where none is whole.
func (s *journalScan) record(off int64) (*record, error) {
	head, err := s.bytes(off, recordHead)
	if err != nil || len(head) < recordHead || !bytes.Contains([]byte{kindRecorded, kindKept, kindLost, kindAnswered, kindWitness, kindSynced}, head[:1]) {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(head[1:]))
	synced := binary.BigEndian.Uint64(head[5:])
	if n > maxBody || synced > uint64(off) {
		return nil, nil
	}
	all, err := s.bytes(off, recordHead+n)
	if err != nil || int64(len(all)) < recordHead+n {
		return nil, err
	}
	if binary.BigEndian.Uint32(all[13:]) != recordSum(off, all[:13], all[recordHead:]) {
		return nil, nil
	}
	return &record{all[0], int64(synced), off + recordHead, bytes.Clone(all[recordHead:])}, nil
}

// rest looks at what stands behind the records: more than zeros, and whether
// anything says that it had been synced.
func (s *journalScan) rest(end int64) (torn bool, err error) {
	for off := end; off < s.size; off++ {
		b, err := s.bytes(off, 1)
		if err != nil {
			return false, err
		}
		if b[0] == 0 {
			continue
		}
		torn = true
		r, err := s.record(off)
		if err != nil {
			return false, err
		}
		if r != nil {
			s.proven = max(s.proven, r.synced)
		}
	}
	if s.proven > end {
		return torn, damaged(end, fmt.Sprintf("a record: %d bytes were synced", s.proven), "none that is whole")
	}
	return torn, nil
}

func damaged(off int64, expected, actual string) error {
	return &report.Error{
		Code: report.CodeRunStore, Where: fmt.Sprintf("%s, offset %d", journalName, off), Expected: expected, Actual: actual,
		Fix: "restore the directory as it was; without it nothing can be said in this run any more",
	}
}

// readBody reads back the body of a record.
func readBody(f durable.Reader, off int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if err := durable.ReadFull(f, b, off); err != nil {
		return nil, &fs.PathError{Op: "read", Path: journalName, Err: err}
	}
	return b, nil
}

func answerBody(seq, index uint64, note []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, seq)
	return append(binary.BigEndian.AppendUint64(b, index), note...)
}

// compile-time: a leaf fits.
var _ [maxBody - dsse.MaxLeaf]struct{}
