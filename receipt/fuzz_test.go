package receipt_test

import (
	"bytes"
	"testing"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

// FuzzDecode: no bytes panic; what decodes encodes to the same bytes, has a
// lossless view and can be shown; and the frame agrees.
func FuzzDecode(f *testing.F) {
	for _, e := range receipttest.Examples() {
		f.Add(e.Decoded.Payload())
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		frame, frameErr := receipt.DecodeFrame(payload)
		d, err := receipt.Decode(payload)
		if err != nil {
			if d != nil || err.Error() == "" {
				t.Fatal("refused and returned, or refused without a word")
			}
			return
		}
		if frameErr != nil || frame != d.Frame() {
			t.Fatalf("frame %+v, %v; want %+v", frame, frameErr, d.Frame())
		}
		again, err := d.Statement.Encode()
		if err != nil || !bytes.Equal(again, payload) {
			t.Fatalf("encodes to %x: %v", again, err)
		}
		checkView(t, d)
		receipt.Describe(d.Statement)
	})
}

// FuzzFromJSON: no document panics; what is read as a view gives a statement
// whose own view reads as the same statement.
func FuzzFromJSON(f *testing.F) {
	for _, e := range receipttest.Examples() {
		view, err := receipt.ToJSON(e.Decoded)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(view)
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		d, err := receipt.FromJSON(doc)
		if err != nil {
			return
		}
		checkView(t, d)
	})
}

// FuzzVocabulary: no document panics, and what is read is what was given.
func FuzzVocabulary(f *testing.F) {
	f.Add(receipt.StandardVocabulary().Document())
	f.Fuzz(func(t *testing.T, document []byte) {
		v, err := receipt.ParseVocabulary(document)
		if err == nil && !bytes.Equal(v.Document(), document) {
			t.Fatal("another document")
		}
	})
}
