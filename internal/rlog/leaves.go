package rlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

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

// leaves finds stored entries: in full bundles on disk, and before these are
// written in segments. As in tree, the sequencer writes the places of one group
// before it publishes their size.
type leaves struct {
	site   *site
	onDisk atomic.Uint64 // full bundles below this size are written; by the publisher, and by replay before it

	mu       sync.RWMutex
	bundles  map[uint64]*places        // guarded by mu; contents as in tree; not yet on disk
	segments map[uint64]durable.Reader // guarded by mu; read under mu.RLock
	closed   bool                      // guarded by mu

	last   *places // owner: the sequencer
	lastAt uint64  // owner: the sequencer
}

func newLeaves(s *site) *leaves {
	return &leaves{site: s, bundles: make(map[uint64]*places), segments: make(map[uint64]durable.Reader)}
}

// open adds a segment to read from.
func (l *leaves) open(number uint64, r durable.Reader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments[number] = r
}

// drop closes a segment whose entries are all on disk in full bundles.
func (l *leaves) drop(number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.segments[number]; r != nil {
		_ = r.Close() // nothing is lost with a file that was only read
		delete(l.segments, number)
	}
}

// close closes all segments; later reads are LOG-CLOSED.
func (l *leaves) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for n, r := range l.segments {
		_ = r.Close()
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

// written says that the full bundles of a tree of size are on disk.
func (l *leaves) written(size uint64) {
	l.onDisk.Store(size)
	l.mu.Lock()
	defer l.mu.Unlock()
	for b := range l.bundles {
		if b < size/merkle.TileWidth {
			delete(l.bundles, b)
		}
	}
}

// entries appends the entries from index on, count of them and all of one
// bundle, spelled as in a bundle. They must be of a published size.
func (l *leaves) entries(dst []byte, index uint64, count int) ([]byte, error) {
	bundle, from := index/merkle.TileWidth, int(index%merkle.TileWidth)
	if bundle >= l.onDisk.Load()/merkle.TileWidth {
		b, err := l.fromSegments(dst, bundle, from, count)
		if !errors.Is(err, errMoved) {
			return b, err
		}
		if bundle >= l.onDisk.Load()/merkle.TileWidth {
			return nil, lost(segmentsDir, fmt.Sprintf("the entries of bundle %d", bundle), "put the segment with them back")
		}
	}
	raw, err := l.fromBundle(bundle, from, count)
	return append(dst, raw...), err
}

// errMoved says that a bundle was written, and its places forgotten, meanwhile.
var errMoved = errors.New("the bundle is on disk now")

func (l *leaves) fromSegments(dst []byte, bundle uint64, from, count int) ([]byte, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return nil, errClosed()
	}
	ps := l.bundles[bundle]
	if ps == nil {
		return nil, errMoved
	}
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
			return nil, errMoved
		}
		at := len(dst)
		dst = slices.Grow(dst, int(run.length))[:at+int(run.length)]
		if err := durable.ReadFull(r, dst[at:], int64(run.off)); err != nil {
			return nil, ioError("read", segmentName(run.segment), err)
		}
	}
	return dst, nil
}

// fromBundle reads a run of entries out of a full bundle on disk.
func (l *leaves) fromBundle(bundle uint64, from, count int) ([]byte, error) {
	raw, entries, err := l.site.bundle(bundle, merkle.TileWidth)
	if err != nil {
		return nil, err
	}
	if count == merkle.TileWidth {
		return raw, nil
	}
	start, end := 0, 0
	for i, e := range entries[:from+count] {
		if i < from {
			start += 2 + len(e)
		}
		end += 2 + len(e)
	}
	return raw[start:end], nil
}

// leaf reads one stored leaf and checks it against its hash: bytes that went
// bad on disk are an error, not an answer.
func (l *leaves) leaf(index uint64, want merkle.Hash) ([]byte, error) {
	b, err := l.entries(nil, index, 1)
	if err != nil {
		return nil, err
	}
	if int(binary.BigEndian.Uint16(b)) != len(b)-2 || merkle.LeafHash(b[2:]) != want {
		return nil, damaged(l.where(index), 0, "the leaf that the tree holds", "other bytes")
	}
	return b[2:], nil
}

// where names the file that an entry is read from.
func (l *leaves) where(index uint64) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	bundle := index / merkle.TileWidth
	if ps := l.bundles[bundle]; ps != nil {
		return segmentName(ps[index%merkle.TileWidth].segment)
	}
	return l.site.name(merkle.EntriesPath(bundle, merkle.TileWidth))
}
