package index

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/obstat/obstat/verdict"
)

// Query names leaves by what they say. Empty fields do not count; a leaf has to
// match all others.
type Query struct {
	Kind        string // "judgment", …; KindRegistry
	Verdict     string // "admit", "deny", "escalate"
	Disposition string // "committed", …
	Code        string // any of Entry.Codes
	Engine      string // the principal of the signer, an approver's too
}

func (q Query) terms() ([]term, error) {
	var out []term
	for _, t := range [...]term{
		{fieldKind, q.Kind}, {fieldVerdict, q.Verdict}, {fieldDisposition, q.Disposition},
		{fieldCode, q.Code}, {fieldEngine, q.Engine},
	} {
		if t.value == "" {
			continue
		}
		if !verdict.ValidName(t.value) { // as everything that was indexed is
			return nil, errQuery("a "+t.field.String()+" of 1 to 128 bytes of [A-Za-z0-9._/@:+-]", "another")
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, errQuery("at least one field", "none")
	}
	return out, nil
}

// maxSteps bounds the work of one Search; a page may then be short, or empty,
// and have More behind it.
const maxSteps = 20_000

// Search lists the leaves that match, from a leaf on.
func (x *Index) Search(q Query, from uint64, limit int) (p Page, err error) {
	terms, err := q.terms()
	if err != nil {
		return p, err
	}
	if err := checkLimit(limit); err != nil {
		return p, err
	}
	err = x.read(func(s *store, c *cover) (err error) {
		p.Covered = c.size
		var all []*cursor
		defer func() {
			for _, c := range all {
				err = errors.Join(err, c.it.Close())
			}
		}()
		for _, t := range terms {
			prefix := termPrefix(t)
			it, err := s.iterate(prefix)
			if err != nil {
				return err
			}
			all = append(all, &cursor{it: it, prefix: prefix})
		}
		return p.search(all, from, limit)
	})
	return p, err
}

// search walks all lists at once: whichever is ahead tells the others where to
// look next.
func (p *Page) search(all []*cursor, at uint64, limit int) error {
	for range maxSteps {
		high, same := at, true
		for i, c := range all {
			leaf, ok, err := c.seek(high)
			if err != nil {
				return err
			}
			if !ok || leaf >= p.Covered {
				p.More, p.Next = false, 0
				return nil
			}
			same = same && (i == 0 || leaf == high)
			high = leaf
		}
		if at = high; !same {
			continue
		}
		if len(p.Leaves) == limit {
			p.More, p.Next = true, at
			return nil
		}
		p.Leaves = append(p.Leaves, at)
		at++
	}
	p.More, p.Next = true, at
	return nil
}

// cursor walks the list of one term, forward only.
type cursor struct {
	it     *pebble.Iterator
	prefix []byte
	list   []uint64 // of the piece at hand, from the last answer on
	piece  []uint64 // its room
	key    []byte
}

// seek returns the first leaf from one on.
func (c *cursor) seek(from uint64) (leaf uint64, ok bool, err error) {
	if n := len(c.list); n == 0 || c.list[n-1] < from {
		// It stands in the last piece that begins at or before it, or behind that.
		c.key = binary.BigEndian.AppendUint64(append(c.key[:0], c.prefix...), from)
		found := c.it.SeekLT(append(c.key, 0))
		if !found {
			found = c.it.First()
		}
		for ; found; found = c.it.Next() {
			if err := c.read(); err != nil {
				return 0, false, err
			}
			if c.list[len(c.list)-1] >= from {
				break
			}
		}
		if !found {
			c.list = nil
			return 0, false, c.it.Error()
		}
	}
	i, _ := slices.BinarySearch(c.list, from)
	c.list = c.list[i:]
	return c.list[0], true, nil
}

// read decodes the piece at the iterator.
func (c *cursor) read() error {
	key := c.it.Key()
	v, err := c.it.ValueAndErr()
	if err != nil {
		return err
	}
	if len(key) != len(c.prefix)+8 {
		return errMalformed
	}
	at := binary.BigEndian.Uint64(key[len(c.prefix):])
	c.piece = append(c.piece[:0], at)
	for len(v) > 0 {
		d, n := binary.Uvarint(v)
		if n <= 0 || d == 0 || at+d < at {
			return errMalformed
		}
		at, v = at+d, v[n:]
		c.piece = append(c.piece, at)
	}
	c.list = c.piece
	return nil
}
