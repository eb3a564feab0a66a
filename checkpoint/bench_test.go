package checkpoint

import "testing"

func BenchmarkSignBody(b *testing.B) {
	s := testSigner(b, "log.example/a", TypeEd25519, 1)
	body := testBody(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.SignBody(body, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen is one log line and two cosignatures.
func BenchmarkOpen(b *testing.B) {
	note, keys := cosigned(b)
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseNote(note); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("all keys", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Open(note, keys); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkParseProof(b *testing.B) {
	note, _ := cosigned(b)
	p := Proof{Index: 3, Hashes: nil, Checkpoint: note, HasExtra: true, Extra: make([]byte, 1400)}
	for range 20 {
		p.Hashes = append(p.Hashes, [32]byte{1})
	}
	text := p.Bytes()
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ParseProof(text); err != nil {
			b.Fatal(err)
		}
	}
}
