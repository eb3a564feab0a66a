package corpusgen

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"slices"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/testlog"
)

func sha256Of(parts ...[]byte) [32]byte { return sha256.Sum256(slices.Concat(parts...)) }

// registry is a registry under construction, by the page and not by package
// trust: it folds whatever it is told, so that statements that break a rule can
// have a right state digest.
type registry struct {
	b         *builder
	log       *testlog.Log
	origin    string
	version   int
	threshold int
	keys      []listedKey
	chain     []bundle.RegistryLeaf // without proofs
	last      []byte                // payload
}

type listedKey struct {
	key            []byte
	name, role     string
	added, retired int
	revoked        int
	from           int // -1: none
}

// change is the next statement; what is zero is as it should be.
type change struct {
	origin    string
	version   int // 0: the next
	prev      dagcbor.Value
	threshold int
	add       []listedKey
	retire    [][]byte
	revoke    []revocation
	edit      func(m) m // of the finished map, its state digest included
	signers   []string  // labels; nil: both registrars
}

type revocation struct {
	key  []byte
	from int // -1: none
}

func key(label, role string) listedKey { return listedKey{key: public(label), name: label, role: role} }

// newRegistry begins as every log of testlog does.
func (b *builder) newRegistry() *registry {
	r := &registry{b: b, log: testlog.Bare(b.t), origin: testlog.Origin, threshold: 2, version: -1}
	r.next(change{add: []listedKey{key("registrar-1", "registrar"), key("registrar-2", "registrar"), key("engine", "engine"), key("approver", "approver")}})
	if got := cidOf(r.last); got != b.world.log.Genesis.String() {
		b.t.Fatalf("the genesis by the page is %s, and that of testlog %s", got, b.world.log.Genesis)
	}
	return r
}

// state is the digest of the folded registry.
func (r *registry) state() dagcbor.Value {
	slices.SortFunc(r.keys, func(a, b listedKey) int { return bytes.Compare(a.key, b.key) })
	list := make(l, len(r.keys))
	for i, k := range r.keys {
		entry := m{{Key: "key", Value: dagcbor.Bytes(k.key)}, {Key: "name", Value: s(k.name)}, {Key: "role", Value: s(k.role)}, {Key: "added", Value: n(k.added)}}
		if k.retired > 0 {
			entry = append(entry, dagcbor.Entry{Key: "retired", Value: n(k.retired)})
		}
		if k.revoked > 0 {
			v := m{{Key: "version", Value: n(k.revoked)}}
			if k.from >= 0 {
				v = append(v, dagcbor.Entry{Key: "from", Value: n(k.from)})
			}
			entry = append(entry, dagcbor.Entry{Key: "revoked", Value: v})
		}
		list[i] = entry
	}
	sum := blake3.Sum256(encode(r.b.t, m{
		{Key: "log", Value: s(r.origin)}, {Key: "version", Value: n(r.version)}, {Key: "threshold", Value: n(r.threshold)}, {Key: "keys", Value: list},
	}))
	return dagcbor.Bytes(sum[:])
}

// payload folds a change and returns its statement.
func (r *registry) payload(c change) []byte {
	r.version++
	if c.version != 0 {
		r.version = c.version
	}
	if c.threshold != 0 {
		r.threshold = c.threshold
	}
	out := m{{Key: "log", Value: s(r.origin)}, {Key: "version", Value: n(r.version)}, {Key: "threshold", Value: n(r.threshold)}}
	if c.origin != "" {
		out[0].Value = s(c.origin)
		r.origin = c.origin
	}
	switch {
	case c.prev != nil:
		out = append(out, dagcbor.Entry{Key: "prev", Value: c.prev})
	case r.last != nil:
		out = append(out, dagcbor.Entry{Key: "prev", Value: linkTo(r.last)})
	}
	ascending := func(a, b []byte) int { return bytes.Compare(a, b) }
	slices.SortFunc(c.add, func(a, b listedKey) int { return ascending(a.key, b.key) })
	slices.SortFunc(c.retire, ascending)
	slices.SortFunc(c.revoke, func(a, b revocation) int { return ascending(a.key, b.key) })
	var add, retire, revoke l
	for _, k := range c.retire {
		retire = append(retire, dagcbor.Bytes(k))
		for i := range r.keys {
			if bytes.Equal(r.keys[i].key, k) {
				r.keys[i].retired = r.version
			}
		}
	}
	for _, v := range c.revoke {
		item := m{{Key: "key", Value: dagcbor.Bytes(v.key)}}
		if v.from >= 0 {
			item = append(item, dagcbor.Entry{Key: "from", Value: n(v.from)})
		}
		revoke = append(revoke, item)
		for i := range r.keys {
			if k := &r.keys[i]; bytes.Equal(k.key, v.key) {
				if k.revoked == 0 {
					k.revoked, k.from = r.version, -1
				}
				if v.from >= 0 {
					k.from = v.from
				}
			}
		}
	}
	for _, k := range c.add {
		add = append(add, m{{Key: "key", Value: dagcbor.Bytes(k.key)}, {Key: "name", Value: s(k.name)}, {Key: "role", Value: s(k.role)}})
		k.added, k.from = r.version, -1
		r.keys = append(r.keys, k)
	}
	for _, set := range []struct {
		name string
		list l
	}{{"add", add}, {"retire", retire}, {"revoke", revoke}} {
		if set.list != nil {
			out = append(out, dagcbor.Entry{Key: set.name, Value: set.list})
		}
	}
	out = append(out, dagcbor.Entry{Key: "state", Value: r.state()})
	if c.edit != nil {
		out = c.edit(out)
	}
	r.last = encode(r.b.t, out)
	return r.last
}

func linkTo(block []byte) dagcbor.Value { return dagcbor.Sum(block).Link() }

// next appends the leaf of a change, and returns its index.
func (r *registry) next(c change) uint64 {
	if c.signers == nil {
		c.signers = []string{"registrar-1", "registrar-2"}
	}
	return r.append(r.payload(c), c.signers...)
}

// append signs a payload as a registry statement.
func (r *registry) append(payload []byte, signers ...string) uint64 {
	r.b.t.Helper()
	keys := make([]ed25519.PrivateKey, len(signers))
	for i, label := range signers {
		keys[i] = testlog.Key(label)
	}
	return r.appendAs(dsse.RegistryType, payload, keys...)
}

// appendAs signs a payload of any type, and takes it into the chain.
func (r *registry) appendAs(payloadType string, payload []byte, keys ...ed25519.PrivateKey) uint64 {
	r.b.t.Helper()
	env, err := dsse.SignMany(payloadType, payload, keys...)
	if err != nil {
		r.b.t.Fatal(err)
	}
	index := r.log.Append(env)
	r.chain = append(r.chain, bundle.RegistryLeaf{Envelope: env.JSON(), Index: index})
	return index
}

// receipt appends a signed example.
func (r *registry) receipt(example, label string) uint64 {
	return r.log.Append(r.b.sign(r.b.resigned(example, label), label))
}

// proven is the chain below a size with its proofs there.
func (r *registry) proven(size uint64) []bundle.RegistryLeaf {
	var out []bundle.RegistryLeaf
	for _, leaf := range r.chain {
		if leaf.Index < size {
			leaf.Proof = r.log.Proof(leaf.Index, size)
			out = append(out, leaf)
		}
	}
	return out
}

// bundleOf is the bundle of a leaf in the tree of size, with the chain.
func (r *registry) bundleOf(index, size uint64) *bundle.Bundle {
	x := r.log.Bundle(index, size)
	x.Registry = r.proven(size)
	return x
}
