package server

import "sync"

// batchWindow bounds what one batch holds: items that are read and not answered,
// and their bytes.
type batchWindow struct {
	mu     sync.Mutex
	room   sync.Cond // on mu
	items  int       // guarded by mu
	bytes  int       // guarded by mu
	closed bool      // guarded by mu
}

func newBatchWindow() *batchWindow {
	w := &batchWindow{}
	w.room.L = &w.mu
	return w
}

// enter waits for room for one item of n bytes. It is false once the window is
// closed.
func (w *batchWindow) enter(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.closed && w.items > 0 && (w.items == batchItems || w.bytes+n > batchBytes) {
		w.room.Wait()
	}
	if w.closed {
		return false
	}
	w.items++
	w.bytes += n
	return true
}

func (w *batchWindow) leave(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.items--
	w.bytes -= n
	w.room.Signal()
}

func (w *batchWindow) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.room.Broadcast()
}
