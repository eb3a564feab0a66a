package rlog

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/report"
)

// maxRecord is the most that one group record can take, and so the most that a
// power cut can tear: Config.GroupBytes is held to half of it.
const maxRecord = 64 << 20

// scanner walks the records of one segment. It is for one goroutine.
type scanner struct {
	name      string
	number    uint64
	header    segmentHeader
	file      durable.Reader
	size      int64 // of the file, when it was opened
	noteBound int64 // no note of the log's own signature alone is longer
	keyed     *blake3.Hasher
	off       int64 // where the next record stands
	buf       []byte
}

// openScanner opens a segment and reads its header. The caller closes file.
func openScanner(fs durable.FS, number uint64, origin string) (*scanner, error) {
	name := segmentName(number)
	f, err := fs.Open(name)
	if err != nil {
		return nil, ioError("open", name, err)
	}
	s := &scanner{name: name, number: number, file: f, off: segmentHeaderSize,
		noteBound: 2*int64(len(origin)) + 200}
	if err := s.readHeader(origin); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

func (s *scanner) readHeader(origin string) error {
	var err error
	if s.size, err = s.file.Size(); err != nil {
		return ioError("stat", s.name, err)
	}
	b := make([]byte, segmentHeaderSize)
	if err := durable.ReadFull(s.file, b, 0); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return damaged(s.name, s.size, "a segment header", "the end of the file")
		}
		return ioError("read", s.name, err)
	}
	h, ok := parseSegmentHeader(b)
	if !ok || h.number != s.number {
		return damaged(s.name, 0, fmt.Sprintf("the header of segment %d", s.number), "other bytes")
	}
	if h.origin != sha256.Sum256([]byte(origin)) {
		return &report.Error{Code: report.CodeLogForeign, Where: s.name, Expected: "a segment of " + origin,
			Actual: "a segment of another origin", Fix: "name the origin that the log was made with"}
	}
	s.header, s.keyed = h, h.keyed()
	return nil
}

// found is a whole record and where it stands; the zero value is none.
type found struct {
	*record
	sum sum
	at  int64
}

// next reads the record at s.off and moves behind it. ok is false where no
// whole record stands; s.off then stays. The record's bytes are valid until the
// next call. An error is one of reading.
func (s *scanner) next() (f found, ok bool, err error) {
	h, ok, err := s.peek()
	if !ok || err != nil {
		return found{}, false, err
	}
	if s.off+int64(h.length) > s.size || h.length > maxRecord {
		return found{}, false, nil
	}
	if cap(s.buf) < int(h.length) {
		s.buf = make([]byte, h.length, h.length+h.length/2)
	}
	s.buf = s.buf[:h.length]
	if err := durable.ReadFull(s.file, s.buf, s.off); err != nil {
		return found{}, false, ioError("read", s.name, err)
	}
	r, sm, ok := parseRecord(s.buf, h, s.keyed)
	if !ok {
		return found{}, false, nil
	}
	f = found{record: r, sum: sm, at: s.off}
	s.off += int64(h.length)
	return f, true, nil
}

// peek reads the header at s.off; ok is false where no whole header stands.
func (s *scanner) peek() (h recordHeader, ok bool, err error) {
	if s.off+recordHeaderSize > s.size {
		return h, false, nil
	}
	var b [recordHeaderSize]byte
	if err := durable.ReadFull(s.file, b[:], s.off); err != nil {
		return h, false, ioError("read", s.name, err)
	}
	h, ok = parseRecordHeader(b[:], s.keyed)
	return h, ok, nil
}

// torn is what stands behind the last whole record of the last segment.
type torn struct {
	off, end int64 // the bytes that are not zero lie in between; equal where there are none
	noteLen  int64 // bytes behind the record header that may hold a signature
}

// tail judges what stands at s.off, where no whole record begins: nothing,
// zeros, or one record that a power cut tore, the one behind last. Anything
// else is damage, because only the last record can have been written and not
// synced.
func (s *scanner) tail(last found) (torn, error) {
	end, err := s.lastNonZero()
	if err != nil || end <= s.off {
		return torn{off: s.off, end: s.off}, err
	}
	h, ok, err := s.peek()
	if err != nil {
		return torn{}, err
	}
	if ok {
		if h.group != last.group+1 || h.prev != last.sum || h.first != last.size {
			return torn{}, damaged(s.name, s.off, fmt.Sprintf("group %d", last.group+1),
				fmt.Sprintf("a record that says it is group %d and does not continue the one before", h.group))
		}
		if end > s.off+int64(h.length) {
			return torn{}, damaged(s.name, s.off, fmt.Sprintf("a whole record of group %d", h.group),
				"a damaged one, with more behind it")
		}
		return torn{off: s.off, end: end, noteLen: int64(h.noteLen)}, nil
	}
	if end-s.off > maxRecord {
		return torn{}, damaged(s.name, s.off, "a record", "more damaged bytes than one record can have")
	}
	b := make([]byte, end-s.off)
	if err := durable.ReadFull(s.file, b, s.off); err != nil {
		return torn{}, ioError("read", s.name, err)
	}
	for i := 1; ; i++ {
		j := bytes.Index(b[i:], recordMagic[:])
		if j < 0 {
			break
		}
		i += j
		if h, ok := parseRecordHeader(b[i:], s.keyed); ok {
			return torn{}, damaged(s.name, s.off, fmt.Sprintf("group %d", last.group+1),
				fmt.Sprintf("damaged bytes, with group %d behind them", h.group))
		}
	}
	return torn{off: s.off, end: end, noteLen: s.noteBound}, nil
}

// lastNonZero returns the offset behind the last byte that is not zero.
func (s *scanner) lastNonZero() (int64, error) {
	const chunk = 1 << 16
	b := make([]byte, chunk)
	for end := s.size; end > s.off; {
		start := max(s.off, end-chunk)
		p := b[:end-start]
		if err := durable.ReadFull(s.file, p, start); err != nil {
			return 0, ioError("read", s.name, err)
		}
		if i := len(bytes.TrimRight(p, "\x00")); i > 0 {
			return start + int64(i), nil
		}
		end = start
	}
	return s.off, nil
}
