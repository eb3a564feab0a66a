package server

import (
	"bytes"
	"fmt"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// registry is the folded registry of the log with the leaves it follows from.
// It does not change while the server runs: registry statements after the
// genesis are not accepted over HTTP yet.
type registry struct {
	*trust.Registry
	envelopes [][]byte // DSSE JSON of each version
}

// loadRegistry folds the registry leaves of the whole log. Finding them reads
// every entry once, as the engine's own start does.
func loadRegistry(l *rlog.Log, pin trust.Pin) (*registry, error) {
	g := &registry{}
	size := l.Size()
	for n := uint64(0); n*merkle.TileWidth < size; n++ {
		width := merkle.TileWidthAt(0, n, size)
		b, err := l.Entries(n, width)
		if err != nil {
			return nil, err
		}
		entries, err := merkle.ParseBundle(b, width)
		if err != nil {
			return nil, err
		}
		for i, leaf := range entries {
			if err := g.fold(leaf, n*merkle.TileWidth+uint64(i), pin); err != nil {
				return nil, fmt.Errorf("the registry, at leaf %d: %w", n*merkle.TileWidth+uint64(i), err)
			}
		}
	}
	if g.Registry == nil {
		return nil, &report.Error{Code: report.CodeRegistryPlace, Expected: "the genesis registry at leaf 0", Actual: "an empty log"}
	}
	return g, nil
}

// fold applies leaf if it is a registry statement. Leaf 0 always is.
func (g *registry) fold(leaf []byte, index uint64, pin trust.Pin) error {
	if index > 0 && !bytes.Contains(leaf, []byte(dsse.RegistryType)) {
		return nil // most leaves, told at the price of a scan
	}
	env, err := dsse.ParseLeaf(leaf)
	if err != nil {
		return err
	}
	switch {
	case index == 0:
		g.Registry, err = trust.Genesis(env, index, pin)
	case env.Type == dsse.RegistryType:
		g.Registry, err = g.Apply(env, index)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	g.envelopes = append(g.envelopes, env.JSON())
	return nil
}

// chain proves every registry leaf in the tree of size.
func (g *registry) chain(l *rlog.Log, size uint64) ([]bundle.RegistryLeaf, error) {
	chain := make([]bundle.RegistryLeaf, len(g.envelopes))
	for i, index := range g.Leaves() {
		proof, err := l.InclusionProof(index, size)
		if err != nil {
			return nil, err
		}
		chain[i] = bundle.RegistryLeaf{Envelope: g.envelopes[i], Index: index, Proof: proof}
	}
	return chain, nil
}
