package server

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// receivers are the requests whose bodies are on their way. A client that sends
// half a body and waits would hold the end of the server back for as long as a
// body may take; once the server ends, each gets a moment instead.
type receivers struct {
	mu     sync.Mutex
	ending bool                                  // guarded by mu
	linger time.Duration                         // guarded by mu; the moment
	active map[*http.ResponseController]struct{} // guarded by mu
}

// read runs f, which reads the body that came with w. When f returns nil the
// body is complete, and no deadline for it may stay behind: one that passes
// while the answer is made would cancel the request.
func (r *receivers) read(w http.ResponseWriter, f func() error) error {
	c := http.NewResponseController(w)
	r.mu.Lock()
	if r.ending {
		_ = c.SetReadDeadline(time.Now().Add(r.linger)) // a recorder of tests has none
	}
	r.active[c] = struct{}{}
	r.mu.Unlock()
	err := f()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.active, c)
	if err == nil && r.ending {
		_ = c.SetReadDeadline(time.Time{})
	}
	return err
}

// extend gives a body that comes in parts so long for the next one, unless the
// server ends.
func (r *receivers) extend(w http.ResponseWriter, within time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ending {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) // a recorder of tests has none
	}
}

// end gives every body that is still on its way, and every later one, so long.
func (r *receivers) end(linger time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending, r.linger = true, linger
	for c := range r.active {
		_ = c.SetReadDeadline(time.Now().Add(linger))
	}
}

func (r *receivers) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ending
}

// maxDrain is how much of a refused body is still read, in bytes.
const maxDrain = 256 << 10

// drain reads the body of a request that is refused. A connection that is
// closed over unread bytes is reset, and then a client that is still sending
// never sees why.
func (s *Server) drain(w http.ResponseWriter, r *http.Request) {
	if r.Body == http.NoBody {
		return
	}
	if r.Header.Get("Expect") != "" {
		return // it asked before it sends, and the answer is no
	}
	_ = s.receivers.read(w, func() error { // what fails to come needs no reading
		// The server's own writer, which ends the connection where that is more.
		_, err := io.Copy(io.Discard, http.MaxBytesReader(own(w), r.Body, maxDrain))
		return err
	})
}
