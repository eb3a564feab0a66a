package corpusgen

import (
	"bytes"
	"crypto/ed25519"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// freezes: the leaf that ends a log.
func (b *builder) freezes() {
	b.about("trust.md#freeze")
	heir := func() m {
		return m{{Key: "log", Value: s("example.com/log-2")}, {Key: "key", Value: dagcbor.Bytes(public("log-2"))}, {Key: "genesis", Value: linkTo([]byte{0xa0})}}
	}
	freeze := func(r *registry, edit func(m) m, signers ...string) uint64 {
		z := m{{Key: "log", Value: s(r.origin)}, {Key: "registry", Value: linkTo(r.last)}}
		if edit != nil {
			z = edit(z)
		}
		return r.appendAs(dsse.FreezeType, encode(b.t, z), b.signing(signers)...)
	}
	named := func(edit func(m) m) func(m) m {
		return func(z m) m {
			h := heir()
			if edit != nil {
				h = edit(h)
			}
			return append(z, dagcbor.Entry{Key: "successor", Value: h})
		}
	}
	set := func(path string, v dagcbor.Value) func(m) m {
		return func(x m) m { return put(b.t, x, path, v).(m) }
	}
	frozen := func(name string, code report.Code, why string, edit func(m) m, signers ...string) {
		r := b.newRegistry()
		at := r.receipt("judgment-for-refused", "engine")
		freeze(r, edit, signers...)
		w := ok()
		if code != report.CodeOK {
			w = no("KEY-LISTED-AT", code)
		}
		b.bundle(name, r.bundleOf(at, r.log.Size()), noQuorum, w, why)
	}
	frozen("freeze", report.CodeOK, "what stood before the freeze keeps its proof", nil)
	frozen("freeze-that-names-a-successor", report.CodeOK, "it may name the log that goes on", named(nil))
	frozen("not-freeze-of-another-log", report.CodeRegistryLog, "a freeze is for its own log", set("log", s("example.com/other")))
	frozen("not-freeze-of-another-head", report.CodeRegistryPrev, "it names the head of the registry", set("registry", linkTo([]byte{0xa0})))
	frozen("not-freeze-by-one-of-two", report.CodeRegistryQuorum, "the threshold of the head signs it", nil, "registrar-1")
	frozen("not-freeze-by-an-engine-too", report.CodeSignatureNoKey, "every signature is by a registrar", nil, "registrar-1", "registrar-2", "engine")
	frozen("not-freeze-with-another-field", report.CodeRegistrySchema, "no other field", set("note", s("x")))
	frozen("not-freeze-without-registry", report.CodeRegistrySchema, "the head is named", set("registry", nil))
	frozen("not-freeze-for-itself", report.CodeRegistrySchema, "the successor is another log", named(set("log", s(testlog.Origin))))
	frozen("not-freeze-for-a-log-with-a-plus", report.CodeRegistrySchema, "a plus ends the name of a key in a note", named(set("log", s("a+b"))))
	frozen("not-freeze-for-a-key-of-small-order", report.CodeRegistryKeyWeak, "the successor's key is sound", named(set("key", dagcbor.Bytes(smallOrder()))))
	frozen("not-freeze-for-a-listed-key", report.CodeRegistryKeyForeign, "the successor's key is nobody's here", named(set("key", dagcbor.Bytes(public("engine")))))
	frozen("not-freeze-for-its-own-key", report.CodeRegistryKeyForeign, "a new log has a new key", named(set("key", dagcbor.Bytes(public("log")))))

	behind := b.newRegistry()
	before := behind.receipt("judgment-for-refused", "engine")
	end := freeze(behind, nil)
	late := behind.receipt("judgment-for-withheld", "engine")
	size := behind.log.Size()
	ended := no("KEY-LISTED-AT", report.CodeLogFrozen)
	b.bundle("behind-the-freeze", behind.bundleOf(late, size), noQuorum, ended, "nothing stands behind a freeze")
	b.bundle("before-a-freeze-with-more-behind", behind.bundleOf(before, size), noQuorum, ended, "a log that goes on behind its freeze is refuted by whoever sees both")
	b.bundle("before-the-freeze-in-its-own-tree", behind.bundleOf(before, end+1), noQuorum, ok(), "the tree that ends with the freeze")
	hidden := behind.bundleOf(late, size)
	hidden.Registry = hidden.Registry[:1]
	b.bundle("behind-a-freeze-that-is-left-out", hidden, noQuorum, ok(), "what is not shown says nothing: whoever needs that excluded asks for a complete registry")

	twice := b.newRegistry()
	at := twice.receipt("judgment-for-refused", "engine")
	freeze(twice, nil)
	freeze(twice, named(nil))
	b.bundle("frozen-twice", twice.bundleOf(at, twice.log.Size()), noQuorum, ended, "one freeze")
	changed := b.newRegistry()
	at = changed.receipt("judgment-for-refused", "engine")
	freeze(changed, nil)
	changed.next(change{add: []listedKey{key("engine-2", "engine")}})
	b.bundle("changed-behind-the-freeze", changed.bundleOf(at, changed.log.Size()), noQuorum, ended, "no statement behind a freeze")

	log := func(name string, r *registry, size uint64, w want, why string) {
		dir := b.path(name, "")
		b.site(dir, r.log, size)
		b.add(name, corpus.Case{Command: corpus.AskLog, Files: map[corpus.Part]string{corpus.Log: dir, corpus.Policy: noQuorum, corpus.Trust: registryTrust}}, w, why)
	}
	whole := b.newRegistry()
	freeze(whole, named(nil))
	log("log-that-is-frozen", whole, whole.log.Size(), ok(), "a log that ends")
	log("log-that-goes-on-behind-its-freeze", twice, twice.log.Size(), no("registry", report.CodeLogFrozen), "a log that took a leaf behind its freeze is refuted")
	later := b.newRegistry()
	later.appendAs("application/vnd.obstat.freeze.v2+cbor", []byte{0xa0}, b.signing(nil)...)
	log("log-with-a-freeze-of-a-later-version", later, later.log.Size(), unknown("registry", report.CodeVersionUnknown), "what it ends is not known")
}

// signing are the keys of labels, both registrars where there are none.
func (b *builder) signing(labels []string) (keys []ed25519.PrivateKey) {
	if labels == nil {
		labels = []string{"registrar-1", "registrar-2"}
	}
	for _, label := range labels {
		keys = append(keys, testlog.Key(label))
	}
	return keys
}

// successors: leaf 1 of a log that goes on from another.
func (b *builder) successors() {
	b.about("trust.md#successor")
	const old = "example.com/log-0"
	signer, err := checkpoint.NewSigner(old, checkpoint.TypeEd25519, testlog.Key(old))
	if err != nil {
		b.t.Fatal(err)
	}
	root, empty := merkle.Hash(bytes.Repeat([]byte{7}, 32)), merkle.Hash(sha256Of())
	note := func(size uint64, root merkle.Hash) dagcbor.Value {
		n, err := signer.SignBody(checkpoint.Checkpoint{Origin: old, Size: size, Root: root}.Body(), 0)
		if err != nil {
			b.t.Fatal(err)
		}
		return dagcbor.Bytes(n)
	}
	statement := func(r *registry, edit func(m) m, signers ...string) {
		was := m{{Key: "log", Value: s(old)}, {Key: "size", Value: n(3)}, {Key: "root", Value: dagcbor.Bytes(root[:])}, {Key: "registry", Value: linkTo([]byte{0xa0})}}
		x := m{{Key: "log", Value: s(r.origin)}, {Key: "predecessor", Value: was}, {Key: "checkpoint", Value: note(3, root)}}
		if edit != nil {
			x = edit(x)
		}
		r.appendAs(dsse.SuccessorType, encode(b.t, x), b.signing(signers)...)
	}
	successor := func(name string, code report.Code, why string, build func(r *registry)) {
		r := b.newRegistry()
		build(r)
		at := r.receipt("judgment-for-refused", "engine")
		w := ok()
		if code != report.CodeOK {
			w = no("KEY-LISTED-AT", code)
		}
		b.bundle(name, r.bundleOf(at, r.log.Size()), noQuorum, w, why)
	}
	edited := func(edit func(m) m, signers ...string) func(*registry) {
		return func(r *registry) { statement(r, edit, signers...) }
	}
	set := func(path string, v dagcbor.Value) func(m) m {
		return func(x m) m { return put(b.t, x, path, v).(m) }
	}
	successor("successor", report.CodeOK, "leaf 1 names the final tree of the log before", edited(nil))
	successor("successor-and-a-change-behind", report.CodeOK, "the registry goes on behind it", func(r *registry) {
		statement(r, nil)
		r.next(change{add: []listedKey{key("engine-2", "engine")}})
	})
	successor("not-successor-at-leaf-2", report.CodeRegistryPlace, "it stands at leaf 1", func(r *registry) {
		r.receipt("judgment-for-withheld", "engine")
		statement(r, nil)
	})
	successor("not-successor-behind-a-change", report.CodeRegistryPlace, "before every change", func(r *registry) {
		r.next(change{add: []listedKey{key("engine-2", "engine")}})
		statement(r, nil)
	})
	successor("not-successor-twice", report.CodeRegistryPlace, "once", func(r *registry) {
		statement(r, nil)
		statement(r, nil, "registrar-2", "registrar-1")
	})
	successor("not-successor-by-one-of-two", report.CodeRegistryQuorum, "the threshold of the genesis signs it", edited(nil, "registrar-1"))
	successor("not-successor-in-another-log", report.CodeRegistryLog, "it is for the log in which it stands", edited(set("log", s("example.com/other"))))
	successor("not-successor-of-itself", report.CodeRegistrySchema, "the log before is another one", edited(set("predecessor.log", s(testlog.Origin))))
	successor("not-successor-of-another-size", report.CodeRegistrySchema, "the note says the tree that the statement says", edited(set("predecessor.size", n(4))))
	successor("not-successor-of-an-empty-log", report.CodeRegistrySchema, "the tree is not empty", edited(func(x m) m {
		return set("checkpoint", note(0, empty))(set("predecessor.root", dagcbor.Bytes(empty[:]))(set("predecessor.size", n(0))(x)))
	}))
	successor("not-successor-without-a-note", report.CodeRegistrySchema, "the final checkpoint is in it", edited(set("checkpoint", dagcbor.Bytes([]byte("x")))))
}

// handed is a log that ended, the one that goes on, and the evidence of it.
type handed struct {
	old, heir *testlog.Log
	at, first uint64 // a receipt in each
	evidence  *bundle.Succession
}

// hand makes one; end says how the old log ends, and who is named.
func (b *builder) hand(end func(old *testlog.Log, heir *trust.Heir) []byte) handed {
	const second = "example.com/log-2"
	h := handed{old: testlog.New(b.t), heir: testlog.Named(b.t, second)}
	receipt := func(l *testlog.Log) uint64 {
		return l.Append(b.sign(b.resigned("judgment-for-refused", "engine"), "engine"))
	}
	h.at = receipt(h.old)
	freeze := end(h.old, &trust.Heir{Log: second, Key: trust.PublicKey(testlog.Public(second)), Genesis: h.heir.Genesis})
	h.heir.Succeed(h.old.Final(), h.old.Checkpoint(h.old.Size()))
	h.first = receipt(h.heir)
	h.evidence = &bundle.Succession{Predecessor: chainOf(h.old), Freeze: freeze, Successor: chainOf(h.heir)}
	return h
}

func chainOf(l *testlog.Log) *bundle.Chain {
	return &bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size())}
}

// The ways in which a log ends.
func byLeaf(old *testlog.Log, heir *trust.Heir) []byte {
	old.Freeze(heir)
	return nil
}

func byStatement(old *testlog.Log, heir *trust.Heir) []byte {
	return old.FreezeBy(heir, "registrar-1", "registrar-2").JSON()
}

// successions: evidence that one log goes on as another.
func (b *builder) successions() {
	under := func(name string, x *bundle.Bundle, evidence []byte, policy string, w want, why string) {
		b.add(name, corpus.Case{Command: corpus.AskBundle, Files: map[corpus.Part]string{
			corpus.Artifact: b.put(b.path(name, ".receipt.json"), x.Append(nil)), corpus.Policy: policy, corpus.Trust: registryTrust,
			corpus.Succession: b.put(b.path(name, ".succession.json"), evidence),
		}}, w, why)
	}
	b.about("trust.md#how-a-log-ends")
	reaches := func(name, why string, end func(*testlog.Log, *trust.Heir) []byte) handed {
		h := b.hand(end)
		under(name, h.heir.Bundle(h.first, h.heir.Size()), h.evidence.Append(nil), noQuorum, ok(), why)
		return h
	}
	reaches("handed-over", "trust in the first log reaches the one that its last leaf names", byLeaf)
	reaches("handed-over-beside", "of a log that was frozen and named nobody", func(old *testlog.Log, heir *trust.Heir) []byte {
		named := byStatement(old, heir)
		old.Freeze(nil)
		return named
	})
	h := reaches("superseded", "of a log that no leaf froze", byStatement)
	end := h.old.Size()
	under("superseded-log", h.old.Bundle(h.at, end), h.evidence.Append(nil), noQuorum, ok(), "what stands in the final tree counts as before")
	behind := h.old.AppendLeaf(h.old.Leaves[h.at])
	under("superseded-log-that-goes-on", h.old.Bundle(behind, h.old.Size()), h.evidence.Append(nil), noQuorum, no("succession", report.CodeLogEnded), "nothing behind the final tree counts")
	under("superseded-log-that-goes-on-behind", h.old.Bundle(h.at, h.old.Size()), h.evidence.Append(nil), noQuorum, ok(), "what stood before counts in a later tree too")

	// Of evidence that does not hold, over a receipt of the first log, which does.
	b.about("bundle.md#succession")
	fails := func(name string, w want, why string, end func(*testlog.Log, *trust.Heir) []byte, spoil func(h *handed)) {
		h := b.hand(end)
		x := h.old.Bundle(h.at, h.old.Size())
		if spoil != nil {
			spoil(&h)
		}
		under(name, x, h.evidence.Append(nil), noQuorum, w, why)
	}
	refuted := func(code report.Code) want { return no("succession", code) }
	open := unknown("succession", report.CodeSuccessionOpen)
	by := func(edit func(*trust.Heir)) func(*testlog.Log, *trust.Heir) []byte {
		return func(old *testlog.Log, heir *trust.Heir) []byte {
			other := *heir
			edit(&other)
			return byLeaf(old, &other)
		}
	}
	fails("succession-of-an-open-log", open, "nobody says who goes on", func(*testlog.Log, *trust.Heir) []byte { return nil }, nil)
	fails("succession-that-names-nobody", open, "a freeze that names nobody", func(old *testlog.Log, _ *trust.Heir) []byte { return byLeaf(old, nil) }, nil)
	fails("succession-beside-that-names-nobody", refuted(report.CodeSuccessionOpen), "what stands beside a log has to name somebody", func(old *testlog.Log, _ *trust.Heir) []byte { return byStatement(old, nil) }, nil)
	fails("succession-by-one-of-two", refuted(report.CodeRegistryQuorum), "the threshold of the head signs", func(old *testlog.Log, heir *trust.Heir) []byte {
		return old.FreezeBy(heir, "registrar-1").JSON()
	}, nil)
	fails("succession-by-an-engine", refuted(report.CodeSignatureNoKey), "registrars sign", func(old *testlog.Log, heir *trust.Heir) []byte {
		return old.FreezeBy(heir, "engine").JSON()
	}, nil)
	fails("succession-of-an-earlier-head", refuted(report.CodeRegistryPrev), "it is over the head", func(old *testlog.Log, heir *trust.Heir) []byte {
		named := byStatement(old, heir)
		old.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}})
		return named
	}, nil)
	fails("succession-beside-a-leaf-that-names-somebody", refuted(report.CodeLogFrozen), "the leaf has said it", func(old *testlog.Log, heir *trust.Heir) []byte {
		named := byStatement(old, heir)
		first := *heir
		first.Log = "example.com/log-9"
		old.Freeze(&first)
		return named
	}, nil)
	fails("succession-for-another-key", refuted(report.CodeCheckpointUnsigned), "the successor's checkpoint is signed by the key that was named", by(func(x *trust.Heir) { x.Key = trust.PublicKey(testlog.Public("x")) }), nil)
	fails("succession-for-another-genesis", refuted(report.CodeRegistryPin), "the successor begins with the genesis that was named", by(func(x *trust.Heir) { x.Genesis = dagcbor.Sum([]byte{0xa0}) }), nil)
	fails("succession-for-another-log", refuted(report.CodeSuccessionMismatch), "the successor is the log that was named", by(func(x *trust.Heir) { x.Log = "example.com/log-9" }), nil)
	fails("succession-from-another-tree", refuted(report.CodeSuccessionMismatch), "leaf 1 names the final tree", byStatement, func(h *handed) {
		h.old.AppendLeaf(h.old.Leaves[h.at])
		h.evidence.Predecessor = chainOf(h.old)
	})
	fails("succession-that-the-successor-does-not-say", open, "leaf 1 of the log that goes on says it too", byLeaf, func(h *handed) {
		h.evidence.Successor.Leaves = h.evidence.Successor.Leaves[:1]
	})
	fails("succession-of-a-tree-behind-the-freeze", refuted(report.CodeLogFrozen), "a freeze is the last leaf", byLeaf, func(h *handed) {
		h.old.AppendLeaf(h.old.Leaves[h.at])
		h.evidence.Predecessor = chainOf(h.old)
	})
	fails("succession-of-another-log", unknown("succession", report.CodeLogOther), "it is of another log than the one that is trusted", byLeaf, func(h *handed) {
		h.evidence.Predecessor, h.evidence.Successor = h.evidence.Successor, h.evidence.Predecessor
	})
	whole := b.hand(byLeaf)
	x := whole.old.Bundle(whole.at, whole.old.Size(), "w1")
	under("succession-without-a-quorum", x, whole.evidence.Append(nil), oneWitness, unknown("succession", report.CodeQuorumUnmet), "the final tree is cosigned as the policy asks")
	x = whole.old.Bundle(whole.at, whole.old.Size())
	under("succession-that-is-none", x, []byte("succession\n"), noQuorum, no("succession file", report.CodeJSONSyntax), "evidence is strict JSON")
	under("succession-of-the-next-version", x, bytes.Replace(whole.evidence.Append(nil), []byte("succession.v1"), []byte("succession.v2"), 1), noQuorum,
		unknown("succession file", report.CodeVersionUnknown), "evidence of a later version is not checked")
}
