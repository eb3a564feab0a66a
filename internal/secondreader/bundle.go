package secondreader

import (
	"bytes"
	"slices"
	"strings"
)

// This file is bundle.md.

type proof struct {
	env          *signed
	proof        tlogProof
	registry     []registryLeaf
	hasRegistry  bool
	disclosed    []disclosure
	hasDisclosed bool
}

type registryLeaf struct {
	env   *signed
	index uint64
	proof [][]byte
}

const (
	bundleType = "application/vnd.obstat.bundle.v1+json"
	chainType  = "application/vnd.obstat.registry-chain.v1+json"
)

// membersOf holds the members of an object.
func membersOf(v any, must []string, may ...string) (object, refusal) {
	o, is := v.(object)
	if !is {
		return nil, "BUNDLE-MEMBER-TYPE"
	}
	for _, m := range o {
		known := slices.Contains(must, m.name) || slices.Contains(may, m.name)
		for _, name := range append(slices.Clone(must), may...) {
			if !known && strings.EqualFold(name, m.name) {
				return nil, "BUNDLE-MEMBER-CASE"
			}
		}
		if !known {
			return nil, "BUNDLE-MEMBER-UNKNOWN"
		}
	}
	for _, name := range must {
		if _, has := o.get(name); !has {
			return nil, "BUNDLE-MEMBER-MISSING"
		}
	}
	return o, ""
}

func text(o object, name string) (string, refusal) {
	v, _ := o.get(name)
	s, is := v.(string)
	if !is {
		return "", "BUNDLE-MEMBER-TYPE"
	}
	return s, ""
}

// typed reads a document up to its media type.
func typed(doc []byte, mediaType string) (object, refusal) {
	if len(doc) == 0 {
		return nil, "INPUT-EMPTY"
	}
	v, err := strictJSON(doc)
	if err != "" {
		return nil, err
	}
	o, is := v.(object)
	if !is {
		return nil, "BUNDLE-MEMBER-TYPE"
	}
	got, err := text(o, "mediaType")
	switch {
	case err != "":
		return nil, err
	case got == mediaType:
		return o, ""
	case laterVersion(got, mediaType):
		return nil, "VERSION-UNKNOWN"
	}
	return nil, "BUNDLE-MEDIA-TYPE"
}

func readBundle(doc []byte) (*proof, refusal) {
	if bytes.HasPrefix(doc, []byte("c2sp.org/tlog-proof@")) {
		return readProofFile(doc)
	}
	o, err := typed(doc, bundleType)
	if err != "" {
		return nil, err
	}
	if o, err = membersOf(o, []string{"mediaType", "level", "envelope", "proof"}, "registry", "disclosures"); err != "" {
		return nil, err
	}
	level, err := text(o, "level")
	switch {
	case err != "":
		return nil, err
	case level != "promise" && level != "witnessed":
		return nil, "BUNDLE-MEMBER-VALUE"
	}
	b := &proof{}
	if b.env, err = memberEnvelope(o); err != "" {
		return nil, err
	}
	p, err := text(o, "proof")
	if err != "" {
		return nil, err
	}
	if b.proof, err = readProof([]byte(p)); err != "" {
		return nil, err
	}
	if b.proof.hasExtra || b.proof.index > maxInt {
		return nil, "BUNDLE-MEMBER-VALUE"
	}
	var v any
	if v, b.hasRegistry = o.get("registry"); b.hasRegistry {
		if b.registry, err = readLeaves(v); err != "" {
			return nil, err
		}
	}
	if v, b.hasDisclosed = o.get("disclosures"); b.hasDisclosed {
		l, is := v.([]any)
		switch {
		case !is:
			return nil, "BUNDLE-MEMBER-TYPE"
		case len(l) == 0 || len(l) > 4096:
			return nil, "BUNDLE-MEMBER-VALUE"
		}
		for _, x := range l {
			d, err := readDisclosure(x)
			if err != "" {
				return nil, err
			}
			b.disclosed = append(b.disclosed, d)
		}
	}
	return b, ""
}

// readProofFile reads a .tlog-proof whose extra is the leaf.
func readProofFile(doc []byte) (*proof, refusal) {
	p, err := readProof(doc)
	switch {
	case err != "":
		return nil, err
	case !p.hasExtra:
		return nil, "BUNDLE-MEMBER-MISSING"
	}
	env, err := readLeaf(p.extra)
	switch {
	case err != "":
		return nil, err
	case p.index > maxInt:
		return nil, "BUNDLE-MEMBER-VALUE"
	}
	return &proof{env: env, proof: p}, ""
}

func memberEnvelope(o object) (*signed, refusal) {
	v, _ := o.get("envelope")
	if _, is := v.(object); !is {
		return nil, "BUNDLE-MEMBER-TYPE"
	}
	return envelopeOf(v)
}

func readLeaves(v any) ([]registryLeaf, refusal) {
	l, is := v.([]any)
	switch {
	case !is:
		return nil, "BUNDLE-MEMBER-TYPE"
	case len(l) == 0:
		return nil, "BUNDLE-MEMBER-VALUE"
	}
	var out []registryLeaf
	for _, x := range l {
		o, err := membersOf(x, []string{"envelope", "index", "proof"})
		if err != "" {
			return nil, err
		}
		leaf := registryLeaf{}
		if leaf.env, err = memberEnvelope(o); err != "" {
			return nil, err
		}
		index, _ := o.get("index")
		n, is := index.(float64)
		switch {
		case !is:
			return nil, "BUNDLE-MEMBER-TYPE"
		case n < 0 || n > maxInt || n != float64(uint64(n)):
			return nil, "BUNDLE-MEMBER-VALUE"
		}
		leaf.index = uint64(n)
		hashes, _ := o.get("proof")
		list, is := hashes.([]any)
		if !is {
			return nil, "BUNDLE-MEMBER-TYPE"
		}
		for _, h := range list {
			s, _ := h.(string)
			b, ok := padded(s)
			if !ok || len(b) != 32 || len(list) > 63 {
				return nil, "BUNDLE-MEMBER-VALUE"
			}
			leaf.proof = append(leaf.proof, b)
		}
		out = append(out, leaf)
	}
	return out, ""
}

// bundleOf answers the command bundle.
func bundleOf(data []byte, c caller) []finding {
	j := &judge{caller: c}
	b, err := readBundle(data)
	if err != "" {
		j.envelope(nil, err)
		return j.list
	}
	j.envelope(b.env, "")
	j.index = b.proof.index

	n, err := readNote(b.proof.note)
	var h treeHead
	if err == "" {
		h, err = readHead(n.text)
	}
	if err != "" {
		j.refute("checkpoint", err)
		return j.list
	}
	j.log, j.size = h.origin, h.size
	j.follow(h.origin, j.index)
	o, code, refuted := j.policy.open(n, h)
	switch {
	case refuted:
		j.refute("checkpoint", code)
	case code != "":
		j.leave("checkpoint", code)
		if code == "POLICY-NOT-GIVEN" {
			j.leave("policy", code)
		}
	}
	included1 := false
	if j.bound {
		if err := included(j.index, h.size, leafHash(j.env.leaf()), b.proof.hashes, h.root); err != "" {
			j.refute("inclusion", err)
		} else {
			included1 = true
		}
	}
	forked := j.fork(o, h)
	if o != nil && !forked {
		j.level = "promise"
		if !j.policy.met(j.policy.quorum, o.signers) {
			j.leave("policy", "QUORUM-UNMET")
		} else if j.policy.quorum != "none" {
			j.level = "witnessed"
		}
	}
	j.place = included1 && o != nil && !forked
	chainSigned := j.chains(b, h, o != nil, forked)
	j.signature("KEY-LISTED-AT")
	j.registryChecks(chainSigned)
	if b.hasDisclosed {
		j.disclosures(b.disclosed)
	} else if slices.Contains(j.require, "disclosures") {
		j.leave("disclosures", "NOTHING-DISCLOSED")
	}
	j.expected()
	return j.list
}
