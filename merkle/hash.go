package merkle

import (
	"crypto/sha256"
	"encoding/base64"
)

// HashSize is the length of a hash in bytes.
const HashSize = sha256.Size

// Hash is the SHA-256 hash of a leaf or of a node (RFC 6962 section 2.1).
type Hash [HashSize]byte

// EmptyRoot is the root of a tree of size 0: SHA-256 of nothing.
var EmptyRoot = Hash{
	0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
	0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
}

// The first byte hashed tells a leaf from a node, so that neither can be
// passed off as the other.
const (
	leafPrefix = 0x00
	nodePrefix = 0x01
)

// LeafHash returns SHA-256(0x00 ‖ entry).
func LeafHash(entry []byte) Hash {
	d := sha256.New()
	d.Write([]byte{leafPrefix})
	d.Write(entry)
	var h Hash
	d.Sum(h[:0])
	return h
}

// NodeHash returns SHA-256(0x01 ‖ left ‖ right).
func NodeHash(left, right Hash) Hash {
	var b [1 + 2*HashSize]byte
	b[0] = nodePrefix
	copy(b[1:], left[:])
	copy(b[1+HashSize:], right[:])
	return sha256.Sum256(b[:])
}

// String returns the hash in standard base64, as checkpoints and proofs print it.
func (h Hash) String() string { return base64.StdEncoding.EncodeToString(h[:]) }
