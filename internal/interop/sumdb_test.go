package interop

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/obstat/obstat/merkle"
)

// sumdbTiles lets the client of Go's checksum database read our tiles: its
// paths differ, its tiles do not.
type sumdbTiles struct {
	ctx  context.Context
	src  source
	seen map[tlog.Tile][]byte
}

func (s *sumdbTiles) Height() int                         { return 8 }
func (s *sumdbTiles) SaveTiles(_ []tlog.Tile, _ [][]byte) {}

func (s *sumdbTiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	all := make([][]byte, len(tiles))
	for i, tile := range tiles {
		data, ok := s.seen[tile]
		if !ok {
			var err error
			// Width 256 is a full tile, which Tessera's fetchers ask for as 0.
			if data, err = s.src.ReadTile(s.ctx, uint64(tile.L), uint64(tile.N), uint8(tile.W)); err != nil {
				return nil, err
			}
			if len(data) < tile.W*tlog.HashSize {
				return nil, fmt.Errorf("%s has %d bytes", tile.Path(), len(data))
			}
			data = data[:tile.W*tlog.HashSize] // a directory may have the full tile only
			s.seen[tile] = data
		}
		all[i] = data
	}
	return all, nil
}

// sumdbAgrees: golang.org/x/mod's tlog reads our tiles, for every size that can
// be read, makes the same proofs, and checks them.
func sumdbAgrees(t *testing.T, l *grownLog, src source) {
	for _, h := range src.heads {
		size, root := int64(h.size), tlog.Hash(h.root)
		reader := tlog.TileHashReader(tlog.Tree{N: size, Hash: root},
			&sumdbTiles{t.Context(), src, map[tlog.Tile][]byte{}})
		if got, err := tlog.TreeHash(size, reader); err != nil || got != root {
			t.Fatalf("size %d: root %v, %v, want %v", size, got, err, root)
		}
		for _, i := range few(h.size) {
			proof, err := tlog.ProveRecord(size, int64(i), reader)
			if err != nil {
				t.Fatalf("leaf %d in %d: %v", i, size, err)
			}
			if !equal(flat(proof), l.inclusion(i, h.size)) {
				t.Errorf("leaf %d in %d: another proof than ours", i, size)
			}
			if err := tlog.CheckRecord(proof, size, root, int64(i), tlog.RecordHash(l.leaves[i])); err != nil {
				t.Errorf("leaf %d in %d: %v", i, size, err)
			}
			if i > 0 {
				growthAgrees(t, l, reader, i, h)
			}
		}
	}
}

func growthAgrees(t *testing.T, l *grownLog, reader tlog.HashReader, from uint64, to head) {
	t.Helper()
	proof, err := tlog.ProveTree(int64(to.size), int64(from), reader)
	if err != nil {
		t.Fatalf("from %d to %d: %v", from, to.size, err)
	}
	if !equal(flat(proof), l.consistency(from, to.size)) {
		t.Errorf("from %d to %d: another proof than ours", from, to.size)
	}
	old, err := tlog.TreeHash(int64(from), reader)
	if err != nil {
		t.Fatal(err)
	}
	if ours, err := merkle.Root(from, l.node); err != nil || tlog.Hash(ours) != old {
		t.Errorf("root of %d: %v, ours is %v, %v", from, old, ours, err)
	}
	if err := tlog.CheckTree(proof, int64(to.size), tlog.Hash(to.root), int64(from), old); err != nil {
		t.Errorf("from %d to %d: %v", from, to.size, err)
	}
}
