package merkle

import (
	"math/bits"
	"slices"

	"github.com/transparency-dev/merkle/compact"
)

// Range is a compact range from 0: the roots of the complete subtrees of a
// tree, largest and leftmost first, which is its right edge. It needs at most
// 63 hashes. The zero value is the empty tree. A Range is for one goroutine.
type Range struct {
	size   uint64
	hashes []Hash // one for each 1 bit of size, from the highest
}

// Append adds a leaf hash. visit, if not nil, is called for every complete
// node that this makes, lowest first and the leaf included.
func (r *Range) Append(leaf Hash, visit func(NodeID, Hash)) {
	id := NodeID{Level: 0, Index: r.size}
	if visit != nil {
		visit(id, leaf)
	}
	// Every 1 bit at the low end of size is a subtree that has found its
	// sibling, as in adding 1 with carries.
	for id.Index&1 == 1 {
		last := len(r.hashes) - 1
		leaf = NodeHash(r.hashes[last], leaf)
		r.hashes = r.hashes[:last]
		id = NodeID{Level: id.Level + 1, Index: id.Index >> 1}
		if visit != nil {
			visit(id, leaf)
		}
	}
	r.hashes = append(r.hashes, leaf)
	r.size++
}

// Size returns the number of leaves.
func (r *Range) Size() uint64 { return r.size }

// Root returns the root of the tree.
func (r *Range) Root() Hash {
	n := len(r.hashes)
	if n == 0 {
		return EmptyRoot
	}
	h := r.hashes[n-1]
	for i := n - 2; i >= 0; i-- {
		h = NodeHash(r.hashes[i], h)
	}
	return h
}

// Clone returns a Range that shares nothing with r.
func (r *Range) Clone() *Range {
	return &Range{size: r.size, hashes: slices.Clone(r.hashes)}
}

// RangeAt rebuilds the range of a tree of size from its complete subtrees.
func RangeAt(size uint64, rd Reader) (*Range, error) {
	if err := checkSize(size); err != nil {
		return nil, err
	}
	r := &Range{size: size, hashes: make([]Hash, 0, bits.OnesCount64(size)+1)}
	for _, id := range compact.RangeNodes(0, size, nil) {
		h, err := rd(NodeID(id))
		if err != nil {
			return nil, err
		}
		r.hashes = append(r.hashes, h)
	}
	return r, nil
}
