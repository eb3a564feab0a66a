package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Flush sends what the log has not answered yet, and returns when it has.
func (r *Run) Flush(ctx context.Context) error {
	if err := r.take(ctx); err != nil {
		return err
	}
	defer r.give()
	if err := r.disclose(); err != nil {
		return err
	}
	return r.sendAll(ctx)
}

// sendAll sends what waits now. The caller has the turn.
func (r *Run) sendAll(ctx context.Context) error {
	r.mu.Lock()
	var last *pending
	if n := len(r.ledger.queue); n > 0 {
		last = r.ledger.queue[n-1]
	}
	r.mu.Unlock()
	if last == nil {
		return nil
	}
	return r.sendThrough(ctx, last)
}

// sendThrough sends everything up to p, in order. The caller has the turn.
func (r *Run) sendThrough(ctx context.Context, p *pending) error {
	for p.answer == nil {
		first := r.first()
		if err := r.send(ctx, first); err != nil {
			if first != p {
				err = fmt.Errorf("statement %d, which goes first: %w", first.seq, err)
			}
			return err
		}
	}
	return nil
}

// first is the first statement without an answer, nil where all have one.
func (r *Run) first() *pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ledger.queue) == 0 {
		return nil
	}
	return r.ledger.queue[0]
}

// send has the first statement on disk, submits it, and keeps the answer. The
// caller has the turn.
func (r *Run) send(ctx context.Context, p *pending) error {
	if err := r.sync(p.end); err != nil {
		return err
	}
	rec, err := r.client.Submit(ctx, p.envelope)
	if err != nil {
		return errors.Join(err, r.testify(p.seq, err))
	}
	// The answer is not synced: the log can always be asked again, and an effect
	// waits for this.
	if err := r.store.putAnswer(p.seq, rec.JSON); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	off, err := r.journal.append(kindAnswered, answerBody(p.seq, rec.Index, rec.Bundle.Proof.Checkpoint))
	if err != nil {
		r.broken = fmt.Errorf("run %s: the answer to statement %d could not be kept: %w", r.name, p.seq, err)
		return r.broken
	}
	p.answer = rec
	return r.ledger.answer(rec.Index, rec.Bundle.Proof.Checkpoint, off+16)
}

// testify keeps what a log said that proves nothing, or what it contradicts.
func (r *Run) testify(seq uint64, err error) error {
	var p *ProofError
	if !errors.As(err, &p) {
		return nil
	}
	return r.store.putEvidence(seq, p)
}

// sync has the journal on disk up to end. The caller has the turn: nobody else
// syncs. r.mu is not held meanwhile, so others go on speaking.
func (r *Run) sync(end int64) error {
	r.mu.Lock()
	synced, now := r.journal.synced, r.journal.end
	r.mu.Unlock()
	if synced >= end {
		return nil
	}
	err := r.journal.file.SyncData()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.broken = fmt.Errorf("run %s: what was said is not on disk: %w", r.name, err)
		return r.broken
	}
	r.journal.synced = now
	return nil
}

// Times of a Drain.
const (
	firstPause   = time.Second      // after a log did not answer; doubles
	longestPause = 30 * time.Second // up to this, or what the log asks for
	promiseEvery = time.Minute      // how often promises are looked after
)

// Drain sends whatever is said in this run, in order, until ctx ends or the run
// is closed; then it returns nil. It is for an engine that keeps and does not
// wait: call it in a goroutine of its own, and wait for that before Close.
//
// A log that does not answer is asked again, ever more slowly. Where sending
// again would change nothing (the log refuses a statement, or proves nothing, or
// the disk fails) Drain returns why; everything that was said stays kept. About
// once a minute it looks after promises, too ([Run.CheckPromises]).
func (r *Run) Drain(ctx context.Context) error {
	looked := time.Now()
	pause := r.pause
	for {
		err := r.drain(ctx)
		if err == nil && time.Since(looked) >= promiseEvery {
			looked = time.Now()
			_, err = r.CheckPromises(ctx)
		}
		wait := promiseEvery
		var silent *UnansweredError
		switch {
		case ctx.Err() != nil || r.isClosed():
			return nil
		case errors.As(err, &silent):
			wait, pause = max(pause, silent.After), min(2*pause, longestPause)
		case err != nil:
			return err
		default:
			pause = r.pause
		}
		if !r.rest(ctx, wait, err == nil) {
			return nil
		}
	}
}

// drain sends what waits, statement by statement, so that others get their turn.
func (r *Run) drain(ctx context.Context) error {
	for {
		if err := r.take(ctx); err != nil {
			return err
		}
		err := r.disclose()
		p := r.first()
		if err == nil && p != nil {
			err = r.send(ctx, p)
		}
		r.give()
		if err != nil || p == nil {
			return err
		}
	}
}

// rest waits for a time, for something to send where that helps, or for ctx; it
// is false where ctx came first.
func (r *Run) rest(ctx context.Context, d time.Duration, wakes bool) bool {
	more := r.more
	if !wakes {
		more = nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-more:
	case <-t.C:
	}
	return true
}

func (r *Run) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}
