package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
)

// Absorb adds leaves, which stand from the covered size on, and covers size and
// root, in one batch. statements names what they carry; nil where the caller
// does not know. When it returns, the next Lookup sees them all. After an error
// the index answers as before and absorbs nothing more until it is opened
// again, unless the error was in what was handed in.
func (x *Index) Absorb(leaves [][]byte, statements []dagcbor.CID, size uint64, root merkle.Hash) error {
	x.absorb.Lock()
	defer x.absorb.Unlock()
	switch {
	case x.store == nil: // mu is not needed: with absorb held nobody writes it
		return errClosed()
	case x.readOnly:
		return errReadOnly()
	}
	first := x.covered.Load().size
	if first+uint64(len(leaves)) != size || statements != nil && len(statements) != len(leaves) {
		return errOrder(uint64(len(leaves)), first, size)
	}
	if err := x.store.health.failure(); err != nil {
		return ioError("write", "index", err)
	}
	w := writing{names: make(map[dsse.KeyID]string), lists: make(map[term]*list)}
	principalOf := func(id dsse.KeyID) string {
		if name, ok := x.names[id]; ok {
			return name
		}
		return w.names[id]
	}
	for i, leaf := range leaves {
		var known dagcbor.CID
		if statements != nil {
			known = statements[i]
		}
		e, err := EntryOf(first+uint64(i), leaf, known, principalOf)
		if err != nil {
			return err
		}
		w.add(&e)
	}
	c := cover{size, root}
	if err := x.commit(&w, c); err != nil {
		return ioError("write", "index", err)
	}
	for id, name := range w.names {
		if _, ok := x.names[id]; !ok {
			x.names[id] = name
		}
	}
	x.probes.drop() // those made before do not see the batch
	x.covered.Store(&c)
	return nil
}

func (x *Index) commit(w *writing, c cover) error {
	b := x.store.db.NewBatch()
	if err := w.put(b, x.names); err != nil {
		return err
	}
	if err := b.Set([]byte{keyMeta}, c.meta(x.origin), nil); err != nil {
		return err
	}
	// A batch whose commit did not come back is still Pebble's.
	if err := x.store.health.wait(func() error { return b.Commit(pebble.NoSync) }); err != nil {
		x.store.health.fail(err)
		return err
	}
	return b.Close()
}

// writing is one batch in the making. What is keyed alike is gathered and
// sorted: neighbours are cheap to insert.
type writing struct {
	statements []digestRow
	receipts   []digestRow
	runs       []runRow
	names      map[dsse.KeyID]string
	lists      map[term]*list
}

type digestRow struct {
	digest [32]byte
	leaf   uint64
}

func (r digestRow) compare(s digestRow) int {
	if c := bytes.Compare(r.digest[:], s.digest[:]); c != 0 {
		return c
	}
	return cmp.Compare(r.leaf, s.leaf)
}

type runRow struct {
	key       []byte
	statement dagcbor.CID
}

// list is the leaves of one term. It is written in pieces of at most maxList,
// each keyed by its first leaf, with the others as differences.
type list struct {
	leaves []uint64
}

// maxList bounds what a search has to read to find the next leaf.
const maxList = 1024

func (w *writing) add(e *Entry) {
	w.statements = append(w.statements, digestRow{e.Statement.Digest(), e.Leaf})
	if !e.Receipt.IsZero() {
		w.receipts = append(w.receipts, digestRow{e.Receipt.Digest(), e.Leaf})
	}
	if e.Run != "" {
		w.runs = append(w.runs, runRow{runKey(e.Principal, e.Run, Position{e.Seq, e.Leaf}), e.Statement})
	}
	for _, a := range e.Listed {
		id := dsse.IDOf(a.Key[:])
		if _, ok := w.names[id]; !ok {
			w.names[id] = a.Name
		}
	}
	e.terms(func(t term) {
		l := w.lists[t]
		if l == nil {
			l = new(list)
			w.lists[t] = l
		}
		l.leaves = append(l.leaves, e.Leaf)
	})
}

// put writes all of it into a batch, but for the principals of known keys.
func (w *writing) put(b *pebble.Batch, known map[dsse.KeyID]string) error {
	var key, value []byte
	for id, name := range w.names {
		if _, ok := known[id]; ok {
			continue // a key has one principal for ever
		}
		key = append(append(key[:0], keyName), id[:]...)
		if err := b.Set(key, []byte(name), nil); err != nil {
			return err
		}
	}
	for t, l := range w.lists {
		value = binary.AppendUvarint(value[:0], uint64(len(l.leaves)))
		if err := b.Merge(counterKey(t), value, nil); err != nil {
			return err
		}
		for piece := range slices.Chunk(l.leaves, maxList) {
			value = value[:0]
			for i, leaf := range piece[1:] {
				value = binary.AppendUvarint(value, leaf-piece[i])
			}
			if err := b.Set(binary.BigEndian.AppendUint64(termPrefix(t), piece[0]), value, nil); err != nil {
				return err
			}
		}
	}
	return w.putRows(b)
}

func (w *writing) putRows(b *pebble.Batch) error {
	var key, value []byte
	slices.SortFunc(w.receipts, digestRow.compare)
	for i := range w.receipts {
		r := &w.receipts[i]
		key = binary.BigEndian.AppendUint64(appendDigestKey(key[:0], keyReceipt, &r.digest), r.leaf)
		if err := b.Set(key, nil, nil); err != nil {
			return err
		}
	}
	slices.SortFunc(w.statements, digestRow.compare)
	for i := range w.statements {
		s := &w.statements[i]
		if i > 0 && s.digest == w.statements[i-1].digest {
			continue // a log holds no statement twice; the first would count
		}
		key, value = appendDigestKey(key[:0], keyStatement, &s.digest), binary.AppendUvarint(value[:0], s.leaf)
		if err := b.Set(key, value, nil); err != nil {
			return err
		}
	}
	slices.SortFunc(w.runs, func(r, s runRow) int { return bytes.Compare(r.key, s.key) })
	for i := range w.runs {
		if err := b.Set(w.runs[i].key, w.runs[i].statement[:], nil); err != nil {
			return err
		}
	}
	return nil
}

func appendDigestKey(b []byte, kind byte, digest *[32]byte) []byte {
	return append(append(b, kind), digest[:]...)
}

func counterKey(t term) []byte {
	return append([]byte{keyCounter, byte(t.field)}, t.value...)
}

func termPrefix(t term) []byte {
	return append(append([]byte{keyTerm, byte(t.field)}, t.value...), 0)
}

func runPrefix(principal, run string) []byte {
	b := make([]byte, 0, 1+len(principal)+1+len(run)+1+16)
	b = append(append(append(b, keyRun), principal...), 0)
	return append(append(b, run...), 0)
}

func runKey(principal, run string, p Position) []byte {
	b := binary.BigEndian.AppendUint64(runPrefix(principal, run), p.Seq)
	return binary.BigEndian.AppendUint64(b, p.Leaf)
}
