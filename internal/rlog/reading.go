package rlog

import "github.com/obstat/obstat/merkle"

// Reading is a log as it was read at a start, before anything is signed or
// handed to the index. It is of use only within Config.Begin.
type Reading struct {
	Size    uint64 // of the log
	Covered uint64 // Config.Index holds the leaves below, of this very tree; 0 without one
	// Leaves calls f with the leaves from one index to another, in order and in
	// runs of at most merkle.TileWidth. They are checked against the tree.
	Leaves func(from, to uint64, f func(first uint64, leaves [][]byte) error) error
}

// begins asks the hook.
func (r *replay) begins(size, covered uint64) error {
	if r.cfg.Begin == nil {
		return nil
	}
	return r.cfg.Begin(Reading{Size: size, Covered: covered, Leaves: r.contents.eachBundle})
}

// covered is how much of the log the index holds. What it covers is believed if
// its root is this log's; otherwise it begins again.
func (r *replay) covered(store Index, size uint64) (uint64, error) {
	covered, root, err := store.Covered()
	if err != nil {
		return 0, ioError("read", "index", err)
	}
	ours := merkle.EmptyRoot
	if covered > 0 && covered <= size {
		if ours, err = merkle.Root(covered, r.tree.node); err != nil {
			return 0, err
		}
	}
	if covered <= size && (covered == 0 || root == ours) {
		return covered, nil
	}
	r.cfg.Logger.Warn("the index is of another tree and is made again", "covered", covered, "size", size)
	if err := store.Reset(); err != nil {
		return 0, ioError("write", "index", err)
	}
	return 0, nil
}
