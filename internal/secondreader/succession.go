package secondreader

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// This file is bundle.md#succession and trust.md#how-a-log-ends.

const successionType = "application/vnd.obstat.succession.v1+json"

type succession struct {
	predecessor, successor *chain
	freeze                 *signed // nil where there is none
}

// heir is the log that a freeze names, and final the tree that it goes on from.
type heir struct {
	log, genesis string
	key          []byte
}

type final struct {
	log, root, registry string
	size                uint64
}

func readSuccession(doc []byte) (*succession, refusal) {
	o, err := typed(doc, successionType)
	if err == "" {
		o, err = membersOf(o, []string{"mediaType", "predecessor", "successor"}, "freeze")
	}
	if err != "" {
		return nil, err
	}
	s := &succession{}
	for name, to := range map[string]**chain{"predecessor": &s.predecessor, "successor": &s.successor} {
		v, _ := o.get(name)
		c, err := membersOf(v, []string{"mediaType", "registry", "checkpoint"})
		if err != "" {
			return nil, err
		}
		if kind, err := text(c, "mediaType"); err != "" || kind != chainType {
			return nil, "BUNDLE-MEDIA-TYPE"
		}
		list, _ := c.get("registry")
		leaves, err := readLeaves(list)
		if err != "" {
			return nil, err
		}
		n, err := text(c, "checkpoint")
		if err != "" {
			return nil, err
		}
		if *to, err = chainIn(leaves, []byte(n)); err != "" {
			return nil, err
		}
	}
	if v, has := o.get("freeze"); has {
		if s.freeze, err = envelopeOf(v); err != "" {
			return nil, err
		}
	}
	return s, ""
}

// follow returns the caller with trust in the log that goes on, and the final tree
// of the one before; or why not, and whether that refutes.
func (s *succession) follow(c caller) (next caller, end *final, code refusal, refuted bool) {
	switch {
	case c.engines.plain():
		return c, nil, "TRUST-MODE", false
	case s.predecessor.head.origin != c.engines.origin:
		return c, nil, "LOG-OTHER", false
	}
	h := s.predecessor.head
	o, code, refuted := c.policy.open(s.predecessor.note, h)
	if code != "" {
		return c, nil, code, refuted
	}
	if !c.policy.met(c.policy.quorum, o.signers) {
		return c, nil, "QUORUM-UNMET", false
	}
	reg, code := c.foldChain(s.predecessor.leaves, h)
	if code != "" {
		return c, nil, code, true
	}
	to, code, refuted := s.heir(reg, c.foreign())
	if code != "" {
		return c, nil, code, refuted
	}
	end = &final{h.origin, string(h.root), reg.head(), h.size}
	next = c
	next.engines = &engines{origin: to.log, genesis: to.genesis}
	next.policy = c.policy.with(to)
	if s.successor.head.origin != to.log {
		return c, nil, "SUCCESSION-MISMATCH", true
	}
	if _, code, refuted = next.policy.open(s.successor.note, s.successor.head); code != "" {
		return c, nil, code, refuted
	}
	reg, code = next.foldChain(s.successor.leaves, s.successor.head)
	switch {
	case code != "":
		return c, nil, code, true
	case reg.from == nil:
		return c, nil, "SUCCESSION-OPEN", false
	case *reg.from != *end:
		return c, nil, "SUCCESSION-MISMATCH", true
	}
	return next, end, "", false
}

// heir finds who goes on: by the leaf that froze the log, or beside it.
func (s *succession) heir(reg *registry, foreign [][]byte) (*heir, refusal, bool) {
	if s.freeze == nil {
		if reg.frozen == nil || reg.frozen.heir == nil {
			return nil, "SUCCESSION-OPEN", false
		}
		return reg.frozen.heir, "", false
	}
	open := *reg
	if open.frozen != nil && open.frozen.heir != nil {
		return nil, "LOG-FROZEN", true
	}
	open.frozen = nil
	if s.freeze.typ != freezeType {
		return nil, "REGISTRY-TYPE", true
	}
	if err := open.bind(s.freeze); err != "" {
		return nil, err, true
	}
	after, err := open.freeze(s.freeze, maxInt, foreign)
	switch {
	case err != "":
		return nil, err, true
	case after.frozen.heir == nil:
		return nil, "SUCCESSION-OPEN", true
	}
	return after.frozen.heir, "", false
}

// with is the policy with the key of the log that goes on.
func (p *policy) with(h *heir) *policy {
	if p.knows(h.log) {
		return p
	}
	sum := sha256.Sum256(append([]byte(h.log+"\n\x01"), h.key...))
	more := *p
	more.logs = append(slices.Clone(p.logs), vkey{h.log, string(sum[:4]), 1, bytes.Clone(h.key)})
	return &more
}

// follow takes over the trust that the caller's succession leads to, for a leaf at
// an index of the log of origin.
func (j *judge) follow(origin string, index uint64) {
	if j.succession == nil {
		return
	}
	s, err := readSuccession(j.succession)
	if err != "" {
		j.file("succession file", err)
		return
	}
	if j.engines == nil {
		j.leave("succession", "TRUST-NOT-GIVEN")
		return
	}
	arrived := j.engines.origin == origin
	next, end, code, refuted := s.follow(j.caller)
	switch {
	case code != "" && refuted:
		j.refute("succession", code)
	case code != "":
		j.leave("succession", code)
	case !arrived:
		j.caller = next
	case index >= end.size:
		j.refute("succession", "LOG-ENDED")
	}
}
