package trust

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"slices"
	"strconv"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
)

// fold returns the registry after s, which stands at leaf index. It holds the
// rules of spec/trust.md#registry-rules and nothing about signatures, state
// digest or predecessor.
func (r *Registry) fold(s *Statement, index uint64) (*Registry, error) {
	next := r.clone()
	next.leaves = append(next.leaves, index)
	// Old keys first: what this very statement adds cannot be retired by it.
	if err := next.retire(s); err != nil {
		return nil, err
	}
	if err := next.revoke(s, index); err != nil {
		return nil, err
	}
	if err := next.add(s); err != nil {
		return nil, err
	}
	registrars := 0
	for _, k := range next.keys {
		if k.Role == Registrar && k.Retired == 0 && k.Revoked == 0 {
			registrars++
		}
	}
	if s.Threshold < 1 || s.Threshold > min(registrars, dsse.MaxSignatures) {
		return nil, &report.Error{
			Code: report.CodeRegistryThreshold, Where: "/threshold",
			Expected: fmt.Sprintf("from 1 to %d, the registrars that can sign", min(registrars, dsse.MaxSignatures)),
			Actual:   strconv.Itoa(s.Threshold),
		}
	}
	next.threshold = s.Threshold
	return next, nil
}

func (r *Registry) add(s *Statement) error {
	if n := len(r.keys) + len(s.Add); n > MaxKeys {
		return &report.Error{Code: report.CodeRegistryLimit, Where: "/add", Expected: fmt.Sprintf("at most %d keys", MaxKeys), Actual: strconv.Itoa(n)}
	}
	roles := make(map[string]Role, len(r.keys)) // of engines and approvers
	for _, k := range r.keys {
		if k.Role != Registrar {
			roles[k.Name] = k.Role
		}
	}
	for i, a := range s.Add {
		where := fmt.Sprintf("/add/%d", i)
		if err := dsse.CheckPublicKey(a.Key[:]); err != nil {
			return &report.Error{Code: report.CodeRegistryKeyWeak, Where: where, Expected: "a canonical Ed25519 public key not of small order", Actual: err.Error()}
		}
		if slices.ContainsFunc(r.foreign, func(f ed25519.PublicKey) bool { return bytes.Equal(f, a.Key[:]) }) {
			return &report.Error{Code: report.CodeRegistryKeyForeign, Where: where, Expected: "no key of the log or of a witness", Actual: fmt.Sprintf("%x", a.Key)}
		}
		if k, twice := r.find(a.Key); twice {
			return &report.Error{Code: report.CodeRegistryKeyReused, Where: where, Expected: "a key that was never listed", Actual: fmt.Sprintf("the key that version %d listed as %s %s", k.Added, k.Role, k.Name)}
		}
		if a.Role != Registrar {
			if was, known := roles[a.Name]; known && was != a.Role {
				return &report.Error{Code: report.CodeRegistryRole, Where: where, Expected: fmt.Sprintf("%s as %s, as before", a.Name, was), Actual: string(a.Role)}
			}
			roles[a.Name] = a.Role
		}
	}
	if r.byID == nil {
		r.byID = make(map[dsse.KeyID]int, len(s.Add))
	}
	for _, a := range s.Add {
		pub := ed25519.PublicKey(bytes.Clone(a.Key[:]))
		r.keys = append(r.keys, Key{ID: dsse.IDOf(pub), Public: pub, Name: a.Name, Role: a.Role, Added: s.Version})
	}
	slices.SortFunc(r.keys, func(a, b Key) int { return bytes.Compare(a.Public, b.Public) })
	for i, k := range r.keys {
		r.byID[k.ID] = i
	}
	return nil
}

func (r *Registry) retire(s *Statement) error {
	for i, key := range s.Retire {
		k, ok := r.find(key)
		switch where := fmt.Sprintf("/retire/%d", i); {
		case !ok:
			return status(where, "a listed key", "one that was never listed")
		case k.Retired > 0:
			return status(where, "a key that is not retired", fmt.Sprintf("one that version %d retired", k.Retired))
		case k.Revoked > 0:
			return status(where, "a key that is not revoked", fmt.Sprintf("one that version %d revoked", k.Revoked))
		}
		k.Retired = s.Version
	}
	return nil
}

func (r *Registry) revoke(s *Statement, index uint64) error {
	for i, rev := range s.Revoke {
		k, ok := r.find(rev.Key)
		from := index
		if rev.HasFrom {
			from = min(from, rev.From)
		}
		switch where := fmt.Sprintf("/revoke/%d", i); {
		case !ok:
			return status(where, "a listed key", "one that was never listed")
		case k.Retired == s.Version:
			return status(where, "a key retired or revoked by one statement", "one that it does both to")
		case k.Role == Registrar && rev.HasFrom:
			return status(where+"/from", "no from: registrars are never revoked retroactively", strconv.FormatUint(rev.From, 10))
		case k.Revoked > 0 && from >= r.disownedFrom(*k):
			return status(where, fmt.Sprintf("a leaf before %d, from which the key is disowned already", r.disownedFrom(*k)), "leaf "+strconv.FormatUint(from, 10))
		}
		if k.Revoked == 0 {
			k.Revoked = s.Version
		}
		if rev.HasFrom {
			k.From, k.HasFrom = rev.From, true
		}
	}
	return nil
}

func status(where, expected, actual string) error {
	return &report.Error{Code: report.CodeRegistryStatus, Where: where, Expected: expected, Actual: actual}
}

// State returns the BLAKE3 digest of the canonical folded registry: {log,
// version, threshold, keys}, keys ascending by public key, each {key, name,
// role, added, ?retired, ?revoked: {version, ?from}}. It binds versions and no
// leaf index, since that is not known when a statement is signed.
func (r *Registry) State() [32]byte {
	keys := make(dagcbor.List, 0, len(r.keys))
	for _, k := range r.keys {
		m := dagcbor.Map{
			{Key: "key", Value: dagcbor.Bytes(k.Public)},
			{Key: "name", Value: dagcbor.Text(k.Name)},
			{Key: "role", Value: dagcbor.Text(string(k.Role))},
			{Key: "added", Value: dagcbor.Int(k.Added)},
		}
		if k.Retired > 0 {
			m = append(m, dagcbor.Entry{Key: "retired", Value: dagcbor.Int(k.Retired)})
		}
		if k.Revoked > 0 {
			v := dagcbor.Map{{Key: "version", Value: dagcbor.Int(k.Revoked)}}
			if k.HasFrom {
				v = append(v, dagcbor.Entry{Key: "from", Value: dagcbor.Int(k.From)})
			}
			m = append(m, dagcbor.Entry{Key: "revoked", Value: v})
		}
		keys = append(keys, m)
	}
	b, err := dagcbor.Encode(dagcbor.Map{
		{Key: "log", Value: dagcbor.Text(r.log)},
		{Key: "version", Value: dagcbor.Int(r.Version())},
		{Key: "threshold", Value: dagcbor.Int(r.threshold)},
		{Key: "keys", Value: keys},
	})
	if err != nil {
		// Every value came through DecodeStatement, whose bounds are tighter.
		panic("trust: " + err.Error())
	}
	return blake3.Sum256(b)
}

// NewGenesis makes version 0 with its state digest. It sorts add, and refuses
// what Genesis would; foreign are log and witness keys.
func NewGenesis(origin string, threshold int, add []Addition, foreign []ed25519.PublicKey) (*Statement, error) {
	s := &Statement{Log: origin, Threshold: threshold, Add: slices.Clone(add)}
	return (&Registry{log: origin, foreign: foreign}).complete(s, 0)
}

// Preview returns the registry that s would make, wherever it came to stand:
// what somebody looks at before he signs. It refuses what Apply would, and asks
// for no signature.
func (r *Registry) Preview(s *Statement) (*Registry, error) {
	if err := r.follows(s); err != nil {
		return nil, err
	}
	return r.preview(s)
}

// PreviewGenesis is Preview for version 0.
func PreviewGenesis(s *Statement, foreign []ed25519.PublicKey) (*Registry, error) {
	if s.Version != 0 {
		return nil, refuse(report.CodeRegistryVersion, "version 0", strconv.FormatUint(s.Version, 10))
	}
	return (&Registry{log: s.Log, foreign: foreign}).preview(s)
}

func (r *Registry) preview(s *Statement) (*Registry, error) {
	payload, err := s.Encode()
	if err != nil {
		return nil, err
	}
	next, err := r.fold(s, dagcbor.MaxInt)
	if err != nil {
		return nil, err
	}
	if digest := next.State(); digest != s.State {
		return nil, refuse(report.CodeRegistryState, fmt.Sprintf("%x", digest), fmt.Sprintf("%x", s.State))
	}
	next.heads = append(next.heads, dagcbor.Sum(payload))
	return next, nil
}

// Change is what the next version changes; sets in any order.
type Change struct {
	Threshold int // 0 keeps the present one
	Add       []Addition
	Retire    []PublicKey
	Revoke    []Revocation
}

// Next makes the statement that follows, with its state digest. It refuses
// what Apply would wherever the statement comes to stand.
func (r *Registry) Next(c Change) (*Statement, error) {
	if r.frozen != nil {
		return nil, r.isFrozen()
	}
	s := &Statement{
		Log: r.log, Version: r.Version() + 1, Prev: r.Head(), Threshold: c.Threshold,
		Add: slices.Clone(c.Add), Retire: slices.Clone(c.Retire), Revoke: slices.Clone(c.Revoke),
	}
	if s.Threshold == 0 {
		s.Threshold = r.threshold
	}
	return r.complete(s, dagcbor.MaxInt)
}

// complete sorts the sets of s, holds them against schema and rules, and fills
// in the state digest.
func (r *Registry) complete(s *Statement, index uint64) (*Statement, error) {
	slices.SortFunc(s.Add, func(a, b Addition) int { return a.Key.compare(b.Key) })
	slices.SortFunc(s.Retire, PublicKey.compare)
	slices.SortFunc(s.Revoke, func(a, b Revocation) int { return a.Key.compare(b.Key) })
	if _, err := s.Encode(); err != nil {
		return nil, err
	}
	next, err := r.fold(s, index)
	if err != nil {
		return nil, err
	}
	s.State = next.State()
	return s, nil
}
