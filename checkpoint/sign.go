package checkpoint

import (
	"crypto"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/obstat/obstat/report"
)

// Signer signs checkpoints as a log (TypeEd25519) or as a witness
// (TypeCosignature). It keeps the private key inside a function, where no
// printing, encoding or comparing reaches it.
type Signer struct {
	Key  VKey
	sign func(message []byte) ([]byte, error)
}

// NewSigner makes a signer of a key, whose bytes are copied. A key may be kept
// anywhere: what signs Ed25519 messages as package crypto says (opts is
// crypto.Hash(0)) will do, and what it signs is verified before it is used.
func NewSigner(name string, typ byte, key crypto.Signer) (*Signer, error) {
	own, ok := key.(ed25519.PrivateKey)
	if !ok && key != nil {
		return newForeignSigner(name, typ, key)
	}
	if len(own) != ed25519.PrivateKeySize {
		return nil, badVKey("private key of "+name, "64 bytes", strconv.Itoa(len(own)))
	}
	// The public half is derived and not taken from the 64 bytes: signing
	// with a pair that does not belong together gives the private key away.
	own = ed25519.NewKeyFromSeed(own.Seed())
	vkey, err := NewVKey(name, typ, own.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	return &Signer{Key: vkey, sign: func(message []byte) ([]byte, error) { return ed25519.Sign(own, message), nil }}, nil
}

// newForeignSigner makes a signer of a key that is not in memory.
func newForeignSigner(name string, typ byte, key crypto.Signer) (*Signer, error) {
	pub, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, badVKey("key of "+name, "an Ed25519 key", fmt.Sprintf("%T", key.Public()))
	}
	vkey, err := NewVKey(name, typ, pub)
	if err != nil {
		return nil, err
	}
	return &Signer{Key: vkey, sign: func(message []byte) ([]byte, error) {
		sig, err := key.Sign(nil, message, crypto.Hash(0)) // Ed25519 draws nothing
		if err != nil {
			return nil, err
		}
		if !ed25519.Verify(pub, message, sig) {
			return nil, &report.Error{Code: report.CodeSignatureInvalid, Where: "the signer of " + name, Expected: "a signature by its key", Actual: "another, or none"}
		}
		return sig, nil
	}}, nil
}

// String returns the verifier key, which is what may be known of a signer.
func (s *Signer) String() string { return s.Key.String() }

// Sign returns the signature line over a checkpoint body, which has to parse.
// unix is the time of a cosignature in seconds, at most 2^63-1; it is ignored
// for TypeEd25519.
func (s *Signer) Sign(body string, unix uint64) (NoteSignature, error) {
	if _, err := ParseBody(body); err != nil {
		return NoteSignature{}, err
	}
	line := NoteSignature{Name: s.Key.Name, ID: s.Key.ID}
	if s.Key.Type == TypeEd25519 {
		var err error
		line.Sig, err = s.sign([]byte(body))
		return line, err
	}
	if unix > math.MaxInt64 {
		return NoteSignature{}, malformed(report.CodeCheckpointMalformed, "time", "at most 2^63-1 seconds", strconv.FormatUint(unix, 10))
	}
	sig, err := s.sign(cosignedMessage(unix, body))
	if err != nil {
		return NoteSignature{}, err
	}
	line.Sig = append(binary.BigEndian.AppendUint64(make([]byte, 0, cosignatureSize), unix), sig...)
	return line, nil
}

// SignBody returns the whole note over body, with one signature line.
func (s *Signer) SignBody(body string, unix uint64) ([]byte, error) {
	line, err := s.Sign(body, unix)
	if err != nil {
		return nil, err
	}
	n := Note{Text: body, Sigs: []NoteSignature{line}}
	return n.Bytes(), nil
}
