package gate

import (
	"context"
	"slices"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/receipt"
)

// Opening is what the run-open of a gate's run says beside what the gate knows.
type Opening struct {
	Engine, Version     receipt.Name // of the program that judges
	Policy              receipt.Pin  // what the rules are made of; optional, as the following
	Plan, Lock, Permits receipt.Pin
	Parent              receipt.CID // statement of an enclosing run
}

// OpenRun records the run-open: with the words that the gate uses, and the
// origins of the logs that the run writes to. It comes before anything is judged.
func (g *Gate) OpenRun(ctx context.Context, o Opening, logs ...receipt.Name) (*client.Recorded, error) {
	set := append([]receipt.Name(nil), logs...)
	receipt.SortSet(set)
	set = slices.Compact(set)
	return g.cfg.Log.Record(ctx, client.Entry{Receipt: receipt.RunOpen{
		Engine: receipt.Engine{Name: o.Engine, Version: o.Version}, Vocabulary: g.vocabulary.Digest(), Logs: set,
		Policy: o.Policy, Plan: o.Plan, Lock: o.Lock, Permits: o.Permits, Parent: o.Parent,
	}})
}
