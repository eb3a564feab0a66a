package dagcbor

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/zeebo/blake3"
	lukechampine "lukechampine.com/blake3"

	"github.com/obstat/obstat/internal/vectors"
	"github.com/obstat/obstat/report"
)

// The places where spec/encoding.md#canonical-form is narrower than strict
// DAG-CBOR. Each rule's answer names the code.
func profileRules() map[string]vectors.Rule {
	rule := func(why string, code report.Code) vectors.Rule {
		return vectors.Rule{Why: why, Answer: "refuse " + string(code)}
	}
	return map[string]vectors.Rule{
		"float":    rule("no floats: a receipt measures nothing, and no two spellings of a number can differ", report.CodeCBORFloat),
		"null":     rule("absent is an absent key, so that one value has one spelling", report.CodeCBORNull),
		"integer":  rule("integers lie within ±(2^53-1), which every consumer reads exactly", report.CodeCBORIntRange),
		"nesting":  rule("lists and maps nest at most 16 deep", report.CodeCBORDepth),
		"not-ours": {Why: "links pass, and only the one form names a receipt", Answer: "refuse"},
	}
}

// profileRule names the first feature, in the order of bytes, by which a
// well-formed strict DAG-CBOR block leaves the profile; empty where none does.
// It reads heads on its own and knows nothing of Check.
func profileRule(b []byte) string {
	var open []uint64 // items to come, per level
	for pos := 0; pos < len(b); {
		major, info := b[pos]>>5, b[pos]&31
		arg, size := uint64(info), 1
		if info >= 24 {
			arg, size = 0, 1+1<<(info-24)
			for _, c := range b[pos+1 : pos+size] {
				arg = arg<<8 + uint64(c)
			}
		}
		switch major {
		case 0:
			if arg >= 1<<53 {
				return "integer"
			}
		case 1:
			if arg >= 1<<53-1 {
				return "integer"
			}
		case 2, 3:
			size += int(arg)
		case 4, 5:
			if len(open) == 16 {
				return "nesting"
			}
			if arg > 0 {
				open = append(open, arg*uint64(major-3))
				pos += size
				continue
			}
		case 6:
			pos += size
			continue
		case 7:
			if info == 22 {
				return "null"
			}
			if info == 27 {
				return "float"
			}
		}
		pos += size
		for len(open) > 0 {
			if open[len(open)-1]--; open[len(open)-1] > 0 {
				break
			}
			open = open[:len(open)-1]
		}
	}
	return ""
}

type blockCase struct {
	ID         string   `json:"id"`
	Hex        string   `json:"hex"`
	Accept     bool     `json:"accept"`
	BLAKE3     string   `json:"cid_blake3_derived"`
	Features   []string `json:"features"`
	DeepEnough bool     `json:"may_reject_limit"`
}

// judgeBlock checks one block and, where it is accepted, that it comes back.
func judgeBlock(t *testing.T, id, text string, accept bool) vectors.Result {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	r := vectors.Result{ID: id, Want: "refuse", Got: "accept"}
	if accept {
		r.Want, r.Rule = "accept", profileRule(b)
	}
	node, err := Parse(b)
	if err != nil {
		r.Got = "refuse"
		if r.Rule != "" {
			r.Got += " " + string(report.CodeOf(err))
		}
		return r
	}
	again, err := Encode(node.Value())
	if err != nil || !bytes.Equal(again, b) {
		r.Got = fmt.Sprintf("accept, and re-encodes as %x, %v", again, err)
	}
	return r
}

func TestVectorsBlocks(t *testing.T) {
	o := newOracle(t)
	var results []vectors.Result
	for _, c := range vectors.Lines[blockCase](t, "dagcbor/cases.jsonl") {
		r := judgeBlock(t, c.ID, c.Hex, c.Accept)
		b, _ := hex.DecodeString(c.Hex)
		o.judge(t, b)
		if c.Accept {
			// The scanner that finds rules, held against the case's own words.
			if (slices.Contains(c.Features, "int_out_of_int64") || c.DeepEnough) && r.Rule == "" {
				t.Errorf("%s: has %v, but no rule touches it", c.ID, c.Features)
			}
			if r.Rule == "float" && !slices.Contains(c.Features, "float") {
				t.Errorf("%s: rule float touches it, but it has %v", c.ID, c.Features)
			}
		}
		if c.BLAKE3 != "" {
			if got := Sum(b).String(); got != c.BLAKE3 {
				t.Errorf("%s: CID %s, want %s", c.ID, got, c.BLAKE3)
			}
			if got, err := ParseCID(c.BLAKE3); err != nil || got != Sum(b) {
				t.Errorf("%s: %s reads as %v, %v", c.ID, c.BLAKE3, got, err)
			}
		}
		results = append(results, r)
	}
	vectors.Table{
		File:   "dagcbor/cases.jsonl",
		SHA256: "c21dc914284c93e07779e142fc6bdfafcef804a5c76ec630ad63a4c0a8fcc23d",
		Rules:  profileRules(),
		Exceptions: []vectors.Exception{
			{Case: "atproto/data-model-0", Rule: "null"},
			{Case: "codec-fixtures/float--0.5", Rule: "float"},
			{Case: "codec-fixtures/float--0.9999999999999999", Rule: "float"},
			{Case: "codec-fixtures/float-0.9999999999999999", Rule: "float"},
			{Case: "codec-fixtures/float-1.1", Rule: "float"},
			{Case: "codec-fixtures/float-1.1111111111111112", Rule: "float"},
			{Case: "codec-fixtures/float-8.940696716308594e-8", Rule: "float"},
			{Case: "codec-fixtures/float-82497.63712086187", Rule: "float"},
			{Case: "codec-fixtures/float-array_of_specials", Rule: "null"},
			{Case: "codec-fixtures/garbage-00", Rule: "null"},
			{Case: "codec-fixtures/garbage-02", Rule: "null"},
			{Case: "codec-fixtures/garbage-06", Rule: "float"},
			{Case: "codec-fixtures/garbage-07", Rule: "float"},
			{Case: "codec-fixtures/garbage-09", Rule: "float"},
			{Case: "codec-fixtures/garbage-11", Rule: "null"},
			{Case: "codec-fixtures/garbage-14", Rule: "float"},
			{Case: "codec-fixtures/garbage-15", Rule: "float"},
			{Case: "codec-fixtures/garbage-19", Rule: "null"},
			{Case: "codec-fixtures/garbage-20", Rule: "float"},
			{Case: "codec-fixtures/garbage-22", Rule: "float"},
			{Case: "codec-fixtures/garbage-24", Rule: "float"},
			{Case: "codec-fixtures/int--11959030306112471732", Rule: "integer"},
			{Case: "codec-fixtures/int--9007199254740992", Rule: "integer"},
			{Case: "codec-fixtures/int-11959030306112471731", Rule: "integer"},
			{Case: "dasl/floats-01-64-bit-floats-only", Rule: "float"},
			{Case: "dasl/floats-03-float-reduction", Rule: "float"},
			{Case: "dasl/floats-09-64-bit-subnormal-number", Rule: "float"},
			{Case: "dasl/integer_range-01-smallest-cbor-integer-2-64", Rule: "integer"},
			{Case: "go-dasl/float64-not-f32", Rule: "float"},
			{Case: "go-ipld-prime/depth-2000", Rule: "nesting"},
			{Case: "go-ipld-prime/depth-2000-maps", Rule: "nesting"},
			{Case: "rfc8949-a/12", Rule: "integer"},
			{Case: "rfc8949-a/21", Rule: "float"},
			{Case: "rfc8949-a/26", Rule: "float"},
			{Case: "rfc8949-a/30", Rule: "float"},
			{Case: "serde-ipld/crazy_list", Rule: "integer"},
			{Case: "serde-ipld/numbers_large_negative", Rule: "integer"},
			{Case: "serde-ipld/std-f32_1234_point_5", Rule: "float"},
			{Case: "serde-ipld/std-f64_12345_point_6", Rule: "float"},
			{Case: "wellformed/32", Rule: "nesting"},
		},
	}.Judge(t, results)
}

// TestVectorsEncodeRejected: what an encoder must refuse either has no Value or
// is refused by Encode.
func TestVectorsEncodeRejected(t *testing.T) {
	type encodeCase struct {
		ID   string `json:"id"`
		Hex  string `json:"generic_cbor_hex"`
		Must bool   `json:"must_not_encode"`
	}
	o := newOracle(t)
	var results []vectors.Result
	for _, c := range vectors.Lines[encodeCase](t, "dagcbor/encode-reject.jsonl") {
		b, err := hex.DecodeString(c.Hex)
		if err != nil || !c.Must {
			t.Fatalf("%s: %v, must_not_encode %v", c.ID, err, c.Must)
		}
		r := vectors.Result{ID: c.ID, Want: "refuse", Got: "refuse"}
		var generic any
		if err := o.dec.Unmarshal(b, &generic); err == nil {
			v, err := toValue(generic)
			if err == nil {
				_, err = Encode(v)
			}
			if err == nil {
				r.Got = "encode"
			}
		}
		if Check(b) == nil {
			r.Got = "accept"
		}
		results = append(results, r)
	}
	vectors.Table{
		File:   "dagcbor/encode-reject.jsonl",
		SHA256: "32912c271b6d8922a600bcd52248bcf5b0482e29f0e001b821d0e0263267a79d",
	}.Judge(t, results)
}

// TestVectorsLibraries: where another library is known to let a forbidden block
// through, ours does not.
func TestVectorsLibraries(t *testing.T) {
	blocks := map[string]blockCase{}
	for _, c := range vectors.Lines[blockCase](t, "dagcbor/cases.jsonl") {
		blocks[c.ID] = c
	}
	lenient := 0
	var results []vectors.Result
	for _, row := range vectors.Lines[map[string]any](t, "dagcbor/library-observations.jsonl") {
		id := row["id"].(string)
		c, known := blocks[id]
		if !known || c.Accept != row["accept"].(bool) {
			t.Errorf("%s: an observation without its block", id)
			continue
		}
		if c.Accept {
			continue // TestVectorsBlocks has it
		}
		for library, answer := range row {
			if passed, ok := answer.(bool); ok && passed && library != "accept" {
				lenient++
			}
		}
		results = append(results, judgeBlock(t, id, c.Hex, false))
	}
	if lenient == 0 {
		t.Error("no library was ever lenient: the observations were not read")
	}
	vectors.Table{
		File:   "dagcbor/library-observations.jsonl",
		SHA256: "594acd9a175660338d02f1ad211a92a5f6f1ae6dece90c6a9f6f47960f737a32",
	}.Judge(t, results)
}

func TestVectorsTraceFoldCanon(t *testing.T) {
	type side struct {
		Hex    string `json:"hex"`
		Accept bool   `json:"accept_dag_cbor"`
	}
	type canonCase struct {
		side
		ID      string `json:"id"`
		Control *side  `json:"control"`
	}
	var results []vectors.Result
	for _, c := range vectors.Lines[canonCase](t, "tracefold/canon.jsonl") {
		results = append(results, judgeBlock(t, c.ID, c.Hex, c.Accept))
		if c.Control != nil {
			results = append(results, judgeBlock(t, c.ID+"/control", c.Control.Hex, c.Control.Accept))
		}
	}
	vectors.Table{
		File:   "tracefold/canon.jsonl",
		SHA256: "4d3c6a3e5f5bd546b7e82513badfc96a60018470e9bd7ac20ee17ab36b7e59cc",
		Rules:  profileRules(),
		Exceptions: []vectors.Exception{
			{Case: "tracefold/A-6/control", Rule: "float"},
			{Case: "tracefold/D-65", Rule: "nesting"},
			{Case: "tracefold/D-65/control", Rule: "nesting"},
			{Case: "tracefold/G-5", Rule: "null"},
			{Case: "tracefold/P-1", Rule: "float"},
		},
	}.Judge(t, results)
}

func TestVectorsTraceFoldWire(t *testing.T) {
	type wireCase struct {
		ID     string `json:"id"`
		Hex    string `json:"hex"`
		BLAKE3 string `json:"blake3"`
	}
	var results []vectors.Result
	for _, c := range vectors.Lines[wireCase](t, "tracefold/wire.jsonl") {
		results = append(results, judgeBlock(t, c.ID, c.Hex, true))
		b, _ := hex.DecodeString(c.Hex)
		if digest := Sum(b).Digest(); c.BLAKE3 != "" && hex.EncodeToString(digest[:]) != c.BLAKE3 {
			t.Errorf("%s: digest %x, want %s", c.ID, digest, c.BLAKE3)
		}
	}
	vectors.Table{
		File:   "tracefold/wire.jsonl",
		SHA256: "2a31c9c71c94c756a556abd3f4267e97e4e765765a96abfdcd1248d3d68f8a92",
		Rules:  profileRules(),
		Exceptions: []vectors.Exception{
			{Case: "tracefold/wire-verdict-payload", Rule: "null"},
		},
	}.Judge(t, results)
}

// TestVectorsTraceFoldText: another project's names for blocks are none of
// ours, well spelt or not; the digests in them get names here that read back.
func TestVectorsTraceFoldText(t *testing.T) {
	type textCase struct {
		ID     string `json:"id"`
		Text   string `json:"text"`
		Accept bool   `json:"accept"`
		Bytes  string `json:"bytes"`
	}
	var results []vectors.Result
	for _, c := range vectors.Lines[textCase](t, "tracefold/id-text.jsonl") {
		r := vectors.Result{ID: c.ID, Want: "refuse", Got: "accept"}
		if c.Accept {
			r.Want, r.Rule = "accept", "not-ours"
		}
		if _, err := ParseCID(c.Text); report.CodeOf(err) == report.CodeCIDText {
			r.Got = "refuse"
		}
		if _, digits, ok := strings.Cut(c.Text, ":"); ok {
			if _, err := ParseCID("b" + digits); err == nil {
				r.Got = "accept without its prefix"
			}
		}
		if c.Bytes != "" {
			b, err := hex.DecodeString(c.Bytes)
			if err != nil || len(b) != 32 {
				t.Fatalf("%s: %d bytes, %v", c.ID, len(b), err)
			}
			name := cidOf([32]byte(b))
			back, err := ParseCID(name.String())
			if err != nil || back != name || back.Digest() != [32]byte(b) {
				t.Errorf("%s: %v reads back as %v, %v", c.ID, name, back, err)
			}
			theirs, err := cid.Decode(name.String())
			if err != nil || !bytes.Equal(theirs.Bytes(), name[:]) {
				t.Errorf("%s: go-cid reads %v as %v, %v", c.ID, name, theirs, err)
			}
		}
		results = append(results, r)
	}
	vectors.Table{
		File:   "tracefold/id-text.jsonl",
		SHA256: "26ab13c99ecd9b5ece0bd54afb58169ca0475f98105c8a2fcade0c9bb271ce34",
		Rules:  profileRules(),
		Exceptions: []vectors.Exception{
			{Case: "tracefold/text-0000", Rule: "not-ours"},
			{Case: "tracefold/text-0001", Rule: "not-ours"},
		},
	}.Judge(t, results)
}

// TestVectorsBLAKE3 holds the hash function that names, commitments and preview
// digests rest on, in its three modes, and a second implementation beside it.
func TestVectorsBLAKE3(t *testing.T) {
	type hashCase struct {
		InputLen  int    `json:"input_len"`
		Hash      string `json:"hash"`
		KeyedHash string `json:"keyed_hash"`
		DeriveKey string `json:"derive_key"`
	}
	var file struct {
		Key     string     `json:"key"`
		Context string     `json:"context_string"`
		Cases   []hashCase `json:"cases"`
	}
	if err := json.Unmarshal(vectors.File(t, "blake3/test_vectors.json"), &file); err != nil {
		t.Fatal(err)
	}
	var results []vectors.Result
	for _, c := range file.Cases {
		input := make([]byte, c.InputLen)
		for i := range input {
			input[i] = byte(i % 251)
		}
		result := func(mode, want string, h *blake3.Hasher) {
			if _, err := h.Write(input); err != nil {
				t.Fatal(err)
			}
			out := make([]byte, len(want)/2)
			if _, err := h.Digest().Read(out); err != nil {
				t.Fatal(err)
			}
			if sum := h.Sum(nil); !bytes.Equal(sum, out[:32]) {
				t.Errorf("%s of %d: digest %x, extended %x", mode, c.InputLen, sum, out)
			}
			results = append(results, vectors.Result{ID: fmt.Sprintf("%s/%d", mode, c.InputLen), Want: want, Got: hex.EncodeToString(out)})
		}
		keyed, err := blake3.NewKeyed([]byte(file.Key))
		if err != nil {
			t.Fatal(err)
		}
		result("hash", c.Hash, blake3.New())
		result("keyed_hash", c.KeyedHash, keyed)
		result("derive_key", c.DeriveKey, blake3.NewDeriveKey(file.Context))
		if Sum(input).Digest() != lukechampine.Sum256(input) {
			t.Errorf("digest of %d bytes differs from lukechampine/blake3", c.InputLen)
		}
	}
	vectors.Table{
		File:   "blake3/test_vectors.json",
		SHA256: "ccb8bb1a60fd3b5078b3902b21bf0243921aa8c1a64fad4a53203ac779be0797",
	}.Judge(t, results)
}
