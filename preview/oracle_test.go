package preview

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"
	"github.com/gowebpki/jcs"
	"github.com/ipfs/go-cid"
	mh "github.com/multiformats/go-multihash"
	"github.com/obstat/obstat/internal/vectors"
	"github.com/obstat/obstat/verdict"
	"lukechampine.com/blake3"

	ours "github.com/obstat/obstat/internal/jcs"
)

// The oracle is the specification once more, with other people's libraries and
// none of this package's code: maps through encoding/json and gowebpki/jcs,
// CBOR by fxamacker, BLAKE3 by Champine.

type obj = map[string]any

func theirBytes(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return obj{"b64": base64.StdEncoding.EncodeToString([]byte(s))}
}

func theirContent(s string) any {
	sum := blake3.Sum256([]byte(s))
	return obj{"b3": hex.EncodeToString(sum[:])}
}

func theirPin(function string, fill byte) string {
	return function + hex.EncodeToString(bytes.Repeat([]byte{fill}, 32))
}

func theirJCS(v any) []byte { return must(jcs.Transform(must(json.Marshal(v)))) }

func theirKeyed(message []byte) []byte {
	h := blake3.New(32, testKey())
	h.Write(message)
	return h.Sum(nil)
}

func theirCID(block []byte) string {
	hash := must(mh.Encode(func() []byte { s := blake3.Sum256(block); return s[:] }(), mh.BLAKE3))
	return cid.NewCidV1(cid.DagCBOR, hash).String()
}

func theirCBOR(v any) []byte {
	return must(must(cbor.EncOptions{Sort: cbor.SortLengthFirst}.EncMode()).Marshal(v))
}

// theirRho is examples(), written down by hand.
func theirRho() map[string]obj {
	return map[string]obj{
		"exec": {
			"verb": "exec", "task_id": "release/42", "attempt": 2,
			"inputs": obj{"user": "ci", "blob": theirBytes("\xc3\x28")},
			"intent": obj{
				"argv":    []any{"git", "commit", "-m", "näher\n", theirBytes("\xff\xfe")},
				"cwd":     "repo",
				"env":     obj{"PATH": "/usr/bin", "HOME": "/srv/home", "RAW": theirBytes("\x80="), "EMPTY": ""},
				"program": obj{"path": "/usr/bin/git", "content": theirContent("the program")},
				"root":    "/srv/work",
				"stdin":   theirContent("input"),
				"effects": []any{obj{"on": "exec", "target": "/usr/bin/git"}, obj{"on": "writes", "target": "repo/.git"}},
				"reads":   []any{obj{"key": "repo/.git/HEAD", "seen": nil}, obj{"key": "repo/.git/index", "seen": theirContent("index")}},
				"slots":   obj{"message": obj{"value": "näher\n", "source": "model"}},
			},
			"ctx": obj{
				"plan": theirPin("1e20", 1), "policy": theirPin("1220", 2), "permits": theirPin("1e20", 3),
				"lock": theirPin("1e20", 4), "tool": theirPin("1220", 5), "sandbox": theirPin("1e20", 6), "approval": "two-persons",
			},
		},
		"files": {
			"verb": "files", "task_id": nil, "attempt": nil, "inputs": obj{}, "ctx": obj{},
			"intent": obj{
				"root": "/srv/work",
				"changes": []any{
					obj{"path": "bin/run", "before": nil, "after": theirContent("#!"), "mode": "755"},
					obj{"path": theirBytes("caf\xe9"), "before": nil, "after": theirContent(""), "mode": nil},
					obj{"path": "gone", "before": theirContent("bye"), "after": nil, "mode": nil},
					obj{"path": "src/main.go", "before": theirContent("old"), "after": theirContent("new"), "mode": nil},
					obj{"path": "tool", "before": theirContent("same"), "after": theirContent("same"), "mode": "644"},
				},
			},
		},
		"http": {
			"verb": "http", "task_id": nil, "attempt": nil, "inputs": obj{}, "ctx": obj{},
			"intent": obj{
				"method": "POST", "url": "https://api.example:8443/v1/items%20?q=%C3%A4", "address": "[2001:db8::1]:8443",
				"body": theirContent("body"),
				"headers": []any{
					obj{"name": "Content-Type", "value": "text/plain"}, obj{"name": "X-Raw", "value": theirBytes("\xff")},
					obj{"name": "Content-Length", "value": "4"},
				},
			},
		},
		"tool": {
			"verb": "tool", "task_id": nil, "attempt": nil, "inputs": obj{}, "ctx": obj{},
			"intent": obj{"server": "notes", "tool": "add note", "arguments": obj{"a": "ä", "b": []any{1, nil}}},
		},
		"render": {
			"verb": "render", "task_id": nil, "attempt": nil, "inputs": obj{}, "ctx": obj{},
			"intent": obj{
				"template": "github/issue@1", "scaffolding": theirContent("scaffolding"), "payload": theirContent("{}"),
				"reads": []any{obj{"key": "report", "seen": theirContent("report")}},
				"slots": obj{"title": obj{"source": "report", "value": "It broke"}},
			},
		},
		"undo": {
			"verb": "undo", "task_id": nil, "attempt": nil, "inputs": obj{}, "ctx": obj{},
			"intent": obj{
				"outcome": theirCID([]byte{0xa0}), "root": "/srv/work",
				"changes": []any{
					obj{"path": "back", "before": nil, "after": theirContent("old"), "mode": nil},
					obj{"path": "made", "before": theirContent("made"), "after": nil, "mode": nil},
				},
			},
		},
	}
}

func TestOracleDigest(t *testing.T) {
	mine := examples()
	for name, rho := range theirRho() {
		blind := theirKeyed(append([]byte("obstat blind v1"), theirJCS(rho)...))
		rho["ctx"].(obj)["blind"] = hex.EncodeToString(blind)
		doc := theirJCS(rho)
		want := blake3.Sum256(append([]byte("effect-preview"), doc...))
		got := must(mine[name].Seal(testSecret))
		if !bytes.Equal(got.JSON(), doc) {
			t.Errorf("%s: ρ is\n%s, want\n%s", name, got.JSON(), doc)
		}
		if got.Digest() != want {
			t.Errorf("%s: digest %v, want %x", name, got.Digest(), want)
		}
		back, err := ParseRho(must(json.MarshalIndent(rho, " ", "\t")))
		if err != nil || back.Digest() != want {
			t.Errorf("%s: read back: %v, %v", name, back.Digest(), err)
		}
	}
}

func TestOracleCommitments(t *testing.T) {
	for _, p := range examples() {
		rho := must(p.Seal(testSecret))
		digest := rho.Digest()
		for _, item := range rho.Items() {
			d := must(testSecret.Disclose(digest, item.Field, item.Name, item.Value))
			salt := theirKeyed(append([]byte("obstat salt v1"), theirCBOR([]any{digest[:], string(item.Field), item.Name})...))
			var value any
			switch raw, bytes := item.Value.Raw(); {
			case item.Value.IsAbsent():
				value = false
			case !bytes:
				value = must(hex.DecodeString(item.Value.String()[len("b3:"):]))
			case utf8.ValidString(raw):
				value = raw
			default:
				value = []byte(raw)
			}
			var want Commitment
			blake3.DeriveKey(want[:], "obstat commitment v1", theirCBOR([]any{salt, string(item.Field), item.Name, value}))
			if s := d.Salt(); !bytes.Equal(s[:], salt) || d.Commitment() != want {
				t.Errorf("%v: salt %x and commitment %v; want %x and %v", item, d.Salt(), d.Commitment(), salt, want)
			}
		}
	}
}

func TestOracleTicket(t *testing.T) {
	digest := must(anExec().Seal(testSecret)).Digest()
	v := must(verdict.Escalate("NEEDS-HUMAN", "CLASS-RED", "NEEDS-HUMAN"))
	reasons := []string{"CLASS-RED", "NEEDS-HUMAN"}
	var long [32]byte
	blake3.DeriveKey(long[:], "obstat ticket v1", theirCBOR([]any{digest[:], reasons}))
	if got := must(TicketOf(digest, v)); got != Ticket(long[:16]) {
		t.Errorf("ticket %v, want %x", got, long[:16])
	}
	for _, v := range []verdict.Verdict{v, must(verdict.Deny("NEEDS-HUMAN", "CLASS-RED"))} {
		blake3.DeriveKey(long[:], "obstat refusal v1", theirCBOR([]any{digest[:], v.Arm().String(), reasons}))
		if got := must(RefusalOf(digest, v)); got != Refusal(long) {
			t.Errorf("refusal %v, want %x", got, long)
		}
	}
	admit := must(verdict.Admit("rule"))
	for _, v := range []verdict.Verdict{admit, must(verdict.Deny("A")), {}} {
		if ticket, err := TicketOf(digest, v); err == nil {
			t.Errorf("%v has ticket %v", v, ticket)
		}
	}
	for _, v := range []verdict.Verdict{admit, {}} {
		if refusal, err := RefusalOf(digest, v); err == nil {
			t.Errorf("%v has refusal digest %v", v, refusal)
		}
	}
}

// TestVectorsDigest holds the digest of every canonical document among the
// outside cases, and of every input that the reader takes.
func TestVectorsDigest(t *testing.T) {
	n, ok, read := 0, 0, 0
	for _, c := range vectors.Lines[struct {
		ID     string `json:"id"`
		Input  string `json:"input_hex"`
		Output string `json:"output_hex"`
		Digest string `json:"derived_blake3_effect_preview"`
	}](t, "jcs/cases.jsonl") {
		if c.Digest == "" {
			continue
		}
		n++
		tag := func(doc []byte) []byte { return append([]byte(digestTag), doc...) }
		if got := sum(tag(must(hex.DecodeString(c.Output)))); got.String() != c.Digest {
			t.Errorf("%s: digest %v, want %s", c.ID, got, c.Digest)
			continue
		}
		ok++
		doc, err := ours.Canonical(must(hex.DecodeString(c.Input)))
		if err != nil {
			continue // by the rules of package jcs, which its own test holds
		}
		read++
		if got := sum(tag(doc)); got.String() != c.Digest {
			t.Errorf("%s: digest of what was read %v, want %s", c.ID, got, c.Digest)
		}
	}
	if n == 0 || read == 0 {
		t.Errorf("%d cases have a digest, %d of them were read", n, read)
	}
	fmt.Printf("vectors: jcs/cases.jsonl (preview digests): %d cases, %d as expected\n", n, ok)
}
