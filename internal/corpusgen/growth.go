package corpusgen

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// consistency: whether a tree grew from another, and evidence that it did not.
func consistency(b *builder) {
	b.in("consistency")
	log := b.denials(9)
	c := growthCases{b, log}
	b.about("checkpoint.md#growth")
	for _, x := range []struct {
		name     string
		from, to uint64
		why      string
	}{
		{"three-to-seven", 3, 7, "from an odd tree to an odd one"}, {"four-to-eight", 4, 8, "from a full tree to a full one"},
		{"one-to-nine", 1, 9, "from the genesis on"}, {"six-to-eight", 6, 8, "to a full tree"}, {"eight-to-nine", 8, 9, "by one leaf"},
	} {
		c.growth(x.name, x.from, c.body(x.from, x.to), ok(), x.why)
	}
	good := c.body(3, 7)
	bad := func(name string, w want, why string, spoil func(x *checkpoint.AddCheckpoint)) {
		x := c.add(3, 7)
		spoil(&x)
		c.growth(name, 3, x.Bytes(), w, why)
	}
	invalid := no("consistency", report.CodeProofInvalid)
	bad("bit-of-a-hash", invalid, "one bit of one hash", func(x *checkpoint.AddCheckpoint) { x.Proof[1][4] ^= 1 })
	bad("hashes-exchanged", invalid, "two hashes exchanged", func(x *checkpoint.AddCheckpoint) { x.Proof[0], x.Proof[1] = x.Proof[1], x.Proof[0] })
	bad("hash-missing", no("consistency", report.CodeProofLength), "the two sizes call for a number of hashes", func(x *checkpoint.AddCheckpoint) { x.Proof = x.Proof[1:] })
	bad("hash-too-many", no("consistency", report.CodeProofLength), "the two sizes call for a number of hashes", func(x *checkpoint.AddCheckpoint) { x.Proof = append(x.Proof, merkle.Hash{}) })
	bad("proof-from-another-size", unknown("consistency", report.CodeProofNotGiven), "a proof from another size is none from this one", func(x *checkpoint.AddCheckpoint) { *x = c.add(4, 7) })
	edit := func(name, old, new, why string) {
		if !strings.Contains(string(good), old) {
			b.t.Fatalf("%s: no %q", name, old)
		}
		c.growth(name, 3, []byte(strings.Replace(string(good), old, new, 1)), no("newer", report.CodeAddCheckpointMalformed), why)
	}
	edit("old-with-a-zero", "old 3", "old 03", "decimal without leading zeros")
	edit("old-missing-a-line", "\n\n", "\n", "an empty line ends the hashes")
	edit("hash-not-padded", "=\n", "\n", "hashes in padded base64")
	pair := func(name string, older, newer []byte, policy string, w want, why string) {
		b.add(name, corpus.Case{Command: corpus.AskConsistency, Files: map[corpus.Part]string{
			corpus.Older: b.put(b.path(name, ".older"), older), corpus.Newer: b.put(b.path(name, ".newer"), newer), corpus.Policy: policy,
		}}, w, why)
	}
	b.about("report.md#checks")
	pair("same-tree", log.Checkpoint(5), log.Checkpoint(5), noQuorum, ok(), "the same tree twice needs no proof")
	pair("given-in-the-other-order", c.body(3, 7), log.Checkpoint(3), noQuorum, ok(), "the smaller tree is the older one, whichever is given first")
	pair("without-a-proof", log.Checkpoint(3), log.Checkpoint(7), noQuorum, unknown("consistency", report.CodeProofNotGiven), "two checkpoints alone prove no growth")
	pair("newer-not-witnessed", log.Checkpoint(3), c.body(3, 7), oneWitness, unknown("policy", report.CodeQuorumUnmet), "the quorum is asked of the newer")
	empty := log.SignHead(checkpoint.Checkpoint{Origin: testlog.Origin, Root: merkle.EmptyRoot})
	b.about("log.md#tree")
	pair("from-the-empty-tree", empty, log.Checkpoint(7), noQuorum, ok(), "every tree extends the empty one, and no proof says so")
	other := func(size uint64) []byte {
		return log.SignHead(checkpoint.Checkpoint{Origin: testlog.Origin, Size: size, Root: merkle.Hash{1}})
	}
	pair("two-roots-of-one-size", log.Checkpoint(5), other(5), noQuorum, no("consistency", report.CodeLogForked), "two roots of one size, both signed, are a fork")
	pair("older-of-another-history", other(3), c.body(3, 7), noQuorum, invalid, "the proof does not begin at what the older says: that proves nothing against the log yet")
	b.about("checkpoint.md#checkpoint")
	body := "example.com/other\n3\n" + log.Root(3).String() + "\n"
	pair("two-logs", []byte(body+"\n"+noteKey{"other.example/log", 1, testlog.Key("other")}.line(body, 0)), c.body(3, 7), noQuorum, unknown("older", report.CodeLogUnknown), "another log than the policy lists")
	forged := []byte(strings.Replace(string(log.Checkpoint(3)), "\n3\n", "\n4\n", 1))
	pair("older-forged", forged, c.body(3, 7), noQuorum, no("older", report.CodeCheckpointSignatureInvalid), "the older is not what the log signed")
	site := b.site("consistency/site", log, 7)
	tiles := func(name string, older []byte, w want, why string) {
		b.add(name, corpus.Case{Command: corpus.AskConsistency, Files: map[corpus.Part]string{corpus.Older: b.put(b.path(name, ".older"), older), corpus.Log: site, corpus.Policy: noQuorum}}, w, why)
	}
	b.about("log.md#site")
	tiles("by-tiles", log.Checkpoint(3), ok(), "the proof is made from the tiles of the newer")
	tiles("by-tiles-of-another-history", other(3), no("consistency", report.CodeLogForked), "the tiles of a signed checkpoint have another root at the size of another signed one")
	c.forks(other)
}

type growthCases struct {
	b   *builder
	log *testlog.Log
}

func (c growthCases) add(from, to uint64) checkpoint.AddCheckpoint {
	return checkpoint.AddCheckpoint{Old: from, Proof: c.log.Growth(from, to), Checkpoint: c.log.Checkpoint(to)}
}

func (c growthCases) body(from, to uint64) []byte {
	x := c.add(from, to)
	return x.Bytes()
}

func (c growthCases) growth(name string, from uint64, newer []byte, w want, why string) {
	c.b.add(name, corpus.Case{Command: corpus.AskConsistency, Files: map[corpus.Part]string{
		corpus.Older: c.b.put(c.b.path(fmt.Sprintf("size-%d", from), ".checkpoint"), c.log.Checkpoint(from)),
		corpus.Newer: c.b.put(c.b.path(name, ".growth"), newer), corpus.Policy: noQuorum,
	}}, w, why)
}

// forks: evidence, whose fork is verified where it proves one.
func (c growthCases) forks(other func(uint64) []byte) {
	b := c.b
	b.about("bundle.md#fork")
	quoted := func(note []byte) string {
		return `"` + strings.ReplaceAll(string(note), "\n", `\n`) + `"`
	}
	evidence := func(first, second []byte, more string) string {
		return `{"mediaType":"application/vnd.obstat.fork.v1+json","checkpoints":[` + quoted(first) + "," + quoted(second) + "]" + more + "}"
	}
	fork := func(name, doc string, policy string, w want, why string) {
		files := map[corpus.Part]string{corpus.Artifact: b.put(b.path(name, ".fork.json"), []byte(doc))}
		if policy != "" {
			files[corpus.Policy] = policy
		}
		b.add(name, corpus.Case{Command: corpus.AskFork, Files: files}, w, why)
	}
	grown := func(from, to uint64) string {
		root := c.log.Root(from)
		var hashes []string
		for _, h := range c.log.Growth(from, to) {
			hashes = append(hashes, `"`+h.String()+`"`)
		}
		return `,"root":"` + base64.StdEncoding.EncodeToString(root[:]) + `","proof":[` + strings.Join(hashes, ",") + "]"
	}
	not := no("fork", report.CodeNotForked)
	fork("fork-of-one-size", evidence(c.log.Checkpoint(5), other(5), ""), noQuorum, ok(), "one size, two roots, both signed")
	fork("fork-of-two-sizes", evidence(other(3), c.log.Checkpoint(7), grown(3, 7)), noQuorum, ok(), "the larger tree has another root at the size of the smaller")
	fork("fork-under-nothing", evidence(c.log.Checkpoint(5), other(5), ""), "", unknown("first", report.CodePolicyNotGiven).and(unknown("second", report.CodePolicyNotGiven)), "whose logs these are is not known")
	fork("fork-of-one-tree-twice", evidence(c.log.Checkpoint(5), c.log.Checkpoint(5), ""), noQuorum, not, "the same tree twice proves nothing")
	fork("fork-of-a-growing-tree", evidence(c.log.Checkpoint(3), c.log.Checkpoint(7), grown(3, 7)), noQuorum, not, "a tree and one that extends it prove nothing")
	fork("fork-with-a-root-not-padded", evidence(other(3), c.log.Checkpoint(7), strings.Replace(grown(3, 7), `="`, `"`, 1)), noQuorum, no("first", report.CodeProofBundleValue), "hashes are 32 bytes in padded base64")
	fork("fork-by-a-proof-of-another", evidence(other(3), c.log.Checkpoint(7), grown(4, 7)), noQuorum, no("fork", report.CodeProofLength), "a proof from another size")
	forged := []byte(strings.Replace(string(c.log.Checkpoint(4)), "\n4\n", "\n5\n", 1))
	fork("fork-by-a-forgery", evidence(c.log.Checkpoint(5), forged, ""), noQuorum, no("second", report.CodeCheckpointSignatureInvalid), "what the log did not sign proves nothing against it")
	fork("fork-the-larger-first", evidence(c.log.Checkpoint(7), other(3), grown(3, 7)), noQuorum, no("first", report.CodeProofBundleValue), "the smaller tree stands first")
	fork("fork-without-a-proof", evidence(other(3), c.log.Checkpoint(7), ""), noQuorum, no("first", report.CodeProofBundleMissing), "root and proof stand where the sizes differ")
	fork("fork-with-a-needless-proof", evidence(c.log.Checkpoint(5), other(5), grown(3, 7)), noQuorum, no("first", report.CodeProofBundleUnknown), "root and proof stand only where the sizes differ")
}
