package checkpoint

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/report"
)

func TestParseVKey(t *testing.T) {
	pub := testKey(1).Public().(ed25519.PublicKey)
	good, err := NewVKey("a.example", TypeEd25519, pub)
	if err != nil {
		t.Fatal(err)
	}
	s := good.String()
	id, key := s[len("a.example+"):][:8], s[len("a.example+")+9:]
	// text spells a key of any kind with the ID that belongs to it.
	text := func(name string, typ byte, pub []byte) string {
		return keyText(name, keyID(name, typ, pub)) + "+" + base64.StdEncoding.EncodeToString(append([]byte{typ}, pub...))
	}
	for in, code := range map[string]report.Code{
		s:                                                           "",
		text("a.example", TypeCosignature, pub):                     "",
		text("имя/1", TypeEd25519, pub):                             "",
		text(strings.Repeat("n", 255), 1, pub):                      "",
		text(strings.Repeat("n", 256), 1, pub):                      report.CodeVKeyMalformed,
		text("", 1, pub):                                            report.CodeVKeyMalformed,
		text("a b", 1, pub):                                         report.CodeVKeyMalformed,
		text("a\u00a0b", 1, pub):                                    report.CodeVKeyMalformed,
		text("a\x01b", 1, pub):                                      report.CodeVKeyMalformed,
		text("a\xffb", 1, pub):                                      report.CodeVKeyMalformed,
		text("a.example", 1, pub[:31]):                              report.CodeVKeyMalformed,
		text("a.example", 1, append(bytes.Clone(pub), 0)):           report.CodeVKeyMalformed,
		text("a.example", 1, nil):                                   report.CodeVKeyMalformed,
		text("a.example", 0, pub):                                   report.CodeVKeyType,
		text("a.example", 2, pub):                                   report.CodeVKeyType,
		text("a.example", 5, pub):                                   report.CodeVKeyType,
		text("a.example", 6, make([]byte, 1312)):                    report.CodeVKeyType,
		text("a.example", 0xff, pub):                                report.CodeVKeyType,
		"b.example" + s[len("a.example"):]:                          report.CodeVKeyID,
		"a.example+00000000+" + key:                                 report.CodeVKeyID,
		"a.example+" + strings.ToUpper(id) + "x+" + key:             report.CodeVKeyID,
		"a.example+" + id[:7] + "+" + key:                           report.CodeVKeyID,
		"a.example+" + id:                                           report.CodeVKeyMalformed,
		"a.example+" + id + "+":                                     report.CodeVKeyMalformed,
		"a.example+" + id + "+" + key + "\n":                        report.CodeVKeyMalformed,
		"a.example+" + id + "+" + key[:20] + "\n" + key[20:]:        report.CodeVKeyMalformed,
		"a.example+" + id + "+" + strings.TrimRight(key, "=") + "=": report.CodeVKeyMalformed,
		" " + s: report.CodeVKeyMalformed,
		"":      report.CodeVKeyMalformed,
		"++":    report.CodeVKeyMalformed,
	} {
		k, err := ParseVKey(in)
		switch {
		case code != "" && report.CodeOf(err) != code:
			t.Errorf("%q: %v, want %s", in, err, code)
		case code == "" && err != nil:
			t.Errorf("%q: %v", in, err)
		case code == "" && k.String() != in:
			t.Errorf("%q: written back as %q", in, k)
		}
	}
	if up := strings.ToUpper(id); up != id {
		if _, err := ParseVKey("a.example+" + up + "+" + key); report.CodeOf(err) != report.CodeVKeyID {
			t.Errorf("a key ID in upper case: %v", err)
		}
	} else {
		t.Error("the key ID has no letter: choose another key")
	}
}

func TestVKeyCopiesItsKey(t *testing.T) {
	pub := bytes.Clone(testKey(1)[32:])
	k, err := NewVKey("a.example", TypeEd25519, pub)
	if err != nil {
		t.Fatal(err)
	}
	was := k.String()
	clear(pub)
	if k.String() != was {
		t.Error("the key changes with the caller's bytes")
	}
}

// TestVKeyPointsAreChecked: a key that the log would not register is not a
// verifier key either.
func TestVKeyPointsAreChecked(t *testing.T) {
	for name, pub := range map[string][]byte{
		"identity, small order": append([]byte{1}, make([]byte, 31)...),
		"zero, small order":     make([]byte, 32),
		"not canonical":         bytes.Repeat([]byte{0xff}, 32),
		"not a point":           append([]byte{2}, make([]byte, 31)...),
	} {
		want := dsse.CheckPublicKey(pub)
		if want == nil {
			t.Fatalf("%s: dsse takes it", name)
		}
		_, err := NewVKey("a.example", TypeEd25519, pub)
		if report.CodeOf(err) != report.CodeOf(want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

// TestSignerKeepsItsKey prints a signer in every way there is and looks for
// the seed.
func TestSignerKeepsItsKey(t *testing.T) {
	key := testKey(0xa7)
	s, err := NewSigner("a.example", TypeEd25519, key)
	if err != nil {
		t.Fatal(err)
	}
	seed := key.Seed()
	needles := []string{
		hex.EncodeToString(seed[:8]), base64.StdEncoding.EncodeToString(seed)[:12], string(seed[:4]),
		strings.TrimSuffix(strings.Repeat("167 ", 4), " "), strings.TrimSuffix(strings.Repeat("0xa7, ", 4), ", "),
	}
	outputs := map[string]string{"String": s.String(), "wrapped": errors.Join(fmt.Errorf("%v", s)).Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for name, v := range map[string]any{
			"pointer": s, "value": *s, "held": struct{ s *Signer }{s}, "embedded": struct{ s Signer }{*s}, "list": []*Signer{s},
		} {
			outputs[verb+" "+name] = fmt.Sprintf(verb, v)
		}
	}
	b, err := json.Marshal(s.Key)
	if err != nil {
		t.Fatal(err)
	}
	outputs["json"] = string(b)
	for how, out := range outputs {
		for _, n := range needles {
			if strings.Contains(out, n) || strings.Contains(out, strings.ToUpper(n)) {
				t.Errorf("%s prints the key: %q", how, out)
			}
		}
	}
}

func TestNewSigner(t *testing.T) {
	key := testKey(1)
	for name, err := range map[string]error{
		"short key": second(NewSigner("a", TypeEd25519, key[:63])),
		"no key":    second(NewSigner("a", TypeEd25519, nil)),
		"bad name":  second(NewSigner("a b", TypeEd25519, key)),
		"bad type":  second(NewSigner("a", 0x06, key)),
	} {
		if err == nil || report.CodeOf(err) == report.CodeInternal {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Halves that do not belong together: the public one is ignored.
	mixed := append(bytes.Clone(key[:32]), testKey(2)[32:]...)
	s, err := NewSigner("a", TypeEd25519, ed25519.PrivateKey(mixed))
	if err != nil || !bytes.Equal(s.Key.Public, key[32:]) {
		t.Fatalf("mixed key: %v, %v", s, err)
	}
	clear(mixed) // the caller may wipe its own copy
	note, err := s.SignBody(testBody(3), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(note, []VKey{s.Key}); err != nil {
		t.Error(err)
	}
	// What is not a checkpoint is not signed, nor at a time beyond 63 bits.
	if _, err := s.SignBody("a\n", 0); report.CodeOf(err) != report.CodeCheckpointMalformed {
		t.Errorf("signed what is no checkpoint: %v", err)
	}
	w := testSigner(t, "w", TypeCosignature, 5)
	if _, err := w.SignBody(testBody(3), 1<<63); report.CodeOf(err) != report.CodeCheckpointMalformed {
		t.Errorf("cosigned at 2^63: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
