package rlog

import (
	"maps"
	"slices"

	"github.com/obstat/obstat/merkle"
)

// contents is what can be read of a log: its tree and its leaves, wherever they
// stand. Callers ask only for what a published size has.
type contents struct {
	tree   *tree
	leaves *leaves
	site   *site
}

func newContents(cfg *Config) *contents {
	s := newSite(cfg.FS, siteDir)
	return &contents{tree: newTree(s), leaves: newLeaves(s), site: s}
}

func (c *contents) leaf(index uint64) ([]byte, error) {
	hash, err := c.tree.node(merkle.NodeID{Index: index})
	if err != nil {
		return nil, err
	}
	return c.leaves.leaf(index, hash)
}

func (c *contents) tile(t merkle.Tile) ([]byte, error) {
	return merkle.AppendTile(make([]byte, 0, t.Width*merkle.HashSize), t, c.tree.node)
}

func (c *contents) entries(bundle uint64, width int) ([]byte, error) {
	return c.leaves.entries(nil, bundle*merkle.TileWidth, width)
}

// written says that the site has a tree of size on disk.
func (c *contents) written(size uint64) {
	c.tree.written(size)
	c.leaves.written(size)
}

// eachBundle calls f with the leaves from one index to another, in runs of at
// most one bundle. They are checked against the tree.
func (c *contents) eachBundle(from, to uint64, f func(first uint64, leaves [][]byte) error) error {
	for from < to {
		n := min(to-from, merkle.TileWidth-from%merkle.TileWidth)
		b, err := c.leaves.entries(nil, from, int(n))
		if err != nil {
			return err
		}
		leaves, err := merkle.ParseBundle(b, int(n))
		if err != nil {
			return damaged(c.leaves.where(from), 0, "entries", err.Error())
		}
		for i, leaf := range leaves {
			want, err := c.tree.node(merkle.NodeID{Index: from + uint64(i)})
			if err != nil {
				return err
			}
			if merkle.LeafHash(leaf) != want {
				return damaged(c.leaves.where(from), 0, "the leaves that the tree holds", "other bytes")
			}
		}
		if err := f(from, leaves); err != nil {
			return err
		}
		from += n
	}
	return nil
}

func sortedKeys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
