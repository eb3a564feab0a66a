package server

import (
	"bytes"
	"fmt"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/index"
	"github.com/obstat/obstat/internal/rlog"
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

// readRegistry folds the registry leaves of the whole log. Below what the index
// covers the index names them; behind it every leaf is looked at. x is nil where
// there is no index.
func readRegistry(r rlog.Reading, x *index.Index, pin trust.Pin) (*registry, error) {
	if r.Size == 0 {
		return nil, &report.Error{Code: report.CodeRegistryPlace, Expected: "the genesis registry at leaf 0", Actual: "an empty log"}
	}
	g := &registry{}
	fold := func(first uint64, leaves [][]byte) error {
		for i, leaf := range leaves {
			if err := g.fold(leaf, first+uint64(i), pin); err != nil {
				return fmt.Errorf("the registry, at leaf %d: %w", first+uint64(i), err)
			}
		}
		return nil
	}
	if err := r.Leaves(0, 1, fold); err != nil {
		return nil, err
	}
	for from, more := uint64(1), x != nil && r.Covered > 1; more; {
		page, err := x.Search(index.Query{Kind: index.KindRegistry}, from, index.MaxPage)
		if err != nil {
			return nil, fmt.Errorf("the registry, by the index: %w", err)
		}
		for _, leaf := range page.Leaves {
			if err := r.Leaves(leaf, leaf+1, fold); err != nil {
				return nil, err
			}
		}
		from, more = page.Next, page.More
	}
	return g, r.Leaves(max(1, r.Covered), r.Size, fold)
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
