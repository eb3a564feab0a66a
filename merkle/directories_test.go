package merkle

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/vectors"
)

// logDirectory is a folder of tiles made by somebody else's log: whatever
// tiles, bundles and checkpoints are in it, and expected.json, where there is
// one.
type logDirectory struct {
	name    string
	tiles   map[Tile][]byte
	bundles map[Tile][]byte // level 0
	heads   map[uint64]Hash // size to root, out of checkpoint files
	cases   int
	good    int
}

func (d *logDirectory) check(t *testing.T, what string, ok bool) {
	t.Helper()
	d.cases++
	if ok {
		d.good++
		return
	}
	t.Errorf("%s: %s", d.name, what)
}

// TestVectorsDirectories reads every folder under tiles, such as
// "tiles/tessera" and "tiles/navigli2025h2" with its
// "tiles/navigli2025h2/expected.json", and holds what it finds against itself
// and against this package.
func TestVectorsDirectories(t *testing.T) {
	root := os.DirFS(vectors.Path(t, "tiles"))
	var logs []string
	err := fs.WalkDir(root, ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == "tile" {
			logs = append(logs, path.Dir(p))
			return fs.SkipDir
		}
		return err
	})
	if err != nil || len(logs) == 0 {
		t.Fatalf("no log directories: %v", err)
	}
	for _, name := range logs {
		sub, err := fs.Sub(root, name)
		if err != nil {
			t.Fatal(err)
		}
		d := readDirectory(t, "tiles/"+name, sub)
		d.checkTiles(t)
		d.checkHeads(t)
		if b, err := fs.ReadFile(sub, "expected.json"); err == nil {
			d.checkExpected(t, b)
		}
		if d.cases == 0 {
			t.Errorf("%s: nothing to check", d.name)
		}
		fmt.Printf("vectors: %s: %d cases, %d as expected\n", d.name, d.cases, d.good)
	}
}

func readDirectory(t *testing.T, name string, dir fs.FS) *logDirectory {
	t.Helper()
	d := &logDirectory{name: name, tiles: map[Tile][]byte{}, bundles: map[Tile][]byte{}, heads: map[uint64]Hash{}}
	err := fs.WalkDir(dir, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := fs.ReadFile(dir, p)
		if err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(p, "tile/data/"), strings.HasPrefix(p, "tile/names/"):
			t.Logf("%s: %s is static-ct, not tlog-tiles", name, p)
		case strings.HasPrefix(p, "tile/"):
			tile, entries, err := ParsePath(p)
			d.check(t, "path "+p, err == nil)
			if err != nil {
				return nil
			}
			if entries {
				d.bundles[tile] = b
			} else {
				d.tiles[tile] = b
			}
		case strings.HasPrefix(path.Base(p), "checkpoint"):
			lines := strings.Split(string(b), "\n")
			size, err := strconv.ParseUint(lines[1], 10, 64)
			h, err2 := base64.StdEncoding.DecodeString(lines[2])
			if err != nil || err2 != nil || len(h) != HashSize {
				t.Fatalf("%s: %s is no checkpoint", name, p)
			}
			if was, ok := d.heads[size]; ok {
				d.check(t, p+" contradicts another", was == Hash(h))
			}
			d.heads[size] = Hash(h)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// checkTiles holds lengths, bundles against their level-0 tiles, wider tiles
// against narrower ones, and higher tiles against the full ones below.
func (d *logDirectory) checkTiles(t *testing.T) {
	t.Helper()
	for tile, data := range d.tiles {
		d.check(t, tile.Path()+" has another length", CheckTile(tile, data) == nil)
		for other, more := range d.tiles {
			if other.Level == tile.Level && other.Index == tile.Index && other.Width > tile.Width {
				d.check(t, tile.Path()+" is no prefix of "+other.Path(), bytes.HasPrefix(more, data))
			}
			if other.Level == tile.Level+1 && tile.Width == TileWidth && tile.Index/TileWidth == other.Index {
				at := int(tile.Index % TileWidth)
				if at >= other.Width {
					continue
				}
				h, err := TileRoot(data)
				d.check(t, tile.Path()+" does not hash into "+other.Path(), err == nil && bytes.Equal(h[:], more[at*HashSize:][:HashSize]))
			}
		}
	}
	for tile, data := range d.bundles {
		entries, err := ParseBundle(data, tile.Width)
		d.check(t, EntriesPath(tile.Index, tile.Width)+" does not parse", err == nil)
		var again []byte
		for _, e := range entries {
			again, err = AppendEntry(again, e)
			if err != nil {
				t.Fatal(err)
			}
		}
		d.check(t, EntriesPath(tile.Index, tile.Width)+" is written back differently", bytes.Equal(again, data))
		if hashes, ok := d.tiles[tile]; ok {
			d.check(t, EntriesPath(tile.Index, tile.Width)+" does not hash to its tile", bytes.Equal(AppendLeafTile(nil, entries), hashes))
		}
	}
}

// reader reads nodes of a tree of size out of the tiles found; base shifts
// level 0, where the folder holds a piece out of the middle of a log and says
// what the piece would be as a log of its own.
func (d *logDirectory) reader(size, base uint64) Reader {
	return TileReader(size, func(t Tile) ([]byte, error) {
		if t.Level > 0 {
			if data, ok := d.tiles[t]; ok && base == 0 {
				return data, nil
			}
			return d.higherTile(t, base)
		}
		t.Index += base
		for ; t.Width <= TileWidth; t.Width++ { // any wider one does
			data, ok := d.tiles[t]
			if ok {
				want, _, _, _ := Containing(NodeID{Index: (t.Index - base) * TileWidth}, size)
				return data[:want.Width*HashSize], nil
			}
		}
		return nil, fs.ErrNotExist
	})
}

// higherTile makes a tile of level 1 out of the full tiles below.
func (d *logDirectory) higherTile(t Tile, base uint64) ([]byte, error) {
	if t.Level != 1 {
		return nil, fs.ErrNotExist
	}
	var data []byte
	for i := range uint64(t.Width) {
		below, ok := d.tiles[Tile{Index: base + t.Index*TileWidth + i, Width: TileWidth}]
		if !ok {
			return nil, fs.ErrNotExist
		}
		h, err := TileRoot(below)
		if err != nil {
			return nil, err
		}
		data = append(data, h[:]...)
	}
	return data, nil
}

// checkHeads rebuilds the root of every checkpoint from tiles, proves every
// leaf in the small ones, and proves every checkpoint a prefix of every later one.
func (d *logDirectory) checkHeads(t *testing.T) {
	t.Helper()
	for size, root := range d.heads {
		rd := d.reader(size, 0)
		got, err := Root(size, rd)
		if errors.Is(err, fs.ErrNotExist) {
			t.Logf("%s: not checked: the tiles for size %d are not all here", d.name, size)
			continue
		}
		d.check(t, fmt.Sprintf("root of size %d: %v, %v", size, got, err), err == nil && got == root)
		edge, err := RangeAt(size, rd)
		d.check(t, fmt.Sprintf("right edge of size %d: %v", size, err), err == nil && edge.Root() == root)
		for i := uint64(0); i < size; i += 1 + size/512 {
			leaf, err := rd(NodeID{Index: i})
			if err != nil {
				t.Fatal(err)
			}
			proof, err := InclusionProof(i, size, rd)
			if err == nil {
				err = VerifyInclusion(i, size, leaf, proof, root)
			}
			d.check(t, fmt.Sprintf("leaf %d in size %d: %v", i, size, err), err == nil)
		}
		for later, laterRoot := range d.heads {
			if size == 0 || later < size {
				continue
			}
			proof, err := ConsistencyProof(size, later, d.reader(later, 0))
			if errors.Is(err, fs.ErrNotExist) {
				continue // said when later is checked
			}
			if err == nil {
				err = VerifyConsistency(size, later, root, laterRoot, proof)
			}
			d.check(t, fmt.Sprintf("from %d to %d: %v", size, later, err), err == nil)
		}
	}
}

var upperTile = regexp.MustCompile(`^level([0-9]+)_tile_([0-9]+)(?:_p([0-9]+))?_hex$`)

// checkExpected holds an expected.json: roots, proofs and upper tiles that
// another implementation computed over the level-0 tiles.
func (d *logDirectory) checkExpected(t *testing.T, b []byte) {
	t.Helper()
	var want struct {
		Roots     map[string]string `json:"root_by_size_b64"`
		Inclusion []struct {
			Index, Size uint64
			Proof       []string `json:"proof_b64"`
		}
		Consistency []struct {
			From, To uint64
			Proof    []string `json:"proof_b64"`
		}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &members); err != nil {
		t.Fatal(err)
	}
	roots := map[uint64]Hash{}
	largest := uint64(0)
	for k, v := range want.Roots {
		size, err := strconv.ParseUint(k, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		roots[size], largest = decode64(t, v), max(largest, size)
	}
	base, whole := d.piece(largest)
	if whole {
		for size, root := range roots {
			got, err := Root(size, d.reader(size, base))
			d.check(t, fmt.Sprintf("root of size %d: %v", size, err), err == nil && got == root)
		}
		for name, raw := range members {
			if m := upperTile.FindStringSubmatch(name); m != nil {
				d.checkUpperTile(t, m, raw, base, largest)
			}
		}
	}
	for _, c := range want.Inclusion {
		proof, rd := decodeAll64(t, c.Proof), d.reader(c.Size, base)
		root, ok := roots[c.Size]
		leaf, err := rd(NodeID{Index: c.Index})
		if whole {
			got, err := InclusionProof(c.Index, c.Size, rd)
			d.check(t, fmt.Sprintf("made inclusion %d in %d: %v", c.Index, c.Size, err), err == nil && slices.Equal(got, proof))
		}
		if ok && err == nil {
			d.check(t, fmt.Sprintf("inclusion %d in %d", c.Index, c.Size), VerifyInclusion(c.Index, c.Size, leaf, proof, root) == nil)
		}
	}
	for _, c := range want.Consistency {
		proof := decodeAll64(t, c.Proof)
		root1, ok1 := roots[c.From]
		root2, ok2 := roots[c.To]
		if whole {
			got, err := ConsistencyProof(c.From, c.To, d.reader(c.To, base))
			d.check(t, fmt.Sprintf("made consistency %d to %d: %v", c.From, c.To, err), err == nil && slices.Equal(got, proof))
		}
		if ok1 && ok2 {
			d.check(t, fmt.Sprintf("consistency %d to %d", c.From, c.To), VerifyConsistency(c.From, c.To, root1, root2, proof) == nil)
		}
	}
}

// piece says where leaf 0 of what is expected stands: at the first tile found,
// where the tiles from there on hold as many leaves as are expected; else at
// leaf 0 of the log, of which then only some tiles are here.
func (d *logDirectory) piece(size uint64) (base uint64, whole bool) {
	first, leaves := uint64(1<<62), uint64(0)
	for t := range d.tiles {
		if t.Level == 0 {
			first = min(first, t.Index)
		}
	}
	for i := first; ; i++ {
		widest := 0
		for t := range d.tiles {
			if t.Level == 0 && t.Index == i {
				widest = max(widest, t.Width)
			}
		}
		leaves += uint64(widest)
		if widest < TileWidth {
			break
		}
	}
	if leaves >= size {
		return first, true
	}
	return 0, false
}

func (d *logDirectory) checkUpperTile(t *testing.T, m []string, raw json.RawMessage, base, size uint64) {
	t.Helper()
	var hexData string
	if err := json.Unmarshal(raw, &hexData); err != nil {
		t.Fatal(err)
	}
	data, err := hex.DecodeString(hexData)
	if err != nil {
		t.Fatal(err)
	}
	level, _ := strconv.ParseUint(m[1], 10, 8)
	index, _ := strconv.ParseUint(m[2], 10, 64)
	tile := Tile{Level: uint(level), Index: index, Width: len(data) / HashSize}
	got, err := AppendTile(nil, tile, d.reader(size, base))
	d.check(t, fmt.Sprintf("%s: %v", tile.Path(), err), err == nil && bytes.Equal(got, data))
}

func decode64(t *testing.T, s string) Hash {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) != HashSize {
		t.Fatalf("%q is no hash", s)
	}
	return Hash(b)
}

func decodeAll64(t *testing.T, in []string) []Hash {
	t.Helper()
	out := make([]Hash, len(in))
	for i, s := range in {
		out[i] = decode64(t, s)
	}
	return out
}
