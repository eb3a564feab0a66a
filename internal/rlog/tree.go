package rlog

import (
	"sync"
	"sync/atomic"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// tree holds the nodes of the log's tree: those of tiles that are not yet on
// disk, and a cache of those that are. The sequencer appends; anybody reads
// nodes that are complete in a tree of a published size: publication (the
// atomic store of Log.head) orders the writes of those nodes before the reads,
// and no node changes once it is written.
type tree struct {
	edge merkle.Range // owner: the sequencer
	last [merkle.MaxLevel + 1]lastBlock

	site   *site         // full tiles of a tree of size onDisk stand there
	onDisk atomic.Uint64 // written by the publisher, and by replay before it

	mu     sync.RWMutex
	blocks map[blockID]*block // guarded by mu; not yet on disk
	cache  cache[blockID, *block]
}

// lastBlock saves the sequencer a look-up. Owner: the sequencer.
type lastBlock struct {
	index uint64
	block *block
}

// blockID names a hash tile; a block is the tile with the nodes inside it.
type blockID struct {
	level uint
	index uint64
}

// tile is the tile of the block in a tree of size.
func (b blockID) tile(size uint64) merkle.Tile {
	return merkle.Tile{Level: b.level, Index: b.index, Width: merkle.TileWidthAt(b.level, b.index, size)}
}

// block holds the nodes of one hash tile: 256 of tree level 8L, 128 of 8L+1, …,
// 2 of 8L+7. The node above them stands in the tile above.
type block [2 * merkle.TileWidth]merkle.Hash

// locate returns the block of a node and its place in it.
func locate(id merkle.NodeID) (blockID, int) {
	level, j := id.Level/8, id.Level%8
	width := uint64(merkle.TileWidth) >> j
	return blockID{level, id.Index >> (8 - j)}, rowAt(j) + int(id.Index&(width-1))
}

// rowAt is where the nodes j levels above the tile's own begin in a block:
// behind 256 + 128 + … (j terms).
func rowAt(j uint) int { return 2*merkle.TileWidth - 2*merkle.TileWidth>>j }

// blockOf makes the block of a tile out of its bytes; of a partial tile the
// nodes that are complete.
func blockOf(data []byte) *block {
	b := new(block)
	n := len(data) / merkle.HashSize
	for i := range n {
		b[i] = merkle.Hash(data[i*merkle.HashSize:])
	}
	for j := uint(1); j < 8; j++ {
		n /= 2
		below, row := b[rowAt(j-1):], b[rowAt(j):]
		for i := range n {
			row[i] = merkle.NodeHash(below[2*i], below[2*i+1])
		}
	}
	return b
}

// root is the node over a full block.
func (b *block) root() merkle.Hash {
	top := rowAt(7)
	return merkle.NodeHash(b[top], b[top+1])
}

// cacheTiles is how many tiles read from disk are kept, of 16 KiB each, once or
// twice over.
const cacheTiles = 1024

func newTree(s *site) *tree {
	return &tree{site: s, blocks: make(map[blockID]*block), cache: newCache[blockID, *block](cacheTiles)}
}

// append adds a leaf hash. For the sequencer.
func (t *tree) append(leaf merkle.Hash) { t.edge.Append(leaf, t.set) }

func (t *tree) set(id merkle.NodeID, h merkle.Hash) {
	b, at := locate(id)
	if b.level > merkle.MaxLevel {
		return // beyond any tree of 63-bit size
	}
	last := &t.last[b.level]
	if last.block == nil || last.index != b.index {
		t.mu.Lock()
		if t.blocks[b] == nil {
			t.blocks[b] = new(block)
		}
		*last = lastBlock{b.index, t.blocks[b]}
		t.mu.Unlock()
	}
	last.block[at] = h
}

// node is a merkle.Reader for nodes complete at a published size.
func (t *tree) node(id merkle.NodeID) (merkle.Hash, error) {
	b, at := locate(id)
	blk, err := t.block(b)
	if err != nil {
		return merkle.Hash{}, err
	}
	return blk[at], nil
}

func (t *tree) block(b blockID) (*block, error) {
	t.mu.RLock()
	blk := t.blocks[b]
	t.mu.RUnlock()
	if blk != nil {
		return blk, nil
	}
	if blk, ok := t.cache.get(b); ok {
		return blk, nil
	}
	return t.load(b)
}

// load reads a full tile from disk and checks it against the tile above, and so
// in the end against the right edge, which recovery has checked against a
// signed root.
func (t *tree) load(b blockID) (*block, error) {
	tile := b.tile(t.onDisk.Load())
	if tile.Width != merkle.TileWidth {
		return nil, &report.Error{Code: report.CodeInternal, Where: "tree", Expected: "a node of the tree", Actual: "none"}
	}
	data, err := t.site.tile(tile)
	if err != nil {
		return nil, err
	}
	blk := blockOf(data)
	want, err := t.node(merkle.NodeID{Level: 8 * (b.level + 1), Index: b.index})
	if err != nil {
		return nil, err
	}
	if blk.root() != want {
		return nil, damaged(t.site.name(tile.Path()), 0, "hashes under "+want.String(), blk.root().String())
	}
	t.cache.put(b, blk)
	return blk, nil
}

// restore makes t the tree of a site of size with root, able to append at from:
// it reads the right edges of both sizes. For replay, before anybody reads.
func (t *tree) restore(size uint64, root merkle.Hash, from uint64) error {
	for level := uint(0); level <= merkle.MaxLevel; level++ {
		b := blockID{level, size >> (8 * (level + 1))}
		if tile := b.tile(size); tile.Width > 0 {
			data, err := t.site.tile(tile)
			if err != nil {
				return err
			}
			t.blocks[b] = blockOf(data)
		}
	}
	t.onDisk.Store(size)
	got, err := merkle.Root(size, t.node)
	if err != nil {
		return err
	}
	if got != root {
		return damaged(siteDir, 0, "tiles under the root of its checkpoint, "+root.String(), got.String())
	}
	edge, err := merkle.RangeAt(from, t.node)
	if err != nil {
		return err
	}
	t.edge = *edge
	for level := uint(0); level <= merkle.MaxLevel; level++ {
		b := blockID{level, from >> (8 * (level + 1))}
		if b.tile(from).Width == 0 {
			continue
		}
		blk, err := t.block(b)
		if err != nil {
			return err
		}
		own := *blk // the cached one is shared
		t.blocks[b] = &own
	}
	return nil
}

// written says that the full tiles of a tree of size are on disk: their blocks
// move to the cache. For the publisher, and for replay before it.
func (t *tree) written(size uint64) {
	t.onDisk.Store(size)
	t.mu.Lock()
	defer t.mu.Unlock()
	for b, blk := range t.blocks {
		if b.tile(size).Width == merkle.TileWidth {
			t.cache.put(b, blk)
			delete(t.blocks, b)
		}
	}
}
