package index

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// cursor walks entries in log order, forward only.
type cursor interface {
	// seek returns the first entry at index from or behind it.
	seek(from uint64) (Entry, bool, error)
	close() error
}

// prefixIter iterates over the keys of one prefix that have eight bytes more.
func prefixIter(s *pebble.Snapshot, prefix []byte) (*pebble.Iterator, error) {
	upper := append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 9)...)
	return s.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: upper})
}

// keyCursor walks keys that end in an index.
type keyCursor struct {
	it     *pebble.Iterator
	prefix []byte
}

func newKeyCursor(s *pebble.Snapshot, prefix []byte) (*keyCursor, error) {
	it, err := prefixIter(s, prefix)
	return &keyCursor{it, prefix}, err
}

func (c *keyCursor) seek(from uint64) (Entry, bool, error) {
	if !c.it.SeekGE(binary.BigEndian.AppendUint64(bytes.Clone(c.prefix), from)) {
		return Entry{}, false, c.it.Error()
	}
	return Entry{Index: binary.BigEndian.Uint64(c.it.Key()[len(c.prefix):])}, true, nil
}

func (c *keyCursor) close() error { return c.it.Close() }

// listCursor walks lists, one a batch, keyed by the first leaf of the batch.
type listCursor struct {
	it     *pebble.Iterator
	prefix []byte
	seqs   bool // every index has a seq behind it

	list []Entry // of the batch at hand
}

func newListCursor(s *pebble.Snapshot, prefix []byte, seqs bool) (*listCursor, error) {
	it, err := prefixIter(s, prefix)
	return &listCursor{it: it, prefix: prefix, seqs: seqs}, err
}

func (c *listCursor) close() error { return c.it.Close() }

func (c *listCursor) seek(from uint64) (Entry, bool, error) {
	if n := len(c.list); n == 0 || c.list[n-1].Index < from {
		// The entry may stand in the batch that begins before it, or behind it.
		key := binary.BigEndian.AppendUint64(bytes.Clone(c.prefix), from)
		ok := c.it.SeekLT(append(key, 0))
		if !ok {
			ok = c.it.First()
		}
		for ; ok; ok = c.it.Next() {
			if err := c.read(); err != nil {
				return Entry{}, false, err
			}
			if n := len(c.list); n > 0 && c.list[n-1].Index >= from {
				break
			}
		}
		if !ok {
			return Entry{}, false, c.it.Error()
		}
	}
	for i, e := range c.list {
		if e.Index >= from {
			c.list = c.list[i:]
			return e, true, nil
		}
	}
	return Entry{}, false, nil
}

// read decodes the list at the iterator.
func (c *listCursor) read() error {
	key := c.it.Key()
	if len(key) != len(c.prefix)+8 {
		return errMalformed
	}
	at := binary.BigEndian.Uint64(key[len(c.prefix):])
	c.list = c.list[:0:0]
	for v := c.it.Value(); len(v) > 0; {
		d, n := binary.Uvarint(v)
		if n <= 0 {
			return errMalformed
		}
		v = v[n:]
		at += d
		e := Entry{Index: at}
		if c.seqs {
			if e.Seq, n = binary.Uvarint(v); n <= 0 {
				return errMalformed
			}
			v = v[n:]
		}
		c.list = append(c.list, e)
	}
	return nil
}

// allCursor walks what stands in all of its lists.
type allCursor []*listCursor

func (a allCursor) seek(from uint64) (Entry, bool, error) {
	for {
		again := false
		for _, c := range a {
			e, ok, err := c.seek(from)
			if !ok || err != nil {
				return Entry{}, false, err
			}
			if e.Index > from {
				from, again = e.Index, true
			}
		}
		if !again {
			return Entry{Index: from}, true, nil
		}
	}
}

func (a allCursor) close() error {
	var err error
	for _, c := range a {
		err = errors.Join(err, c.close())
	}
	return err
}

// cut splits "field=value".
func cut(term []byte) (field, value string, ok bool) {
	f, v, ok := bytes.Cut(term, []byte{'='})
	return string(f), string(v), ok
}
