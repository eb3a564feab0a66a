package client

import (
	"context"
	"errors"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/receipt"
)

// codeDropped is what a gap says of statements that found no room.
const codeDropped receipt.Code = "SPOOL-LOST"

// Keep says e and does not wait for the log: it returns when the statement has
// its place in the run and survives the end of the process. [Run.Drain], Flush,
// or the next Record sends it, in its turn. A power cut may take what was kept
// and not sent yet: that is what not waiting for the disk means.
//
// Where the log is so far behind that the statement has no room, nothing is
// said, and the error is a [*FullError].
func (r *Run) Keep(ctx context.Context, e Entry) (*receipt.Decoded, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p, err := r.say(kindKept, func() Entry { return e })
	if err != nil {
		return nil, err
	}
	return p.decoded, nil
}

// Offer is Keep for an engine that goes on whatever happens. Where there is no
// room the statement is dropped: its place in the run stays empty, and the next
// statement for which there is room again is a gap, which says how many were
// dropped. Then Offer returns no statement and no error.
func (r *Run) Offer(ctx context.Context, e Entry) (*receipt.Decoded, error) {
	st, err := r.Keep(ctx, e)
	var full *FullError
	if !errors.As(err, &full) {
		return st, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.speaks(); err != nil {
		return nil, err
	}
	if _, err := r.journal.append(kindLost, []byte(codeDropped)); err != nil {
		r.broken = err
		return nil, err
	}
	r.ledger.lose(codeDropped)
	return nil, nil
}

// room is how many bytes may wait for the log, a receipt of that kind included.
func (r *Run) room(of receipt.Receipt) int64 {
	if of.Kind() == receipt.KindOutcome {
		return 2 * r.spool
	}
	return r.spool
}

// roomBehindGap refuses a statement for which there is no room, with a gap
// before it. Where statements were dropped half of the spool has to be free
// again: so a log that is slow hears of one gap and not of many.
func (r *Run) roomBehindGap(of receipt.Receipt) error {
	limit := r.spool / 2
	if of.Kind() == receipt.KindOutcome {
		limit = r.room(of) - 2*dsse.MaxLeaf
	}
	if r.ledger.queued > limit {
		return &FullError{Waiting: r.ledger.queued, Limit: limit}
	}
	return nil
}

// putGap says how many statements were dropped. There is always room for it.
func (r *Run) putGap() error {
	_, err := r.put(kindKept, Entry{Receipt: receipt.Gap{Count: r.ledger.lost, Code: r.ledger.lostCode}}, false)
	return err
}

// disclose says the gap that is due, for an engine that says nothing more.
func (r *Run) disclose() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ledger.lost == 0 || r.ledger.queued > r.spool/2 || r.speaks() != nil {
		return nil
	}
	return r.putGap()
}
