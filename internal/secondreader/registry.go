package secondreader

import (
	"bytes"
	"slices"

	"github.com/zeebo/blake3"
)

// This file is trust.md#registry.

type listed struct {
	pub              []byte
	name, role       string
	added, retired   int64
	revoked          int64
	from             int64 // stated by a revocation; -1: none
	addedAt          uint64
	endedAt          uint64 // leaf of the retirement or first revocation
	disownedFrom     uint64
	ended, disclaims bool
}

type registry struct {
	log       string
	version   int64
	threshold int64
	keys      []listed
	heads     []string // statement CIDs
	leaves    []uint64
	from      *final // what its leaf 1 says; nil where nothing does
	frozen    *ending
}

func (r *registry) head() string { return r.heads[len(r.heads)-1] }

func (r *registry) find(match func(listed) bool) *listed {
	for i := range r.keys {
		if match(r.keys[i]) {
			return &r.keys[i]
		}
	}
	return nil
}

func (r *registry) byID(id []byte) *listed {
	return r.find(func(k listed) bool { return bytes.Equal(keyID(k.pub), id) })
}

func (r *registry) byKey(pub []byte) *listed {
	return r.find(func(k listed) bool { return bytes.Equal(k.pub, pub) })
}

// signedBy binds the signatures of an envelope to registrars before or after.
// In DSSE JSON candidates are tried; in a leaf the key is named.
func (r *registry) candidates(add []listed) (out [][]byte) {
	for _, k := range append(slices.Clone(r.keys), add...) {
		if k.role == "registrar" && !k.ended {
			out = append(out, k.pub)
		}
	}
	return out
}

var registryForm = func(version int64) fields {
	registrySet := func(each rule, key func(item) []byte) rule { return set(each, key) }
	pub, name, count := size(32), textOf("x", isName), atLeast(0)
	f := fields{
		"log": name, "version": count, "state": size(32),
		"threshold": func(v item) refusal {
			if n, is := v.(int64); !is || n < 0 || n > 13 {
				return "x"
			}
			return ""
		},
		"?add": registrySet(fields{"key": pub, "name": name, "role": word("engine", "approver", "registrar")}.rule, by("key")),
	}
	if version > 0 {
		f["prev"] = aLink
		f["?retire"] = registrySet(pub, bytesOf)
		f["?revoke"] = registrySet(fields{"key": pub, "?from": count}.rule, by("key"))
	}
	return f
}

// additions reads the keys that a statement adds.
func additions(d *dict, version int64) (out []listed) {
	l, _ := d.m["add"].(list)
	for _, x := range l {
		a := x.(*dict).m
		out = append(out, listed{pub: a["key"].([]byte), name: a["name"].(string), role: a["role"].(string), added: version, from: -1})
	}
	return out
}

func registrySchema(payload []byte) (*dict, refusal) {
	v, err := block(payload)
	if err != "" {
		return nil, err
	}
	d, is := v.(*dict)
	if !is {
		return nil, "REGISTRY-SCHEMA"
	}
	version, _ := d.m["version"].(int64)
	if registryForm(version).rule(d) != "" {
		return nil, "REGISTRY-SCHEMA"
	}
	return d, ""
}

// bind finds who made each signature of a statement in DSSE JSON.
func (r *registry) bind(e *signed) refusal {
	var added []listed
	switch {
	case e.typ == registryType:
		d, err := registrySchema(e.payload)
		if err != "" {
			return err
		}
		added = additions(d, d.m["version"].(int64))
	case !ofRegistry(e.typ) || len(r.heads) == 0:
		return "REGISTRY-TYPE"
	}
	for i := range e.sigs {
		for _, pub := range r.candidates(added) {
			if e.holds(pub, i) {
				e.sigs[i].by = keyID(pub)
			}
		}
		if e.sigs[i].by == nil {
			return "SIGNATURE-NO-KEY"
		}
		for j := range i {
			if bytes.Equal(e.sigs[j].by, e.sigs[i].by) {
				return "DSSE-SIGNATURE-DUPLICATE"
			}
		}
	}
	return ""
}

// follow folds the statement of a bound envelope at a leaf. pin is the CID of
// version 0; foreign are keys of the caller's policy.
func (r *registry) follow(e *signed, leaf uint64, origin, pin string, foreign [][]byte) (*registry, refusal) {
	first := len(r.heads) == 0
	switch {
	case e.typ == freezeType && !first:
		return r.freeze(e, leaf, foreign)
	case e.typ == successorType && !first:
		return r.succeed(e, leaf)
	case e.typ != registryType:
		return nil, "REGISTRY-TYPE"
	}
	name := cid(e.payload)
	if first && name != pin {
		return nil, "REGISTRY-PIN"
	}
	d, err := registrySchema(e.payload)
	if err != "" {
		return nil, err
	}
	next := &registry{log: origin, version: r.version + 1, threshold: d.m["threshold"].(int64), keys: slices.Clone(r.keys), from: r.from}
	prev, _ := d.m["prev"].(link)
	switch {
	case r.frozen != nil:
		return nil, "LOG-FROZEN"
	case first && leaf != 0:
		return nil, "REGISTRY-PLACE"
	case d.m["log"].(string) != origin:
		return nil, "REGISTRY-LOG"
	case !first && cidText(prev) != r.head():
		return nil, "REGISTRY-PREV"
	case d.m["version"].(int64) != next.version:
		return nil, "REGISTRY-VERSION"
	}
	if !first {
		if err := r.behind(leaf); err != "" {
			return nil, err
		}
	}
	if err := next.fold(d, leaf, foreign); err != "" {
		return nil, err
	}
	if state := next.state(); !bytes.Equal(state, d.m["state"].([]byte)) {
		return nil, "REGISTRY-STATE"
	}
	next.heads, next.leaves = append(slices.Clone(r.heads), name), append(slices.Clone(r.leaves), leaf)
	return next, r.quorum(next, e)
}

func (r *registry) quorum(next *registry, e *signed) refusal {
	var before, after int64
	for i, s := range e.sigs {
		registrar := func(g *registry) *listed {
			if k := g.byID(s.by); k != nil && k.role == "registrar" && !k.ended {
				return k
			}
			return nil
		}
		a, b := registrar(r), registrar(next)
		k := a
		if k == nil {
			k = b
		}
		switch {
		case k == nil:
			return "REGISTRY-SIGNER"
		case !e.holds(k.pub, i):
			return "SIGNATURE-INVALID"
		}
		if a != nil {
			before++
		}
		if b != nil {
			after++
		}
	}
	if len(r.heads) > 0 && before < r.threshold || after < next.threshold {
		return "REGISTRY-QUORUM"
	}
	return ""
}

// fold applies what a statement changes and holds the rules.
func (r *registry) fold(d *dict, leaf uint64, foreign [][]byte) refusal {
	const status = refusal("REGISTRY-STATUS")
	retire, _ := d.m["retire"].(list)
	revoke, _ := d.m["revoke"].(list)
	for _, x := range retire {
		k := r.byKey(x.([]byte))
		if k == nil || k.ended {
			return status
		}
		k.retired, k.ended, k.endedAt = r.version, true, leaf
	}
	for _, x := range revoke {
		v := x.(*dict)
		from, stated := v.m["from"].(int64)
		k := r.byKey(v.m["key"].([]byte))
		if k == nil || k.retired == r.version || k.role == "registrar" && stated {
			return status
		}
		disowned := leaf
		if stated {
			disowned = min(leaf, uint64(from))
		}
		if k.revoked > 0 && disowned >= k.disownedFrom {
			return status
		}
		if k.revoked == 0 {
			k.revoked = r.version
		}
		if !k.ended {
			k.ended, k.endedAt = true, leaf
		}
		if stated {
			k.from = from
		}
		k.disclaims, k.disownedFrom = true, disowned
	}
	for _, a := range additions(d, r.version) {
		switch {
		case !soundKey(a.pub):
			return "REGISTRY-KEY-WEAK"
		case slices.ContainsFunc(foreign, func(f []byte) bool { return bytes.Equal(f, a.pub) }):
			return "REGISTRY-KEY-FOREIGN"
		case r.byKey(a.pub) != nil:
			return "REGISTRY-KEY-REUSED"
		case r.find(func(k listed) bool {
			return k.name == a.name && k.role != a.role && k.role != "registrar" && a.role != "registrar"
		}) != nil:
			return "REGISTRY-ROLE"
		}
		a.addedAt = leaf
		r.keys = append(r.keys, a)
	}
	var can int64
	for _, k := range r.keys {
		if k.role == "registrar" && !k.ended {
			can++
		}
	}
	if r.threshold < 1 || r.threshold > can {
		return "REGISTRY-THRESHOLD"
	}
	return ""
}

// state is BLAKE3 of the folded registry, written as canonical DAG-CBOR.
func (r *registry) state() []byte {
	slices.SortFunc(r.keys, func(a, b listed) int { return bytes.Compare(a.pub, b.pub) })
	out := slices.Concat(head(5, 4), encText("log"), encText(r.log), encText("keys"), head(4, len(r.keys)))
	for _, k := range r.keys {
		n := 4
		for _, has := range []bool{k.retired > 0, k.revoked > 0} {
			if has {
				n++
			}
		}
		out = slices.Concat(out, head(5, n), encText("key"), encBytes(k.pub), encText("name"), encText(k.name), encText("role"), encText(k.role), encText("added"), head(0, int(k.added)))
		if k.retired > 0 {
			out = slices.Concat(out, encText("retired"), head(0, int(k.retired)))
		}
		if k.revoked > 0 {
			out = append(out, encText("revoked")...)
			if k.from >= 0 {
				out = slices.Concat(out, head(5, 2), encText("from"), head(0, int(k.from)))
			} else {
				out = append(out, head(5, 1)...)
			}
			out = slices.Concat(out, encText("version"), head(0, int(k.revoked)))
		}
	}
	sum := blake3.Sum256(slices.Concat(out, encText("version"), head(0, int(r.version)), encText("threshold"), head(0, int(r.threshold))))
	return sum[:]
}

// listedAt: added before the leaf, and neither retired nor revoked before it.
func (k *listed) listedAt(leaf uint64) bool {
	return k.addedAt < leaf && !(k.ended && k.endedAt < leaf)
}

func (k *listed) disownedAt(leaf uint64) bool { return k.disclaims && k.disownedFrom <= leaf }
