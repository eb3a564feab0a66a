package rlog

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
)

// Index is a store of what is derived from the leaves (internal/index). Absorb
// is called by one goroutine; the others may be called beside it.
type Index interface {
	// Covered returns the tree size up to which leaves were absorbed, and the
	// root of that tree; 0 for an empty store.
	Covered() (size uint64, root merkle.Hash, err error)
	// Lookup returns the index of a statement among the absorbed leaves.
	Lookup(statement dagcbor.CID) (index uint64, ok bool, err error)
	// Absorb adds leaves, which stand from the covered size on, and covers size
	// and root, all in one step or, at a crash, not at all. It need not be
	// durable when it returns. statements names what the leaves carry; nil where
	// that is not known.
	Absorb(leaves [][]byte, statements []dagcbor.CID, size uint64, root merkle.Hash) error
	// Reset forgets everything.
	Reset() error
}

// statements is the exact map from statement to leaf index: the store, and in
// memory what the store has not absorbed. The sequencer adds when a group is
// durable, the publisher lets go of what was absorbed; anybody looks up.
type statements struct {
	store    Index         // nil: everything is in memory
	absorbed atomic.Uint64 // leaves below are in store; by the publisher, and by replay before it

	mu    sync.RWMutex
	index map[dagcbor.CID]uint64 // guarded by mu
	order []dagcbor.CID          // guarded by mu; of leaves from absorbed on, where there is a store
	first uint64                 // guarded by mu; index of order[0]
}

func newStatements(store Index) *statements {
	return &statements{store: store, index: make(map[dagcbor.CID]uint64)}
}

// lookup asks memory, then the store. It returns how far the store went
// meanwhile, for again.
func (s *statements) lookup(c dagcbor.CID) (index uint64, ok bool, seen uint64, err error) {
	seen = s.absorbed.Load()
	if i, ok := s.recent(c); ok {
		return i, true, seen, nil
	}
	if s.store == nil {
		return 0, false, seen, nil
	}
	index, ok, err = s.store.Lookup(c)
	return index, ok, seen, err
}

// again is lookup for a statement that lookup did not find: what it could not
// see then is in memory now, unless the store has gone on since.
func (s *statements) again(c dagcbor.CID, seen uint64) (index uint64, ok bool, err error) {
	if i, ok := s.recent(c); ok {
		return i, true, nil
	}
	if s.store == nil || s.absorbed.Load() == seen {
		return 0, false, nil
	}
	return s.store.Lookup(c)
}

func (s *statements) recent(c dagcbor.CID) (uint64, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i, ok := s.index[c]
	return i, ok
}

// add takes the statements of leaves from first on. The first index of a
// statement counts.
func (s *statements) add(first uint64, cs []dagcbor.CID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		if len(s.order) == 0 {
			s.first = first
		}
		s.order = append(s.order, cs...)
	}
	for i, c := range cs {
		if _, ok := s.index[c]; !ok {
			s.index[c] = first + uint64(i)
		}
	}
}

// read adds leaves that were read back.
func (s *statements) read(cfg *Config, first uint64, leaves [][]byte) error {
	cs := make([]dagcbor.CID, 0, len(leaves))
	for i, leaf := range leaves {
		c, err := cfg.Statement(leaf)
		if err != nil {
			return damaged(fmt.Sprintf("leaf %d", first+uint64(i)), 0, "a leaf that names a statement", err.Error())
		}
		cs = append(cs, c)
	}
	s.add(first, cs)
	return nil
}

// release lets go of leaves below size, which the store has absorbed. The
// order matters: again finds a statement in memory, or sees that the store has
// gone on.
func (s *statements) release(size uint64) {
	s.absorbed.Store(size)
	s.mu.Lock()
	defer s.mu.Unlock()
	if size <= s.first || len(s.order) == 0 {
		return
	}
	n := min(size-s.first, uint64(len(s.order)))
	for _, c := range s.order[:n] {
		if s.index[c] < size {
			delete(s.index, c)
		}
	}
	s.order = append([]dagcbor.CID(nil), s.order[n:]...)
	s.first += n
}

// of returns the statements of leaves from one index to another; nil where they
// are not all in memory.
func (s *statements) of(from, to uint64) []dagcbor.CID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if from < s.first || to > s.first+uint64(len(s.order)) {
		return nil
	}
	return slices.Clone(s.order[from-s.first : to-s.first])
}

func (s *statements) pending() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.index)
}
