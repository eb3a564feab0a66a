package merkle

import (
	"crypto/sha256"
	"testing"
)

var sink Hash

// BenchmarkLeafHash against BenchmarkRawSHA256 is what a leaf costs beyond its bytes.
func BenchmarkLeafHash(b *testing.B) {
	for name, n := range map[string]int{"1200": 1200, "1400": 1400, "60000": 60000} {
		entry := make([]byte, n)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n))
			for b.Loop() {
				sink = LeafHash(entry)
			}
		})
	}
}

func BenchmarkRawSHA256(b *testing.B) {
	for name, n := range map[string]int{"65": 65, "1200": 1200, "1400": 1400, "60000": 60000} {
		entry := make([]byte, n)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n))
			for b.Loop() {
				sink = sha256.Sum256(entry)
			}
		})
	}
}

func BenchmarkNodeHash(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sink = NodeHash(sink, sink)
	}
}

// BenchmarkRehash is what re-reading a log costs an entry of 1.4 KB: split a
// full bundle, hash it into its tile, the tile into a node.
func BenchmarkRehash(b *testing.B) {
	var bundle []byte
	entry := make([]byte, 1400)
	for range TileWidth {
		bundle, _ = AppendEntry(bundle, entry)
	}
	tile := make([]byte, 0, TileWidth*HashSize)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		entries, err := ParseBundle(bundle, TileWidth)
		if err != nil {
			b.Fatal(err)
		}
		tile = AppendLeafTile(tile[:0], entries)
		if sink, err = TileRoot(tile); err != nil {
			b.Fatal(err)
		}
		n += TileWidth
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
}

func BenchmarkRangeAppend(b *testing.B) {
	var r Range
	leaf := LeafHash(nil)
	b.ReportAllocs()
	for b.Loop() {
		r.Append(leaf, nil)
	}
	sink = r.Root()
}

func BenchmarkProof(b *testing.B) {
	tree := newTestTree(100_000)
	index, size := uint64(12_345), tree.size
	root, _ := Root(size, tree.read)
	proof, _ := InclusionProof(index, size, tree.read)
	b.Run("make", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := InclusionProof(index, size, tree.read); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verify", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := VerifyInclusion(index, size, tree.leaves[index], proof, root); err != nil {
				b.Fatal(err)
			}
		}
	})
}
