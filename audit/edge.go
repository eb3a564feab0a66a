package audit

import (
	"io/fs"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// edge is the right edge of the tree in tiles: on each level the hashes of the
// tile that is not full yet, at most 8 KiB. From it follow the tiles above and
// the root.
type edge struct {
	levels [merkle.MaxLevel + 1][]byte
	index  [merkle.MaxLevel + 1]uint64 // of that tile
	lost   bool                        // a bundle could not be read, so nothing above is known
}

// append adds the leaf hashes of the next level-0 tile, which has been held
// against the site already, and holds every tile above that becomes full.
func (e *edge) append(fsys fs.FS, hashes []byte, found findings) error {
	if e.lost {
		return nil
	}
	e.levels[0] = hashes
	for level := uint(0); level < merkle.MaxLevel && len(e.levels[level]) == merkle.TileWidth*merkle.HashSize; level++ {
		if level > 0 {
			if err := e.hold(fsys, level, found); err != nil {
				return err
			}
		}
		up, err := merkle.TileRoot(e.levels[level])
		if err != nil {
			return err
		}
		e.levels[level] = nil
		e.index[level]++
		e.levels[level+1] = append(e.levels[level+1], up[:]...)
	}
	return nil
}

// hold compares the tile of a level with that of the site.
func (e *edge) hold(fsys fs.FS, level uint, found findings) error {
	t := merkle.Tile{Level: level, Index: e.index[level], Width: len(e.levels[level]) / merkle.HashSize}
	c, ok, err := holdTile(fsys, t, e.levels[level])
	if err == nil && !ok {
		found.add(CheckTiles, t.Path(), c)
	}
	return err
}

// finish holds the partial tiles above level 0, and returns the root.
func (e *edge) finish(fsys fs.FS, size uint64, found findings) (merkle.Hash, error) {
	for level := uint(1); level <= merkle.MaxLevel; level++ {
		if len(e.levels[level]) == 0 {
			continue
		}
		if err := e.hold(fsys, level, found); err != nil {
			return merkle.Hash{}, err
		}
	}
	return e.root(size)
}

// root returns the root of the tree so far, of size leaves.
func (e *edge) root(size uint64) (merkle.Hash, error) {
	return merkle.Root(size, merkle.TileReader(size, func(t merkle.Tile) ([]byte, error) {
		if t.Index != e.index[t.Level] {
			return nil, &report.Error{Code: report.CodeInternal, Where: t.Path(), Expected: "a tile of the right edge", Actual: "another"}
		}
		return e.levels[t.Level], nil
	}))
}
