package dsse

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestSignByAToken: keys in memory and elsewhere sign one envelope together, and
// neither a failure nor a lie comes out as a signature.
func TestSignByAToken(t *testing.T) {
	keys := testKeys("a", "b")
	want, err := SignMany("t", []byte("p"), keys...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := SignMany[crypto.Signer]("t", []byte("p"), token{key: keys[1]}, keys[0])
	if err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v, %v", got, err)
	}
	broken := errors.New("no token in the slot")
	if _, err := SignMany("t", []byte("p"), token{key: keys[0], fail: broken}); !errors.Is(err, broken) {
		t.Errorf("a token that fails: %v", err)
	}
	if _, err := SignMany("t", []byte("p"), token{key: keys[0], lie: true}); report.CodeOf(err) != report.CodeSignatureInvalid {
		t.Errorf("a token that lies: %v", err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := SignMany("t", []byte("p"), other); report.CodeOf(err) != report.CodeKeyForm {
		t.Errorf("a P-256 key: %v", err)
	}
}
