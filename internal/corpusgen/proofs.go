package corpusgen

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

// lines is a log of size leaves, of denials in one run.
func (b *builder) denials(size int) *testlog.Log {
	log := testlog.New(b.t)
	run := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "run-1")
	log.Append(log.Sign(run.Add(receipttest.Open(testlog.Origin)), "engine"))
	for i := 2; i < size; i++ {
		log.Append(log.Sign(run.Add(receipttest.Judgment(fmt.Sprint("request ", i), receipttest.Deny("CLASS-RED"))), "engine"))
	}
	return log
}

// plain returns a bundle without registry chain, for trust in plain keys.
func plain(log *testlog.Log, index, size uint64, witnesses ...string) *bundle.Bundle {
	x := log.Bundle(index, size, witnesses...)
	x.Registry = nil
	return x
}

func (b *builder) plain(name string, x *bundle.Bundle, w want, why string) {
	b.t.Helper()
	b.bundleBytes(name, x.Append(nil), noQuorum, plainTrust, w, why)
}

// inclusion: whether a leaf stands where the proof says.
func inclusion(b *builder) {
	b.in("inclusion")
	b.about("log.md#tree")
	log := b.denials(300)
	for _, c := range []struct {
		name        string
		index, size uint64
		why         string
	}{
		{"two-leaves", 1, 2, "the smallest tree with a receipt: one hash"},
		{"three-leaves-last", 2, 3, "the last leaf of an odd tree"},
		{"three-leaves-first", 1, 3, "the sibling of the genesis"},
		{"four-leaves", 3, 4, "a full tree"},
		{"five-leaves-last", 4, 5, "the last leaf hangs below the root: one hash"},
		{"seven-leaves", 5, 7, "a tree that is full nowhere"},
		{"last-of-a-tile", 255, 256, "the last leaf of a full tile"},
		{"first-of-the-next-tile", 256, 257, "the first leaf of the next tile"},
		{"an-old-leaf-of-a-larger-tree", 1, 300, "an old leaf in a larger tree"},
		{"in-the-second-tile", 290, 300, "a leaf in a tile that is not full"},
	} {
		b.plain(c.name, plain(log, c.index, c.size), ok(), c.why)
	}
	invalid := no("inclusion", report.CodeProofInvalid)
	edit := func(name string, w want, why string, spoil func(p *checkpoint.Proof)) {
		x := plain(log, 5, 7)
		spoil(x.Proof)
		b.plain(name, x, w, why)
	}
	edit("a-bit-of-a-hash", invalid, "one bit of one hash", func(p *checkpoint.Proof) { p.Hashes[1][31] ^= 1 })
	edit("hashes-exchanged", invalid, "two hashes exchanged", func(p *checkpoint.Proof) { p.Hashes[0], p.Hashes[1] = p.Hashes[1], p.Hashes[0] })
	edit("another-index", invalid, "the proof of another leaf", func(p *checkpoint.Proof) { p.Index = 4 })
	edit("hash-missing", no("inclusion", report.CodeProofLength), "index and size call for three hashes", func(p *checkpoint.Proof) { p.Hashes = p.Hashes[:2] })
	edit("hash-too-many", no("inclusion", report.CodeProofLength), "index and size call for three hashes", func(p *checkpoint.Proof) { p.Hashes = append(p.Hashes, merkle.Hash{}) })
	edit("no-hash", no("inclusion", report.CodeProofLength), "index and size call for three hashes", func(p *checkpoint.Proof) { p.Hashes = nil })
	edit("index-beyond-the-tree", no("inclusion", report.CodeProofRange), "the index is below the size", func(p *checkpoint.Proof) { p.Index = 7 })
	edit("index-far-beyond-the-tree", no("inclusion", report.CodeProofRange), "the index is below the size", func(p *checkpoint.Proof) { p.Index = 1<<53 - 1 })
	edit("another-tree", invalid, "the log signed another root of this size", func(p *checkpoint.Proof) {
		p.Checkpoint = log.SignHead(checkpoint.Checkpoint{Origin: testlog.Origin, Size: 7, Root: merkle.Hash{1}})
	})
	edit("another-size", invalid, "the tree of another size", func(p *checkpoint.Proof) { p.Checkpoint = log.Checkpoint(8) })
	x := plain(log, 5, 7)
	x.Envelope = plain(log, 4, 7).Envelope
	b.plain("another-leaf", x, invalid, "a genuine receipt that stands elsewhere")

	b.about("checkpoint.md#proof")
	b.proofTexts(log)
}

// proofTexts: the one spelling of a tlog-proof.
func (b *builder) proofTexts(log *testlog.Log) {
	proof := string(plain(log, 5, 7).Proof.Bytes())
	good, err := plain(log, 5, 7).TlogProof()
	if err != nil {
		b.t.Fatal(err)
	}
	file := func(name string, data []byte, w want, why string) {
		b.add(name, corpus.Case{Command: corpus.AskBundle, Files: map[corpus.Part]string{
			corpus.Artifact: b.put(b.path(name, ".tlog-proof"), data), corpus.Policy: noQuorum, corpus.Trust: plainTrust,
		}}, w, why)
	}
	b.about("bundle.md#tlog-proof-file")
	file("tlog-proof", good, ok(), "a .tlog-proof whose extra is the canonical leaf")
	file("tlog-proof-without-extra", []byte(proof), no("form", report.CodeProofBundleMissing), "a .tlog-proof that stands by itself carries the leaf")
	b.about("checkpoint.md#proof")
	edit := func(name, old, new string, w want, why string) {
		if !strings.Contains(string(good), old) {
			b.t.Fatalf("%s: no %q", name, old)
		}
		file(name, []byte(strings.Replace(string(good), old, new, 1)), w, why)
	}
	bad := no("form", report.CodeTlogProofMalformed)
	edit("tlog-proof-next-version", "@v1", "@v2", bad, "another header is another format")
	edit("tlog-proof-leading-zero", "index 5", "index 05", bad, "decimal without leading zeros")
	edit("tlog-proof-without-index", "index 5\n", "", bad, "index comes before the hashes")
	edit("tlog-proof-without-an-empty-line", "\n\n", "\n", bad, "an empty line ends the hashes")
	edit("tlog-proof-with-carriage-returns", "index 5\n", "index 5\r\n", bad, "lines end in a newline alone")
	edit("tlog-proof-with-a-short-hash", "index 5\n", "index 5\nAAAA\n", bad, "a hash is 32 bytes")
	edit("tlog-proof-index-beyond-53-bits", "index 5\n", "index 9007199254740992\n", no("form", report.CodeProofBundleValue), "indexes are at most 2^53-1")
	file("tlog-proof-cut", good[:len(good)-1], bad, "the checkpoint ends in a newline")
	leaf := good[bytes.Index(good, []byte("extra "))+6:]
	leaf = leaf[:bytes.IndexByte(leaf, '\n')]
	raw, err := base64.StdEncoding.DecodeString(string(leaf))
	if err != nil {
		b.t.Fatal(err)
	}
	b.about("bundle.md#tlog-proof-file")
	raw[20] ^= 1 // of by, which names the key
	edit("tlog-proof-of-another-signer", string(leaf), base64.StdEncoding.EncodeToString(raw), no("form", report.CodeSignerMismatch), "the leaf binds its signature to the key that the payload names")
	b.about("bundle.md#bundle")
	doc := string(plain(log, 5, 7).Append(nil))
	inJSON := func(name, old, new string, w want, why string) {
		if !strings.Contains(doc, old) {
			b.t.Fatalf("%s: no %q", name, old)
		}
		b.bundleBytes(name, []byte(strings.Replace(doc, old, new, 1)), noQuorum, plainTrust, w, why)
	}
	inJSON("proof-with-extra", `@v1\n`, `@v1\nextra AAAA\n`, no("form", report.CodeProofBundleValue), "the envelope of a bundle is no extra")
	inJSON("proof-leading-zero", `\nindex 5`, `\nindex 05`, bad, "decimal without leading zeros")
	inJSON("proof-without-newlines", `\nindex 5\n`, ` index 5 `, bad, "a proof is lines")
}

// noteKey is a key that signs notes.
type noteKey struct {
	name string
	typ  byte
	key  ed25519.PrivateKey
}

func logKey() noteKey             { return noteKey{testlog.Origin, 1, testlog.Key("log")} }
func witnessKey(l string) noteKey { return noteKey{l, 4, testlog.Key(l)} }

func (k noteKey) id() []byte {
	sum := sha256.Sum256(slices.Concat([]byte(k.name+"\n"), []byte{k.typ}, k.key.Public().(ed25519.PublicKey)))
	return sum[:4]
}

// line signs a note's text, whatever it says.
func (k noteKey) line(text string, time uint64) string {
	sig := slices.Clone(k.id())
	message := text
	if k.typ == 4 {
		sig = binary.BigEndian.AppendUint64(sig, time)
		message = fmt.Sprintf("cosignature/v1\ntime %d\n%s", time, text)
	}
	return "— " + k.name + " " + base64.StdEncoding.EncodeToString(append(sig, ed25519.Sign(k.key, []byte(message))...)) + "\n"
}

// vkey is the verifier key.
func (k noteKey) vkey() string {
	pub := append([]byte{k.typ}, k.key.Public().(ed25519.PublicKey)...)
	return fmt.Sprintf("%s+%x+%s", k.name, k.id(), base64.StdEncoding.EncodeToString(pub))
}

// checkpoints: signed notes, what they say, and who signed them.
func checkpoints(b *builder) {
	b.in("checkpoints-and-cosignatures")
	log := b.denials(3)
	root := log.Root(3)
	body := func(lines ...string) string { return strings.Join(lines, "\n") + "\n" }
	good := body(testlog.Origin, "3", root.String())
	note := func(text string, lines ...string) []byte { return []byte(text + "\n" + strings.Join(lines, "")) }
	ask := func(name, policy string, n []byte, w want, why string) {
		x := plain(log, 2, 3)
		x.Proof.Checkpoint = n
		b.bundleBytes(name, x.Append(nil), policy, plainTrust, w, why)
	}
	signed := logKey().line(good, 0)
	const now = testlog.Time

	b.about("checkpoint.md#note")
	ask("signed-by-the-log", noQuorum, note(good, signed), ok(), "one line, by the log")
	ask("with-an-unknown-line", noQuorum, note(good, signed, noteKey{"somebody.example", 1, testlog.Key("somebody")}.line(good, 0)), ok(), "a line by a key that is not known is ignored and counted")
	ask("with-an-unknown-type", noQuorum, note(good, signed, "— mldsa.example "+base64.StdEncoding.EncodeToString(append([]byte{1, 2, 3, 4}, make([]byte, 80)...))+"\n"), ok(), "a line of a type that is not known is ignored and counted")
	ask("by-nobody-known", noQuorum, note(good, noteKey{"somebody.example", 1, testlog.Key("somebody")}.line(good, 0)), no("checkpoint", report.CodeCheckpointUnsigned), "no line is by a known key")
	ask("by-the-name-and-another-key", noQuorum, note(good, noteKey{testlog.Origin, 1, testlog.Key("somebody")}.line(good, 0)), no("checkpoint", report.CodeCheckpointUnsigned), "the key ID tells keys of one name apart")
	bad := no("checkpoint", report.CodeNoteMalformed)
	malformed := func(name, old, new, why string) {
		n := string(note(good, signed))
		if !strings.Contains(n, old) {
			b.t.Fatalf("%s: no %q", name, old)
		}
		ask(name, noQuorum, []byte(strings.Replace(n, old, new, 1)), bad, why)
	}
	malformed("note-without-lines", signed, "", "at least one signature line")
	malformed("note-without-an-empty-line", "\n\n", "\n", "an empty line stands before the signature lines")
	malformed("note-with-a-hyphen", "— ", "- ", "a signature line begins with an em dash")
	malformed("note-with-a-carriage-return", "\n3\n", "\r\n3\n", "no control character but newline")
	malformed("note-with-a-short-signature", signed, "— "+testlog.Origin+" AAAAAA==\n", "a key ID of four bytes and a signature")
	malformed("note-with-a-plus-in-a-name", "— "+testlog.Origin, "— example+com", "a key name has no plus")
	malformed("note-with-padding-missing", signed, strings.Replace(signed, "=\n", "\n", 1), "base64 is padded")
	ask("note-with-a-line-twice", noQuorum, note(good, signed, signed), no("checkpoint", report.CodeNoteDuplicate), "one line a name and key ID: libraries verify one of two and believe the other")
	b.about("limits.md#sizes")
	var crowd []string
	for i := range 100 {
		crowd = append(crowd, fmt.Sprintf("— w%d.example AAAAAAAA\n", i))
	}
	ask("note-with-101-lines", noQuorum, note(good, append(crowd, signed)...), no("checkpoint", report.CodeNoteTooLarge), "100 lines are the most")
	ask("note-with-100-lines", noQuorum, note(good, append(crowd[:99:99], signed)...), ok(), "100 lines are read")

	b.about("checkpoint.md#checkpoint")
	text := func(name string, code report.Code, why string, lines ...string) {
		t := body(lines...)
		ask(name, noQuorum, note(t, logKey().line(t, 0)), no("checkpoint", code), why)
	}
	text("size-with-a-leading-zero", report.CodeCheckpointMalformed, "the size is decimal without leading zeros", testlog.Origin, "03", root.String())
	text("size-negative", report.CodeCheckpointMalformed, "the size is from 0", testlog.Origin, "-3", root.String())
	text("size-beyond-63-bits", report.CodeCheckpointMalformed, "the size is at most 2^63-1", testlog.Origin, "9223372036854775808", root.String())
	text("root-of-31-bytes", report.CodeCheckpointMalformed, "the root is 32 bytes", testlog.Origin, "3", base64.StdEncoding.EncodeToString(root[:31]))
	text("root-with-spare-bits", report.CodeCheckpointMalformed, "base64 has its one spelling", testlog.Origin, "3", strings.TrimSuffix(root.String(), string(root.String()[42])+"=")+string(root.String()[42]+1)+"=")
	text("root-without-padding", report.CodeCheckpointMalformed, "base64 is padded", testlog.Origin, "3", strings.TrimSuffix(root.String(), "="))
	text("without-root", report.CodeCheckpointMalformed, "origin, size and root", testlog.Origin, "3")
	text("origin-of-256-bytes", report.CodeCheckpointMalformed, "an origin has at most 255 bytes", strings.Repeat("o", 256), "3", root.String())
	text("empty-tree-with-a-root", report.CodeCheckpointEmptyRoot, "a tree of size 0 has the root of nothing", testlog.Origin, "0", root.String())
	extended := body(testlog.Origin, "3", root.String(), "an extension")
	ask("extension-line", noQuorum, note(extended, logKey().line(extended, 0)), ok(), "extension lines are signed and mean nothing here")
	other := body("example.com/other", "3", root.String())
	ask("another-origin", noQuorum, note(other, logKey().line(other, 0)), unknown("checkpoint", report.CodeLogUnknown).
		and(unknown("signature", report.CodeLogOther), unknown("KEY-LISTED-AT", report.CodeLogOther)), "a log that the policy does not list, and that the trust file is not for")

	b.about("checkpoint.md#keys")
	sigBad := no("checkpoint", report.CodeCheckpointSignatureInvalid)
	ask("signature-over-another-tree", noQuorum, note(good, logKey().line(body(testlog.Origin, "4", root.String()), 0)), sigBad, "the log signed another size")
	ask("signature-by-the-type-of-a-witness", noQuorum, note(good, noteKey{testlog.Origin, 4, testlog.Key("log")}.line(good, now)), no("checkpoint", report.CodeCheckpointUnsigned), "the type enters the key ID: the log's key as a cosigner is another")
	b.about("checkpoint.md#cosignature")
	cosigned := witnessKey("w1").line(good, now)
	ask("cosigned", oneWitness, note(good, signed, cosigned), ok(), "cosigned by a witness of the policy")
	ask("cosigned-before-the-log", oneWitness, note(good, cosigned, signed), ok(), "lines stand in any order")
	ask("cosigned-and-not-signed", oneWitness, note(good, cosigned), no("checkpoint", report.CodeLogUnsigned), "a witness is not the log")
	ask("cosignature-over-another-time", oneWitness, note(good, signed, retimed(cosigned)), sigBad, "the time is signed")
	ask("cosignature-as-a-plain-signature", oneWitness, note(good, signed, plainLine(witnessKey("w1"), good)), sigBad, "a cosignature has a time")
	wrong := witnessKey("w2").line(body(testlog.Origin, "4", root.String()), now)
	ask("bad-line-beside-a-good-one", oneWitness, note(good, signed, cosigned, wrong), sigBad, "a bad line by a known key refuses the whole note, though the quorum is met without it")
	ask("time-beyond-63-bits", oneWitness, note(good, signed, witnessKey("w1").line(good, 1<<63)), sigBad, "a time is at most 2^63-1")
}

// retimed moves the time of a cosignature by a second.
func retimed(line string) string {
	at := strings.LastIndexByte(line, ' ') + 1
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(line[at:], "\n"))
	if err != nil {
		panic(err)
	}
	raw[11]++
	return line[:at] + base64.StdEncoding.EncodeToString(raw) + "\n"
}

// plainLine signs as a log does, under the key ID of a cosigner.
func plainLine(k noteKey, text string) string {
	sig := append(slices.Clone(k.id()), ed25519.Sign(k.key, []byte(text))...)
	return "— " + k.name + " " + base64.StdEncoding.EncodeToString(sig) + "\n"
}
