package bundle_test

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

const (
	nc = report.NotChecked
	ok = report.Verified
	no = report.Refuted
)

// want is how one named check has to end.
type want struct {
	name   string
	answer report.Answer
	code   report.Code
}

func hold(t *testing.T, r *report.Report, exit int, wants ...want) {
	t.Helper()
	if r.ExitCode() != exit {
		t.Errorf("exit %d, want %d", r.ExitCode(), exit)
	}
	for _, w := range wants {
		if c, found := r.Find(w.name); !found || c.Answer != w.answer || c.Code != w.code {
			t.Errorf("%s: %s %s, want %s %s", w.name, c.Answer, c.Code, w.answer, w.code)
		}
	}
	if t.Failed() {
		t.Logf("\n%s", r.Text())
		t.FailNow()
	}
}

// Every kind, verdict and disposition: all required checks hold, and the first
// line says which it is.
func TestEveryExample(t *testing.T) {
	l, at, o := one(t)
	first := map[string]string{
		"run-open": "RUN OPENED", "judgment-admit": "ADMITTED", "judgment-deny": "DENIED",
		"outcome-committed": "COMMITTED", "gap": "GAP", "run-close": "RUN CLOSED",
	}
	kinds := map[string]bool{}
	for name, index := range at {
		r := bundle.Verify(l.Bundle(index, l.Size(), "w1", "w3"), o)
		hold(t, r, 0,
			want{"form", ok, report.CodeOK}, want{"schema", ok, report.CodeOK}, want{"signature", ok, report.CodeOK},
			want{"identity", ok, report.CodeOK}, want{"inclusion", ok, report.CodeOK}, want{"checkpoint", ok, report.CodeOK},
			want{"policy", ok, report.CodeOK}, want{"KEY-LISTED-AT", ok, report.CodeOK},
			want{"KEY-NOT-DISOWNED", nc, report.CodeRegistryOpen}, want{"REGISTRY-COMPLETE", nc, report.CodeRegistryOpen})
		if !strings.HasPrefix(r.Headline(), "It says: "+first[name]) || len(r.Says) < 4 {
			t.Errorf("%s: %q", name, r.Headline())
		}
		kinds[r.Says[:strings.IndexAny(r.Says, " :")]] = true
	}
	for _, word := range []string{"RUN", "ADMITTED", "DENIED", "ESCALATED", "APPROVED", "REJECTED", "FAULT", "GAP", "COMMITTED", "DIVERGED", "REFUSED", "EXPIRED", "CANCELLED", "STALE", "WITHHELD", "RENDERED", "FAILED", "UNOBSERVED"} {
		if !kinds[word] {
			t.Errorf("no example says %s", word)
		}
	}
}

// Any leaf against any later size of the tree, before and behind a change of the
// registry, and each also under the registry of today: a log that grows never
// turns an old bundle into a refusal.
func TestAnyLeafAnyLaterSize(t *testing.T) {
	l := testlog.New(t)
	run := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "run-1")
	sizes := []uint64{}
	for n := range 23 {
		if n == 9 {
			l.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}})
		}
		var r receipt.Receipt = receipttest.Judgment(strconv.Itoa(n), receipttest.Admit("rule-1"))
		if n == 0 {
			r = receipttest.Open(testlog.Origin)
		}
		l.Append(l.Sign(run.Add(r), "engine"))
		sizes = append(sizes, l.Size())
	}
	o := bundle.Options{Policy: l.Policy("all", "w1"), Engines: l.Engines()}
	today := o
	today.Registry = &bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size())}
	for _, size := range sizes {
		for index := range size {
			if index == 0 || index == 10 { // registry leaves
				continue
			}
			b := l.Bundle(index, size, "w1")
			for _, o := range []bundle.Options{o, today} {
				if r := bundle.Check(b.Append(nil), o); r.Overall() != report.AllVerified {
					t.Fatalf("leaf %d in %d:\n%s", index, size, r.Text())
				}
			}
		}
	}
}

// What is not given is not checked, and said by its own code.
func TestTrustNotGiven(t *testing.T) {
	l, at, o := one(t)
	b := l.Bundle(at["judgment-deny"], l.Size(), "w1", "w2")
	hold(t, bundle.Verify(b, bundle.Options{}), 3,
		want{"form", ok, report.CodeOK}, want{"schema", ok, report.CodeOK}, want{"inclusion", ok, report.CodeOK}, want{"identity", ok, report.CodeOK},
		want{"signature", nc, report.CodeTrustNotGiven}, want{"checkpoint", nc, report.CodePolicyNotGiven}, want{"policy", nc, report.CodePolicyNotGiven},
		want{"KEY-LISTED-AT", nc, report.CodeTrustNotGiven}, want{"KEY-NOT-DISOWNED", nc, report.CodeTrustNotGiven}, want{"REGISTRY-COMPLETE", nc, report.CodeTrustNotGiven})
	hold(t, bundle.Verify(b, bundle.Options{Engines: o.Engines}), 3,
		want{"signature", ok, report.CodeOK}, want{"checkpoint", nc, report.CodePolicyNotGiven}, want{"KEY-LISTED-AT", nc, report.CodeNotReached})
	hold(t, bundle.Verify(b, bundle.Options{Policy: o.Policy}), 3,
		want{"signature", nc, report.CodeTrustNotGiven}, want{"checkpoint", ok, report.CodeOK}, want{"policy", ok, report.CodeOK})

	bare := *b
	bare.Registry = nil
	hold(t, bundle.Verify(&bare, o), 3,
		want{"signature", nc, report.CodeRegistryNotGiven}, want{"KEY-LISTED-AT", nc, report.CodeRegistryNotGiven})
	chain := &bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size(), "w1", "w2")}
	withChain := o
	withChain.Registry = chain
	hold(t, bundle.Verify(&bare, withChain), 0, want{"KEY-LISTED-AT", ok, report.CodeOK})

	other := *o.Engines
	other.Origin = "example.com/other"
	hold(t, bundle.Verify(b, bundle.Options{Policy: o.Policy, Engines: &other}), 3,
		want{"signature", nc, report.CodeLogOther}, want{"KEY-LISTED-AT", nc, report.CodeLogOther})
	p, err := trust.ParsePolicy([]byte("quorum none\n"))
	if err != nil {
		t.Fatal(err)
	}
	hold(t, bundle.Verify(b, bundle.Options{Policy: p, Engines: o.Engines}), 3, want{"checkpoint", nc, report.CodeLogUnknown})
}

func TestQuorum(t *testing.T) {
	l, at, o := one(t)
	index := at["judgment-deny"]
	hold(t, bundle.Verify(l.Bundle(index, l.Size(), "w1"), o), 3, want{"policy", nc, report.CodeQuorumUnmet})
	// A witness that the policy does not know counts for nothing.
	hold(t, bundle.Verify(l.Bundle(index, l.Size(), "w1", "w9"), o), 3, want{"policy", nc, report.CodeQuorumUnmet})
	// The level is a hint.
	b := l.Bundle(index, l.Size(), "w1")
	b.Level = bundle.Witnessed
	hold(t, bundle.Verify(b, o), 3, want{"policy", nc, report.CodeQuorumUnmet})
	b = l.Bundle(index, l.Size(), "w1", "w2")
	b.Level = bundle.Promise
	r := bundle.Verify(b, o)
	hold(t, r, 0, want{"policy", ok, report.CodeOK})
	if !strings.Contains(r.Text(), "  checkpoint  witnessed\n") {
		t.Error(r.Text())
	}
	o.Policy = l.Policy("none")
	r = bundle.Verify(l.Bundle(index, l.Size()), o)
	hold(t, r, 0, want{"policy", ok, report.CodeOK})
	if !strings.Contains(r.Text(), "this is the log's word alone") {
		t.Error(r.Text())
	}
}

func TestBadWitnessLineRefutes(t *testing.T) {
	l, at, o := one(t)
	b := l.Bundle(at["judgment-deny"], l.Size(), "w1", "w2", "w3")
	n, err := checkpoint.ParseNote(b.Proof.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	n.Sigs[3].Sig[20] ^= 1
	b.Proof.Checkpoint = n.Bytes()
	hold(t, bundle.Verify(b, o), 1, want{"checkpoint", no, report.CodeCheckpointSignatureInvalid}, want{"policy", nc, report.CodeNotReached}, want{"KEY-LISTED-AT", nc, report.CodeNotReached})
	n.Sigs = n.Sigs[1:3]
	b.Proof.Checkpoint = n.Bytes()
	hold(t, bundle.Verify(b, o), 1, want{"checkpoint", no, report.CodeLogUnsigned})
}

func TestRoles(t *testing.T) {
	l, at, o := one(t)
	judgment, decision := decode(t, l, at["judgment-admit"]), decode(t, l, at["decision-approve"])
	byApprover := l.Append(l.Sign(judgment, "approver"))
	byEngine := l.Append(l.Sign(decision, "engine"))
	byRegistrar := l.Append(l.Sign(judgment, "registrar-1"))
	byStranger := l.Append(l.Sign(judgment, "stranger"))
	for _, e := range []*trust.Engines{l.Engines(), l.PlainEngines()} {
		o.Engines = e
		for _, index := range []uint64{byApprover, byEngine} {
			hold(t, bundle.Verify(l.Bundle(index, l.Size(), "w1", "w2"), o), 1,
				want{"signature", ok, report.CodeOK}, want{"KEY-LISTED-AT", no, report.CodeKeyRole})
		}
		hold(t, bundle.Verify(l.Bundle(byStranger, l.Size(), "w1", "w2"), o), 3,
			want{"signature", nc, report.CodeKeyUnknown}, want{"KEY-LISTED-AT", nc, report.CodeKeyUnknown})
	}
	o.Engines = l.Engines()
	hold(t, bundle.Verify(l.Bundle(byRegistrar, l.Size(), "w1", "w2"), o), 1, want{"KEY-LISTED-AT", no, report.CodeKeyRole})

	// A stranger is refuted where the registry is known complete.
	o.Engines.AsOf, o.Engines.HasAsOf = l.Size(), true
	hold(t, bundle.Verify(l.Bundle(byStranger, l.Size(), "w1", "w2"), o), 1,
		want{"KEY-LISTED-AT", no, report.CodeKeyNotListed}, want{"REGISTRY-COMPLETE", ok, report.CodeOK})
}

func decode(t *testing.T, l *testlog.Log, index uint64) *receipt.Decoded {
	t.Helper()
	env, err := dsse.ParseLeaf(l.Leaves[index])
	if err != nil {
		t.Fatal(err)
	}
	d, err := receipt.Decode(env.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPlainKeys(t *testing.T) {
	l, at, o := one(t)
	o.Engines = l.PlainEngines()
	index := at["judgment-deny"]
	b := l.Bundle(index, l.Size(), "w1", "w2")
	b.Registry = nil
	hold(t, bundle.Verify(b, o), 0, want{"KEY-LISTED-AT", ok, report.CodeOK}, want{"KEY-NOT-DISOWNED", ok, report.CodeOK}, want{"REGISTRY-COMPLETE", ok, report.CodeOK})
	o.Engines.Keys[0].From = index + 1
	hold(t, bundle.Verify(b, o), 3, want{"signature", ok, report.CodeOK}, want{"KEY-LISTED-AT", nc, report.CodeKeyOutOfRange})
	o.Engines.Keys[0].From, o.Engines.Keys[0].To, o.Engines.Keys[0].HasTo = 0, index, true
	hold(t, bundle.Verify(b, o), 0, want{"KEY-LISTED-AT", ok, report.CodeOK})
	o.Engines.Keys[0].To = index - 1
	hold(t, bundle.Verify(b, o), 3, want{"KEY-LISTED-AT", nc, report.CodeKeyOutOfRange})
	o.Engines.Keys = o.Engines.Keys[1:]
	hold(t, bundle.Verify(b, o), 3, want{"signature", nc, report.CodeKeyUnknown})
}

// A log whose registry changes: who is listed is asked as of the leaf's index.
func TestRegistryChanges(t *testing.T) {
	l := testlog.New(t)
	o := bundle.Options{Policy: l.Policy("none")}
	run := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "run-1")
	open := run.Add(receipttest.Open(testlog.Origin))
	key := func(label string) trust.PublicKey { return trust.PublicKey(testlog.Public(label)) }

	early := l.Append(l.Sign(open, "engine-2")) // before it is listed
	l.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}})
	listed := l.Append(l.Sign(open, "engine-2"))
	l.Change(trust.Change{Retire: []trust.PublicKey{key("engine-2")}})
	late := l.Append(l.Sign(open, "engine-2"))
	before := l.Append(l.Sign(open, "engine"))
	short := l.Size()
	l.Change(trust.Change{Revoke: []trust.Revocation{{Key: key("engine"), From: before, HasFrom: true}}})
	after := l.Append(l.Sign(open, "engine"))

	o.Engines = l.Engines()
	verify := func(index uint64, size uint64, o bundle.Options) *report.Report {
		return bundle.Verify(l.Bundle(index, size), o)
	}
	hold(t, verify(early, l.Size(), o), 1, want{"KEY-LISTED-AT", no, report.CodeKeyNotListed}, want{"signature", ok, report.CodeOK})
	hold(t, verify(listed, l.Size(), o), 0, want{"KEY-LISTED-AT", ok, report.CodeOK})
	hold(t, verify(late, l.Size(), o), 1, want{"KEY-LISTED-AT", no, report.CodeKeyNotListed})
	hold(t, verify(after, l.Size(), o), 1, want{"KEY-LISTED-AT", no, report.CodeKeyNotListed}, want{"KEY-NOT-DISOWNED", no, report.CodeKeyDisowned})

	// Disowned afterwards: still listed, and refuted all the same.
	hold(t, verify(before, l.Size(), o), 1, want{"KEY-LISTED-AT", ok, report.CodeOK}, want{"KEY-NOT-DISOWNED", no, report.CodeKeyDisowned})
	// The older bundle cannot know; a later chain by the caller can.
	hold(t, verify(before, short, o), 0, want{"KEY-NOT-DISOWNED", nc, report.CodeRegistryOpen})
	later := o
	later.Registry = &bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size())}
	hold(t, verify(before, short, later), 1, want{"KEY-NOT-DISOWNED", no, report.CodeKeyDisowned})
	// An older chain by the caller hides nothing that the bundle has.
	older := o
	older.Registry = &bundle.Chain{Leaves: l.Chain(short), Checkpoint: l.Checkpoint(short)}
	hold(t, verify(before, l.Size(), older), 1, want{"KEY-NOT-DISOWNED", no, report.CodeKeyDisowned})
	// A stripped chain does not pass for a complete one.
	stripped := l.Bundle(before, l.Size())
	stripped.Registry = stripped.Registry[:3]
	asOf := later
	asOf.Registry = nil
	asOf.Engines = &trust.Engines{Origin: testlog.Origin, Genesis: l.Genesis, AsOf: l.Size(), HasAsOf: true, Head: l.Registry.Head()}
	hold(t, bundle.Verify(stripped, asOf), 3, want{"KEY-NOT-DISOWNED", nc, report.CodeRegistryOpen}, want{"REGISTRY-COMPLETE", nc, report.CodeRegistryOpen})
	hold(t, verify(listed, l.Size(), asOf), 0, want{"KEY-NOT-DISOWNED", ok, report.CodeOK}, want{"REGISTRY-COMPLETE", ok, report.CodeOK})
	// as-of makes both required, and a receipt above it is not covered.
	asOf.Engines = &trust.Engines{Origin: testlog.Origin, Genesis: l.Genesis, AsOf: listed, HasAsOf: true, Head: l.Registry.Statements()[1]}
	hold(t, verify(listed, l.Size(), asOf), 3, want{"REGISTRY-COMPLETE", nc, report.CodeRegistryOpen})
	// Where the chain stands is not known without the checkpoint.
	blind := asOf
	blind.Policy = nil
	hold(t, verify(listed, l.Size(), blind), 3, want{"REGISTRY-COMPLETE", nc, report.CodeNotReached}, want{"KEY-LISTED-AT", nc, report.CodeNotReached})
	// as-of contradicted by what the log signed.
	asOf.Engines = &trust.Engines{Origin: testlog.Origin, Genesis: l.Genesis, AsOf: l.Size(), HasAsOf: true}
	hold(t, verify(listed, l.Size(), asOf), 1, want{"REGISTRY-COMPLETE", no, report.CodeRegistryHead})
}

func TestChainFaults(t *testing.T) {
	l, at, o := one(t)
	l.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}})
	index := at["judgment-deny"]
	try := func(name string, code report.Code, edit func(*bundle.Bundle)) {
		t.Run(name, func(t *testing.T) {
			b := l.Bundle(index, l.Size(), "w1", "w2")
			edit(b)
			r := bundle.Verify(b, o)
			hold(t, r, 1, want{"KEY-LISTED-AT", no, code}, want{"signature", nc, report.CodeNotReached}, want{"KEY-NOT-DISOWNED", nc, report.CodeNotReached})
		})
	}
	try("proof of another leaf", report.CodeProofInvalid, func(b *bundle.Bundle) { b.Registry[0].Proof[0][0] ^= 1 })
	try("genesis at another index", report.CodeProofInvalid, func(b *bundle.Bundle) { b.Registry[0].Index = 1 })
	try("later statement first", report.CodeRegistryPin, func(b *bundle.Bundle) { b.Registry = b.Registry[1:] })
	try("genesis twice", report.CodeRegistryPrev, func(b *bundle.Bundle) { b.Registry[1] = b.Registry[0] })
	try("a receipt in the chain", report.CodeRegistryPin, func(b *bundle.Bundle) { b.Registry[0].Envelope = b.Envelope })
	try("a receipt later in the chain", report.CodeRegistryType, func(b *bundle.Bundle) { b.Registry[1].Envelope = b.Envelope })
	try("a signature short", report.CodeProofInvalid, func(b *bundle.Bundle) {
		s, err := trust.NewGenesis(testlog.Origin, 2, []trust.Addition{
			testlog.Add("registrar-1", trust.Registrar), testlog.Add("registrar-2", trust.Registrar),
			testlog.Add("engine", trust.Engine), testlog.Add("approver", trust.Approver),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		env, err := trust.SignStatement(s, testlog.Key("registrar-1"))
		if err != nil {
			t.Fatal(err)
		}
		b.Registry[0].Envelope = env.JSON() // the pinned statement, less signed: another leaf
	})

	// The policy's own keys may not be listed.
	witness := testlog.New(t, testlog.Add("w1", trust.Engine))
	i := witness.Examples()["run-open"]
	hold(t, bundle.Verify(witness.Bundle(i, witness.Size(), "w1", "w2"), bundle.Options{Policy: o.Policy, Engines: witness.Engines()}), 1,
		want{"KEY-LISTED-AT", no, report.CodeRegistryKeyForeign})
}

// Two chains that the log signed and that do not begin alike are its own fault.
func TestChainsDiverge(t *testing.T) {
	a, b := testlog.New(t), testlog.New(t)
	at := a.Examples()
	b.Examples()
	a.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}})
	b.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-3", trust.Engine)}})
	b.AppendLeaf(b.Leaves[at["run-open"]]) // at one size it would be a fork
	o := bundle.Options{Policy: a.Policy("none"), Engines: a.Engines(), Registry: &bundle.Chain{Leaves: b.Chain(b.Size()), Checkpoint: b.Checkpoint(b.Size())}}
	hold(t, bundle.Verify(a.Bundle(at["run-open"], a.Size()), o), 1, want{"KEY-LISTED-AT", no, report.CodeRegistryDiverged})

	bad := *o.Registry
	bad.Checkpoint = bytes.Replace(bad.Checkpoint, fmt.Appendf(nil, "\n%d\n", b.Size()), fmt.Appendf(nil, "\n%d\n", b.Size()+1), 1)
	o.Registry = &bad
	hold(t, bundle.Verify(a.Bundle(at["run-open"], a.Size()), o), 1, want{"KEY-LISTED-AT", no, report.CodeCheckpointSignatureInvalid})
}

func TestEnvelopeFaults(t *testing.T) {
	l, at, o := one(t)
	good := decode(t, l, at["judgment-admit"])
	sign := func(typ string, payload []byte, labels ...string) *bundle.Bundle {
		var keys []ed25519.PrivateKey
		for _, label := range labels {
			keys = append(keys, testlog.Key(label))
		}
		env, err := dsse.SignMany(typ, payload, keys...)
		if err != nil {
			t.Fatal(err)
		}
		i := l.Append(env)
		return l.Bundle(i, l.Size(), "w1", "w2")
	}
	n, err := dagcbor.Parse(good.Payload())
	if err != nil {
		t.Fatal(err)
	}
	m := n.Value().(dagcbor.Map)
	m = append(m, dagcbor.Entry{Key: "note", Value: dagcbor.Text("x")})
	unknownField, err := dagcbor.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	reordered := append([]byte{}, good.Payload()...)
	reordered[0] = 0xb8 // not the shortest head
	reordered = append(append([]byte{0xb8, 2}, good.Payload()[1:]...), []byte{}...)

	hold(t, bundle.Verify(sign(dsse.ReceiptType, reordered, "engine"), o), 1, want{"form", no, report.CodeCBORNotShortest}, want{"schema", nc, report.CodeNotReached}, want{"signature", nc, report.CodeNotReached}, want{"inclusion", nc, report.CodeNotReached})
	hold(t, bundle.Verify(sign(dsse.ReceiptType, unknownField, "engine"), o), 1, want{"form", ok, report.CodeOK}, want{"schema", no, report.CodeSchemaUnknown})
	hold(t, bundle.Verify(sign(dsse.RegistryType, good.Payload(), "engine"), o), 1, want{"form", no, report.CodePayloadType})
	hold(t, bundle.Verify(sign("application/vnd.in-toto+json", good.Payload(), "engine"), o), 1, want{"form", no, report.CodePayloadType})
	hold(t, bundle.Verify(sign(dsse.ReceiptType, good.Payload(), "engine", "approver"), o), 1, want{"form", no, report.CodeDSSESigCount})
	// Signed by another key than the payload names: another leaf than the log has.
	hold(t, bundle.Verify(sign(dsse.ReceiptType, good.Payload(), "approver"), o), 1, want{"signature", no, report.CodeSignatureInvalid}, want{"inclusion", no, report.CodeProofInvalid})
	// A later version: the frame is read, its schema is not.
	later := sign("application/vnd.obstat.receipt.v2+cbor", good.Payload(), "engine")
	r := bundle.Verify(later, o)
	hold(t, r, 3, want{"form", ok, report.CodeOK}, want{"schema", nc, report.CodeVersionUnknown}, want{"signature", ok, report.CodeOK}, want{"identity", ok, report.CodeOK}, want{"inclusion", ok, report.CodeOK}, want{"KEY-LISTED-AT", ok, report.CodeOK})
	// Another type over the same signature: the type is signed.
	b := l.Bundle(at["judgment-admit"], l.Size(), "w1", "w2")
	b.Envelope = bytes.Replace(b.Envelope, []byte("receipt.v1"), []byte("receipt.v2"), 1)
	hold(t, bundle.Verify(b, o), 1, want{"signature", no, report.CodeSignatureInvalid})
}

func TestProofFaults(t *testing.T) {
	l, at, o := one(t)
	index := at["judgment-deny"]
	try := func(name string, code report.Code, edit func(*checkpoint.Proof)) {
		t.Run(name, func(t *testing.T) {
			b := l.Bundle(index, l.Size(), "w1", "w2")
			edit(b.Proof)
			hold(t, bundle.Verify(b, o), 1, want{"inclusion", no, code}, want{"KEY-LISTED-AT", nc, report.CodeNotReached})
			plain := bundle.Options{Policy: o.Policy, Engines: l.PlainEngines()}
			hold(t, bundle.Verify(b, plain), 1, want{"KEY-LISTED-AT", nc, report.CodeNotReached}, want{"signature", ok, report.CodeOK})
		})
	}
	try("another index", report.CodeProofInvalid, func(p *checkpoint.Proof) { p.Index++ })
	try("index beyond the tree", report.CodeProofRange, func(p *checkpoint.Proof) { p.Index = l.Size() })
	try("a hash flipped", report.CodeProofInvalid, func(p *checkpoint.Proof) { p.Hashes[2][7] ^= 1 })
	try("a hash less", report.CodeProofLength, func(p *checkpoint.Proof) { p.Hashes = p.Hashes[1:] })
	try("a hash more", report.CodeProofLength, func(p *checkpoint.Proof) { p.Hashes = append(p.Hashes, merkle.Hash{}) })

	// Another tree holds neither the leaf nor the registry.
	other := l.Bundle(index, l.Size(), "w1", "w2")
	other.Proof.Checkpoint = l.SignHead(checkpoint.Checkpoint{Origin: testlog.Origin, Size: l.Size(), Root: merkle.Hash{1}}, "w1", "w2")
	hold(t, bundle.Verify(other, o), 1, want{"checkpoint", ok, report.CodeOK}, want{"inclusion", no, report.CodeProofInvalid}, want{"KEY-LISTED-AT", no, report.CodeProofInvalid})

	b := l.Bundle(index, l.Size(), "w1", "w2")
	b.Proof.Checkpoint = []byte("no note\n")
	hold(t, bundle.Verify(b, o), 1, want{"checkpoint", no, report.CodeNoteMalformed}, want{"inclusion", nc, report.CodeNotReached}, want{"signature", nc, report.CodeNotReached})
	// A tree that the log never had, signed by somebody else's key.
	b = l.Bundle(index, l.Size(), "w1", "w2")
	body := checkpoint.Checkpoint{Origin: testlog.Origin, Size: 1, Root: merkle.LeafHash(l.Leaves[index])}.Body()
	s, err := checkpoint.NewSigner(testlog.Origin, checkpoint.TypeEd25519, testlog.Key("stranger"))
	if err != nil {
		t.Fatal(err)
	}
	if b.Proof.Checkpoint, err = s.SignBody(body, 0); err != nil {
		t.Fatal(err)
	}
	b.Proof.Index, b.Proof.Hashes, b.Registry = 0, nil, nil
	hold(t, bundle.Verify(b, o), 1, want{"inclusion", ok, report.CodeOK}, want{"checkpoint", no, report.CodeCheckpointUnsigned})
}

func TestTlogProof(t *testing.T) {
	l, at, o := one(t)
	b := l.Bundle(at["judgment-deny"], l.Size(), "w1", "w2")
	text, err := b.TlogProof()
	if err != nil {
		t.Fatal(err)
	}
	o.Engines = l.PlainEngines()
	hold(t, bundle.Check(text, o), 0)
	o.Engines = l.Engines()
	hold(t, bundle.Check(text, o), 3, want{"KEY-LISTED-AT", nc, report.CodeRegistryNotGiven})

	// The leaf that is carried has to be the one that is checked.
	env, err := dsse.ParseLeaf(l.Leaves[at["judgment-deny"]])
	if err != nil {
		t.Fatal(err)
	}
	env.Sigs[0].By[0] ^= 1
	other, err := env.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	p := *b.Proof
	p.Extra, p.HasExtra = other, true
	o.Engines = l.PlainEngines()
	hold(t, bundle.Check(p.Bytes(), o), 1, want{"form", no, report.CodeSignerMismatch})
}

func TestUnreadable(t *testing.T) {
	o := bundle.Options{Expect: []bundle.Expectation{{Key: "verdict", Value: "admit"}}, Require: []string{"disclosures"}}
	hold(t, bundle.Check(nil, o), 3, want{"form", nc, report.CodeInputEmpty}, want{"expect verdict", nc, report.CodeNotReached}, want{"disclosures", nc, report.CodeNotReached})
	hold(t, bundle.Check([]byte("{}"), o), 1, want{"form", no, report.CodeProofBundleMissing}, want{"policy", nc, report.CodeNotReached})
	hold(t, bundle.Check([]byte(`{"mediaType":"application/vnd.obstat.bundle.v9+json"}`), o), 3, want{"form", nc, report.CodeVersionUnknown})
	hold(t, bundle.Check([]byte("c2sp.org/tlog-proof@v1\n"), o), 1, want{"form", no, report.CodeTlogProofMalformed})
}

func TestExpect(t *testing.T) {
	l, at, o := one(t)
	b := l.Bundle(at["judgment-deny"], l.Size(), "w1", "w2")
	ask := func(key, value string) *report.Report {
		o.Expect = []bundle.Expectation{{Key: key, Value: value}}
		return bundle.Verify(b, o)
	}
	for key, value := range map[string]string{
		"kind": "judgment", "verdict": "deny", "class": "red", "verb": "exec", "principal": "engine", "run": "run-1",
		"seq": "3", "log": testlog.Origin, "index": "4", "level": "witnessed",
		"receipt":   decode(t, l, at["judgment-deny"]).ReceiptCID.String(),
		"statement": decode(t, l, at["judgment-deny"]).CID.String(),
	} {
		hold(t, ask(key, value), 0, want{"expect " + key, ok, report.CodeOK})
		hold(t, ask(key, value+"x"), 1, want{"expect " + key, no, report.CodeExpectationUnmet})
	}
	hold(t, ask("verdict", "admit"), 1, want{"expect verdict", no, report.CodeExpectationUnmet})
	hold(t, ask("disposition", "committed"), 1, want{"expect disposition", no, report.CodeExpectationUnmet})
	hold(t, ask("colour", "red"), 3, want{"expect colour", nc, report.CodeExpectationUnmet})

	// What is not known cannot be expected.
	o = bundle.Options{}
	hold(t, ask("principal", "engine"), 3, want{"expect principal", nc, report.CodeExpectationUnmet})
	for name, value := range map[string]string{"outcome-committed": "committed", "outcome-diverged": "diverged"} {
		l, at, o := one(t)
		o.Expect = []bundle.Expectation{{Key: "disposition", Value: value}, {Key: "kind", Value: "outcome"}}
		hold(t, bundle.Verify(l.Bundle(at[name], l.Size(), "w1", "w2"), o), 0)
	}
}

func TestRequire(t *testing.T) {
	l, at, o := one(t)
	b := l.Bundle(at["judgment-deny"], l.Size(), "w1", "w2")
	for name, code := range map[string]report.Code{
		"KEY-NOT-DISOWNED": report.CodeRegistryOpen, "REGISTRY-COMPLETE": report.CodeRegistryOpen,
		"disclosures": report.CodeNothingDisclosed, "signer": report.CodeNotReached,
	} {
		o.Require = []string{name}
		hold(t, bundle.Verify(b, o), 3, want{name, nc, code})
	}
}

// disclosing returns a log with a judgment that commits to a path, and its
// disclosure.
func disclosing(t *testing.T) (*testlog.Log, uint64, preview.Disclosure) {
	t.Helper()
	l := testlog.New(t)
	d, err := preview.NewDisclosure(preview.Salt{1}, preview.FieldPath, "0", preview.Text("docs/a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	run := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "run-1")
	run.Add(receipttest.Open(testlog.Origin))
	req := receipttest.Request("fs.write", "request")
	path := receipt.CommittedTo(receipt.Commitment(d.Commitment()))
	req.Changes = []receipt.Change{{Path: path, Edit: receipt.Create{After: receipttest.Commitment("after")}}}
	j := receipttest.Judgment("request", receipttest.Admit("rule-1"))
	j.Request = req
	return l, l.Append(l.Sign(run.Add(j), "engine")), d
}

func TestDisclosures(t *testing.T) {
	l, index, d := disclosing(t)
	o := bundle.Options{Policy: l.Policy("none"), Engines: l.Engines(), Require: []string{"disclosures"}}
	b := l.Bundle(index, l.Size())
	b.Disclosures = []preview.Disclosure{d}
	r := bundle.Check(b.Append(nil), o)
	hold(t, r, 0, want{"disclosures", ok, report.CodeOK})
	if !strings.Contains(r.Text(), `discloses   path 0 = "docs/a.txt" at /judgment/request/changes/0/path`) {
		t.Error(r.Text())
	}
	other, err := d.With(preview.Text("docs/b.txt"))
	if err != nil {
		t.Fatal(err)
	}
	b.Disclosures = append(b.Disclosures, other)
	hold(t, bundle.Check(b.Append(nil), o), 1, want{"disclosures", no, report.CodeDisclosureUnplaced})
	// Refuted counts without being required.
	o.Require = nil
	hold(t, bundle.Check(b.Append(nil), o), 1, want{"disclosures", no, report.CodeDisclosureUnplaced})

	doc := string(b.Append(nil))
	for old, c := range map[string]struct {
		with string
		code report.Code
	}{
		`"disclosures":[`: {`"disclosures":[0,`, ""},
		`"field":"path"`:  {`"field":"colour"`, report.CodePreviewDisclosure},
		`"name":"0"`:      {`"name":"00"`, report.CodePreviewDisclosure},
	} {
		_, err := bundle.Parse([]byte(strings.Replace(doc, old, c.with, 1)))
		if e, is := err.(*report.Error); !is || !strings.HasPrefix(e.Where, "/disclosures/0") || c.code != "" && e.Code != c.code {
			t.Errorf("%s: %v", old, err)
		}
	}
}

func TestCheckEnvelope(t *testing.T) {
	l, at, _ := one(t)
	leaf := l.Leaves[at["judgment-deny"]]
	env, err := dsse.ParseLeaf(leaf)
	if err != nil {
		t.Fatal(err)
	}
	plain := bundle.Options{Engines: l.PlainEngines()}
	chain := &bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size(), "w1", "w2")}
	registry := bundle.Options{Engines: l.Engines(), Policy: l.Policy("2", "w1", "w2"), Registry: chain}
	for _, data := range [][]byte{leaf, env.JSON()} {
		r := bundle.CheckEnvelope(data, plain)
		hold(t, r, 0, want{"form", ok, report.CodeOK}, want{"schema", ok, report.CodeOK}, want{"signature", ok, report.CodeOK}, want{"identity", ok, report.CodeOK}, want{"signer", ok, report.CodeOK})
		if !strings.HasPrefix(r.Headline(), "It says: DENIED") {
			t.Error(r.Headline())
		}
		hold(t, bundle.CheckEnvelope(data, registry), 0, want{"signer", ok, report.CodeOK})
		hold(t, bundle.CheckEnvelope(data, bundle.Options{}), 3, want{"signature", nc, report.CodeTrustNotGiven}, want{"signer", nc, report.CodeTrustNotGiven})
		hold(t, bundle.CheckEnvelope(data, bundle.Options{Engines: l.Engines()}), 3, want{"signer", nc, report.CodeRegistryNotGiven})
		hold(t, bundle.CheckEnvelope(data, bundle.Options{Engines: l.Engines(), Registry: chain}), 3, want{"signature", ok, report.CodeOK}, want{"signer", nc, report.CodePolicyNotGiven})
	}
	hold(t, bundle.CheckEnvelope(nil, plain), 3, want{"form", nc, report.CodeInputEmpty})
	hold(t, bundle.CheckEnvelope([]byte("{}"), plain), 1, want{"form", no, report.CodeDSSEMissing})
	hold(t, bundle.CheckEnvelope(append(leaf[:len(leaf):len(leaf)], 0), plain), 1, want{"form", no, report.CodeCBORTrailing})
	hold(t, bundle.CheckEnvelope(l.Bundle(1, l.Size()).Append(nil), plain), 1, want{"form", no, report.CodeDSSEMissing})

	wrong := l.Sign(decode(t, l, at["judgment-deny"]), "approver")
	hold(t, bundle.CheckEnvelope(wrong.JSON(), plain), 1, want{"signature", ok, report.CodeOK}, want{"signer", no, report.CodeKeyRole})
	stranger := l.Sign(decode(t, l, at["judgment-deny"]), "stranger")
	hold(t, bundle.CheckEnvelope(stranger.JSON(), plain), 3, want{"signature", nc, report.CodeKeyUnknown})
	env.Sigs[0].Sig[3] ^= 1
	hold(t, bundle.CheckEnvelope(env.JSON(), plain), 1, want{"signature", no, report.CodeSignatureInvalid})
	plain.Engines.Keys[0].From = 3
	hold(t, bundle.CheckEnvelope(leaf, plain), 3, want{"signer", nc, report.CodeKeyOutOfRange})

	l.Change(trust.Change{Retire: []trust.PublicKey{trust.PublicKey(testlog.Public("engine"))}})
	registry.Registry = &bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size())}
	hold(t, bundle.CheckEnvelope(leaf, registry), 3, want{"signature", ok, report.CodeOK}, want{"signer", nc, report.CodeKeyEnded})
	plain.Expect = []bundle.Expectation{{Key: "verdict", Value: "admit"}}
	hold(t, bundle.CheckEnvelope(leaf, plain), 1, want{"expect verdict", no, report.CodeExpectationUnmet})
}
