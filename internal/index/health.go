package index

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// health is how a store is doing. Its first failure is its last: nothing is
// absorbed any more, readers go on. It is Pebble's logger as well, since that
// is whom Pebble tells what it cannot go on after.
type health struct {
	logger *slog.Logger
	spoil  func() // marks the store as one to be made again

	once sync.Once
	dead chan struct{} // closed with err set
	err  error         // written in once
}

func newHealth(logger *slog.Logger, spoil func()) *health {
	return &health{logger: logger, spoil: spoil, dead: make(chan struct{})}
}

func (h *health) fail(err error) {
	h.once.Do(func() {
		h.err = err
		h.logger.Error("the index stopped", "reason", err.Error())
		if pebble.IsCorruptionError(err) || errors.Is(err, errMalformed) {
			h.spoil()
		}
		close(h.dead)
	})
}

// failure is nil while the store is well.
func (h *health) failure() error {
	select {
	case <-h.dead:
		return h.err
	default:
		return nil
	}
}

// saw passes on what a read met, and stops the store where that is damage.
func (h *health) saw(err error) error {
	if err == nil {
		return nil
	}
	if pebble.IsCorruptionError(err) || errors.Is(err, errMalformed) {
		h.fail(err)
		return damaged("index", err)
	}
	return ioError("read", "index", err)
}

func (h *health) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: h.fail,
		DataCorruption:  func(i pebble.DataCorruptionInfo) { h.fail(i.Details) },
	}
}

// patience is how long a store that has failed may take to close.
const patience = 2 * time.Second

// wait runs f and waits for it as long as the store is well: Pebble may wait
// for ever for a write that failed.
func (h *health) wait(f func() error) error {
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer caught(&err, fatalOnly)
		err = f()
	}()
	select {
	case err := <-done:
		return err
	case <-h.dead:
	}
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return abandoned{h.err}
	}
}

// abandoned is why a call into Pebble was not waited for. It still has the lock
// and the files, so that the store cannot be opened again by this process.
type abandoned struct{ error }

func (a abandoned) Unwrap() error { return a.error }

func (h *health) Infof(string, ...any) {}

func (h *health) Errorf(format string, args ...any) {
	h.logger.Error("index store", "error", fmt.Sprintf(format, args...))
}

// Fatalf must not return, and Pebble's own ends the process. An index does not
// matter that much: a call of ours gets an error, a goroutine of Pebble's ends.
func (h *health) Fatalf(format string, args ...any) {
	err := saying{text: fmt.Sprintf(format, args...)}
	for _, a := range args {
		if cause, ok := a.(error); ok {
			err.cause = cause
		}
	}
	h.fail(err)
	if called() {
		panic(fatal{h.err})
	}
	runtime.Goexit()
}

// saying is an error in Pebble's words, with the one behind it, if any.
type saying struct {
	text  string
	cause error
}

func (s saying) Error() string { return s.text }
func (s saying) Unwrap() error { return s.cause }

// fatal is what Fatalf panics with.
type fatal struct{ err error }

// called says whether a function of this package is among the callers of its
// caller.
func called() bool {
	const ours = "github.com/obstat/obstat/internal/index."
	pcs := make([]uintptr, 128)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, ours) {
			return true
		}
		if !more {
			return false
		}
	}
}

// everything and fatalOnly are what caught turns into an error.
const (
	fatalOnly  = false
	everything = true // Pebble panics on some damage while it opens a store
)

// caught makes a panic the error of the deferring function.
func caught(err *error, all bool) {
	switch r := recover().(type) {
	case nil:
	case fatal:
		*err = r.err
	default:
		if !all {
			panic(r)
		}
		*err = fmt.Errorf("the store cannot be opened: %v", r)
	}
}

// throttled keeps a store that has failed from trying again as fast as it can,
// which Pebble does with a table that it could not write.
type throttled struct {
	vfs.FS
	health *health
}

func (t throttled) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := t.health.failure(); err != nil {
		time.Sleep(time.Second)
		return nil, err
	}
	return t.FS.Create(name, c)
}
