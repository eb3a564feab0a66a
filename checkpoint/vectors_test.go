package checkpoint

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/vectors"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

const (
	accept = "accept"
	reject = "reject"
)

func answer(ok bool) string {
	if ok {
		return accept
	}
	return reject
}

// coded fails the test where a refusal has no code of its own.
func coded(t *testing.T, id string, err error) {
	t.Helper()
	if err != nil && report.CodeOf(err) == report.CodeInternal {
		t.Errorf("%s: the refusal has no code: %v", id, err)
	}
}

var (
	signatureType = vectors.Rule{
		Why:    "signature types other than 0x01 and 0x04 are not known, so their keys are refused (spec/checkpoint.md)",
		Answer: reject,
	}
	duplicateLine = vectors.Rule{
		Why:    "two signature lines of one name and key ID refuse the note (spec/checkpoint.md)",
		Answer: reject,
	}
	oneSpelling = vectors.Rule{
		Why:    "base64 has one spelling: padded, spare bits zero (spec/checkpoint.md)",
		Answer: reject,
	}
	beyond63 = vectors.Rule{
		Why:    "tree sizes are at most 2^63-1 (spec/checkpoint.md)",
		Answer: reject,
	}
	longName = vectors.Rule{
		Why:    "origins and key names have at most 255 bytes (spec/checkpoint.md)",
		Answer: reject,
	}
	emptyRoot = vectors.Rule{
		Why:    "a checkpoint of size 0 carries the root of the empty tree (spec/checkpoint.md)",
		Answer: reject,
	}
)

// otherType reports, from the text of a verifier key alone, that its type is
// neither 0x01 nor 0x04.
func otherType(vkey string) bool {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(parts[2])
	return err == nil && len(key) > 0 && key[0] != 0x01 && key[0] != 0x04
}

// otherSpelling reports that decoding and encoding a base64 text changes it.
func otherSpelling(s string) bool {
	b, err := base64.StdEncoding.DecodeString(s)
	return err == nil && base64.StdEncoding.EncodeToString(b) != s
}

// repeatsLine reports, from the bytes of a note alone, that two signature
// lines share name and key ID.
func repeatsLine(note string) bool {
	i := strings.LastIndex(note, "\n\n")
	if i < 0 {
		return false
	}
	seen := map[string]bool{}
	for line := range strings.Lines(note[i+2:]) {
		f := strings.Fields(line)
		if len(f) != 3 || len(f[2]) < 8 {
			continue
		}
		id, err := base64.StdEncoding.DecodeString(f[2][:8])
		if err != nil {
			continue
		}
		key := f[1] + " " + string(id[:4])
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

func signatureSpelling(note string) bool {
	i := strings.LastIndex(note, "\n\n")
	if i < 0 {
		return false
	}
	for line := range strings.Lines(note[i+2:]) {
		if f := strings.Fields(line); len(f) == 3 && otherSpelling(f[2]) {
			return true
		}
	}
	return false
}

// rootOf32 reports that the third line of a text is the base64 of 32 bytes;
// other roots are not taken, however a case calls the text.
func rootOf32(text string) bool {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 {
		return false
	}
	b, err := base64.StdEncoding.DecodeString(lines[2])
	return err == nil && len(b) == 32
}

type noteCase struct {
	ID               string
	Note             string
	NoteHex          string `json:"note_hex"`
	VKeys            []string
	ExpectOpens      bool `json:"expect_opens"`
	Verified         int
	Unverified       int
	VerifiedNames    []string `json:"verified_names"`
	Origin           string
	Size             *uint64
	RequiredOrigin   string `json:"required_origin"`
	CheckpointAccept *bool  `json:"expect_checkpoint_accept"`
}

func (c noteCase) bytes(t *testing.T) []byte {
	if c.NoteHex == "" {
		return []byte(c.Note)
	}
	b, err := hex.DecodeString(c.NoteHex)
	if err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	return b
}

// rule names what touches the case, as found from the case itself.
func (c noteCase) rule(note string) string {
	for _, k := range c.VKeys {
		if otherType(k) {
			return "signature type"
		}
	}
	switch {
	case repeatsLine(note):
		return "duplicate signature line"
	case signatureSpelling(note):
		return "base64 spelling"
	}
	return ""
}

// knownKeys parses the keys that a case trusts and leaves out those of types
// that are not known, as a caller would have to.
func knownKeys(t *testing.T, id string, texts []string) []VKey {
	var keys []VKey
	for _, text := range texts {
		k, err := ParseVKey(text)
		switch {
		case err == nil:
			keys = append(keys, k)
		case report.CodeOf(err) != report.CodeVKeyType:
			t.Logf("%s: not trusted: %v", id, err)
		}
	}
	return keys
}

func TestVectorsNotes(t *testing.T) {
	var results []vectors.Result
	for _, c := range vectors.Lines[noteCase](t, "note/notes.jsonl") {
		b := c.bytes(t)
		keys := knownKeys(t, c.ID, c.VKeys)
		n, err := ParseNote(b)
		var verified []Cosignature
		if err == nil {
			verified, err = n.Verify(keys)
		}
		coded(t, c.ID, err)
		r := vectors.Result{ID: c.ID, Want: answer(c.ExpectOpens), Got: answer(err == nil), Rule: c.rule(string(b))}
		results = append(results, r)
		if err != nil {
			continue
		}
		if string(n.Bytes()) != string(b) {
			t.Errorf("%s: written back differently", c.ID)
		}
		if r.Rule == "" {
			checkOpened(t, c, n, verified)
		}
	}
	vectors.Table{
		File:   "note/notes.jsonl",
		SHA256: "35cd09d49a5a93cf535269762716de195c476c07ad4a66d5754e62927344a91f",
		Rules: map[string]vectors.Rule{
			"signature type":           signatureType,
			"duplicate signature line": duplicateLine,
			"base64 spelling":          oneSpelling,
		},
		Exceptions: []vectors.Exception{
			{Case: "formats/rekor-ecdsa", Rule: "signature type"},
			{Case: "skylight/tree", Rule: "signature type"},
			{Case: "xmod/dup-sigs", Rule: "duplicate signature line"},
		},
	}.Judge(t, results)
}

// checkOpened holds what a case says beyond opening: counts, names, and for
// checkpoints origin, size and the origin that a policy requires.
func checkOpened(t *testing.T, c noteCase, n *Note, verified []Cosignature) {
	t.Helper()
	if len(verified) != c.Verified || len(n.Sigs)-len(verified) != c.Unverified {
		t.Errorf("%s: %d verified and %d unknown lines, want %d and %d", c.ID, len(verified), len(n.Sigs)-len(verified), c.Verified, c.Unverified)
	}
	for i, name := range c.VerifiedNames {
		if i < len(verified) && verified[i].Key.Name != name {
			t.Errorf("%s: line %d verified as %s, want %s", c.ID, i, verified[i].Key.Name, name)
		}
	}
	o, err := Open(n.Bytes(), knownKeys(t, c.ID, c.VKeys))
	isCheckpoint := (c.Origin != "" || c.Size != nil || c.RequiredOrigin != "") && rootOf32(n.Text)
	switch {
	case err != nil && isCheckpoint:
		t.Errorf("%s: does not open as a checkpoint: %v", c.ID, err)
		return
	case err != nil && report.CodeOf(err) != report.CodeCheckpointMalformed:
		t.Errorf("%s: opens as a note, but not as a checkpoint: %v", c.ID, err)
		return
	case err != nil:
		return // a note about something else
	}
	if c.Origin != "" && o.Origin != c.Origin {
		t.Errorf("%s: origin %q, want %q", c.ID, o.Origin, c.Origin)
	}
	if c.Size != nil && o.Size != *c.Size {
		t.Errorf("%s: size %d, want %d", c.ID, o.Size, *c.Size)
	}
	if c.CheckpointAccept != nil && (o.Origin == c.RequiredOrigin) != *c.CheckpointAccept {
		t.Errorf("%s: origin %q against the required %q: want accepted %v", c.ID, o.Origin, c.RequiredOrigin, *c.CheckpointAccept)
	}
	if o.Body() != n.Text {
		t.Errorf("%s: body written back differently", c.ID)
	}
}

func TestVectorsVKeys(t *testing.T) {
	type vkeyCase struct {
		ID, VKey string
		Accept   bool
	}
	var results []vectors.Result
	for _, c := range vectors.Lines[vkeyCase](t, "note/vkeys.jsonl") {
		k, err := ParseVKey(c.VKey)
		coded(t, c.ID, err)
		r := vectors.Result{ID: c.ID, Want: answer(c.Accept), Got: answer(err == nil)}
		if otherType(c.VKey) {
			r.Rule = "signature type"
		}
		if err == nil && k.String() != c.VKey {
			t.Errorf("%s: written back as %s", c.ID, k)
		}
		results = append(results, r)
	}
	vectors.Table{
		File:   "note/vkeys.jsonl",
		SHA256: "41e1f2c005c3fefdccf78150c599a1bfd6a88cd3aecab453bfdcf516a31b03d0",
		Rules:  map[string]vectors.Rule{"signature type": signatureType},
		Exceptions: []vectors.Exception{
			{Case: "vkey/mldsa44", Rule: "signature type"},
		},
	}.Judge(t, results)
}

func TestVectorsCheckpointBodies(t *testing.T) {
	type bodyCase struct {
		ID, Body string
		Accept   bool
	}
	var results []vectors.Result
	for _, c := range vectors.Lines[bodyCase](t, "note/checkpoint-bodies.jsonl") {
		b, err := ParseBody(c.Body)
		coded(t, c.ID, err)
		r := vectors.Result{ID: c.ID, Want: answer(c.Accept), Got: answer(err == nil)}
		switch lines := strings.Split(c.Body, "\n"); {
		case len(lines[0]) > 255:
			r.Rule = "long name"
		case len(lines) > 2 && lines[1] == "0" && lines[2] != "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=":
			r.Rule = "empty root"
		}
		if err == nil && b.Body() != c.Body {
			t.Errorf("%s: written back as %q", c.ID, b.Body())
		}
		results = append(results, r)
	}
	vectors.Table{
		File:       "note/checkpoint-bodies.jsonl",
		SHA256:     "acdf0c3d8afde34c26090def475b5f5ff9f16e762914cfc14fd2c7c04ce13e3b",
		Rules:      map[string]vectors.Rule{"long name": longName, "empty root": emptyRoot},
		Exceptions: nil,
	}.Judge(t, results)
}

type proofCase struct {
	ID           string
	ProofText    string  `json:"proof_text"`
	AcceptSyntax *bool   `json:"accept_syntax"`
	ExtraHex     *string `json:"extra_hex"`
	Hashes       *int
	Index        *uint64
	Accept       *bool
	EntryHex     string `json:"entry_hex"`
	VKeys        []string
	ExpectOpens  *bool `json:"expect_checkpoint_opens"`
	ExpectIncl   *bool `json:"expect_inclusion"`
}

func (c proofCase) rule() string {
	for _, k := range c.VKeys {
		if otherType(k) {
			return "signature type"
		}
	}
	head, note, _ := strings.Cut(c.ProofText, "\n\n")
	for line := range strings.SplitSeq(head, "\n") {
		index, ok := strings.CutPrefix(line, "index ")
		if ok && (len(index) > 19 || len(index) == 19 && index >= "9223372036854775807") {
			return "beyond 63 bits"
		}
		if otherSpelling(strings.TrimPrefix(line, "extra ")) {
			return "base64 spelling"
		}
	}
	switch {
	case repeatsLine(note):
		return "duplicate signature line"
	case signatureSpelling(note):
		return "base64 spelling"
	}
	return ""
}

func TestVectorsTlogProofs(t *testing.T) {
	var results []vectors.Result
	for _, c := range vectors.Lines[proofCase](t, "note/tlog-proofs.jsonl") {
		p, err := ParseProof([]byte(c.ProofText))
		coded(t, c.ID, err)
		r := vectors.Result{ID: c.ID, Rule: c.rule()}
		switch {
		case c.AcceptSyntax != nil:
			r.Want, r.Got = answer(*c.AcceptSyntax), answer(err == nil)
			if err == nil {
				checkSyntax(t, c, p)
			}
		case c.Accept != nil:
			r.Want, r.Got = answer(*c.Accept), answer(err == nil && checkFull(t, c, p, r.Rule))
		default:
			t.Errorf("%s: a case that expects nothing", c.ID)
		}
		if err == nil && string(p.Bytes()) != c.ProofText {
			t.Errorf("%s: written back differently", c.ID)
		}
		results = append(results, r)
	}
	vectors.Table{
		File:   "note/tlog-proofs.jsonl",
		SHA256: "b73147da2e4942fdca8901422f629c44144ce1b0ad4caa01901dad840e0c8dfa",
		Rules: map[string]vectors.Rule{
			"signature type":           signatureType,
			"duplicate signature line": duplicateLine,
			"base64 spelling":          oneSpelling,
			"beyond 63 bits":           beyond63,
		},
		Exceptions: nil,
	}.Judge(t, results)
}

func checkSyntax(t *testing.T, c proofCase, p *Proof) {
	t.Helper()
	if c.Index != nil && p.Index != *c.Index {
		t.Errorf("%s: index %d, want %d", c.ID, p.Index, *c.Index)
	}
	if c.Hashes != nil && len(p.Hashes) != *c.Hashes {
		t.Errorf("%s: %d hashes, want %d", c.ID, len(p.Hashes), *c.Hashes)
	}
	if c.ExtraHex != nil && hex.EncodeToString(p.Extra) != *c.ExtraHex {
		t.Errorf("%s: extra %x, want %s", c.ID, p.Extra, *c.ExtraHex)
	}
}

// checkFull opens the checkpoint and checks inclusion, and holds each of the
// two against what the case says of it.
func checkFull(t *testing.T, c proofCase, p *Proof, rule string) bool {
	t.Helper()
	entry, err := hex.DecodeString(c.EntryHex)
	if err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	o, err := Open(p.Checkpoint, knownKeys(t, c.ID, c.VKeys))
	coded(t, c.ID, err)
	opens := err == nil
	if c.ExpectOpens != nil && *c.ExpectOpens != opens && rule == "" {
		t.Errorf("%s: checkpoint opens: %v, want %v: %v", c.ID, opens, *c.ExpectOpens, err)
	}
	if !opens {
		return false
	}
	err = merkle.VerifyInclusion(p.Index, o.Size, merkle.LeafHash(entry), p.Hashes, o.Root)
	coded(t, c.ID, err)
	if c.ExpectIncl != nil && *c.ExpectIncl != (err == nil) {
		t.Errorf("%s: included: %v, want %v", c.ID, err, *c.ExpectIncl)
	}
	return err == nil
}
