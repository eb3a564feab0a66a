package corpusgen

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"math/big"
	"slices"
	"strings"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/report"
)

// envelopes: DSSE JSON, the leaf, and the signature in them.
func envelopes(b *builder) {
	b.in("signature-and-leaf")
	payload := b.example("judgment-for-refused").Payload()
	env := b.sign(payload, "engine")
	b.jsonSpellings(env)
	b.jsonRefused(env)
	b.leaves(env)
	b.signatures(payload)
	b.types(payload)
}

func (b *builder) json(name, doc string, w want, why string) {
	b.t.Helper()
	b.receipt(name, ".dsse.json", []byte(doc), w, why)
}

// parts of the JSON of an envelope with one signature.
func partsOf(env *dsse.Envelope) (payload, sig, keyid string) {
	return base64.StdEncoding.EncodeToString(env.Payload), base64.StdEncoding.EncodeToString(env.Sigs[0].Sig[:]), env.Sigs[0].By.String()
}

// jsonSpellings: one envelope in every spelling that DSSE allows.
func (b *builder) jsonSpellings(env *dsse.Envelope) {
	b.about("leaf.md#json")
	payload, sig, keyid := partsOf(env)
	url := strings.NewReplacer("+", "-", "/", "_").Replace
	b.json("json", string(env.JSON()), ok(), "as a log writes it")
	write := func(payload, sig, keyid string) string {
		return `{"payloadType":"` + env.Type + `","payload":"` + payload + `","signatures":[{"sig":"` + sig + `"` + keyid + `}]}`
	}
	b.json("json-without-keyid", write(payload, sig, ""), ok(), "keyid is a hint and may be absent")
	b.json("json-with-another-keyid", write(payload, sig, `,"keyid":"somebody else"`), ok(), "keyid is a hint and decides nothing: the signer is call.by")
	b.json("json-in-url-safe-base64", write(url(payload), url(sig), `,"keyid":"`+keyid+`"`), ok(), "base64 in the URL-safe alphabet")
	b.json("json-without-padding", write(strings.TrimRight(payload, "="), strings.TrimRight(sig, "="), ""), ok(), "base64 without padding")
	b.json("json-with-a-foreign-member", `{"note":{"a":[null,1.5]},`+write(payload, sig, "")[1:], ok(), "DSSE has members that it does not name ignored")
	b.json("json-with-spaces", strings.NewReplacer(",", " ,\n", ":", "\t: ").Replace(write(payload, sig, ""))+"\r\n", ok(), "white space between tokens and behind the object")
	b.json("json-with-escapes", strings.Replace(write(payload, sig, ""), `"payload"`, `"\u0070ayload"`, 1), ok(), "an escape in a name is the same name")
}

// jsonRefused: what only nearly is an envelope.
func (b *builder) jsonRefused(env *dsse.Envelope) {
	payload, sig, _ := partsOf(env)
	good := `{"payload":"` + payload + `","payloadType":"` + env.Type + `","signatures":[{"sig":"` + sig + `"}]}`
	edit := func(name, old, new string, code report.Code, why string) {
		b.t.Helper()
		if !strings.Contains(good, old) {
			b.t.Fatalf("%s: no %q", name, old)
		}
		b.json(name, strings.Replace(good, old, new, 1), no("form", code), why)
	}
	b.json("json-cut", good[:len(good)-1], no("form", report.CodeDSSESyntax), "the object does not end")
	b.json("json-list", "["+good+"]", no("form", report.CodeDSSESyntax), "an envelope is an object")
	b.json("json-too-deep", `{"x":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)+","+good[1:], no("form", report.CodeDSSESyntax), "an envelope nests at most 32 levels, ignored members included")
	b.json("json-with-bytes-behind", good+"{}", no("form", report.CodeDSSETrailing), "nothing but white space follows the object")
	b.json("json-not-utf8", strings.Replace(good, `{"sig"`, "{\"x\":\"\xff\",\"sig\"", 1), no("form", report.CodeDSSEUTF8), "invalid UTF-8, in an ignored member too")
	edit("json-without-payload", `"payload":"`+payload+`",`, ``, report.CodeDSSEMissing, "DSSE requires payload")
	edit("json-without-type", `"payloadType":"`+env.Type+`",`, ``, report.CodeDSSEMissing, "DSSE requires payloadType")
	edit("json-without-signatures", `,"signatures":[{"sig":"`+sig+`"}]`, ``, report.CodeDSSEMissing, "DSSE requires signatures")
	edit("json-without-sig", `{"sig":"`+sig+`"}`, `{}`, report.CodeDSSEMissing, "DSSE requires sig")
	edit("json-payload-twice", `"payloadType"`, `"payload":"`+payload+`","payloadType"`, report.CodeDSSEDuplicate, "two readers could take two payloads")
	edit("json-sig-twice", `{"sig"`, `{"sig":"`+sig+`","sig"`, report.CodeDSSEDuplicate, "two readers could take two signatures")
	edit("json-payload-in-another-case", `"payloadType"`, `"Payload":"","payloadType"`, report.CodeDSSECase, "readers that fold case would see another envelope")
	edit("json-type-in-another-case", `"signatures"`, `"payloadtype":"x","signatures"`, report.CodeDSSECase, "readers that fold case would see another envelope")
	edit("json-payload-null", `"payload":"`+payload+`"`, `"payload":null`, report.CodeDSSEType, "payload is a string")
	edit("json-signatures-object", `[{"sig":"`+sig+`"}]`, `{"sig":"`+sig+`"}`, report.CodeDSSEType, "signatures is a list")
	edit("json-keyid-number", `{"sig"`, `{"keyid":1,"sig"`, report.CodeDSSEType, "a keyid that is there is a text")
	edit("json-two-alphabets", `"payload":"`+payload, `"payload":"-/`+payload[2:], report.CodeDSSEBase64, "standard or URL-safe, not both")
	edit("json-line-break-in-base64", `"sig":"`, `"sig":"\n`, report.CodeDSSEBase64, "base64 without line breaks")
	edit("json-spare-bits", sig[len(sig)-3:], spoilSpare(sig[len(sig)-3:]), report.CodeDSSEBase64, "spare bits are zero")
	edit("json-half-padded", sig+`"`, strings.TrimSuffix(sig, "=")+`"`, report.CodeDSSEBase64, "full padding or none")
	edit("json-no-signature", `{"sig":"`+sig+`"}`, ``, report.CodeDSSESigCount, "at least one signature")
	edit("json-two-signatures", `{"sig":"`+sig+`"}`, `{"sig":"`+sig+`"},{"sig":"`+sig+`"}`, report.CodeDSSESigCount, "a receipt has exactly one")
	short := base64.StdEncoding.EncodeToString(env.Sigs[0].Sig[:63])
	edit("json-short-signature", sig, short, report.CodeDSSESigSize, "64 bytes of Ed25519")
	b.json("json-empty", "", unknown("form", report.CodeInputEmpty), "nothing was there to be checked")
}

// spoilSpare changes spare bits of the last digit before the padding "==".
func spoilSpare(end string) string { return string(end[0]+1) + end[1:] }

// leaves: the one canonical spelling.
func (b *builder) leaves(env *dsse.Envelope) {
	b.about("leaf.md#leaf")
	leaf := b.leaf(env)
	b.receipt("leaf", ".leaf", leaf, ok(), "the leaf of the same envelope")
	form := func(name string, v dagcbor.Value, code report.Code, why string) {
		b.t.Helper()
		b.receipt(name, ".leaf", encode(b.t, v), no("form", code), why)
	}
	root := tree(b.t, leaf)
	sig := get(b.t, root, "sigs").(dagcbor.List)[0]
	form("leaf-without-payload-bytes", put(b.t, root, "payload", s("text")), report.CodeLeafForm, "payload is a byte string")
	form("leaf-with-type-bytes", put(b.t, root, "type", bytesOf(3)), report.CodeLeafForm, "type is a text")
	form("leaf-with-short-by", put(b.t, root, "sigs.0.by", bytesOf(31)), report.CodeLeafForm, "by is 32 bytes")
	form("leaf-with-short-sig", put(b.t, root, "sigs.0.sig", bytesOf(63)), report.CodeLeafForm, "sig is 64 bytes")
	form("leaf-with-keyid", put(b.t, root, "sigs.0.keyid", s("x")), report.CodeLeafForm, "exactly the keys by and sig")
	form("leaf-of-three-other-keys", m{{Key: "sigs", Value: l{sig}}, {Key: "typ", Value: s(env.Type)}, {Key: "payload", Value: dagcbor.Bytes(env.Payload)}}, report.CodeLeafForm, "exactly the keys sigs, type and payload")
	form("leaf-without-signature", put(b.t, root, "sigs", l{}), report.CodeDSSESigCount, "at least one signature")
	form("leaf-with-one-signature-twice", put(b.t, root, "sigs", l{sig, sig}), report.CodeDSSESigOrder, "signatures ascend strictly, so none stands twice")
	low, high := put(b.t, sig, "by", bytesOf(32)), sig
	form("leaf-with-signatures-out-of-order", put(b.t, root, "sigs", l{high, low}), report.CodeDSSESigOrder, "signatures ascend by key")
	form("leaf-with-two-signatures", put(b.t, root, "sigs", l{low, high}), report.CodeDSSESigCount, "a receipt has exactly one")
	many := make(l, 14)
	for i := range many {
		many[i] = put(b.t, sig, "by", dagcbor.Bytes(bytes.Repeat([]byte{byte(i)}, 32)))
	}
	form("leaf-with-fourteen-signatures", put(b.t, root, "sigs", many), report.CodeDSSESigCount, "at most 13 fit beside the largest payload")
	form("leaf-bound-to-another-key", put(b.t, root, "sigs.0.by", dagcbor.Bytes(bytes.Repeat([]byte{7}, 32))), report.CodeSignerMismatch, "the signature is bound to the key that call.by names")
	b.about("limits.md#sizes")
	large := put(b.t, root, "payload", dagcbor.Bytes(bytes.Repeat([]byte{0}, 64001)))
	form("leaf-with-a-payload-too-large", large, report.CodeDSSEPayloadSize, "a payload has at most 64,000 bytes")
	b.about("leaf.md#leaf")
	b.receipt("leaf-with-a-byte-behind", ".leaf", append(slices.Clone(leaf), 0), no("form", report.CodeCBORTrailing), "a leaf is one block")
	b.receipt("leaf-cut", ".leaf", leaf[:len(leaf)-1], no("form", report.CodeCBORTruncated), "a leaf is one block")
	b.receipt("leaf-not-shortest", ".leaf", slices.Concat([]byte{0xa3, 0x78, 0x04}, leaf[2:]), no("form", report.CodeCBORNotShortest), "a leaf has one spelling")
	b.about("encoding.md#canonical-form")
	b.signed("payload-not-canonical", []byte{0xa1, 0x64, 'c', 'a', 'l', 'l', 0xf6}, "engine", no("form", report.CodeCBORNull), "the payload is canonical DAG-CBOR, whoever signed it")
	b.signed("payload-is-no-block", []byte("{}"), "engine", no("form", report.CodeCBORTruncated), "the payload is canonical DAG-CBOR: as such, 7b begins a very long text")
}

// signatures: what holds under the key, and what only looks as if it did.
func (b *builder) signatures(payload []byte) {
	b.about("leaf.md#signatures")
	bad := no("signature", report.CodeSignatureInvalid)
	spoil := func(name, why string, edit func(sig []byte)) {
		env := b.sign(payload, "engine")
		edit(env.Sigs[0].Sig[:])
		b.receipt(name, ".leaf", b.leaf(env), bad, why)
	}
	spoil("signature-r-flipped", "one bit of R", func(sig []byte) { sig[0] ^= 1 })
	spoil("signature-s-flipped", "one bit of S", func(sig []byte) { sig[32] ^= 1 })
	spoil("signature-plus-order", "S above the group order: the same point, another spelling", func(sig []byte) {
		order, _ := new(big.Int).SetString("1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed", 16)
		s := slices.Clone(sig[32:])
		slices.Reverse(s)
		sum := new(big.Int).Add(new(big.Int).SetBytes(s), order).FillBytes(make([]byte, 32))
		slices.Reverse(sum)
		copy(sig[32:], sum)
	})
	spoil("signature-of-zeros", "zeros", func(sig []byte) { clear(sig) })
	spoil("signature-over-the-bare-payload", "signed without PAE, which exists in the wild and is not DSSE", func(sig []byte) {
		copy(sig, ed25519.Sign(testlog.Key("engine"), payload))
	})
	spoil("signature-over-another-type", "the payload type is signed: one kind of signed thing never verifies as another", func(sig []byte) {
		copy(sig, ed25519.Sign(testlog.Key("engine"), dsse.PAE(dsse.RegistryType, payload)))
	})
	spoil("signature-by-another-key", "by the approver's key under the engine's name", func(sig []byte) {
		copy(sig, ed25519.Sign(testlog.Key("approver"), dsse.PAE(dsse.ReceiptType, payload)))
	})
	env := b.sign(payload, "engine")
	other := b.example("judgment-for-withheld").Payload()
	env.Payload = other
	b.receipt("signature-of-another-statement", ".leaf", b.leaf(env), bad, "a signature moved to another statement of the same key")
}

// types: what kind of thing the envelope says it holds.
func (b *builder) types(payload []byte) {
	b.about("leaf.md#signed-bytes")
	typed := func(name, typ string, w want, why string) {
		env, err := dsse.Sign(typ, payload, testlog.Key("engine"))
		if err != nil {
			b.t.Fatal(err)
		}
		b.receipt(name, ".leaf", b.leaf(env), w, why)
	}
	typed("type-of-a-registry", dsse.RegistryType, no("form", report.CodePayloadType), "a registry statement is no receipt")
	typed("type-in-upper-case", strings.ToUpper(dsse.ReceiptType), no("form", report.CodePayloadType), "a payload type has one spelling")
	typed("type-of-somebody-else", "application/vnd.in-toto+json", no("form", report.CodePayloadType), "another payload type")
	typed("type-of-no-version", "application/vnd.obstat.receipt.v01+cbor", no("form", report.CodePayloadType), "a version has no leading zero: this is another type")
	b.about("evolution.md#what-an-old-reader-answers")
	typed("type-of-the-next-version", "application/vnd.obstat.receipt.v2+cbor", unknown("schema", report.CodeVersionUnknown), "frame, signature and names are checked as always, the schema is not known")
	typed("type-of-a-far-version", "application/vnd.obstat.receipt.v4294967295+cbor", unknown("schema", report.CodeVersionUnknown), "any greater number is a version")
	v2, err := dsse.Sign("application/vnd.obstat.receipt.v2+cbor", encode(b.t, put(b.t, tree(b.t, payload), "receipt", m{{Key: "forecast", Value: l{s("anything"), n(1)}}})), testlog.Key("engine"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.about("evolution.md#reserved")
	typed("type-of-a-freeze", "application/vnd.obstat.freeze.v1+cbor", no("form", report.CodePayloadType), "reserved, and nothing gives it meaning yet")
	b.about("evolution.md#frame")
	b.receipt("next-version-of-another-kind", ".leaf", b.leaf(v2), unknown("schema", report.CodeVersionUnknown), "in a later version there may be kinds that nobody knows yet", "kind=forecast", "run=run-1")
	v2.Sigs[0].Sig[5] ^= 1
	b.receipt("next-version-with-a-bad-signature", ".leaf", b.leaf(v2), no("signature", report.CodeSignatureInvalid).and(unknown("schema", report.CodeVersionUnknown)), "a signature is checked under every version")
	b.about("statement.md#frame")
	frameless := put(b.t, tree(b.t, payload), "call.seq", nil)
	v3, err := dsse.Sign("application/vnd.obstat.receipt.v2+cbor", encode(b.t, frameless), testlog.Key("engine"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.receipt("next-version-without-a-seq", ".leaf", b.leaf(v3), no("schema", report.CodeSchemaMissing), "the frame is the same in every version")
}

// roles: which key may sign what.
func roles(b *builder) {
	b.in("roles")
	b.about("receipt.md#roles")
	for _, e := range b.exampleNames() {
		kind := b.example(e).Frame().Kind
		if slices.ContainsFunc(b.cases, func(c corpus.Case) bool { return c.Name == "roles/"+string(kind)+"-in-its-role" }) {
			continue
		}
		wrong := map[string]string{"engine": "approver", "approver": "engine"}[signerOf(kind)]
		b.signed(string(kind)+"-in-its-role", b.example(e).Payload(), signerOf(kind), ok(), "a "+string(kind)+" is signed by an "+signerOf(kind))
		b.signed(string(kind)+"-by-an-"+wrong, b.resigned(e, wrong), wrong, no("signer", report.CodeKeyRole), "a "+string(kind)+" is not signed by an "+wrong)
	}
	log := testlog.New(b.t)
	registry := func(name, example, label string, w want, why string) {
		i := log.Append(b.sign(b.resigned(example, label), label))
		b.bundle(name, log.Bundle(i, log.Size()), noQuorum, w, why)
	}
	b.about("trust.md#roles")
	registry("judgment-by-a-registrar", "judgment-admit", "registrar-1", no("KEY-LISTED-AT", report.CodeKeyRole), "a registrar signs registry statements and no receipt")
	registry("judgment-by-an-approver-in-the-log", "judgment-admit", "approver", no("KEY-LISTED-AT", report.CodeKeyRole), "where it stands changes nothing")
	registry("decision-by-an-engine-in-the-log", "decision-approve", "engine", no("KEY-LISTED-AT", report.CodeKeyRole), "where it stands changes nothing")
	b.about("report.md#checks")
	b.signed("judgment-by-a-stranger", b.resigned("judgment-admit", "stranger"), "stranger",
		unknown("signature", report.CodeKeyUnknown).and(unknown("signer", report.CodeKeyUnknown)), "a key that nobody vouches for is not checked, and not refuted")
}

// resigned is an example whose call says that another key signs it.
func (b *builder) resigned(example, label string) []byte {
	id := testlog.ID(label)
	return encode(b.t, put(b.t, tree(b.t, b.example(example).Payload()), "call.by", dagcbor.Bytes(id[:])))
}
