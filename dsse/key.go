package dsse

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"

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
// It is for registration and trust files, not for each signature: it takes some
// tens of microseconds.
func CheckPublicKey(pub []byte) error {
	if len(pub) != ed25519.PublicKeySize {
		return &report.Error{
			Code:     report.CodeKeyForm,
			Expected: fmt.Sprintf("%d bytes", ed25519.PublicKeySize),
			Actual:   fmt.Sprint(len(pub)),
		}
	}
	c := newCurve()
	p, ok := c.decode([32]byte(pub))
	if !ok {
		return &report.Error{
			Code:     report.CodeKeyForm,
			Expected: "the canonical encoding of a point (RFC 8032, section 5.1.3)",
			Actual:   hex.EncodeToString(pub),
		}
	}
	if c.smallOrder(p) {
		return &report.Error{
			Code:     report.CodeKeySmallOrder,
			Expected: "a point whose order is not 1, 2, 4 or 8",
			Actual:   hex.EncodeToString(pub),
		}
	}
	return nil
}

// curve is edwards25519, -x^2 + y^2 = 1 + d*x^2*y^2 modulo p, in plain big
// integers: keys are public and rare, so neither time nor constant time counts,
// and the formulas can be held against RFC 8032.
type curve struct{ p, d *big.Int }

type point struct{ x, y *big.Int }

func newCurve() curve {
	one := big.NewInt(1)
	p := new(big.Int).Lsh(one, 255)
	p.Sub(p, big.NewInt(19))
	d := new(big.Int).ModInverse(big.NewInt(121666), p)
	d.Mul(d, big.NewInt(-121665)).Mod(d, p)
	return curve{p, d}
}

// decode is RFC 8032, section 5.1.3, with every "decoding fails" in it.
func (c curve) decode(enc [32]byte) (point, bool) {
	sign := uint(enc[31] >> 7)
	enc[31] &= 0x7f
	for i := range 16 { // to big-endian
		enc[i], enc[31-i] = enc[31-i], enc[i]
	}
	y := new(big.Int).SetBytes(enc[:])
	if y.Cmp(c.p) >= 0 {
		return point{}, false
	}
	// x^2 = (y^2 - 1) / (d*y^2 + 1); the divisor is never 0, -1/d being no square.
	yy := c.mul(y, y)
	one := big.NewInt(1)
	num := new(big.Int).Sub(yy, one)
	den := new(big.Int).Add(c.mul(c.d, yy), one)
	x := new(big.Int).ModSqrt(c.mul(num, den.ModInverse(den, c.p)), c.p)
	if x == nil || x.Sign() == 0 && sign == 1 {
		return point{}, false
	}
	if x.Bit(0) != sign {
		x.Sub(c.p, x)
	}
	return point{x, y}, true
}

// smallOrder reports whether 8 times a is the neutral element (0, 1), the only
// point with y = 1; that is, whether the order of a divides 8.
func (c curve) smallOrder(a point) bool {
	for range 3 {
		a = c.double(a)
	}
	return a.y.Cmp(big.NewInt(1)) == 0
}

// double is the affine addition law with both points the same: complete,
// since d is no square.
func (c curve) double(a point) point {
	xx, yy := c.mul(a.x, a.x), c.mul(a.y, a.y)
	t := c.mul(c.d, c.mul(xx, yy))
	one := big.NewInt(1)
	plus := new(big.Int).Add(one, t)
	minus := new(big.Int).Sub(one, t)
	xy := c.mul(a.x, a.y)
	sum := new(big.Int).Add(xx, yy)
	return point{
		x: c.mul(xy.Lsh(xy, 1), plus.ModInverse(plus, c.p)),
		y: c.mul(sum, minus.ModInverse(minus.Mod(minus, c.p), c.p)),
	}
}

func (c curve) mul(a, b *big.Int) *big.Int {
	r := new(big.Int).Mul(a, b)
	return r.Mod(r, c.p)
}
