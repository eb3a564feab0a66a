package rlog

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// waiter is one item on its way. The submitter owns it until put, the sequencer
// from take until done is closed, the submitter again after that.
type waiter struct {
	item Item
	hash merkle.Hash // of the leaf
	seen uint64      // how far the index went when the statement was not found
	gone atomic.Bool // set by whoever of submitter (gives up) and sequencer (takes) comes first

	done   chan struct{}
	index  uint64
	repeat bool
	head   *Head
	err    error
}

// claim reports whether the caller is first: the submitter that gives up, or
// the sequencer that takes.
func (w *waiter) claim() bool { return w.gone.CompareAndSwap(false, true) }

// answer releases the submitter.
func (w *waiter) answer(index uint64, repeat bool, head *Head, err error) {
	w.index, w.repeat, w.head, w.err = index, repeat, head, err
	close(w.done)
}

// registryReserve is how many registry statements find room in a queue that is
// full for all else: whoever floods a log must not hold off the revocation of
// his key.
const registryReserve = 16

// queue is what waits for the sequencer, bounded in items and bytes.
type queue struct {
	maxItems, maxBytes int

	mu     sync.Mutex
	wake   sync.Cond // on mu: items or closed changed
	items  []*waiter // guarded by mu
	bytes  int       // guarded by mu; of leaves
	closed bool      // guarded by mu; nothing is put any more
	busy   uint64    // guarded by mu; refusals
}

func newQueue(maxItems, maxBytes int) *queue {
	q := &queue{maxItems: maxItems, maxBytes: maxBytes}
	q.wake.L = &q.mu
	return q
}

// put adds w, or says BUSY or LOG-CLOSED and keeps nothing.
func (q *queue) put(w *waiter) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errClosed()
	}
	n := len(w.item.Leaf)
	maxItems, maxBytes := q.maxItems, q.maxBytes
	if w.item.Registry {
		maxItems, maxBytes = maxItems+registryReserve, maxBytes+registryReserve*merkle.MaxEntry
	}
	if len(q.items) >= maxItems || q.bytes+n > maxBytes {
		q.busy++
		return &report.Error{Code: report.CodeBusy, Where: "queue",
			Expected: fmt.Sprintf("at most %d items and %d bytes waiting", maxItems, maxBytes),
			Actual:   fmt.Sprintf("%d items and %d bytes", len(q.items)+1, q.bytes+n), Fix: "try again shortly"}
	}
	q.items = append(q.items, w)
	q.bytes += n
	q.wake.Signal()
	return nil
}

// take waits for items and moves as many as fit, at least one, to dst. It
// returns nothing once the queue is closed and empty. It leaves out items whose
// submitters gave up.
func (q *queue) take(dst []*waiter, maxItems, maxBytes int) []*waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.items) == 0 && !q.closed {
			q.wake.Wait()
		}
		if len(q.items) == 0 {
			return dst
		}
		n, taken := 0, 0
		for n < len(q.items) && len(dst) < maxItems {
			w := q.items[n]
			if size := len(w.item.Leaf); taken > 0 && taken+size > maxBytes {
				break
			}
			n++
			q.bytes -= len(w.item.Leaf)
			if w.claim() {
				dst = append(dst, w)
				taken += len(w.item.Leaf)
			}
		}
		rest := copy(q.items, q.items[n:])
		clear(q.items[rest:])
		q.items = q.items[:rest]
		if len(dst) > 0 {
			return dst
		}
	}
}

// close makes put refuse; take still empties the queue.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake.Broadcast()
}

func (q *queue) stats() (items, bytes int, busy uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items), q.bytes, q.busy
}

func errClosed() error {
	return &report.Error{Code: report.CodeLogClosed, Where: "log", Expected: "an open log", Actual: "a closed one"}
}
