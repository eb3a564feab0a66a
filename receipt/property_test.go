package receipt_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/verdict"
)

// compare lets cmp look into the values of the model that hide their fields.
func compare() cmp.Options {
	return cmp.Options{
		cmp.Comparer(func(a, b receipt.Value) bool { return a == b }),
		cmp.Comparer(func(a, b verdict.Origin) bool { return a == b }),
		cmp.Comparer(receipt.Ruling.Equal),
	}
}

// TestEncodeDecode: what is encoded decodes to itself, every statement has one
// spelling, and its JSON view gives back its bytes.
func TestEncodeDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := receipttest.Statement(t)
		payload, err := s.Encode()
		if err != nil {
			t.Fatalf("%v of %+v", err, s)
		}
		d, err := receipt.Decode(payload)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, d.Statement, compare()); diff != "" {
			t.Fatalf("decoded to something else:\n%s", diff)
		}
		again, err := d.Statement.Encode()
		if err != nil || !bytes.Equal(again, payload) {
			t.Fatalf("encodes to other bytes: %v", err)
		}
		id, err := receipt.ID(s.Receipt)
		if err != nil || id != d.ReceiptCID {
			t.Fatalf("receipt is %v alone and %v in the statement: %v", id, d.ReceiptCID, err)
		}
		f, err := receipt.DecodeFrame(payload)
		if err != nil || f != d.Frame() {
			t.Fatalf("frame %+v, want %+v: %v", f, d.Frame(), err)
		}
		checkView(t, d)
		if lines := receipt.Describe(d.Statement); len(lines) < 2 {
			t.Fatalf("described as %q", lines)
		}
	})
}

type fataler interface{ Fatalf(string, ...any) }

func checkView(t fataler, d *receipt.Decoded) {
	view, err := receipt.ToJSON(d)
	if err != nil {
		t.Fatalf("no view: %v", err)
	}
	back, err := receipt.FromJSON(view)
	if err != nil {
		t.Fatalf("%v, reading the view %s", err, view)
	}
	if !bytes.Equal(back.Payload(), d.Payload()) {
		t.Fatalf("the view gives other bytes: %s", view)
	}
	alone, err := receipt.ReceiptToJSON(d.Statement.Receipt)
	if err != nil {
		t.Fatalf("no view of the receipt: %v", err)
	}
	r, err := receipt.ReceiptFromJSON(alone)
	if err != nil {
		t.Fatalf("%v, reading the view %s", err, alone)
	}
	if id, err := receipt.ID(r); err != nil || id != d.ReceiptCID {
		t.Fatalf("the view of the receipt gives %v, want %v: %v", id, d.ReceiptCID, err)
	}
}

// TestIdentityIgnoresTheCall: nothing of the call enters the receipt's
// identity.
func TestIdentityIgnoresTheCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := receipttest.Statement(t)
		a, err := s.Build()
		if err != nil {
			t.Fatal(err)
		}
		other := s
		other.Call.By[0] ^= 1
		other.Call.At ^= 1
		if other.Call.Expires > 0 && other.Call.Expires < other.Call.At {
			other.Call.Expires = other.Call.At
		}
		b, err := other.Build()
		if err != nil {
			t.Fatal(err)
		}
		if a.ReceiptCID != b.ReceiptCID || a.CID == b.CID {
			t.Fatalf("receipts %v and %v, statements %v and %v", a.ReceiptCID, b.ReceiptCID, a.CID, b.CID)
		}
	})
}

// TestEncodeRefusesZero: a Go value that nobody filled in is refused and never
// panics, whichever part is missing.
func TestEncodeRefusesZero(t *testing.T) {
	run := receipttest.NewRun(receipttest.EngineKey(), "run")
	run.Add(receipttest.Open("log"))
	j := receipttest.Judgment("x", receipttest.Admit("rule"))
	request := j.Request
	request.Changes = []receipt.Change{{Path: receipt.Clear("a")}}
	withChange := j
	withChange.Request = request
	noRuling, noInverse := j, j
	noRuling.Ruling = receipt.Ruling{}
	noInverse.Inverse = nil
	id := run.Call().Prev
	for name, r := range map[string]receipt.Receipt{
		"nothing":                  nil,
		"run-open":                 receipt.RunOpen{},
		"judgment":                 receipt.Judgment{},
		"judgment without ruling":  noRuling,
		"judgment without inverse": noInverse,
		"change without edit":      withChange,
		"decision":                 receipt.Decision{},
		"outcome":                  receipt.Outcome{},
		"outcome without disposition": receipt.Outcome{
			Of: id,
		},
		"refused without recovery": receipt.Outcome{Of: id, Disposition: receipt.Refused{Code: "A"}},
		"compensates nothing":      receipt.Outcome{Of: id, Disposition: receipt.Rendered{}, Compensates: &receipt.Compensates{}},
		"compares nothing": receipt.Outcome{Of: id, Disposition: receipt.Rendered{}, Compensates: &receipt.Compensates{
			Outcome: id, Observation: receipt.Attested{},
		}},
		"fault":                 receipt.Fault{},
		"fault without posture": receipt.Fault{Stage: receipt.StageIntake, Code: "A"},
		"gap":                   receipt.Gap{},
	} {
		c := run.Call()
		c.Settles = id
		for _, settles := range []receipt.CID{{}, id} {
			c.Settles = settles
			if b, err := (receipt.Statement{Call: c, Receipt: r}).Encode(); err == nil {
				t.Errorf("%s: encoded to %x", name, b)
			}
		}
		if _, err := receipt.EncodeReceipt(r); err == nil {
			t.Errorf("%s: encoded alone", name)
		}
	}
	if _, err := (receipt.Statement{Receipt: j}).Encode(); err == nil {
		t.Error("a judgment without a call was encoded")
	}
}
