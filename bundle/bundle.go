// Package bundle is the proof bundle (spec/bundle.md): one receipt's envelope
// with what proves it stands in a log. It builds, parses and verifies bundles
// and .tlog-proof files; Verify answers with a report.Report.
package bundle

import (
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// MediaType names the JSON form, which files call *.receipt.json.
const MediaType = "application/vnd.obstat.bundle.v1+json"

// Level is what the maker of a bundle says its checkpoint is. It is a hint:
// a verifier answers from the cosignatures under the caller's policy.
type Level uint8

const (
	Promise   Level = iota // the log's word
	Witnessed              // a quorum's
)

// Bundle is the wire object. Envelopes are DSSE JSON, kept as they came.
type Bundle struct {
	Envelope    []byte            // DSSE JSON of the receipt
	Proof       *checkpoint.Proof // index, inclusion proof, signed checkpoint; no extra
	Level       Level
	Registry    []RegistryLeaf // genesis and later registry leaves, in order; nil where absent
	Disclosures []Disclosure
}

// RegistryLeaf is one registry leaf with its place in the bundle's checkpoint.
type RegistryLeaf struct {
	Envelope []byte // DSSE JSON
	Index    uint64
	Proof    []merkle.Hash // inclusion in the tree of the bundle's checkpoint
}

// Disclosure opens one commitment of the receipt.
type Disclosure struct {
	Salt  [32]byte
	Field string
	Name  string
	Value []byte // canonical DAG-CBOR of the committed value
}

// Parse reads the JSON form strictly.
func Parse(b []byte) (*Bundle, error) { panic("stub") }

// ParseTlogProof reads a .tlog-proof file whose extra is the canonical leaf.
func ParseTlogProof(b []byte) (*Bundle, error) { panic("stub") }

// Append appends the JSON form to dst.
func (b *Bundle) Append(dst []byte) []byte { panic("stub") }

// TlogProof returns the .tlog-proof form; registry and disclosures stay behind.
func (b *Bundle) TlogProof() ([]byte, error) { panic("stub") }

// Options is what the caller trusts and asks. Nil trust leaves checks not made.
type Options struct {
	Policy   *trust.Policy
	Engines  *trust.Engines
	Registry *Chain        // a later registry chain than the bundle's own, by the caller
	Expect   []Expectation // content that becomes a required check
	Require  []string      // further checks that become required
}

// Expectation is one k=v of --expect.
type Expectation struct{ Key, Value string }

// Chain is a registry chain in a file of its own.
type Chain struct {
	Checkpoint []byte // signed note in which the leaves are proven
	Leaves     []RegistryLeaf
}

// ChainMediaType names the JSON form of a Chain.
const ChainMediaType = "application/vnd.obstat.registry-chain.v1+json"

// ParseChain reads the JSON form of a chain strictly.
func ParseChain(b []byte) (*Chain, error) { panic("stub") }

// Append appends the JSON form of the chain to dst.
func (c *Chain) Append(dst []byte) []byte { panic("stub") }

// Verify makes every check of a bundle that the given trust allows.
func Verify(b *Bundle, o Options) *report.Report { panic("stub") }
