package gate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// recordTime is how long an outcome is tried to be recorded after its caller
// has gone away: the effect has happened, or has been refused, and the log must
// hear of it.
const recordTime = time.Minute

// Judged is a request whose judgment stands in the log. Only Judge makes one.
type Judged struct {
	gate    *Gate
	request Request
	sealed  *sealed
	verdict verdict.Verdict
	record  *client.Recorded

	mu      sync.Mutex
	outcome *Outcome // once it is settled; owned by mu
}

// Verdict is what the rules said together.
func (j *Judged) Verdict() verdict.Verdict { return j.verdict }

// Record is the judgment as it stands in the log.
func (j *Judged) Record() *client.Recorded { return j.record }

// Digest is the preview digest that was judged.
func (j *Judged) Digest() receipt.Digest { return j.sealed.rho.Digest() }

// Recovery is what whoever was refused can do about it; false for an admit.
func (j *Judged) Recovery() (receipt.Recovery, bool) {
	jd, ok := j.record.Statement.Statement.Receipt.(receipt.Judgment)
	if !ok {
		return receipt.Recovery{}, false
	}
	return jd.Ruling.Recovery()
}

// Outcome is what became of a judged request.
type Outcome struct {
	// Disposition is what was recorded; nil after a denial, whose judgment is
	// all there is to say.
	Disposition receipt.Disposition
	// Record is the outcome as it stands in the log; nil after a denial, and
	// where it could not be recorded yet.
	Record *client.Recorded
	// Process is what a command that ran left behind.
	Process *Process
	// Err says in words for the engine what the disposition says in a code. It
	// stands in no receipt.
	Err error
}

// Commit lets the effect happen if it was admitted, and records what became of
// it: by then the judgment stands in the log, which is what a Judged means.
//
// A refusal is an Outcome, not an error. The error is the log's, where an
// outcome that it comes with could not be recorded; Commit again then records
// that outcome, and never fires a second time. After an escalation Commit waits
// for as long as the judgment says. ctx ends the waiting and the effect; what
// has become of it by then is recorded all the same.
func (j *Judged) Commit(ctx context.Context) (*Outcome, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.outcome == nil {
		j.outcome = j.settle(ctx)
	}
	return j.outcome, j.tell(ctx)
}

// Withdraw settles an admitted or escalated request that will not be committed.
func (j *Judged) Withdraw(ctx context.Context) (*Outcome, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.outcome != nil {
		return j.outcome, errors.New("gate: the request is settled and cannot be withdrawn")
	}
	if j.outcome = withdrawn(nil); j.verdict.Arm() == verdict.ArmDeny {
		j.outcome = &Outcome{}
	}
	return j.outcome, j.tell(ctx)
}

func withdrawn(why error) *Outcome {
	return &Outcome{Disposition: receipt.Cancelled{Code: codeWithdrawn, Recovery: recoverUnwanted}, Err: why}
}

// settle decides what becomes of the request, and makes it happen.
func (j *Judged) settle(ctx context.Context) *Outcome {
	switch j.verdict.Arm() {
	case verdict.ArmAdmit:
		return j.fire(ctx)
	case verdict.ArmEscalate:
		return j.await(ctx)
	}
	return &Outcome{}
}

// await waits for an answer to an escalation. Nobody can give one yet.
func (j *Judged) await(ctx context.Context) *Outcome {
	expires := time.UnixMilli(j.record.Statement.Statement.Call.Expires)
	for left := expires.Sub(j.gate.cfg.Now()); left > 0; left = expires.Sub(j.gate.cfg.Now()) {
		t := time.NewTimer(left)
		select {
		case <-ctx.Done():
			t.Stop()
			return withdrawn(context.Cause(ctx))
		case <-t.C:
		}
	}
	return &Outcome{
		Disposition: receipt.Expired{Recovery: recoverExpired},
		Err:         fmt.Errorf("nobody answered until %s", expires.UTC().Format("15:04:05.000")),
	}
}

// fire is the one way to a sink.
func (j *Judged) fire(ctx context.Context) (out *Outcome) {
	if ctx.Err() != nil {
		return withdrawn(context.Cause(ctx))
	}
	discarded := func(err error) *Outcome {
		return &Outcome{Disposition: receipt.Cancelled{Code: codeDiscarded, Recovery: recoverDiverged}, Err: err}
	}
	frozen, err := j.request.Effect.Freeze()
	if err != nil {
		return discarded(err) // what was judged can no longer be had
	}
	defer func() { out.Err = errors.Join(out.Err, frozen.Close()) }()
	now, err := j.request.preview(frozen.Intent()).Seal(j.gate.cfg.Secret)
	if err != nil {
		return discarded(err) // and what is there instead is no request at all
	}
	if now.Digest() != j.Digest() {
		return &Outcome{
			Disposition: receipt.Diverged{Fired: now.Digest(), Recovery: recoverDiverged},
			Err:         fmt.Errorf("%s was judged, and what is about to be fired is %s", j.Digest(), now.Digest()),
		}
	}
	res, panicked := fireOnce(ctx, frozen)
	if panicked != nil {
		return &Outcome{Disposition: receipt.Unobserved{Code: codeCrashed}, Err: panicked}
	}
	return j.became(now.Digest(), res)
}

// fireOnce calls the sink. A sink that panics has fired, for all that anybody
// knows: the call is settled by that, so that who recovers from the panic and
// commits again does not fire again.
func fireOnce(ctx context.Context, frozen Frozen) (res Result, panicked error) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Errorf("the sink panicked, and it may or may not have fired: %v", p)
		}
	}()
	return frozen.Fire(ctx), nil
}

// became puts the result of firing into the words of a receipt.
func (j *Judged) became(fired receipt.Digest, res Result) *Outcome {
	out := &Outcome{Process: res.Process, Err: res.Err}
	var moved *MovedError
	var failed *FailedError
	switch {
	case res.Err == nil:
		wrote, err := j.sealed.wrote(res.Wrote)
		out.Disposition, out.Err = receipt.Committed{Fired: fired, Wrote: wrote}, err
	case errors.As(res.Err, &moved) && moved.Change >= 0 && moved.Change < len(j.sealed.opened.Changes) && moved.Seen != moved.Expected:
		stale, err := j.sealed.stale(moved)
		if err != nil { // a salt and a content; neither can be refused
			out.Err = errors.Join(out.Err, err)
		}
		out.Disposition = stale
	case errors.As(res.Err, &failed):
		out.Disposition = receipt.Failed{Code: failed.Code, Restored: failed.Restored}
	default:
		out.Disposition = receipt.Failed{Code: codeIOError, Restored: receipt.RestoredUnknown}
	}
	return out
}

// tell records the outcome, if there is one to record and it is not yet.
func (j *Judged) tell(ctx context.Context) error {
	if j.outcome.Disposition == nil || j.outcome.Record != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	rec, err := j.gate.cfg.Log.Record(ctx, client.Entry{
		Receipt: receipt.Outcome{
			Of: j.record.Statement.ReceiptCID, Request: j.Digest(), Disposition: j.outcome.Disposition,
		},
		Settles: j.record.Statement.CID,
	})
	if err != nil {
		return fmt.Errorf("the outcome could not be recorded: %w", err)
	}
	j.outcome.Record = rec
	return nil
}
