package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/obstat/obstat/dsse"
)

// system is something to measure.
type system struct {
	name    string
	waits   string // what a caller waits for
	version string
	command []string // how it runs, without what differs from run to run
	notes   string

	// Bodies a second to have ready, for a caller and in all: more than can be
	// used. All are signed before the clock runs.
	perCaller, most float64
	body            func(*dsse.Envelope) ([]byte, error)
	start           func(ctx context.Context, dir string) (*instance, error)
}

// instance is a system that runs on an empty log.
type instance struct {
	connect func() caller
	stop    func() error
}

// caller is one client. It submits, waits for the answer, and submits again.
type caller interface {
	submit(ctx context.Context, body []byte) error
	// check verifies the last answer; the clock has stopped by then.
	check() error
	close()
}

// measured is what one number of callers got from one instance.
type measured struct {
	Answered  int           // within the window
	Failed    int           // in warm-up and window
	Failure   string        `json:",omitempty"` // the first
	Checked   int           // answers that were verified afterwards
	Window    time.Duration // in nanoseconds
	Rate      float64       // answers a second
	P50, P99  time.Duration // in nanoseconds
	Exhausted bool          `json:",omitempty"` // all bodies were used before the window ended
}

// failuresOfCaller is when a caller gives up.
const failuresOfCaller = 20

// loop is one closed loop of many callers.
type loop struct {
	bodies   [][]byte
	next     atomic.Int64
	from, to time.Time // the window

	mu      sync.Mutex
	took    []time.Duration // guarded by mu; of answers within the window
	failed  int             // guarded by mu
	failure error           // guarded by mu; the first
	checked int             // guarded by mu
	wrong   error           // guarded by mu; an answer that does not verify
	ended   time.Time       // guarded by mu; when the bodies were used up
}

// drive measures. A caller's requests come one after the other; those that are
// answered within the window, which begins when warm is over, count. An answer
// that does not verify is an error.
func drive(ctx context.Context, in *instance, callers int, bodies [][]byte, warm, window time.Duration) (*measured, error) {
	l := &loop{bodies: bodies, from: time.Now().Add(warm)}
	l.to = l.from.Add(window)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() { l.call(ctx, in.connect()) })
	}
	all.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case l.wrong != nil:
		return nil, fmt.Errorf("an answer does not verify: %w", l.wrong)
	case len(l.took) == 0 || !l.ended.IsZero() && !l.ended.After(l.from):
		return nil, errors.Join(errors.New("nothing was answered within the window"), l.failure)
	}
	m := &measured{Answered: len(l.took), Failed: l.failed, Checked: l.checked, Window: window}
	if l.failure != nil {
		m.Failure = l.failure.Error()
	}
	if !l.ended.IsZero() {
		m.Exhausted, m.Window = true, l.ended.Sub(l.from)
	}
	slices.Sort(l.took)
	m.Rate = float64(m.Answered) / m.Window.Seconds()
	m.P50, m.P99 = l.took[len(l.took)/2], l.took[len(l.took)*99/100]
	return m, nil
}

// call is the life of one caller.
func (l *loop) call(ctx context.Context, c caller) {
	defer c.close()
	var took []time.Duration
	var failed int
	var failure error
	answered, exhausted := false, time.Time{} // the last; when the bodies were used up
	for ctx.Err() == nil && failed < failuresOfCaller {
		begin := time.Now()
		if begin.After(l.to) {
			break
		}
		i := l.next.Add(1) - 1
		if i >= int64(len(l.bodies)) {
			exhausted = begin
			break
		}
		err := c.submit(ctx, l.bodies[i])
		if answered = err == nil; !answered {
			if failed++; failed == 1 {
				failure = err
			}
			time.Sleep(10 * time.Millisecond) // no hot loop of failures
			continue
		}
		if now := time.Now(); !now.Before(l.from) && now.Before(l.to) {
			took = append(took, now.Sub(begin))
		}
	}
	var wrong error
	if answered {
		wrong = c.check()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, took...)
	l.failed += failed
	if l.failure == nil {
		l.failure = failure
	}
	if wrong != nil {
		l.wrong = wrong
	} else if answered {
		l.checked++
	}
	if !exhausted.IsZero() && (l.ended.IsZero() || exhausted.Before(l.ended)) {
		l.ended = exhausted
	}
}
