package corpusgen

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

// cidOf is the text of a CID, computed here and not by the code that a corpus
// is there to judge.
func cidOf(block []byte) string {
	sum := blake3.Sum256(block)
	return "b" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(append([]byte{0x01, 0x71, 0x1e, 0x20}, sum[:]...)))
}

// receiptOf is the item under the key receipt of a statement, which is the last.
func (b *builder) receiptOf(payload []byte) []byte {
	b.t.Helper()
	return encode(b.t, get(b.t, tree(b.t, payload), "receipt"))
}

// identity: which bytes have which name.
func identity(b *builder) {
	b.in("identity")
	b.about("statement.md")
	engine := receipt.KeyID(testlog.ID("engine"))
	call := receipt.Call{By: engine, Run: "run-1", Seq: 1, Prev: b.example("run-open").CID, At: receipttest.Start}
	judgment := receipttest.Judgment("request", receipttest.Deny("CLASS-RED"))
	base := receipttest.Build(call, judgment).Payload()
	st, rc := "statement="+cidOf(base), "receipt="+cidOf(b.receiptOf(base))
	b.signed("names-of-a-judgment", base, "engine", ok(), "the statement CID is over the payload, the receipt CID over the item under receipt", st, rc)
	b.signed("another-name-of-the-statement", base, "engine", no("expect statement", report.CodeExpectationUnmet),
		"the receipt CID is no name of the statement", "statement="+cidOf(b.receiptOf(base)))
	b.signed("another-name-of-the-receipt", base, "engine", no("expect receipt", report.CodeExpectationUnmet),
		"the statement CID is no name of the receipt", "receipt="+cidOf(base))

	later := call
	later.At, later.Seq = later.At+1000, 2
	moved := receipttest.Build(later, judgment).Payload()
	b.signed("same-receipt-in-another-call", moved, "engine", ok(), "no clock and no place enters the receipt: its name stays, and the statement has another", rc, "statement="+cidOf(moved))
	b.signed("another-call-is-another-statement", moved, "engine", no("expect statement", report.CodeExpectationUnmet), "two calls of one judgment have two statement CIDs", st)
	judgment.Class = receipt.Yellow
	other := receipttest.Build(call, judgment).Payload()
	b.signed("another-class-is-another-receipt", other, "engine", no("expect receipt", report.CodeExpectationUnmet), "every field enters the receipt", rc)
	b.signed("run-open", b.example("run-open").Payload(), "engine", ok(), "statements of every kind are named alike",
		"statement="+cidOf(b.example("run-open").Payload()), "receipt="+cidOf(b.receiptOf(b.example("run-open").Payload())))
	b.signed("decision", b.example("decision-approve").Payload(), "approver", ok(), "statements of every kind are named alike",
		"statement="+cidOf(b.example("decision-approve").Payload()), "receipt="+cidOf(b.receiptOf(b.example("decision-approve").Payload())))

	b.cids()
	b.views(base)
}

// cids: the one text of a CID.
func (b *builder) cids() {
	b.about("encoding.md#cid")
	const good = "bafyr4ia7stf7ge5tzyrsk6tskhva7sk2erkw5jqr4t4pi5pfjglrxlw3ai"
	cid := func(name, text string, w want, why string) {
		b.one(corpus.AskCID, name, ".txt", []byte(text), w, why)
	}
	cid("cid-of-the-empty-map", good, ok(), "the CID of a0, as the page prints it")
	cid("cid-of-a-statement", b.example("run-open").CID.String(), ok(), "every one begins bafyr4i")
	bad := no("form", report.CodeCIDText)
	for _, last := range []string{"j", "k", "l"} {
		cid("cid-alias-"+last, good[:len(good)-1]+last, bad, "the two spare bits of the last character are zero")
	}
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(good[1:]))
	if err != nil {
		b.t.Fatal(err)
	}
	spell := func(raw []byte) string {
		return "b" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(raw))
	}
	cid("cid-in-upper-case", "B"+strings.ToUpper(good[1:]), bad, "upper case is another multibase")
	cid("cid-with-upper-case-inside", good[:9]+strings.ToUpper(good[9:10])+good[10:], bad, "lower case throughout")
	cid("cid-in-hex", "f"+hex.EncodeToString(raw), bad, "hex is another multibase")
	cid("cid-with-padding", good+"=", bad, "no padding")
	cid("cid-cut", good[:len(good)-1], bad, "59 characters")
	cid("cid-with-a-newline", good+"\n", bad, "59 characters and nothing else")
	cid("cid-of-raw-bytes", spell(append([]byte{0x01, 0x55, 0x1e, 0x20}, raw[4:]...)), bad, "the codec is dag-cbor")
	cid("cid-by-sha256", spell(append([]byte{0x01, 0x71, 0x12, 0x20}, raw[4:]...)), bad, "the hash is BLAKE3")
	cid("cid-of-nothing", "", bad, "an empty text names nothing")
}

// views: the JSON view of a statement and the second digest.
func (b *builder) views(payload []byte) {
	b.about("jsonview.md")
	d, err := receipt.Decode(payload)
	if err != nil {
		b.t.Fatal(err)
	}
	doc, err := receipt.ToJSON(d)
	if err != nil {
		b.t.Fatal(err)
	}
	view := func(name string, doc []byte, w want, why string, expect ...string) {
		b.one(corpus.AskView, name, ".view.json", doc, w, why, expect...)
	}
	view("view", doc, ok(), "the view of a statement leads back to its bytes", "statement="+cidOf(payload), "receipt="+cidOf(b.receiptOf(payload)))
	// The view is written in the form of RFC 8785, so the receipt's is a part of it.
	_, part, _ := strings.Cut(string(doc), `"receipt":`)
	sum := sha256.Sum256([]byte(strings.TrimSuffix(part, "}")))
	b.about("jsonview.md#digest")
	view("second-digest", doc, ok(), "SHA-256 over the RFC 8785 form of the receipt's view", "jcs=jcs-sha256:"+hex.EncodeToString(sum[:]))
	view("second-digest-is-no-identity", doc, no("expect jcs", report.CodeExpectationUnmet), "it has a text of its own", "jcs="+hex.EncodeToString(sum[:]))
	b.about("jsonview.md")
	view("view-of-another", doc, no("expect statement", report.CodeExpectationUnmet), "a view is of one statement", "statement="+cidOf(b.receiptOf(payload)))
	edit := func(name, old, new string, w want, why string) {
		if strings.Count(string(doc), old) != 1 {
			b.t.Fatalf("%q stands %d times in %s", old, strings.Count(string(doc), old), doc)
		}
		view(name, []byte(strings.Replace(string(doc), old, new, 1)), w, why)
	}
	bad := no("form", report.CodeReceiptJSON)
	edit("view-with-a-null", `"class":"green"`, `"class":null`, bad, "null is no value of a view")
	edit("view-with-a-float", `"seq":1`, `"seq":1.5`, bad, "integers only")
	edit("view-by-the-schema", `"class":"green"`, `"class":"orange"`, no("form", report.CodeSchemaWord), "what a view says is held to the schema")
	edit("view-name-twice", `"class":"green"`, `"class":"green","class":"green"`, no("form", report.CodeJSONNameTwice), "one name has one value")
}

// digestHex is the BLAKE3 of bytes, in hex.
func digestHex(data []byte) string {
	sum := blake3.Sum256(data)
	return hex.EncodeToString(sum[:])
}
