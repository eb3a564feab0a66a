package gate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// Recovered is a call that an engine left open, and what became of it.
type Recovered struct {
	Call        *receipt.Decoded // the judgment or open fault
	Disposition receipt.Disposition
	Err         error // says in words what the disposition says in a code; may be nil
}

// Recover settles every call that the run has left open, and records the
// outcomes. history is every statement of the run so far, in order, those
// included that the log has not answered yet; nothing else may be said in the
// run meanwhile. It applies nothing: an effect that has not happened by now does
// not happen any more.
//
//   - A change set is finished where all of it is in place, and else taken back;
//     where somebody has written to its files since, it is unobserved.
//   - A change set that had not begun, a rendering, and what was never admitted,
//     have not happened: cancelled, or expired.
//   - Whether a command ran, a request was sent or a tool called, nobody knows:
//     unobserved.
//
// Calls that are to stay open, such as one that waits for consent, are named; one
// that has begun by now is settled all the same. The error is the log's; calling
// Recover again with the history as it is then goes on.
func (g *Gate) Recover(ctx context.Context, history iter.Seq2[*receipt.Decoded, error], stay ...receipt.CID) ([]Recovered, error) {
	open, settled, err := openCalls(history)
	if err != nil {
		return nil, err
	}
	if err := g.tidy(settled); err != nil {
		return nil, err
	}
	var all []Recovered
	for _, st := range open {
		if slices.Contains(stay, st.CID) {
			if record, err := g.cfg.Store.intent(st.CID); err == nil && record == nil {
				continue
			}
		}
		r, out, err := g.settleOpen(ctx, st)
		if err != nil {
			return all, err
		}
		all = append(all, *r)
		r.Err = errors.Join(r.Err, out)
	}
	return all, nil
}

// Hanging returns the calls of a run that have no outcome, in order. history is
// as in Recover.
func Hanging(history iter.Seq2[*receipt.Decoded, error]) ([]*receipt.Decoded, error) {
	open, _, err := openCalls(history)
	return open, err
}

// openCalls are the calls without an outcome, in order, and for each that has
// one the statement that settles it.
func openCalls(history iter.Seq2[*receipt.Decoded, error]) ([]*receipt.Decoded, map[receipt.CID]pair, error) {
	calls := map[receipt.CID]*receipt.Decoded{}
	settled := map[receipt.CID]pair{}
	var order []receipt.CID
	for st, err := range history {
		if err != nil {
			return nil, nil, err
		}
		switch r := st.Statement.Receipt.(type) {
		case receipt.Judgment:
			if r.Ruling.Verdict().Arm() != verdict.ArmDeny {
				calls[st.CID] = st
				order = append(order, st.CID)
			}
		case receipt.Fault:
			if _, ok := r.Posture.(receipt.FailOpen); ok {
				calls[st.CID] = st
				order = append(order, st.CID)
			}
		case receipt.Outcome:
			if call, ok := calls[st.Statement.Call.Settles]; ok {
				settled[call.CID] = pair{call, st}
			}
		}
	}
	var open []*receipt.Decoded
	for _, cid := range order {
		if _, done := settled[cid]; !done {
			open = append(open, calls[cid])
		}
	}
	return open, settled, nil
}

type pair struct{ call, outcome *receipt.Decoded }

// tidy does what was left to do behind outcomes that were recorded.
func (g *Gate) tidy(settled map[receipt.CID]pair) error {
	left, err := g.cfg.Store.intents()
	if err != nil {
		return err
	}
	for _, cid := range left {
		p, ok := settled[cid]
		if !ok {
			continue // it is open, or another run's
		}
		record, err := g.cfg.Store.intent(cid)
		if err != nil {
			return err
		}
		c, _, err := resume(record)
		if err != nil {
			return fmt.Errorf("%s: %w", intentName(cid), err)
		}
		if _, ok := p.outcome.Statement.Receipt.(receipt.Outcome).Disposition.(receipt.Committed); ok {
			err = c.done()
		}
		if err := errors.Join(err, c.tree.close()); err != nil {
			return err
		}
		s, err := g.reseal(p.call)
		if err != nil {
			return err
		}
		if err := g.cfg.Store.settled(p.call, p.outcome, s); err != nil {
			return err
		}
	}
	return nil
}

// reseal reads back the preview of a call.
func (g *Gate) reseal(call *receipt.Decoded) (*sealed, error) {
	req, ok := requestOf(call)
	if !ok {
		return nil, fmt.Errorf("statement %s has no request", call.CID)
	}
	rho, err := g.cfg.Store.Rho(req.Digest)
	if err != nil {
		return nil, err
	}
	opened, err := rho.Open(g.cfg.Secret)
	return &sealed{rho, opened}, err
}

func requestOf(call *receipt.Decoded) (receipt.Request, bool) {
	switch r := call.Statement.Receipt.(type) {
	case receipt.Judgment:
		return r.Request, true
	case receipt.Fault:
		return r.Request()
	}
	return receipt.Request{}, false
}

// settleOpen finds out what became of one call, and records it. The last error
// but one is about tidying up; the call is settled all the same.
func (g *Gate) settleOpen(ctx context.Context, st *receipt.Decoded) (*Recovered, error, error) {
	req, ok := requestOf(st)
	if !ok {
		return nil, nil, fmt.Errorf("statement %s has no request", st.CID)
	}
	out, s, done := g.fate(st, req)
	rec, _, err := g.record(ctx, client.Entry{
		Receipt: receipt.Outcome{Of: st.ReceiptCID, Request: req.Digest, Disposition: out.Disposition, Compensates: out.Compensates},
		Settles: st.CID,
	}, true)
	if err != nil {
		return nil, nil, fmt.Errorf("what became of %s could not be recorded: %w", st.CID, err)
	}
	tidy := done()
	if s != nil {
		tidy = errors.Join(tidy, g.cfg.Store.settled(st, rec, s))
	} else {
		tidy = errors.Join(tidy, g.cfg.Store.dropIntent(st.CID))
	}
	return &Recovered{Call: st, Disposition: out.Disposition, Err: out.Err}, tidy, nil
}

// fate is what became of an open call.
func (g *Gate) fate(st *receipt.Decoded, req receipt.Request) (out *Outcome, s *sealed, done func() error) {
	done = func() error { return nil }
	ended := &Outcome{Disposition: receipt.Cancelled{Code: codeRunEnded, Recovery: recoverDiverged}}
	if jd, ok := st.Statement.Receipt.(receipt.Judgment); ok && jd.Ruling.Verdict().Arm() == verdict.ArmEscalate {
		if g.cfg.Now().UnixMilli() > st.Statement.Call.Expires {
			return &Outcome{Disposition: receipt.Expired{Recovery: recoverExpired}}, nil, done
		}
		return ended, nil, done
	}
	crashed := func(err error) *Outcome {
		return &Outcome{Disposition: receipt.Unobserved{Code: codeCrashed}, Err: err}
	}
	switch req.Verb {
	case preview.VerbRender:
		return ended, nil, done
	case preview.VerbFiles, preview.VerbUndo:
	default:
		return crashed(errors.New("the engine ended before it could tell whether it happened")), nil, done
	}
	record, err := g.cfg.Store.intent(st.CID)
	if err != nil {
		return crashed(err), nil, done
	}
	if record == nil {
		return ended, nil, done // the record comes before the first change
	}
	c, request, err := resume(record)
	if err != nil {
		return crashed(err), nil, done
	}
	done = func() error { return c.tree.close() }
	if request != req.Digest {
		return crashed(errors.New("the intent record is about another request")), nil, done
	}
	if s, err = g.reseal(st); err != nil {
		return crashed(err), nil, done
	}
	res := c.recover()
	j := &Judged{gate: g, sealed: s, statement: st}
	out = j.became(req.Digest, res, true)
	out.Compensates, err = g.cfg.Store.compensated(s.rho)
	out.Err = errors.Join(out.Err, err)
	if res.Done != nil {
		done = func() error { return errors.Join(res.Done(), c.tree.close()) }
	}
	return out, s, done
}
