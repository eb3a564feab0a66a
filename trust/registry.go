package trust

import (
	"crypto/ed25519"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
)

// Registry is the folded registry after some number of statements, each of
// which was proven by its signatures. It is immutable: Apply returns a new one.
// Only Genesis and Apply make one.
type Registry struct {
	log       string
	threshold int
	head      dagcbor.CID
	leaves    []uint64 // leaf index of each version
	keys      []Key    // ascending by public key
	byID      map[dsse.KeyID]int
	foreign   []ed25519.PublicKey
}

// Key is one listed key with its history. Versions are registry versions; a
// key is never retired or revoked in version 0, so 0 there means never.
type Key struct {
	ID      dsse.KeyID
	Public  ed25519.PublicKey
	Name    string // the principal
	Role    Role
	Added   uint64
	Retired uint64
	Revoked uint64
	From    uint64 // first disowned leaf index that was stated; only where HasFrom
	HasFrom bool
}

// Pin is what the caller holds a registry to.
type Pin struct {
	Origin  string
	Genesis dagcbor.CID
	Foreign []ed25519.PublicKey // log and witness keys, which no registry may list
}

// Genesis verifies version 0, which stands at leaf index, and folds it.
func Genesis(env *dsse.Envelope, index uint64, pin Pin) (*Registry, error) { panic("stub") }

// Apply verifies the next statement, which stands at leaf index, and folds it.
func (r *Registry) Apply(env *dsse.Envelope, index uint64) (*Registry, error) { panic("stub") }

// Bind gives the signatures of a DSSE JSON envelope their keys. r is the
// registry before the statement, nil for a genesis.
func Bind(l *dsse.Loose, r *Registry) (*dsse.Envelope, error) { panic("stub") }

// Log returns the origin; Version, Head and Threshold those of the last statement.
func (r *Registry) Log() string       { return r.log }
func (r *Registry) Version() uint64   { return uint64(len(r.leaves) - 1) }
func (r *Registry) Head() dagcbor.CID { return r.head }
func (r *Registry) Threshold() int    { return r.threshold }

// Leaves returns the leaf index of every version.
func (r *Registry) Leaves() []uint64 { return r.leaves }

// Keys returns every key ever listed, ascending by public key.
func (r *Registry) Keys() []Key { return r.keys }

// Key returns a key that was ever listed.
func (r *Registry) Key(id dsse.KeyID) (Key, bool) {
	i, ok := r.byID[id]
	if !ok {
		return Key{}, false
	}
	return r.keys[i], true
}

// Public is the lookup of dsse.Verify over keys that were ever listed.
func (r *Registry) Public(id dsse.KeyID) (ed25519.PublicKey, bool) {
	k, ok := r.Key(id)
	return k.Public, ok
}

// ListedAt returns the key if it might sign the leaf at index: added by a leaf
// before it and neither retired nor revoked by a leaf before it.
func (r *Registry) ListedAt(id dsse.KeyID, index uint64) (Key, bool) { panic("stub") }

// MaySign returns the key if the statement after the last one known may be
// signed by it: what a log asks of a new receipt.
func (r *Registry) MaySign(id dsse.KeyID) (Key, bool) { panic("stub") }

// DisownedFrom returns the first leaf index from which the key's leaves are disowned.
func (r *Registry) DisownedFrom(id dsse.KeyID) (uint64, bool) { panic("stub") }
