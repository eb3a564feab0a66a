package merkle

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/obstat/obstat/internal/vectors"
	"github.com/obstat/obstat/report"
)

const (
	accept = "accept"
	reject = "reject"
)

// proofCase is a line of either proof file; which members count depends on Kind.
type proofCase struct {
	ID, Kind           string
	WantErr            bool
	LeafIdx, TreeSize  uint64
	Size1, Size2       uint64
	Start, End, Size   uint64 // subtrees only
	LeafHash           string
	Root, Root1, Root2 string
	Proof              []string
	wrongLength        bool
}

func (c *proofCase) want() string {
	if c.WantErr {
		return reject
	}
	return accept
}

// hash decodes one hash; one that is not 32 bytes cannot be said in this
// package, whose hashes are arrays, and is remembered.
func (c *proofCase) hash(t *testing.T, b64 string) Hash {
	b, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	if len(b) != HashSize {
		c.wrongLength = true
		return Hash{}
	}
	return Hash(b)
}

// judge answers as a caller of this package has to: what cannot be decoded
// into hashes is refused, what can is asked of verify.
func (c *proofCase) judge(t *testing.T, verify func(leaf Hash, roots [2]Hash, proof []Hash) error) string {
	var leaf Hash
	var roots [2]Hash
	proof := make([]Hash, len(c.Proof))
	for i, p := range c.Proof {
		proof[i] = c.hash(t, p)
	}
	switch c.Kind {
	case "inclusion", "subtreeinclusion":
		leaf, roots[0] = c.hash(t, c.LeafHash), c.hash(t, c.Root)
	case "consistency", "subtreeconsistency":
		roots = [2]Hash{c.hash(t, c.Root1), c.hash(t, c.Root2)}
	default:
		t.Fatalf("%s: unknown kind %q", c.ID, c.Kind)
	}
	if c.wrongLength {
		return reject
	}
	err := verify(leaf, roots, proof)
	if err == nil {
		return accept
	}
	if code := report.CodeOf(err); code == report.CodeInternal {
		t.Errorf("%s: the refusal has no code: %v", c.ID, err)
	}
	return reject
}

var hashLength = vectors.Rule{
	Why:    "a hash is 32 bytes (spec/log.md): the case calls other bytes a root",
	Answer: reject,
}

func TestVectorsProofs(t *testing.T) {
	var results []vectors.Result
	for _, c := range vectors.Lines[proofCase](t, "merkle/proofs.jsonl") {
		got := c.judge(t, func(leaf Hash, roots [2]Hash, proof []Hash) error {
			if c.Kind == "inclusion" {
				return VerifyInclusion(c.LeafIdx, c.TreeSize, leaf, proof, roots[0])
			}
			return VerifyConsistency(c.Size1, c.Size2, roots[0], roots[1], proof)
		})
		r := vectors.Result{ID: c.ID, Want: c.want(), Got: got}
		if c.wrongLength {
			r.Rule = "hash length"
		}
		results = append(results, r)
	}
	vectors.Table{
		File:   "merkle/proofs.jsonl",
		SHA256: "3a34c0e56c70c852466015e7f2c62da4af154a4c1334190c0bd2adadf1658394",
		Rules:  map[string]vectors.Rule{"hash length": hashLength},
		Exceptions: []vectors.Exception{
			{Case: "consistency/additional/sizes-are-equal-one-and-proof-is-empty", Rule: "hash length"},
		},
	}.Judge(t, results)
}

// TestVectorsSubtreeProofs: subtrees [start, end) of Merkle tree certificates
// are not built. One that starts at 0 and holds something is a tree of size
// end, and its proofs are the ordinary ones; those are answered.
func TestVectorsSubtreeProofs(t *testing.T) {
	var results []vectors.Result
	for _, c := range vectors.Lines[proofCase](t, "merkle/subtree-proofs.jsonl") {
		subtree := c.Start != 0 || c.End == 0
		got := c.judge(t, func(leaf Hash, roots [2]Hash, proof []Hash) error {
			switch {
			case subtree:
				return &report.Error{Code: report.CodeProofRange}
			case c.Kind == "subtreeinclusion":
				return VerifyInclusion(c.LeafIdx, c.End, leaf, proof, roots[0])
			default:
				return VerifyConsistency(c.End, c.Size, roots[0], roots[1], proof)
			}
		})
		r := vectors.Result{ID: c.ID, Want: c.want(), Got: got}
		if subtree {
			r.Rule = "subtree proof"
		} else if c.wrongLength {
			r.Rule = "hash length"
		}
		results = append(results, r)
	}
	vectors.Table{
		File:   "merkle/subtree-proofs.jsonl",
		SHA256: "63550b399e838d0d726d41220419233ac63420f132997c76809b189ac9fcf0ce",
		Rules: map[string]vectors.Rule{
			"hash length": hashLength,
			"subtree proof": {
				Why:    "proofs about subtrees that are empty or do not start at leaf 0 are not built (spec/log.md)",
				Answer: reject,
			},
		},
		Exceptions: []vectors.Exception{
			{Case: "subtreeconsistency/additional/sizes-are-equal-one-and-proof-is-empty", Rule: "hash length"},
			{Case: "subtreeconsistency/additional/subtree-is-empty-sizes-are-equal-one-subtree-root-valid-tree-root-random-proof-is-empty", Rule: "subtree proof"},
			{Case: "subtreeconsistency/additional/subtree-is-empty-sizes-are-equal-zero-subtree-root-valid-proof-is-empty", Rule: "subtree proof"},
			{Case: "subtreeconsistency/additional/subtree-is-empty-sizes-are-equal-zero-subtree-root-valid-tree-root-random-proof-is-empty", Rule: "subtree proof"},
			{Case: "subtreeinclusion/0/happy-path-subtree", Rule: "subtree proof"},
			{Case: "subtreeinclusion/1/happy-path-subtree", Rule: "subtree proof"},
			{Case: "subtreeinclusion/3/happy-path-subtree", Rule: "subtree proof"},
			{Case: "subtreeinclusion/single-entry/matching-root-and-leaf-subtree", Rule: "subtree proof"},
		},
	}.Judge(t, results)
}

func TestVectorsReferenceTree(t *testing.T) {
	var ref struct {
		Leaves []string   `json:"leaf_inputs_hex"`
		Levels [][]string `json:"node_hashes_by_level_hex"`
		Roots  []string   `json:"root_hashes_by_size_hex"`
	}
	if err := json.Unmarshal(vectors.File(t, "merkle/reference-tree.json"), &ref); err != nil {
		t.Fatal(err)
	}
	cases, good := 0, 0
	check := func(what, want string, got Hash) {
		cases++
		if hex.EncodeToString(got[:]) != want {
			t.Errorf("%s: want %s, got %x", what, want, got[:])
			return
		}
		good++
	}
	nodes := map[NodeID]Hash{}
	var r Range
	check("root of size 0", ref.Roots[0], r.Root())
	for i, in := range ref.Leaves {
		b, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		r.Append(LeafHash(b), func(id NodeID, h Hash) { nodes[id] = h })
		check(fmt.Sprintf("root of size %d", i+1), ref.Roots[i+1], r.Root())
	}
	for level, hashes := range ref.Levels {
		for i, want := range hashes {
			id := NodeID{Level: uint(level), Index: uint64(i)}
			h, ok := nodes[id]
			if !ok {
				t.Errorf("node %v was not visited", id)
			}
			check(fmt.Sprintf("node %v", id), want, h)
		}
	}
	fmt.Printf("vectors: merkle/reference-tree.json: %d cases, %d as expected\n", cases, good)
}

type pathCase struct {
	ID, Kind, Path string
	Level          uint
	N              uint64
	Width          int // 0 is full
	Index          uint64
	LogSize        uint64 `json:"log_size"`
	Accept         bool
}

func (c pathCase) tile() Tile {
	w := c.Width
	if w == 0 {
		w = TileWidth
	}
	return Tile{Level: c.Level, Index: c.N, Width: w}
}

// beyond reports, from the case alone, that no tree of 2^63-1 leaves has this tile.
func (c pathCase) beyond() bool {
	if c.Level > 7 {
		return true
	}
	const span = 1 << 8
	leaves := uint64(1)<<63 - 1
	for range c.Level {
		leaves /= span
	}
	last := c.N*span + uint64(c.tile().Width)
	return c.N > 1<<55 || last > leaves
}

func TestVectorsPaths(t *testing.T) {
	var results []vectors.Result
	for _, c := range vectors.Lines[pathCase](t, "tiles/paths.jsonl") {
		r := vectors.Result{ID: c.ID, Want: c.Path}
		switch c.Kind {
		case "tile":
			r.Got = c.tile().Path()
		case "entries":
			r.Got = EntriesPath(c.N, c.tile().Width)
		case "entries_for_index":
			bundle := c.Index / TileWidth
			r.Got = EntriesPath(bundle, TileWidthAt(0, bundle, c.LogSize))
		case "parse":
			r.Want, r.Got = reject, reject
			if c.Accept {
				r.Want = fmt.Sprint(c.tile())
				if c.beyond() {
					r.Rule = "beyond 63 bits"
				}
			}
			if got, _, err := ParsePath(c.Path); err == nil {
				r.Got = fmt.Sprint(got)
			} else if report.CodeOf(err) != report.CodeTilePath {
				t.Errorf("%s: %v", c.ID, err)
			}
		default:
			t.Errorf("%s: unknown kind %q", c.ID, c.Kind)
		}
		results = append(results, r)
	}
	vectors.Table{
		File:   "tiles/paths.jsonl",
		SHA256: "9857eab4d9cd42f79cf537f4fdbb376ffef50f8f76e7121c2b5eae1b14e92f2e",
		Rules: map[string]vectors.Rule{"beyond 63 bits": {
			Why:    "tree sizes are 63 bits, so no tile above level 7 and none past the last leaf exists (spec/log.md)",
			Answer: reject,
		}},
		Exceptions: []vectors.Exception{
			{Case: "path/parse-18", Rule: "beyond 63 bits"},
		},
	}.Judge(t, results)
}
