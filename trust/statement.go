package trust

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"fmt"
	"strconv"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// Limits of the registry (spec/trust.md#limits). A statement is a DSSE payload
// and so at most dsse.MaxPayload bytes, which is room for more than 330 new
// keys with names of the greatest length; at most dsse.MaxSignatures
// signatures fit a leaf, which bounds the threshold. Together they keep the
// whole chain, as JSON with proofs, under 13 MiB, so that a bundle of 16 MiB
// has room for it and a receipt.
const (
	MaxKeys     = 4096    // keys that a registry ever lists
	MaxVersions = 2048    // statements, the genesis included
	MaxLeaves   = 4 << 20 // bytes of all registry leaves together
)

// PublicKey is an Ed25519 public key as it stands in a registry statement.
type PublicKey [ed25519.PublicKeySize]byte

// Statement is the payload of a registry leaf: what changes against the
// version before it (spec/trust.md#registry-statement).
type Statement struct {
	Log       string       // origin, a receipt.Name
	Version   uint64       // from 0
	Prev      dagcbor.CID  // statement CID of the version before; zero exactly for version 0
	Threshold int          // registrars that sign from here on
	Add       []Addition   // strictly ascending by Key; nil where absent
	Retire    []PublicKey  // strictly ascending; nil where absent
	Revoke    []Revocation // strictly ascending by Key; nil where absent
	State     [32]byte     // BLAKE3 of the canonical folded registry after this statement
}

// Addition lists a new key.
type Addition struct {
	Key  PublicKey
	Name string // the principal, a receipt.Name
	Role Role
}

// Revocation disowns what a key signed, from a leaf index on.
type Revocation struct {
	Key     PublicKey
	From    uint64
	HasFrom bool // false: from the leaf of this statement on
}

// DecodeStatement reads a registry payload: canonical form and schema. Errors
// name the path, such as "/add/1/name". Whether the statement follows from the
// version before it is for Genesis and Apply.
func DecodeStatement(payload []byte) (*Statement, error) {
	n, err := parsePayload(payload)
	if err != nil {
		return nil, err
	}
	d := schema{}
	s := &Statement{}
	f := d.fields(n, "", "log", "version", "prev", "threshold", "add", "retire", "revoke", "state")
	s.Log = d.text(f, "", "log", verdict.ValidName, "a name of 1 to 128 bytes from [A-Za-z0-9._/@:+-]")
	s.Version = d.count(f, "", "version")
	s.Threshold = d.threshold(f)
	copy(s.State[:], d.bytes32(f, "", "state"))
	s.Prev = d.link(f, "prev")
	if f["add"].present {
		s.Add = d.additions(f["add"].node)
	}
	if f["retire"].present {
		for i, k := range d.set(f["retire"].node, "/retire") {
			s.Retire = append(s.Retire, d.publicKey(k, fmt.Sprintf("/retire/%d", i)))
		}
		ascending(&d, "/retire", s.Retire, func(k PublicKey) PublicKey { return k })
	}
	if f["revoke"].present {
		s.Revoke = d.revocations(f["revoke"].node)
	}
	if d.err == nil {
		d.genesisForm(s)
	}
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

func (d *schema) threshold(f map[string]field) int {
	n := d.count(f, "", "threshold")
	if n > dsse.MaxSignatures {
		d.refuse("/threshold", fmt.Sprintf("at most %d", dsse.MaxSignatures), strconv.FormatUint(n, 10))
		return 0
	}
	return int(n)
}

func (d *schema) additions(n dagcbor.Node) []Addition {
	var out []Addition
	for i, item := range d.set(n, "/add") {
		path := fmt.Sprintf("/add/%d", i)
		f := d.fields(item, path, "key", "name", "role")
		a := Addition{Name: d.text(f, path, "name", verdict.ValidName, "a name of 1 to 128 bytes from [A-Za-z0-9._/@:+-]")}
		copy(a.Key[:], d.bytes32(f, path, "key"))
		role := d.text(f, path, "role", func(s string) bool { _, ok := ParseRole(s); return ok }, "engine, approver or registrar")
		a.Role, _ = ParseRole(role)
		out = append(out, a)
	}
	ascending(d, "/add", out, func(a Addition) PublicKey { return a.Key })
	return out
}

func (d *schema) revocations(n dagcbor.Node) []Revocation {
	var out []Revocation
	for i, item := range d.set(n, "/revoke") {
		path := fmt.Sprintf("/revoke/%d", i)
		f := d.fields(item, path, "key", "from")
		var r Revocation
		copy(r.Key[:], d.bytes32(f, path, "key"))
		if f["from"].present {
			r.HasFrom, r.From = true, d.count(f, path, "from")
		}
		out = append(out, r)
	}
	ascending(d, "/revoke", out, func(r Revocation) PublicKey { return r.Key })
	return out
}

// genesisForm holds what differs between version 0 and every later one.
func (d *schema) genesisForm(s *Statement) {
	switch {
	case s.Version == 0 && !s.Prev.IsZero():
		d.refuse("/prev", "no prev in version 0", s.Prev.String())
	case s.Version > 0 && s.Prev.IsZero():
		d.refuse("/prev", "the statement before", "none")
	case s.Version == 0 && s.Retire != nil:
		d.refuse("/retire", "nothing to retire in version 0", strconv.Itoa(len(s.Retire)))
	case s.Version == 0 && s.Revoke != nil:
		d.refuse("/revoke", "nothing to revoke in version 0", strconv.Itoa(len(s.Revoke)))
	}
}

// Encode returns the canonical payload; it refuses what DecodeStatement would.
func (s *Statement) Encode() ([]byte, error) {
	m := dagcbor.Map{
		{Key: "log", Value: dagcbor.Text(s.Log)},
		{Key: "version", Value: dagcbor.Int(s.Version)},
		{Key: "threshold", Value: dagcbor.Int(s.Threshold)},
		{Key: "state", Value: dagcbor.Bytes(s.State[:])},
	}
	if !s.Prev.IsZero() {
		m = append(m, dagcbor.Entry{Key: "prev", Value: s.Prev.Link()})
	}
	if s.Add != nil {
		var l dagcbor.List
		for _, a := range s.Add {
			l = append(l, dagcbor.Map{
				{Key: "key", Value: dagcbor.Bytes(a.Key[:])},
				{Key: "name", Value: dagcbor.Text(a.Name)},
				{Key: "role", Value: dagcbor.Text(string(a.Role))},
			})
		}
		m = append(m, dagcbor.Entry{Key: "add", Value: l})
	}
	if s.Retire != nil {
		var l dagcbor.List
		for _, k := range s.Retire {
			l = append(l, dagcbor.Bytes(k[:]))
		}
		m = append(m, dagcbor.Entry{Key: "retire", Value: l})
	}
	if s.Revoke != nil {
		var l dagcbor.List
		for _, r := range s.Revoke {
			e := dagcbor.Map{{Key: "key", Value: dagcbor.Bytes(r.Key[:])}}
			if r.HasFrom {
				e = append(e, dagcbor.Entry{Key: "from", Value: dagcbor.Int(r.From)})
			}
			l = append(l, e)
		}
		m = append(m, dagcbor.Entry{Key: "revoke", Value: l})
	}
	b, err := dagcbor.Encode(m)
	if err != nil {
		return nil, err
	}
	back, err := DecodeStatement(b)
	if err != nil {
		return nil, err
	}
	if !s.same(back) {
		return nil, &report.Error{Code: report.CodeRegistrySchema, Expected: "a statement that reads back as it was written", Actual: "another"}
	}
	return b, nil
}

// same compares every field by value; it catches integers that wrapped.
func (s *Statement) same(o *Statement) bool {
	eq := s.Log == o.Log && s.Version == o.Version && s.Prev == o.Prev && s.Threshold == o.Threshold &&
		s.State == o.State && len(s.Add) == len(o.Add) && len(s.Retire) == len(o.Retire) && len(s.Revoke) == len(o.Revoke)
	for i := 0; eq && i < len(s.Add); i++ {
		eq = s.Add[i] == o.Add[i]
	}
	for i := 0; eq && i < len(s.Retire); i++ {
		eq = s.Retire[i] == o.Retire[i]
	}
	for i := 0; eq && i < len(s.Revoke); i++ {
		eq = s.Revoke[i] == o.Revoke[i]
	}
	return eq
}

// compare orders keys bytewise.
func (k PublicKey) compare(o PublicKey) int { return bytes.Compare(k[:], o[:]) }

// SignStatement makes the envelope of s, one signature a registrar.
func SignStatement[K crypto.Signer](s *Statement, registrars ...K) (*dsse.Envelope, error) {
	payload, err := s.Encode()
	if err != nil {
		return nil, err
	}
	return dsse.SignMany(dsse.RegistryType, payload, registrars...)
}
