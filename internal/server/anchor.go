package server

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// anchor is a file outside the log's directory, best on another volume, that
// holds the newest checkpoint of the log. The engine asks it before the first
// signature of a start; the server keeps it while it serves. An empty file is an
// anchor that knows nothing yet; a missing one is a volume that is not there.
type anchor struct {
	path   string
	origin string
	key    checkpoint.VKey

	kept    []byte      // what the file held when it was last held against the log; owner: Open, then the keeper
	current atomic.Bool // the last attempt to read or write it succeeded
}

// maxNote is far above what a checkpoint takes, in bytes.
const maxNote = 64 << 10

func (a *anchor) read() ([]byte, error) {
	dir, err := durable.OpenDir(filepath.Dir(a.path))
	if err != nil {
		return nil, err
	}
	return durable.ReadFile(dir, filepath.Base(a.path), maxNote)
}

func (a *anchor) write(note []byte) error {
	dir, err := durable.OpenDir(filepath.Dir(a.path))
	if err != nil {
		return err
	}
	return durable.WriteFile(dir, filepath.Base(a.path), note)
}

// asked is the anchor as the engine asks it.
func (a *anchor) asked() rlog.Anchor {
	return rlog.Anchor{Name: a.path, Fetch: func(ctx context.Context) ([]byte, error) {
		type answer struct {
			note []byte
			err  error
		}
		answered := make(chan answer, 1) // a volume that is gone may never answer
		go func() {
			note, err := a.read()
			answered <- answer{note, err}
		}()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case got := <-answered:
			if got.err != nil || len(got.note) == 0 {
				a.current.Store(got.err == nil)
				return nil, got.err
			}
			if _, err := a.open(got.note); err != nil {
				return nil, err
			}
			a.current.Store(true)
			return got.note, nil
		}
	}}
}

// open reads a note that should be a checkpoint of this log.
func (a *anchor) open(note []byte) (checkpoint.Checkpoint, error) {
	o, err := checkpoint.Open(note, []checkpoint.VKey{a.key})
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	if o.Origin != a.origin {
		return checkpoint.Checkpoint{}, fmt.Errorf("it knows the log %q", o.Origin)
	}
	return o.Checkpoint, nil
}

// keep makes the file hold the newest checkpoint. It never replaces one that is
// ahead of the log or of another history: that is LOG-ROLLBACK, and the proof
// that two histories were signed.
func (a *anchor) keep(l *rlog.Log) error {
	head := l.Head()
	if a.current.Load() && bytes.Equal(head.Note, a.kept) {
		return nil
	}
	found, err := a.read()
	if err != nil {
		return err
	}
	if len(found) > 0 && !bytes.Equal(found, a.kept) {
		if err := a.holdAgainst(found, l, head); err != nil {
			return err
		}
	}
	if !bytes.Equal(found, head.Note) {
		if err := a.write(head.Note); err != nil {
			return err
		}
	}
	a.kept = head.Note
	return nil
}

// holdAgainst holds the log, at head, against a checkpoint that this anchor holds.
func (a *anchor) holdAgainst(note []byte, l *rlog.Log, head rlog.Head) error {
	known, err := a.open(note)
	if err != nil {
		return err
	}
	if known.Size == 0 {
		return nil // binds nothing
	}
	contradicts := func(expected, actual string) error {
		return &report.Error{
			Code: report.CodeLogRollback, Where: a.path, Expected: expected, Actual: actual,
			Fix: "another process signs as this log, or this directory is an older copy: it must not be written to",
		}
	}
	if known.Size > head.Size {
		return contradicts(fmt.Sprintf("at most size %d", head.Size), fmt.Sprintf("%d, signed by this log", known.Size))
	}
	proof, err := l.ConsistencyProof(known.Size, head.Size)
	if err != nil {
		return err
	}
	if merkle.VerifyConsistency(known.Size, head.Size, known.Root, head.Root, proof) != nil {
		return contradicts(fmt.Sprintf("a checkpoint that the one of size %d extends", head.Size), fmt.Sprintf("root %s at size %d", known.Root, known.Size))
	}
	return nil
}

// keepAnchors keeps every anchor until stop is closed, and once more then. It
// sends on broken what proves that two histories were signed.
func (s *Server) keepAnchors(stop <-chan struct{}, broken chan<- error) {
	t := time.NewTicker(s.limits.anchor)
	defer t.Stop()
	for done := false; !done; {
		select {
		case <-t.C:
		case <-stop:
			done = true
		}
		for _, a := range s.anchors {
			was := a.current.Load()
			err := a.keep(s.log)
			a.current.Store(err == nil)
			switch {
			case err == nil && !was:
				s.logger.Info("an anchor holds the newest checkpoint again", "anchor", a.path)
			case report.CodeOf(err) == report.CodeLogRollback:
				select {
				case broken <- err:
				default: // one is enough
				}
			case err != nil && was:
				s.logger.Error("an anchor does not hold the newest checkpoint", "anchor", a.path, "error", err)
			}
		}
	}
}

// Protection says in one word what protects the log against rollback
// (spec/http.md#reads).
func (s *Server) Protection() string {
	if len(s.anchors)+len(s.witnesses) == 0 {
		return "none"
	}
	for _, w := range s.witnesses {
		if !w.anchor.current.Load() {
			return "degraded"
		}
	}
	if len(s.anchors) == 0 {
		return "asked"
	}
	for _, a := range s.anchors {
		if !a.current.Load() {
			return "degraded"
		}
	}
	return "anchored"
}

// startKeeper keeps the anchors until the returned function is called, which
// waits for the last round; a volume may never answer.
func (s *Server) startKeeper(broken chan<- error) (stop func()) {
	if len(s.anchors) == 0 {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		s.keepAnchors(quit, broken)
	}()
	return func() {
		close(quit)
		select {
		case <-done:
		case <-time.After(s.limits.shutdown):
			s.logger.Error("an anchor may not hold the last checkpoint: writing it did not end in time")
		}
	}
}
