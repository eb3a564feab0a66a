package merkle

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/report"
)

func slices2(in []Hash) [][]byte {
	out := make([][]byte, len(in))
	for i := range in {
		out[i] = in[i][:]
	}
	return out
}

func libraryInclusion(index, size uint64, leaf Hash, p []Hash, root Hash) error {
	return proof.VerifyInclusion(rfc6962.DefaultHasher, index, size, leaf[:], slices2(p), root[:])
}

func libraryConsistency(size1, size2 uint64, root1, root2 Hash, p []Hash) error {
	return proof.VerifyConsistency(rfc6962.DefaultHasher, size1, size2, slices2(p), root1[:], root2[:])
}

// TestSmallTrees: every proof in every tree of up to 100 leaves is the one of
// the definition and of two other implementations, and verifies; so do roots.
func TestSmallTrees(t *testing.T) {
	tree := newTestTree(100)
	stored := tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(at))
		for i, x := range at {
			level, n := tlog.SplitStoredHashIndex(x)
			h, err := tree.read(NodeID{Level: uint(level), Index: uint64(n)})
			if err != nil {
				return nil, err
			}
			out[i] = tlog.Hash(h)
		}
		return out, nil
	})
	for size := range tree.size + 1 {
		leaves := tree.leaves[:size]
		want := naiveRoot(leaves)
		root, err := Root(size, tree.read)
		if err != nil || root != want {
			t.Fatalf("root of size %d: %v, %v; want %v", size, root, err, want)
		}
		for i := range size {
			p, err := InclusionProof(i, size, tree.read)
			if err != nil || !slices.Equal(p, naivePath(int(i), leaves)) {
				t.Fatalf("proof of %d in %d: %v, %v", i, size, p, err)
			}
			if len(p) != InclusionProofLength(i, size) {
				t.Fatalf("proof of %d in %d has %d hashes, not %d", i, size, len(p), InclusionProofLength(i, size))
			}
			if other, err := tlog.ProveRecord(int64(size), int64(i), stored); err != nil || !slices.EqualFunc(p, other, func(a Hash, b tlog.Hash) bool { return a == Hash(b) }) {
				t.Fatalf("x/mod proves %d in %d otherwise: %v, %v", i, size, other, err)
			}
			if err := VerifyInclusion(i, size, leaves[i], p, root); err != nil {
				t.Fatalf("proof of %d in %d: %v", i, size, err)
			}
		}
		for older := uint64(1); older <= size; older++ {
			p, err := ConsistencyProof(older, size, tree.read)
			if err != nil || !slices.Equal(p, naiveSubproof(int(older), leaves, true)) {
				t.Fatalf("proof from %d to %d: %v, %v", older, size, p, err)
			}
			if other, err := tlog.ProveTree(int64(size), int64(older), stored); err != nil || !slices.EqualFunc(p, other, func(a Hash, b tlog.Hash) bool { return a == Hash(b) }) {
				t.Fatalf("x/mod proves %d to %d otherwise: %v, %v", older, size, other, err)
			}
			if err := VerifyConsistency(older, size, naiveRoot(leaves[:older]), root, p); err != nil {
				t.Fatalf("proof from %d to %d: %v", older, size, err)
			}
		}
	}
}

// mutations returns proofs that differ from p in one place each.
func mutations(p []Hash) [][]Hash {
	var out [][]Hash
	for i := range p {
		for _, bit := range []int{0, 100, 255} {
			m := slices.Clone(p)
			m[i][bit/8] ^= 1 << (bit % 8)
			out = append(out, m)
		}
		out = append(out, slices.Delete(slices.Clone(p), i, i+1))
		if i > 0 {
			m := slices.Clone(p)
			m[i-1], m[i] = m[i], m[i-1]
			out = append(out, m)
		}
	}
	for _, x := range []Hash{{}, EmptyRoot} {
		out = append(out, append(slices.Clone(p), x), append([]Hash{x}, p...))
	}
	return out
}

// TestMutatedProofsNeverVerify changes one thing in every proof of some trees:
// a bit, an order, a length, the index, the leaf, a root.
func TestMutatedProofsNeverVerify(t *testing.T) {
	tree := newTestTree(70)
	for _, size := range []uint64{1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 64, 65, 70} {
		root := naiveRoot(tree.leaves[:size])
		for i := range size {
			p := naivePath(int(i), tree.leaves[:size])
			refuse := func(what string, err error) {
				t.Helper()
				code := report.CodeOf(err)
				if code != report.CodeProofInvalid && code != report.CodeProofLength && code != report.CodeProofRange {
					t.Fatalf("%d in %d, %s: %v", i, size, what, err)
				}
			}
			for _, m := range mutations(p) {
				refuse("changed proof", VerifyInclusion(i, size, tree.leaves[i], m, root))
			}
			for j := range size + 2 {
				if j != i {
					refuse(fmt.Sprintf("index %d", j), VerifyInclusion(j, size, tree.leaves[i], p, root))
				}
			}
			refuse("other leaf", VerifyInclusion(i, size, LeafHash([]byte("other")), p, root))
			refuse("other root", VerifyInclusion(i, size, tree.leaves[i], p, EmptyRoot))
		}
		for older := uint64(1); older <= size; older++ {
			p, older1 := naiveSubproof(int(older), tree.leaves[:size], true), naiveRoot(tree.leaves[:older])
			for _, m := range mutations(p) {
				if VerifyConsistency(older, size, older1, root, m) == nil {
					t.Fatalf("%d to %d verifies with a changed proof", older, size)
				}
			}
			if VerifyConsistency(older, size, EmptyRoot, root, p) == nil || VerifyConsistency(older, size, older1, EmptyRoot, p) == nil {
				t.Fatalf("%d to %d verifies with another root", older, size)
			}
			if older < size && VerifyConsistency(size, older, root, older1, p) == nil {
				t.Fatalf("%d to %d verifies backwards", size, older)
			}
		}
	}
}

// TestVerifiersAgree: on any input at all, extremes of 64 bits included, we
// and the library answer alike; only the empty tree is left out, see below.
func TestVerifiersAgree(t *testing.T) {
	tree := newTestTree(40)
	size64 := rapid.OneOf(
		rapid.Uint64Range(0, 41),
		rapid.SampledFrom([]uint64{math.MaxUint64, math.MaxUint64 - 1, 1 << 63, 1<<63 - 1, 1<<63 + 1, 1 << 32, 1<<32 - 1}),
		rapid.Uint64(),
	)
	hash := rapid.Custom(func(t *rapid.T) Hash {
		return tree.leaves[rapid.IntRange(0, len(tree.leaves)-1).Draw(t, "hash")]
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := size64.Draw(t, "a"), size64.Draw(t, "b")
		leaf, root := hash.Draw(t, "leaf"), hash.Draw(t, "root")
		n := rapid.IntRange(0, 70).Draw(t, "length")
		if a < b && rapid.Bool().Draw(t, "right length") {
			n = InclusionProofLength(a, b)
		}
		p := make([]Hash, n)
		for i := range p {
			p[i] = hash.Draw(t, "component")
		}
		if a < b && n == InclusionProofLength(a, b) && rapid.Bool().Draw(t, "right root") {
			if r, err := proof.RootFromInclusionProof(rfc6962.DefaultHasher, a, b, leaf[:], slices2(p)); err == nil {
				root = Hash(r)
			}
		}
		if ours, theirs := VerifyInclusion(a, b, leaf, p, root), libraryInclusion(a, b, leaf, p, root); (ours == nil) != (theirs == nil) {
			t.Fatalf("inclusion %d in %d: ours %v, library %v", a, b, ours, theirs)
		}
		if a == 0 {
			return
		}
		if ours, theirs := VerifyConsistency(a, b, leaf, root, p), libraryConsistency(a, b, leaf, root, p); (ours == nil) != (theirs == nil) {
			t.Fatalf("consistency %d to %d: ours %v, library %v", a, b, ours, theirs)
		}
	})
}

// TestEmptyTreeProvesNothing: the library at v0.0.2 takes any root of size 0
// for a prefix; its later versions and we refuse to call that a proof.
func TestEmptyTreeProvesNothing(t *testing.T) {
	root := LeafHash(nil)
	if err := libraryConsistency(0, 1, root, root, nil); err != nil {
		t.Fatalf("the library has changed its mind, and this test can go: %v", err)
	}
	for _, size2 := range []uint64{0, 1, math.MaxUint64} {
		if err := VerifyConsistency(0, size2, EmptyRoot, root, nil); report.CodeOf(err) != report.CodeProofEmptyTree {
			t.Errorf("from 0 to %d: %v", size2, err)
		}
	}
	if _, err := ConsistencyProof(0, 5, nil); report.CodeOf(err) != report.CodeProofEmptyTree {
		t.Errorf("a proof from 0: %v", err)
	}
}

// TestVerifierCodes: each way to be wrong has its own code.
func TestVerifierCodes(t *testing.T) {
	tree := newTestTree(9)
	root := naiveRoot(tree.leaves)
	p, c := naivePath(3, tree.leaves), naiveSubproof(5, tree.leaves, true)
	older := naiveRoot(tree.leaves[:5])
	for _, x := range []struct {
		name string
		err  error
		code report.Code
	}{
		{"index at size", VerifyInclusion(9, 9, tree.leaves[3], p, root), report.CodeProofRange},
		{"empty tree", VerifyInclusion(0, 0, tree.leaves[3], nil, EmptyRoot), report.CodeProofRange},
		{"index 2^64-1", VerifyInclusion(math.MaxUint64, math.MaxUint64, tree.leaves[3], p, root), report.CodeProofRange},
		{"a hash more", VerifyInclusion(3, 9, tree.leaves[3], append(slices.Clone(p), Hash{}), root), report.CodeProofLength},
		{"a hash less", VerifyInclusion(3, 9, tree.leaves[3], p[1:], root), report.CodeProofLength},
		{"no hashes", VerifyInclusion(3, 9, tree.leaves[3], nil, root), report.CodeProofLength},
		{"another leaf", VerifyInclusion(3, 9, tree.leaves[4], p, root), report.CodeProofInvalid},
		{"backwards", VerifyConsistency(9, 5, root, older, c), report.CodeProofRange},
		{"from nothing", VerifyConsistency(0, 9, EmptyRoot, root, nil), report.CodeProofEmptyTree},
		{"from 5, a hash more", VerifyConsistency(5, 9, older, root, append(slices.Clone(c), Hash{})), report.CodeProofLength},
		{"from 5, a hash less", VerifyConsistency(5, 9, older, root, c[1:]), report.CodeProofLength},
		{"from 5, no hashes", VerifyConsistency(5, 9, older, root, nil), report.CodeProofLength},
		{"from 8, no hashes", VerifyConsistency(8, 9, older, root, nil), report.CodeProofLength},
		{"from 9 to 9 with a hash", VerifyConsistency(9, 9, root, root, c[:1]), report.CodeProofLength},
		{"from 9 to 9 with two roots", VerifyConsistency(9, 9, root, older, nil), report.CodeProofInvalid},
		{"another older root", VerifyConsistency(5, 9, root, root, c), report.CodeProofInvalid},
		{"another newer root", VerifyConsistency(5, 9, older, older, c), report.CodeProofInvalid},
	} {
		if report.CodeOf(x.err) != x.code {
			t.Errorf("%s: %v, want %s", x.name, x.err, x.code)
		}
	}
}

func TestProverRefusals(t *testing.T) {
	broken := errors.New("broken")
	fails := func(NodeID) (Hash, error) { return Hash{}, broken }
	for _, c := range []struct {
		name string
		do   func(Reader) error
		code report.Code
	}{
		{"index at size", func(r Reader) error { _, err := InclusionProof(5, 5, r); return err }, report.CodeProofRange},
		{"index of empty tree", func(r Reader) error { _, err := InclusionProof(0, 0, r); return err }, report.CodeProofRange},
		{"huge index", func(r Reader) error { _, err := InclusionProof(math.MaxUint64, 5, r); return err }, report.CodeProofRange},
		{"huge size", func(r Reader) error { _, err := InclusionProof(0, math.MaxUint64, r); return err }, report.CodeTreeSize},
		{"size 2^63", func(r Reader) error { _, err := Root(1<<63, r); return err }, report.CodeTreeSize},
		{"range of size 2^63", func(r Reader) error { _, err := RangeAt(1<<63, r); return err }, report.CodeTreeSize},
		{"backwards", func(r Reader) error { _, err := ConsistencyProof(6, 5, r); return err }, report.CodeProofRange},
		{"consistency to huge size", func(r Reader) error { _, err := ConsistencyProof(6, 1<<63, r); return err }, report.CodeTreeSize},
	} {
		if err := c.do(fails); report.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, want %s", c.name, err, c.code)
		}
	}
	// A reader that fails at the n-th node fails whatever is being read.
	tree := newTestTree(21)
	for _, do := range []func(Reader) error{
		func(r Reader) error { _, err := Root(21, r); return err },
		func(r Reader) error { _, err := RangeAt(21, r); return err },
		func(r Reader) error { _, err := InclusionProof(3, 21, r); return err },
		func(r Reader) error { _, err := ConsistencyProof(6, 21, r); return err },
	} {
		reads := 0
		if err := do(func(id NodeID) (Hash, error) { reads++; return tree.read(id) }); err != nil {
			t.Fatal(err)
		}
		for fail := range reads {
			n := 0
			err := do(func(id NodeID) (Hash, error) {
				if n++; n > fail {
					return Hash{}, broken
				}
				return tree.read(id)
			})
			if !errors.Is(err, broken) {
				t.Errorf("a failing reader gives %v", err)
			}
		}
	}
}

// TestLargestTree: at the largest sizes proofs have at most MaxProof hashes
// and only complete nodes are asked for.
func TestLargestTree(t *testing.T) {
	size := uint64(MaxSize)
	rd := func(id NodeID) (Hash, error) {
		if !id.Complete(size) {
			t.Errorf("node %v is not complete in %d", id, size)
		}
		return Hash{byte(id.Level)}, nil
	}
	root, err := Root(size, rd)
	if err != nil {
		t.Fatal(err)
	}
	inclusion, consistency := 0, 0
	for _, i := range []uint64{0, 1, 1 << 62, 1<<62 - 1, size / 3, size - 2, size - 1} {
		p, err := InclusionProof(i, size, rd)
		if err != nil {
			t.Fatal(err)
		}
		inclusion = max(inclusion, len(p))
		if len(p) != InclusionProofLength(i, size) {
			t.Errorf("proof of %d: %d hashes, want %d", i, len(p), InclusionProofLength(i, size))
		}
	}
	for _, older := range []uint64{1, 3, 1 << 62, 1<<62 - 1, size - 1, size} {
		p, err := ConsistencyProof(older, size, rd)
		if err != nil {
			t.Fatal(err)
		}
		consistency = max(consistency, len(p))
	}
	if inclusion != MaxProof || consistency != MaxProof+1 {
		t.Errorf("longest proofs have %d and %d hashes, MaxProof is %d", inclusion, consistency, MaxProof)
	}
	edge, err := RangeAt(size, rd)
	if err != nil || edge.Root() != root {
		t.Errorf("right edge of the largest tree: %v", err)
	}
}

// FuzzVerify: no input panics, and no proof verifies that is not the one of
// the definition.
func FuzzVerify(f *testing.F) {
	tree := newTestTree(33)
	f.Add(uint64(3), uint64(7), []byte{})
	f.Add(uint64(math.MaxUint64), uint64(math.MaxUint64), []byte{1})
	f.Add(uint64(1<<63), uint64(math.MaxUint64), make([]byte, 64*HashSize))
	p := naivePath(12, tree.leaves[:33])
	var flat []byte
	for _, h := range p {
		flat = append(flat, h[:]...)
	}
	f.Add(uint64(12), uint64(33), flat)
	f.Fuzz(func(t *testing.T, a, b uint64, flat []byte) {
		p := make([]Hash, len(flat)/HashSize)
		for i := range p {
			p[i] = Hash(flat[i*HashSize:])
		}
		if b == 0 || b > tree.size {
			_ = VerifyInclusion(a, b, EmptyRoot, p, EmptyRoot)
			_ = VerifyConsistency(a, b, EmptyRoot, EmptyRoot, p)
			return
		}
		root := naiveRoot(tree.leaves[:b])
		for i, leaf := range tree.leaves[:b] {
			if VerifyInclusion(a, b, leaf, p, root) == nil && (uint64(i) != a || !slices.Equal(p, naivePath(i, tree.leaves[:b]))) {
				t.Errorf("leaf %d verifies at %d in %d", i, a, b)
			}
		}
		if a >= 1 && a <= b && VerifyConsistency(a, b, naiveRoot(tree.leaves[:a]), root, p) == nil && !slices.Equal(p, naiveSubproof(int(a), tree.leaves[:b], true)) {
			t.Errorf("%d to %d verifies with another proof", a, b)
		}
	})
}

// TestOlderRoot: a proof names the root that the larger tree had at the smaller
// size, unless that is a power of two, and a changed proof names none.
func TestOlderRoot(t *testing.T) {
	var r Range
	nodes := map[NodeID]Hash{}
	const most = 70
	for i := range most {
		r.Append(LeafHash([]byte{byte(i)}), func(id NodeID, h Hash) { nodes[id] = h })
	}
	read := func(id NodeID) (Hash, error) { return nodes[id], nil }
	root := func(size uint64) Hash {
		h, err := Root(size, read)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for size2 := uint64(1); size2 <= most; size2++ {
		for size1 := uint64(1); size1 <= size2; size1++ {
			p, err := ConsistencyProof(size1, size2, read)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := OlderRoot(size1, size2, root(size2), p)
			if silent := size1&(size1-1) == 0 && size1 < size2; ok == silent || ok && got != root(size1) {
				t.Fatalf("%d to %d: %v, %v", size1, size2, got, ok)
			}
			for i := range p {
				p[i][0] ^= 1
				if _, ok := OlderRoot(size1, size2, root(size2), p); ok {
					t.Fatalf("%d to %d: hash %d changed", size1, size2, i)
				}
				p[i][0] ^= 1
			}
		}
	}
	if _, ok := OlderRoot(0, 5, root(5), nil); ok {
		t.Error("a proof from the empty tree")
	}
	if _, ok := OlderRoot(6, 5, root(5), nil); ok {
		t.Error("a proof backwards")
	}
}
