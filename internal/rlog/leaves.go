package rlog

import (
	"encoding/binary"
	"sync"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/merkle"
)

// place is where an entry of the log stands in its segment, with the two bytes
// of its length.
type place struct {
	segment uint64
	off     uint32 // SegmentBytes and one record stay below 4 GiB
	length  uint32 // two bytes more than the leaf
}

// places are those of one entry bundle.
type places [merkle.TileWidth]place

// leaves finds stored entries and the segments they stand in. As in tree, the
// sequencer writes the places of one group before it publishes their size.
type leaves struct {
	mu       sync.RWMutex
	bundles  map[uint64]*places        // guarded by mu; contents as in tree
	segments map[uint64]durable.Reader // guarded by mu; read under mu.RLock
	last     *places                   // owner: the sequencer
	lastAt   uint64                    // owner: the sequencer
}

func newLeaves() *leaves {
	return &leaves{bundles: make(map[uint64]*places), segments: make(map[uint64]durable.Reader)}
}

// open adds a segment to read from.
func (l *leaves) open(number uint64, r durable.Reader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments[number] = r
}

// close closes all segments; later reads are errors.
func (l *leaves) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, r := range l.segments {
		_ = r.Close() // nothing is lost with a file that was only read
		delete(l.segments, n)
	}
}

// set records where the leaves of a group stand. For the sequencer.
func (l *leaves) set(segment uint64, at int64, r *record) {
	off := uint32(at) + recordHeaderSize + uint32(len(r.note))
	for i, leaf := range r.leaves {
		index := r.first + uint64(i)
		bundle := index / merkle.TileWidth
		if l.last == nil || l.lastAt != bundle {
			l.mu.Lock()
			if l.bundles[bundle] == nil {
				l.bundles[bundle] = new(places)
			}
			l.last, l.lastAt = l.bundles[bundle], bundle
			l.mu.Unlock()
		}
		n := uint32(len(leaf)) + 2
		l.last[index%merkle.TileWidth] = place{segment, off, n}
		off += n
	}
}

// entries appends the entries from index on, count of them and all of one
// bundle, spelled as in a bundle. They must be of a published size.
func (l *leaves) entries(dst []byte, index uint64, count int) ([]byte, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	ps := l.bundles[index/merkle.TileWidth]
	if ps == nil {
		return nil, damaged(segmentsDir, 0, "entries of the log", "none")
	}
	from := int(index % merkle.TileWidth)
	for i := from; i < from+count; {
		// Entries of one record stand side by side, as in a bundle.
		run := ps[i]
		for i++; i < from+count; i++ {
			p := ps[i]
			if p.segment != run.segment || p.off != run.off+run.length {
				break
			}
			run.length += p.length
		}
		r := l.segments[run.segment]
		if r == nil {
			return nil, errClosed()
		}
		at := len(dst)
		dst = append(dst, make([]byte, run.length)...)
		if err := durable.ReadFull(r, dst[at:], int64(run.off)); err != nil {
			return nil, ioError("read", segmentName(run.segment), err)
		}
	}
	return dst, nil
}

// leaf reads one stored leaf and checks it against its hash: bytes that went
// bad on disk are an error, not an answer.
func (l *leaves) leaf(index uint64, want merkle.Hash) ([]byte, error) {
	b, err := l.entries(nil, index, 1)
	if err != nil {
		return nil, err
	}
	if int(binary.BigEndian.Uint16(b)) != len(b)-2 || merkle.LeafHash(b[2:]) != want {
		l.mu.RLock()
		p := l.bundles[index/merkle.TileWidth][index%merkle.TileWidth]
		l.mu.RUnlock()
		return nil, damaged(segmentName(p.segment), int64(p.off), "the leaf that the tree holds", "other bytes")
	}
	return b[2:], nil
}

// statements is the exact map from statement to index. The sequencer writes
// when a group is durable; anybody reads.
type statements struct {
	mu    sync.RWMutex
	index map[dagcbor.CID]uint64 // guarded by mu
}

func newStatements() *statements { return &statements{index: make(map[dagcbor.CID]uint64)} }

func (s *statements) lookup(c dagcbor.CID) (uint64, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i, ok := s.index[c]
	return i, ok
}

// add keeps the first index of a statement.
func (s *statements) add(first uint64, cs []dagcbor.CID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range cs {
		if _, ok := s.index[c]; !ok {
			s.index[c] = first + uint64(i)
		}
	}
}
