package server

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/index"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// registry is the folded registry with the leaves that it follows from. It does
// not change: the next statement makes another one.
type registry struct {
	*trust.Registry
	leaves []registryLeaf
}

// registryLeaf is a leaf of the chain.
type registryLeaf struct {
	index    uint64
	envelope []byte // DSSE JSON
}

// registries hold the registry. The sequencer makes the next one when it gives a
// statement its place, before that is durable, so a reader says how large the
// durable tree is.
type registries struct {
	newest atomic.Pointer[pair] // stored at the start, and by the sequencer alone
}

// pair is the newest registry and the one before its last statement, nil for a
// genesis. That one is durable: what a statement follows is looked up among what
// is, and again by the sequencer.
type pair struct{ last, before *registry }

// durable returns the registry of a tree of size, which was durable just now, or
// of a later one.
func (g *registries) durable(size uint64) *registry {
	p := g.newest.Load()
	if p.before != nil && p.last.leaf() >= size {
		return p.before
	}
	return p.last
}

// versionOf is the version of the registry in the tree of size.
func (r *registry) versionOf(size uint64) int {
	in, _ := slices.BinarySearch(r.Leaves(), size)
	return in - 1
}

// leaf is the index of the last statement.
func (r *registry) leaf() uint64 { return r.leaves[len(r.leaves)-1].index }

// recheck is asked by the sequencer (rlog.Config.Recheck). For a registry
// statement it makes every check again, at the head as it is by now.
func (g *registries) recheck(it rlog.Item, index uint64) error {
	env, err := dsse.ParseLeaf(it.Leaf)
	if err != nil {
		return err
	}
	r := g.newest.Load().last
	if it.Registry {
		next, err := r.follow(env, index)
		if err != nil {
			return err
		}
		g.newest.Store(&pair{last: next, before: r})
		return nil
	}
	st, err := receipt.Decode(env.Payload)
	if err != nil {
		return err
	}
	signer := dsse.KeyID(st.Statement.Call.By)
	if err := r.ended(); err != nil {
		return err
	}
	if err := r.role(signer, st.Statement.Receipt.Kind()); err != nil {
		return err
	}
	if _, ok := r.MaySign(signer); !ok {
		return keyEnded(signer)
	}
	return nil
}

// role refuses a listed key whose role does not sign kind.
func (r *registry) role(signer dsse.KeyID, kind receipt.Kind) error {
	key, ok := r.Key(signer)
	if !ok {
		// Its signature was verified, so this is our fault and not the caller's.
		return fmt.Errorf("key %s is listed and is not", signer)
	}
	if want := receipt.RoleFor(kind); key.Role != want {
		return &report.Error{
			Code:     report.CodeKeyRole,
			Expected: fmt.Sprintf("a key with role %s for a %s", want, kind),
			Actual:   fmt.Sprintf("a key of %s with role %s", key.Name, key.Role),
		}
	}
	return nil
}

// ended refuses everything new in a log that its registrars froze.
func (r *registry) ended() error {
	z, frozen := r.Frozen()
	if !frozen {
		return nil
	}
	e := &report.Error{
		Code: report.CodeLogFrozen, Expected: "a log that goes on", Actual: fmt.Sprintf("one whose last leaf is %d, by its registrars", z.Leaf),
		Fix: "the registry of this log, /v1/registry, holds what they signed; nobody is named who goes on",
	}
	if z.Heir != nil {
		e.Fix = fmt.Sprintf("the log that goes on is %s, genesis %s; hold it against the registry of this one, /v1/registry", z.Heir.Log, z.Heir.Genesis)
	}
	return e
}

func keyEnded(signer dsse.KeyID) error {
	return &report.Error{
		Code:     report.CodeKeyEnded,
		Expected: "a key that was neither retired nor revoked",
		Actual:   signer.String(),
		Fix:      "sign with a key that the registry lists",
	}
}

// follow verifies the next statement, which stands at a leaf index, and returns
// the registry behind it.
func (r *registry) follow(env *dsse.Envelope, index uint64) (*registry, error) {
	next, err := r.Apply(env, index)
	if err != nil {
		return nil, err
	}
	return &registry{next, append(r.leaves[:len(r.leaves):len(r.leaves)], registryLeaf{index, env.JSON()})}, nil
}

// read folds the registry leaves of the whole log. Below what the index
// covers the index names them; behind it every leaf is looked at. x is nil where
// there is no index.
func (g *registries) read(r rlog.Reading, x *index.Index, pin trust.Pin) error {
	if r.Size == 0 {
		return &report.Error{Code: report.CodeRegistryPlace, Expected: "the genesis registry at leaf 0", Actual: "an empty log"}
	}
	var last *registry
	fold := func(first uint64, leaves [][]byte) error {
		for i, leaf := range leaves {
			next, err := last.fold(leaf, first+uint64(i), pin)
			if err != nil {
				return fmt.Errorf("the registry, at leaf %d: %w", first+uint64(i), err)
			}
			last = next
		}
		return nil
	}
	if err := r.Leaves(0, 1, fold); err != nil {
		return err
	}
	for from, more := uint64(1), x != nil && r.Covered > 1; more; {
		page, err := x.Search(index.Query{Kind: index.KindRegistry}, from, index.MaxPage)
		if err != nil {
			return fmt.Errorf("the registry, by the index: %w", err)
		}
		for _, leaf := range page.Leaves {
			if err := r.Leaves(leaf, leaf+1, fold); err != nil {
				return err
			}
		}
		from, more = page.Next, page.More
	}
	if err := r.Leaves(max(1, r.Covered), r.Size, fold); err != nil {
		return err
	}
	g.newest.Store(&pair{last: last})
	return nil
}

// fold applies leaf if it is a registry statement. Leaf 0 always is.
func (r *registry) fold(leaf []byte, index uint64, pin trust.Pin) (*registry, error) {
	if index > 0 && !ofRegistry(leaf) {
		return r, nil // most leaves, told at the price of a scan
	}
	env, err := dsse.ParseLeaf(leaf)
	if err != nil {
		return nil, err
	}
	switch {
	case index == 0:
		genesis, err := trust.Genesis(env, index, pin)
		if err != nil {
			return nil, err
		}
		return &registry{genesis, []registryLeaf{{0, env.JSON()}}}, nil
	case trust.IsRegistryType(env.Type):
		return r.follow(env, index)
	}
	return r, nil
}

// ofRegistry reports whether the bytes of a leaf name a type of the registry; a
// receipt may do so too.
func ofRegistry(leaf []byte) bool {
	return bytes.Contains(leaf, []byte(dsse.RegistryType)) || bytes.Contains(leaf, []byte(dsse.FreezeType)) ||
		bytes.Contains(leaf, []byte(dsse.SuccessorType))
}

// chain proves every registry leaf of the tree of size in it.
func (r *registry) chain(l *rlog.Log, size uint64) ([]bundle.RegistryLeaf, error) {
	chain := make([]bundle.RegistryLeaf, 0, len(r.leaves))
	for _, leaf := range r.leaves {
		if leaf.index >= size { // of a larger tree than the one that is proven
			break
		}
		proof, err := l.InclusionProof(leaf.index, size)
		if err != nil {
			return nil, err
		}
		chain = append(chain, bundle.RegistryLeaf{Envelope: leaf.envelope, Index: leaf.index, Proof: proof})
	}
	return chain, nil
}
