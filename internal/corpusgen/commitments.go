package corpusgen

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

// opening is one commitment with what opens it, computed by the page and not by
// package preview.
type opening struct {
	field, name string
	salt        [32]byte
	value       dagcbor.Value // as it is committed to
	json        string        // as it stands in ρ
}

// open makes the opening of a value at a place of a request.
func (b *builder) open(request receipt.Digest, field, name string, value dagcbor.Value, json string) opening {
	place := encode(b.t, l{dagcbor.Bytes(request[:]), s(field), s(name)})
	return opening{field, name, keyed("obstat salt v1" + string(place)), value, json}
}

// text, contents and none are the three things that a value can be.
func (b *builder) text(request receipt.Digest, field, name, value string) opening {
	return b.open(request, field, name, s(value), `"`+value+`"`)
}

func (b *builder) contents(request receipt.Digest, field, name, data string) opening {
	sum := blake3.Sum256([]byte(data))
	return b.open(request, field, name, dagcbor.Bytes(sum[:]), content(data))
}

func (b *builder) none(request receipt.Digest, field, name string) opening {
	return b.open(request, field, name, dagcbor.Bool(false), "null")
}

// at is the opening of another value under the same salt.
func (o opening) at(other opening) opening {
	o.value, o.json = other.value, other.json
	return o
}

func (b *builder) commitment(o opening) (c receipt.Commitment) {
	blake3.DeriveKey("obstat commitment v1", encode(b.t, l{dagcbor.Bytes(o.salt[:]), s(o.field), s(o.name), o.value}), c[:])
	return c
}

func (b *builder) hidden(o opening) receipt.Value { return receipt.CommittedTo(b.commitment(o)) }

// document is the disclosure of an opening.
func (o opening) document() string {
	return fmt.Sprintf(`{"field":"%s","name":"%s","salt":"%s","value":%s}`, o.field, o.name, hex.EncodeToString(o.salt[:]), o.json)
}

// disclosed adds disclosures to the JSON of a bundle.
func disclosed(doc []byte, disclosures ...string) []byte {
	return []byte(strings.TrimSuffix(string(doc), "}") + `,"disclosures":[` + strings.Join(disclosures, ",") + `]}`)
}

// commitments: what a disclosure beside a bundle opens, and what it does not.
func commitments(b *builder) {
	b.in("commitments")
	b.about("preview.md#commitments")
	log := testlog.New(b.t)
	run := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "run-1")
	add := func(d *receipt.Decoded) (*receipt.Decoded, uint64) { return d, log.Append(log.Sign(d, "engine")) }
	add(run.Add(receipttest.Open(testlog.Origin)))

	request := receipttest.Digest("change of files")
	input := b.text(request, "input", "branch", "main")
	raw := b.open(request, "input", "message", dagcbor.Bytes{0xff}, `{"b64":"/w=="}`)
	path, before, after := b.text(request, "path", "0", "notes/today.md"), b.contents(request, "before", "0", "milk"), b.contents(request, "after", "0", "milk and bread")
	made, absent := b.text(request, "path", "1", "notes/new.md"), b.none(request, "before", "1")
	madeAfter := b.contents(request, "after", "1", "")
	slot := b.text(request, "slot", "title", "Shopping")
	target := b.text(request, "target", "0", "/srv/work/notes")
	key, seen := b.text(request, "key", "0", "etag"), b.contents(request, "seen", "0", "version 7")
	delta := b.contents(request, "delta", "0", "the inverse")
	j := receipttest.Judgment("files", receipttest.Admit("files/inside-root"))
	j.Request = receipt.Request{
		Verb: "files", Digest: request,
		Inputs:  []receipt.Input{{Name: "branch", Value: b.hidden(input)}, {Name: "clear", Value: receipt.Clear("shown")}, {Name: "message", Value: b.hidden(raw)}},
		Changes: []receipt.Change{{Path: b.hidden(path), Edit: receipt.Replace{Before: b.commitment(before), After: b.commitment(after)}}, {Path: b.hidden(made), Edit: receipt.Create{After: b.commitment(madeAfter)}}},
		Slots:   []receipt.Slot{{Name: "title", Value: b.hidden(slot), Source: "user"}},
		Effects: []receipt.Effect{{On: receipt.OnWrites, Target: b.hidden(target)}},
	}
	j.Reads = []receipt.Read{
		{Key: b.hidden(path), Seen: b.commitment(before)}, {Key: b.hidden(made), Seen: b.commitment(absent)}, {Key: b.hidden(key), Seen: b.commitment(seen)},
	}
	j.Inverse = receipt.Escrowed{Delta: b.commitment(delta)}
	receipt.SortSet(j.Request.Changes)
	receipt.SortSet(j.Reads)
	judged, at := add(run.Add(j))
	found := before.at(b.contents(request, "before", "0", "moved"))
	_, staleAt := add(run.Settle(judged, receipt.Stale{Key: b.hidden(path), Expected: b.commitment(before), Seen: b.commitment(found), Recovery: receipttest.Recovery("stale")}))

	other := receipttest.Digest("a program that writes")
	wroteKey, wrote := b.text(other, "wrote-key", "0", "out.log"), b.contents(other, "wrote", "0", "done")
	second := receipttest.Judgment("exec", receipttest.Admit("exec/allowed"))
	second.Request = receipt.Request{Verb: "exec", Digest: other}
	judged2, _ := add(run.Add(second))
	_, wroteAt := add(run.Settle(judged2, receipt.Committed{Fired: other, Wrote: []receipt.Wrote{{Key: b.hidden(wroteKey), Value: b.commitment(wrote)}}}))
	size := log.Size()

	ask := func(name string, index uint64, w want, why string, disclosures ...string) {
		b.bundleBytes(name, disclosed(log.Bundle(index, size).Append(nil), disclosures...), noQuorum, registryTrust, w, why)
	}
	for _, o := range []struct {
		name string
		o    opening
		why  string
	}{
		{"input", input, "an input by its name"}, {"input-not-utf8", raw, "an input whose bytes are no text"}, {"path", path, "the path of the first change"},
		{"before", before, "what a file must hold"}, {"after", after, "what a file holds afterwards"}, {"slot", slot, "what filled a slot"},
		{"target", target, "what an effect touches"}, {"key", key, "the key of a read"}, {"seen", seen, "what a key held"},
		{"nothing-before", absent, "no content: a file that must not exist"}, {"empty-after", madeAfter, "an empty content is not no content"},
		{"delta", delta, "the escrowed inverse"},
	} {
		ask(o.name, at, ok(), o.why, o.o.document())
	}
	ask("wrote-key", wroteAt, ok(), "the key of a postcondition", wroteKey.document())
	ask("wrote", wroteAt, ok(), "what was left behind", wrote.document())
	ask("stale-seen", staleAt, ok(), "what was found commits at the place of what was expected, under its salt", found.document())
	ask("several", at, ok(), "several at once", path.document(), before.document(), after.document(), slot.document())

	unplaced := no("disclosures", report.CodeDisclosureUnplaced)
	b.about("preview.md#disclosures")
	ask("another-value", at, unplaced, "another value", path.at(b.text(request, "path", "0", "notes/tomorrow.md")).document())
	ask("another-content", at, unplaced, "another content", before.at(b.contents(request, "before", "0", "butter")).document())
	ask("empty-is-not-absent", at, unplaced, "an empty content is not no content", absent.at(b.contents(request, "before", "1", "")).document())
	salted := path
	salted.salt[31] ^= 1
	ask("another-salt", at, unplaced, "another salt", salted.document())
	ask("another-index", at, unplaced, "the index is committed to", strings.Replace(path.document(), `"name":"0"`, `"name":"1"`, 1))
	ask("another-field", at, unplaced, "the field is committed to", strings.Replace(path.document(), `"field":"path"`, `"field":"key"`, 1))
	ask("another-receipt", wroteAt, unplaced, "it opens nothing in this receipt", path.document())
	ask("a-value-in-the-clear", at, unplaced, "what stands in the clear is no commitment", b.text(request, "input", "clear", "shown").document())
	ask("one-good-one-not", at, unplaced, "every disclosure has its place", path.document(), salted.document())
	b.about("bundle.md#bundle")
	ask("twice", at, no("disclosures", report.CodeDisclosureTwice), "a bundle discloses each field and name once", path.document(), path.document())
	b.about("preview.md#disclosures")
	bad := func(name, old, new string, code report.Code, why string) {
		b.t.Helper()
		if !strings.Contains(path.document(), old) {
			b.t.Fatalf("%s: no %q", name, old)
		}
		ask(name, at, no("form", code), why, strings.Replace(path.document(), old, new, 1))
	}
	bad("field-that-is-none", `"field":"path"`, `"field":"colour"`, report.CodePreviewDisclosure, "the list of fields is closed")
	bad("index-with-a-zero", `"name":"0"`, `"name":"00"`, report.CodePreviewDisclosure, "an index is decimal without leading zeros")
	bad("salt-cut", `"salt":"`+hex.EncodeToString(path.salt[:])[:2], `"salt":"`, report.CodePreviewDisclosure, "64 lowercase hex digits")
	bad("content-for-a-path", `"value":"notes/today.md"`, `"value":`+content("x"), report.CodePreviewValue, "a path is a byte string and never a content")
	bad("text-as-base64", `"value":"notes/today.md"`, `"value":{"b64":"YQ=="}`, report.CodePreviewValue, "a value has one spelling")
	bad("member-missing", `"field":"path",`, ``, report.CodePreviewSchema, "field, name, salt and value")
	bad("member-unknown", `"field":"path"`, `"field":"path","why":"x"`, report.CodePreviewSchema, "field, name, salt and value, and no other")
}
