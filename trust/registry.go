package trust

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
)

// Registry is the registry folded over some number of statements, each of
// which was held against its signatures and rules (spec/trust.md#registry). It
// does not change: Apply returns a new one. Only Genesis and Apply make one.
type Registry struct {
	log       string
	threshold int
	heads     []dagcbor.CID // statement CID of each version
	leaves    []uint64      // leaf index of each version, ascending
	keys      []Key         // ascending by public key
	byID      map[dsse.KeyID]int
	foreign   []ed25519.PublicKey
	bytes     int // of all leaves

	predecessor *Predecessor // nil: this log is nobody's successor, or does not say so
	frozen      *Frozen      // nil: not frozen
}

// Key is one listed key with its history. Versions are registry versions; no
// key is retired or revoked in version 0, so 0 there means never.
type Key struct {
	ID      dsse.KeyID
	Public  ed25519.PublicKey
	Name    string // the principal
	Role    Role
	Added   uint64
	Retired uint64
	Revoked uint64 // the first version that revoked it
	From    uint64 // lowest leaf index that a revocation stated; only where HasFrom
	HasFrom bool
}

// Pin is what the caller holds a registry to.
type Pin struct {
	Origin  string
	Genesis dagcbor.CID
	Foreign []ed25519.PublicKey // log and witness keys, which no registry may list
}

// Genesis verifies version 0, which stands at leaf index, and folds it: the
// leaf is 0, the statement is the pinned one, it names the pinned log, its
// keys are sound, and its own threshold of registrars signed.
func Genesis(env *dsse.Envelope, index uint64, pin Pin) (*Registry, error) {
	s, err := statementOf(env)
	if err != nil {
		return nil, err
	}
	cid := dagcbor.Sum(env.Payload)
	switch {
	case cid != pin.Genesis:
		return nil, refuse(report.CodeRegistryPin, pin.Genesis.String(), cid.String())
	case index != 0:
		return nil, refuse(report.CodeRegistryPlace, "the genesis statement at leaf 0", "leaf "+strconv.FormatUint(index, 10))
	case s.Version != 0:
		return nil, refuse(report.CodeRegistryVersion, "version 0", strconv.FormatUint(s.Version, 10))
	case s.Log != pin.Origin:
		return nil, refuse(report.CodeRegistryLog, pin.Origin, s.Log)
	}
	return (&Registry{log: s.Log, foreign: pin.Foreign}).apply(env, s, index)
}

// Apply verifies what comes next of the registry, which stands at leaf index, and
// folds it: a registry statement, signed by the threshold of registrars before it
// and by the one after; a freeze; or, at leaf 1, a successor statement.
func (r *Registry) Apply(env *dsse.Envelope, index uint64) (*Registry, error) {
	switch env.Type {
	case dsse.FreezeType:
		return r.applyFreeze(env, index)
	case dsse.SuccessorType:
		return r.applySuccessor(env, index)
	}
	s, err := statementOf(env)
	if err != nil {
		return nil, err
	}
	if err := r.follows(s); err != nil {
		return nil, err
	}
	if err := r.behind(index); err != nil {
		return nil, err
	}
	return r.apply(env, s, index)
}

// IsRegistryType reports whether envelopes of a payload type are part of a
// registry: they stand in its chain.
func IsRegistryType(payloadType string) bool {
	switch payloadType {
	case dsse.RegistryType, dsse.FreezeType, dsse.SuccessorType:
		return true
	}
	return false
}

// follows holds a later statement against the head.
func (r *Registry) follows(s *Statement) error {
	switch {
	case r.frozen != nil:
		return r.isFrozen()
	case s.Log != r.log:
		return refuse(report.CodeRegistryLog, r.log, s.Log)
	case s.Prev != r.Head():
		return refuse(report.CodeRegistryPrev, r.Head().String(), s.Prev.String())
	case s.Version != r.Version()+1:
		return refuse(report.CodeRegistryVersion, "version "+strconv.FormatUint(r.Version()+1, 10), strconv.FormatUint(s.Version, 10))
	}
	return nil
}

func statementOf(env *dsse.Envelope) (*Statement, error) {
	if env.Type != dsse.RegistryType {
		return nil, refuse(report.CodeRegistryType, dsse.RegistryType, env.Type)
	}
	return DecodeStatement(env.Payload)
}

func refuse(code report.Code, expected, actual string) error {
	return &report.Error{Code: code, Expected: expected, Actual: actual}
}

// apply folds s, and then holds state digest and signatures against the result.
func (r *Registry) apply(env *dsse.Envelope, s *Statement, index uint64) (*Registry, error) {
	next, err := r.fold(s, index)
	if err != nil {
		return nil, err
	}
	if digest := next.State(); digest != s.State {
		return nil, refuse(report.CodeRegistryState, fmt.Sprintf("%x", digest), fmt.Sprintf("%x", s.State))
	}
	if err := next.grow(env); err != nil {
		return nil, err
	}
	if err := r.signed(env, next); err != nil {
		return nil, err
	}
	next.heads = append(next.heads, dagcbor.Sum(env.Payload))
	return next, nil
}

// grow counts the leaf of the last statement.
func (r *Registry) grow(env *dsse.Envelope) error {
	leaf, err := env.Leaf()
	if err != nil {
		return err
	}
	r.bytes += len(leaf)
	if r.bytes > MaxLeaves {
		return refuse(report.CodeRegistryLimit, fmt.Sprintf("registry leaves of at most %d bytes together", MaxLeaves), strconv.Itoa(r.bytes))
	}
	if len(r.leaves) > MaxVersions {
		return refuse(report.CodeRegistryLimit, fmt.Sprintf("at most %d registry statements", MaxVersions), strconv.Itoa(len(r.leaves)))
	}
	return nil
}

// signed holds the signatures against the thresholds before and after.
func (r *Registry) signed(env *dsse.Envelope, next *Registry) error {
	before, after := 0, 0
	for _, sig := range env.Sigs {
		was, is := r.registrar(sig.By), next.registrar(sig.By)
		if !was && !is {
			return refuse(report.CodeRegistrySigner, "signatures of registrars", sig.By.String())
		}
		if was {
			before++
		}
		if is {
			after++
		}
	}
	if before < r.threshold {
		return refuse(report.CodeRegistryQuorum, fmt.Sprintf("%d registrars of version %d", r.threshold, r.Version()), strconv.Itoa(before))
	}
	if after < next.threshold {
		return refuse(report.CodeRegistryQuorum, fmt.Sprintf("%d registrars of version %d", next.threshold, next.Version()), strconv.Itoa(after))
	}
	_, err := dsse.Verify(env, next.Public)
	return err
}

func (r *Registry) registrar(id dsse.KeyID) bool {
	k, ok := r.MaySign(id)
	return ok && k.Role == Registrar
}

// Bind gives the signatures of a DSSE JSON envelope their keys; it is not a
// verification, and a weak key that it binds is refused by Genesis and Apply. r
// is the registry before the statement, nil for a genesis. The candidates are
// the registrars before and after the statement. Where fewer of those before
// signed than their threshold asks, the others are not tried: a stranger, who
// may list any number of them, costs what the registrars cost.
func Bind(l *dsse.Loose, r *Registry) (*dsse.Envelope, error) {
	if !IsRegistryType(l.Type) || r == nil && l.Type != dsse.RegistryType {
		return nil, refuse(report.CodeRegistryType, dsse.RegistryType, l.Type)
	}
	b := l.Bind()
	if l.Type != dsse.RegistryType {
		b.Try(r.registrars())
		return b.Envelope()
	}
	s, err := DecodeStatement(l.Payload)
	if err != nil {
		return nil, err
	}
	if r != nil {
		if err := r.follows(s); err != nil {
			return nil, err
		}
		if n := b.Try(r.registrars()); n < r.threshold {
			return nil, refuse(report.CodeRegistryQuorum, fmt.Sprintf("%d registrars of version %d", r.threshold, r.Version()), strconv.Itoa(n))
		}
	}
	var added []ed25519.PublicKey
	for _, a := range s.Add {
		if a.Role == Registrar {
			added = append(added, a.Key[:])
		}
	}
	b.Try(added)
	return b.Envelope()
}

// registrars returns the keys that may sign the next statement.
func (r *Registry) registrars() (keys []ed25519.PublicKey) {
	for _, k := range r.keys {
		if r.registrar(k.ID) {
			keys = append(keys, k.Public)
		}
	}
	return keys
}

// Log returns the origin.
func (r *Registry) Log() string { return r.log }

// Version, Head (its statement CID) and Threshold are those of the last
// statement.
func (r *Registry) Version() uint64   { return uint64(max(len(r.leaves), 1) - 1) }
func (r *Registry) Head() dagcbor.CID { return r.heads[len(r.heads)-1] }
func (r *Registry) Threshold() int    { return r.threshold }

// Leaves and Statements return leaf index and statement CID of every version;
// the caller does not change them.
func (r *Registry) Leaves() []uint64          { return r.leaves }
func (r *Registry) Statements() []dagcbor.CID { return r.heads }

// Keys returns every key ever listed, ascending by public key; the caller does
// not change it.
func (r *Registry) Keys() []Key { return r.keys }

// Key returns a key that was ever listed.
func (r *Registry) Key(id dsse.KeyID) (Key, bool) {
	i, ok := r.byID[id]
	if !ok {
		return Key{}, false
	}
	return r.keys[i], true
}

// Public is the lookup of dsse.Verify over every key ever listed.
func (r *Registry) Public(id dsse.KeyID) (ed25519.PublicKey, bool) {
	k, ok := r.Key(id)
	return k.Public, ok
}

// ListedAt returns the key if it could sign the leaf at index: a leaf before
// index added it, and no leaf before index retired or revoked it or froze the
// log.
func (r *Registry) ListedAt(id dsse.KeyID, index uint64) (Key, bool) {
	k, ok := r.Key(id)
	if !ok || r.leaves[k.Added] >= index ||
		(k.Retired > 0 && r.leaves[k.Retired] < index) ||
		(k.Revoked > 0 && r.leaves[k.Revoked] < index) ||
		(r.frozen != nil && r.frozen.Leaf < index) {
		return Key{}, false
	}
	return k, true
}

// MaySign returns the key if a leaf behind the last statement could be signed
// by it: what a log asks of a new receipt.
func (r *Registry) MaySign(id dsse.KeyID) (Key, bool) {
	k, ok := r.Key(id)
	return k, ok && k.Retired == 0 && k.Revoked == 0
}

// DisownedFrom returns the first leaf index from which the key's leaves are
// disowned, and whether there is one. A revocation that states a leaf behind
// its own disowns from its own leaf on.
func (r *Registry) DisownedFrom(id dsse.KeyID) (uint64, bool) {
	k, ok := r.Key(id)
	if !ok || k.Revoked == 0 {
		return 0, false
	}
	return r.disownedFrom(k), true
}

func (r *Registry) disownedFrom(k Key) uint64 {
	from := r.leaves[k.Revoked]
	if k.HasFrom {
		from = min(from, k.From)
	}
	return from
}

// clone copies what fold changes.
func (r *Registry) clone() *Registry {
	return &Registry{
		log: r.log, threshold: r.threshold, foreign: r.foreign,
		heads: slices.Clone(r.heads), leaves: slices.Clone(r.leaves), keys: slices.Clone(r.keys), byID: maps.Clone(r.byID),
		bytes: r.bytes, predecessor: r.predecessor, frozen: r.frozen,
	}
}

func (r *Registry) find(k PublicKey) (*Key, bool) {
	i, ok := slices.BinarySearchFunc(r.keys, k, func(have Key, want PublicKey) int {
		return bytes.Compare(have.Public, want[:])
	})
	if !ok {
		return nil, false
	}
	return &r.keys[i], true
}
