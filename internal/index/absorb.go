package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
)

// Absorb adds leaves, which stand from the covered size on, and covers size and
// root, in one batch. statements names what they carry; nil where the caller
// does not know. It is not synced: after a power cut the index may cover less.
// After a failure the index is as it was.
func (x *Index) Absorb(leaves [][]byte, statements []dagcbor.CID, size uint64, root merkle.Hash) error {
	x.absorb.Lock()
	defer x.absorb.Unlock()
	first := x.covered.size
	if first+uint64(len(leaves)) != size || statements != nil && len(statements) != len(leaves) {
		return fmt.Errorf("%d leaves from %d on do not make size %d", len(leaves), first, size)
	}
	b := x.db.NewBatch()
	defer b.Close()
	p := postings{first: first, terms: make(map[string]*list), runs: make(map[string]*list)}
	for i, leaf := range leaves {
		var known dagcbor.CID
		if statements != nil {
			known = statements[i]
		}
		if err := x.add(b, &p, first+uint64(i), leaf, known); err != nil {
			return fmt.Errorf("leaf %d: %w", first+uint64(i), err)
		}
	}
	if err := x.flush(b, &p); err != nil {
		return err
	}
	c := cover{size, root}
	if err := b.Set([]byte{keyMeta}, c.meta(x.opts.Origin), nil); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return errClosed
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return err
	}
	x.covered = c
	x.probes.drop() // they do not see the batch
	return nil
}

var errClosed = errors.New("the index is closed")

// add puts what is keyed by a digest into the batch, and the rest into p.
func (x *Index) add(b *pebble.Batch, p *postings, index uint64, leaf []byte, known dagcbor.CID) error {
	f, err := factsOf(leaf, known, x.opts.Principal)
	if err != nil {
		return err
	}
	if err := b.Set(digestKey(keyStatement, f.statement), binary.AppendUvarint(nil, index), nil); err != nil {
		return err
	}
	if !f.receipt.IsZero() {
		k := binary.BigEndian.AppendUint64(digestKey(keyReceipt, f.receipt), index)
		if err := b.Set(k, nil, nil); err != nil {
			return err
		}
	}
	for _, t := range f.terms {
		p.to(p.terms, t, index)
	}
	if f.run != "" {
		l := p.to(p.runs, runPrefix(f.principal, f.run), index)
		l.bytes = binary.AppendUvarint(l.bytes, f.seq)
	}
	return nil
}

// postings are the lists of one batch, by the keys they will have.
type postings struct {
	first       uint64 // leaf of the batch
	terms, runs map[string]*list
}

// list is indexes as differences, in runs each with its seq.
type list struct {
	bytes []byte
	last  uint64
	count uint64
}

func (p *postings) to(m map[string]*list, key string, index uint64) *list {
	l := m[key]
	if l == nil {
		l = &list{last: p.first}
		m[key] = l
	}
	l.bytes = binary.AppendUvarint(l.bytes, index-l.last)
	l.last = index
	l.count++
	return l
}

// flush puts the lists into the batch, and the counters with them added.
func (x *Index) flush(b *pebble.Batch, p *postings) error {
	for _, t := range slices.Sorted(maps.Keys(p.terms)) {
		if err := b.Set(binary.BigEndian.AppendUint64([]byte(termPrefix(t)), p.first), p.terms[t].bytes, nil); err != nil {
			return err
		}
		n, err := x.counter(x.db, t)
		if err != nil {
			return err
		}
		if err := b.Set(counterKey(t), binary.AppendUvarint(nil, n+p.terms[t].count), nil); err != nil {
			return err
		}
	}
	for _, r := range slices.Sorted(maps.Keys(p.runs)) {
		if err := b.Set(binary.BigEndian.AppendUint64([]byte(r), p.first), p.runs[r].bytes, nil); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) counter(r pebble.Reader, term string) (uint64, error) {
	v, closer, err := r.Get(counterKey(term))
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer closer.Close()
	n, k := binary.Uvarint(v)
	if k != len(v) {
		return 0, errMalformed
	}
	return n, nil
}

var errMalformed = errors.New("an entry of the index is malformed; make the index again")

func digestKey(kind byte, c dagcbor.CID) []byte {
	d := c.Digest()
	return append([]byte{kind}, d[:]...)
}

func counterKey(term string) []byte { return append([]byte{keyCounter}, term...) }
func termPrefix(term string) string { return string(keyTerm) + term + "\x00" }
func runPrefix(principal, run string) string {
	return string(keyRun) + principal + "\x00" + run + "\x00"
}
