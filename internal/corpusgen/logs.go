package corpusgen

import (
	"bytes"
	"slices"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

// logs: whole small logs, sound and damaged.
func logs(b *builder) {
	b.in("whole-logs")
	b.about("report.md#checks")
	w := b.world.log
	b.site("whole-logs/examples", w, w.Size(), "w1")
	ask := b.askLog
	ask("examples", "whole-logs/examples", oneWitness, registryTrust, ok(), "every kind, verdict and disposition in one run")
	ask("examples-under-plain-keys", "whole-logs/examples", oneWitness, plainTrust, ok(), "the caller's own word about the keys")
	ask("examples-with-all-laws", "whole-logs/examples", oneWitness, registryTrust, unknown(checkOf(five), report.CodeLaw5Gap).and(unknown(checkOf(seven), report.CodeLaw7Unobservable)),
		"a gap is never held, nor is an undo that compared nothing", "laws")
	genesis := testlog.New(b.t)
	b.site("whole-logs/genesis", genesis, 1)
	ask("genesis", "whole-logs/genesis", noQuorum, registryTrust, ok(), "a log of nothing but its registry")
	big := b.faults(257)
	b.site("whole-logs/two-tiles", big, 257)
	ask("two-tiles", "whole-logs/two-tiles", noQuorum, registryTrust, ok(), "a full tile, a second one, and a tile above")
	b.site("whole-logs/tile-above", big, 257)
	b.spoil("whole-logs/tile-above/tile/1/000.p/1", 0)
	ask("tile-above", "whole-logs/tile-above", noQuorum, registryTrust, no("tiles", report.CodeTileMismatch), "the tile above does not hold the hash of the tile below")

	b.about("report.md#answers")
	ask("under-nothing", "whole-logs/genesis", "", "", unknown("checkpoint", report.CodePolicyNotGiven).and(unknown("policy", report.CodePolicyNotGiven), unknown("registry", report.CodeTrustNotGiven)), "nothing in a log is trusted")
	ask("quorum-unmet", "whole-logs/genesis", oneWitness, registryTrust, unknown("policy", report.CodeQuorumUnmet), "no witness cosigned")
	b.about("report.md#checks")
	ask("of-another-log", "whole-logs/genesis", b.put("whole-logs/other.policy", fill("log $other\nquorum none\n")), registryTrust, unknown("checkpoint", report.CodeLogUnknown), "the policy does not list it")
	ask("pinned-elsewhere", "whole-logs/genesis", noQuorum, b.trustIn("pinned-elsewhere", "genesis "+cidOf([]byte{0xa0})+"\n"), no("registry", report.CodeRegistryPin), "the genesis is not the pinned one")
	ask("trust-in-another-log", "whole-logs/genesis", noQuorum, b.put("whole-logs/other.trust", []byte("obstat trust v1\norigin example.com/other\ngenesis "+w.Genesis.String()+"\n")), unknown("registry", report.CodeLogOther), "the trust file is for another log")
	b.grown()
	b.damaged()
	b.faulty()
	b.together()
}

// askLog adds the case of a whole log; empty names are files that are not given.
func (b *builder) askLog(name, dir, policy, trust string, w want, why string, require ...string) {
	b.t.Helper()
	files := map[corpus.Part]string{corpus.Log: dir}
	for part, path := range map[corpus.Part]string{corpus.Policy: policy, corpus.Trust: trust} {
		if path != "" {
			files[part] = path
		}
	}
	b.add(name, corpus.Case{Command: corpus.AskLog, Files: files, Ask: corpus.Ask{Require: require}}, w, why)
}

// grown: a log, and an older checkpoint that somebody kept.
func (b *builder) grown() {
	log := b.denials(5)
	b.site("whole-logs/grown", log, 5)
	since := func(name string, older []byte, w want, why string) {
		b.add(name, corpus.Case{Command: corpus.AskLog, Files: map[corpus.Part]string{
			corpus.Log: "whole-logs/grown", corpus.Older: b.put(b.path(name, ".checkpoint"), older), corpus.Policy: noQuorum, corpus.Trust: registryTrust,
		}}, w, why)
	}
	since("grown", log.Checkpoint(3), ok(), "the tree at the size of the older checkpoint has its root")
	since("grown-from-another-history", log.SignHead(checkpoint.Checkpoint{Origin: testlog.Origin, Size: 3, Root: merkle.Hash{1}}), no("growth", report.CodeLogForked), "the log signed another root for that size")
	since("grown-from-a-forgery", []byte("example.com/log\n3\n"), no("growth", report.CodeNoteMalformed), "what is no checkpoint says nothing")
}

// faults is a log of size leaves of the smallest statements that there are.
func (b *builder) faults(size int) *testlog.Log {
	log := testlog.New(b.t)
	run := receipttest.NewRun(idOf("engine"), "r")
	log.Append(log.Sign(run.Add(receipttest.Open(testlog.Origin)), "engine"))
	for range size - 2 {
		log.Append(log.Sign(run.Add(receipt.Fault{Stage: receipt.StageIntake, Code: "REQUEST-MALFORMED", Posture: receipt.FailClosed{}}), "engine"))
	}
	return log
}

// spoil flips one bit of a file.
func (b *builder) spoil(path string, at int) {
	b.t.Helper()
	data, ok := b.files[path]
	if !ok || at >= len(data) {
		b.t.Fatalf("no byte %d of %s", at, path)
	}
	data = slices.Clone(data)
	data[at] ^= 1
	b.files[path] = data
}

// damaged: sites whose files are not what the log wrote.
func (b *builder) damaged() {
	b.about("log.md#site")
	log := b.denials(4)
	site := func(name string, w want, why string, damage func(dir string)) {
		dir := b.path(name, "")
		b.site(dir, log, 4)
		damage(dir)
		b.askLog(name, dir, noQuorum, registryTrust, w, why)
	}
	b.about("checkpoint.md#tiles")
	const entries, tile = "/tile/entries/000.p/4", "/tile/0/000.p/4"
	site("tile-flipped", no("entries", report.CodeTileMismatch), "one bit of a hash in a tile", func(dir string) { b.spoil(dir+tile, 70) })
	site("tile-cut", no("entries", report.CodeTileData), "a tile has 32 bytes a leaf", func(dir string) { b.files[dir+tile] = b.files[dir+tile][:100] })
	site("tile-missing", unknown("entries", report.CodeTileMissing), "a tile that the tree calls for is not there", func(dir string) { delete(b.files, dir+tile) })
	site("entries-missing", unknown("entries", report.CodeTileMissing), "an entry bundle that the tree calls for is not there", func(dir string) { delete(b.files, dir+entries) })
	site("entries-cut", no("entries", report.CodeBundleMalformed), "an entry bundle has the number of entries that its path says", func(dir string) {
		b.files[dir+entries] = b.files[dir+entries][:len(b.files[dir+entries])-1]
	})
	site("entries-with-a-byte-behind", no("entries", report.CodeBundleMalformed), "nothing stands behind the last entry", func(dir string) {
		b.files[dir+entries] = append(slices.Clone(b.files[dir+entries]), 0)
	})
	site("entry-flipped", no("entries", report.CodeTileMismatch).and(no("root", report.CodeRootMismatch), no("signatures", report.CodeSignatureInvalid)), "one bit of a signature in an entry", func(dir string) {
		at := bytes.LastIndex(b.files[dir+entries], []byte("csig")) + 8
		b.spoil(dir+entries, at)
	})
	b.about("report.md#checks")
	site("checkpoint-missing", unknown("checkpoint", report.CodeTileMissing), "there is no checkpoint", func(dir string) { delete(b.files, dir+"/checkpoint") })
	site("checkpoint-empty", unknown("checkpoint", report.CodeInputEmpty), "the checkpoint is empty", func(dir string) { b.files[dir+"/checkpoint"] = nil })
	site("checkpoint-malformed", no("checkpoint", report.CodeNoteMalformed), "the checkpoint is no note", func(dir string) { b.files[dir+"/checkpoint"] = []byte("example.com/log\n") })
	site("checkpoint-forged", no("checkpoint", report.CodeCheckpointSignatureInvalid), "one bit of the log's signature", func(dir string) {
		at := bytes.LastIndexByte(b.files[dir+"/checkpoint"], ' ') + 20
		b.spoil(dir+"/checkpoint", at)
	})
	site("another-root", no("root", report.CodeRootMismatch), "the log signed a root that its entries do not have", func(dir string) {
		b.files[dir+"/checkpoint"] = log.SignHead(checkpoint.Checkpoint{Origin: testlog.Origin, Size: 4, Root: merkle.Hash{1}})
	})
	b.put("whole-logs/empty/checkpoint", log.SignHead(checkpoint.Checkpoint{Origin: testlog.Origin, Size: 0, Root: merkle.EmptyRoot}))
	b.askLog("empty", "whole-logs/empty", noQuorum, registryTrust, unknown("registry", report.CodeLogEmpty), "a log of nothing has no registry")
}

// faulty: logs that took what they should not have taken.
func (b *builder) faulty() {
	b.about("report.md#checks")
	site := func(name, trust string, w want, why string, build func(l *testlog.Log)) {
		l := testlog.New(b.t)
		build(l)
		dir := b.path(name, "")
		b.site(dir, l, l.Size())
		b.askLog(name, dir, noQuorum, trust, w, why)
	}
	payload, open := b.example("judgment-for-refused").Payload(), b.example("run-open").Payload()
	site("leaf-that-is-none", registryTrust, no("form", report.CodeLeafForm), "a leaf that is no envelope", func(l *testlog.Log) { l.AppendLeaf([]byte{0xa0}) })
	site("leaf-of-another-type", registryTrust, no("form", report.CodePayloadType), "an envelope of a type that nobody knows", func(l *testlog.Log) {
		env, err := dsse.Sign("application/vnd.in-toto+json", []byte("{}"), testlog.Key("engine"))
		if err != nil {
			b.t.Fatal(err)
		}
		l.Append(env)
	})
	site("leaf-bound-to-another-key", registryTrust, no("form", report.CodeSignerMismatch), "the leaf names another key than the payload", func(l *testlog.Log) { l.Append(b.sign(payload, "approver")) })
	site("leaf-against-the-schema", registryTrust, no("schema", report.CodeSchemaWord), "a statement that is none", func(l *testlog.Log) {
		l.Append(b.sign(encode(b.t, put(b.t, tree(b.t, payload), "receipt.judgment.class", s("orange"))), "engine"))
	})
	site("leaf-with-a-bad-signature", registryTrust, no("signatures", report.CodeSignatureInvalid), "a signature that does not hold", func(l *testlog.Log) {
		env := b.sign(payload, "engine")
		env.Sigs[0].Sig[3] ^= 1
		l.Append(env)
	})
	site("leaf-in-the-wrong-role", registryTrust, no("keys", report.CodeKeyRole), "an approver signed a judgment", func(l *testlog.Log) { l.Append(b.sign(b.resigned("judgment-for-refused", "approver"), "approver")) })
	site("leaf-of-a-stranger", registryTrust, no("keys", report.CodeKeyNotListed), "nobody listed the key: the whole registry is known here", func(l *testlog.Log) { l.Append(b.sign(b.resigned("judgment-for-refused", "stranger"), "stranger")) })
	site("leaf-of-a-stranger-under-plain-keys", plainTrust, unknown("keys", report.CodeKeyUnknown), "the caller does not vouch for the key", func(l *testlog.Log) { l.Append(b.sign(b.resigned("judgment-for-refused", "stranger"), "stranger")) })
	site("leaf-of-a-later-version", registryTrust, unknown("schema", report.CodeVersionUnknown), "a receipt of a later version", func(l *testlog.Log) {
		env, err := dsse.Sign(nextType, open, testlog.Key("engine"))
		if err != nil {
			b.t.Fatal(err)
		}
		l.Append(env)
	})
	b.about("log.md#site")
	site("statement-twice", registryTrust, no("once", report.CodeStatementTwice), "one statement in two leaves", func(l *testlog.Log) {
		l.Append(b.sign(open, "engine"))
		l.Append(b.sign(open, "engine"))
	})
	l := testlog.Bare(b.t)
	l.Append(b.sign(payload, "engine"))
	b.site("whole-logs/no-genesis", l, 1)
	b.askLog("no-genesis", "whole-logs/no-genesis", noQuorum, registryTrust, no("registry", report.CodeRegistryPlace), "leaf 0 is the genesis")
	b.askLog("registry-under-plain-keys", "whole-logs/genesis", noQuorum, plainTrust, unknown("registry", report.CodeTrustNotGiven), "no trust file pins a genesis", "registry")
}

// together: several runs, engines and keys in one log.
func (b *builder) together() {
	b.about("laws.md")
	l := testlog.New(b.t)
	first, second := receipttest.NewRun(idOf("engine"), "first"), receipttest.NewRun(idOf("engine"), "second")
	add := func(d *receipt.Decoded, label string) *receipt.Decoded {
		l.Append(l.Sign(d, label))
		return d
	}
	for _, r := range []*receipttest.Run{first, second} {
		add(r.Add(receipttest.Open(testlog.Origin)), "engine")
	}
	a := add(first.Add(receipttest.Judgment("a", receipttest.Admit("rule"))), "engine")
	x := add(second.Add(receipttest.Judgment("b", receipttest.Escalate("RULE-ASKS"))), "engine")
	d := add(receipttest.Decide(idOf("approver"), x, receipt.Approve), "approver")
	add(first.Settle(a, receipttest.Commit(a)), "engine")
	c := receipttest.Commit(x)
	c.Approval = d.CID
	add(second.Settle(x, c), "engine")
	for _, r := range []*receipttest.Run{second, first} {
		add(r.Close(), "engine")
	}
	b.site("whole-logs/two-runs", l, l.Size())
	b.askLog("two-runs", "whole-logs/two-runs", noQuorum, registryTrust, ok(), "two runs whose statements mingle: all laws held", "laws")

	r := b.newRegistry()
	run := receipttest.NewRun(idOf("engine"), "run-1")
	r.log.Append(r.log.Sign(run.Add(receipttest.Open(testlog.Origin)), "engine"))
	r.next(change{add: []listedKey{{key: public("engine-2"), name: "engine", role: "engine"}}, retire: [][]byte{public("engine")}})
	run.By = idOf("engine-2")
	r.log.Append(r.log.Sign(run.Add(receipttest.Judgment("a", receipttest.Deny("NO-RULE"))), "engine-2"))
	r.log.Append(r.log.Sign(run.Close(), "engine-2"))
	b.site("whole-logs/key-changed-in-a-run", r.log, r.log.Size())
	b.askLog("key-changed-in-a-run", "whole-logs/key-changed-in-a-run", noQuorum, registryTrust, ok(), "a key may change inside a run, the principal may not", "laws")

	violated := b.newLawWorld()
	violated.open()
	violated.commit(violated.deny("x"))
	violated.close()
	v := testlog.New(b.t)
	violated.fill(v)
	b.site("whole-logs/genuine-and-unlawful", v, v.Size())
	b.askLog("genuine-and-unlawful", "whole-logs/genuine-and-unlawful", noQuorum, registryTrust, broken(two, report.CodeLaw2Denied), "a violated law counts without being asked for")
	open := testlog.New(b.t)
	ran := b.newLawWorld()
	ran.open()
	ran.admit("x")
	ran.fill(open)
	b.site("whole-logs/open-run", open, open.Size())
	b.askLog("open-run", "whole-logs/open-run", noQuorum, registryTrust, ok(), "a log that is still written has open runs: laws that are not held count where they are required")
	b.askLog("open-run-required", "whole-logs/open-run", noQuorum, registryTrust, unknown(checkOf(six), report.CodeLaw6Hanging), "required, and not held yet", checkOf(six))
}
