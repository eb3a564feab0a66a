package index

import (
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/cockroachdb/pebble/v2"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/verdict"
)

// MaxPage is the longest page.
const MaxPage = 1000

// Page is leaves in log order, of those below Covered; it says nothing about
// others.
type Page struct {
	Covered uint64
	Leaves  []uint64
	More    bool   // there may be more, from Next on
	Next    uint64 // a leaf index
}

// Receipt lists the leaves that carry a receipt, from a leaf on.
func (x *Index) Receipt(c dagcbor.CID, from uint64, limit int) (p Page, err error) {
	digest := c.Digest()
	prefix := appendDigestKey(nil, keyReceipt, &digest)
	err = x.walk(limit, &p.Covered, prefix, func(it *pebble.Iterator) error {
		for ok := it.SeekGE(binary.BigEndian.AppendUint64(prefix, from)); ok; ok = it.Next() {
			if len(it.Key()) != len(prefix)+8 {
				return errMalformed
			}
			leaf := binary.BigEndian.Uint64(it.Key()[len(prefix):])
			switch {
			case leaf >= p.Covered:
				return nil
			case len(p.Leaves) == limit:
				p.More, p.Next = true, leaf
				return nil
			}
			p.Leaves = append(p.Leaves, leaf)
		}
		return nil
	})
	return p, err
}

// Position is a place in a run: a seq, and where two statements claim one, the
// leaf.
type Position struct {
	Seq, Leaf uint64
}

// Placed is a statement of a run.
type Placed struct {
	Position
	Statement dagcbor.CID
}

// RunPage is statements of a run in order, of those that stand below Covered.
type RunPage struct {
	Covered    uint64
	Statements []Placed
	More       bool // there are more, from Next on
	Next       Position
}

// Run lists the statements of a run of a principal by seq, from a position on.
// Nothing is said about whether they hang together.
func (x *Index) Run(principal, run string, from Position, limit int) (p RunPage, err error) {
	if !verdict.ValidName(run) || !verdict.ValidName(principal) {
		return p, errQuery("the names of a principal and a run", strconv.Quote(principal)+" and "+strconv.Quote(run))
	}
	prefix := runPrefix(principal, run)
	err = x.walk(limit, &p.Covered, prefix, func(it *pebble.Iterator) error {
		for ok := it.SeekGE(runKey(principal, run, from)); ok; ok = it.Next() {
			v, err := it.ValueAndErr()
			if err != nil {
				return err
			}
			k := it.Key()[len(prefix):]
			c, err := dagcbor.CIDFromBytes(v)
			if err != nil || len(k) != 16 {
				return errMalformed
			}
			at := Position{binary.BigEndian.Uint64(k), binary.BigEndian.Uint64(k[8:])}
			switch {
			case at.Leaf >= p.Covered:
				continue
			case len(p.Statements) == limit:
				p.More, p.Next = true, at
				return nil
			}
			p.Statements = append(p.Statements, Placed{at, c})
		}
		return nil
	})
	return p, err
}

func checkLimit(limit int) error {
	if limit < 1 || limit > MaxPage {
		return errQuery("a page of 1 to "+strconv.Itoa(MaxPage), strconv.Itoa(limit))
	}
	return nil
}

// walk opens an iterator over the keys of a prefix and lets f use it.
func (x *Index) walk(limit int, covered *uint64, prefix []byte, f func(*pebble.Iterator) error) (err error) {
	if err := checkLimit(limit); err != nil {
		return err
	}
	return x.read(func(s *store, c *cover) (err error) {
		*covered = c.size
		it, err := s.iterate(prefix)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, it.Error(), it.Close()) }()
		return f(it)
	})
}

// read lets f read the store, and judges what it met. What covers at least c is
// in the store already; there may be more, and f leaves that out.
func (x *Index) read(f func(*store, *cover) error) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.store == nil {
		return errClosed()
	}
	c := x.covered.Load()
	return x.store.health.saw(func() (err error) {
		defer caught(&err, fatalOnly)
		return f(x.store, c)
	}())
}

// iterate iterates over the keys of one prefix that go on with numbers.
func (s *store) iterate(prefix []byte) (*pebble.Iterator, error) {
	upper := append(append([]byte(nil), prefix...), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	return s.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: upper})
}

// Count is how many covered leaves have a value of a field of Query.
type Count struct {
	Field, Value string
	Leaves       uint64
}

// Counters lists how many leaves there are of every value of every field, by
// field and value, and the size that they cover.
func (x *Index) Counters() (counts []Count, covered uint64, err error) {
	err = x.read(func(s *store, c *cover) (err error) {
		// What the counters cover stands beside them and is read with them.
		it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyMeta}, UpperBound: []byte{keyCounter + 1}})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, it.Error(), it.Close()) }()
		for ok := it.First(); ok; ok = it.Next() {
			k := it.Key()
			v, err := it.ValueAndErr()
			if err != nil {
				return err
			}
			if k[0] == keyMeta {
				var c cover
				if err := c.parse(v, x.origin); err != nil {
					return err
				}
				covered = c.size
				continue
			}
			n, err := number(v)
			if err != nil || len(k) < 3 || field(k[1]).String() == "" {
				return errMalformed
			}
			counts = append(counts, Count{field(k[1]).String(), string(k[2:]), n})
		}
		return nil
	})
	return counts, covered, err
}
