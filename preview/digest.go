package preview

import (
	"encoding/hex"

	"github.com/zeebo/blake3"
)

// Digest is the preview digest of a request, 32 bytes
// (spec/preview.md#digest). The zero Digest is none.
type Digest [32]byte

// String returns lowercase hex.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

const digestTag = "effect-preview"

// sum returns the digest of tagged, which is digestTag ‖ JCS(ρ).
func sum(tagged []byte) Digest { return blake3.Sum256(tagged) }
