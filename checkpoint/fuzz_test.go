package checkpoint

import (
	"bytes"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// held fails where a refusal has no code or repeats the input at length.
func held(t *testing.T, err error) {
	t.Helper()
	if report.CodeOf(err) == report.CodeInternal || len(err.Error()) > 4000 {
		t.Fatalf("a refusal of %d bytes: %.200s", len(err.Error()), err)
	}
}

// FuzzParseNote: what parses is written back to the byte, has no two lines of
// one key, and is well-formed for x/mod.
func FuzzParseNote(f *testing.F) {
	b, keys := cosigned(f)
	f.Add(b)
	f.Add([]byte("t\n\nu\n\n— a AAAAAQI=\n— a AAAAAgI=\n"))
	f.Add([]byte("t\n\n— a AAAAAQI=\n— a AAAAAQI=\n"))
	f.Add([]byte("\n\n— a AAAAAQJ=\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := Open(b, keys); err != nil {
			held(t, err)
		}
		n, err := ParseNote(b)
		if err != nil {
			held(t, err)
			return
		}
		if !bytes.Equal(n.Bytes(), b) || repeatsLine(string(b)) || signatureSpelling(string(b)) {
			t.Fatalf("%q parses as %+v", b, n)
		}
		if _, err := note.Open(b, nil); err == nil {
			t.Fatalf("%q opens without keys", b)
		} else if _, ok := err.(*note.UnverifiedNoteError); !ok {
			t.Fatalf("%q parses, and x/mod says %v", b, err)
		}
	})
}

func FuzzParseBody(f *testing.F) {
	f.Add(testBody(7))
	f.Add(testBody(0))
	f.Add(testBody(1<<63-1) + "extension\n")
	f.Add("o\n18446744073709551615\n" + merkle.EmptyRoot.String() + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseBody(text)
		if err != nil {
			held(t, err)
			return
		}
		if c.Body() != text || c.Size > merkle.MaxSize || c.Origin == "" || len(c.Origin) > MaxName || c.Size == 0 && c.Root != merkle.EmptyRoot {
			t.Fatalf("%q parses as %+v", text, c)
		}
	})
}

func FuzzParseVKey(f *testing.F) {
	_, keys := cosigned(f)
	for _, k := range keys {
		f.Add(k.String())
	}
	f.Add("a+00000000+AQ==")
	f.Add("a+b+++")
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParseVKey(s)
		if err != nil {
			held(t, err)
			return
		}
		if k.String() != s || len(k.Public) != 32 || k.Type != TypeEd25519 && k.Type != TypeCosignature {
			t.Fatalf("%q parses as %+v", s, k)
		}
	})
}

func FuzzParseProof(f *testing.F) {
	note, _ := cosigned(f)
	p := Proof{Index: 3, Hashes: []merkle.Hash{{1}, {2}}, Checkpoint: note}
	f.Add(p.Bytes())
	p.HasExtra, p.Extra = true, []byte("leaf")
	f.Add(p.Bytes())
	f.Add([]byte("c2sp.org/tlog-proof@v1\nextra \nindex 0\n\n\n"))
	f.Add([]byte("c2sp.org/tlog-proof@v1\r\nindex 00\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParseProof(b)
		if err != nil {
			held(t, err)
			return
		}
		if !bytes.Equal(p.Bytes(), b) || len(p.Hashes) > merkle.MaxProof || p.Index >= merkle.MaxSize || !p.HasExtra && p.Extra != nil {
			t.Fatalf("%q parses as %+v", b, p)
		}
	})
}

func FuzzParseAddCheckpoint(f *testing.F) {
	note, _ := cosigned(f)
	a := AddCheckpoint{Old: 3, Proof: []merkle.Hash{{1}, {2}}, Checkpoint: note}
	f.Add(a.Bytes())
	a.Old, a.Proof = 0, nil
	f.Add(a.Bytes())
	f.Add([]byte("old 03\n\n\n"))
	f.Add([]byte("old 3\r\n\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseAddCheckpoint(b)
		if err != nil {
			held(t, err)
			return
		}
		if !bytes.Equal(a.Bytes(), b) || len(a.Proof) > merkle.MaxProof || a.Old > merkle.MaxSize {
			t.Fatalf("%q parses as %+v", b, a)
		}
	})
}
