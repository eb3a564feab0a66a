package interop

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"

	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/merkle"
)

func (l *grownLog) verifier(t *testing.T) note.Verifier {
	t.Helper()
	v, err := note.NewVerifier(l.vkey())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// trackerFollows: a client of Tessera that knows any earlier checkpoint, or
// none, finds its way to the present one.
func trackerFollows(t *testing.T, l *grownLog, src source) {
	now := l.latest()
	for _, known := range append([]head{{}}, l.earlier()...) {
		lst, err := client.NewLogStateTracker(t.Context(), src.ReadTile, known.note, l.verifier(t),
			servertest.Origin, client.UnilateralConsensus(src.ReadCheckpoint))
		if err != nil {
			t.Fatalf("from size %d: %v", known.size, err)
		}
		if known.size > 0 {
			before, built, after, err := lst.Update(t.Context())
			if err != nil {
				t.Fatalf("from size %d: %v", known.size, err)
			}
			if !bytes.Equal(before, known.note) || !bytes.Equal(after, now.note) {
				t.Errorf("from size %d: it went from %q to %q", known.size, before, after)
			}
			if !equal(built, l.consistency(known.size, now.size)) {
				t.Errorf("from size %d: another proof than ours", known.size)
			}
		}
		if c := lst.Latest(); c.Size != now.size || merkle.Hash(c.Hash) != now.root {
			t.Errorf("from size %d: it follows to %+v, want size %d", known.size, c, now.size)
		}
	}
}

// builderAgrees: Tessera's proof builder makes of our tiles, for every size that
// can be read, the proofs that we make.
func builderAgrees(t *testing.T, l *grownLog, src source) {
	for _, h := range src.heads {
		builder, err := client.NewProofBuilder(t.Context(), h.size, src.ReadTile)
		if err != nil {
			t.Fatal(err)
		}
		indexes := few(h.size)
		if h.size == l.latest().size {
			indexes = some(h.size)
		}
		for _, i := range indexes {
			built, err := builder.InclusionProof(t.Context(), i)
			if err != nil {
				t.Fatalf("leaf %d in %d: %v", i, h.size, err)
			}
			if !equal(built, l.inclusion(i, h.size)) {
				t.Errorf("leaf %d in %d: another proof than ours", i, h.size)
			}
			leaf := rfc6962.DefaultHasher.HashLeaf(l.leaves[i])
			if err := proof.VerifyInclusion(rfc6962.DefaultHasher, i, h.size, leaf, built, h.root[:]); err != nil {
				t.Errorf("leaf %d in %d: %v", i, h.size, err)
			}
		}
		for _, i := range indexes[1:] { // sizes, from 1 on
			built, err := builder.ConsistencyProof(t.Context(), i, h.size)
			if err != nil {
				t.Fatalf("from %d to %d: %v", i, h.size, err)
			}
			if !equal(built, l.consistency(i, h.size)) {
				t.Errorf("from %d to %d: another proof than ours", i, h.size)
			}
			old, err := merkle.Root(i, l.node)
			if err != nil {
				t.Fatal(err)
			}
			if err := proof.VerifyConsistency(rfc6962.DefaultHasher, i, h.size, built, old[:], h.root[:]); err != nil {
				t.Errorf("from %d to %d: %v", i, h.size, err)
			}
		}
	}
}

// entriesDecode: Tessera's reader of entries finds our leaves, its reader of
// tiles their hashes, and its compact range our root.
func entriesDecode(t *testing.T, l *grownLog, src source) {
	size, count := l.latest().size, uint64(0)
	sizeOf := func(context.Context) (uint64, error) { return size, nil }
	bundles := client.EntryBundles(t.Context(), 2, sizeOf, src.ReadEntryBundle, 0, size)
	for e, err := range client.Entries(bundles, unbundle) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Index != count || !bytes.Equal(e.Entry, l.leaves[count]) {
			t.Fatalf("entry %d is read as entry %d: %x", count, e.Index, e.Entry)
		}
		count++
	}
	if count != size {
		t.Errorf("%d entries, want %d", count, size)
	}
	for n := uint64(0); n*merkle.TileWidth < size; n++ {
		b, err := client.GetEntryBundle(t.Context(), src.ReadEntryBundle, n, size)
		if err != nil {
			t.Fatal(err)
		}
		if want := l.leaves[n*merkle.TileWidth : min((n+1)*merkle.TileWidth, size)]; !equal(b.Entries, want) {
			t.Errorf("bundle %d holds other entries", n)
		}
	}
	hashes, err := client.FetchLeafHashes(t.Context(), src.ReadTile, 0, size, size)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range hashes {
		if !bytes.Equal(h, rfc6962.DefaultHasher.HashLeaf(l.leaves[i])) {
			t.Errorf("leaf hash %d is of another leaf", i)
		}
	}
	nodes, err := client.FetchRangeNodes(t.Context(), size, src.ReadTile)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewRange(0, size, nodes)
	if err != nil {
		t.Fatal(err)
	}
	if root, err := r.GetRootHash(nil); err != nil || merkle.Hash(root) != l.latest().root {
		t.Errorf("root %x, %v, want %v", root, err, l.latest().root)
	}
}

func unbundle(raw []byte) ([][]byte, error) {
	var b api.EntryBundle
	if err := b.UnmarshalText(raw); err != nil {
		return nil, err
	}
	return b.Entries, nil
}

// check is Tessera's fsck, with leaves hashed as its command hashes them.
func check(t *testing.T, l *grownLog, src source) error {
	t.Helper()
	leafHashes := func(raw []byte) ([][]byte, error) {
		entries, err := unbundle(raw)
		for i, e := range entries {
			entries[i] = rfc6962.DefaultHasher.HashLeaf(e)
		}
		return entries, err
	}
	f := fsck.New(servertest.Origin, l.verifier(t), src, leafHashes, fsck.Opts{N: 2})
	if err := f.Check(t.Context()); err != nil {
		return fmt.Errorf("fsck: %w", err)
	}
	return nil
}

func fsckPasses(t *testing.T, l *grownLog, src source) {
	if err := check(t, l, src); err != nil {
		t.Error(err)
	}
}
