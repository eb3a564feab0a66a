package receipt

import "encoding/hex"

// MaxStatement is how long a statement may be, in bytes.
const MaxStatement = 64000

// KeyID is SHA-256 of the DER SubjectPublicKeyInfo of a signing key.
type KeyID [32]byte

// String returns lowercase hex.
func (k KeyID) String() string { return hex.EncodeToString(k[:]) }

// Statement is one call: the DSSE payload (spec/statement.md).
type Statement struct {
	Call    Call
	Receipt Receipt
}

// Call says who made a statement and where it stands; it is signed and no part
// of the receipt's identity (spec/statement.md#call).
//
// A decision is outside any run and has By, Settles and At only. Every other
// kind has By, Run, Seq and At; Prev exactly unless Seq is 0, which is exactly
// for a run-open; Settles exactly for an outcome; Expires exactly for a
// judgment that escalates; and Seen where the engine had a checkpoint.
type Call struct {
	By      KeyID
	Run     Name
	Seq     uint64 // from 0
	Prev    CID    // statement before this one in the run
	Settles CID    // statement that this one answers
	Seen    Seen   // checkpoint that the engine had before it signed
	Expires int64  // Unix ms: when silence becomes a denial; not before At
	At      int64  // Unix ms by the engine's clock: a claim, never evidence
}

// Seen is a checkpoint that the engine held before it signed, which proves the
// statement younger than it. The zero Seen is absent.
type Seen struct {
	Origin Name
	Size   uint64
	Root   [32]byte // RFC 6962 root, SHA-256
}

// IsZero reports whether there is no checkpoint.
func (s Seen) IsZero() bool { return s == Seen{} }
