package merkle

import (
	"slices"
	"testing"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"
	"pgregory.net/rapid"
)

// TestRangeAgrees: appended leaf by leaf, or rebuilt in the middle and
// continued, a Range has the roots and visits the nodes of the library.
func TestRangeAgrees(t *testing.T) {
	tree := newTestTree(600)
	type visit struct {
		id NodeID
		h  Hash
	}
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Uint64Range(0, 550).Draw(t, "from")
		more := rapid.Uint64Range(0, 50).Draw(t, "more")
		ours, err := RangeAt(from, tree.read)
		if err != nil {
			t.Fatal(err)
		}
		factory := compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}
		var edge [][]byte
		for _, id := range compact.RangeNodes(0, from, nil) {
			h := tree.nodes[NodeID(id)]
			edge = append(edge, h[:])
		}
		theirs, err := factory.NewRange(0, from, edge)
		if err != nil {
			t.Fatal(err)
		}
		kept := ours.Clone()
		for i := from; i < from+more; i++ {
			var a, b []visit
			ours.Append(tree.leaves[i], func(id NodeID, h Hash) { a = append(a, visit{id, h}) })
			if err := theirs.Append(tree.leaves[i][:], func(id compact.NodeID, h []byte) { b = append(b, visit{NodeID(id), Hash(h)}) }); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(a, b) {
				t.Fatalf("leaf %d visits %v, the library %v", i, a, b)
			}
		}
		if ours.Size() != from+more || ours.Root() != naiveRoot(tree.leaves[:from+more]) {
			t.Fatalf("root of %d+%d: %v", from, more, ours.Root())
		}
		if theirRoot, err := theirs.GetRootHash(nil); err != nil || from+more > 0 && Hash(theirRoot) != ours.Root() {
			t.Fatalf("the library's root of %d+%d: %x, %v", from, more, theirRoot, err)
		}
		if kept.Size() != from || kept.Root() != naiveRoot(tree.leaves[:from]) {
			t.Fatal("a clone changed with its original")
		}
		kept.Append(Hash{}, nil) // a clone may not write into its original either
		if ours.Root() != naiveRoot(tree.leaves[:from+more]) {
			t.Fatal("the original changed with its clone")
		}
	})
}

func TestZeroRange(t *testing.T) {
	var r Range
	if r.Size() != 0 || r.Root() != EmptyRoot || r.Clone().Root() != EmptyRoot {
		t.Error("the zero Range is not the empty tree")
	}
}
