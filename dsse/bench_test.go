package dsse

import (
	"bytes"
	"testing"
)

// benchEnvelope is of the size of a receipt's: 1.2 KB of payload.
func benchEnvelope(b *testing.B) *Envelope {
	env, err := Sign(ReceiptType, bytes.Repeat([]byte("payload "), 150), testKey("a"))
	if err != nil {
		b.Fatal(err)
	}
	return env
}

func BenchmarkVerify(b *testing.B) {
	env, lookup := benchEnvelope(b), ring(testKey("a"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Verify(env, lookup); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerifyUnknownKey is what a stranger's envelope costs.
func BenchmarkVerifyUnknownKey(b *testing.B) {
	env, lookup := benchEnvelope(b), ring()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Verify(env, lookup); err == nil {
			b.Fatal("verifies")
		}
	}
}

func BenchmarkParseLeaf(b *testing.B) {
	leaf, err := benchEnvelope(b).Leaf()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(leaf)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseLeaf(leaf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLeaf(b *testing.B) {
	env := benchEnvelope(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := env.Leaf(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseJSON(b *testing.B) {
	text := benchEnvelope(b).JSON()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJSON(b *testing.B) {
	env := benchEnvelope(b)
	b.ReportAllocs()
	for b.Loop() {
		env.JSON()
	}
}

func BenchmarkCheckPublicKey(b *testing.B) {
	pub := publicOf(testKey("a"))
	b.ReportAllocs()
	for b.Loop() {
		if err := CheckPublicKey(pub); err != nil {
			b.Fatal(err)
		}
	}
}
