package checkpoint

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"testing"

	"github.com/obstat/obstat/report"
)

// token is a key that is not in memory, as a module or a key service has it.
type token struct {
	key  ed25519.PrivateKey
	fail error
	lie  bool
}

func (k token) Public() crypto.PublicKey { return k.key.Public() }

func (k token) Sign(rand io.Reader, message []byte, opts crypto.SignerOpts) ([]byte, error) {
	if k.fail != nil {
		return nil, k.fail
	}
	sig, err := k.key.Sign(rand, message, opts)
	if k.lie {
		sig[0] ^= 1
	}
	return sig, err
}

// TestSignerOfAToken: a key that is kept elsewhere signs what one in memory
// does, and neither its failure nor its lie comes out as a signature.
func TestSignerOfAToken(t *testing.T) {
	for _, typ := range []byte{TypeEd25519, TypeCosignature} {
		own := testSigner(t, "log.example", typ, 1)
		s, err := NewSigner("log.example", typ, token{key: testKey(1)})
		if err != nil || s.Key.String() != own.Key.String() {
			t.Fatalf("%v, %v", s, err)
		}
		want, _ := own.SignBody(testBody(7), 5)
		if got, err := s.SignBody(testBody(7), 5); err != nil || string(got) != string(want) {
			t.Errorf("type %d: %q, %v; want %q", typ, got, err, want)
		}
		broken := errors.New("no token in the slot")
		s, _ = NewSigner("log.example", typ, token{key: testKey(1), fail: broken})
		if got, err := s.SignBody(testBody(7), 5); !errors.Is(err, broken) || got != nil {
			t.Errorf("type %d, a token that fails: %q, %v", typ, got, err)
		}
		s, _ = NewSigner("log.example", typ, token{key: testKey(1), lie: true})
		if got, err := s.SignBody(testBody(7), 5); report.CodeOf(err) != report.CodeSignatureInvalid || got != nil {
			t.Errorf("type %d, a token that lies: %q, %v", typ, got, err)
		}
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := NewSigner("log.example", TypeEd25519, other); err == nil {
		t.Errorf("a P-256 key makes %v", s)
	}
}
