package checkpoint

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	formatslog "github.com/transparency-dev/formats/log"
	formatsnote "github.com/transparency-dev/formats/note"
	formatsproof "github.com/transparency-dev/formats/proof"
	"golang.org/x/mod/sumdb/note"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// verifier is the other implementation's of a key.
func verifier(t interface{ Fatal(...any) }, k VKey) note.Verifier {
	open := note.NewVerifier
	if k.Type == TypeCosignature {
		open = formatsnote.NewVerifierForCosignatureV1
	}
	v, err := open(k.String())
	if err != nil {
		t.Fatal(err)
	}
	if v.Name() != k.Name || v.KeyHash() != k.ID {
		t.Fatal("another name or ID:", v.Name(), v.KeyHash(), k)
	}
	return v
}

func anyHash() *rapid.Generator[merkle.Hash] {
	return rapid.Custom(func(t *rapid.T) merkle.Hash {
		return merkle.Hash(rapid.SliceOfN(rapid.Byte(), merkle.HashSize, merkle.HashSize).Draw(t, "hash"))
	})
}

// anyBody draws checkpoints that parse.
func anyBody() *rapid.Generator[Checkpoint] {
	line := rapid.StringMatching(`[a-z +/.—я]{1,20}`)
	return rapid.Custom(func(t *rapid.T) Checkpoint {
		c := Checkpoint{Origin: line.Draw(t, "origin"), Size: rapid.Uint64Range(0, merkle.MaxSize).Draw(t, "size"), Root: anyHash().Draw(t, "root")}
		if rapid.IntRange(0, 9).Draw(t, "empty") == 0 {
			c.Size, c.Root = 0, merkle.EmptyRoot
		}
		if c.Size == 0 {
			c.Root = merkle.EmptyRoot
		}
		if n := rapid.IntRange(0, 3).Draw(t, "extensions"); n > 0 {
			c.Extensions = rapid.SliceOfN(line, n, n).Draw(t, "extension")
		}
		return c
	})
}

// TestNotesAgree: whatever is signed here opens in x/mod (with the cosignature
// verifier of transparency-dev/formats) with the same lines verified, and what
// is changed in one place either opens in both or is refused here for one of
// the reasons that stand in TestXModIsLaxer.
func TestNotesAgree(t *testing.T) {
	signers := []*Signer{
		testSigner(t, "log.example/a", TypeEd25519, 1), testSigner(t, "log.example/a", TypeCosignature, 1),
		testSigner(t, "witness.example/w1", TypeCosignature, 2), testSigner(t, "имя", TypeEd25519, 3),
	}
	rapid.Check(t, func(t *rapid.T) {
		n := Note{Text: anyBody().Draw(t, "body").Body()}
		for _, s := range signers {
			if rapid.Bool().Draw(t, "signs") {
				line, err := s.Sign(n.Text, rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(0, 1<<63-1)).Draw(t, "time"))
				if err != nil {
					t.Fatal(err)
				}
				n.Sigs = append(n.Sigs, line)
			}
		}
		b := n.Bytes()
		checkSignersOpen(t, b, n.Sigs, signers)
		switch rapid.IntRange(0, 5).Draw(t, "change") {
		case 0, 1: // as it is
		case 2: // a byte
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("\n +=—aAB09\x00\xff")).Draw(t, "byte")
		case 3: // a byte gone
			i := rapid.IntRange(0, len(b)-1).Draw(t, "at")
			b = slices.Delete(b, i, i+1)
		case 4: // a line again, whole or with a broken signature
			if len(n.Sigs) > 0 {
				again := n.Sigs[rapid.IntRange(0, len(n.Sigs)-1).Draw(t, "line")]
				if rapid.Bool().Draw(t, "broken") {
					again.Sig = bytes.Repeat([]byte{1}, len(again.Sig))
				}
				b = append(b, again.Line()...)
			}
		case 5: // another spelling of the last signature
			if i := bytes.LastIndexByte(b, '='); i > 0 && b[i-1] != '=' {
				b[i-1]++
			}
		}
		var keys []VKey
		var known []note.Verifier
		for _, s := range signers {
			if rapid.Bool().Draw(t, "known") {
				keys, known = append(keys, s.Key), append(known, verifier(t, s.Key))
			}
		}
		agree(t, b, keys, known)
	})
}

// checkSignersOpen: before anything is changed, every line verifies.
func checkSignersOpen(t *rapid.T, b []byte, lines []NoteSignature, signers []*Signer) {
	var keys []VKey
	for _, s := range signers {
		keys = append(keys, s.Key)
	}
	o, err := Open(b, keys)
	if len(lines) > 0 && (err != nil || len(o.Verified) != len(lines)) {
		t.Fatalf("%q: %v", b, err)
	}
}

func agree(t *rapid.T, b []byte, keys []VKey, known []note.Verifier) {
	theirs, theirErr := note.Open(b, note.VerifierList(known...))
	parsed, err := ParseNote(b)
	var verified []Cosignature
	if err == nil {
		verified, err = parsed.Verify(keys)
	}
	if err != nil {
		if theirErr == nil && !repeatsLine(string(b)) && !signatureSpelling(string(b)) {
			t.Fatalf("x/mod opens %q, and we refuse: %v", b, err)
		}
		return
	}
	if theirErr != nil {
		t.Fatalf("we open %q, and x/mod refuses: %v", b, theirErr)
	}
	if theirs.Text != parsed.Text || len(theirs.Sigs) != len(verified) || len(theirs.UnverifiedSigs) != len(parsed.Sigs)-len(verified) {
		t.Fatalf("%q: %d of %d lines verified, x/mod: %d and %d", b, len(verified), len(parsed.Sigs), len(theirs.Sigs), len(theirs.UnverifiedSigs))
	}
	for i, v := range verified {
		if theirs.Sigs[i].Name != v.Key.Name || theirs.Sigs[i].Hash != v.Key.ID {
			t.Fatalf("%q: line %d by another key", b, i)
		}
		if v.Key.Type != TypeCosignature {
			continue
		}
		if at, err := formatsnote.CoSigV1Timestamp(theirs.Sigs[i]); err != nil || uint64(at.Unix()) != v.Time {
			t.Fatalf("%q: line %d of time %d, formats: %v, %v", b, i, v.Time, at, err)
		}
	}
}

// TestTheirSignaturesOpen: notes that the others sign open here.
func TestTheirSignaturesOpen(t *testing.T) {
	secret := func(name string, typ byte, n byte) string {
		key := testKey(n)
		id := keyID(name, typ, key.Public().(ed25519.PublicKey))
		return fmt.Sprintf("PRIVATE+KEY+%s+%08x+%s", name, id, base64.StdEncoding.EncodeToString(append([]byte{typ}, key.Seed()...)))
	}
	log, err := note.NewSigner(secret("log.example/a", TypeEd25519, 1))
	if err != nil {
		t.Fatal(err)
	}
	witness, err := formatsnote.NewSignerForCosignatureV1(secret("w", TypeCosignature, 2))
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().Unix()
	b, err := note.Sign(&note.Note{Text: testBody(7)}, log, witness)
	if err != nil {
		t.Fatal(err)
	}
	after := time.Now().Unix()
	keys := []VKey{testSigner(t, "log.example/a", TypeEd25519, 1).Key, testSigner(t, "w", TypeCosignature, 2).Key}
	o, err := Open(b, keys)
	if err != nil || len(o.Verified) != 2 {
		t.Fatalf("%q: %v", b, err)
	}
	if at := o.Verified[1].Time; at < uint64(before) || at > uint64(after) {
		t.Errorf("cosigned at %d, between %d and %d", at, before, after)
	}
	// Ed25519 is deterministic, so ours is the same to the byte.
	ours, err := testSigner(t, "log.example/a", TypeEd25519, 1).SignBody(testBody(7), 0)
	if err != nil || !bytes.HasPrefix(b, ours) {
		t.Errorf("x/mod signs %q, we %q", b, ours)
	}
}

// TestXModIsLaxer lists what golang.org/x/mod/sumdb/note opens and we do not.
func TestXModIsLaxer(t *testing.T) {
	s := testSigner(t, "log.example/a", TypeEd25519, 1)
	signed := func(text string) (string, NoteSignature) {
		sig, err := s.sign([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		line := NoteSignature{Name: s.Key.Name, ID: s.Key.ID, Sig: sig}
		n := Note{Text: text, Sigs: []NoteSignature{line}}
		return string(n.Bytes()), line
	}
	good, line := signed(testBody(7))
	bad := line
	bad.Sig = make([]byte, len(line.Sig))
	spare := good[:len(good)-3] + string(good[len(good)-3]+1) + "=\n" // the last character before the padding
	longName := NoteSignature{Name: strings.Repeat("n", 256), ID: 1, Sig: []byte{1}}
	tooLong, _ := signed(testBody(7) + strings.Repeat("x\n", MaxNote/2))
	hello, _ := signed("hello\n")
	emptyRoot, _ := signed(strings.Replace(testBody(7), "\n7\n", "\n0\n", 1))
	for name, c := range map[string]struct {
		note string
		code report.Code
	}{
		"the same line twice":                      {good + line.Line(), report.CodeNoteDuplicate},
		"a good line and a bad one of the key":     {good + bad.Line(), report.CodeNoteDuplicate},
		"spare bits of base64":                     {spare, report.CodeNoteMalformed},
		"a name of 256 bytes beside":               {good + longName.Line(), report.CodeNoteMalformed},
		"more than a mebibyte":                     {tooLong, report.CodeNoteTooLarge},
		"a signed text that is not a checkpoint":   {hello, report.CodeCheckpointMalformed},
		"a checkpoint of size 0 with another root": {emptyRoot, report.CodeCheckpointEmptyRoot},
	} {
		if _, err := note.Open([]byte(c.note), note.VerifierList(verifier(t, s.Key))); err != nil {
			t.Errorf("%s: x/mod refuses as well: %v", name, err)
		}
		if _, err := Open([]byte(c.note), []VKey{s.Key}); report.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	// Verifier keys: the ID in upper case, and a key that is no key.
	up := strings.Replace(s.Key.String(), fmt.Sprintf("%08x", s.Key.ID), fmt.Sprintf("%08X", s.Key.ID), 1)
	if _, err := note.NewVerifier(up); err != nil || up == s.Key.String() {
		t.Errorf("x/mod refuses %s as well: %v", up, err)
	}
	if _, err := ParseVKey(up); report.CodeOf(err) != report.CodeVKeyID {
		t.Errorf("%s: %v", up, err)
	}
	weak := append([]byte{1}, make([]byte, 31)...) // the identity: anybody can sign for it
	weakText := keyText("a", keyID("a", TypeEd25519, weak)) + "+" + base64.StdEncoding.EncodeToString(append([]byte{1}, weak...))
	if _, err := note.NewVerifier(weakText); err != nil {
		t.Errorf("x/mod refuses a key of small order as well: %v", err)
	}
	if _, err := ParseVKey(weakText); report.CodeOf(err) != report.CodeKeySmallOrder {
		t.Errorf("a key of small order: %v", err)
	}
}

// TestBodiesAgree: a body that parses here is read alike by formats/log.
func TestBodiesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyBody().Draw(t, "body")
		text := c.Body()
		again, err := ParseBody(text)
		if err != nil || again.Body() != text || !slices.Equal(again.Extensions, c.Extensions) {
			t.Fatalf("%q: %+v, %v", text, again, err)
		}
		var theirs formatslog.Checkpoint
		rest, err := theirs.Unmarshal([]byte(text))
		if err != nil || theirs.Origin != c.Origin || theirs.Size != c.Size || !bytes.Equal(theirs.Hash, c.Root[:]) {
			t.Fatalf("%q: formats reads %+v, %v", text, theirs, err)
		}
		if string(theirs.Marshal())+string(rest) != text {
			t.Fatalf("%q: formats writes %q and %q", text, theirs.Marshal(), rest)
		}
	})
}

// TestFormatsBodyIsLaxer lists what formats/log reads and we do not.
func TestFormatsBodyIsLaxer(t *testing.T) {
	root := merkle.LeafHash(nil).String()
	for name, body := range map[string]string{
		"root of 6 bytes":        "o\n5\nYmFuYW5h\n",
		"leading zero":           "o\n05\n" + root + "\n",
		"size beyond 63 bits":    "o\n18446744073709551615\n" + root + "\n",
		"empty extension line":   "o\n5\n" + root + "\n\n",
		"open extension line":    "o\n5\n" + root + "\nx",
		"another root of size 0": "o\n0\n" + root + "\n",
		"control character":      "o\x01\n5\n" + root + "\n",
		"carriage return":        "o\r\n5\n" + root + "\n",
		"long origin":            strings.Repeat("o", 256) + "\n5\n" + root + "\n",
	} {
		var theirs formatslog.Checkpoint
		if _, err := theirs.Unmarshal([]byte(body)); err != nil {
			t.Errorf("%s: formats refuses as well: %v", name, err)
		}
		if _, err := ParseBody(body); err == nil {
			t.Errorf("%s: parses", name)
		}
	}
}

func anyProof() *rapid.Generator[Proof] {
	return rapid.Custom(func(t *rapid.T) Proof {
		p := Proof{
			Index:      rapid.Uint64Range(0, merkle.MaxSize-1).Draw(t, "index"),
			Hashes:     rapid.SliceOfN(anyHash(), 0, merkle.MaxProof).Draw(t, "hashes"),
			Checkpoint: []byte(rapid.StringMatching(`[a-z\n ]{0,200}\n`).Draw(t, "checkpoint")),
		}
		if rapid.Bool().Draw(t, "has extra") {
			p.HasExtra, p.Extra = true, rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "extra")
		}
		return p
	})
}

// TestProofsAgree: proofs read back as they were written, and formats/proof
// writes and reads the same.
func TestProofsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyProof().Draw(t, "proof")
		b := p.Bytes()
		read := bytes.Clone(b)
		again, err := ParseProof(read)
		clear(read) // nothing that was parsed may change with it
		if err != nil || again.Index != p.Index || again.HasExtra != p.HasExtra || !bytes.Equal(again.Extra, p.Extra) ||
			!slices.Equal(again.Hashes, p.Hashes) || !bytes.Equal(again.Checkpoint, p.Checkpoint) {
			t.Fatalf("%q: %+v, %v", b, again, err)
		}
		var theirs formatsproof.TLogProof
		if err := theirs.Unmarshal(b); err != nil || theirs.Index != p.Index || len(theirs.Hashes) != len(p.Hashes) ||
			!bytes.Equal(theirs.ExtraData, p.Extra) || !bytes.Equal(theirs.Checkpoint, p.Checkpoint) || !bytes.Equal(theirs.Marshal(), b) {
			t.Fatalf("%q: formats reads %+v, %v", b, theirs, err)
		}
	})
}

// TestFormatsProofIsLaxer lists what formats/proof reads and we do not, and
// the one thing that we read and it does not.
func TestFormatsProofIsLaxer(t *testing.T) {
	h := merkle.LeafHash(nil).String()
	for name, text := range map[string]string{
		"carriage returns":    "c2sp.org/tlog-proof@v1\r\nindex 5\r\n" + h + "\r\n\r\nc\r\n",
		"leading zero":        "c2sp.org/tlog-proof@v1\nindex 05\n\nc\n",
		"index of 64 bits":    "c2sp.org/tlog-proof@v1\nindex 18446744073709551615\n\nc\n",
		"no empty line":       "c2sp.org/tlog-proof@v1\nindex 5\n" + h + "\n",
		"no checkpoint":       "c2sp.org/tlog-proof@v1\nindex 5\n\n",
		"no newline at end":   "c2sp.org/tlog-proof@v1\nindex 5\n\nc",
		"spare bits of hash":  "c2sp.org/tlog-proof@v1\nindex 5\n" + h[:42] + string(h[42]+1) + "=\n\nc\n",
		"spare bits of extra": "c2sp.org/tlog-proof@v1\nextra YWJ=\nindex 5\n\nc\n",
		"64 hashes":           "c2sp.org/tlog-proof@v1\nindex 5\n" + strings.Repeat(h+"\n", 64) + "\nc\n",
	} {
		var theirs formatsproof.TLogProof
		if err := theirs.Unmarshal([]byte(text)); err != nil {
			t.Errorf("%s: formats refuses as well: %v", name, err)
		}
		if _, err := ParseProof([]byte(text)); report.CodeOf(err) != report.CodeTlogProofMalformed {
			t.Errorf("%s: %v", name, err)
		}
	}
	large := Proof{Extra: bytes.Repeat([]byte{1}, 65535), HasExtra: true, Checkpoint: []byte("c\n")}
	if err := new(formatsproof.TLogProof).Unmarshal(large.Bytes()); err == nil {
		t.Error("formats reads a line beyond 64 KiB")
	}
	if p, err := ParseProof(large.Bytes()); err != nil || len(p.Extra) != 65535 {
		t.Errorf("the largest leaf as extra: %v", err)
	}
}

// TestParseProofForms spells a proof in ways that are not the one.
func TestParseProofForms(t *testing.T) {
	h := merkle.LeafHash(nil).String()
	const head = "c2sp.org/tlog-proof@v1\n"
	for text, ok := range map[string]bool{
		head + "index 0\n\nc\n":                                   true,
		head + "index 0\n\n\n":                                    true, // the checkpoint is not looked into
		head + "extra \nindex 0\n\nc\n":                           true, // an extra of no bytes
		head + "extra YQ==\nindex 0\n\nc\n":                       true,
		head + "index 9223372036854775806\n\nc\n":                 true,
		head + "index 0\n" + strings.Repeat(h+"\n", 63) + "\nc\n": true,
		head + "index 9223372036854775807\n\nc\n":                 false,
		head + "index -1\n\nc\n":                                  false,
		head + "index +1\n\nc\n":                                  false,
		head + "index \n\nc\n":                                    false,
		head + "index\n\nc\n":                                     false,
		head + "index  1\n\nc\n":                                  false,
		head + "Index 1\n\nc\n":                                   false,
		head + "index 1 \n\nc\n":                                  false,
		head + "extra YQ=\nindex 0\n\nc\n":                        false,
		head + "extra YQ\nindex 0\n\nc\n":                         false,
		head + "extra\nindex 0\n\nc\n":                            false,
		head + "extra Y\rQ==\nindex 0\n\nc\n":                     false,
		head + "extra YQ==\nextra YQ==\nindex 0\n\nc\n":           false,
		head + "index 0\nextra YQ==\n\nc\n":                       false,
		head + "index 0\n" + h[:20] + "\r" + h[20:] + "\n\nc\n":   false,
		head + "index 0\n " + h + "\n\nc\n":                       false,
		head + "\nindex 0\n\nc\n":                                 false,
		head:                                                      false,
		head[:len(head)-1]:                                        false,
		" " + head + "index 0\n\nc\n":                             false,
		"c2sp.org/tlog-proof@v2\nindex 0\n\nc\n":                  false,
		"":                                                        false,
	} {
		p, err := ParseProof([]byte(text))
		if (err == nil) != ok {
			t.Errorf("%q: %v, want accepted %v", text, err, ok)
		}
		if err == nil && string(p.Bytes()) != text {
			t.Errorf("%q: written back as %q", text, p.Bytes())
		}
		if err != nil && report.CodeOf(err) != report.CodeTlogProofMalformed {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestKeyIDsAgree with x/mod for random keys and names.
func TestKeyIDsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := ed25519.NewKeyFromSeed(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed"))
		name := rapid.StringMatching(`[a-zA-Z0-9./_я-]{1,40}`).Draw(t, "name")
		k, err := NewVKey(name, TypeEd25519, key.Public().(ed25519.PublicKey))
		if err != nil {
			t.Fatal(err)
		}
		text, err := note.NewEd25519VerifierKey(name, k.Public)
		if err != nil || text != k.String() {
			t.Fatalf("x/mod writes %s, we %s: %v", text, k, err)
		}
		again, err := ParseVKey(text)
		if err != nil || again.ID != k.ID || !bytes.Equal(again.Public, k.Public) {
			t.Fatalf("%s: %+v, %v", text, again, err)
		}
	})
}
