package dsse

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"

	"filippo.io/edwards25519"

	"github.com/obstat/obstat/report"
)

// spkiPrefix is all of an Ed25519 SubjectPublicKeyInfo in DER but its last 32
// bytes, the key. RFC 8410 leaves nothing open, so one comparison is a parser.
const spkiPrefix = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"

const spkiSize = len(spkiPrefix) + ed25519.PublicKeySize

// KeyID is SHA-256 of a signing key's DER SubjectPublicKeyInfo, 44 bytes.
type KeyID [32]byte

// IDOf returns the KeyID of an Ed25519 public key of 32 bytes.
func IDOf(pub ed25519.PublicKey) KeyID {
	var spki [spkiSize]byte
	if len(pub) != ed25519.PublicKeySize { // no id that a key has
		return KeyID{}
	}
	copy(spki[copy(spki[:], spkiPrefix):], pub)
	return sha256.Sum256(spki[:])
}

// String returns 64 lowercase hex characters.
func (id KeyID) String() string { return hex.EncodeToString(id[:]) }

// ParsePublicKeyPEM reads one PKIX Ed25519 public key: one PEM block of type
// PUBLIC KEY without headers, with nothing but line breaks before it and white
// space behind it. The key passes CheckPublicKey.
func ParsePublicKeyPEM(b []byte) (ed25519.PublicKey, error) {
	b = bytes.TrimLeft(b, "\r\n")
	block, rest := pem.Decode(b)
	switch {
	case block == nil || !bytes.HasPrefix(b, []byte("-----BEGIN ")):
		return nil, refusePEM("a PEM block and nothing before it", "something else")
	case len(bytes.TrimLeft(rest, " \t\r\n")) > 0:
		return nil, refusePEM("one PEM block and nothing behind it", fmt.Sprintf("%d more bytes", len(rest)))
	case block.Type != "PUBLIC KEY" || len(block.Headers) > 0:
		return nil, refusePEM("a PEM block PUBLIC KEY without headers", fmt.Sprintf("%q with %d headers", block.Type, len(block.Headers)))
	case len(block.Bytes) != spkiSize || string(block.Bytes[:len(spkiPrefix)]) != spkiPrefix:
		return nil, refusePEM("the SubjectPublicKeyInfo of an Ed25519 key, 44 bytes", fmt.Sprintf("%d bytes that are none", len(block.Bytes)))
	}
	pub := block.Bytes[len(spkiPrefix):]
	if err := CheckPublicKey(pub); err != nil {
		return nil, err
	}
	return pub, nil
}

func refusePEM(expected, actual string) error {
	return &report.Error{Code: report.CodeKeyPEM, Expected: expected, Actual: actual}
}

// MarshalPublicKeyPEM writes what ParsePublicKeyPEM reads. The key has 32 bytes.
func MarshalPublicKeyPEM(pub ed25519.PublicKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: append([]byte(spkiPrefix), pub...)})
}

// CheckPublicKey refuses a key that is not 32 bytes, not the canonical encoding
// of a point of edwards25519, or of small order (spec/trust.md#keys). The
// standard library's Verify accepts such keys, and under one of small order a
// signature can hold for any message.
//
// It is for registration and trust files, not for each signature: it takes
// about a seventh of what checking one does.
func CheckPublicKey(pub []byte) error {
	if len(pub) != ed25519.PublicKeySize {
		return &report.Error{
			Code:     report.CodeKeyForm,
			Expected: fmt.Sprintf("%d bytes", ed25519.PublicKeySize),
			Actual:   fmt.Sprint(len(pub)),
		}
	}
	// SetBytes reads encodings too that are not canonical, as crypto/ed25519 does.
	p, err := new(edwards25519.Point).SetBytes(pub)
	if err != nil || !bytes.Equal(p.Bytes(), pub) {
		return &report.Error{
			Code:     report.CodeKeyForm,
			Expected: "the canonical encoding of a point (RFC 8032, section 5.1.3)",
			Actual:   hex.EncodeToString(pub),
		}
	}
	if p.MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) == 1 {
		return &report.Error{
			Code:     report.CodeKeySmallOrder,
			Expected: "a point whose order is not 1, 2, 4 or 8",
			Actual:   hex.EncodeToString(pub),
		}
	}
	return nil
}
