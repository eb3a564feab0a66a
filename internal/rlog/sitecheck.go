package rlog

import (
	"fmt"

	"github.com/obstat/obstat/merkle"
)

// siteChecker re-hashes the entries of full bundles on disk and compares the
// tiles on disk with what they give.
type siteChecker struct {
	site   *site
	range_ *merkle.Range // what was read so far; owner: the caller of to

	tiles   uint64 // full tiles that were compared
	partial uint64 // partial tiles that were compared
	entries uint64 // entries that were hashed
	bytes   uint64 // of entries
}

// to goes on to size. Every entry below it must stand in a full bundle.
func (c *siteChecker) to(size uint64) error {
	for c.range_.Size() < size {
		from := c.range_.Size()
		bundle := from / merkle.TileWidth
		_, entries, err := c.site.bundle(bundle, merkle.TileWidth)
		if err != nil {
			return err
		}
		if err := c.append(entries[from%merkle.TileWidth : min(merkle.TileWidth, size-bundle*merkle.TileWidth)]); err != nil {
			return err
		}
	}
	return nil
}

// append hashes entries, and compares every full tile that they complete.
func (c *siteChecker) append(entries [][]byte) error {
	var err error
	for _, e := range entries {
		c.range_.Append(merkle.LeafHash(e), func(id merkle.NodeID, h merkle.Hash) {
			if err == nil && id.Level > 0 && id.Level%8 == 0 {
				err = c.tile(merkle.Tile{Level: id.Level/8 - 1, Index: id.Index, Width: merkle.TileWidth}, h)
			}
		})
		if err != nil {
			return err
		}
		c.entries++
		c.bytes += uint64(len(e))
	}
	return nil
}

func (c *siteChecker) tile(t merkle.Tile, want merkle.Hash) error {
	data, err := c.site.tile(t)
	if err != nil {
		return err
	}
	got, err := merkle.TileRoot(data)
	if err != nil {
		return err
	}
	if got != want {
		return damaged(c.site.name(t.Path()), 0, fmt.Sprintf("the hashes of the entries, under %s", want), "other hashes")
	}
	c.tiles++
	return nil
}
