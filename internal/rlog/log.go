package rlog

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// Item is one leaf to sequence. The engine does not look into it.
type Item struct {
	Leaf            []byte      // canonical spelling, 1..65,535 bytes; not changed after Submit
	Statement       dagcbor.CID // the idempotency key, = Config.Statement(Leaf)
	RegistryVersion uint64      // the registry version the caller checked it under
	Registry        bool        // the leaf is a registry statement: version RegistryVersion+1 begins behind it
}

// Result is the promise that answers a Submit.
type Result struct {
	Index  uint64
	Leaf   []byte // the stored leaf: for a repeat not the one handed in
	Repeat bool   // the statement stood in the log before this item
	Head   Head   // a signed checkpoint that covers Index
	Proof  []merkle.Hash
}

// Head is a signed checkpoint of this log and what it says.
type Head struct {
	Size uint64
	Root merkle.Hash
	Note []byte // the signed note; shared, not to be changed

	bytes uint64 // of leaves sequenced since Open, up to Size
}

// Group is what one sync made durable.
type Group struct {
	Leaves int
	Sync   time.Duration // write and fdatasync
}

// Log is an open log. Its methods may be called from many goroutines.
type Log struct {
	cfg  *Config // never changed
	lock durable.Lock
	*contents
	statements *statements
	queue      *queue

	head   atomic.Pointer[Head] // written by the sequencer, when it is durable
	onDisk atomic.Uint64        // size of the checkpoint on disk; written by the publisher

	stopped chan struct{}        // closed with failure set
	ended   chan struct{}        // closed when the sequencer has ended
	behind  atomic.Pointer[Head] // what is published and absorbed; written by the publisher

	kick      chan struct{}   // of one place: the publisher has enough to do
	progress  chan struct{}   // of one place: the publisher has done it
	ask       chan chan error // makes the publisher work now, and answers
	quit      chan struct{}   // closed to end the publisher
	published chan struct{}   // closed when the publisher has ended
	scrubbed  chan struct{}   // closed when the scrubber has ended

	protection string // never changed

	mu       sync.Mutex
	failure  error        // guarded by mu; the reason of the fail-stop
	closing  bool         // guarded by mu
	segments []segmentEnd // guarded by mu; without the current one
	damage   error        // guarded by mu; the first that the scrubber found

	once     sync.Once
	closeErr error // written in once

	groups    atomic.Uint64
	repeats   atomic.Uint64
	added     atomic.Uint64
	syncNanos atomic.Int64
	scrubs    atomic.Uint64
}

func checkLeaf(leaf []byte) error {
	if len(leaf) == 0 || len(leaf) > merkle.MaxEntry {
		return &report.Error{Code: report.CodeLeafSize, Where: "leaf", Expected: "1 to 65535 bytes",
			Actual: strconv.Itoa(len(leaf))}
	}
	return nil
}

// Submit waits until the item is durable and in the tree. An item over the
// bounds is BUSY and leaves nothing behind; after a failed write LOG-STOPPED;
// after Close LOG-CLOSED; of wrong length LEAF-SIZE; an error of Config.Recheck
// is returned as it is. If ctx ends first, ctx.Err() comes back and the item
// may be in the log or not: submitting it again tells.
func (l *Log) Submit(ctx context.Context, it Item) (Result, error) {
	p, err := l.Enqueue(it)
	if err != nil {
		return Result{}, err
	}
	return p.Wait(ctx)
}

// Pending is an item that has its place in the queue, or stood in the log before.
// Wait is to be called once.
type Pending struct {
	log    *Log
	waiter *waiter // nil where the statement stood before
	index  uint64
	head   *Head
}

// Enqueue is the part of Submit that does not wait: what is enqueued first stands
// first in the log. The same errors, without those of waiting.
func (l *Log) Enqueue(it Item) (*Pending, error) {
	if err := checkLeaf(it.Leaf); err != nil {
		return nil, err
	}
	index, ok, seen, err := l.statements.lookup(it.Statement)
	if err != nil {
		return nil, ioError("read", "index", err)
	}
	// A statement is known a moment before its head is: then the sequencer, which
	// makes both known, is the one to answer.
	if head := l.head.Load(); ok && index < head.Size {
		return &Pending{log: l, index: index, head: head}, nil
	}
	if err := l.Err(); err != nil {
		return nil, err
	}
	w := &waiter{item: it, hash: merkle.LeafHash(it.Leaf), seen: seen, done: make(chan struct{})}
	if err := l.queue.put(w); err != nil {
		return nil, err
	}
	return &Pending{log: l, waiter: w}, nil
}

// Wait returns when the item is durable, with what proves it. When ctx ends first
// the item may take its place all the same.
func (p *Pending) Wait(ctx context.Context) (Result, error) {
	l, w := p.log, p.waiter
	if w == nil {
		return l.repeat(p.index, *p.head)
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		w.claim() // spares the sequencer an item that nobody waits for
		return Result{}, ctx.Err()
	}
	switch {
	case w.err != nil:
		return Result{}, w.err
	case w.repeat:
		return l.repeat(w.index, *w.head)
	}
	l.added.Add(1)
	proof, err := merkle.InclusionProof(w.index, w.head.Size, l.tree.node)
	if err != nil {
		return Result{}, err
	}
	return Result{Index: w.index, Leaf: w.item.Leaf, Head: *w.head, Proof: proof}, nil
}

func (l *Log) repeat(index uint64, head Head) (Result, error) {
	l.repeats.Add(1)
	r, err := l.prove(index, head)
	r.Repeat = true
	return r, err
}

// Lookup returns the index of a durable statement.
func (l *Log) Lookup(statement dagcbor.CID) (index uint64, ok bool, err error) {
	index, ok, _, err = l.statements.lookup(statement)
	if err != nil {
		return 0, false, ioError("read", "index", err)
	}
	return index, ok && index < l.Size(), nil
}

// Prove returns the stored leaf at index with a proof against the current head.
func (l *Log) Prove(index uint64) (Result, error) { return l.prove(index, *l.head.Load()) }

func (l *Log) prove(index uint64, head Head) (Result, error) {
	if index >= head.Size {
		return Result{}, beyond("leaf", index, head.Size)
	}
	leaf, err := l.leaf(index)
	if err != nil {
		return Result{}, err
	}
	proof, err := merkle.InclusionProof(index, head.Size, l.tree.node)
	if err != nil {
		return Result{}, err
	}
	return Result{Index: index, Leaf: leaf, Head: head, Proof: proof}, nil
}

// Leaf returns the stored leaf at index; BEYOND-SIZE where there is none.
func (l *Log) Leaf(index uint64) ([]byte, error) {
	if size := l.Size(); index >= size {
		return nil, beyond("leaf", index, size)
	}
	return l.leaf(index)
}

// Head is the newest durable signed checkpoint, Size its size.
func (l *Log) Head() Head   { return *l.head.Load() }
func (l *Log) Size() uint64 { return l.head.Load().Size }

// InclusionProof and ConsistencyProof answer for any sizes up to Size;
// BEYOND-SIZE for others.
func (l *Log) InclusionProof(index, size uint64) ([]merkle.Hash, error) {
	if have := l.Size(); size > have {
		return nil, beyond("size", size, have)
	}
	if index >= size {
		return nil, beyond("leaf", index, size)
	}
	return merkle.InclusionProof(index, size, l.tree.node)
}

func (l *Log) ConsistencyProof(size1, size2 uint64) ([]merkle.Hash, error) {
	if have := l.Size(); size2 > have {
		return nil, beyond("size", size2, have)
	}
	return merkle.ConsistencyProof(size1, size2, l.tree.node)
}

// Tile returns the bytes of a hash tile, of any width that the current tree
// has (a partial one is a prefix); BEYOND-SIZE for any other.
func (l *Log) Tile(t merkle.Tile) ([]byte, error) {
	if size := l.Size(); !t.In(size) {
		return nil, beyond("tile "+t.Path(), t.Index, size)
	}
	return l.tile(t)
}

// Entries returns the bytes of an entry bundle, of any width that the current
// tree has; BEYOND-SIZE for any other.
func (l *Log) Entries(index uint64, width int) ([]byte, error) {
	if size := l.Size(); !(merkle.Tile{Index: index, Width: width}).In(size) {
		return nil, beyond("entry bundle", index, size)
	}
	return l.entries(index, width)
}

// Err is nil while the log accepts submissions; then the reason why not, for
// ever: LOG-STOPPED with the failed operation, or LOG-CLOSED. Readers go on
// until Close. Stopped is closed when Err turns non-nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil && l.closing {
		return errClosed()
	}
	return l.failure
}

func (l *Log) Stopped() <-chan struct{} { return l.stopped }

// failed is the reason of a fail-stop only.
func (l *Log) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// fail ends the writer for ever.
func (l *Log) fail(err error) {
	l.mu.Lock()
	first := l.failure == nil
	if first {
		l.failure = err
		if !l.closing {
			close(l.stopped)
		}
	}
	l.mu.Unlock()
	if first {
		l.cfg.Logger.Error("the log stopped: nothing more is accepted", "reason", err.Error())
	}
}

// Stats is a reading for metrics. Counters start at 0 with Open.
type Stats struct {
	Size               uint64
	Groups             uint64 // group records written
	Leaves             uint64 // leaves submitted and answered
	Repeats            uint64 // submissions answered with a leaf that stood already
	Busy               uint64 // submissions refused over the bounds
	QueueItems         int
	QueueBytes         int
	SyncSeconds        float64 // spent in write and fdatasync of group records
	Segments           int     // on disk
	OnDisk             uint64  // size of the checkpoint on disk
	Unabsorbed         int     // statements in memory because the index does not cover them
	RollbackProtection string  // "none", or which anchors were asked
	Scrubbed           uint64  // bundles read back since Open
	Damage             string  // the first damage that reading back found; empty where there is none
}

func (l *Log) Stats() Stats {
	s := Stats{Size: l.Size(), Groups: l.groups.Load(), Leaves: l.added.Load(), Repeats: l.repeats.Load(),
		SyncSeconds: float64(l.syncNanos.Load()) / 1e9, RollbackProtection: l.protection,
		Scrubbed: l.scrubs.Load()}
	s.QueueItems, s.QueueBytes, s.Busy = l.queue.stats()
	s.OnDisk, s.Unabsorbed = l.onDisk.Load(), l.statements.pending()
	l.mu.Lock()
	s.Segments = len(l.segments) + 1
	if l.damage != nil {
		s.Damage = l.damage.Error()
	}
	l.mu.Unlock()
	return s
}

// Close stops accepting, answers everything that was accepted, writes tiles and
// checkpoint, releases the lock, and returns the reason of a fail-stop, if there was one. A second Close
// waits for the first.
func (l *Log) Close() error {
	l.once.Do(func() {
		l.mu.Lock()
		l.closing = true
		if l.failure == nil {
			close(l.stopped)
		}
		l.mu.Unlock()
		l.queue.close()
		<-l.ended
		close(l.quit)
		<-l.published
		<-l.scrubbed
		l.leaves.close()
		l.closeErr = l.lock.Close()
	})
	if err := l.failed(); err != nil {
		return err
	}
	return l.closeErr
}

// rolled adds a segment that is full. For the sequencer.
func (l *Log) rolled(s segmentEnd) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = append(l.segments, s)
}

// oldest returns the oldest segment, if all of its leaves stand below whole.
func (l *Log) oldest(whole uint64) (segmentEnd, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.segments) == 0 || l.segments[0].size > whole {
		return segmentEnd{}, false
	}
	return l.segments[0], true
}

// dropped forgets the oldest segment.
func (l *Log) dropped() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = l.segments[1:]
}

// publish makes the publisher work now and waits for it.
func (l *Log) publish() error {
	answer := make(chan error)
	select {
	case l.ask <- answer:
		return <-answer
	case <-l.published:
		return errClosed()
	}
}

// The sequencer goes at most so far ahead of tiles and index: that bounds what
// is in memory, and what a restart has to read again.
const (
	maxAheadLeaves = 32 << 10
	maxAheadBytes  = 64 << 20
)

// ahead is how far that is, in parts of 256.
func (l *Log) ahead() uint64 {
	head, done := l.head.Load(), l.behind.Load()
	return max((head.Size-done.Size)*256/maxAheadLeaves, (head.bytes-done.bytes)*256/maxAheadBytes)
}

// keepClose wakes the publisher when there is much for it to do, and waits for
// it when there is too much. For the sequencer.
func (l *Log) keepClose() {
	for {
		a := l.ahead()
		if a >= 64 {
			select {
			case l.kick <- struct{}{}:
			default:
			}
		}
		if a < 256 || l.failed() != nil {
			return
		}
		<-l.progress
	}
}

// progressed wakes a sequencer that waits. For the publisher.
func (l *Log) progressed() {
	select {
	case l.progress <- struct{}{}:
	default:
	}
}
