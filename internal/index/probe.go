package index

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/obstat/obstat/internal/dagcbor"
)

// probes are iterators kept for look-ups of statements. Nearly all of these ask
// for what is not there, and Pebble's Get does not ask the filters of the
// lowest level, where nearly everything is; an iterator that is told to does.
type probes struct {
	mu         sync.Mutex
	generation uint64             // guarded by mu; of the free ones
	free       []*pebble.Iterator // guarded by mu
}

// take returns an iterator that nobody else uses and that sees every batch
// committed before the call.
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

// give returns an iterator of a generation, or closes it if it is of the past.
func (p *probes) give(it *pebble.Iterator, generation uint64) error {
	p.mu.Lock()
	if generation == p.generation && it.Error() == nil {
		p.free = append(p.free, it)
		p.mu.Unlock()
		return nil
	}
	p.mu.Unlock()
	return it.Close()
}

// drop begins a new generation.
func (p *probes) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.generation++
	for _, it := range p.free {
		_ = it.Close() // one with an error was not kept
	}
	p.free = nil
}

// Lookup returns the leaf index of a statement among the covered leaves.
func (x *Index) Lookup(statement dagcbor.CID) (index uint64, ok bool, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return 0, false, errClosed
	}
	it, generation, err := x.probes.take(x.db)
	if err != nil {
		return 0, false, err
	}
	if it.SeekPrefixGE(digestKey(keyStatement, statement)) {
		var v []byte
		if v, err = it.ValueAndErr(); err == nil {
			var n int
			if index, n = binary.Uvarint(v); n != len(v) {
				err = errMalformed
			}
		}
		ok = err == nil
	}
	return index, ok, errors.Join(err, x.probes.give(it, generation))
}
