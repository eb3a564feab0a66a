package corpusgen

import (
	"bytes"
	"crypto/ed25519"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
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
