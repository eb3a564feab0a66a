package secondreader

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// This file is leaf.md.

const (
	receiptType  = "application/vnd.obstat.receipt.v1+cbor"
	registryType = "application/vnd.obstat.registry.v1+cbor"
)

// signed is an envelope whose signatures are bound to keys.
type signed struct {
	typ     string
	payload []byte
	sigs    []signature
}

type signature struct{ by, sig []byte } // by is nil where nothing binds it yet

func keyID(pub []byte) []byte {
	id := sha256.Sum256(append([]byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}, pub...))
	return id[:]
}

func pae(typ string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(typ), typ, len(payload), payload)
}

func (e *signed) holds(pub []byte, i int) bool {
	return len(pub) == ed25519.PublicKeySize && ed25519.Verify(pub, pae(e.typ, e.payload), e.sigs[i].sig)
}

// leaf is the one spelling.
func (e *signed) leaf() []byte {
	sigs := slices.Clone(e.sigs)
	slices.SortFunc(sigs, func(a, b signature) int { return bytes.Compare(a.by, b.by) })
	out := slices.Concat(head(5, 3), encText("sigs"), head(4, len(sigs)))
	for _, s := range sigs {
		out = slices.Concat(out, head(5, 2), encText("by"), encBytes(s.by), encText("sig"), encBytes(s.sig))
	}
	return slices.Concat(out, encText("type"), encText(e.typ), encText("payload"), encBytes(e.payload))
}

// readLeaf reads a leaf.
func readLeaf(b []byte) (*signed, refusal) {
	if len(b) > 65535 {
		return nil, "LEAF-SIZE"
	}
	v, err := block(b)
	if err != "" {
		return nil, err
	}
	d, ok := v.(*dict)
	if !ok || strings.Join(d.keys, " ") != "sigs type payload" {
		return nil, "LEAF-FORM"
	}
	sigs, ok1 := d.m["sigs"].(list)
	typ, ok2 := d.m["type"].(string)
	payload, ok3 := d.m["payload"].([]byte)
	if !ok1 || !ok2 || !ok3 {
		return nil, "LEAF-FORM"
	}
	e := &signed{typ: typ, payload: payload}
	if len(sigs) == 0 || len(sigs) > 13 {
		return nil, "DSSE-SIGNATURE-COUNT"
	}
	for i, x := range sigs {
		s, ok := x.(*dict)
		if !ok || strings.Join(s.keys, " ") != "by sig" {
			return nil, "LEAF-FORM"
		}
		by, ok1 := s.m["by"].([]byte)
		sig, ok2 := s.m["sig"].([]byte)
		if !ok1 || !ok2 || len(by) != 32 || len(sig) != 64 {
			return nil, "LEAF-FORM"
		}
		if i > 0 && bytes.Compare(e.sigs[i-1].by, by) >= 0 {
			return nil, "DSSE-SIGNATURE-ORDER"
		}
		e.sigs = append(e.sigs, signature{by, sig})
	}
	if len(payload) > 64000 {
		return nil, "DSSE-PAYLOAD-SIZE"
	}
	return e, ""
}

// readEnvelope reads DSSE JSON; its signatures are bound to nothing.
func readEnvelope(doc []byte) (*signed, refusal) {
	v, err := (&jsonReader{s: string(doc), lax: true, deep: 32}).document()
	switch err {
	case "":
		return envelopeOf(v)
	case "JSON-UTF8", "JSON-SURROGATE":
		return nil, "DSSE-UTF8"
	case "JSON-TRAILING":
		return nil, "DSSE-TRAILING"
	}
	return nil, "DSSE-SYNTAX"
}

// named picks the members that DSSE names, and refuses what only nearly is one.
func named(o object, names ...string) (map[string]any, refusal) {
	out := map[string]any{}
	for _, m := range o {
		for _, name := range names {
			switch {
			case m.name == name:
				if _, twice := out[name]; twice {
					return nil, "DSSE-MEMBER-DUPLICATE"
				}
				out[name] = m.value
			case strings.EqualFold(m.name, name):
				return nil, "DSSE-MEMBER-CASE"
			}
		}
	}
	return out, ""
}

func envelopeOf(v any) (*signed, refusal) {
	o, ok := v.(object)
	if !ok {
		return nil, "DSSE-SYNTAX"
	}
	m, err := named(o, "payload", "payloadType", "signatures")
	if err != "" {
		return nil, err
	}
	for _, name := range []string{"payload", "payloadType", "signatures"} {
		if _, ok := m[name]; !ok {
			return nil, "DSSE-MEMBER-MISSING"
		}
	}
	payload, ok1 := m["payload"].(string)
	typ, ok2 := m["payloadType"].(string)
	sigs, ok3 := m["signatures"].([]any)
	if !ok1 || !ok2 || !ok3 {
		return nil, "DSSE-MEMBER-TYPE"
	}
	e := &signed{typ: typ}
	if e.payload, err = base64Of(payload); err != "" {
		return nil, err
	}
	if len(e.payload) > 64000 {
		return nil, "DSSE-PAYLOAD-SIZE"
	}
	if len(sigs) == 0 || len(sigs) > 13 {
		return nil, "DSSE-SIGNATURE-COUNT"
	}
	for _, x := range sigs {
		o, ok := x.(object)
		if !ok {
			return nil, "DSSE-MEMBER-TYPE"
		}
		s, err := named(o, "keyid", "sig")
		if err != "" {
			return nil, err
		}
		if id, has := s["keyid"]; has {
			if _, ok := id.(string); !ok {
				return nil, "DSSE-MEMBER-TYPE"
			}
		}
		text, has := s["sig"]
		if !has {
			return nil, "DSSE-MEMBER-MISSING"
		}
		digits, ok := text.(string)
		if !ok {
			return nil, "DSSE-MEMBER-TYPE"
		}
		sig, err := base64Of(digits)
		switch {
		case err != "":
			return nil, err
		case len(sig) != 64:
			return nil, "DSSE-SIGNATURE-SIZE"
		}
		e.sigs = append(e.sigs, signature{sig: sig})
	}
	return e, ""
}

// base64Of: either alphabet, padded or not, no line breaks, spare bits zero.
func base64Of(s string) ([]byte, refusal) {
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if b, err := e.Strict().DecodeString(s); err == nil && e.EncodeToString(b) == s {
			return b, ""
		}
	}
	return nil, "DSSE-BASE64"
}

// laterVersion reports whether a type is ours of a greater version.
func laterVersion(typ, ours string) bool {
	before, after, _ := strings.Cut(ours, ".v1+")
	number, ok := strings.CutPrefix(typ, before+".v")
	number, ok2 := strings.CutSuffix(number, "+"+after)
	n, err := strconv.ParseUint(number, 10, 32)
	return ok && ok2 && err == nil && n > 1 && strconv.FormatUint(n, 10) == number
}
