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
	var foreign [][]byte
	if c.policy != nil {
		for _, k := range append(slices.Clone(c.policy.logs), c.policy.witnesses...) {
			foreign = append(foreign, k.pub)
		}
	}
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
		reg = next
	}
	return reg, ""
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
	if _, code, _ := j.policy.open(c.note, c.head); code != "" {
		return
	}
	if reg, err := j.foldChain(c.leaves, c.head); err == "" {
		j.reg = reg
	}
}

func (j *judge) registryFile(err refusal) {
	switch err {
	case "INPUT-EMPTY", "VERSION-UNKNOWN", "REGISTRY-NOT-GIVEN":
		j.leave("registry file", err)
	default:
		j.refute("registry file", err)
	}
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
	j.log = h.origin
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
	if _, code, _ := j.policy.open(callers.note, callers.head); code != "" {
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
	for i := range min(len(reg.heads), len(j.reg.heads)) {
		if reg.heads[i] != j.reg.heads[i] || reg.leaves[i] != j.reg.leaves[i] {
			broken("REGISTRY-DIVERGED")
			return false
		}
	}
	if len(reg.heads) > len(j.reg.heads) {
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
