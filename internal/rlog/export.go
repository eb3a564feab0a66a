package rlog

import (
	"fmt"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// Export writes the whole log as a static C2SP tlog-tiles site into dst, which
// must be empty: all tiles and bundles, and the newest signed checkpoint last.
// What was written is read back and hashed before the checkpoint is. cfg is as
// for Open; the log must not be open (LOG-LOCKED), and nothing in it changes. A
// server that runs is mirrored over HTTP, or from its directory "site".
func Export(cfg Config, dst durable.FS) (Head, error) {
	c, err := cfg.complete()
	if err != nil {
		return Head{}, err
	}
	entries, err := dst.ReadDir(".")
	if err != nil {
		return Head{}, ioError("list", dst.String(), err)
	}
	if len(entries) > 0 {
		return Head{}, &report.Error{Code: report.CodeLogExists, Where: dst.String(), Expected: "an empty directory",
			Actual: fmt.Sprintf("%q in it", entries[0].Name()), Fix: "name another directory"}
	}
	lock, err := c.FS.Lock(lockName)
	if err != nil {
		return Head{}, lockError(c.FS.String()+"/"+lockName, err)
	}
	defer lock.Close()
	r := newReplay(c)
	defer r.leaves.close()
	if err := r.run(); err != nil {
		return Head{}, err
	}
	head := Head{Size: r.last.size, Root: r.last.root, Note: r.last.note}
	out := newSite(dst, ".")
	if err := out.grow(0, head.Size, r.tile, r.entries); err != nil {
		return Head{}, err
	}
	if err := checkSite(out, head, nil); err != nil {
		return Head{}, err
	}
	return head, out.setCheckpoint(head.Note)
}

// Reindex makes cfg.Index again from the leaves. The log must not be open
// (LOG-LOCKED). It returns the size that the index covers then.
func Reindex(cfg Config) (uint64, error) {
	c, err := cfg.complete()
	if err != nil {
		return 0, err
	}
	if c.Index == nil {
		return 0, configError("Index", "an index", "none")
	}
	lock, err := c.FS.Lock(lockName)
	if err != nil {
		return 0, lockError(c.FS.String()+"/"+lockName, err)
	}
	defer lock.Close()
	r := newReplay(c)
	defer r.leaves.close()
	if err := r.run(); err != nil {
		return 0, err
	}
	if err := c.Index.Reset(); err != nil {
		return 0, ioError("write", "index", err)
	}
	if err := r.begins(r.last.size, 0); err != nil {
		return 0, err
	}
	return r.last.size, absorb(c, r.contents, newStatements(c.Index), r.last.size)
}

// checkSite hashes every entry of a site of head's size again and compares all
// tiles, full and partial, and the root. each, if not nil, sees the entries.
func checkSite(s *site, head Head, each func(first uint64, entries [][]byte) error) error {
	c := siteChecker{site: s, range_: new(merkle.Range)}
	return c.whole(head, each)
}

// whole goes on to the end of the site, partial bundle included.
func (c *siteChecker) whole(head Head, each func(uint64, [][]byte) error) error {
	for c.range_.Size() < head.Size {
		bundle := c.range_.Size() / merkle.TileWidth
		_, entries, err := c.site.bundle(bundle, merkle.TileWidthAt(0, bundle, head.Size))
		if err != nil {
			return err
		}
		if each != nil {
			if err := each(bundle*merkle.TileWidth, entries); err != nil {
				return err
			}
		}
		if err := c.append(entries); err != nil {
			return err
		}
	}
	if got := c.range_.Root(); got != head.Root {
		return damaged(c.site.dir, 0, "entries of root "+head.Root.String(), got.String())
	}
	return c.partials(head)
}

// partials compares the partial tiles of the right edge.
func (c *siteChecker) partials(head Head) error {
	nodes := merkle.TileReader(head.Size, c.site.tile)
	for level := uint(0); level <= merkle.MaxLevel; level++ {
		t := merkle.Tile{Level: level, Index: head.Size >> (8 * (level + 1))}
		if t.Width = merkle.TileWidthAt(level, t.Index, head.Size); t.Width == 0 {
			continue
		}
		c.partial++
		if level > 0 {
			// Each hash of it is the root of a full tile below.
			for i := range uint64(t.Width) {
				id := merkle.NodeID{Level: 8 * level, Index: t.Index*merkle.TileWidth + i}
				below, err := c.site.tile(merkle.Tile{Level: level - 1, Index: id.Index, Width: merkle.TileWidth})
				if err != nil {
					return err
				}
				want, err := merkle.TileRoot(below)
				if err != nil {
					return err
				}
				if got, err := nodes(id); err != nil || got != want {
					return damaged(c.site.name(t.Path()), 0, "the hashes of the tiles below", "other hashes")
				}
			}
			continue
		}
		data, err := c.site.tile(t)
		if err != nil {
			return err
		}
		_, entries, err := c.site.bundle(t.Index, t.Width)
		if err != nil {
			return err
		}
		if string(data) != string(merkle.AppendLeafTile(nil, entries)) {
			return damaged(c.site.name(t.Path()), 0, "the hashes of the entries", "other hashes")
		}
	}
	return nil
}
