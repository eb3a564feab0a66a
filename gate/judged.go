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

// Judged is a request whose judgment is recorded, or the fault over which it
// may happen unjudged. Only Judge makes one.
type Judged struct {
	gate      *Gate
	request   Request
	sealed    *sealed
	verdict   verdict.Verdict // zero where there is none
	unjudged  error           // why there is none
	statement *receipt.Decoded
	record    *client.Recorded // nil where the statement was spooled, and after Resume
	spooled   bool

	mu      sync.Mutex
	outcome *Outcome // once it is settled; owned by mu
}

// Verdict is what the rules said together; the zero Verdict where they came to
// none and the request may happen all the same (see Unjudged).
func (j *Judged) Verdict() verdict.Verdict { return j.verdict }

// Unjudged says why there is no verdict, where the gate is told to let the
// effect happen in spite of that; nil otherwise.
func (j *Judged) Unjudged() error { return j.unjudged }

// Statement is the judgment, or the open fault, as it was recorded.
func (j *Judged) Statement() *receipt.Decoded { return j.statement }

// Record is the statement as it stands in the log; nil where it was spooled, and
// after Resume.
func (j *Judged) Record() *client.Recorded { return j.record }

// Digest is the preview digest that was judged.
func (j *Judged) Digest() receipt.Digest { return j.sealed.rho.Digest() }

// Recovery is what whoever was refused can do about it; false for an admit.
func (j *Judged) Recovery() (receipt.Recovery, bool) {
	jd, ok := j.statement.Statement.Receipt.(receipt.Judgment)
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
	// Compensates says what an undo saw before it acted; nil otherwise.
	Compensates *receipt.Compensates
	// Statement is the outcome as it was recorded; nil after a denial, and where
	// it could not be recorded yet.
	Statement *receipt.Decoded
	// Record is the outcome as it stands in the log; nil also where it was
	// spooled.
	Record *client.Recorded
	// Result is what the effect gave back; nil where it was not applied.
	Result *Result
	// Err says in words for the engine what the disposition says in a code. It
	// stands in no receipt.
	Err error
}

// Commit lets the effect happen if it was admitted, and records what became of
// it: by then the judgment is recorded, which is what a Judged means.
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

// Withdraw settles a request that whoever asked does not want any more.
func (j *Judged) Withdraw(ctx context.Context) (*Outcome, error) {
	return j.cancel(ctx, receipt.Cancelled{Code: codeWithdrawn, Recovery: recoverUnwanted})
}

// Discard settles a request that the engine lets go.
func (j *Judged) Discard(ctx context.Context) (*Outcome, error) {
	return j.cancel(ctx, receipt.Cancelled{Code: codeDiscarded, Recovery: recoverUnwanted})
}

// Replace settles a request in whose place another one has come.
func (j *Judged) Replace(ctx context.Context) (*Outcome, error) {
	return j.cancel(ctx, receipt.Cancelled{Code: codeReplaced, Recovery: recoverReplaced})
}

func (j *Judged) cancel(ctx context.Context, d receipt.Cancelled) (*Outcome, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.outcome != nil {
		return j.outcome, errors.New("gate: the request is settled and cannot be cancelled")
	}
	if j.outcome = (&Outcome{Disposition: d}); j.verdict.Arm() == verdict.ArmDeny {
		j.outcome = &Outcome{}
	}
	return j.outcome, j.tell(ctx)
}

func withdrawn(why error) *Outcome {
	return &Outcome{Disposition: receipt.Cancelled{Code: codeWithdrawn, Recovery: recoverUnwanted}, Err: why}
}

// settle decides what becomes of the request, and makes it happen.
func (j *Judged) settle(ctx context.Context) *Outcome {
	switch {
	case j.unjudged != nil, j.verdict.Arm() == verdict.ArmAdmit:
		return j.fire(ctx)
	case j.verdict.Arm() == verdict.ArmEscalate:
		return j.await(ctx)
	}
	return &Outcome{}
}

// await waits for an answer to an escalation. Nobody can give one yet.
func (j *Judged) await(ctx context.Context) *Outcome {
	expires := time.UnixMilli(j.statement.Statement.Call.Expires)
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
	p, err := j.request.preview(frozen.Plan())
	if err != nil {
		return discarded(err)
	}
	now, err := p.Seal(j.gate.cfg.Secret)
	if err != nil {
		return discarded(err) // and what is there instead is no request at all
	}
	if now.Digest() != j.Digest() {
		return &Outcome{
			Disposition: receipt.Diverged{Fired: now.Digest(), Recovery: recoverDiverged},
			Err:         fmt.Errorf("%s was judged, and what is about to be fired is %s", j.Digest(), now.Digest()),
		}
	}
	for _, r := range j.gate.cfg.Rules {
		if s, ok := r.(Standing); ok && j.unjudged == nil {
			if code, err := s.Stands(ctx); err != nil {
				return &Outcome{Disposition: receipt.Refused{Code: code, Recovery: recoveryOfRefusal(code)}, Err: err}
			}
		}
	}
	res, checked := j.apply(ctx, frozen)
	out = j.became(now.Digest(), res, checked)
	if u, ok := frozen.(Compensator); ok {
		out.Compensates = u.Compensates()
	}
	return out
}

// apply checks the precondition and calls the sink. A sink that panics has
// fired, for all that anybody knows: the call is settled by that, so that who
// recovers from the panic and commits again does not fire again. checked is
// false where it did not come to applying.
func (j *Judged) apply(ctx context.Context, frozen Frozen) (res Result, checked bool) {
	defer func() {
		if p := recover(); p != nil {
			res.Err = &UnobservedError{codeCrashed, fmt.Errorf("the sink panicked: %v", p)}
		}
	}()
	if err := frozen.Check(ctx); err != nil {
		return Result{Err: err}, false
	}
	checked = true
	return frozen.Apply(ctx, Call{
		Judgment: j.statement.CID, Request: j.Digest(),
		Intend: func(record []byte) error { return j.gate.cfg.Store.putIntent(j.statement.CID, record) },
		step:   j.gate.cfg.Store.step,
	}), checked
}

// became puts the result into the words of a receipt.
func (j *Judged) became(fired receipt.Digest, res Result, checked bool) *Outcome {
	out := &Outcome{Err: res.Err}
	if checked {
		out.Result = &res
	}
	var (
		moved      *MovedError
		refused    *RefusedError
		withheld   *WithheldError
		failed     *FailedError
		unobserved *UnobservedError
	)
	switch {
	case res.Err == nil && res.Rendered:
		out.Disposition = receipt.Rendered{Digest: fired}
	case res.Err == nil:
		wrote, err := j.sealed.wrote(res.Wrote)
		out.Disposition, out.Err = receipt.Committed{Fired: fired, Wrote: wrote}, err
	case errors.As(res.Err, &moved):
		if stale, err := j.sealed.stale(moved); err == nil {
			out.Disposition = stale
			break
		}
		out.Disposition = receipt.Failed{Code: codeIOError, Restored: receipt.RestoredUnknown} // a sink that names no read
	case errors.As(res.Err, &refused):
		out.Disposition = receipt.Refused{Code: refused.Code, Recovery: recoveryOfRefusal(refused.Code)}
	case errors.As(res.Err, &withheld):
		out.Disposition = receipt.Withheld{Code: withheld.Code, Recovery: recoverSlots}
	case errors.As(res.Err, &failed):
		out.Disposition = receipt.Failed{Code: failed.Code, Restored: failed.Restored}
	case errors.As(res.Err, &unobserved):
		out.Disposition = receipt.Unobserved{Code: unobserved.Code}
	case !checked:
		out.Disposition = receipt.Failed{Code: codeStartFailed, Restored: receipt.RestoredYes}
	default:
		out.Disposition = receipt.Failed{Code: codeIOError, Restored: receipt.RestoredUnknown}
	}
	return out
}

// tell records the outcome, if there is one to record and it is not yet, and
// tidies up behind it.
func (j *Judged) tell(ctx context.Context) error {
	out := j.outcome
	if out.Disposition == nil || out.Statement != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	st, rec, err := j.gate.record(ctx, client.Entry{
		Receipt: receipt.Outcome{
			Of: j.statement.ReceiptCID, Request: j.Digest(), Disposition: out.Disposition, Compensates: out.Compensates,
		},
		Settles: j.statement.CID,
	}, j.spooled)
	if err != nil {
		return fmt.Errorf("the outcome could not be recorded: %w", err)
	}
	out.Statement, out.Record = st, rec
	if out.Result != nil && out.Result.Done != nil {
		out.Err = errors.Join(out.Err, out.Result.Done())
	}
	out.Err = errors.Join(out.Err, j.gate.cfg.Store.settled(j.statement, st, j.sealed))
	return nil
}
