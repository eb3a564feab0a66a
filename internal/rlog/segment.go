package rlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// The layout of a log directory (spec/log.md#directory).
const (
	lockName    = "LOCK"
	segmentsDir = "segments"
	cutDir      = "cut"
	segmentExt  = ".seg"
	tempExt     = ".tmp"
)

// Sizes of the segment format, in bytes.
const (
	segmentHeaderSize = 128
	recordHeaderSize  = 120
	sumSize           = 32
	headerSumSize     = 16
)

var (
	segmentMagic = [8]byte{'O', 'B', 'S', 'T', 'A', 'T', 'S', 1}
	recordMagic  = [4]byte{'O', 'B', 'G', 1}
)

// sum is the checksum of a record.
type sum [sumSize]byte

// segmentHeader begins a segment (spec/log.md#segment). Its key keys the
// checksums of the segment's records, so that no leaf, whoever chose its bytes,
// can look like a record.
//
//	0    magic and version, 8 bytes
//	8    number, uint64
//	16   key, 32 bytes
//	48   SHA-256 of the origin, 32 bytes
//	80   zeros, 16 bytes
//	96   BLAKE3 of the bytes before, 32 bytes
//
// Integers are big-endian, here and in records.
type segmentHeader struct {
	number uint64
	key    [32]byte
	origin [32]byte
}

func newSegmentHeader(number uint64, origin string, rand io.Reader) (segmentHeader, error) {
	h := segmentHeader{number: number, origin: sha256.Sum256([]byte(origin))}
	_, err := io.ReadFull(rand, h.key[:])
	return h, err
}

func (h segmentHeader) append(b []byte) []byte {
	start := len(b)
	b = append(b, segmentMagic[:]...)
	b = binary.BigEndian.AppendUint64(b, h.number)
	b = append(b, h.key[:]...)
	b = append(b, h.origin[:]...)
	b = append(b, make([]byte, 16)...)
	s := blake3.Sum256(b[start:])
	return append(b, s[:]...)
}

// parseSegmentHeader reads what append wrote and nothing else.
func parseSegmentHeader(b []byte) (segmentHeader, bool) {
	var h segmentHeader
	if len(b) != segmentHeaderSize {
		return h, false
	}
	h.number = binary.BigEndian.Uint64(b[8:])
	copy(h.key[:], b[16:])
	copy(h.origin[:], b[48:])
	return h, bytes.Equal(h.append(nil), b)
}

// segmentName returns "segments/00000000000000000001.seg".
func segmentName(number uint64) string {
	return fmt.Sprintf("%s/%020d%s", segmentsDir, number, segmentExt)
}

// parseSegmentName is its inverse for the last element of the name.
func parseSegmentName(base string) (uint64, bool) {
	digits, ok := strings.CutSuffix(base, segmentExt)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && n > 0
}

// record is a group record (spec/log.md#group-record): some leaves, the tree
// that they make, and its signed checkpoint.
//
//	0    magic and version, 4 bytes
//	4    length of the whole record, uint32
//	8    group number, uint64: 1, 2, …
//	16   index of the first leaf, uint64
//	24   size of the tree with these leaves, uint64
//	32   its root, 32 bytes
//	64   checksum of the group before; zeros in the first, 32 bytes
//	96   length of the note, uint32
//	100  zeros, 4 bytes
//	104  BLAKE3, keyed by the segment, of the bytes before, 16 bytes
//	120  the signed checkpoint
//	     the leaves, spelled as a C2SP entry bundle
//	     BLAKE3, keyed by the segment, of all bytes before, 32 bytes
type record struct {
	recordHeader
	note   []byte
	leaves [][]byte
}

type recordHeader struct {
	length  uint32
	group   uint64
	first   uint64
	size    uint64
	root    merkle.Hash
	prev    sum
	noteLen uint32
}

// keyed returns the hasher of a segment's checksums.
func (h segmentHeader) keyed() *blake3.Hasher {
	k, err := blake3.NewKeyed(h.key[:])
	if err != nil {
		panic(err) // a key is always 32 bytes
	}
	return k
}

// appendRecord appends r's bytes, with k the keyed hasher of its segment, and
// returns its checksum with them. r.length and r.noteLen are computed. The
// record must fit (see maxRecord), else LEAF-SIZE comes back.
func appendRecord(b []byte, k *blake3.Hasher, r *record) ([]byte, sum, error) {
	start := len(b)
	b = append(b, make([]byte, recordHeaderSize)...)
	b = append(b, r.note...)
	for _, leaf := range r.leaves {
		var err error
		if b, err = merkle.AppendEntry(b, leaf); err != nil {
			return nil, sum{}, err
		}
	}
	r.noteLen = uint32(len(r.note))
	r.length = uint32(len(b) - start + sumSize)
	r.recordHeader.put(b[start:start+recordHeaderSize], k)
	s := hashSum(k, b[start:])
	return append(b, s[:]...), s, nil
}

func (h recordHeader) put(b []byte, k *blake3.Hasher) {
	copy(b, recordMagic[:])
	binary.BigEndian.PutUint32(b[4:], h.length)
	binary.BigEndian.PutUint64(b[8:], h.group)
	binary.BigEndian.PutUint64(b[16:], h.first)
	binary.BigEndian.PutUint64(b[24:], h.size)
	copy(b[32:], h.root[:])
	copy(b[64:], h.prev[:])
	binary.BigEndian.PutUint32(b[96:], h.noteLen)
	clear(b[100:104])
	s := hashSum(k, b[:recordHeaderSize-headerSumSize])
	copy(b[recordHeaderSize-headerSumSize:], s[:headerSumSize])
}

// parseRecordHeader reads what put wrote; false for any other bytes.
func parseRecordHeader(b []byte, k *blake3.Hasher) (recordHeader, bool) {
	var h recordHeader
	if len(b) < recordHeaderSize || !bytes.Equal(b[:4], recordMagic[:]) {
		return h, false
	}
	s := hashSum(k, b[:recordHeaderSize-headerSumSize])
	if !bytes.Equal(s[:headerSumSize], b[recordHeaderSize-headerSumSize:recordHeaderSize]) {
		return h, false
	}
	h.length = binary.BigEndian.Uint32(b[4:])
	h.group = binary.BigEndian.Uint64(b[8:])
	h.first = binary.BigEndian.Uint64(b[16:])
	h.size = binary.BigEndian.Uint64(b[24:])
	copy(h.root[:], b[32:])
	copy(h.prev[:], b[64:])
	h.noteLen = binary.BigEndian.Uint32(b[96:])
	return h, int64(h.length) >= recordHeaderSize+sumSize+int64(h.noteLen) && h.size >= h.first
}

// parseRecord reads the record whose header is h out of its h.length bytes. The
// note and the leaves alias b.
func parseRecord(b []byte, h recordHeader, k *blake3.Hasher) (*record, sum, bool) {
	body := b[:len(b)-sumSize]
	s := hashSum(k, body)
	if !bytes.Equal(s[:], b[len(b)-sumSize:]) {
		return nil, s, false
	}
	r := &record{recordHeader: h, note: body[recordHeaderSize : recordHeaderSize+h.noteLen]}
	rest := body[recordHeaderSize+h.noteLen:]
	r.leaves = make([][]byte, 0, min(h.size-h.first, uint64(len(rest))))
	for len(rest) > 0 {
		if len(rest) < 2 {
			return nil, s, false
		}
		n := 2 + int(binary.BigEndian.Uint16(rest))
		if len(rest) < n {
			return nil, s, false
		}
		r.leaves = append(r.leaves, rest[2:n:n])
		rest = rest[n:]
	}
	return r, s, uint64(len(r.leaves)) == h.size-h.first
}

func hashSum(k *blake3.Hasher, b []byte) sum {
	var s sum
	k.Reset()
	_, _ = k.Write(b)
	k.Sum(s[:0])
	return s
}

// damaged is stored bytes that are not what was written, at a byte of a file.
func damaged(name string, off int64, expected, actual string) error {
	return &report.Error{
		Code:     report.CodeLogDamaged,
		Where:    fmt.Sprintf("%s byte %d", name, off),
		Expected: expected,
		Actual:   actual,
		Fix:      "restore the directory from a copy, and see `logd fsck` for what else is damaged",
	}
}
