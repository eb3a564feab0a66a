package merkle

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

func TestEmptyRoot(t *testing.T) {
	if EmptyRoot != sha256.Sum256(nil) {
		t.Errorf("EmptyRoot is not SHA-256 of nothing: %v", EmptyRoot)
	}
	// Both constants are printed in the C2SP texts.
	if got, want := EmptyRoot.String(), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="; got != want {
		t.Errorf("EmptyRoot: got %s, want %s", got, want)
	}
	if got, want := LeafHash(nil).String(), "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0="; got != want {
		t.Errorf("hash of an empty entry: got %s, want %s", got, want)
	}
}

// TestHashesAgree: two other implementations hash leaves and nodes as we do.
func TestHashesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "entry")
		before := bytes.Clone(entry)
		leaf := LeafHash(entry)
		if !bytes.Equal(leaf[:], rfc6962.DefaultHasher.HashLeaf(entry)) || leaf != Hash(tlog.RecordHash(entry)) {
			t.Fatalf("leaf hash of %x: %x", entry, leaf)
		}
		if !bytes.Equal(entry, before) {
			t.Fatal("hashing changed the entry")
		}
		right := LeafHash(leaf[:])
		node := NodeHash(leaf, right)
		if !bytes.Equal(node[:], rfc6962.DefaultHasher.HashChildren(leaf[:], right[:])) ||
			node != Hash(tlog.NodeHash(tlog.Hash(leaf), tlog.Hash(right))) {
			t.Fatalf("node hash of %x and %x: %x", leaf, right, node)
		}
	})
}

// TestHashingDoesNotAllocate holds the reason for having loops of our own.
func TestHashingDoesNotAllocate(t *testing.T) {
	entry := make([]byte, 1200)
	var h Hash
	if n := testing.AllocsPerRun(100, func() { h = LeafHash(entry) }); n != 0 {
		t.Errorf("LeafHash allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { h = NodeHash(h, h) }); n != 0 {
		t.Errorf("NodeHash allocates %v times", n)
	}
	var r Range
	r.Append(h, nil)
	if n := testing.AllocsPerRun(1000, func() { r.Append(h, nil) }); n > 0 {
		t.Errorf("Range.Append allocates %v times a leaf", n)
	}
	proof := make([]Hash, InclusionProofLength(5, 1<<40))
	if n := testing.AllocsPerRun(100, func() { chain(h, proof, 5) }); n != 0 {
		t.Errorf("verifying allocates %v times", n)
	}
}
