package trust

import (
	"crypto"
	"crypto/ed25519"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// Freeze is the payload of the last leaf of a log (spec/trust.md#freeze): it
// ends the log, and may name the one that goes on.
type Freeze struct {
	Log      string      // origin of the log that ends
	Registry dagcbor.CID // statement CID of the head of its registry
	Heir     *Heir       // nil: nobody goes on, so far
}

// Heir is the log that goes on, as the registrars of its predecessor know it.
type Heir struct {
	Log     string      // its origin, another one
	Key     PublicKey   // that signs its checkpoints
	Genesis dagcbor.CID // statement CID of its leaf 0
}

// Frozen is a freeze at its place.
type Frozen struct {
	Freeze
	Leaf      uint64
	Statement dagcbor.CID
}

// DecodeFreeze reads the payload of a freeze: canonical form and schema.
func DecodeFreeze(payload []byte) (*Freeze, error) {
	n, err := parsePayload(payload)
	if err != nil {
		return nil, err
	}
	d := schema{}
	z := &Freeze{}
	f := d.fields(n, "", "log", "registry", "successor")
	z.Log = d.origin(f, "", "log")
	z.Registry = d.needLink(f, "", "registry")
	if f["successor"].present {
		h := d.fields(f["successor"].node, "/successor", "log", "key", "genesis")
		z.Heir = &Heir{Log: d.origin(h, "/successor", "log"), Genesis: d.needLink(h, "/successor", "genesis")}
		copy(z.Heir.Key[:], d.bytes32(h, "/successor", "key"))
		if d.err == nil && z.Heir.Log == z.Log {
			d.refuse("/successor/log", "another log", strconv.Quote(z.Log))
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	return z, nil
}

// Encode returns the canonical payload; it refuses what DecodeFreeze would.
func (z *Freeze) Encode() ([]byte, error) {
	m := dagcbor.Map{{Key: "log", Value: dagcbor.Text(z.Log)}, {Key: "registry", Value: z.Registry.Link()}}
	if z.Heir != nil {
		m = append(m, dagcbor.Entry{Key: "successor", Value: dagcbor.Map{
			{Key: "log", Value: dagcbor.Text(z.Heir.Log)},
			{Key: "key", Value: dagcbor.Bytes(z.Heir.Key[:])},
			{Key: "genesis", Value: z.Heir.Genesis.Link()},
		}})
	}
	b, err := dagcbor.Encode(m)
	if err != nil {
		return nil, err
	}
	_, err = DecodeFreeze(b)
	return b, err
}

// SignFreeze makes the envelope of z, one signature a registrar.
func SignFreeze[K crypto.Signer](z *Freeze, registrars ...K) (*dsse.Envelope, error) {
	payload, err := z.Encode()
	if err != nil {
		return nil, err
	}
	return dsse.SignMany(dsse.FreezeType, payload, registrars...)
}

// Freeze makes the statement that ends the log as its registry stands now; heir
// is nil where nobody goes on yet. Of a log that is frozen and names nobody it
// makes the statement that names somebody beside the log.
func (r *Registry) Freeze(heir *Heir) (*Freeze, error) {
	z := &Freeze{Log: r.log, Registry: r.Head(), Heir: heir}
	if _, err := z.Encode(); err != nil {
		return nil, err
	}
	_, err := r.PreviewFreeze(z)
	return z, err
}

// PreviewFreeze returns the registry as z would end it, whoever signs it and
// wherever it stands, and holds every rule but those of signatures and place.
func (r *Registry) PreviewFreeze(z *Freeze) (*Registry, error) {
	open := r
	if z.Heir != nil {
		var err error
		if open, err = r.reopened(); err != nil {
			return nil, err
		}
	}
	if err := open.freezes(z); err != nil {
		return nil, err
	}
	next := open.clone()
	next.frozen = &Frozen{Freeze: *z, Leaf: dagcbor.MaxInt}
	return next, nil
}

// reopened returns r as it was before a leaf froze it that names nobody: who goes
// on can be named beside it.
func (r *Registry) reopened() (*Registry, error) {
	switch {
	case r.frozen == nil:
		return r, nil
	case r.frozen.Heir != nil:
		return nil, r.isFrozen() // its registrars have said who goes on
	}
	open := r.clone()
	open.frozen = nil
	return open, nil
}

// Endorsed verifies a freeze in DSSE JSON that stands in no log, by the registrars
// of r, and returns the log that it names. It is how registrars say who goes on where the
// log can take no leaf any more: its key is lost, or it was frozen before they
// knew.
func (r *Registry) Endorsed(l *dsse.Loose) (*Heir, error) {
	if l.Type != dsse.FreezeType {
		return nil, refuse(report.CodeRegistryType, dsse.FreezeType, l.Type)
	}
	open, err := r.reopened()
	if err != nil {
		return nil, err
	}
	env, err := Bind(l, open)
	if err != nil {
		return nil, err
	}
	after, err := open.applyFreeze(env, dagcbor.MaxInt)
	if err != nil {
		return nil, err
	}
	if after.frozen.Heir == nil {
		return nil, refuse(report.CodeSuccessionOpen, "a freeze that names who goes on", "one that does not")
	}
	return after.frozen.Heir, nil
}

// Frozen returns the freeze, if there is one.
func (r *Registry) Frozen() (Frozen, bool) {
	if r.frozen == nil {
		return Frozen{}, false
	}
	return *r.frozen, true
}

// applyFreeze verifies a freeze that stands at leaf index and ends the registry.
func (r *Registry) applyFreeze(env *dsse.Envelope, index uint64) (*Registry, error) {
	z, err := DecodeFreeze(env.Payload)
	if err != nil {
		return nil, err
	}
	if err := r.freezes(z); err != nil {
		return nil, err
	}
	if err := r.behind(index); err != nil {
		return nil, err
	}
	next := r.clone()
	next.frozen = &Frozen{Freeze: *z, Leaf: index, Statement: dagcbor.Sum(env.Payload)}
	// A registry at its limits can be frozen all the same.
	if err := r.signed(env, next); err != nil {
		return nil, err
	}
	return next, nil
}

// freezes holds a freeze against the head.
func (r *Registry) freezes(z *Freeze) error {
	switch {
	case r.frozen != nil:
		return r.isFrozen()
	case z.Log != r.log:
		return refuse(report.CodeRegistryLog, r.log, z.Log)
	case z.Registry != r.Head():
		return refuse(report.CodeRegistryPrev, r.Head().String(), z.Registry.String())
	case z.Heir == nil:
		return nil
	}
	if err := dsse.CheckPublicKey(z.Heir.Key[:]); err != nil {
		return &report.Error{Code: report.CodeRegistryKeyWeak, Where: "/successor/key", Expected: "a canonical Ed25519 public key not of small order", Actual: err.Error()}
	}
	_, listed := r.find(z.Heir.Key)
	foreign := slices.ContainsFunc(r.foreign, func(f ed25519.PublicKey) bool { return string(f) == string(z.Heir.Key[:]) })
	if listed || foreign {
		return &report.Error{Code: report.CodeRegistryKeyForeign, Where: "/successor/key", Expected: "a key that is nobody's here", Actual: fmt.Sprintf("%x", z.Heir.Key)}
	}
	return nil
}

func (r *Registry) isFrozen() error {
	fix := ""
	if h := r.frozen.Heir; h != nil {
		fix = "the log that goes on is " + h.Log
	}
	return &report.Error{Code: report.CodeLogFrozen, Expected: fmt.Sprintf("nothing behind leaf %d, which froze the log", r.frozen.Leaf), Actual: "more", Fix: fix}
}

// behind refuses a place that is not behind the last statement.
func (r *Registry) behind(index uint64) error {
	if r.frozen != nil {
		return r.isFrozen()
	}
	last := r.leaves[len(r.leaves)-1]
	if r.predecessor != nil {
		last = max(last, successorLeaf)
	}
	if index <= last {
		return refuse(report.CodeRegistryPlace, fmt.Sprintf("a leaf behind %d", last), "leaf "+strconv.FormatUint(index, 10))
	}
	return nil
}

// origin reads the name of a log, which is a note's key name too.
func (d *schema) origin(f map[string]field, path, name string) string {
	return d.text(f, path, name, func(s string) bool { return verdict.ValidName(s) && !strings.Contains(s, "+") }, originForm)
}

func (d *schema) needLink(f map[string]field, path, name string) dagcbor.CID {
	n, ok := d.need(f, path, name, dagcbor.KindLink)
	if !ok {
		return dagcbor.CID{}
	}
	cid, err := dagcbor.CIDFromBytes(n.Link())
	if err != nil {
		d.refuse(path+"/"+name, "a CIDv1 of dag-cbor and BLAKE3-256", err.Error())
	}
	return cid
}

// parsePayload reads the canonical form of any statement of a registry.
func parsePayload(payload []byte) (dagcbor.Node, error) {
	if len(payload) > dsse.MaxPayload {
		return dagcbor.Node{}, &report.Error{Code: report.CodeRegistryLimit, Expected: fmt.Sprintf("at most %d bytes", dsse.MaxPayload), Actual: strconv.Itoa(len(payload))}
	}
	return dagcbor.Parse(payload)
}
