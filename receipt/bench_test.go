package receipt_test

import (
	"testing"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

// typical returns a judgment of about 700 bytes.
func typical(b *testing.B) *receipt.Decoded {
	run := receipttest.NewRun(receipttest.EngineKey(), "run-1")
	run.Add(receipttest.Open("example.com/log"))
	j := receipttest.Judgment("typical", receipttest.Admit("files/inside-root"))
	j.Request.Changes = []receipt.Change{{Path: receipttest.Hidden("path"), Edit: receipt.Replace{Before: receipttest.Commitment("b"), After: receipttest.Commitment("a")}}}
	j.Request.Effects = []receipt.Effect{{On: receipt.OnWrites, Target: receipttest.Hidden("path")}}
	j.Request.Inputs = []receipt.Input{{Name: "message", Value: receipttest.Hidden("message")}}
	j.Reads = []receipt.Read{{Key: receipttest.Hidden("path"), Seen: receipttest.Commitment("b")}}
	j.Inverse = receipt.Escrowed{Delta: receipttest.Commitment("delta")}
	d := run.Add(j)
	if n := len(d.Payload()); n < 600 || n > 800 {
		b.Fatalf("a typical judgment has %d bytes", n)
	}
	return d
}

func BenchmarkDecode(b *testing.B) {
	payload := typical(b).Payload()
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		if _, err := receipt.Decode(payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeFrame(b *testing.B) {
	payload := typical(b).Payload()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := receipt.DecodeFrame(payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	payload := typical(b).Payload()
	b.ReportAllocs()
	for b.Loop() {
		if err := dagcbor.Check(payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIdentity(b *testing.B) {
	payload := typical(b).Payload()
	b.ReportAllocs()
	for b.Loop() {
		dagcbor.Sum(payload)
	}
}

func BenchmarkEncode(b *testing.B) {
	s := typical(b).Statement
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkToJSON(b *testing.B) {
	d := typical(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := receipt.ToJSON(d); err != nil {
			b.Fatal(err)
		}
	}
}
