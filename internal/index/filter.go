package index

import (
	"encoding/binary"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// statementFilter is a Bloom filter over the keys of statements: the others are
// only ever walked, and would need as much memory again.
type statementFilter struct{ bloom.FilterPolicy }

func (f statementFilter) Name() string { return "obstat.statement" }

func (f statementFilter) MayContain(t pebble.FilterType, filter, key []byte) bool {
	return len(key) == 0 || key[0] != keyStatement || f.FilterPolicy.MayContain(t, filter, key)
}

func (f statementFilter) NewWriter(t pebble.FilterType) pebble.FilterWriter {
	return statementWriter{f.FilterPolicy.NewWriter(t)}
}

type statementWriter struct{ pebble.FilterWriter }

func (w statementWriter) AddKey(key []byte) {
	if len(key) > 0 && key[0] == keyStatement {
		w.FilterWriter.AddKey(key)
	}
}

// sum merges counters, so that adding to one reads nothing.
var sum = &pebble.Merger{
	Name: "obstat.sum",
	Merge: func(_, value []byte) (pebble.ValueMerger, error) {
		s := new(adder)
		return s, s.MergeNewer(value)
	},
}

// adder adds numbers as binary.AppendUvarint writes them.
type adder uint64

func (s *adder) MergeNewer(value []byte) error {
	n, err := number(value)
	*s += adder(n)
	return err
}

func (s *adder) MergeOlder(value []byte) error { return s.MergeNewer(value) }

func (s *adder) Finish(bool) ([]byte, io.Closer, error) {
	return binary.AppendUvarint(nil, uint64(*s)), nil, nil
}

// number reads a whole value.
func number(b []byte) (uint64, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || k != len(b) {
		return 0, errMalformed
	}
	return n, nil
}
