package receipt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/preview"
)

// What the model computes is package preview's: preview digests, commitments
// and tickets.
type (
	Digest     = preview.Digest
	Commitment = preview.Commitment
	Ticket     = preview.Ticket
)

// Value is a path, target, read key, input value or slot value: committed to,
// which is the default, or in the clear where the engine opts in
// (spec/receipt.md#values). In the bytes the CBOR type tells: a byte string of
// 32 is a commitment, a text is clear. The zero Value is neither and stands
// for "absent".
type Value struct {
	form       form
	commitment Commitment
	clear      string
}

type form uint8

const (
	formAbsent form = iota
	formCommitted
	formClear
)

// CommittedTo returns a value that only its commitment tells.
func CommittedTo(c Commitment) Value { return Value{form: formCommitted, commitment: c} }

// Clear returns a value in the clear; text is escaped as EscapeClear does.
// A text whose clear form is empty or longer than MaxClear makes a value that
// no field takes.
func Clear(text string) Value { return Value{form: formClear, clear: EscapeClear(text)} }

// Commitment returns the commitment, and whether the value is committed to.
func (v Value) Commitment() (Commitment, bool) { return v.commitment, v.form == formCommitted }

// ClearForm returns the clear form as it stands in the receipt, escapes and
// all, and whether the value is in the clear.
func (v Value) ClearForm() (string, bool) { return v.clear, v.form == formClear }

// Text returns the text that Clear was given, and whether the value is in the
// clear.
func (v Value) Text() (string, bool) {
	if v.form != formClear {
		return "", false
	}
	return UnescapeClear(v.clear)
}

// IsZero reports whether the value is absent.
func (v Value) IsZero() bool { return v.form == formAbsent }

// String returns the commitment in lowercase hex or the clear form in quotes.
func (v Value) String() string {
	switch v.form {
	case formCommitted:
		return v.commitment.String()
	case formClear:
		return `"` + v.clear + `"`
	}
	return "absent"
}

// compare orders values as sets do: by the bytes of the commitment or of the
// clear form, and where those are the same the commitment first.
func (v Value) compare(w Value) int {
	if c := bytes.Compare(v.key(), w.key()); c != 0 {
		return c
	}
	return int(v.form) - int(w.form)
}

func (v *Value) key() []byte {
	if v.form == formClear {
		return []byte(v.clear)
	}
	return v.commitment[:]
}

// Pin is an opaque digest handed in from outside, as a multihash of 34 bytes:
// BLAKE3 (1e 20) or SHA-256 (12 20) and 32 bytes (spec/receipt.md#pins). Two
// pins of different functions cannot be compared. The zero Pin is absent.
type Pin [34]byte

// The two functions a Pin may name, by their multihash prefix.
const (
	pinBLAKE3 = "\x1e\x20"
	pinSHA256 = "\x12\x20"
)

// PinBLAKE3 pins content by its BLAKE3 digest.
func PinBLAKE3(content []byte) Pin { return pinOf(pinBLAKE3, blake3.Sum256(content)) }

// PinSHA256 pins content by its SHA-256 digest.
func PinSHA256(content []byte) Pin { return pinOf(pinSHA256, sha256.Sum256(content)) }

func pinOf(prefix string, digest [32]byte) (p Pin) {
	copy(p[:], prefix)
	copy(p[len(prefix):], digest[:])
	return p
}

// IsZero reports whether the pin is absent.
func (p Pin) IsZero() bool { return p == Pin{} }

// Algorithm returns "blake3", "sha256", or "" for bytes that are no Pin.
func (p Pin) Algorithm() string {
	switch string(p[:2]) {
	case pinBLAKE3:
		return "blake3"
	case pinSHA256:
		return "sha256"
	}
	return ""
}

// Comparable reports whether equality of p and q says anything: both name the
// same function.
func (p Pin) Comparable(q Pin) bool { return p.Algorithm() != "" && p.Algorithm() == q.Algorithm() }

// String returns "blake3:" or "sha256:" and lowercase hex.
func (p Pin) String() string { return p.Algorithm() + ":" + hex.EncodeToString(p[2:]) }
