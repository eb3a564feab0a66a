package receipt

import (
	"fmt"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// Decoded is a statement that was read from bytes and found whole. Only Decode
// makes one.
type Decoded struct {
	Statement  Statement
	CID        CID // of the statement
	ReceiptCID CID // of its receipt
	payload    []byte
}

// Payload returns the bytes that were decoded, which the caller does not
// change.
func (d *Decoded) Payload() []byte { return d.payload }

// Decode reads one statement of at most MaxStatement bytes: the strict check
// of spec/encoding.md, then the whole schema of spec/receipt.md and
// spec/statement.md. The result keeps payload, which the caller does not change
// afterwards.
//
// The error is a *report.Error. Where is "byte N" for bytes that are not
// canonical DAG-CBOR, and otherwise a path such as
// "receipt.judgment.request.changes[2].path".
func Decode(payload []byte) (*Decoded, error) {
	call, receipt, err := parse(payload)
	if err != nil {
		return nil, err
	}
	d := &Decoded{payload: payload}
	if e := d.read(call, receipt); e != nil {
		return nil, e
	}
	d.CID = dagcbor.Sum(payload)
	d.ReceiptCID = dagcbor.Sum(receipt.Raw())
	return d, nil
}

func (d *Decoded) read(call, receipt node) *report.Error {
	c, fields, e := readCall(call)
	if e != nil {
		return under("call", e)
	}
	r, e := readReceipt(receipt)
	if e != nil {
		return under("receipt", e)
	}
	if e := checkCall(&c, fields, r.Kind()); e != nil {
		return under("call", e)
	}
	switch r := r.(type) {
	case Judgment:
		if e := checkExpires(&c, fields, r.Ruling.verdict.Arm()); e != nil {
			return under("call", e)
		}
	case Gap:
		if c.Seq <= r.Count {
			e := refuse(report.CodeSchemaGap, fmt.Sprintf("a count below seq %d", c.Seq), fmt.Sprint(r.Count))
			return under("receipt", under("gap", under("count", e)))
		}
	}
	d.Statement = Statement{Call: c, Receipt: r}
	return nil
}

// Frame is the part of a statement that is the same in every version, so that
// an old verifier still follows the chains of a newer one
// (spec/evolution.md#frame).
type Frame struct {
	Call       Call
	Kind       Kind // one of Kinds, or a word of a later version
	CID        CID  // of the statement
	ReceiptCID CID  // of its receipt
}

// Frame returns the frame of a decoded statement.
func (d *Decoded) Frame() Frame {
	return Frame{Call: d.Statement.Call, Kind: d.Statement.Receipt.Kind(), CID: d.CID, ReceiptCID: d.ReceiptCID}
}

// DecodeFrame reads the frame of a statement of any version: the strict check,
// the call, and of the receipt its kind and its bytes. What the receipt says
// is not checked. Errors are as Decode's.
func DecodeFrame(payload []byte) (Frame, error) {
	call, receipt, err := parse(payload)
	if err != nil {
		return Frame{}, err
	}
	c, fields, e := readCall(call)
	if e != nil {
		return Frame{}, under("call", e)
	}
	word, _, e := onlyEntry(receipt)
	if e == nil && !validWord(word) {
		e = refuse(report.CodeSchemaArm, "a kind: [a-z0-9-], at most 64 bytes", quote(word))
	}
	if e != nil {
		return Frame{}, under("receipt", e)
	}
	if e := checkCall(&c, fields, Kind(word)); e != nil {
		return Frame{}, under("call", e)
	}
	return Frame{Call: c, Kind: Kind(word), CID: dagcbor.Sum(payload), ReceiptCID: dagcbor.Sum(receipt.Raw())}, nil
}

func validWord(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// parse makes the strict check and opens the outermost map.
func parse(payload []byte) (call, receipt node, err error) {
	if len(payload) > MaxStatement {
		return node{}, node{}, refuse(report.CodeSchemaSize, fmt.Sprintf("at most %d bytes", MaxStatement), fmt.Sprint(len(payload)))
	}
	root, err := dagcbor.Parse(payload)
	if err != nil {
		return node{}, node{}, err
	}
	if e := isKind(root, dagcbor.KindMap); e != nil {
		return node{}, node{}, e
	}
	found := 0
	for key, v := range root.Entries() {
		switch key {
		case "call":
			call = v
		case "receipt":
			receipt = v
		default:
			return node{}, node{}, under(key, unknown(key))
		}
		found++
	}
	if e := lacks(root, found, "call", "receipt"); e != nil {
		return node{}, node{}, e
	}
	return call, receipt, nil
}

func readReceipt(n node) (Receipt, *report.Error) {
	word, body, e := onlyEntry(n)
	if e != nil {
		return nil, e
	}
	var r Receipt
	switch Kind(word) {
	case KindRunOpen:
		r, e = readRunOpen(body)
	case KindJudgment:
		r, e = readJudgment(body)
	case KindDecision:
		r, e = readDecision(body)
	case KindOutcome:
		r, e = readOutcome(body)
	case KindFault:
		r, e = readFault(body)
	case KindGap:
		r, e = readGap(body)
	case KindRunClose:
		r, e = readRunClose(body)
	default:
		words := make([]string, 0, len(Kinds()))
		for _, k := range Kinds() {
			words = append(words, string(k))
		}
		return nil, noArm(word, words...)
	}
	if e != nil {
		return nil, under(word, e)
	}
	return r, nil
}

func checkExpires(c *Call, fields callFields, arm verdict.Arm) *report.Error {
	has, want := fields&callExpires != 0, arm == verdict.ArmEscalate
	switch {
	case has && !want:
		return under("expires", refuse(report.CodeSchemaExpires, "none where the verdict is "+arm.String(), "one"))
	case !has && want:
		return under("expires", refuse(report.CodeSchemaExpires, "one where the verdict is escalate", "none"))
	case has && c.Expires < c.At:
		return under("expires", refuse(report.CodeSchemaExpires, fmt.Sprintf("not before at, %d", c.At), fmt.Sprint(c.Expires)))
	}
	return nil
}
