package merkle

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/report"
)

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		tile          Tile
		path, entries string // entries for level 0 only
	}{
		{Tile{0, 0, 256}, "tile/0/000", "tile/entries/000"},
		{Tile{0, 5, 1}, "tile/0/005.p/1", "tile/entries/005.p/1"},
		{Tile{0, 999, 256}, "tile/0/999", "tile/entries/999"},
		{Tile{0, 1000, 255}, "tile/0/x001/000.p/255", "tile/entries/x001/000.p/255"},
		{Tile{0, 1234067, 256}, "tile/0/x001/x234/067", "tile/entries/x001/x234/067"},
		{Tile{7, 0, 127}, "tile/7/000.p/127", ""},
		{Tile{0, 1<<55 - 1, 255}, "tile/0/x036/x028/x797/x018/x963/967.p/255", "tile/entries/x036/x028/x797/x018/x963/967.p/255"},
		// No tree has these.
		{Tile{0, 1<<55 - 1, 256}, "", ""},
		{Tile{0, 1 << 55, 1}, "", ""},
		{Tile{0, math.MaxUint64, 256}, "", ""},
		{Tile{7, 0, 128}, "", ""},
		{Tile{7, 1, 1}, "", ""},
		{Tile{8, 0, 1}, "", ""},
		{Tile{63, 0, 1}, "", ""},
		{Tile{0, 0, 0}, "", ""},
		{Tile{0, 0, -1}, "", ""},
		{Tile{0, 0, 257}, "", ""},
	} {
		if got := c.tile.Path(); got != c.path {
			t.Errorf("%+v: path %q, want %q", c.tile, got, c.path)
		}
		if got := c.tile.Valid(); got != (c.path != "") {
			t.Errorf("%+v: valid %v", c.tile, got)
		}
		if c.tile.Level == 0 {
			if got := EntriesPath(c.tile.Index, c.tile.Width); got != c.entries {
				t.Errorf("%+v: entries path %q, want %q", c.tile, got, c.entries)
			}
		}
		for path, entries := range map[string]bool{c.path: false, c.entries: true} {
			if path == "" {
				continue
			}
			got, isEntries, err := ParsePath(path)
			if err != nil || got != c.tile || isEntries != entries {
				t.Errorf("%s: parsed as %+v, %v, %v", path, got, isEntries, err)
			}
		}
	}
}

func TestPathsRefused(t *testing.T) {
	for _, path := range []string{
		"", "tile", "tile/", "tile/0", "tile/0/", "/tile/0/000", "tile/0/000/", "tile//000", "tile/0//000",
		"tile/0/0", "tile/0/00", "tile/0/0000", "tile/0/1000", "tile/0/x000/001", "tile/0/x001", "tile/0/x001/x002",
		"tile/0/001/002", "tile/0/X001/002", "tile/0/xx001/002", "tile/0/x01/002", "tile/0/x0001/002",
		"tile/00/000", "tile/+0/000", "tile/-1/000", "tile/8/000", "tile/63/000", "tile/255/000", "tile/256/000", "tile/a/000",
		"tile/7/000", "tile/7/001.p/1",
		"tile/0/000.p", "tile/0/000.p/", "tile/0/000.p/0", "tile/0/000.p/01", "tile/0/000.p/256", "tile/0/000.p/-1",
		"tile/0/000.p/1/", "tile/0/000.p/1.p/1", "tile/0/000.P/1", "tile/0/000p/1", "tile/0/000.p/1x",
		"tile/0/0 0", "tile/0/０００", "tile/0/000\n", "tile/0/000\x00", "tile/entries", "tile/entries/", "tile/entries/0",
		"tile/Entries/000", "tile/data/000", "tile/entries/x036/x028/x797/x018/x963/968", "tile/0/x999/x999/x999/x999/x999/x999/999",
		"tile/0/" + strings.Repeat("x000/", 1000) + "000", "tile/0/x/0/0/0", "tile/0/0/0/0", "tile/0/0x00",
	} {
		if got, _, err := ParsePath(path); report.CodeOf(err) != report.CodeTilePath {
			t.Errorf("%q: parsed as %+v, %v", path, got, err)
		}
	}
}

func anyTile() *rapid.Generator[Tile] {
	return rapid.Custom(func(t *rapid.T) Tile {
		level := rapid.UintRange(0, 9).Draw(t, "level")
		index := rapid.OneOf(rapid.Uint64Range(0, 3000), rapid.Uint64(), rapid.Uint64Range(1<<55-3, 1<<55+3)).Draw(t, "index")
		return Tile{level, index >> min(8*level, 63), rapid.IntRange(-1, 258).Draw(t, "width")}
	})
}

// TestPathsAgree: a path parses back into its tile, and x/mod writes it alike
// but for its height element.
func TestPathsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tile := anyTile().Draw(t, "tile")
		path := tile.Path()
		if !tile.Valid() {
			if path != "" {
				t.Fatalf("%+v has path %s", tile, path)
			}
			return
		}
		if got, entries, err := ParsePath(path); err != nil || entries || got != tile {
			t.Fatalf("%s parses as %+v, %v, %v", path, got, entries, err)
		}
		other := tlog.Tile{H: 8, L: int(tile.Level), N: int64(tile.Index), W: tile.Width}.Path()
		if path != strings.Replace(other, "tile/8/", "tile/", 1) {
			t.Fatalf("%s, but x/mod writes %s", path, other)
		}
	})
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"tile/0/000", "tile/7/000.p/127", "tile/entries/x001/x234/067", "tile/0/x001/000.p/255", "tile/63/x999/999.p/1", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		tile, entries, err := ParsePath(path)
		if err != nil {
			if report.CodeOf(err) != report.CodeTilePath || len(err.Error()) > 700 {
				t.Fatalf("%q: %v", path, err)
			}
			return
		}
		again := tile.Path()
		if entries {
			again = EntriesPath(tile.Index, tile.Width)
		}
		if again != path || !tile.Valid() || entries && tile.Level != 0 {
			t.Fatalf("%q parses as %+v, %v, which is %q", path, tile, entries, again)
		}
	})
}

func TestTileWidthAt(t *testing.T) {
	for _, c := range []struct {
		level       uint
		index, size uint64
		want        int
	}{
		{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 0, 255, 255}, {0, 0, 256, 256}, {0, 0, 257, 256},
		{0, 1, 256, 0}, {0, 1, 257, 1}, {0, 2, 257, 0}, {1, 0, 255, 0}, {1, 0, 256, 1}, {1, 0, 65535, 255},
		{1, 0, 65536, 256}, {2, 0, 65535, 0}, {2, 0, 65536, 1}, {2, 0, 65537, 1},
		// The worked example of tlog-tiles: 70,000 leaves.
		{0, 272, 70000, 256}, {0, 273, 70000, 112}, {0, 274, 70000, 0},
		{1, 0, 70000, 256}, {1, 1, 70000, 17}, {2, 0, 70000, 1}, {3, 0, 70000, 0},
		{0, 1<<55 - 1, MaxSize, 255}, {7, 0, MaxSize, 127}, {7, 1, MaxSize, 0}, {8, 0, math.MaxUint64, 0},
		{0, math.MaxUint64, math.MaxUint64, 0}, {0, 1<<56 - 1, math.MaxUint64, 255}, {64, 0, 5, 0}, {math.MaxUint, 0, 5, 0},
	} {
		if got := TileWidthAt(c.level, c.index, c.size); got != c.want {
			t.Errorf("level %d index %d size %d: %d, want %d", c.level, c.index, c.size, got, c.want)
		}
	}
}

// boundary draws sizes around the ends of tiles.
func boundary(most uint64) *rapid.Generator[uint64] {
	edges := []uint64{0, 1, 255, 256, 257, 511, 512, 513, 65535, 65536, 65537, 65791, 65792, 65793, 70000}
	edges = slices.DeleteFunc(edges, func(n uint64) bool { return n > most })
	return rapid.OneOf(rapid.SampledFrom(edges), rapid.Uint64Range(0, most))
}

// TestNewTilesAgree: the tiles to write between two sizes are those of x/mod,
// and all the tiles of a tree are those between 0 and its size.
func TestNewTilesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := boundary(70000).Draw(t, "from"), boundary(70000).Draw(t, "to")
		got := slices.Collect(NewTiles(from, to))
		if from > to {
			if len(got) != 0 {
				t.Fatalf("from %d back to %d: %v", from, to, got)
			}
			return
		}
		var want []Tile
		for _, o := range tlog.NewTiles(8, int64(from), int64(to)) {
			want = append(want, Tile{uint(o.L), uint64(o.N), o.W})
		}
		if !slices.Equal(got, want) {
			t.Fatalf("from %d to %d: %v, x/mod: %v", from, to, got, want)
		}
		for _, tile := range got {
			if !tile.In(to) || tile.In(from) {
				t.Fatalf("%v is not new between %d and %d", tile, from, to)
			}
		}
	})
	stopped := 0
	for range NewTiles(0, math.MaxUint64) {
		if stopped++; stopped == 3 {
			break
		}
	}
}

// TestTiles: out of its tiles alone a tree has the roots, edges and proofs it
// has in memory, around every tile boundary.
func TestTiles(t *testing.T) {
	tree := newTestTree(66000)
	rapid.Check(t, func(t *rapid.T) {
		size := boundary(tree.size).Draw(t, "size")
		read := func(tile Tile) ([]byte, error) {
			if tile.Width != TileWidthAt(tile.Level, tile.Index, size) || !tile.In(size) {
				t.Fatalf("%v is not the tile of a tree of size %d", tile, size)
			}
			return tree.readTile(tile)
		}
		rd := TileReader(size, read)
		root, err := Root(size, rd)
		want, _ := Root(size, tree.read)
		if err != nil || root != want {
			t.Fatalf("root of %d: %v, %v; want %v", size, root, err, want)
		}
		if size == 0 {
			return
		}
		index := min(boundary(size).Draw(t, "index"), size-1)
		p, err := InclusionProof(index, size, rd)
		if err != nil {
			t.Fatal(err)
		}
		if err := VerifyInclusion(index, size, tree.leaves[index], p, root); err != nil {
			t.Fatal(err)
		}
		if err := libraryInclusion(index, size, tree.leaves[index], p, root); err != nil {
			t.Fatalf("the library refuses our proof of %d in %d: %v", index, size, err)
		}
		older := max(boundary(size).Draw(t, "older"), 1)
		olderRoot, err := Root(older, rd)
		if err != nil {
			t.Fatal(err)
		}
		p, err = ConsistencyProof(older, size, rd)
		if err != nil {
			t.Fatal(err)
		}
		if err := VerifyConsistency(older, size, olderRoot, root, p); err != nil {
			t.Fatal(err)
		}
		if err := libraryConsistency(older, size, olderRoot, root, p); err != nil {
			t.Fatalf("the library refuses our proof from %d to %d: %v", older, size, err)
		}
	})
}

// TestTileReaderTakesFullTiles: a reader of an old size may be given the tile
// that has become full since, but no other length.
func TestTileReaderTakesFullTiles(t *testing.T) {
	tree := newTestTree(512)
	for _, c := range []struct {
		width int
		ok    bool
	}{{256, true}, {44, true}, {43, false}, {45, false}, {0, false}} {
		rd := TileReader(300, func(tile Tile) ([]byte, error) {
			if tile.Index == 1 && tile.Level == 0 {
				full, err := tree.readTile(Tile{0, 1, 256})
				return full[:c.width*HashSize], err
			}
			return tree.readTile(tile)
		})
		root, err := Root(300, rd)
		if c.ok && (err != nil || root != naiveRoot(tree.leaves[:300])) {
			t.Errorf("width %d: %v, %v", c.width, root, err)
		}
		if !c.ok && report.CodeOf(err) != report.CodeTileData {
			t.Errorf("width %d: %v", c.width, err)
		}
	}
	rd := TileReader(300, tree.readTile)
	for _, id := range []NodeID{{0, 300}, {9, 0}, {8, 1}, {64, 0}, {0, math.MaxUint64}, {math.MaxUint, 0}} {
		if _, err := rd(id); report.CodeOf(err) != report.CodeNodeRange {
			t.Errorf("node %v: %v", id, err)
		}
	}
	if _, err := TileReader(1<<63, tree.readTile)(NodeID{}); report.CodeOf(err) != report.CodeTreeSize {
		t.Errorf("size 2^63: %v", err)
	}
	for _, n := range []int{0, 31, 8191, 8193, 16384} {
		if _, err := TileRoot(make([]byte, n)); report.CodeOf(err) != report.CodeTileData {
			t.Errorf("tile of %d bytes: %v", n, err)
		}
	}
	if _, err := AppendTile(nil, Tile{0, 0, 0}, tree.read); report.CodeOf(err) != report.CodeTileData {
		t.Errorf("tile of no width: %v", err)
	}
	if dst, err := AppendTile([]byte{1}, Tile{0, 1, 257}, tree.read); err == nil || len(dst) != 1 {
		t.Errorf("tile of width 257: %v, %d", err, len(dst))
	}
	if _, err := AppendTile(nil, Tile{0, 2, 1}, tree.read); err == nil {
		t.Error("a tile of nodes that are not there")
	}
}

// TestEveryByteOfATileCounts: a changed byte in any tile that a root is made
// of changes the root.
func TestEveryByteOfATileCounts(t *testing.T) {
	tree := newTestTree(300)
	root := naiveRoot(tree.leaves)
	for _, tile := range []Tile{{0, 1, 44}, {1, 0, 1}} {
		for at := range tile.Width * HashSize {
			rd := TileReader(300, func(want Tile) ([]byte, error) {
				data, err := tree.readTile(want)
				if want == tile {
					data[at] ^= 1
				}
				return data, err
			})
			if got, err := Root(300, rd); err != nil || got == root {
				t.Fatalf("byte %d of %s does not count: %v", at, tile.Path(), err)
			}
		}
	}
}

func ExampleTile_Path() {
	fmt.Println(Tile{Level: 0, Index: 1234067, Width: 112}.Path())
	// Output: tile/0/x001/x234/067.p/112
}
