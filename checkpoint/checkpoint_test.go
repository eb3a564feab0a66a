package checkpoint

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

var update = flag.Bool("update", false, "write the golden files")

// testKey returns the private key of a number, the same every time.
func testKey(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func testSigner(t testing.TB, name string, typ byte, n byte) *Signer {
	t.Helper()
	s, err := NewSigner(name, typ, testKey(n))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func testBody(size uint64) string {
	root := merkle.EmptyRoot
	if size > 0 {
		root = merkle.LeafHash([]byte("root"))
	}
	return Checkpoint{Origin: "log.example/a", Size: size, Root: root}.Body()
}

// cosigned is a checkpoint with the log's line and two cosignatures.
func cosigned(t testing.TB) (note []byte, keys []VKey) {
	t.Helper()
	n := Note{Text: testBody(7)}
	for i, s := range []*Signer{
		testSigner(t, "log.example/a", TypeEd25519, 1),
		testSigner(t, "witness.example/w1", TypeCosignature, 2),
		testSigner(t, "свидетель.example", TypeCosignature, 3),
	} {
		line, err := s.Sign(n.Text, 1_700_000_000+uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		n.Sigs, keys = append(n.Sigs, line), append(keys, s.Key)
	}
	return n.Bytes(), keys
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestGolden fixes the bytes: keys, a cosigned checkpoint, and a proof with
// and without extra.
func TestGolden(t *testing.T) {
	note, keys := cosigned(t)
	var vkeys strings.Builder
	for _, k := range keys {
		vkeys.WriteString(k.String() + "\n")
	}
	golden(t, "vkeys.txt", []byte(vkeys.String()))
	golden(t, "cosigned.txt", note)
	p := Proof{Index: 3, Hashes: []merkle.Hash{{1}, {2}, {3}}, Checkpoint: note}
	golden(t, "proof.tlog-proof", p.Bytes())
	p.Extra, p.HasExtra = []byte("\x00\xff leaf"), true
	golden(t, "extra.tlog-proof", p.Bytes())
}

func TestOpen(t *testing.T) {
	note, keys := cosigned(t)
	o, err := Open(note, keys)
	if err != nil {
		t.Fatal(err)
	}
	want := []Cosignature{{keys[0], 0}, {keys[1], 1_700_000_001}, {keys[2], 1_700_000_002}}
	if diff := cmp.Diff(want, o.Verified); diff != "" {
		t.Error(diff)
	}
	if o.Origin != "log.example/a" || o.Size != 7 || o.Root != merkle.LeafHash([]byte("root")) || o.Unknown != 0 {
		t.Errorf("opened as %+v", o.Checkpoint)
	}
	if !bytes.Equal(o.Note().Bytes(), note) {
		t.Error("the note inside is another")
	}
	o, err = Open(note, keys[1:2])
	if err != nil || len(o.Verified) != 1 || o.Unknown != 2 || o.Verified[0].Time != 1_700_000_001 {
		t.Errorf("with one known key: %+v, %v", o, err)
	}
}

// resigned changes the note that cosigned returns.
func resigned(t *testing.T, change func(*Note)) []byte {
	t.Helper()
	b, _ := cosigned(t)
	n, err := ParseNote(b)
	if err != nil {
		t.Fatal(err)
	}
	change(n)
	return n.Bytes()
}

func TestOpenRefuses(t *testing.T) {
	note, keys := cosigned(t)
	other := testSigner(t, "log.example/a", TypeEd25519, 9)
	sameName := other.Key
	sameID := keys[0]
	sameID.Name = "log.example/b"
	asCosigner := keys[0]
	asCosigner.Type = TypeCosignature
	unknownType := keys[0]
	unknownType.Type = 0x06
	short := keys[0]
	short.Public = short.Public[:31]
	for _, c := range []struct {
		name string
		note []byte
		keys []VKey
		code report.Code
	}{
		{"no keys", note, nil, report.CodeCheckpointUnsigned},
		{"the right name with another key", note, []VKey{sameName}, report.CodeCheckpointUnsigned},
		{"the right ID under another name", note, []VKey{sameID}, report.CodeCheckpointUnsigned},
		{"the same key twice", note, []VKey{keys[0], keys[0]}, report.CodeVKeyAmbiguous},
		{"a key by hand with another type", note, []VKey{asCosigner}, report.CodeCheckpointSignatureInvalid},
		{"a key by hand of no known type", note, []VKey{unknownType}, report.CodeCheckpointSignatureInvalid},
		{"a key by hand that is short", note, []VKey{short}, report.CodeCheckpointSignatureInvalid},
		{"a bad line beside good ones", resigned(t, func(n *Note) { n.Sigs[2].Sig[70] ^= 1 }), keys, report.CodeCheckpointSignatureInvalid},
		{"another text", resigned(t, func(n *Note) { n.Text = testBody(8) }), keys, report.CodeCheckpointSignatureInvalid},
		{"another time", resigned(t, func(n *Note) { n.Sigs[1].Sig[7]++ }), keys, report.CodeCheckpointSignatureInvalid},
		{"a cosignature cut", resigned(t, func(n *Note) { n.Sigs[1].Sig = n.Sigs[1].Sig[:71] }), keys, report.CodeCheckpointSignatureInvalid},
		{"a signature cut", resigned(t, func(n *Note) { n.Sigs[0].Sig = n.Sigs[0].Sig[:63] }), keys, report.CodeCheckpointSignatureInvalid},
		{"a signature with a byte more", resigned(t, func(n *Note) { n.Sigs[0].Sig = append(n.Sigs[0].Sig, 0) }), keys, report.CodeCheckpointSignatureInvalid},
		{"a good line twice", resigned(t, func(n *Note) { n.Sigs = append(n.Sigs, n.Sigs[0]) }), keys, report.CodeNoteDuplicate},
		{"an unknown line twice", resigned(t, func(n *Note) { n.Sigs = append(n.Sigs, n.Sigs[2]) }), keys[:1], report.CodeNoteDuplicate},
		{"no body, unsigned", resigned(t, func(n *Note) { n.Text = "hello\n" }), nil, report.CodeCheckpointMalformed},
		{"nothing", nil, keys, report.CodeNoteMalformed},
	} {
		if o, err := Open(c.note, c.keys); report.CodeOf(err) != c.code {
			t.Errorf("%s: %+v, %v; want %s", c.name, o, err, c.code)
		}
	}
	// A time beyond 63 bits is refused though the signature holds.
	late := testSigner(t, "w", TypeCosignature, 4)
	sig := bytes.Repeat([]byte{0xff}, 8)
	sig = append(sig, ed25519.Sign(testKey(4), cosignedMessage(math.MaxUint64, testBody(7)))...)
	n := Note{Text: testBody(7), Sigs: []NoteSignature{{Name: "w", ID: late.Key.ID, Sig: sig}}}
	if _, err := Open(n.Bytes(), []VKey{late.Key}); report.CodeOf(err) != report.CodeCheckpointSignatureInvalid {
		t.Errorf("a time of 2^64-1: %v", err)
	}
}

// TestEveryByteOfACheckpointCounts changes every bit, drops every byte and
// doubles every byte of a signed checkpoint. With one line it never opens
// again; with three, what opens has the same body and fewer verified lines.
func TestEveryByteOfACheckpointCounts(t *testing.T) {
	one, err := testSigner(t, "log.example/a", TypeEd25519, 1).SignBody(testBody(7), 0)
	if err != nil {
		t.Fatal(err)
	}
	three, keys := cosigned(t)
	for name, note := range map[string][]byte{"one line": one, "three lines": three} {
		opened := 0
		try := func(m []byte) {
			o, err := Open(m, keys)
			if err != nil {
				if report.CodeOf(err) == report.CodeInternal {
					t.Fatalf("%s: %q: %v", name, m, err)
				}
				return
			}
			opened++
			if name == "one line" {
				t.Fatalf("opens: %q", m)
			}
			if len(o.Verified) >= len(keys) || o.Body() != testBody(7) {
				t.Fatalf("opens with the same meaning: %q", m)
			}
		}
		for i := range note {
			for bit := range 8 {
				m := bytes.Clone(note)
				m[i] ^= 1 << bit
				try(m)
			}
			try(append(bytes.Clone(note[:i]), note[i+1:]...))
			try(append(bytes.Clone(note[:i+1]), note[i:]...))
			try(note[:i])
			try(append(bytes.Clone(note[:i]), append([]byte("\n"), note[i:]...)...))
		}
		if name == "three lines" && opened == 0 {
			t.Error("no changed line became one of an unknown key: the test does not reach what it is for")
		}
	}
}

func TestParseNoteLimits(t *testing.T) {
	lines := func(n int) []byte {
		note := Note{Text: testBody(7)}
		for i := range n {
			note.Sigs = append(note.Sigs, NoteSignature{Name: "w", ID: uint32(i), Sig: []byte{1}})
		}
		return note.Bytes()
	}
	for _, n := range []int{1, 16, 100} {
		if got, err := ParseNote(lines(n)); err != nil || len(got.Sigs) != n {
			t.Errorf("%d lines: %v", n, err)
		}
	}
	for name, c := range map[string]struct {
		note []byte
		code report.Code
	}{
		"101 lines": {lines(101), report.CodeNoteTooLarge},
		"no lines":  {lines(0), report.CodeNoteMalformed},
		"too long":  {append([]byte(strings.Repeat("a\n", MaxNote/2)), lines(1)...), report.CodeNoteTooLarge},
	} {
		if _, err := ParseNote(c.note); report.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}

// TestParseNoteForms spells one line in all the ways that are not the one.
func TestParseNoteForms(t *testing.T) {
	line := NoteSignature{Name: "a.example", ID: 1, Sig: []byte("12345678")}.Line()
	b64 := strings.TrimSuffix(strings.TrimPrefix(line, "— a.example "), "\n")
	padded := base64.StdEncoding.EncodeToString([]byte("\x00\x00\x00\x011")) // 5 bytes, spare bits
	spare := padded[:6] + string(padded[6]+1) + "="
	if b, err := base64.StdEncoding.DecodeString(spare); err != nil || string(b) != "\x00\x00\x00\x011" {
		t.Fatalf("%s is no other spelling of %s", spare, padded)
	}
	for note, ok := range map[string]bool{
		"t\n\n" + line: true,
		"\n\n" + line:  true, // a text of one empty line
		"t\n\n" + line + "— b.example " + b64 + "\n": true, // one ID, two names
		"t\n\nu\n\n" + line:                          true,
		"t\n\n— a.example " + padded + "\n":          true,
		"t\n\n— a.example " + spare + "\n":           false,
		"t\n\n— a.example " + padded[:7] + "\n":      false, // no padding
		"t\n" + line:                 false,
		"t\n\n" + line[:len(line)-1]: false,
		"t\n\n" + line + "\n":        false,
		"t\n\n" + line + "x\n":       false,
		"t\n\n\n" + line:             true, // the text ends in an empty line
		"t\r\n\r\n" + line:           false,
		"t\n\n" + strings.TrimSuffix(line, "\n") + "\r\n": false,
		"t\x00\n\n" + line:                                      false,
		"t\t\n\n" + line:                                        false,
		"t\x7f\n\n" + line:                                      true, // signed-note names those below 0x20
		"t\xff\n\n" + line:                                      false,
		"t\xed\xa0\x80\n\n" + line:                              false,
		"t\n\n- a.example " + b64 + "\n":                        false,
		"t\n\n—a.example " + b64 + "\n":                         false,
		"t\n\n—  a.example " + b64 + "\n":                       false,
		"t\n\n— a.example  " + b64 + "\n":                       false,
		"t\n\n— a.example " + b64 + " \n":                       false,
		"t\n\n—  " + b64 + "\n":                                 false,
		"t\n\n— a+b " + b64 + "\n":                              false,
		"t\n\n— a\u00a0b " + b64 + "\n":                         false,
		"t\n\n— a\u2003b " + b64 + "\n":                         false,
		"t\n\n— a.example AAAAAA==\n":                           false, // a key ID alone
		"t\n\n— a.example AAAAAQI=\n":                           true,  // one byte of signature
		"t\n\n— a.example \n":                                   false,
		"t\n\n— a.example\n":                                    false,
		"t\n\n— " + strings.Repeat("n", 255) + " " + b64 + "\n": true,
		"t\n\n— " + strings.Repeat("n", 256) + " " + b64 + "\n": false,
		"": false, "\n": false, "\n\n": false, "t\n\n": false,
	} {
		n, err := ParseNote([]byte(note))
		if (err == nil) != ok {
			t.Errorf("%q: %v, want accepted %v", note, err, ok)
			continue
		}
		if err == nil && string(n.Bytes()) != note {
			t.Errorf("%q: written back as %q", note, n.Bytes())
		}
		if err != nil && report.CodeOf(err) != report.CodeNoteMalformed {
			t.Errorf("%q: %v", note, err)
		}
	}
}

func TestParseBody(t *testing.T) {
	root := merkle.LeafHash(nil).String()
	empty := merkle.EmptyRoot.String()
	for body, code := range map[string]report.Code{
		"o\n5\n" + root + "\n":                                "",
		"o\n5\n" + root + "\nx\n":                             "",
		"o\n5\n" + root + "\nx\n y \n":                        "",
		"an origin + more\n5\n" + root + "\n":                 "",
		"o\n0\n" + empty + "\n":                               "",
		"o\n9223372036854775807\n" + root + "\n":              "",
		strings.Repeat("o", 255) + "\n5\n" + root + "\n":      "",
		strings.Repeat("o", 256) + "\n5\n" + root + "\n":      report.CodeCheckpointMalformed,
		"o\n0\n" + root + "\n":                                report.CodeCheckpointEmptyRoot,
		"o\n9223372036854775808\n" + root + "\n":              report.CodeCheckpointMalformed,
		"o\n18446744073709551616\n" + root + "\n":             report.CodeCheckpointMalformed,
		"o\n05\n" + root + "\n":                               report.CodeCheckpointMalformed,
		"o\n00\n" + empty + "\n":                              report.CodeCheckpointMalformed,
		"o\n+5\n" + root + "\n":                               report.CodeCheckpointMalformed,
		"o\n-0\n" + empty + "\n":                              report.CodeCheckpointMalformed,
		"o\n5_0\n" + root + "\n":                              report.CodeCheckpointMalformed,
		"o\n0x5\n" + root + "\n":                              report.CodeCheckpointMalformed,
		"o\n5 \n" + root + "\n":                               report.CodeCheckpointMalformed,
		"o\n５\n" + root + "\n":                                report.CodeCheckpointMalformed,
		"o\n\n" + root + "\n":                                 report.CodeCheckpointMalformed,
		"\n5\n" + root + "\n":                                 report.CodeCheckpointMalformed,
		"o\n5\n\n":                                            report.CodeCheckpointMalformed,
		"o\n5\n" + root:                                       report.CodeCheckpointMalformed,
		"o\n5\n" + root + "\n\n":                              report.CodeCheckpointMalformed,
		"o\n5\n" + root + "\n\nx\n":                           report.CodeCheckpointMalformed,
		"o\n5\n" + root + "\nx":                               report.CodeCheckpointMalformed,
		"o\n5\n" + root[:43] + "\n":                           report.CodeCheckpointMalformed,
		"o\n5\n" + root[:40] + "\n":                           report.CodeCheckpointMalformed,
		"o\n5\n" + root[:40] + "====\n":                       report.CodeCheckpointMalformed,
		"o\n5\n" + root[:42] + string(root[42]+1) + "=\n":     report.CodeCheckpointMalformed,
		"o\n5\n" + strings.ReplaceAll(root, "+", "-") + "_\n": report.CodeCheckpointMalformed,
		"o\r\n5\n" + root + "\n":                              report.CodeCheckpointMalformed,
		"o\xff\n5\n" + root + "\n":                            report.CodeCheckpointMalformed,
		"o\x01\n5\n" + root + "\n":                            report.CodeCheckpointMalformed,
		"o\n5\n":                                              report.CodeCheckpointMalformed,
		"":                                                    report.CodeCheckpointMalformed,
		"\n":                                                  report.CodeCheckpointMalformed,
	} {
		c, err := ParseBody(body)
		switch {
		case code != "" && report.CodeOf(err) != code:
			t.Errorf("%q: %v, want %s", body, err, code)
		case code == "" && err != nil:
			t.Errorf("%q: %v", body, err)
		case code == "" && c.Body() != body:
			t.Errorf("%q: written back as %q", body, c.Body())
		}
	}
}
