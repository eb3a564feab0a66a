package gate

import (
	"errors"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// sealed is a request with its digest and every commitment to it.
type sealed struct {
	rho    preview.Rho
	opened preview.Opened
}

// seal makes the one preview of a proposal.
func seal(p preview.Preview, secret preview.RunSecret) (*sealed, error) {
	rho, err := p.Seal(secret)
	if err != nil {
		return nil, err
	}
	opened, err := rho.Open(secret)
	if err != nil {
		return nil, err
	}
	return &sealed{rho, opened}, nil
}

func committed(d preview.Disclosure) receipt.Value { return receipt.CommittedTo(d.Commitment()) }

// request is the request as a receipt has it: every value is committed to.
func (s *sealed) request() receipt.Request {
	c := s.rho.Context()
	r := receipt.Request{
		Verb: receipt.Name(s.rho.Verb()), Digest: s.rho.Digest(),
		Task: receipt.Name(s.rho.Task()), Attempt: s.rho.Attempt(),
		// The policy is the run's and stands in its run-open.
		Context: receipt.Context{
			Plan: receipt.Pin(c.Plan), Lock: receipt.Pin(c.Lock), Permits: receipt.Pin(c.Permits),
			Tool: receipt.Pin(c.Tool), Sandbox: receipt.Pin(c.Sandbox), Approval: receipt.Name(c.Approval),
		},
	}
	for _, in := range s.opened.Inputs {
		r.Inputs = append(r.Inputs, receipt.Input{Name: receipt.Name(in.Item().Name), Value: committed(in)})
	}
	for _, ch := range s.opened.Changes {
		r.Changes = append(r.Changes, receipt.Change{Path: committed(ch.Path), Edit: editOf(ch)})
	}
	for _, sl := range s.opened.Slots {
		r.Slots = append(r.Slots, receipt.Slot{
			Name: receipt.Name(sl.Value.Item().Name), Value: committed(sl.Value), Source: receipt.Name(sl.Source),
		})
	}
	for _, e := range s.opened.Effects {
		r.Effects = append(r.Effects, receipt.Effect{On: receipt.On(e.On), Target: committed(e.Target)})
	}
	receipt.SortSet(r.Inputs)
	receipt.SortSet(r.Changes)
	receipt.SortSet(r.Slots)
	receipt.SortSet(r.Effects)
	return r
}

func editOf(ch preview.OpenedChange) receipt.Edit {
	before, after := ch.Before.Commitment(), ch.After.Commitment()
	switch {
	case ch.Before.Item().Value.IsAbsent():
		return receipt.Create{After: after}
	case ch.After.Item().Value.IsAbsent():
		return receipt.Delete{Before: before}
	}
	return receipt.Replace{Before: before, After: after}
}

// reads is what an undo, and the sink, must compare first; nil where the
// preview records none.
func (s *sealed) reads() []receipt.Read {
	if s.opened.Reads == nil {
		return nil
	}
	all := make([]receipt.Read, 0, len(s.opened.Reads))
	for _, r := range s.opened.Reads {
		all = append(all, receipt.Read{Key: committed(r.Key), Seen: r.Seen.Commitment()})
	}
	receipt.SortSet(all)
	return all
}

// wrote commits to what the files of the changes were found to hold, each at
// the place of what it was judged to hold afterwards (spec/preview.md#commitments).
func (s *sealed) wrote(found []preview.Content) ([]receipt.Wrote, error) {
	if len(found) != len(s.opened.Changes) {
		return nil, nil // nobody looked
	}
	var all []receipt.Wrote
	for i, ch := range s.opened.Changes {
		d, err := ch.After.With(found[i].Value())
		if err != nil {
			return nil, err
		}
		all = append(all, receipt.Wrote{Key: committed(ch.Path), Value: d.Commitment()})
	}
	receipt.SortSet(all)
	return all, nil
}

// stale commits to what was found where the request rests on something else. It
// fails where the request does not rest on it, or it has not moved.
func (s *sealed) stale(m *MovedError) (receipt.Stale, error) {
	for _, r := range s.opened.Reads {
		if r.Key.Item().Value != preview.Text(m.Key) || r.Seen.Item().Value != m.Expected.Value() || m.Seen == m.Expected {
			continue
		}
		seen, err := r.Seen.With(m.Seen.Value())
		if err != nil {
			return receipt.Stale{}, err
		}
		return receipt.Stale{
			Key: committed(r.Key), Expected: r.Seen.Commitment(), Seen: seen.Commitment(), Recovery: recoverStale,
		}, nil
	}
	return receipt.Stale{}, errors.New("the sink says that something has moved on which the request does not rest")
}
