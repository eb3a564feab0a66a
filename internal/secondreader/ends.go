package secondreader

import (
	"bytes"
	"slices"
	"strings"
)

// This file is trust.md#freeze and trust.md#successor.

const (
	freezeType    = "application/vnd.obstat.freeze.v1+cbor"
	successorType = "application/vnd.obstat.successor.v1+cbor"
)

// ofRegistry says which types are part of a registry.
func ofRegistry(typ string) bool {
	return typ == registryType || typ == freezeType || typ == successorType
}

// ending is a freeze at its place.
type ending struct {
	leaf      uint64
	statement string
	heir      *heir // nil: it names nobody
}

var logName = textOf("x", func(s string) bool { return isName(s) && !strings.Contains(s, "+") })

// shaped reads a payload that has to be of a form.
func shaped(payload []byte, form fields) (*dict, refusal) {
	v, err := block(payload)
	if err != "" {
		return nil, err
	}
	d, is := v.(*dict)
	if !is || form.rule(d) != "" {
		return nil, "REGISTRY-SCHEMA"
	}
	return d, ""
}

// behind says what is wrong with a place for the next leaf of the registry.
func (r *registry) behind(leaf uint64) refusal {
	last := r.leaves[len(r.leaves)-1]
	if r.from != nil {
		last = max(last, 1)
	}
	switch {
	case r.frozen != nil:
		return "LOG-FROZEN"
	case leaf <= last:
		return "REGISTRY-PLACE"
	}
	return ""
}

// freeze ends the registry.
func (r *registry) freeze(e *signed, leaf uint64, foreign [][]byte) (*registry, refusal) {
	d, err := shaped(e.payload, fields{
		"log": logName, "registry": aLink,
		"?successor": fields{"log": logName, "key": size(32), "genesis": aLink}.rule,
	})
	if err != "" {
		return nil, err
	}
	heirOf, named := d.m["successor"].(*dict)
	if named && heirOf.m["log"] == d.m["log"] {
		return nil, "REGISTRY-SCHEMA"
	}
	switch {
	case r.frozen != nil:
		return nil, "LOG-FROZEN"
	case d.m["log"].(string) != r.log:
		return nil, "REGISTRY-LOG"
	case cidText(d.m["registry"].(link)) != r.head():
		return nil, "REGISTRY-PREV"
	}
	if named {
		key := heirOf.m["key"].([]byte)
		switch {
		case !soundKey(key):
			return nil, "REGISTRY-KEY-WEAK"
		case r.byKey(key) != nil, slices.ContainsFunc(foreign, func(f []byte) bool { return bytes.Equal(f, key) }):
			return nil, "REGISTRY-KEY-FOREIGN"
		}
	}
	if err := r.behind(leaf); err != "" {
		return nil, err
	}
	next := *r
	next.frozen = &ending{leaf: leaf, statement: cid(e.payload)}
	if named {
		next.frozen.heir = &heir{heirOf.m["log"].(string), cidText(heirOf.m["genesis"].(link)), heirOf.m["key"].([]byte)}
	}
	return &next, r.quorum(&next, e)
}

// succeed notes which log this one goes on from.
func (r *registry) succeed(e *signed, leaf uint64) (*registry, refusal) {
	d, err := shaped(e.payload, fields{
		"log": logName, "checkpoint": func(v item) refusal {
			if _, is := v.([]byte); !is {
				return "x"
			}
			return ""
		},
		"predecessor": fields{"log": logName, "size": atLeast(0), "root": size(32), "registry": aLink}.rule,
	})
	if err != "" {
		return nil, err
	}
	was := d.m["predecessor"].(*dict).m
	n, err := readNote(d.m["checkpoint"].([]byte))
	if err != "" {
		return nil, "REGISTRY-SCHEMA"
	}
	h, err := readHead(n.text)
	if err != "" || was["log"] == d.m["log"] || h.size == 0 || h.origin != was["log"].(string) || h.size != uint64(was["size"].(int64)) || !bytes.Equal(h.root, was["root"].([]byte)) {
		return nil, "REGISTRY-SCHEMA"
	}
	switch {
	case d.m["log"].(string) != r.log:
		return nil, "REGISTRY-LOG"
	case leaf != 1 || len(r.heads) > 1 || r.from != nil:
		return nil, "REGISTRY-PLACE"
	}
	if err := r.behind(leaf); err != "" {
		return nil, err
	}
	next := *r
	next.from = &final{h.origin, string(h.root), cidText(was["registry"].(link)), h.size}
	return &next, r.quorum(&next, e)
}

// goesOn says that a tree has leaves behind the one that froze the log.
func (r *registry) goesOn(size uint64) refusal {
	if r.frozen != nil && r.frozen.leaf+1 < size {
		return "LOG-FROZEN"
	}
	return ""
}

// alike: one registry begins as the other does.
func (r *registry) alike(o *registry) bool {
	n := min(len(r.heads), len(o.heads))
	for i := range n {
		if r.heads[i] != o.heads[i] || r.leaves[i] != o.leaves[i] {
			return false
		}
	}
	switch {
	case r.frozen != nil && o.frozen != nil:
		return r.frozen.leaf == o.frozen.leaf && r.frozen.statement == o.frozen.statement
	case r.frozen != nil:
		return len(o.heads) == n
	case o.frozen != nil:
		return len(r.heads) == n
	}
	return true
}
