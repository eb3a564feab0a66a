package secondreader

import (
	"bytes"
	"slices"
)

// This file is bundle.md#chain, and the checks of report.md#checks that rest on
// the registry.

// chain is a registry chain with the checkpoint in which it stands.
type chain struct {
	leaves []registryLeaf
	note   *note
	head   treeHead
}

// readChain reads the registry file of a caller: a chain, or a bundle with one.
func readChain(doc []byte) (*chain, refusal) {
	o, err := typed(doc, chainType)
	if err == "BUNDLE-MEDIA-TYPE" {
		b, err := readBundle(doc)
		switch {
		case err != "":
			return nil, err
		case !b.hasRegistry:
			return nil, "REGISTRY-NOT-GIVEN"
		}
		return chainIn(b.registry, b.proof.note)
	}
	if err != "" {
		return nil, err
	}
	if o, err = membersOf(o, []string{"mediaType", "registry", "checkpoint"}); err != "" {
		return nil, err
	}
	v, _ := o.get("registry")
	leaves, err := readLeaves(v)
	if err != "" {
		return nil, err
	}
	n, err := text(o, "checkpoint")
	if err != "" {
		return nil, err
	}
	return chainIn(leaves, []byte(n))
}

func chainIn(leaves []registryLeaf, doc []byte) (*chain, refusal) {
	n, err := readNote(doc)
	if err != "" {
		return nil, err
	}
	h, err := readHead(n.text)
	return &chain{leaves, n, h}, err
}

// foldChain follows a chain whose leaves stand in the tree of a head.
func (c caller) foldChain(leaves []registryLeaf, h treeHead) (*registry, refusal) {
	foreign := c.foreign()
	reg := &registry{version: -1}
	for i, l := range leaves {
		if i == 0 && cid(l.env.payload) != c.engines.genesis {
			return nil, "REGISTRY-PIN"
		}
		if err := reg.bind(l.env); err != "" {
			return nil, err
		}
		if err := included(l.index, h.size, leafHash(l.env.leaf()), l.proof, h.root); err != "" {
			return nil, err
		}
		next, err := reg.follow(l.env, l.index, c.engines.origin, c.engines.genesis, foreign)
		if err != "" {
			return nil, err
		}
		if reg = next; reg.goesOn(h.size) != "" {
			return nil, reg.goesOn(h.size)
		}
	}
	return reg, ""
}

// foreign are the keys of the policy, which no registry may list.
func (c caller) foreign() (out [][]byte) {
	if c.policy != nil {
		for _, k := range append(slices.Clone(c.policy.logs), c.policy.witnesses...) {
			out = append(out, k.pub)
		}
	}
	return out
}

// callersChain folds the caller's chain for an envelope alone.
func (j *judge) callersChain() {
	if j.chain == nil {
		return
	}
	c, err := readChain(j.chain)
	if err != "" {
		j.registryFile(err)
		return
	}
	if j.engines == nil || j.engines.plain() {
		return
	}
	if c.head.origin != j.engines.origin {
		return
	}
	_, code, refuted := j.policy.open(c.note, c.head)
	switch {
	case refuted:
		j.broken = true
		j.refute("signer", code)
		return
	case code != "":
		j.broken = true
		j.leave("signature", code)
		j.leave("signer", code)
		return
	}
	reg, err := j.foldChain(c.leaves, c.head)
	if j.reg = reg; err != "" {
		j.broken = true
		j.refute("signer", err)
	}
}

func (j *judge) registryFile(err refusal) { j.file("registry file", err) }

func (j *judge) file(check string, err refusal) {
	switch err {
	case "INPUT-EMPTY", "VERSION-UNKNOWN", "REGISTRY-NOT-GIVEN":
		j.leave(check, err)
	default:
		j.refute(check, err)
	}
}

// fork compares the bundle's checkpoint with that of the caller's chain.
func (j *judge) fork(o *opened, h treeHead) bool {
	if j.chain == nil || o == nil {
		return false
	}
	c, err := readChain(j.chain)
	if err != "" || c.head.origin != h.origin || c.head.size != h.size || bytes.Equal(c.head.root, h.root) {
		return false
	}
	if _, code, _ := j.policy.open(c.note, c.head); code != "" {
		return false
	}
	j.refute("checkpoint", "LOG-FORKED")
	return true
}

// chains folds what the bundle and the caller have, and keeps the longer. It
// returns whether the log signed the tree in which that one stands.
func (j *judge) chains(b *proof, h treeHead, headSigned, forked bool) bool {
	var callers *chain
	if j.chain != nil {
		var err refusal
		if callers, err = readChain(j.chain); err != "" {
			j.registryFile(err)
		}
	}
	if j.engines == nil || j.engines.plain() || j.engines.origin != h.origin {
		return false
	}
	if forked {
		j.refute("KEY-LISTED-AT", "LOG-FORKED")
		j.broken = true
		return false
	}
	broken := func(err refusal) {
		j.reg = nil
		j.refute("KEY-LISTED-AT", err)
		j.broken = true
	}
	if b.hasRegistry {
		reg, err := j.foldChain(b.registry, h)
		if err != "" {
			broken(err)
			return false
		}
		j.reg = reg
	}
	if callers == nil || callers.head.origin != j.engines.origin {
		return headSigned
	}
	if _, code, refuted := j.policy.open(callers.note, callers.head); refuted {
		broken(code)
		return false
	} else if code != "" {
		return headSigned
	}
	reg, err := j.foldChain(callers.leaves, callers.head)
	switch {
	case err != "":
		broken(err)
		return false
	case j.reg == nil:
		j.reg = reg
		return true
	}
	if !reg.alike(j.reg) {
		broken("REGISTRY-DIVERGED")
		return false
	}
	if j.reg.frozen == nil && (len(reg.heads) > len(j.reg.heads) || reg.frozen != nil) {
		j.reg = reg
		return true
	}
	return headSigned
}

// registryChecks are KEY-LISTED-AT, KEY-NOT-DISOWNED and REGISTRY-COMPLETE.
func (j *judge) registryChecks(chainSigned bool) {
	if j.engines == nil || j.log != j.engines.origin || j.st == nil || !j.bound {
		return
	}
	if j.engines.plain() {
		k := j.signer()
		switch {
		case k == nil:
			if j.place {
				j.leave("KEY-LISTED-AT", "KEY-UNKNOWN")
			}
		case k.role != roleOf(j.st.kind):
			j.refute("KEY-LISTED-AT", "KEY-ROLE")
		case j.place && (j.index < k.plain.from || j.index > k.plain.to):
			j.leave("KEY-LISTED-AT", "KEY-OUT-OF-RANGE")
		}
		return
	}
	if j.reg == nil {
		return
	}
	complete, contradicted := j.complete(chainSigned)
	k := j.signer()
	switch {
	case j.reg.goesOn(j.size) != "" && j.place && (k == nil || k.role == roleOf(j.st.kind)):
		j.refute("KEY-LISTED-AT", j.reg.goesOn(j.size))
	case k != nil && k.role != roleOf(j.st.kind):
		j.refute("KEY-LISTED-AT", "KEY-ROLE")
	case !j.place:
	case k == nil && complete:
		j.refute("KEY-LISTED-AT", "KEY-NOT-LISTED")
	case k == nil:
		j.leave("KEY-LISTED-AT", "KEY-UNKNOWN")
	case !k.listed.listedAt(j.index):
		j.refute("KEY-LISTED-AT", "KEY-NOT-LISTED")
	}
	asked := func(check string) bool { return j.engines.hasAsOf || slices.Contains(j.require, check) }
	if k != nil && k.listed.disownedAt(j.index) {
		j.refute("KEY-NOT-DISOWNED", "KEY-DISOWNED")
	} else if asked("KEY-NOT-DISOWNED") {
		switch {
		case k == nil:
			j.leave("KEY-NOT-DISOWNED", "KEY-UNKNOWN")
		case chainSigned && !complete && !contradicted:
			j.leave("KEY-NOT-DISOWNED", "REGISTRY-OPEN")
		}
	}
	switch {
	case contradicted:
		j.refute("REGISTRY-COMPLETE", "REGISTRY-HEAD")
	case asked("REGISTRY-COMPLETE") && chainSigned && !complete:
		j.leave("REGISTRY-COMPLETE", "REGISTRY-OPEN")
	}
}

// complete reports whether the as-of line says that the chain holds every
// registry leaf below it, and the receipt stands there; or is contradicted.
func (j *judge) complete(chainSigned bool) (complete, contradicted bool) {
	e := j.engines
	if !e.hasAsOf || !chainSigned {
		return false, false
	}
	want := e.head
	if want == "" {
		want = e.genesis
	}
	last, seen := "", false
	for i, leaf := range j.reg.leaves {
		if leaf < e.asOf {
			last = j.reg.heads[i]
			seen = seen || last == want
		}
	}
	switch {
	case last == want:
		return j.index < e.asOf, false
	case seen:
		return false, true // more stands below than the caller says
	}
	// The named statement is not here: the chain is too short, unless it goes on.
	return false, j.reg.leaves[len(j.reg.leaves)-1] >= e.asOf
}
