package merkle

import (
	"fmt"
	"strconv"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"

	"github.com/obstat/obstat/report"
)

// MaxSize is the largest tree: sizes are 63 bits, so that they fit the signed
// integers of every other implementation.
const MaxSize = 1<<63 - 1

// NodeID names a complete subtree of 2^Level leaves, the Index-th from the
// left; on level 0 stand the leaves.
type NodeID struct {
	Level uint
	Index uint64
}

// Complete reports whether id is a complete subtree of a tree of size leaves.
func (id NodeID) Complete(size uint64) bool {
	return id.Index < size>>id.Level // 0 from level 64 on
}

// Reader gives the hash of a complete subtree. Nothing here asks for a node
// that is not complete in the tree of the size it was called with.
type Reader func(NodeID) (Hash, error)

// Root returns the root of the tree of size, from at most 63 nodes.
func Root(size uint64, r Reader) (Hash, error) {
	if err := checkSize(size); err != nil {
		return Hash{}, err
	}
	if size == 0 {
		return EmptyRoot, nil
	}
	ids := compact.RangeNodes(0, size, make([]compact.NodeID, 0, compact.RangeSize(0, size)))
	return foldLeft(ids, r)
}

// InclusionProof returns the proof that VerifyInclusion checks.
func InclusionProof(index, size uint64, r Reader) ([]Hash, error) {
	if err := checkSize(size); err != nil {
		return nil, err
	}
	if index >= size {
		return nil, outOfTree(index, size)
	}
	plan, err := proof.Inclusion(index, size)
	if err != nil {
		return nil, outOfTree(index, size)
	}
	return readProof(plan, r)
}

// ConsistencyProof returns the proof that VerifyConsistency checks. As there,
// size1 is at least 1.
func ConsistencyProof(size1, size2 uint64, r Reader) ([]Hash, error) {
	if err := checkSize(size2); err != nil {
		return nil, err
	}
	if size1 == 0 {
		return nil, fromEmpty()
	}
	plan, err := proof.Consistency(size1, size2)
	if err != nil {
		return nil, shrinking(size1, size2)
	}
	return readProof(plan, r)
}

// readProof reads the nodes of a plan and folds into one hash those that make
// up the one subtree of the proof that is not complete, where there is one.
func readProof(plan proof.Nodes, r Reader) ([]Hash, error) {
	_, begin, end := plan.Ephem()
	out := make([]Hash, 0, len(plan.IDs))
	for i := 0; i < len(plan.IDs); i++ {
		h, err := r(NodeID(plan.IDs[i]))
		if err != nil {
			return nil, err
		}
		for i >= begin && i+1 < end { // from the lowest, rightmost, to the left
			i++
			left, err := r(NodeID(plan.IDs[i]))
			if err != nil {
				return nil, err
			}
			h = NodeHash(left, h)
		}
		out = append(out, h)
	}
	return out, nil
}

// foldLeft hashes the complete subtrees of a tree, largest and leftmost first,
// into its root.
func foldLeft(ids []compact.NodeID, r Reader) (Hash, error) {
	h, err := r(NodeID(ids[len(ids)-1]))
	if err != nil {
		return Hash{}, err
	}
	for i := len(ids) - 2; i >= 0; i-- {
		left, err := r(NodeID(ids[i]))
		if err != nil {
			return Hash{}, err
		}
		h = NodeHash(left, h)
	}
	return h, nil
}

func checkSize(size uint64) error {
	if size <= MaxSize {
		return nil
	}
	return &report.Error{
		Code:     report.CodeTreeSize,
		Where:    "tree size",
		Expected: fmt.Sprintf("at most %d", uint64(MaxSize)),
		Actual:   strconv.FormatUint(size, 10),
	}
}
