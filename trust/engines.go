package trust

import (
	"crypto/ed25519"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
)

// Engines is the engine trust file (spec/trust.md#engine-trust-file): whose
// receipts of one log a caller believes. It is either in registry mode
// (Genesis is set) or in plain keys mode (Keys is not empty), never both.
type Engines struct {
	Origin  string
	Genesis dagcbor.CID // statement CID of registry version 0; zero in plain keys mode
	Keys    []PlainKey  // in file order
	AsOf    uint64      // a tree size below which the caller holds the registry complete
	HasAsOf bool
}

// PlainKey is one key line: a key that the caller vouches for itself.
type PlainKey struct {
	Principal string
	Role      Role
	Public    ed25519.PublicKey
	ID        dsse.KeyID
	From      uint64 // first leaf index the caller vouches for
	To        uint64 // last one; only where HasTo
	HasTo     bool
}

// ParseEngines reads an engine trust file strictly; errors name the line.
func ParseEngines(b []byte) (*Engines, error) { panic("stub") }

// Bytes returns the file in its one layout; ParseEngines reads it back.
func (e *Engines) Bytes() []byte { panic("stub") }

// PlainMode reports whether the file lists keys itself.
func (e *Engines) PlainMode() bool { return len(e.Keys) > 0 }
