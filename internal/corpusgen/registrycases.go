package corpusgen

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/report"
)

// registryCases: keys that live in the log, the rules of their statements, and
// what is disowned.
func registryCases(b *builder) {
	b.in("registry-and-disowning")
	b.ruleCases()
	b.schemaOfRegistry()
	b.genesisCases()
	b.chainCases()
	b.listing()
	b.logOfRegistry()
	b.freezes()
	b.successors()
	b.successions()
}

// ruleBroken appends one bad statement behind a receipt and asks for that receipt.
func (b *builder) ruleBroken(name string, code report.Code, why string, prepare func(r *registry), c change) {
	b.t.Helper()
	r := b.newRegistry()
	at := r.receipt("judgment-for-refused", "engine")
	if prepare != nil {
		prepare(r)
	}
	r.next(c)
	w := ok()
	if code != report.CodeOK {
		w = no("KEY-LISTED-AT", code)
	}
	b.bundle(name, r.bundleOf(at, r.log.Size()), noQuorum, w, why)
}

func (b *builder) ruleCases() {
	b.about("trust.md#registry-rules")
	good := func(name, why string, prepare func(r *registry), c change) {
		b.ruleBroken(name, report.CodeOK, why, prepare, c)
	}
	bad := func(name string, code report.Code, why string, prepare func(r *registry), c change) {
		b.ruleBroken("not-"+name, code, why, prepare, c)
	}
	second := func(r *registry) { r.next(change{add: []listedKey{key("engine-2", "engine")}}) }
	good("add", "a key is added", nil, change{add: []listedKey{key("engine-2", "engine")}})
	good("retire", "a key is retired behind the receipt", nil, change{retire: [][]byte{public("engine")}})
	good("threshold-down", "the threshold goes down, signed by both", nil, change{threshold: 1})
	good("new-registrar-signs", "a registrar that the statement adds counts after it", nil, change{threshold: 3, add: []listedKey{key("registrar-3", "registrar")}, signers: []string{"registrar-1", "registrar-2", "registrar-3"}})
	good("two-keys-of-a-principal", "a principal has a second key, in the same role", nil, change{add: []listedKey{{key: public("engine-2"), name: "engine", role: "engine"}}})
	good("revoked-again-from-earlier", "a revocation may be lowered", func(r *registry) {
		second(r)
		r.next(change{revoke: []revocation{{public("engine-2"), 3}}})
	}, change{revoke: []revocation{{public("engine-2"), 2}}})

	bad("log", report.CodeRegistryLog, "a statement for another log", nil, change{origin: "example.com/other", add: []listedKey{key("engine-2", "engine")}})
	bad("prev", report.CodeRegistryPrev, "it names another statement than the one before", nil, change{prev: linkTo([]byte{0xa0}), add: []listedKey{key("engine-2", "engine")}})
	bad("version", report.CodeRegistryVersion, "versions leave none out", nil, change{version: 2, add: []listedKey{key("engine-2", "engine")}})
	bad("key-of-small-order", report.CodeRegistryKeyWeak, "under a key of small order one signature holds for many messages", nil, change{add: []listedKey{{key: smallOrder(), name: "weak", role: "engine"}}})
	bad("key-not-canonical", report.CodeRegistryKeyWeak, "one key has one encoding", nil, change{add: []listedKey{{key: unclean(), name: "weak", role: "engine"}}})
	bad("key-of-the-log", report.CodeRegistryKeyForeign, "the log's own key signs no receipts", nil, change{add: []listedKey{key("log", "engine")}})
	bad("key-again", report.CodeRegistryKeyReused, "a key is listed once", nil, change{add: []listedKey{{key: public("engine"), name: "engine-2", role: "engine"}}})
	bad("key-again-after-it-was-retired", report.CodeRegistryKeyReused, "a key never comes back", func(r *registry) {
		second(r)
		r.next(change{retire: [][]byte{public("engine-2")}})
	}, change{add: []listedKey{key("engine-2", "engine")}})
	bad("engine-and-approver", report.CodeRegistryRole, "no principal is both", nil, change{add: []listedKey{{key: public("engine-2"), name: "engine", role: "approver"}}})
	bad("retire-of-a-stranger", report.CodeRegistryStatus, "only a listed key is retired", nil, change{retire: [][]byte{public("stranger")}})
	bad("retire-twice", report.CodeRegistryStatus, "a status only moves forward", func(r *registry) {
		second(r)
		r.next(change{retire: [][]byte{public("engine-2")}})
	}, change{retire: [][]byte{public("engine-2")}})
	bad("retire-of-a-revoked", report.CodeRegistryStatus, "a status only moves forward", func(r *registry) {
		second(r)
		r.next(change{revoke: []revocation{{public("engine-2"), -1}}})
	}, change{retire: [][]byte{public("engine-2")}})
	bad("revoke-of-a-stranger", report.CodeRegistryStatus, "only a listed key is revoked", nil, change{revoke: []revocation{{public("stranger"), -1}}})
	bad("revoke-again-from-later", report.CodeRegistryStatus, "a revocation is only ever lowered", func(r *registry) {
		second(r)
		r.next(change{revoke: []revocation{{public("engine-2"), 2}}})
	}, change{revoke: []revocation{{public("engine-2"), 3}}})
	bad("revoke-and-retire-at-once", report.CodeRegistryStatus, "one statement does one of the two", nil, change{retire: [][]byte{public("engine")}, revoke: []revocation{{public("engine"), -1}}})
	bad("registrar-revoked-from-earlier", report.CodeRegistryStatus, "registrars are never revoked retroactively", func(r *registry) {
		r.next(change{add: []listedKey{key("registrar-3", "registrar")}})
	}, change{revoke: []revocation{{public("registrar-3"), 1}}})
	bad("add-and-retire-at-once", report.CodeRegistryStatus, "what a statement adds it does not retire", nil, change{add: []listedKey{key("engine-2", "engine")}, retire: [][]byte{public("engine-2")}})
	bad("threshold-above-registrars", report.CodeRegistryThreshold, "the threshold is within the registrars that can sign", nil, change{threshold: 3})
	bad("registrar-too-few", report.CodeRegistryThreshold, "who retires a registrar lowers the threshold", nil, change{retire: [][]byte{public("registrar-2")}})
	bad("threshold-zero", report.CodeRegistryThreshold, "somebody has to sign", nil, change{edit: func(x m) m { return put(b.t, x, "threshold", n(0)).(m) }})
	bad("state", report.CodeRegistryState, "the state digest is that of the folded registry", nil, change{edit: func(x m) m { return put(b.t, x, "state", bytesOf(32)).(m) }})
	bad("quorum-before", report.CodeRegistryQuorum, "one of two registrars signed", nil, change{add: []listedKey{key("engine-2", "engine")}, signers: []string{"registrar-1"}})
	bad("quorum-after", report.CodeRegistryQuorum, "the threshold after the statement counts too", nil, change{threshold: 3, add: []listedKey{key("registrar-3", "registrar")}})
	bad("signed-by-an-engine-too", report.CodeSignatureNoKey, "every signature is by a registrar before or after", nil, change{add: []listedKey{key("engine-2", "engine")}, signers: []string{"registrar-1", "registrar-2", "engine"}})
}

func (b *builder) schemaOfRegistry() {
	b.about("trust.md#registry-statement")
	for _, c := range []struct {
		name, path string
		put        dagcbor.Value
		why        string
	}{
		{"without-log", "log", nil, "log is required"},
		{"without-state", "state", nil, "state is required"},
		{"without-threshold", "threshold", nil, "threshold is required"},
		{"without-prev", "prev", nil, "prev stands from version 1"},
		{"unknown-field", "note", s("x"), "no other field"},
		{"threshold-of-14", "threshold", n(14), "13 signatures fit a leaf"},
		{"log-that-is-no-name", "log", s("example com"), "log is a name"},
		{"add-empty", "add", l{}, "a set is not empty"},
		{"role-that-is-none", "add", l{m{{Key: "key", Value: dagcbor.Bytes(public("engine-2"))}, {Key: "name", Value: s("x")}, {Key: "role", Value: s("auditor")}}}, "engine, approver or registrar"},
		{"key-of-31-bytes", "retire", l{bytesOf(31)}, "keys are 32 bytes"},
		{"retire-out-of-order", "retire", l{dagcbor.Bytes(public("stranger")), dagcbor.Bytes(public("stranger"))}, "sets ascend strictly"},
		{"from-negative", "revoke", l{m{{Key: "key", Value: dagcbor.Bytes(public("engine"))}, {Key: "from", Value: n(-1)}}}, "from is an index"},
		{"version-as-text", "version", s("1"), "version is an integer"},
	} {
		b.ruleBroken("schema-"+c.name, report.CodeRegistrySchema, c.why, nil, change{edit: func(x m) m { return put(b.t, x, c.path, c.put).(m) }})
	}
	r := b.newRegistry()
	at := r.receipt("judgment-for-refused", "engine")
	r.append([]byte{0xa1, 0x63, 'l', 'o', 'g', 0xf6}, "registrar-1", "registrar-2")
	b.bundle("statement-not-canonical", r.bundleOf(at, r.log.Size()), noQuorum, no("KEY-LISTED-AT", report.CodeCBORNull), "a registry statement is canonical DAG-CBOR")
}

// trustIn keeps a trust file of its own in registry mode.
func (b *builder) trustIn(name, lines string) string {
	return b.put(b.path(name, ".trust"), []byte("obstat trust v1\norigin "+testlog.Origin+"\n"+lines))
}

func (b *builder) genesisCases() {
	b.about("trust.md#registry-rules")
	r := b.newRegistry()
	at := r.receipt("judgment-for-refused", "engine")
	size := r.log.Size()
	under := func(name, trust string, x *bundle.Bundle, w want, why string) {
		b.bundleBytes(name, x.Append(nil), noQuorum, trust, w, why)
	}
	under("genesis-that-is-not-pinned", b.trustIn("another-pin", "genesis "+cidOf([]byte{0xa0})+"\n"), r.bundleOf(at, size), no("KEY-LISTED-AT", report.CodeRegistryPin), "the genesis is the pinned statement")

	elsewhere := &registry{b: b, log: testlog.Bare(b.t), origin: testlog.Origin, threshold: 2, version: -1}
	first := elsewhere.receipt("judgment-for-refused", "engine")
	elsewhere.next(change{add: []listedKey{key("registrar-1", "registrar"), key("registrar-2", "registrar"), key("engine", "engine"), key("approver", "approver")}})
	under("genesis-at-leaf-1", registryTrust, elsewhere.bundleOf(first, 2), no("KEY-LISTED-AT", report.CodeRegistryPlace), "version 0 stands at leaf 0")

	genesis := func(name string, c change, code report.Code, why string) {
		g := &registry{b: b, log: testlog.Bare(b.t), origin: testlog.Origin, threshold: 2, version: -1}
		if c.add == nil {
			c.add = []listedKey{key("registrar-1", "registrar"), key("registrar-2", "registrar"), key("engine", "engine")}
		}
		g.next(c)
		trust := b.trustIn(name, "genesis "+cidOf(g.last)+"\n")
		under(name, trust, g.bundleOf(g.receipt("judgment-for-refused", "engine"), 2), no("KEY-LISTED-AT", code), why)
	}
	genesis("genesis-of-another-log", change{origin: "example.com/other"}, report.CodeRegistryLog, "the pinned statement is for the log of the trust file")
	genesis("genesis-by-one-of-two", change{signers: []string{"registrar-1"}}, report.CodeRegistryQuorum, "version 0 is signed by its own threshold")
	genesis("genesis-of-version-1", change{version: 1, prev: linkTo([]byte{0xa0})}, report.CodeRegistryVersion, "the pinned statement is version 0")
	genesis("genesis-with-a-weak-key", change{add: []listedKey{key("registrar-1", "registrar"), key("registrar-2", "registrar"), {key: smallOrder(), name: "x", role: "engine"}}}, report.CodeRegistryKeyWeak, "keys are sound from the first")
	genesis("genesis-without-registrars", change{add: []listedKey{key("engine", "engine")}, signers: []string{"engine"}}, report.CodeSignatureNoKey, "version 0 lists who signs it")
	witness := &registry{b: b, log: testlog.Bare(b.t), origin: testlog.Origin, threshold: 2, version: -1}
	witness.next(change{add: []listedKey{key("registrar-1", "registrar"), key("registrar-2", "registrar"), key("engine", "engine"), key("w1", "approver")}})
	x := witness.bundleOf(witness.receipt("judgment-for-refused", "engine"), 2)
	x.Proof.Checkpoint = witness.log.Checkpoint(2, "w1")
	b.bundleBytes("genesis-with-a-witness", x.Append(nil), oneWitness, b.trustIn("witness", "genesis "+cidOf(witness.last)+"\n"), no("KEY-LISTED-AT", report.CodeRegistryKeyForeign), "no key of a witness of the caller's policy is listed")
}

// chainCases: what a chain in a bundle can be.
func (b *builder) chainCases() {
	b.about("bundle.md#chain")
	r := b.newRegistry()
	at := r.receipt("judgment-for-refused", "engine")
	r.next(change{add: []listedKey{key("engine-2", "engine")}})
	size := r.log.Size()
	edit := func(name string, code report.Code, why string, spoil func(x *bundle.Bundle)) {
		x := r.bundleOf(at, size)
		spoil(x)
		b.bundle(name, x, noQuorum, no("KEY-LISTED-AT", code), why)
	}
	b.bundle("chain", r.bundleOf(at, size), noQuorum, ok(), "genesis and the version behind it, proven in this tree")
	edit("chain-proof-of-another-leaf", report.CodeProofInvalid, "one bit of a proof", func(x *bundle.Bundle) { x.Registry[0].Proof[0][0] ^= 1 })
	edit("chain-another-index", report.CodeProofInvalid, "the genesis at another index", func(x *bundle.Bundle) { x.Registry[0].Index = 1 })
	edit("chain-without-genesis", report.CodeRegistryPin, "a chain begins with the genesis", func(x *bundle.Bundle) { x.Registry = x.Registry[1:] })
	edit("chain-genesis-twice", report.CodeRegistryPrev, "each statement follows the one before", func(x *bundle.Bundle) { x.Registry[1] = x.Registry[0] })
	edit("chain-with-a-receipt", report.CodeRegistryType, "every leaf of a chain is a registry statement", func(x *bundle.Bundle) { x.Registry[1].Envelope = x.Envelope })
	edit("chain-with-a-signature-twice", report.CodeDSSESigDuplicate, "one signature a key", func(x *bundle.Bundle) {
		doc := string(x.Registry[1].Envelope)
		sig := doc[strings.Index(doc, `{"keyid"`):]
		sig = sig[:strings.IndexByte(sig, '}')+1]
		x.Registry[1].Envelope = []byte(strings.Replace(doc, `"signatures":[`, `"signatures":[`+sig+`,`, 1))
	})
	env, err := dsse.Sign(dsse.RegistryType, payloadOf(b, r.chain[0].Envelope), testlog.Key("registrar-1"))
	if err != nil {
		b.t.Fatal(err)
	}
	edit("chain-less-signed", report.CodeProofInvalid, "the pinned statement with fewer signatures is another leaf", func(x *bundle.Bundle) { x.Registry[0].Envelope = env.JSON() })

	// Two versions in the wrong places.
	swapped := b.newRegistry()
	at2 := swapped.receipt("judgment-for-refused", "engine")
	one := swapped.payload(change{add: []listedKey{key("engine-2", "engine")}})
	two := swapped.payload(change{add: []listedKey{key("engine-3", "engine")}})
	swapped.append(two, "registrar-1", "registrar-2")
	swapped.append(one, "registrar-1", "registrar-2")
	x := swapped.bundleOf(at2, swapped.log.Size())
	x.Registry[1], x.Registry[2] = x.Registry[2], x.Registry[1]
	b.about("trust.md#registry-rules")
	b.bundle("versions-in-the-wrong-places", x, noQuorum, no("KEY-LISTED-AT", report.CodeRegistryPlace), "every later version stands behind the one before")

	b.about("report.md#checks")
	bare := r.bundleOf(at, size)
	bare.Registry = nil
	b.bundle("no-chain", bare, noQuorum, unknown("signature", report.CodeRegistryNotGiven).and(unknown("KEY-LISTED-AT", report.CodeRegistryNotGiven)), "nobody says which keys there are")
	file := func(name string, x *bundle.Bundle, chain []byte, ext string, w want, why string, ask ...string) {
		b.add(name, corpus.Case{Command: corpus.AskBundle, Files: map[corpus.Part]string{
			corpus.Artifact: b.put(b.path(name, ".receipt.json"), x.Append(nil)), corpus.Registry: b.put(b.path(name, ext), chain), corpus.Policy: noQuorum, corpus.Trust: registryTrust,
		}, Ask: corpus.Ask{Require: ask}}, w, why)
	}
	chain := (&bundle.Chain{Leaves: r.proven(size), Checkpoint: r.log.Checkpoint(size)}).Append(nil)
	b.about("bundle.md#chain")
	file("chain-of-the-caller", bare, chain, ".chain.json", ok(), "the caller's chain serves where the bundle has none")
	file("bundle-as-chain-of-the-caller", bare, r.bundleOf(at, size).Append(nil), ".with.json", ok(), "so does a bundle that carries one")
	file("chain-of-the-next-version", bare, []byte(strings.Replace(string(chain), "registry-chain.v1", "registry-chain.v2", 1)), ".chain.json",
		unknown("registry file", report.CodeVersionUnknown).and(unknown("signature", report.CodeRegistryNotGiven), unknown("KEY-LISTED-AT", report.CodeRegistryNotGiven)), "a chain of a later version is not checked")
	diverged := b.newRegistry()
	diverged.receipt("judgment-for-refused", "engine")
	diverged.next(change{add: []listedKey{key("engine-3", "engine")}})
	diverged.receipt("judgment-for-withheld", "engine") // at one size it would be a fork
	file("chains-that-diverge", r.bundleOf(at, size), (&bundle.Chain{Leaves: diverged.proven(4), Checkpoint: diverged.log.Checkpoint(4)}).Append(nil), ".chain.json",
		no("KEY-LISTED-AT", report.CodeRegistryDiverged), "two chains that the log signed begin alike")
	file("two-roots-of-one-size", r.bundleOf(at, size), (&bundle.Chain{Leaves: diverged.proven(3), Checkpoint: diverged.log.Checkpoint(3)}).Append(nil), ".chain.json",
		no("checkpoint", report.CodeLogForked).and(no("KEY-LISTED-AT", report.CodeLogForked)), "two roots of one size that the log signed are a fork")
}

func payloadOf(b *builder, envelope []byte) []byte {
	loose, err := dsse.ParseJSON(envelope)
	if err != nil {
		b.t.Fatal(err)
	}
	return loose.Payload
}

// listing: who is listed at a leaf, and what is disowned.
func (b *builder) listing() {
	b.about("trust.md#registry")
	r := b.newRegistry()
	early := r.receipt("judgment-for-refused", "engine-2") // before it is listed
	r.next(change{add: []listedKey{key("engine-2", "engine")}})
	listed := r.receipt("judgment-for-withheld", "engine-2")
	r.next(change{retire: [][]byte{public("engine-2")}})
	late := r.receipt("judgment-for-cancelled", "engine-2")
	before := r.receipt("judgment-for-refused", "engine")
	short := r.log.Size()
	r.next(change{revoke: []revocation{{public("engine"), int(before)}}})
	after := r.receipt("judgment-for-withheld", "engine")
	size := r.log.Size()
	absent := no("KEY-LISTED-AT", report.CodeKeyNotListed)
	disowned := no("KEY-NOT-DISOWNED", report.CodeKeyDisowned)
	b.bundle("listed", r.bundleOf(listed, size), noQuorum, ok(), "added before the leaf and retired behind it")
	b.bundle("before-it-was-added", r.bundleOf(early, size), noQuorum, absent, "the key was added behind the leaf")
	b.bundle("after-it-was-retired", r.bundleOf(late, size), noQuorum, absent, "the key was retired before the leaf")
	b.bundle("disowned", r.bundleOf(before, size), noQuorum, disowned, "listed at the leaf and disowned from it on: that always counts")
	b.bundle("after-it-was-revoked", r.bundleOf(after, size), noQuorum, absent.and(disowned), "revoked before the leaf, and disowned")
	b.bundle("disowned-later", r.bundleOf(before, short), noQuorum, ok(), "a bundle says nothing of registry leaves behind its chain")
	b.add("disowned-by-a-later-chain", corpus.Case{Command: corpus.AskBundle, Files: map[corpus.Part]string{
		corpus.Artifact: b.put("registry-and-disowning/disowned-later.receipt.json", r.bundleOf(before, short).Append(nil)),
		corpus.Registry: b.put(b.path("later", ".chain.json"), (&bundle.Chain{Leaves: r.proven(size), Checkpoint: r.log.Checkpoint(size)}).Append(nil)),
		corpus.Policy:   noQuorum, corpus.Trust: registryTrust,
	}}, disowned, "the caller's later chain says it")
	stranger := b.newRegistry()
	at := stranger.receipt("judgment-for-refused", "stranger")
	b.bundle("stranger", stranger.bundleOf(at, 2), noQuorum, unknown("signature", report.CodeKeyUnknown).and(unknown("KEY-LISTED-AT", report.CodeKeyUnknown)), "absent from a chain that is not known complete")

	b.about("report.md#checks")
	head := cidOf(r.last)
	under := func(name, lines string, x *bundle.Bundle, w want, why string, require ...string) {
		b.add(name, corpus.Case{Command: corpus.AskBundle, Files: map[corpus.Part]string{
			corpus.Artifact: b.put(b.path(name, ".receipt.json"), x.Append(nil)), corpus.Policy: noQuorum,
			corpus.Trust: b.put(b.path(name, ".trust"), []byte("obstat trust v1\norigin "+testlog.Origin+"\ngenesis "+b.world.log.Genesis.String()+"\n"+lines)),
		}, Ask: corpus.Ask{Require: require}}, w, why)
	}
	open := unknown("REGISTRY-COMPLETE", report.CodeRegistryOpen)
	openFor := open.and(unknown("KEY-NOT-DISOWNED", report.CodeRegistryOpen))
	under("complete", fmt.Sprintf("as-of %d %s\n", size, head), r.bundleOf(listed, size), ok(), "below an as-of line everything about the key is known")
	under("complete-is-not-said", "", r.bundleOf(listed, size), open, "nothing shows that no later registry leaf exists", "REGISTRY-COMPLETE")
	stripped := r.bundleOf(listed, size)
	stripped.Registry = stripped.Registry[:2]
	under("complete-and-stripped", fmt.Sprintf("as-of %d %s\n", size, head), stripped, openFor, "a stripped chain does not pass for a complete one")
	under("complete-below-the-leaf", fmt.Sprintf("as-of %d %s\n", listed, cidOf(payloadOf(b, r.chain[1].Envelope))), r.bundleOf(listed, size), openFor, "the receipt stands above the as-of line")
	under("complete-and-contradicted", fmt.Sprintf("as-of %d\n", size), r.bundleOf(listed, size), no("REGISTRY-COMPLETE", report.CodeRegistryHead), "the as-of line says that the genesis is the last")
	under("stranger-in-a-complete-chain", "as-of 2\n", stranger.bundleOf(at, 2), no("KEY-LISTED-AT", report.CodeKeyNotListed).and(unknown("signature", report.CodeKeyUnknown), unknown("KEY-NOT-DISOWNED", report.CodeKeyUnknown)), "absent from a chain that is known complete")

	b.about("trust.md#engine-trust-file")
	keys := func(name, lines string, w want, why string) {
		b.bundleBytes(name, plain(r.log, listed, size).Append(nil), noQuorum, b.trustIn(name, lines), w, why)
	}
	engine2 := "key bob engine " + base64Of(public("engine-2"))
	keys("plain-key", engine2+"\n", ok(), "the caller's own word")
	keys("plain-key-in-range", fmt.Sprintf("%s %d %d\n", engine2, listed, listed), ok(), "both ends of a range are in it")
	keys("plain-key-from-later", fmt.Sprintf("%s %d\n", engine2, listed+1), unknown("KEY-LISTED-AT", report.CodeKeyOutOfRange), "the caller vouches for later leaves only")
	keys("plain-key-to-earlier", fmt.Sprintf("%s 0 %d\n", engine2, listed-1), unknown("KEY-LISTED-AT", report.CodeKeyOutOfRange), "the caller vouches for earlier leaves only")
	keys("plain-key-of-another", "key bob engine "+base64Of(public("engine"))+"\n", unknown("signature", report.CodeKeyUnknown).and(unknown("KEY-LISTED-AT", report.CodeKeyUnknown)), "another key is vouched for")
	keys("plain-key-as-approver", "key bob approver "+base64Of(public("engine-2"))+"\n", no("KEY-LISTED-AT", report.CodeKeyRole), "vouched for in the other role")

	// An envelope alone has no index.
	b.about("report.md#checks")
	alone := func(name string, w want, why string, index uint64) {
		b.add(name, corpus.Case{Command: corpus.AskReceipt, Files: map[corpus.Part]string{
			corpus.Artifact: b.put(b.path(name, ".leaf"), r.log.Leaves[index]), corpus.Registry: b.path("later", ".chain.json"), corpus.Policy: noQuorum, corpus.Trust: registryTrust,
		}}, w, why)
	}
	alone("envelope-of-a-retired-key", unknown("signer", report.CodeKeyEnded), "without an index nobody knows whether the key was listed then", listed)
	b.receiptUnder("envelope-of-a-key-in-a-range", b.put(b.path("in-a-range", ".leaf"), r.log.Leaves[listed]), b.trustIn("in-a-range", fmt.Sprintf("%s %d\n", engine2, listed)),
		unknown("signer", report.CodeKeyOutOfRange), "without an index nobody knows whether it is in the range")
}

// logOfRegistry: whole logs with a registry that changes.
func (b *builder) logOfRegistry() {
	b.about("trust.md#registry-rules")
	bad := func(name string, w want, why string, build func(r *registry)) {
		r := b.newRegistry()
		build(r)
		dir := b.path(name, "")
		b.site(dir, r.log, r.log.Size())
		b.add(name, corpus.Case{Command: corpus.AskLog, Files: map[corpus.Part]string{corpus.Log: dir, corpus.Policy: noQuorum, corpus.Trust: registryTrust}}, w, why)
	}
	bad("log-that-changes-its-registry", ok(), "keys come and go", func(r *registry) {
		r.next(change{add: []listedKey{key("engine-2", "engine")}})
		r.next(change{retire: [][]byte{public("engine-2")}})
	})
	bad("log-with-a-void-statement", no("registry", report.CodeRegistryState), "a log that sequenced a void statement is refuted", func(r *registry) {
		r.next(change{edit: func(x m) m { return put(b.t, x, "state", bytesOf(32)).(m) }})
	})
	bad("log-with-an-engine-among-the-registrars", no("registry", report.CodeRegistrySigner), "every signature is by a registrar before or after", func(r *registry) {
		r.next(change{add: []listedKey{key("engine-2", "engine")}, signers: []string{"registrar-1", "registrar-2", "engine"}})
	})
	bad("log-with-a-bad-signature-of-a-registrar", no("registry", report.CodeSignatureInvalid), "all signatures hold", func(r *registry) {
		payload := r.payload(change{add: []listedKey{key("engine-2", "engine")}})
		env, err := dsse.SignMany(dsse.RegistryType, payload, testlog.Key("registrar-1"), testlog.Key("registrar-2"))
		if err != nil {
			b.t.Fatal(err)
		}
		env.Sigs[1].Sig[3] ^= 1
		r.log.Append(env)
	})
	bad("log-of-a-later-registry", unknown("registry", report.CodeVersionUnknown), "who is listed behind a registry statement of a later version is not known", func(r *registry) {
		env, err := dsse.SignMany("application/vnd.obstat.registry.v2+cbor", []byte{0xa0}, testlog.Key("registrar-1"))
		if err != nil {
			b.t.Fatal(err)
		}
		r.log.Append(env)
	})
	bad("log-with-a-signer-before-it-was-listed", no("keys", report.CodeKeyNotListed), "a log takes no receipt of a key that it does not list yet", func(r *registry) {
		r.receipt("judgment-for-refused", "engine-2")
		r.next(change{add: []listedKey{key("engine-2", "engine")}})
	})
}
