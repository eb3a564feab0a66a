package spec

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zeebo/blake3"
)

// This file verifies the bundle that bundle.md prints, under the trust files
// that trust.md prints, by what the pages say and nothing else: it uses no other
// package of this module. It knows only the good case; what a verifier refuses
// is the business of others. Where a page left something out, it would not pass.

// code returns the n-th fenced block behind a marker of a page, its lines joined
// by sep.
func code(t *testing.T, page, marker string, n int, sep string) string {
	t.Helper()
	_, text, ok := strings.Cut(read(t, page), "begin generated: "+marker+" -->")
	if !ok {
		t.Fatalf("%s has no %s", page, marker)
	}
	parts := strings.Split(text, "```")
	_, body, _ := strings.Cut(parts[2*n+1], "\n")
	return strings.ReplaceAll(body, "\n", sep)
}

// pageCBOR reads one item into maps, lists, ints, texts, bytes and links.
type pageCBOR struct{ b []byte }

type (
	pageMap  map[string]any
	pageLink []byte
)

func (p *pageCBOR) head() (major byte, n uint64) {
	first := p.b[0]
	major, n = first>>5, uint64(first&31)
	p.b = p.b[1:]
	if n >= 24 {
		size := 1 << (n - 24)
		var wide [8]byte
		copy(wide[8-size:], p.b[:size])
		n, p.b = binary.BigEndian.Uint64(wide[:]), p.b[size:]
	}
	return major, n
}

func (p *pageCBOR) item() any {
	major, n := p.head()
	switch major {
	case 0:
		return n
	case 2, 3:
		s := p.b[:n]
		p.b = p.b[n:]
		if major == 3 {
			return string(s)
		}
		return s
	case 4:
		var list []any
		for range n {
			list = append(list, p.item())
		}
		return list
	case 5:
		m := pageMap{}
		for range n {
			key := p.item().(string)
			m[key] = p.item()
		}
		return m
	case 6:
		return pageLink(p.item().([]byte)[1:])
	}
	panic("an item that the example does not have")
}

// head of a CBOR item, and the canonical bytes of texts and byte strings.
func cborHead(major byte, n int) []byte {
	switch {
	case n < 24:
		return []byte{major<<5 | byte(n)}
	case n < 256:
		return []byte{major<<5 | 24, byte(n)}
	}
	return []byte{major<<5 | 25, byte(n >> 8), byte(n)}
}

func cborBytes(b []byte) []byte { return append(cborHead(2, len(b)), b...) }
func cborText(s string) []byte  { return append(cborHead(3, len(s)), s...) }

// leafOf is the canonical leaf of leaf.md#leaf.
func leafOf(typ string, payload []byte, sigs [][2][]byte) []byte {
	out := append(cborHead(5, 3), cborText("sigs")...)
	out = append(out, cborHead(4, len(sigs))...)
	for _, s := range sigs {
		out = append(append(out, cborHead(5, 2)...), cborText("by")...)
		out = append(append(out, cborBytes(s[0])...), cborText("sig")...)
		out = append(out, cborBytes(s[1])...)
	}
	out = append(append(out, cborText("type")...), cborText(typ)...)
	return append(append(out, cborText("payload")...), cborBytes(payload)...)
}

func keyIDOf(pub []byte) []byte {
	id := sha256.Sum256(append([]byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}, pub...))
	return id[:]
}

func paeOf(typ string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(typ), typ, len(payload), payload)
}

func cidOf(block []byte) string {
	digest := blake3.Sum256(block)
	all := append([]byte{0x01, 0x71, 0x1e, 0x20}, digest[:]...)
	const digits = "abcdefghijklmnopqrstuvwxyz234567"
	text, bits, have := "b", uint(0), 0
	for _, b := range all {
		bits, have = bits<<8|uint(b), have+8
		for have >= 5 {
			have -= 5
			text += string(digits[bits>>have&31])
		}
	}
	return text + string(digits[bits<<(5-have)&31])
}

// rootBy leads a leaf's hash to the root (RFC 9162, section 2.1.3.2).
func rootBy(leaf []byte, index, size uint64, proof [][]byte) []byte {
	node := func(l, r []byte) []byte {
		h := sha256.Sum256(slices.Concat([]byte{1}, l, r))
		return h[:]
	}
	first := sha256.Sum256(append([]byte{0}, leaf...))
	fn, sn, r := index, size-1, first[:]
	for _, p := range proof {
		if fn&1 == 1 || fn == sn {
			r = node(p, r)
			for fn&1 == 0 && fn != 0 {
				fn, sn = fn>>1, sn>>1
			}
		} else {
			r = node(r, p)
		}
		fn, sn = fn>>1, sn>>1
	}
	return r
}

type pageEnvelope struct {
	Payload     []byte `json:"payload"`
	PayloadType string `json:"payloadType"`
	Signatures  []struct {
		Sig []byte `json:"sig"`
	} `json:"signatures"`
}

func unbase64(s string) []byte { return must(base64.StdEncoding.DecodeString(s)) }

func TestByThePages(t *testing.T) {
	var b struct {
		Envelope pageEnvelope
		Proof    string
		Registry []struct {
			Envelope pageEnvelope
			Index    uint64
			Proof    [][]byte
		}
		Disclosures []struct{ Field, Name, Salt, Value string }
	}
	if err := json.Unmarshal([]byte(code(t, "bundle.md", "bundle", 0, "")), &b); err != nil {
		t.Fatal(err)
	}
	policy := strings.Fields(code(t, "trust.md", "trust-files", 0, "\n"))
	engines := strings.Fields(code(t, "trust.md", "trust-files", 1, "\n"))
	check := func(what string, ok bool) {
		t.Helper()
		if !ok {
			t.Errorf("%s does not hold", what)
		}
	}

	// checkpoint.md: the proof, the note, the two signatures.
	head, note, _ := strings.Cut(b.Proof, "\n\n")
	lines := strings.Split(head, "\n")
	check("the header of the proof", lines[0] == "c2sp.org/tlog-proof@v1")
	index := must(strconv.ParseUint(strings.TrimPrefix(lines[1], "index "), 10, 64))
	var proof [][]byte
	for _, l := range lines[2:] {
		proof = append(proof, unbase64(l))
	}
	cut := strings.LastIndex(note, "\n\n")
	body, signatures := note[:cut+1], strings.Split(strings.TrimSpace(note[cut+2:]), "\n")
	fields := strings.Split(body, "\n")
	origin, size, root := fields[0], must(strconv.ParseUint(fields[1], 10, 64)), unbase64(fields[2])
	verified := map[byte]bool{}
	for _, vkey := range policy {
		name, rest, isKey := strings.Cut(vkey, "+")
		id, key64, _ := strings.Cut(rest, "+")
		if !isKey {
			continue
		}
		key := unbase64(key64)
		sum := sha256.Sum256(slices.Concat([]byte(name+"\n"), key))
		check("the key ID of "+name, hex.EncodeToString(sum[:4]) == id)
		for _, s := range signatures {
			parts := strings.Split(s, " ")
			sig := unbase64(parts[2])
			if parts[1] != name || !bytes.Equal(sig[:4], sum[:4]) {
				continue
			}
			message, sig := []byte(body), sig[4:]
			if key[0] == 4 {
				message = fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(sig), body)
				sig = sig[8:]
			}
			verified[key[0]] = ed25519.Verify(key[1:], message, sig)
		}
	}
	check("the log's signature", verified[1])
	check("the witness's cosignature", verified[4])
	check("the origin", slices.Contains(engines, origin))

	// trust.md: the genesis.
	genesis := b.Registry[0]
	check("the pinned genesis", slices.Contains(engines, cidOf(genesis.Envelope.Payload)) && genesis.Index == 0)
	reg := (&pageCBOR{genesis.Envelope.Payload}).item().(pageMap)
	pae := paeOf(genesis.Envelope.PayloadType, genesis.Envelope.Payload)
	var signed [][2][]byte
	listed := map[string]pageMap{}
	for _, item := range reg["add"].([]any) {
		k := item.(pageMap)
		pub := k["key"].([]byte)
		listed[string(keyIDOf(pub))] = k
		for _, s := range genesis.Envelope.Signatures {
			if k["role"] == "registrar" && ed25519.Verify(pub, pae, s.Sig) {
				signed = append(signed, [2][]byte{keyIDOf(pub), s.Sig})
			}
		}
	}
	slices.SortFunc(signed, func(a, b [2][]byte) int { return bytes.Compare(a[0], b[0]) })
	check("the threshold of registrars", uint64(len(signed)) >= reg["threshold"].(uint64))
	check("the genesis's place", bytes.Equal(root,
		rootBy(leafOf(genesis.Envelope.PayloadType, genesis.Envelope.Payload, signed), 0, size, genesis.Proof)))

	// statement.md, leaf.md: the receipt.
	st := (&pageCBOR{b.Envelope.Payload}).item().(pageMap)
	by := st["call"].(pageMap)["by"].([]byte)
	engine := listed[string(by)]
	check("the signer's role", engine["role"] == "engine")
	check("the signature", ed25519.Verify(engine["key"].([]byte), paeOf(b.Envelope.PayloadType, b.Envelope.Payload), b.Envelope.Signatures[0].Sig))
	check("the receipt's place", bytes.Equal(root,
		rootBy(leafOf(b.Envelope.PayloadType, b.Envelope.Payload, [][2][]byte{{by, b.Envelope.Signatures[0].Sig}}), index, size, proof)))
	_, admits := st["receipt"].(pageMap)["judgment"].(pageMap)["verdict"].(pageMap)["admit"]
	check("the verdict", admits)
	check("the statement's CID", strings.Contains(read(t, "statement.md"), cidOf(b.Envelope.Payload)))

	// preview.md: the disclosure, and the digest of ρ.
	d := b.Disclosures[0]
	message := slices.Concat(cborHead(4, 4), cborBytes(must(hex.DecodeString(d.Salt))), cborText(d.Field), cborText(d.Name), cborText(d.Value))
	var commitment [32]byte
	blake3.DeriveKey("obstat commitment v1", message, commitment[:])
	change := st["receipt"].(pageMap)["judgment"].(pageMap)["request"].(pageMap)["changes"].([]any)[0].(pageMap)
	check("the disclosed path", bytes.Equal(change["path"].([]byte), commitment[:]))
	digest := blake3.Sum256([]byte("effect-preview" + code(t, "preview.md", "preview-files", 0, "")))
	check("the preview digest", bytes.Equal(st["receipt"].(pageMap)["judgment"].(pageMap)["request"].(pageMap)["digest"].([]byte), digest[:]))
}
