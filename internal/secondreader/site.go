package secondreader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// This file is log.md#site and the checks of a whole log in report.md.

// root is the root of leaf hashes (log.md#tree), from the root down.
func root(hashes [][]byte) []byte {
	if len(hashes) == 1 {
		return hashes[0]
	}
	k := split(uint64(len(hashes)))
	return nodeHash(root(hashes[:k]), root(hashes[k:]))
}

// tilePath is that of a tile or of an entry bundle of some width.
func tilePath(level string, index uint64, width int) string {
	path := fmt.Sprintf("tile/%s/%03d", level, index) // no log here has a thousand tiles
	if width < 256 {
		path += fmt.Sprintf(".p/%d", width)
	}
	return path
}

// audit goes over one log.
type audit struct {
	caller
	findings
	fsys    fs.FS
	head    treeHead
	open    *opened
	entries [][]byte
	hashes  [][]byte
	lost    bool // an entry could not be read
	reg     *registry
	records []record
	older   []byte
	now     int64
	known   [][]byte  // vocabularies
	only    [2]string // principal and run; empty: all
}

// record is one receipt of the log for the laws.
type record struct {
	index     uint64
	st        *statement
	later     bool   // of a version that has only a frame here
	principal string // empty: nobody's
	by        string // key ID
}

func (a *audit) read(path string) ([]byte, bool) {
	b, err := fs.ReadFile(a.fsys, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	return b, err == nil
}

func (a *audit) run() []finding {
	doc, there := a.read("checkpoint")
	switch {
	case !there:
		a.leave("checkpoint", "TILE-MISSING")
		return a.list
	case len(doc) == 0:
		a.leave("checkpoint", "INPUT-EMPTY")
		return a.list
	}
	n, err := readNote(doc)
	if err == "" {
		a.head, err = readHead(n.text)
	}
	if err != "" {
		a.refute("checkpoint", err)
		return a.list
	}
	o, code, refuted := a.policy.open(n, a.head)
	switch {
	case refuted:
		a.refute("checkpoint", code)
	case code != "":
		a.leave("checkpoint", code)
		if code == "POLICY-NOT-GIVEN" {
			a.leave("policy", code)
		}
	default:
		a.open = o
		if !a.policy.met(a.policy.quorum, o.signers) {
			a.leave("policy", "QUORUM-UNMET")
		}
	}
	rooted := a.tiles()
	a.leaves()
	a.growth(rooted)
	if rooted && a.open != nil {
		a.holdLaws()
	}
	return a.list
}

// worst keeps one finding a check: refuted before not checked, then the first.
func (a *audit) worst(check, answer string, code refusal) {
	for i, f := range a.list {
		if f.check == check {
			if f.answer != "refuted" && answer == "refuted" {
				a.list[i] = finding{check, answer, string(code)}
			}
			return
		}
	}
	a.list = append(a.list, finding{check, answer, string(code)})
}

// tiles reads entries and tiles, and returns whether they lead to the root.
func (a *audit) tiles() bool {
	size := a.head.size
	for i := uint64(0); i*256 < size; i++ {
		width := int(min(256, size-i*256))
		if !a.bundle(i, width) {
			a.lost = true
			return false
		}
		a.tile("entries", "0", i, a.hashes[i*256:])
	}
	level := a.hashes
	for l := 1; len(level) >= 256; l++ {
		var up [][]byte
		for i := 0; i+256 <= len(level); i += 256 {
			up = append(up, root(level[i:i+256]))
		}
		for i := 0; i < len(up); i += 256 {
			a.tile("tiles", fmt.Sprint(l), uint64(i/256), up[i:min(len(up), i+256)])
		}
		level = up
	}
	if size > 0 && !bytes.Equal(root(a.hashes), a.head.root) {
		a.worst("root", "refuted", "ROOT-MISMATCH")
		return false
	}
	return true
}

// bundle reads one entry bundle.
func (a *audit) bundle(i uint64, width int) bool {
	data, there := a.read(tilePath("entries", i, width))
	if !there {
		a.worst("entries", "not checked", "TILE-MISSING")
		return false
	}
	for range width {
		if len(data) < 2 || len(data) < 2+int(binary.BigEndian.Uint16(data)) {
			a.worst("entries", "refuted", "BUNDLE-MALFORMED")
			return false
		}
		n := 2 + int(binary.BigEndian.Uint16(data))
		a.entries = append(a.entries, data[2:n])
		a.hashes = append(a.hashes, leafHash(data[2:n]))
		data = data[n:]
	}
	if len(data) > 0 {
		a.worst("entries", "refuted", "BUNDLE-MALFORMED")
		return false
	}
	return true
}

// tile compares a tile with the hashes that belong into it.
func (a *audit) tile(check, level string, i uint64, hashes [][]byte) {
	data, there := a.read(tilePath(level, i, len(hashes)))
	switch {
	case !there:
		a.worst(check, "not checked", "TILE-MISSING")
	case len(data) != 32*len(hashes):
		a.worst(check, "refuted", "TILE-DATA")
	case !bytes.Equal(data, slices.Concat(hashes...)):
		a.worst(check, "refuted", "TILE-MISMATCH")
	}
}

// tileHashes reads the leaf hashes from the tiles of level 0.
func (a *audit) tileHashes() (out [][]byte, code refusal) {
	for i := uint64(0); i*256 < a.head.size; i++ {
		width := int(min(256, a.head.size-i*256))
		data, there := a.read(tilePath("0", i, width))
		switch {
		case !there:
			return nil, "TILE-MISSING"
		case len(data) != 32*width:
			return nil, "TILE-DATA"
		}
		for ; len(data) > 0; data = data[32:] {
			out = append(out, data[:32])
		}
	}
	return out, ""
}

// leaves reads every entry, and folds the registry on the way.
func (a *audit) leaves() {
	if a.lost {
		return
	}
	registered := a.registered()
	dead := !registered
	if a.head.size == 0 && registered {
		a.worst("registry", "not checked", "LOG-EMPTY")
	}
	seen := map[string]bool{}
	for i, entry := range a.entries {
		index := uint64(i)
		env, err := readLeaf(entry)
		if err != "" {
			a.worst("form", "refuted", err)
			dead = a.first(index, registered, dead)
			continue
		}
		name := cid(env.payload)
		if seen[name] {
			a.worst("once", "refuted", "STATEMENT-TWICE")
		}
		seen[name] = true
		switch {
		case ofRegistry(env.typ), laterVersion(env.typ, registryType), laterVersion(env.typ, freezeType), laterVersion(env.typ, successorType):
			dead = a.fold(env, index, dead)
		case env.typ == receiptType || laterVersion(env.typ, receiptType):
			dead = a.first(index, registered, dead)
			a.receipt(env, index, dead && registered)
		default:
			dead = a.first(index, registered, dead)
			a.worst("form", "refuted", "PAYLOAD-TYPE")
		}
	}
}

// registered says whether the registry in the log is followed; why not is the
// answer of the check.
func (a *audit) registered() bool {
	switch {
	case a.engines == nil:
		a.worst("registry", "not checked", "TRUST-NOT-GIVEN")
	case a.engines.origin != a.head.origin:
		a.worst("registry", "not checked", "LOG-OTHER")
	case a.engines.plain():
		if slices.Contains(a.require, "registry") {
			a.worst("registry", "not checked", "TRUST-NOT-GIVEN")
		}
	default:
		a.reg = &registry{version: -1}
		return true
	}
	return false
}

// first: leaf 0 is the genesis.
func (a *audit) first(index uint64, registered, dead bool) bool {
	if registered && index == 0 {
		a.worst("registry", "refuted", "REGISTRY-PLACE")
		return true
	}
	return dead
}

func (a *audit) fold(env *signed, index uint64, dead bool) bool {
	if dead {
		return true
	}
	if !ofRegistry(env.typ) {
		a.worst("registry", "not checked", "VERSION-UNKNOWN")
		return true
	}
	next, err := a.reg.follow(env, index, a.engines.origin, a.engines.genesis, a.foreign())
	if err != "" {
		a.worst("registry", "refuted", err)
		return true
	}
	if a.reg = next; a.reg.goesOn(a.head.size) != "" {
		a.worst("registry", "refuted", a.reg.goesOn(a.head.size))
	}
	return false
}

// receipt reads one receipt, its signature and its signer.
func (a *audit) receipt(env *signed, index uint64, dead bool) {
	st, err := readFrame(env.payload)
	later := env.typ != receiptType
	if err == "" && !later {
		st, err = readStatement(env.payload)
	}
	switch {
	case err != "":
		a.worst("schema", "refuted", err)
		return
	case later:
		a.worst("schema", "not checked", "VERSION-UNKNOWN")
	}
	by := st.call.m["by"].([]byte)
	switch {
	case len(env.sigs) != 1:
		a.worst("form", "refuted", "DSSE-SIGNATURE-COUNT")
		return
	case !bytes.Equal(env.sigs[0].by, by):
		a.worst("form", "refuted", "SIGNER-MISMATCH")
		return
	}
	r := record{index: index, st: st, later: later, by: string(by)}
	if a.engines != nil && a.engines.origin == a.head.origin && !dead {
		a.signer(env, &r)
	}
	a.records = append(a.records, r)
}

func (a *audit) signer(env *signed, r *record) {
	role, covered := "", false
	if a.engines.plain() {
		for _, k := range a.engines.keys {
			if string(keyID(k.pub)) != r.by {
				continue
			}
			if role, covered, r.principal = k.role, r.index >= k.from && r.index <= k.to, k.principal; !env.holds(k.pub, 0) {
				a.worst("signatures", "refuted", "SIGNATURE-INVALID")
			}
		}
		switch {
		case role == "":
			a.worst("keys", "not checked", "KEY-UNKNOWN")
		case role != roleOf(r.st.kind):
			a.worst("keys", "refuted", "KEY-ROLE")
		case !covered:
			a.worst("keys", "not checked", "KEY-OUT-OF-RANGE")
			r.principal = ""
		}
		return
	}
	k := a.reg.byID([]byte(r.by))
	if k == nil {
		a.worst("keys", "refuted", "KEY-NOT-LISTED")
		return
	}
	if !env.holds(k.pub, 0) {
		a.worst("signatures", "refuted", "SIGNATURE-INVALID")
	}
	switch {
	case k.role != roleOf(r.st.kind):
		a.worst("keys", "refuted", "KEY-ROLE")
	case !k.listedAt(r.index):
		a.worst("keys", "refuted", "KEY-NOT-LISTED")
	default:
		r.principal = k.name
	}
}

// growth holds the log against an older checkpoint.
func (a *audit) growth(rooted bool) {
	if a.older == nil {
		return
	}
	h, o, code, refuted := a.openHead(a.older)
	switch {
	case refuted:
		a.refute("growth", code)
	case code != "":
		a.leave("growth", code)
	case !rooted || a.open == nil || o == nil || h.size > a.head.size:
	case h.size > 0 && !bytes.Equal(root(a.hashes[:h.size]), h.root):
		a.refute("growth", "LOG-FORKED")
	}
}

// openHead reads a checkpoint that stands alone or in an add-checkpoint body.
func (c caller) openHead(doc []byte) (h treeHead, o *opened, code refusal, refuted bool) {
	if len(doc) == 0 {
		return h, nil, "INPUT-EMPTY", false
	}
	n, err := readNote(doc)
	if err == "" {
		h, err = readHead(n.text)
	}
	if err != "" {
		return h, nil, err, true
	}
	o, code, refuted = c.policy.open(n, h)
	return h, o, code, refuted
}
