// Package bundle is the proof bundle (spec/bundle.md): the envelope of one
// receipt with what proves that it stands in a log. It builds and reads
// bundles, registry chains and .tlog-proof files, and verifies them under the
// caller's trust.
//
// Append writes, Parse reads, and Verify answers with a report.Report. Check
// does both of the last for bytes nobody has looked at: it never fails, since
// every artifact has an answer. Nothing inside an artifact is trusted: keys and
// policies come in Options, from the caller.
package bundle

import (
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/preview"
)

// MediaType names the JSON form of a Bundle; its files are *.receipt.json.
const MediaType = "application/vnd.obstat.bundle.v1+json"

// ChainMediaType names the JSON form of a Chain.
const ChainMediaType = "application/vnd.obstat.registry-chain.v1+json"

// Limits, in bytes (spec/limits.md).
const (
	MaxBundle      = 16 << 20 // a Bundle or a Chain as JSON
	MaxDisclosures = 4096     // of one Bundle, in number
	MaxTlogProof   = 2 << 20  // a .tlog-proof file
)

// Level is what the maker of a bundle says that its checkpoint is. It is a
// hint: a verifier answers from the cosignatures under the caller's policy.
type Level uint8

// The two levels. The zero Level is Promise.
const (
	Promise   Level = iota // the log's word
	Witnessed              // a quorum's
)

// String returns the word that stands in a bundle.
func (l Level) String() string {
	if l == Witnessed {
		return "witnessed"
	}
	return "promise"
}

// Bundle is the wire object (spec/bundle.md#bundle). It is not verified.
type Bundle struct {
	Envelope    []byte               // DSSE JSON of the receipt
	Proof       *checkpoint.Proof    // index, inclusion proof, signed checkpoint; no extra
	Level       Level                // a hint
	Registry    []RegistryLeaf       // genesis and every later registry leaf, in order; nil where absent
	Disclosures []preview.Disclosure // nil where absent

	// leaf is what stood as extra in a .tlog-proof; nil otherwise. Its
	// signature names a key, which the envelope's JSON leaves out.
	leaf []byte
}

// RegistryLeaf is one registry leaf with its place in the tree of the bundle's
// checkpoint.
type RegistryLeaf struct {
	Envelope []byte // DSSE JSON
	Index    uint64
	Proof    []merkle.Hash
}

// Chain is a registry chain in a file of its own (spec/bundle.md#chain): what
// a caller hands to Verify where it has a later one than the bundle carries.
type Chain struct {
	Leaves     []RegistryLeaf // genesis first
	Checkpoint []byte         // signed note of the tree in which Leaves stand
}
