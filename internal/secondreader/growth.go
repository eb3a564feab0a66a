package secondreader

import (
	"bytes"
	"io/fs"
	"strings"
)

// This file is checkpoint.md#growth and bundle.md#fork.

// addCheckpoint is the body of tlog-witness's add-checkpoint.
type addCheckpoint struct {
	old    uint64
	hashes [][]byte
	note   []byte
}

func readGrowth(doc []byte) (g *addCheckpoint, err refusal) {
	const bad = refusal("ADD-CHECKPOINT-MALFORMED")
	top, rest, ok := strings.Cut(string(doc), "\n\n")
	lines := strings.Split(top, "\n")
	digits, ok2 := strings.CutPrefix(lines[0], "old ")
	g = &addCheckpoint{note: []byte(rest)}
	var ok3 bool
	g.old, ok3 = decimal(digits, 1<<63-1)
	if !ok || !ok2 || !ok3 || len(lines) > 64 || !strings.HasSuffix(rest, "\n") {
		return nil, bad
	}
	for _, l := range lines[1:] {
		h, ok := padded(l)
		if !ok || len(h) != 32 {
			return nil, bad
		}
		g.hashes = append(g.hashes, h)
	}
	return g, ""
}

// side is one of two checkpoints.
type side struct {
	head   treeHead
	open   *opened
	growth *addCheckpoint
	site   *audit
	code   refusal
	bad    bool
	read   bool
}

func (c caller) side(doc []byte) (s side) {
	if bytes.HasPrefix(doc, []byte("old ")) {
		g, err := readGrowth(doc)
		if err != "" {
			return side{code: err, bad: true}
		}
		s.growth, doc = g, g.note
	}
	s.head, s.open, s.code, s.bad = c.openHead(doc)
	s.read = s.head.origin != ""
	return s
}

// consistencyOf answers the command consistency.
func consistencyOf(older, newer []byte, site fs.FS, c caller) []finding {
	var f findings
	a := c.side(older)
	var b side
	if site != nil {
		doc, err := fs.ReadFile(site, "checkpoint")
		if err != nil {
			f.leave("newer", "TILE-MISSING")
			return f.list
		}
		b = c.side(doc)
		b.site = &audit{caller: c, fsys: site, head: b.head}
	} else {
		b = c.side(newer)
	}
	if a.read && b.read && a.head.size > b.head.size {
		a, b = b, a
	}
	for _, x := range []struct {
		name string
		s    side
	}{{"older", a}, {"newer", b}} {
		switch {
		case x.s.bad:
			f.refute(x.name, x.s.code)
		case x.s.code != "":
			f.leave(x.name, x.s.code)
		}
	}
	if b.open != nil && !c.policy.met(c.policy.quorum, b.open.signers) {
		f.leave("policy", "QUORUM-UNMET")
	}
	if a.open == nil || b.open == nil {
		return f.list
	}
	same := bytes.Equal(a.head.root, b.head.root)
	switch {
	case a.head.origin != b.head.origin:
		f.leave("consistency", "LOG-OTHER")
	case a.head.size == b.head.size && !same:
		f.refute("consistency", "LOG-FORKED")
	case a.head.size == b.head.size || a.head.size == 0:
	case b.growth != nil && b.growth.old == a.head.size:
		if err := grown(a.head.size, b.head.size, a.head.root, b.head.root, b.growth.hashes); err != "" {
			f.refute("consistency", err)
		}
	case b.site != nil:
		hashes, code := b.site.tileHashes()
		switch {
		case code == "TILE-MISSING":
			f.leave("consistency", code)
		case code != "":
			f.refute("consistency", code)
		case !bytes.Equal(root(hashes), b.head.root):
			f.refute("consistency", "TILE-MISMATCH")
		case !bytes.Equal(root(hashes[:a.head.size]), a.head.root):
			f.refute("consistency", "LOG-FORKED")
		}
	default:
		f.leave("consistency", "PROOF-NOT-GIVEN")
	}
	return f.list
}

// forkOf answers the command fork.
func forkOf(doc []byte, c caller) []finding {
	var f findings
	first, second, old, proof, err := readFork(doc)
	if err != "" {
		if err == "INPUT-EMPTY" || err == "VERSION-UNKNOWN" {
			f.leave("first", err)
		} else {
			f.refute("first", err)
		}
		return f.list
	}
	var sides [2]side
	for i, note := range [][]byte{first, second} {
		name := []string{"first", "second"}[i]
		sides[i] = c.side(note)
		switch s := sides[i]; {
		case s.bad:
			f.refute(name, s.code)
		case s.code != "":
			f.leave(name, s.code)
		}
	}
	a, b := sides[0], sides[1]
	if a.open == nil || b.open == nil {
		return f.list
	}
	switch {
	case a.head.origin != b.head.origin,
		old == nil && bytes.Equal(a.head.root, b.head.root),
		old != nil && bytes.Equal(a.head.root, old):
		f.refute("fork", "NOT-FORKED")
	case old != nil:
		if err := grown(a.head.size, b.head.size, old, b.head.root, proof); err != "" {
			f.refute("fork", err)
		}
	}
	return f.list
}

func readFork(doc []byte) (first, second, old []byte, proof [][]byte, err refusal) {
	o, err := typed(doc, "application/vnd.obstat.fork.v1+json")
	if err != "" {
		return
	}
	if o, err = membersOf(o, []string{"mediaType", "checkpoints"}, "root", "proof"); err != "" {
		return
	}
	v, _ := o.get("checkpoints")
	list, is := v.([]any)
	if !is {
		err = "BUNDLE-MEMBER-TYPE"
		return
	}
	if len(list) != 2 {
		err = "BUNDLE-MEMBER-VALUE"
		return
	}
	var notes [2][]byte
	var sizes [2]uint64
	for i, x := range list {
		s, is := x.(string)
		if !is {
			err = "BUNDLE-MEMBER-TYPE"
			return
		}
		notes[i] = []byte(s)
		var n *note
		if n, err = readNote(notes[i]); err != "" {
			return
		}
		var h treeHead
		if h, err = readHead(n.text); err != "" {
			return
		}
		sizes[i] = h.size
	}
	first, second = notes[0], notes[1]
	if sizes[0] > sizes[1] {
		err = "BUNDLE-MEMBER-VALUE"
		return
	}
	for _, name := range []string{"root", "proof"} {
		_, has := o.get(name)
		switch {
		case has && sizes[0] == sizes[1]:
			err = "BUNDLE-MEMBER-UNKNOWN"
			return
		case !has && sizes[0] < sizes[1]:
			err = "BUNDLE-MEMBER-MISSING"
			return
		}
	}
	if sizes[0] == sizes[1] {
		return
	}
	hash := func(v any) ([]byte, bool) {
		s, _ := v.(string)
		b, ok := padded(s)
		return b, ok && len(b) == 32
	}
	v, _ = o.get("root")
	var ok bool
	if old, ok = hash(v); !ok {
		err = "BUNDLE-MEMBER-VALUE"
		return
	}
	v, _ = o.get("proof")
	list, _ = v.([]any)
	for _, x := range list {
		h, ok := hash(x)
		if !ok {
			err = "BUNDLE-MEMBER-VALUE"
			return
		}
		proof = append(proof, h)
	}
	return
}
