package client

import (
	"context"
	"fmt"
	"iter"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/receipt"
)

// Statements yields every statement of the run so far, in order, out of its
// directory: one that the log has not answered yet is among them. It ends with
// an error where one cannot be read.
func (r *Run) Statements(ctx context.Context) iter.Seq2[*receipt.Decoded, error] {
	return func(yield func(*receipt.Decoded, error) bool) {
		if err := r.take(ctx); err != nil {
			yield(nil, err)
			return
		}
		n := r.seq
		r.give()
		for seq := range n {
			d, err := r.statement(seq)
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

func (r *Run) statement(seq uint64) (*receipt.Decoded, error) {
	leaf, err := r.store.leaf(seq)
	if err != nil {
		return nil, err
	}
	e, err := dsse.ParseLeaf(leaf)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", leafName(seq), err)
	}
	return receipt.Decode(e.Payload)
}
