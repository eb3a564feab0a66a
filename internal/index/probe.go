package index

import (
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/obstat/obstat/internal/dagcbor"
)

// probes are iterators kept for look-ups of statements. Nearly all of these ask
// for what is not there, and Pebble's Get does not ask the filters of the
// lowest level, where nearly everything is; an iterator that is told to does.
// An iterator sees what was there when it was made, so that all are dropped
// with every batch; until then they hold on to tables that compaction replaced.
type probes struct {
	mu         sync.Mutex
	generation uint64             // guarded by mu; of the free ones
	free       []*pebble.Iterator // guarded by mu
}

// maxProbes is how many are kept.
const maxProbes = 16

// take returns an iterator that nobody else uses and that sees every batch
// absorbed before the call.
func (p *probes) take(db *pebble.DB) (*pebble.Iterator, uint64, error) {
	p.mu.Lock()
	g := p.generation
	if n := len(p.free); n > 0 {
		it := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return it, g, nil
	}
	p.mu.Unlock()
	it, err := db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{keyStatement}, UpperBound: []byte{keyStatement + 1}, UseL6Filters: true,
	})
	return it, g, err
}

// give returns an iterator of a generation; one of the past, or with an error,
// is closed.
func (p *probes) give(it *pebble.Iterator, generation uint64) error {
	p.mu.Lock()
	if generation == p.generation && len(p.free) < maxProbes && it.Error() == nil {
		p.free = append(p.free, it)
		p.mu.Unlock()
		return nil
	}
	p.mu.Unlock()
	return errors.Join(it.Error(), it.Close())
}

// drop begins a new generation.
func (p *probes) drop() {
	p.mu.Lock()
	old := p.free
	p.free, p.generation = nil, p.generation+1
	p.mu.Unlock()
	for _, it := range old {
		_ = it.Close() // one with an error was not kept
	}
}

// Lookup returns the leaf index of a statement among the leaves below the size
// that Covered returned before the call, or one that was covered since. Where it
// finds nothing, no leaf below that size carries the statement.
func (x *Index) Lookup(statement dagcbor.CID) (index uint64, ok bool, err error) {
	digest := statement.Digest()
	err = x.read(func(s *store, _ *cover) (err error) {
		it, generation, err := x.probes.take(s.db)
		if err != nil {
			return err
		}
		var key [33]byte
		if it.SeekPrefixGE(appendDigestKey(key[:0], keyStatement, &digest)) {
			var v []byte
			if v, err = it.ValueAndErr(); err == nil {
				index, err = number(v)
			}
			ok = true
		}
		return errors.Join(err, x.probes.give(it, generation))
	})
	return index, ok && err == nil, err
}
