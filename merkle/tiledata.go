package merkle

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/obstat/obstat/report"
)

// Containing returns the tile of a tree of size that the hash of id is made
// from, as wide as that tree has it, and the run of hashes in it: count, a
// power of two, from first on. id must be complete in that tree, else
// NODE-RANGE.
func Containing(id NodeID, size uint64) (t Tile, first, count int, err error) {
	if err := checkSize(size); err != nil {
		return Tile{}, 0, 0, err
	}
	if !id.Complete(size) {
		return Tile{}, 0, 0, &report.Error{
			Code:     report.CodeNodeRange,
			Where:    fmt.Sprintf("node %d of level %d", id.Index, id.Level),
			Expected: fmt.Sprintf("a subtree that is complete in a tree of size %d", size),
			Actual:   "one that is not",
		}
	}
	up := id.Level % tileHeight
	start := id.Index << up // on the level of the tile
	t = Tile{Level: id.Level / tileHeight, Index: start / TileWidth}
	t.Width = TileWidthAt(t.Level, t.Index, size)
	return t, int(start % TileWidth), 1 << up, nil
}

// TileReader reads nodes of a tree of size out of its tiles. read returns the
// bytes of a tile, at its width in that tree or as the full tile, of which the
// beginning is used; they are not kept and not changed. A proof asks several
// times for the same tile, so a read that costs something wants a cache.
// Errors: those of read, NODE-RANGE, and TILE-DATA where there are too few or
// too many bytes.
func TileReader(size uint64, read func(Tile) ([]byte, error)) Reader {
	return func(id NodeID) (Hash, error) {
		t, first, count, err := Containing(id, size)
		if err != nil {
			return Hash{}, err
		}
		data, err := read(t)
		if err != nil {
			return Hash{}, err
		}
		if len(data) != TileWidth*HashSize {
			if err := CheckTile(t, data); err != nil {
				return Hash{}, err
			}
		}
		return subtree(data[first*HashSize : (first+count)*HashSize]), nil
	}
}

// CheckTile checks that data is as long as tile t has to be. That the hashes
// are right follows only from a root.
func CheckTile(t Tile, data []byte) error {
	if t.Valid() && len(data) == t.Width*HashSize {
		return nil
	}
	return tileData(t.Path(), strconv.Itoa(t.Width*HashSize)+" bytes", strconv.Itoa(len(data)))
}

// TileRoot returns the hash over a full tile: the node that stands for it in
// the tile above. The error is TILE-DATA where data is not 8,192 bytes.
func TileRoot(data []byte) (Hash, error) {
	if len(data) != TileWidth*HashSize {
		return Hash{}, tileData("full tile", strconv.Itoa(TileWidth*HashSize)+" bytes", strconv.Itoa(len(data)))
	}
	return subtree(data), nil
}

// AppendTile appends the bytes of tile t, read node by node. It is the way
// from a tree in memory to the tile that is served or written.
func AppendTile(dst []byte, t Tile, r Reader) ([]byte, error) {
	if !t.Valid() {
		return dst, tileData("tile", "coordinates that a tree can have", fmt.Sprintf("%+v", t))
	}
	for i := range uint64(t.Width) {
		h, err := r(NodeID{Level: t.Level * tileHeight, Index: t.Index*TileWidth + i})
		if err != nil {
			return dst, err
		}
		dst = append(dst, h[:]...)
	}
	return dst, nil
}

// AppendLeafTile appends the level-0 tile that belongs to a bundle: the leaf
// hashes of its entries. A reader of a log compares it with the tile served,
// since tiles alone say nothing about bundles.
func AppendLeafTile(dst []byte, entries [][]byte) []byte {
	for _, e := range entries {
		h := LeafHash(e)
		dst = append(dst, h[:]...)
	}
	return dst
}

// subtree hashes a run of 2^k hashes to their common ancestor.
func subtree(data []byte) Hash {
	// The right edge on a stack, as in Range; level k of it is bit k of i.
	var stack [tileHeight + 1]Hash
	n := len(data) / HashSize
	for i := range n {
		h := Hash(data[i*HashSize : (i+1)*HashSize])
		level := 0
		for ; i>>level&1 == 1; level++ {
			h = NodeHash(stack[level], h)
		}
		stack[level] = h
	}
	return stack[bits.Len(uint(n))-1]
}

func tileData(where, expected, actual string) error {
	return &report.Error{Code: report.CodeTileData, Where: where, Expected: expected, Actual: actual}
}
