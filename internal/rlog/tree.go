package rlog

import (
	"sync"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// tree holds the nodes of the log's tree. The sequencer appends; anybody reads
// nodes that are complete in a tree of a published size: publication (the
// atomic store of Log.head) orders the writes of those nodes before the reads,
// and no node changes once it is written.
type tree struct {
	edge merkle.Range // owner: the sequencer

	mu     sync.RWMutex
	blocks map[blockID]*block // guarded by mu
	last   [merkle.MaxLevel + 1]lastBlock
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

// block holds the nodes of one hash tile: 256 of tree level 8L, 128 of 8L+1, …,
// 2 of 8L+7. The node above them stands in the tile above.
type block [2 * merkle.TileWidth]merkle.Hash

// locate returns the block of a node and its place in it.
func locate(id merkle.NodeID) (blockID, int) {
	level, j := id.Level/8, id.Level%8
	width := uint64(merkle.TileWidth) >> j
	// Level j begins behind 256 + 128 + … (j terms) = 512 − 512/2^j nodes.
	at := 2*merkle.TileWidth - 2*merkle.TileWidth>>j
	return blockID{level, id.Index >> (8 - j)}, at + int(id.Index&(width-1))
}

func newTree() *tree { return &tree{blocks: make(map[blockID]*block)} }

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
	t.mu.RLock()
	blk := t.blocks[b]
	t.mu.RUnlock()
	if blk == nil {
		return merkle.Hash{}, &report.Error{Code: report.CodeInternal, Where: "tree",
			Expected: "a node of the tree", Actual: "none"}
	}
	return blk[at], nil
}
