package secondreader

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

// This file is trust.md: the two files that a caller names.

// linesOf cuts a file into lines of items; comments and empty lines are left out.
func linesOf(b []byte, octet refusal) ([][]string, refusal) {
	var out [][]string
	for _, c := range b {
		if c != '\t' && c != '\n' && (c < 0x20 || c == 0x7f) {
			return nil, octet
		}
	}
	for _, line := range strings.Split(string(b), "\n") {
		items := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
		if len(items) > 0 && !strings.HasPrefix(items[0], "#") {
			out = append(out, items)
		}
	}
	return out, ""
}

type policy struct {
	logs, witnesses []vkey
	names           map[string]vkey
	groups          map[string]group
	quorum          string
}

type group struct {
	least   int
	members []string
}

func readPolicy(b []byte) (*policy, refusal) {
	if len(b) > 262144 {
		return nil, "POLICY-LIMIT"
	}
	lines, err := linesOf(b, "POLICY-OCTET")
	if err != "" {
		return nil, err
	}
	p := &policy{names: map[string]vkey{}, groups: map[string]group{}}
	keys, members, count := map[string]bool{}, map[string]bool{}, 0
	key := func(s string, typ byte) (vkey, refusal) {
		k, ok := readVKey(s)
		switch {
		case !ok || k.typ != typ:
			return k, "POLICY-KEY"
		case keys[string(k.pub)]:
			return k, "POLICY-KEY-TWICE"
		}
		keys[string(k.pub)] = true
		return k, ""
	}
	defined := func(name string) bool {
		_, a := p.names[name]
		_, b := p.groups[name]
		return a || b
	}
	for _, l := range lines {
		if l[0] != "quorum" {
			if count++; count > 1024 {
				return nil, "POLICY-LIMIT"
			}
		}
		switch {
		case l[0] == "log" && (len(l) == 2 || len(l) == 3):
			k, err := key(l[1], 1)
			if err != "" {
				return nil, err
			}
			p.logs = append(p.logs, k)
		case l[0] == "witness" && (len(l) == 3 || len(l) == 4):
			if l[1] == "none" || defined(l[1]) {
				return nil, "POLICY-NAME"
			}
			k, err := key(l[2], 4)
			if err != "" {
				return nil, err
			}
			p.names[l[1]] = k
			p.witnesses = append(p.witnesses, k)
		case l[0] == "group" && len(l) >= 4:
			if l[1] == "none" || defined(l[1]) {
				return nil, "POLICY-NAME"
			}
			g := group{members: l[3:]}
			for _, m := range g.members {
				switch {
				case !defined(m):
					return nil, "POLICY-NAME"
				case members[m]:
					return nil, "POLICY-MEMBER"
				}
				members[m] = true
			}
			switch l[2] {
			case "all":
				g.least = len(g.members)
			case "any":
				g.least = 1
			default:
				n, ok := decimal(l[2], uint64(len(g.members)))
				if !ok || n < 1 {
					return nil, "POLICY-THRESHOLD"
				}
				g.least = int(n)
			}
			p.groups[l[1]] = g
		case l[0] == "quorum" && len(l) == 2:
			if p.quorum != "" {
				return nil, "POLICY-QUORUM"
			}
			if p.quorum = l[1]; p.quorum != "none" && !defined(p.quorum) {
				return nil, "POLICY-NAME"
			}
		default:
			return nil, "POLICY-SYNTAX"
		}
	}
	if p.quorum == "" {
		return nil, "POLICY-QUORUM"
	}
	return p, ""
}

func (p *policy) knows(origin string) bool {
	return slices.ContainsFunc(p.logs, func(k vkey) bool { return k.name == origin })
}

// met reports whether a name of the policy cosigned; signers are public keys.
func (p *policy) met(name string, signers map[string]uint64) bool {
	if name == "none" {
		return true
	}
	if k, is := p.names[name]; is {
		_, signed := signers[string(k.pub)]
		return signed
	}
	n := 0
	for _, m := range p.groups[name].members {
		if p.met(m, signers) {
			n++
		}
	}
	return n >= p.groups[name].least
}

// opened is a checkpoint that a policy's keys verified.
type opened struct {
	treeHead
	signers map[string]uint64 // by public key, with the time
}

// open opens a note under a policy (trust.md#policy); a refusal that is not one
// of the artifact is marked by !refuted.
func (p *policy) open(n *note, h treeHead) (o *opened, code refusal, refuted bool) {
	switch {
	case p == nil:
		return nil, "POLICY-NOT-GIVEN", false
	case !p.knows(h.origin):
		return nil, "LOG-UNKNOWN", false
	}
	o = &opened{h, map[string]uint64{}}
	byLog := false
	for _, k := range append(slices.Clone(p.logs), p.witnesses...) {
		if k.typ == 1 && k.name != h.origin {
			continue
		}
		for _, l := range n.lines {
			if l.name != k.name || l.id != k.id {
				continue
			}
			time, ok := k.verify(n.text, l.sig)
			if !ok {
				return nil, "CHECKPOINT-SIGNATURE-INVALID", true
			}
			o.signers[string(k.pub)] = time
			byLog = byLog || k.typ == 1
		}
	}
	switch {
	case len(o.signers) == 0:
		return nil, "CHECKPOINT-UNSIGNED", true
	case !byLog:
		return nil, "LOG-UNSIGNED", true
	}
	return o, "", false
}

// engines is an engine trust file.
type engines struct {
	origin, genesis string
	asOf            uint64
	hasAsOf         bool
	head            string
	keys            []trustedKey
}

type trustedKey struct {
	principal, role string
	pub             []byte
	from, to        uint64
	ranged          bool
}

func readEngines(b []byte) (*engines, refusal) {
	const bad = refusal("TRUST-SYNTAX")
	lines, err := linesOf(b, bad)
	if err != "" || len(b) > 1048576 {
		return nil, bad
	}
	e := &engines{}
	if len(lines) == 0 || strings.Join(lines[0], " ") != "obstat trust v1" {
		return nil, bad
	}
	for _, l := range lines[1:] {
		switch {
		case l[0] == "origin" && len(l) == 2 && e.origin == "":
			if e.origin = l[1]; !isName(e.origin) || strings.Contains(e.origin, "+") {
				return nil, bad
			}
		case l[0] == "genesis" && len(l) == 2 && e.genesis == "":
			if e.genesis = l[1]; !isCIDText(e.genesis) {
				return nil, bad
			}
		case l[0] == "as-of" && (len(l) == 2 || len(l) == 3) && !e.hasAsOf:
			var ok bool
			if e.asOf, ok = decimal(l[1], maxInt); !ok || len(l) == 3 && !isCIDText(l[2]) {
				return nil, bad
			}
			if e.hasAsOf = true; len(l) == 3 {
				e.head = l[2]
			}
		case l[0] == "key" && len(l) >= 4 && len(l) <= 6:
			if err := e.key(l[1:]); err != "" {
				return nil, err
			}
		default:
			return nil, bad
		}
	}
	if e.origin == "" {
		return nil, bad
	}
	if (e.genesis == "") == (len(e.keys) == 0) || e.hasAsOf && e.genesis == "" {
		return nil, "TRUST-MODE"
	}
	return e, ""
}

func (e *engines) key(l []string) refusal {
	k := trustedKey{principal: l[0], role: l[1], to: 1<<64 - 1, ranged: len(l) > 3}
	if !isName(k.principal) {
		return "TRUST-SYNTAX"
	}
	if k.role != "engine" && k.role != "approver" {
		return "TRUST-ROLE"
	}
	pub, err := base64.StdEncoding.Strict().DecodeString(l[2])
	if err != nil || base64.StdEncoding.EncodeToString(pub) != l[2] || !soundKey(pub) {
		return "TRUST-KEY"
	}
	for _, other := range e.keys {
		switch {
		case string(other.pub) == string(pub):
			return "TRUST-KEY"
		case other.principal == k.principal && other.role != k.role:
			return "TRUST-ROLE"
		}
	}
	k.pub = pub
	for i, text := range l[3:] {
		n, ok := decimal(text, maxInt)
		if !ok {
			return "TRUST-SYNTAX"
		}
		if i == 0 {
			k.from = n
		} else if k.to = n; k.to < k.from {
			return "TRUST-SYNTAX"
		}
	}
	e.keys = append(e.keys, k)
	return ""
}

func (e *engines) plain() bool { return e.genesis == "" }

func number(n uint64) string { return strconv.FormatUint(n, 10) }
