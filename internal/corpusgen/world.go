package corpusgen

import (
	"crypto/ed25519"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

// The trust files that most cases share.
const (
	registryTrust = "trust/registry.trust" // pins the genesis of the logs here
	plainTrust    = "trust/plain.trust"    // engine and approver by their keys
	noQuorum      = "trust/none.policy"    // the log, and no witness
	oneWitness    = "trust/one.policy"     // any one of w1 and w2
	twoWitnesses  = "trust/two.policy"     // two of w1, w2, w3
)

// world is the log that most cases are about: the genesis, and every example of
// receipttest as one lawful run.
type world struct {
	log      *testlog.Log
	at       map[string]uint64
	examples map[string]*receipt.Decoded
}

// trustFiles makes the world and the shared trust files.
func (b *builder) trustFiles() {
	l := testlog.New(b.t)
	b.world = &world{log: l, at: l.Examples(), examples: map[string]*receipt.Decoded{}}
	for _, e := range receipttest.ExamplesBy(receipt.KeyID(testlog.ID("engine")), receipt.KeyID(testlog.ID("approver"))) {
		b.world.examples[e.Name] = e.Decoded
	}
	b.put(registryTrust, l.Engines().Bytes())
	b.put(plainTrust, l.PlainEngines().Bytes())
	b.put(noQuorum, testlog.PolicyFile("none"))
	b.put(oneWitness, testlog.PolicyFile("any", "w1", "w2"))
	b.put(twoWitnesses, testlog.PolicyFile("2", "w1", "w2", "w3"))
}

// example is the statement of that name.
func (b *builder) example(name string) *receipt.Decoded {
	b.t.Helper()
	d := b.world.examples[name]
	if d == nil {
		b.t.Fatalf("no example %q", name)
	}
	return d
}

// signerOf is the label of the key that signs a kind.
func signerOf(k receipt.Kind) string {
	if receipt.RoleFor(k) == receipt.RoleApprover {
		return "approver"
	}
	return "engine"
}

// sign makes the envelope of any payload by the key of a label.
func (b *builder) sign(payload []byte, label string) *dsse.Envelope {
	b.t.Helper()
	env, err := dsse.Sign(dsse.ReceiptType, payload, testlog.Key(label))
	if err != nil {
		b.t.Fatal(err)
	}
	return env
}

func (b *builder) leaf(env *dsse.Envelope) []byte {
	b.t.Helper()
	leaf, err := env.Leaf()
	if err != nil {
		b.t.Fatal(err)
	}
	return leaf
}

// receipt adds a case of one envelope under plain keys.
func (b *builder) receipt(name, ext string, data []byte, w want, why string, expect ...string) {
	b.t.Helper()
	b.receiptUnder(name, b.put(b.path(name, ext), data), plainTrust, w, why, expect...)
}

func (b *builder) receiptUnder(name, path, trust string, w want, why string, expect ...string) {
	b.t.Helper()
	b.add(name, corpus.Case{
		Command: corpus.AskReceipt, Files: map[corpus.Part]string{corpus.Artifact: path, corpus.Trust: trust}, Ask: corpus.Ask{Expect: expect},
	}, w, why)
}

// signed adds the case of a payload in a leaf that is signed as it should be.
func (b *builder) signed(name string, payload []byte, signer string, w want, why string, expect ...string) {
	b.t.Helper()
	b.receipt(name, ".leaf", b.leaf(b.sign(payload, signer)), w, why, expect...)
}

// bundle adds a case of a bundle under a policy and the pinned registry.
func (b *builder) bundle(name string, doc *bundle.Bundle, policy string, w want, why string, expect ...string) {
	b.t.Helper()
	b.bundleBytes(name, doc.Append(nil), policy, registryTrust, w, why, expect...)
}

func (b *builder) bundleBytes(name string, doc []byte, policy, trust string, w want, why string, expect ...string) {
	b.t.Helper()
	b.add(name, corpus.Case{
		Command: corpus.AskBundle, Files: map[corpus.Part]string{corpus.Artifact: b.put(b.path(name, ".receipt.json"), doc), corpus.Policy: policy, corpus.Trust: trust},
		Ask: corpus.Ask{Expect: expect},
	}, w, why)
}

// site keeps the static site of a log.
func (b *builder) site(dir string, l *testlog.Log, size uint64, witnesses ...string) string {
	b.t.Helper()
	for path, f := range l.Site(size, witnesses...) {
		b.put(dir+"/"+path, f.Data)
	}
	return dir
}

func public(label string) ed25519.PublicKey { return testlog.Public(label) }
