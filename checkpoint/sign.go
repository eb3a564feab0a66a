package checkpoint

import (
	"crypto/ed25519"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/obstat/obstat/report"
)

// Signer signs checkpoints as a log (TypeEd25519) or as a witness
// (TypeCosignature). It keeps the private key inside a function, where no
// printing, encoding or comparing reaches it.
type Signer struct {
	Key  VKey
	sign func(message []byte) []byte
}

// NewSigner makes a signer of a key, whose bytes are copied.
func NewSigner(name string, typ byte, key ed25519.PrivateKey) (*Signer, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, badVKey("private key of "+name, "64 bytes", strconv.Itoa(len(key)))
	}
	// The public half is derived and not taken from the 64 bytes: signing
	// with a pair that does not belong together gives the private key away.
	own := ed25519.NewKeyFromSeed(key.Seed())
	vkey, err := NewVKey(name, typ, own.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	return &Signer{Key: vkey, sign: func(message []byte) []byte { return ed25519.Sign(own, message) }}, nil
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
		line.Sig = s.sign([]byte(body))
		return line, nil
	}
	if unix > math.MaxInt64 {
		return NoteSignature{}, malformed(report.CodeCheckpointMalformed, "time", "at most 2^63-1 seconds", strconv.FormatUint(unix, 10))
	}
	line.Sig = binary.BigEndian.AppendUint64(make([]byte, 0, cosignatureSize), unix)
	line.Sig = append(line.Sig, s.sign(cosignedMessage(unix, body))...)
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
