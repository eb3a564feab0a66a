package bundle_test

import (
	"testing"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/trust"
)

// TestLargestChainFitsABundle: whatever chain the limits of a registry allow,
// a bundle has room for it and for the largest receipt.
func TestLargestChainFitsABundle(t *testing.T) {
	const each = trust.MaxLeaves / trust.MaxVersions
	env := &dsse.Envelope{Type: dsse.RegistryType, Sigs: make([]dsse.Signature, dsse.MaxSignatures)}
	for i := range env.Sigs {
		env.Sigs[i].By[0] = byte(i)
	}
	bare, err := env.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	env.Payload = make([]byte, each-len(bare)-2)
	if leaf, err := env.Leaf(); err != nil || len(leaf) < each-2 || len(leaf) > each {
		t.Fatalf("a leaf of %d bytes, want %d: %v", len(leaf), each, err)
	}
	proof := make([]merkle.Hash, 53) // indexes end below 2^53
	b := bundle.Bundle{Envelope: (&dsse.Envelope{Type: dsse.ReceiptType, Payload: make([]byte, dsse.MaxPayload), Sigs: env.Sigs[:1]}).JSON(), Proof: &checkpoint.Proof{Index: dagcbor.MaxInt, Hashes: proof}}
	for range trust.MaxVersions {
		b.Registry = append(b.Registry, bundle.RegistryLeaf{Envelope: env.JSON(), Index: dagcbor.MaxInt, Proof: proof})
	}
	// A successor statement and a freeze stand in the chain beside all versions.
	env.Payload = make([]byte, dsse.MaxPayload)
	for range 2 {
		b.Registry = append(b.Registry, bundle.RegistryLeaf{Envelope: env.JSON(), Index: dagcbor.MaxInt, Proof: proof})
	}
	if n := len((&bundle.Chain{Leaves: b.Registry}).Append(nil)); n > 13<<20 {
		t.Errorf("the chain has %d bytes, more than 13 MiB", n)
	}
	if n := len(b.Append(nil)); n > bundle.MaxBundle-(2<<20) {
		t.Errorf("the bundle has %d bytes of %d", n, bundle.MaxBundle)
	}
}
