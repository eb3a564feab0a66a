package merkle

import (
	"encoding/binary"
	"io/fs"

	"github.com/transparency-dev/merkle/rfc6962"
)

// The definitions of RFC 6962 section 2.1, word for word and slow: what
// everything else here is held against.

// split returns the largest power of two below n.
func split(n int) int {
	k := 1
	for k<<1 < n {
		k <<= 1
	}
	return k
}

// naiveRoot is MTH.
func naiveRoot(leaves []Hash) Hash {
	switch n := len(leaves); n {
	case 0:
		return EmptyRoot
	case 1:
		return leaves[0]
	default:
		k := split(n)
		l, r := naiveRoot(leaves[:k]), naiveRoot(leaves[k:])
		return Hash(rfc6962.DefaultHasher.HashChildren(l[:], r[:]))
	}
}

// naivePath is PATH(m, D[n]).
func naivePath(m int, leaves []Hash) []Hash {
	n := len(leaves)
	if n <= 1 {
		return nil
	}
	if k := split(n); m < k {
		return append(naivePath(m, leaves[:k]), naiveRoot(leaves[k:]))
	} else {
		return append(naivePath(m-k, leaves[k:]), naiveRoot(leaves[:k]))
	}
}

// naiveSubproof is SUBPROOF(m, D[n], b).
func naiveSubproof(m int, leaves []Hash, b bool) []Hash {
	n := len(leaves)
	if m == n {
		if b {
			return nil
		}
		return []Hash{naiveRoot(leaves)}
	}
	if k := split(n); m <= k {
		return append(naiveSubproof(m, leaves[:k], b), naiveRoot(leaves[k:]))
	} else {
		return append(naiveSubproof(m-k, leaves[k:], false), naiveRoot(leaves[:k]))
	}
}

// testTree is a tree with every complete node in memory and every tile as it
// stands at full size. Leaf hashes are made from their index, all different.
type testTree struct {
	leaves []Hash
	nodes  map[NodeID]Hash
	size   uint64
}

func newTestTree(size uint64) *testTree {
	t := &testTree{nodes: make(map[NodeID]Hash, 2*size), size: size}
	var r Range
	for i := range size {
		leaf := LeafHash(binary.BigEndian.AppendUint64(nil, i))
		t.leaves = append(t.leaves, leaf)
		r.Append(leaf, func(id NodeID, h Hash) { t.nodes[id] = h })
	}
	return t
}

func (t *testTree) read(id NodeID) (Hash, error) {
	h, ok := t.nodes[id]
	if !ok {
		return Hash{}, fs.ErrNotExist
	}
	return h, nil
}

// readTile makes a tile of the tree, node by node.
func (t *testTree) readTile(tile Tile) ([]byte, error) { return AppendTile(nil, tile, t.read) }
