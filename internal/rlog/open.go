package rlog

import (
	"errors"
	"io/fs"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// Create makes a new log in an existing directory, with leaves as its first
// entries (the genesis registry), and signs its first checkpoint. Statement
// may be nil. LOG-EXISTS where there is a log already, even a damaged one.
// A Create that failed or was cut short left no log, or the whole one; it may
// be called again and then says which.
func Create(cfg Config, leaves ...[]byte) error {
	c, err := cfg.forCreate()
	if err != nil {
		return err
	}
	lock, err := c.FS.Lock(lockName)
	if err != nil {
		return lockError(c.FS.String()+"/"+lockName, err)
	}
	defer lock.Close()
	numbers, err := listSegments(c)
	if err != nil {
		return err
	}
	if len(numbers) > 0 {
		return &report.Error{Code: report.CodeLogExists, Where: c.FS.String(), Expected: "no log", Actual: "a log",
			Fix: "open it, or name another directory"}
	}
	if err := removeTemp(c.FS); err != nil {
		return err
	}
	if err := c.FS.Mkdir(segmentsDir); err != nil {
		return ioError("make", segmentsDir, err)
	}
	if err := c.FS.SyncDir("."); err != nil {
		return ioError("sync directory", ".", err)
	}
	var edge merkle.Range
	for _, leaf := range leaves {
		if err := checkLeaf(leaf); err != nil {
			return err
		}
		edge.Append(merkle.LeafHash(leaf), nil)
	}
	r := &record{recordHeader: recordHeader{group: 1, size: edge.Size(), root: edge.Root()}, leaves: leaves}
	if r.note, err = sign(c, r.size, r.root); err != nil {
		return err
	}
	w := writer{fs: c.FS, origin: c.Origin, rand: c.Rand}
	if op, name, err := w.start(1, r); err != nil {
		return ioError(op, name, err)
	}
	return w.file.Close()
}

// sign returns the signed checkpoint of a size.
func sign(c *Config, size uint64, root merkle.Hash) ([]byte, error) {
	return c.Signer.SignBody(checkpoint.Checkpoint{Origin: c.Origin, Size: size, Root: root}.Body(), 0)
}

// Open recovers the log in cfg.FS and starts its sequencer. Before anything is
// signed the last valid group record stands, synced, at the beginning of a new
// segment: what was read here may so far be only in the page cache. Errors:
// LOG-ABSENT, LOG-LOCKED, LOG-DAMAGED, LOG-HISTORY-LOST, LOG-FOREIGN, LOG-IO,
// LOG-CONFIG.
func Open(cfg Config) (*Log, error) {
	c, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	lock, err := c.FS.Lock(lockName)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ioError("open", c.FS.String(), err)
		}
		return nil, lockError(c.FS.String()+"/"+lockName, err)
	}
	r := &replay{cfg: c, tree: newTree(), leaves: newLeaves(), statements: newStatements()}
	l, err := r.open(lock)
	if err != nil {
		r.leaves.close()
		_ = lock.Close() // the first error is the one to tell
		return nil, err
	}
	return l, nil
}

// open replays, cuts, writes the new segment and starts the sequencer.
func (r *replay) open(lock durable.Lock) (*Log, error) {
	if err := r.run(); err != nil {
		return nil, err
	}
	if err := removeTemp(r.cfg.FS); err != nil {
		return nil, err
	}
	if err := r.cut(); err != nil {
		return nil, err
	}
	last, err := r.lastRecord()
	if err != nil {
		return nil, err
	}
	w := writer{fs: r.cfg.FS, origin: r.cfg.Origin, rand: r.cfg.Rand}
	number := r.lastIn.number + 1
	if op, name, err := w.start(number, last); err != nil {
		return nil, ioError(op, name, err)
	}
	r.leaves.open(number, w.file)
	r.leaves.set(number, segmentHeaderSize, last)

	l := &Log{cfg: r.cfg, lock: lock, tree: r.tree, leaves: r.leaves, statements: r.statements,
		queue: newQueue(r.cfg.QueueItems, r.cfg.QueueBytes), stopped: make(chan struct{}), ended: make(chan struct{})}
	l.head.Store(&Head{Size: last.size, Root: last.root, Note: last.note})
	r.cfg.Logger.Info("log open", "origin", r.cfg.Origin, "size", last.size, "root", last.root.String(),
		"rollback_protection", "none")
	s := &sequencer{log: l, writer: w, seen: make(map[statementKey]*waiter)}
	go s.run()
	return l, nil
}

// lastRecord reads the last valid record again, whole.
func (r *replay) lastRecord() (*record, error) {
	r.lastIn.off = r.last.at
	f, ok, err := r.lastIn.next()
	if err != nil {
		return nil, err
	}
	if !ok || f.sum != r.last.sum {
		return nil, damaged(r.lastIn.name, r.last.at, "the record that was just read", "another")
	}
	f.note = r.last.note // not in the scanner's buffer
	return f.record, nil
}
