package proposal_test

import (
	"bytes"
	"crypto/ed25519"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/proposal"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

var update = flag.Bool("update", false, "write the golden files anew")

func wantCode(t *testing.T, what string, err error, code report.Code) {
	t.Helper()
	if report.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// world is a log with a receipt of each kind, and whoever trusts it.
func world(t testing.TB) (*testlog.Log, *bundle.Chain, proposal.Trust) {
	l := testlog.New(t, testlog.Add("registrar-3", trust.Registrar))
	l.Examples()
	chain := &bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size())}
	return l, chain, proposal.Trust{Engines: l.Engines(), Policy: l.Policy("none")}
}

func propose(t testing.TB, chain *bundle.Chain, trusted proposal.Trust, c trust.Change) *proposal.Opened {
	t.Helper()
	p, err := proposal.New(chain, trusted, c)
	if err != nil {
		t.Fatal(err)
	}
	return reopen(t, p, trusted)
}

// reopen carries a proposal to another machine.
func reopen(t testing.TB, p *proposal.Proposal, trusted proposal.Trust) *proposal.Opened {
	t.Helper()
	back, err := proposal.Parse(p.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, back, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("it does not read back (-written +read):\n%s", diff)
	}
	o, err := back.Open(trusted)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func change() trust.Change {
	return trust.Change{
		Threshold: 1,
		Add:       []trust.Addition{testlog.Add("engine-2", trust.Engine)},
		Retire:    []trust.PublicKey{trust.PublicKey(testlog.Public("registrar-1"))},
		Revoke:    []trust.Revocation{{Key: trust.PublicKey(testlog.Public("engine")), From: 4, HasFrom: true}},
	}
}

// TestCeremony: signatures gather one after the other, or on two copies; the
// statement is one that the log takes.
func TestCeremony(t *testing.T) {
	l, chain, trusted := world(t)
	o := propose(t, chain, trusted, change())
	if o.Complete() {
		t.Error("complete without a signature")
	}
	_, err := o.Envelope()
	wantCode(t, "without a signature", err, report.CodeRegistryQuorum)
	one, two := reopen(t, o.Proposal, trusted), reopen(t, o.Proposal, trusted)
	for key, o := range map[string]*proposal.Opened{"registrar-1": one, "registrar-2": two} {
		if err := o.Sign(testlog.Key(key)); err != nil {
			t.Fatal(err)
		}
		if err := o.Sign(testlog.Key(key)); err != nil || len(o.Sigs) != 1 {
			t.Errorf("signed again: %v, %d signatures", err, len(o.Sigs))
		}
		if o.Complete() {
			t.Error("complete with one of two")
		}
	}
	one = reopen(t, one.Proposal, trusted)
	if err := one.Merge(two.Proposal); err != nil || !one.Complete() {
		t.Fatalf("%v, complete %v", err, one.Complete())
	}
	if before, after := one.Counts(); before != 2 || after != 1 {
		t.Errorf("%d before, %d after: the retired one counts before only", before, after)
	}
	env, err := reopen(t, one.Proposal, trusted).Envelope()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Registry.Apply(env, l.Size()); err != nil {
		t.Errorf("the log does not take it: %v", err)
	}
}

// TestText holds what a registrar reads.
func TestText(t *testing.T) {
	_, chain, trusted := world(t)
	o := propose(t, chain, trusted, change())
	if err := o.Sign(testlog.Key("registrar-2")); err != nil {
		t.Fatal(err)
	}
	blind := reopen(t, o.Proposal, proposal.Trust{Engines: trusted.Engines})
	genesis, err := proposal.NewGenesis("example.com/new", 1, []trust.Addition{testlog.Add("registrar-1", trust.Registrar)})
	if err != nil {
		t.Fatal(err)
	}
	nothing := propose(t, chain, trusted, trust.Change{})
	ends := ending(t)
	text := strings.Join([]string{
		o.Text(), blind.Text(), reopen(t, genesis, proposal.Trust{}).Text(), nothing.Text(),
		ends.freeze.Text(), ends.successor.Text(), ends.beside.Text(),
	}, "\n--\n\n")
	file := filepath.Join("testdata", "text.txt")
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

const second = "example.com/log-2"

// ending are the proposals with which a log ends and another goes on.
func ending(t testing.TB) (out struct{ freeze, successor, beside *proposal.Opened }) {
	t.Helper()
	l, chain, trusted := world(t)
	heir := testlog.Named(t, second)
	named := &trust.Heir{Log: second, Key: trust.PublicKey(testlog.Public(second)), Genesis: heir.Genesis}
	made := func(p *proposal.Proposal, err error) func(proposal.Trust) *proposal.Opened {
		if err != nil {
			t.Fatal(err)
		}
		return func(tr proposal.Trust) *proposal.Opened { return reopen(t, p, tr) }
	}
	out.freeze = made(proposal.NewFreeze(chain, trusted, named))(trusted)
	l.Freeze(nil)
	frozen := &bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size())}
	out.beside = made(proposal.NewFreeze(frozen, trusted, named))(trusted)
	ofHeir := proposal.Trust{Engines: &trust.Engines{Origin: second, Genesis: heir.Genesis}}
	first := &bundle.Chain{Leaves: heir.Chain(1), Checkpoint: heir.Checkpoint(1)}
	out.successor = made(proposal.NewSuccessor(first, ofHeir, frozen, trusted))(ofHeir)
	return out
}

// TestEnding: freezes and successor statements gather signatures as changes do,
// and what comes of it is what a log or a verifier takes.
func TestEnding(t *testing.T) {
	ends := ending(t)
	for what, o := range map[string]*proposal.Opened{"freeze": ends.freeze, "beside": ends.beside, "successor": ends.successor} {
		if (what == "beside") != o.Beside() {
			t.Errorf("%s: beside a log %v", what, o.Beside())
		}
		for i, key := range []string{"registrar-1", "registrar-2"} {
			_, err := o.Envelope()
			wantCode(t, fmt.Sprintf("%s with %d signatures", what, i), err, report.CodeRegistryQuorum)
			if err := o.Sign(testlog.Key(key)); err != nil {
				t.Fatal(err)
			}
		}
		wantCode(t, what+", signed by an engine", o.Sign(testlog.Key("engine")), report.CodeRegistrySigner)
		env, err := o.Envelope()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		_, err = o.Before.Apply(env, o.Before.Head.Size)
		if what == "beside" {
			wantCode(t, "by a log that is frozen", err, report.CodeLogFrozen)
		} else if err != nil {
			t.Errorf("%s: the log does not take it: %v", what, err)
		}
	}
	p := *ends.freeze.Proposal
	p.Chain = nil
	_, err := p.Open(proposal.Trust{})
	wantCode(t, "a freeze of no registry", err, report.CodeProposalMalformed)
	p.Chain = ends.beside.Chain
	p.Payload = must((&trust.Freeze{Log: testlog.Origin, Registry: ends.freeze.Freeze.Registry}).Encode())
	_, err = p.Open(proposal.Trust{Engines: &trust.Engines{Origin: testlog.Origin, Genesis: ends.beside.Before.Statements()[0]}})
	wantCode(t, "a second freeze that names nobody", err, report.CodeLogFrozen)
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// TestOpenRefuses: what a file says of itself is worth nothing.
func TestOpenRefuses(t *testing.T) {
	l, chain, trusted := world(t)
	o := propose(t, chain, trusted, change())
	if err := o.Sign(testlog.Key("registrar-1")); err != nil {
		t.Fatal(err)
	}
	other := testlog.New(t)
	try := func(what string, code report.Code, trusted proposal.Trust, edit func(*proposal.Proposal)) {
		p, err := proposal.Parse(o.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		edit(p)
		_, err = p.Open(trusted)
		wantCode(t, what, err, code)
	}
	same := func(*proposal.Proposal) {}
	try("no trust", report.CodeTrustNotGiven, proposal.Trust{}, same)
	try("plain keys", report.CodeTrustMode, proposal.Trust{Engines: l.PlainEngines()}, same)
	try("another genesis", report.CodeRegistryPin, proposal.Trust{Engines: other.Engines()}, same)
	try("a policy of another key", report.CodeCheckpointSignatureInvalid, trusted, func(p *proposal.Proposal) {
		p.Chain.Checkpoint = bytes.Replace(p.Chain.Checkpoint, []byte("A"), []byte("B"), 1)
	})
	try("the chain of another log", report.CodeRegistryPin, trusted, func(p *proposal.Proposal) {
		p.Chain = &bundle.Chain{Leaves: other.Chain(1), Checkpoint: other.Checkpoint(1)}
	})
	try("the chain cut away, as if it were a genesis", report.CodeRegistryVersion, proposal.Trust{}, func(p *proposal.Proposal) { p.Chain = nil })
	try("a signature changed", report.CodeSignatureInvalid, trusted, func(p *proposal.Proposal) { p.Sigs[0].Sig[7] ^= 1 })
	try("a signature of an engine", report.CodeRegistrySigner, trusted, func(p *proposal.Proposal) {
		env, err := dsse.Sign(p.Type, p.Payload, testlog.Key("engine"))
		if err != nil {
			t.Fatal(err)
		}
		p.Sigs = env.Sigs
	})
	try("another type", report.CodePayloadType, trusted, func(p *proposal.Proposal) { p.Type = dsse.ReceiptType })
	try("another statement under the signatures", report.CodeRegistryState, trusted, func(p *proposal.Proposal) {
		s, err := trust.DecodeStatement(p.Payload)
		if err != nil {
			t.Fatal(err)
		}
		s.Revoke[0].From++
		if p.Payload, err = s.Encode(); err != nil {
			t.Fatal(err)
		}
	})
	l.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-3", trust.Engine)}})
	later := &bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size())}
	try("a registry that has gone on", report.CodeRegistryPrev, trusted, func(p *proposal.Proposal) { p.Chain = later })

	wantCode(t, "an engine's key", o.Sign(testlog.Key("engine")), report.CodeRegistrySigner)
	wantCode(t, "a stranger's key", o.Sign(testlog.Key("stranger")), report.CodeRegistrySigner)
	two := propose(t, chain, trusted, trust.Change{})
	wantCode(t, "two statements", o.Merge(two.Proposal), report.CodeProposalOther)
}

// TestGenesis: a genesis needs nobody's trust, and is the one that is pinned
// where somebody has it.
func TestGenesis(t *testing.T) {
	p, err := proposal.NewGenesis("example.com/new", 2, []trust.Addition{
		testlog.Add("registrar-1", trust.Registrar), testlog.Add("registrar-2", trust.Registrar), testlog.Add("engine", trust.Engine),
	})
	if err != nil {
		t.Fatal(err)
	}
	o := reopen(t, p, proposal.Trust{})
	for _, key := range []string{"registrar-1", "registrar-2"} {
		if err := o.Sign(testlog.Key(key)); err != nil {
			t.Fatal(err)
		}
	}
	pinned := proposal.Trust{Engines: &trust.Engines{Origin: "example.com/new", Genesis: dagcbor.Sum(p.Payload)}}
	env, err := reopen(t, o.Proposal, pinned).Envelope()
	if err != nil || len(env.Sigs) != 2 {
		t.Fatalf("%v, %v", env, err)
	}
	_, err = p.Open(proposal.Trust{Engines: &trust.Engines{Origin: "example.com/new", Genesis: dagcbor.Sum([]byte{0xa0})}})
	wantCode(t, "another genesis than the pinned one", err, report.CodeRegistryPin)
}

// TestHistory: what a folded chain says of its versions.
func TestHistory(t *testing.T) {
	l, _, trusted := world(t)
	at := l.Change(trust.Change{Retire: []trust.PublicKey{trust.PublicKey(testlog.Public("engine"))}})
	f, err := proposal.Fold(&bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size())}, trusted)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Versions) != 2 || f.Versions[1].Leaf != at || len(f.Versions[1].Changes) != 1 || !strings.HasPrefix(f.Versions[1].Changes[0], "- engine") {
		t.Errorf("%+v", f.Versions)
	}
	ids := []dsse.KeyID{testlog.ID("registrar-1"), testlog.ID("registrar-2")}
	slices.SortFunc(ids, func(a, b dsse.KeyID) int { return bytes.Compare(a[:], b[:]) })
	if !slices.Equal(f.Versions[1].Signers, ids) {
		t.Errorf("signed by %v", f.Versions[1].Signers)
	}
	if leaf, ok := f.Leaf(l.Registry.Head()); !ok || leaf != at {
		t.Errorf("its head at %d %v", leaf, ok)
	}
	if _, ok := f.Leaf(dagcbor.Sum([]byte{0xa0})); ok {
		t.Error("a statement that is not there")
	}
}

// FuzzParse: a file that parses is written as it was read, and none panics, here
// or when it is opened.
func FuzzParse(f *testing.F) {
	l := testlog.New(f)
	chain := &bundle.Chain{Leaves: l.Chain(1), Checkpoint: l.Checkpoint(1)}
	trusted := proposal.Trust{Engines: l.Engines()}
	o := propose(f, chain, trusted, trust.Change{Add: []trust.Addition{testlog.Add("x", trust.Engine)}})
	f.Add(o.Bytes())
	if err := o.Sign(testlog.Key("registrar-1")); err != nil {
		f.Fatal(err)
	}
	f.Add(o.Bytes())
	g, err := proposal.NewGenesis("example.com/new", 1, []trust.Addition{testlog.Add("registrar-1", trust.Registrar)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(g.Bytes())
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		p, err := proposal.Parse(doc)
		if err != nil {
			return
		}
		back, err := proposal.Parse(p.Bytes())
		if err != nil || cmp.Diff(p, back, cmpopts.EquateEmpty()) != "" {
			t.Fatalf("%v\n%s", err, cmp.Diff(p, back, cmpopts.EquateEmpty()))
		}
		o, err := p.Open(trusted)
		if err != nil {
			return
		}
		// Whatever came, what is shown is signed by nobody but registrars.
		for _, s := range o.Sigs {
			pub, ok := o.After.Public(s.By)
			if !ok || !ed25519.Verify(pub, dsse.PAE(o.Type, o.Payload), s.Sig[:]) {
				t.Fatalf("opened with a signature that does not hold: %s", s.By)
			}
		}
		_ = o.Text()
	})
}
