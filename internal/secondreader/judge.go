package secondreader

import (
	"bytes"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/zeebo/blake3"
)

// This file is bundle.md and report.md#checks.

// finding is one check with how it ended.
type finding struct{ check, answer, code string }

// findings are the checks of a report; what waits for another is left out.
type findings struct{ list []finding }

func (f *findings) refute(check string, code refusal) {
	f.list = append(f.list, finding{check, "refuted", string(code)})
}

func (f *findings) leave(check string, code refusal) {
	f.list = append(f.list, finding{check, "not checked", string(code)})
}

// caller is what the caller of a check has.
type caller struct {
	policy  *policy
	engines *engines
	chain   []byte // a registry chain, or a bundle that carries one; nil: none
	// evidence that the log goes on as another; nil: none
	succession []byte
	expect     map[string]string
	require    []string
}

// judge goes over one receipt.
type judge struct {
	caller
	findings
	env    *signed
	st     *statement // nil where not even the frame was read
	bound  bool       // the envelope has its one leaf
	whole  bool       // the schema of this version was read
	index  uint64
	size   uint64 // of the tree of the bundle's checkpoint
	place  bool   // the index is proven under a checkpoint that the log signed
	reg    *registry
	broken bool // a chain does not hold, so nobody says who is listed
	level  string
	log    string
}

// envelope checks form and schema.
func (j *judge) envelope(e *signed, err refusal) {
	if err != "" {
		if err == "INPUT-EMPTY" || err == "VERSION-UNKNOWN" {
			j.leave("form", err)
		} else {
			j.refute("form", err)
		}
		return
	}
	later := laterVersion(e.typ, receiptType)
	if e.typ != receiptType && !later {
		j.refute("form", "PAYLOAD-TYPE")
		return
	}
	if _, err := block(e.payload); err != "" {
		j.refute("form", err)
		return
	}
	st, err := readFrame(e.payload)
	if err != "" {
		j.refute("schema", err)
		return
	}
	j.st, j.env = st, e
	by := st.call.m["by"].([]byte)
	switch {
	case len(e.sigs) != 1:
		j.refute("form", "DSSE-SIGNATURE-COUNT")
	case e.sigs[0].by != nil && !bytes.Equal(e.sigs[0].by, by):
		j.refute("form", "SIGNER-MISMATCH")
	default:
		e.sigs[0].by, j.bound = by, true
	}
	if later {
		j.leave("schema", "VERSION-UNKNOWN")
		return
	}
	if _, err := readStatement(e.payload); err != "" {
		j.refute("schema", err)
		return
	}
	j.whole = true
}

// roleOf says who signs a kind.
func roleOf(kind string) string {
	if kind == "decision" {
		return "approver"
	}
	return "engine"
}

// key is what the caller's trust has for the signer.
type signerKey struct {
	pub             []byte
	role, principal string
	plain           *trustedKey
	listed          *listed
}

func (j *judge) signer() (k *signerKey) {
	by := j.st.call.m["by"].([]byte)
	if j.engines.plain() {
		for i, line := range j.engines.keys {
			if bytes.Equal(keyID(line.pub), by) {
				return &signerKey{line.pub, line.role, line.principal, &j.engines.keys[i], nil}
			}
		}
		return nil
	}
	if l := j.reg.byID(by); l != nil {
		return &signerKey{l.pub, l.role, l.name, nil, l}
	}
	return nil
}

// expected holds content against what the caller asks for.
func (j *judge) expected() {
	for key, want := range j.expect {
		if j.st == nil {
			continue
		}
		got, known := j.content(key)
		switch {
		case known && got == want:
		case !known && (!j.whole || key == "principal" || key == "level" || key == "log" || key == "index"):
			// not known here, which waits for something else
		default:
			j.refute("expect "+key, "EXPECTATION-UNMET")
		}
	}
}

func (j *judge) content(key string) (string, bool) {
	s := j.st
	some := func(v string) (string, bool) { return v, v != "" }
	switch key {
	case "kind":
		return s.kind, true
	case "statement":
		return cid(s.payload), true
	case "receipt":
		return cid(s.receipt), true
	case "run":
		run, ok := s.call.m["run"].(string)
		return run, ok
	case "seq":
		_, ok := s.call.m["seq"]
		return strconv.FormatInt(s.int("seq"), 10), ok
	case "log":
		return some(j.log)
	case "index":
		return number(j.index), j.log != ""
	case "level":
		return some(j.level)
	case "principal":
		if j.engines != nil && (j.engines.plain() || j.reg != nil) {
			if k := j.signer(); k != nil {
				return k.principal, true
			}
		}
		return "", false
	}
	if !j.whole {
		return "", false
	}
	switch key {
	case "verdict":
		return some(arm(at(s.body, "verdict")))
	case "class", "answer", "posture":
		return some(s.text(key))
	case "verb":
		return some(s.text("request", "verb"))
	case "disposition":
		return some(arm(at(s.body, "disposition")))
	case "request":
		if d := s.bytes("request", "digest"); d != nil {
			return hex.EncodeToString(d), true
		}
		return some(hex.EncodeToString(s.bytes("request")))
	}
	return "", false
}

// receiptOf answers the command receipt.
func receiptOf(data []byte, c caller) []finding {
	j := &judge{caller: c}
	var e *signed
	var err refusal
	switch {
	case len(data) == 0:
		err = "INPUT-EMPTY"
	case data[0] == 0xa3:
		e, err = readLeaf(data)
	default:
		e, err = readEnvelope(data)
	}
	j.envelope(e, err)
	j.callersChain()
	j.signature("signer")
	j.expected()
	return j.list
}

// signature checks the signature, and for an envelope alone the signer.
func (j *judge) signature(also string) {
	if j.st == nil || !j.bound {
		return
	}
	leave := func(code refusal) {
		j.leave("signature", code)
		j.leave(also, code)
	}
	switch {
	case j.engines == nil:
		leave("TRUST-NOT-GIVEN")
		return
	case j.log != "" && j.log != j.engines.origin:
		leave("LOG-OTHER")
		return
	case !j.engines.plain() && j.reg == nil:
		if !j.broken {
			leave("REGISTRY-NOT-GIVEN")
		}
		return
	}
	k := j.signer()
	if k == nil {
		j.leave("signature", "KEY-UNKNOWN")
		if also == "signer" {
			j.leave("signer", "KEY-UNKNOWN")
		}
		return
	}
	if !j.env.holds(k.pub, 0) {
		j.refute("signature", "SIGNATURE-INVALID")
	}
	if also != "signer" {
		return
	}
	switch {
	case k.role != roleOf(j.st.kind):
		j.refute("signer", "KEY-ROLE")
	case k.plain != nil && k.plain.ranged:
		j.leave("signer", "KEY-OUT-OF-RANGE")
	case k.listed != nil && k.listed.ended:
		j.leave("signer", "KEY-ENDED")
	}
}

// disclosure is one opening.
type disclosure struct {
	field, name string
	salt        []byte
	value       []byte // canonical CBOR
}

// disclosures holds each against the 32-byte strings of the receipt.
func (j *judge) disclosures(all []disclosure) {
	if j.st == nil || !j.whole {
		return
	}
	places := map[string]bool{}
	var walk func(v item)
	walk = func(v item) {
		switch v := v.(type) {
		case []byte:
			places[string(v)] = true
		case list:
			for _, x := range v {
				walk(x)
			}
		case *dict:
			for _, key := range v.keys {
				walk(v.m[key])
			}
		}
	}
	v, _ := block(j.st.receipt)
	walk(v)
	seen := map[string]bool{}
	for _, d := range all {
		message := append(head(4, 4), encBytes(d.salt)...)
		message = append(append(append(message, encText(d.field)...), encText(d.name)...), d.value...)
		var commitment [32]byte
		blake3.DeriveKey("obstat commitment v1", message, commitment[:])
		switch at := d.field + " " + d.name; {
		case !places[string(commitment[:])]:
			j.refute("disclosures", "DISCLOSURE-UNPLACED")
			return
		case seen[at]:
			j.refute("disclosures", "DISCLOSURE-TWICE")
			return
		default:
			seen[at] = true
		}
	}
}

// readDisclosure reads one of preview.md#disclosures.
func readDisclosure(v any) (d disclosure, err refusal) {
	const bad = refusal("PREVIEW-DISCLOSURE")
	o, is := v.(object)
	if !is || len(o) != 4 {
		return d, "PREVIEW-SCHEMA"
	}
	var texts [3]string
	for i, name := range []string{"field", "name", "salt"} {
		x, has := o.get(name)
		if texts[i], is = x.(string); !has || !is {
			return d, "PREVIEW-SCHEMA"
		}
	}
	value, has := o.get("value")
	if !has {
		return d, "PREVIEW-SCHEMA"
	}
	d.field, d.name = texts[0], texts[1]
	content, known := map[string]bool{
		"input": false, "path": false, "slot": false, "target": false, "key": false, "wrote-key": false,
		"before": true, "after": true, "seen": true, "wrote": true, "delta": true,
	}[d.field]
	if !known {
		return d, bad
	}
	if d.field == "input" || d.field == "slot" {
		if !isName(d.name) {
			return d, bad
		}
	} else if _, ok := decimal(d.name, maxInt); !ok {
		return d, bad
	}
	salt, hexErr := hex.DecodeString(texts[2])
	if hexErr != nil || len(salt) != 32 || hex.EncodeToString(salt) != texts[2] {
		return d, bad
	}
	d.salt = salt
	d.value, err = committed(value, content)
	return d, err
}

// committed is a value as it is committed to (preview.md#values).
func committed(v any, content bool) ([]byte, refusal) {
	if content {
		if v == nil {
			return []byte{0xf4}, ""
		}
		o, is := v.(object)
		if !is || len(o) != 1 || o[0].name != "b3" {
			return nil, "PREVIEW-VALUE"
		}
		digits, _ := o[0].value.(string)
		sum, err := hex.DecodeString(digits)
		if err != nil || len(sum) != 32 || hex.EncodeToString(sum) != digits {
			return nil, "PREVIEW-VALUE"
		}
		return encBytes(sum), ""
	}
	if s, is := v.(string); is {
		return encText(s), ""
	}
	o, is := v.(object)
	if !is || len(o) != 1 || o[0].name != "b64" {
		return nil, "PREVIEW-VALUE"
	}
	digits, _ := o[0].value.(string)
	raw, ok := padded(digits)
	if !ok || strings.ToValidUTF8(string(raw), "") == string(raw) {
		return nil, "PREVIEW-VALUE"
	}
	return encBytes(raw), ""
}
