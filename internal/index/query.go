package index

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/obstat/obstat/internal/dagcbor"
)

// Page is one answer, in log order. It knows the leaves below Covered and
// nothing else.
type Page struct {
	Covered uint64
	Leaves  []Entry
	More    bool // there are more behind the last
}

// Entry is one leaf. Seq counts only in a page of Run.
type Entry struct {
	Index uint64
	Seq   uint64
}

// MaxPage is the longest page.
const MaxPage = 1000

// snapshot is a reader and what it covers.
func (x *Index) snapshot() (*pebble.Snapshot, uint64, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return nil, 0, errClosed
	}
	return x.db.NewSnapshot(), x.covered.size, nil
}

// page gathers at most limit entries at index from or behind it.
func (x *Index) page(from uint64, limit int, open func(*pebble.Snapshot) (cursor, error)) (p Page, err error) {
	if limit < 1 || limit > MaxPage {
		return Page{}, fmt.Errorf("a page of %d entries, at most %d are given", limit, MaxPage)
	}
	snap, covered, err := x.snapshot()
	if err != nil {
		return Page{}, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	c, err := open(snap)
	if err != nil {
		return Page{}, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	p = Page{Covered: covered}
	e, ok, err := c.seek(from)
	for ; ok && err == nil; e, ok, err = c.seek(e.Index + 1) {
		if len(p.Leaves) == limit {
			p.More = true
			return p, nil
		}
		p.Leaves = append(p.Leaves, e)
	}
	return p, err
}

// Receipt lists the leaves that carry a receipt, from index from on.
func (x *Index) Receipt(receipt dagcbor.CID, from uint64, limit int) (Page, error) {
	return x.page(from, limit, func(s *pebble.Snapshot) (cursor, error) {
		return newKeyCursor(s, digestKey(keyReceipt, receipt))
	})
}

// Run lists the leaves of a run of a principal, from index from on, each with
// the seq that it claims.
func (x *Index) Run(principal, run string, from uint64, limit int) (Page, error) {
	return x.page(from, limit, func(s *pebble.Snapshot) (cursor, error) {
		return newListCursor(s, []byte(runPrefix(principal, run)), true)
	})
}

// Query names leaves by what they say. Empty fields do not count; a leaf has to
// match all others.
type Query struct {
	Kind        string // "judgment", …; "registry"
	Verdict     string // "admit", "deny", "escalate"
	Disposition string // "committed", …
	Code        string // any code in the receipt: a reason, a recovery, a fault
	Engine      string // the principal of the signer
}

func (q Query) terms() []string {
	var out []string
	for _, t := range []struct{ field, value string }{
		{fieldKind, q.Kind}, {fieldVerdict, q.Verdict}, {fieldDisposition, q.Disposition},
		{fieldCode, q.Code}, {fieldEngine, q.Engine},
	} {
		if t.value != "" {
			out = append(out, t.field+"="+t.value)
		}
	}
	return out
}

// Search lists the leaves that match, from index from on.
func (x *Index) Search(q Query, from uint64, limit int) (Page, error) {
	terms := q.terms()
	if len(terms) == 0 {
		return Page{}, errors.New("a query of no field")
	}
	return x.page(from, limit, func(s *pebble.Snapshot) (cursor, error) {
		var all allCursor
		for _, t := range terms {
			c, err := newListCursor(s, []byte(termPrefix(t)), false)
			if err != nil {
				return nil, errors.Join(err, all.close())
			}
			all = append(all, c)
		}
		return all, nil
	})
}

// Count is how many covered leaves have a term.
type Count struct {
	Field, Value string
	Leaves       uint64
}

// Counts lists the counters, by field and value, and the size they cover.
func (x *Index) Counts() (counts []Count, covered uint64, err error) {
	snap, covered, err := x.snapshot()
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	it, err := snap.NewIter(&pebble.IterOptions{LowerBound: []byte{keyCounter}, UpperBound: []byte{keyCounter + 1}})
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		n, k := binary.Uvarint(it.Value())
		field, value, found := cut(it.Key()[1:])
		if k <= 0 || !found {
			return nil, 0, errMalformed
		}
		counts = append(counts, Count{field, value, n})
	}
	return counts, covered, nil
}
