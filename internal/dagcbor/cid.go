package dagcbor

import (
	"bytes"
	"fmt"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/report"
)

// CID is the one form that names receipts and statements
// (spec/encoding.md#cid): CIDv1, dag-cbor (0x71), BLAKE3-256 (0x1e), 32 bytes.
// Its 36 bytes are 01 71 1e 20 and the digest. It is a value: compare with ==,
// use as a map key.
type CID [36]byte

const (
	cidPrefix    = "\x01\x71\x1e\x20"
	cidTextLen   = 59 // "b" and 58 characters for 288 bits
	base32Digits = "abcdefghijklmnopqrstuvwxyz234567"
)

// Sum returns the CID of block. It does not check the block: the CID of what
// Check refuses names bytes that are nobody's receipt.
func Sum(block []byte) CID {
	return cidOf(blake3.Sum256(block))
}

func cidOf(digest [32]byte) (c CID) {
	copy(c[:], cidPrefix)
	copy(c[len(cidPrefix):], digest[:])
	return c
}

// CIDFromBytes accepts exactly the 36 bytes of the one form.
func CIDFromBytes(b []byte) (CID, error) {
	if len(b) != len(CID{}) || string(b[:len(cidPrefix)]) != cidPrefix {
		return CID{}, &report.Error{
			Code:     report.CodeCIDForm,
			Expected: "36 bytes that begin 01 71 1e 20",
			Actual:   fmt.Sprintf("%d bytes that begin % x", len(b), b[:min(len(b), len(cidPrefix))]),
		}
	}
	return CID(b), nil
}

// ParseCID accepts the one text spelling, 59 characters: "b" and 58 lowercase
// base32 characters without padding whose two spare bits are zero. It always
// begins "bafyr4i".
func ParseCID(s string) (CID, error) {
	if len(s) != cidTextLen {
		return CID{}, refuseText("59 characters", fmt.Sprintf("%d", len(s)))
	}
	if s[0] != 'b' {
		return CID{}, refuseText(`"b" for lowercase base32 as first character`, fmt.Sprintf("%q", s[0]))
	}
	var c CID
	var acc, bits uint
	n := 0
	for i := 1; i < len(s); i++ {
		digit, ok := base32Value(s[i])
		if !ok {
			return CID{}, refuseText("characters from a to z and 2 to 7", fmt.Sprintf("%q at %d", s[i], i))
		}
		acc, bits = acc<<5|digit, bits+5
		if bits >= 8 {
			bits -= 8
			c[n] = byte(acc >> bits)
			n++
		}
		acc &= 1<<bits - 1
	}
	if acc != 0 {
		return CID{}, refuseText("the two spare bits of the last character to be zero", "other bits")
	}
	if string(c[:len(cidPrefix)]) != cidPrefix {
		return CID{}, refuseText("a CIDv1 of dag-cbor and BLAKE3-256, which begins bafyr4i", "a CID of another form")
	}
	return c, nil
}

func refuseText(expected, actual string) error {
	return &report.Error{Code: report.CodeCIDText, Expected: expected, Actual: actual}
}

func base32Value(c byte) (uint, bool) {
	switch {
	case 'a' <= c && c <= 'z':
		return uint(c - 'a'), true
	case '2' <= c && c <= '7':
		return uint(c-'2') + 26, true
	}
	return 0, false
}

// String returns the one text spelling, which ParseCID reads.
func (c CID) String() string {
	var out [cidTextLen]byte
	out[0] = 'b'
	var acc, bits uint
	n := 1
	for _, b := range c {
		acc, bits = acc<<8|uint(b), bits+8
		for bits >= 5 {
			bits -= 5
			out[n] = base32Digits[acc>>bits&31]
			n++
		}
		acc &= 1<<bits - 1
	}
	out[n] = base32Digits[acc<<(5-bits)&31]
	return string(out[:])
}

// Digest returns the BLAKE3 digest of the block that c names.
func (c CID) Digest() [32]byte {
	return [32]byte(c[len(cidPrefix):])
}

// IsZero reports whether c names nothing.
func (c CID) IsZero() bool { return c == CID{} }

// Link returns c as an item to encode.
func (c CID) Link() Link { return Link(bytes.Clone(c[:])) }

// wellFormedCID reports whether b is one whole CID: CIDv0, which is the
// sha2-256 multihash 12 20 and 32 bytes; or CIDv1, which is 01, a codec, a hash
// function and a digest length as varints, and a digest of that length. Which
// codecs and functions exist is not asked: that list is open.
func wellFormedCID(b []byte) bool {
	if len(b) == 36 && string(b[:4]) == cidPrefix {
		return true
	}
	if len(b) == 34 && b[0] == 0x12 && b[1] == 0x20 {
		return true
	}
	if len(b) == 0 || b[0] != 1 {
		return false
	}
	b = b[1:]
	var length uint64
	for range 3 { // codec, hash function, digest length
		n := 0
		if length, n = uvarint(b); n == 0 {
			return false
		}
		b = b[n:]
	}
	return length == uint64(len(b))
}

// uvarint reads a multiformats unsigned varint: shortest form, at most 9
// bytes. It returns n = 0 for anything else.
func uvarint(b []byte) (v uint64, n int) {
	for i, c := range b {
		if i == 9 {
			break
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if c == 0 && i > 0 {
				return 0, 0
			}
			return v, i + 1
		}
	}
	return 0, 0
}
