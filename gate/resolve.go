package gate

import (
	"context"
	"fmt"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/receipt"
)

// Resolve says what somebody has found out about an effect of which an outcome
// left open whether it happened: unobserved, or failed without knowing what is
// left of it. stands says whether what it did, or a part of that, is there. One
// outcome can be resolved once (spec/laws.md#settled-once).
func (g *Gate) Resolve(ctx context.Context, outcome *receipt.Decoded, stands bool) (*receipt.Decoded, error) {
	out, ok := outcome.Statement.Receipt.(receipt.Outcome)
	if !ok || !receipt.Open(out.Disposition) {
		return nil, fmt.Errorf("statement %s leaves nothing open", outcome.CID)
	}
	var found receipt.Disposition
	approval := receipt.ApprovalOf(out.Disposition)
	switch d := out.Disposition.(type) {
	case receipt.Failed:
		d.Restored = receipt.RestoredYes
		if stands {
			d.Restored = receipt.RestoredNo
		}
		found = d
	default:
		found = receipt.Failed{Code: codeInterrupted, Restored: receipt.RestoredYes, Approval: approval}
		if stands {
			found = receipt.Committed{Fired: out.Request, Approval: approval}
		}
	}
	st, _, err := g.record(ctx, client.Entry{
		Receipt: receipt.Outcome{Of: outcome.ReceiptCID, Request: out.Request, Disposition: found},
		Settles: outcome.CID,
	}, true)
	return st, err
}
