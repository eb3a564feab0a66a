package merkle

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/obstat/obstat/report"
)

// MaxProof is the largest number of hashes in an inclusion proof in a tree of
// at most MaxSize leaves. A consistency proof can have one more, but only
// beyond 2^62 leaves; tlog-witness takes no more than this.
const MaxProof = 63

// VerifyInclusion checks that leaf stands at index, from 0, in the tree of
// size leaves with root. The number of hashes in proof, leaf's sibling first,
// is a function of index and size. It implements RFC 9162 section 2.1.3.2.
//
// Errors: PROOF-RANGE where index is not below size, PROOF-LENGTH, and
// PROOF-INVALID where the hashes do not lead to root.
func VerifyInclusion(index, size uint64, leaf Hash, proof []Hash, root Hash) error {
	if index >= size {
		return outOfTree(index, size)
	}
	inner, border := splitProof(index, size)
	if len(proof) != inner+border {
		return wrongLength(inner+border, len(proof))
	}
	h := chain(leaf, proof[:inner], index)
	h = chainLeft(h, proof[inner:])
	if h != root {
		return invalid("root", root, h)
	}
	return nil
}

// VerifyConsistency checks that the tree of size1 with root1 is a prefix of
// the tree of size2 with root2. It implements RFC 9162 section 2.1.4.2.
//
// The empty tree is a prefix of every tree and no proof can say so: size1 must
// be at least 1, and 0 is PROOF-EMPTY-TREE, for the caller to answer by itself
// (a checkpoint of size 0 binds nothing). Other errors: PROOF-RANGE where
// size1 is above size2, PROOF-LENGTH, and PROOF-INVALID.
func VerifyConsistency(size1, size2 uint64, root1, root2 Hash, proof []Hash) error {
	switch {
	case size1 == 0:
		return fromEmpty()
	case size1 > size2:
		return shrinking(size1, size2)
	case size1 == size2:
		if len(proof) != 0 {
			return wrongLength(0, len(proof))
		}
		if root1 != root2 {
			return invalid("root of the same size", root1, root2)
		}
		return nil
	}
	h1, h2, err := consistencyRoots(size1, size2, root1, proof)
	if err != nil {
		return err
	}
	if h1 != root1 {
		return invalid("root of the older tree", root1, h1)
	}
	if h2 != root2 {
		return invalid("root of the newer tree", root2, h2)
	}
	return nil
}

// OlderRoot returns the root that a consistency proof gives the tree of size1,
// where the proof leads to root2: the root that the tree of size2 had at size1,
// whatever root anybody else saw there. ok is false where it does not lead
// there, and where size1 is a power of two below size2, since such a proof says
// nothing about the older root.
func OlderRoot(size1, size2 uint64, root2 Hash, proof []Hash) (root1 Hash, ok bool) {
	switch {
	case size1 == 0 || size1 > size2:
		return Hash{}, false
	case size1 == size2:
		return root2, len(proof) == 0
	case size1&(size1-1) == 0:
		return Hash{}, false
	}
	h1, h2, err := consistencyRoots(size1, size2, Hash{}, proof)
	return h1, err == nil && h2 == root2
}

// consistencyRoots returns the roots that a proof leads to for 0 < size1 < size2.
// older is the root of the first tree, and is used where the proof leaves it out.
func consistencyRoots(size1, size2 uint64, older Hash, proof []Hash) (h1, h2 Hash, err error) {
	// The proof is that of the largest complete subtree that ends at size1,
	// inside the tree of size2: the subtree itself, unless it is the whole
	// first tree and so known, then its inclusion proof.
	inner, border := splitProof(size1-1, size2)
	shift := bits.TrailingZeros64(size1)
	inner -= shift
	seed, rest, want := older, proof, inner+border
	if size1 != 1<<shift {
		want++
	}
	if len(proof) != want {
		return h1, h2, wrongLength(want, len(proof))
	}
	if size1 != 1<<shift {
		seed, rest = proof[0], proof[1:]
	}
	path := (size1 - 1) >> shift
	h1, h2 = seed, seed
	for i, h := range rest[:inner] {
		if path>>i&1 == 1 {
			h1, h2 = NodeHash(h, h1), NodeHash(h, h2)
		} else { // h stands to the right of the first tree
			h2 = NodeHash(h2, h)
		}
	}
	return chainLeft(h1, rest[inner:]), chainLeft(h2, rest[inner:]), nil
}

// InclusionProofLength returns the number of hashes in the inclusion proof of
// index in a tree of size; 0 where index is not below size.
func InclusionProofLength(index, size uint64) int {
	if index >= size {
		return 0
	}
	inner, border := splitProof(index, size)
	return inner + border
}

// splitProof cuts the inclusion proof of index in a tree of size where the
// path to index leaves the path to the last leaf: inner hashes below, from
// either side, border hashes above, all from the left.
func splitProof(index, size uint64) (inner, border int) {
	inner = bits.Len64(index ^ (size - 1))
	return inner, bits.OnesCount64(index >> inner)
}

// chain hashes upwards from h, which stands at index on its level.
func chain(h Hash, proof []Hash, index uint64) Hash {
	for i, p := range proof {
		if index>>i&1 == 0 {
			h = NodeHash(h, p)
		} else {
			h = NodeHash(p, h)
		}
	}
	return h
}

// chainLeft hashes upwards from h with siblings that all stand to its left.
func chainLeft(h Hash, proof []Hash) Hash {
	for _, p := range proof {
		h = NodeHash(p, h)
	}
	return h
}

func outOfTree(index, size uint64) error {
	return &report.Error{
		Code:     report.CodeProofRange,
		Where:    "index",
		Expected: fmt.Sprintf("an index below the tree size %d", size),
		Actual:   strconv.FormatUint(index, 10),
	}
}

func shrinking(size1, size2 uint64) error {
	return &report.Error{
		Code:     report.CodeProofRange,
		Where:    "sizes",
		Expected: fmt.Sprintf("an older size of at most %d", size2),
		Actual:   strconv.FormatUint(size1, 10),
	}
}

func fromEmpty() error {
	return &report.Error{
		Code:     report.CodeProofEmptyTree,
		Where:    "older size",
		Expected: "at least 1",
		Actual:   "0",
		Fix:      "the empty tree is a prefix of every tree; there is nothing to prove",
	}
}

func wrongLength(want, got int) error {
	return &report.Error{
		Code:     report.CodeProofLength,
		Where:    "proof",
		Expected: strconv.Itoa(want) + " hashes",
		Actual:   strconv.Itoa(got),
	}
}

func invalid(where string, want, got Hash) error {
	return &report.Error{
		Code:     report.CodeProofInvalid,
		Where:    where,
		Expected: want.String(),
		Actual:   got.String(),
	}
}
