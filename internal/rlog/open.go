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
// LOG-ABSENT, LOG-LOCKED, LOG-DAMAGED, LOG-HISTORY-LOST, LOG-ROLLBACK,
// ANCHOR-UNREACHABLE, LOG-FOREIGN, LOG-IO, LOG-CONFIG.
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
	r := newReplay(c)
	l, err := r.open(lock)
	if err != nil {
		r.leaves.close()
		_ = lock.Close() // the first error is the one to tell
		return nil, err
	}
	return l, nil
}

// open replays, cuts, writes the new segment and starts the log's goroutines.
func (r *replay) open(lock durable.Lock) (*Log, error) {
	if err := r.run(); err != nil {
		return nil, err
	}
	protection, err := r.askAnchors()
	if err != nil {
		return nil, err
	}
	if err := r.settle(); err != nil {
		return nil, err
	}
	last, err := r.lastRecord()
	if err != nil {
		return nil, err
	}
	w, err := r.goOn(last)
	if err != nil {
		return nil, err
	}
	st, err := r.statements(last.size)
	if err != nil {
		return nil, err
	}
	checked, err := merkle.RangeAt(r.base, r.tree.node)
	if err != nil {
		return nil, err
	}
	l := &Log{cfg: r.cfg, lock: lock, contents: r.contents, statements: st, segments: r.segments,
		queue:   newQueue(r.cfg.QueueItems, r.cfg.QueueBytes),
		stopped: make(chan struct{}), ended: make(chan struct{}),
		kick: make(chan struct{}, 1), progress: make(chan struct{}, 1), ask: make(chan chan error), quit: make(chan struct{}), published: make(chan struct{}), scrubbed: make(chan struct{}),
		protection: protection}
	l.head.Store(&Head{Size: last.size, Root: last.root, Note: last.note})
	l.onDisk.Store(r.published.Size)
	l.behind.Store(l.head.Load())
	r.cfg.Logger.Info("log open", "origin", r.cfg.Origin, "size", last.size, "root", last.root.String(),
		"rollback_protection", protection)
	s := &sequencer{log: l, writer: w, seen: make(map[statementKey]*waiter)}
	go s.run()
	p := &publisher{log: l, published: r.published, checked: *checked}
	go p.run(r.cfg.PublishEvery, l.quit)
	go (&scrubber{log: l}).run(r.cfg.ScrubEvery, l.quit)
	return l, nil
}

// goOn makes the writer that continues behind last, in a new segment that begins
// with it.
func (r *replay) goOn(last *record) (writer, error) {
	w := writer{fs: r.cfg.FS, origin: r.cfg.Origin, rand: r.cfg.Rand, chunk: r.cfg.room}
	number := r.lastIn.number + 1
	if op, name, err := w.start(number, last); err != nil {
		return w, ioError(op, name, err)
	}
	r.leaves.open(number, w.file)
	r.leaves.set(number, segmentHeaderSize, last)
	return w, nil
}

// settle makes what was read safe to build on: names that an earlier process
// may not have synced are, what it did not finish is removed, and what was torn
// is cut.
func (r *replay) settle() error {
	if r.published.Note != nil {
		if err := r.cfg.FS.SyncDir(siteDir); err != nil {
			return ioError("sync directory", siteDir, err)
		}
	}
	if err := removeTemp(r.cfg.FS); err != nil {
		return err
	}
	return r.cut()
}

// statements makes the map from statement to leaf.
func (r *replay) statements(size uint64) (*statements, error) {
	st := newStatements(r.cfg.Index)
	if st.store == nil {
		if err := r.begins(size, 0); err != nil {
			return nil, err
		}
		return st, r.contents.eachBundle(0, size, func(first uint64, leaves [][]byte) error {
			return st.read(r.cfg, first, leaves)
		})
	}
	covered, err := r.covered(st.store, size)
	if err != nil {
		return nil, err
	}
	if err := r.begins(size, covered); err != nil {
		return nil, err
	}
	st.absorbed.Store(covered)
	return st, absorb(r.cfg, r.contents, st, size)
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
