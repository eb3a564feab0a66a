package trust

import (
	"crypto/ed25519"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
)

// Limits of the registry (spec/limits.md).
const (
	MaxKeys       = 4096 // keys a registry ever lists
	MaxStatement  = dsse.MaxPayload
	MaxSignatures = dsse.MaxSignatures
)

// PublicKey is an Ed25519 public key as it stands in a registry statement.
type PublicKey [ed25519.PublicKeySize]byte

// Statement is the payload of a registry leaf, a delta against the version
// before it (spec/trust.md#registry-statement).
type Statement struct {
	Log       string      // origin
	Version   uint64      // from 0
	Prev      dagcbor.CID // statement CID of version-1; zero exactly for version 0
	Threshold int         // registrars that must sign what follows
	Add       []Addition  // strictly ascending by Key; nil where absent
	Retire    []PublicKey // strictly ascending
	Revoke    []Revocation
	State     [32]byte // BLAKE3 of the canonical folded registry after this statement
}

// Addition lists a new key.
type Addition struct {
	Key  PublicKey
	Name string
	Role Role
}

// Revocation disowns what a key signed from a leaf index on.
type Revocation struct {
	Key     PublicKey
	From    uint64
	HasFrom bool // false: from the leaf of this statement on
}

// DecodeStatement reads a registry payload: canonical form and schema. It does
// not check State, which needs the version before.
func DecodeStatement(payload []byte) (*Statement, error) { panic("stub") }

// Encode returns the canonical payload.
func (s *Statement) Encode() ([]byte, error) { panic("stub") }

// NewGenesis makes version 0 with its State. It refuses what Genesis would.
func NewGenesis(origin string, threshold int, add []Addition, foreign []ed25519.PublicKey) (*Statement, error) {
	panic("stub")
}

// SignStatement makes the envelope of s, one signature per registrar key.
func SignStatement(s *Statement, registrars ...ed25519.PrivateKey) (*dsse.Envelope, error) {
	panic("stub")
}
