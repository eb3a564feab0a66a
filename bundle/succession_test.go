package bundle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

const heirOrigin = "example.com/log-2"

func heirOf(l *testlog.Log) *trust.Heir {
	return &trust.Heir{Log: heirOrigin, Key: trust.PublicKey(testlog.Public(heirOrigin)), Genesis: l.Genesis}
}

func chainOf(l *testlog.Log, size uint64) *bundle.Chain {
	return &bundle.Chain{Leaves: l.Chain(size), Checkpoint: l.Checkpoint(size)}
}

// check returns a check of a report.
func check(t testing.TB, r *report.Report, name string) report.Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %s in\n%s", name, r.Text())
	return report.Check{}
}

func wantCheck(t testing.TB, what string, r *report.Report, name string, a report.Answer, code report.Code) {
	t.Helper()
	if c := check(t, r, name); c.Answer != a || c.Code != code {
		t.Errorf("%s: %s is %v %s, want %v %s\n%s", what, name, c.Answer, c.Code, a, code, r.Text())
	}
}

// TestFrozenLog: what stood before the freeze keeps its proof, and nothing that
// a log shows behind it counts.
func TestFrozenLog(t *testing.T) {
	l := testlog.New(t)
	at := l.Examples()["judgment-admit"]
	before := l.Size()
	frozen := l.Freeze(nil)
	o := bundle.Options{Policy: l.Policy("none"), Engines: l.Engines()}
	if r := bundle.Verify(l.Bundle(at, l.Size()), o); r.Overall() != report.AllVerified {
		t.Errorf("the past is not kept:\n%s", r.Text())
	}
	older := l.Bundle(at, before)
	o.Registry = chainOf(l, l.Size())
	if r := bundle.Verify(older, o); r.Overall() != report.AllVerified {
		t.Errorf("a bundle from before, with the chain of today:\n%s", r.Text())
	}
	o.Registry = nil

	// The log lies: it goes on, with leaves that are genuine.
	env := l.Leaves[at]
	behind := l.AppendLeaf(env)
	r := bundle.Verify(l.Bundle(behind, l.Size()), o)
	wantCheck(t, "behind the freeze", r, bundle.CheckKeyListedAt, report.Refuted, report.CodeLogFrozen)
	hidden := l.Bundle(behind, l.Size())
	hidden.Registry = hidden.Registry[:1]
	if r := bundle.Verify(hidden, o); r.Overall() != report.AllVerified {
		t.Errorf("a freeze that is not there says nothing:\n%s", r.Text())
	}
	wantCheck(t, "behind the freeze, complete", bundle.Verify(hidden, o), bundle.CheckRegistryComplete, report.NotChecked, report.CodeRegistryOpen)
	o.Registry = chainOf(l, frozen+1)
	wantCheck(t, "behind the freeze that the caller knows", bundle.Verify(hidden, o), bundle.CheckKeyListedAt, report.Refuted, report.CodeLogFrozen)
}

// succession is a log that was handed over, one that goes on, and the evidence.
type succession struct {
	old, heir *testlog.Log
	evidence  *bundle.Succession
	at        uint64 // a receipt in the heir
}

// handOver makes one; freeze says how the old log ends.
func handOver(t testing.TB, freeze func(old *testlog.Log, heir *trust.Heir) *bundle.Succession) succession {
	t.Helper()
	old, heir := testlog.New(t), testlog.Named(t, heirOrigin)
	old.Examples()
	s := freeze(old, heirOf(heir))
	heir.Succeed(old.Final(), old.Checkpoint(old.Size()))
	at := heir.Examples()["judgment-admit"]
	s.Predecessor, s.Successor = chainOf(old, old.Size()), chainOf(heir, heir.Size())
	return succession{old, heir, s, at}
}

func byLeaf(old *testlog.Log, heir *trust.Heir) *bundle.Succession {
	old.Freeze(heir)
	return &bundle.Succession{}
}

func besideLeaf(old *testlog.Log, heir *trust.Heir) *bundle.Succession {
	named := old.FreezeBy(heir, "registrar-1", "registrar-2")
	old.Freeze(nil)
	return &bundle.Succession{Freeze: named.JSON()}
}

func byStatement(old *testlog.Log, heir *trust.Heir) *bundle.Succession {
	return &bundle.Succession{Freeze: old.FreezeBy(heir, "registrar-1", "registrar-2").JSON()}
}

func (s succession) options() bundle.Options {
	back, err := bundle.ParseSuccession(s.evidence.Append(nil))
	if err != nil {
		panic(err)
	}
	return bundle.Options{Policy: s.old.Policy("none"), Engines: s.old.Engines(), Successions: []*bundle.Succession{back}}
}

// TestSuccession: with the evidence, trust in a log reaches what its successor
// holds, in each of the states; without it nothing does.
func TestSuccession(t *testing.T) {
	for state, freeze := range map[bundle.State]func(*testlog.Log, *trust.Heir) *bundle.Succession{
		bundle.HandedOver: byLeaf, bundle.Superseded: byStatement, "handed over ": besideLeaf,
	} {
		s := handOver(t, freeze)
		b := s.heir.Bundle(s.at, s.heir.Size())
		o := s.options()
		r := bundle.Verify(b, o)
		if r.Overall() != report.AllVerified {
			t.Errorf("%s:\n%s", state, r.Text())
		}
		f, c := s.evidence.Follow(o.Policy, o.Engines)
		if f == nil || string(f.State) != string(state[:len(f.State)]) || f.Engines.Genesis != s.heir.Genesis {
			t.Fatalf("%s: %+v %+v", state, f, c)
		}
		if r := bundle.Verify(b, bundle.Options{Policy: f.Policy, Engines: f.Engines}); r.Overall() != report.AllVerified {
			t.Errorf("%s, under the trust that follows:\n%s", state, r.Text())
		}
		o.Registry = chainOf(s.heir, s.heir.Size())
		if r := bundle.CheckEnvelope(b.Envelope, o); r.Overall() != report.AllVerified {
			t.Errorf("%s, an envelope alone:\n%s", state, r.Text())
		}
		o.Registry, o.Successions = nil, nil
		if r := bundle.Verify(b, o); r.Overall() != report.AllNotChecked {
			t.Errorf("%s, without the evidence:\n%s", state, r.Text())
		}
	}
}

// TestSuccessionTwice: one log after another.
func TestSuccessionTwice(t *testing.T) {
	s := handOver(t, func(old *testlog.Log, heir *trust.Heir) *bundle.Succession {
		old.Freeze(heir)
		return &bundle.Succession{}
	})
	third := testlog.Named(t, "example.com/log-3")
	s.heir.Freeze(&trust.Heir{Log: "example.com/log-3", Key: trust.PublicKey(testlog.Public("example.com/log-3")), Genesis: third.Genesis})
	third.Succeed(s.heir.Final(), s.heir.Checkpoint(s.heir.Size()))
	at := third.Examples()["judgment-admit"]
	o := s.options()
	o.Successions = append(o.Successions, &bundle.Succession{Predecessor: chainOf(s.heir, s.heir.Size()), Successor: chainOf(third, third.Size())})
	for _, b := range []*bundle.Bundle{third.Bundle(at, third.Size()), s.heir.Bundle(s.at, s.heir.Size()), s.old.Bundle(5, s.old.Size())} {
		if r := bundle.Verify(b, o); r.Overall() != report.AllVerified {
			t.Errorf("%s", r.Text())
		}
	}
	o.Successions = o.Successions[1:]
	wantCheck(t, "the first hop left out", bundle.Verify(third.Bundle(at, third.Size()), o), bundle.CheckSuccession, report.NotChecked, report.CodeLogOther)
}

// TestSuccessionRefused: evidence that does not hold leads nowhere.
func TestSuccessionRefused(t *testing.T) {
	try := func(what string, freeze func(*testlog.Log, *trust.Heir) *bundle.Succession, edit func(*succession, *bundle.Options), a report.Answer, code report.Code) {
		t.Helper()
		s := handOver(t, freeze)
		o := s.options()
		if edit != nil {
			edit(&s, &o)
			o.Successions = []*bundle.Succession{s.evidence}
		}
		r := bundle.Verify(s.heir.Bundle(s.at, s.heir.Size()), o)
		wantCheck(t, what, r, bundle.CheckSuccession, a, code)
		if r.Overall() == report.AllVerified {
			t.Errorf("%s: verified\n%s", what, r.Text())
		}
	}
	with := func(edit func(*trust.Heir)) func(*testlog.Log, *trust.Heir) *bundle.Succession {
		return func(old *testlog.Log, h *trust.Heir) *bundle.Succession {
			other := *h
			edit(&other)
			return byLeaf(old, &other)
		}
	}
	try("frozen, and nobody is named", func(old *testlog.Log, _ *trust.Heir) *bundle.Succession { old.Freeze(nil); return &bundle.Succession{} },
		nil, report.NotChecked, report.CodeSuccessionOpen)
	try("not frozen", func(*testlog.Log, *trust.Heir) *bundle.Succession { return &bundle.Succession{} }, nil, report.NotChecked, report.CodeSuccessionOpen)
	try("another key", with(func(h *trust.Heir) { h.Key = trust.PublicKey(testlog.Public("x")) }), nil, report.Refuted, report.CodeCheckpointUnsigned)
	try("another genesis", with(func(h *trust.Heir) { h.Genesis = dagcbor.Sum([]byte{0xa0}) }), nil, report.Refuted, report.CodeRegistryPin)
	try("another log", with(func(h *trust.Heir) { h.Log = "example.com/log-9" }), nil, report.Refuted, report.CodeSuccessionMismatch)
	try("by one registrar of two", func(old *testlog.Log, h *trust.Heir) *bundle.Succession {
		return &bundle.Succession{Freeze: old.FreezeBy(h, "registrar-1").JSON()}
	}, nil, report.Refuted, report.CodeRegistryQuorum)
	try("by the engine", func(old *testlog.Log, h *trust.Heir) *bundle.Succession {
		return &bundle.Succession{Freeze: old.FreezeBy(h, "engine").JSON()}
	}, nil, report.Refuted, report.CodeSignatureNoKey)
	try("a second one is named beside the leaf", func(old *testlog.Log, h *trust.Heir) *bundle.Succession {
		first := *h
		first.Log = "example.com/log-9"
		named := old.FreezeBy(h, "registrar-1", "registrar-2")
		old.Freeze(&first)
		return &bundle.Succession{Freeze: named.JSON()}
	}, nil, report.Refuted, report.CodeLogFrozen)
	try("of an earlier registry", func(old *testlog.Log, h *trust.Heir) *bundle.Succession {
		named := old.FreezeBy(h, "registrar-1", "registrar-2")
		old.Change(trust.Change{Add: []trust.Addition{testlog.Add("x", trust.Engine)}})
		return &bundle.Succession{Freeze: named.JSON()}
	}, nil, report.Refuted, report.CodeRegistryPrev)
	try("another tree", byStatement, func(s *succession, _ *bundle.Options) {
		s.evidence.Predecessor = chainOf(s.old, s.old.Size()-1)
	}, report.Refuted, report.CodeSuccessionMismatch)
	try("a tree that goes on behind the freeze", byLeaf, func(s *succession, _ *bundle.Options) {
		s.old.AppendLeaf(s.old.Leaves[3])
		s.evidence.Predecessor = chainOf(s.old, s.old.Size())
	}, report.Refuted, report.CodeLogFrozen)
	try("a successor that does not say so", byLeaf, func(s *succession, _ *bundle.Options) {
		s.evidence.Successor.Leaves = s.evidence.Successor.Leaves[:1]
	}, report.NotChecked, report.CodeSuccessionOpen)
	try("without a policy", byLeaf, func(_ *succession, o *bundle.Options) { o.Policy = nil }, report.NotChecked, report.CodePolicyNotGiven)
	try("a quorum that is not met", byLeaf, func(s *succession, o *bundle.Options) { o.Policy = s.old.Policy("any", "w1") }, report.NotChecked, report.CodeQuorumUnmet)
	try("plain keys", byLeaf, func(s *succession, o *bundle.Options) { o.Engines = s.old.PlainEngines() }, report.NotChecked, report.CodeTrustMode)
	try("without trust", byLeaf, func(_ *succession, o *bundle.Options) { o.Engines = nil }, report.NotChecked, report.CodeTrustNotGiven)
}

// TestEnded: leaves that a log shows behind the tree at which its registrars
// ended it do not count for whoever knows.
func TestEnded(t *testing.T) {
	s := handOver(t, byStatement)
	o := s.options()
	end := s.old.Size()
	if r := bundle.Verify(s.old.Bundle(end-1, end), o); r.Overall() != report.AllVerified {
		t.Errorf("the last leaf:\n%s", r.Text())
	}
	behind := s.old.AppendLeaf(s.old.Leaves[5])
	wantCheck(t, "behind it", bundle.Verify(s.old.Bundle(behind, s.old.Size()), o), bundle.CheckSuccession, report.Refuted, report.CodeLogEnded)
	if r := bundle.Verify(s.old.Bundle(5, s.old.Size()), o); r.Overall() != report.AllVerified {
		t.Errorf("an earlier leaf, in a later tree:\n%s", r.Text())
	}
	o.Successions = nil
	if r := bundle.Verify(s.old.Bundle(behind, s.old.Size()), o); r.Overall() != report.AllVerified {
		t.Errorf("whoever does not know:\n%s", r.Text())
	}
}

// TestSuccessorPlace: a successor statement stands at leaf 1, once, by the
// registrars of its own log.
func TestSuccessorPlace(t *testing.T) {
	old := testlog.New(t)
	old.Freeze(nil)
	s := &trust.Successor{Log: heirOrigin, Predecessor: old.Final(), Checkpoint: old.Checkpoint(old.Size())}
	sign := func(labels ...string) func(*testlog.Log, uint64) error {
		return func(l *testlog.Log, at uint64) error {
			env, err := trust.SignSuccessor(s, testlog.Key(labels[0]), testlog.Key(labels[1]))
			if err != nil {
				return err
			}
			_, err = l.Registry.Apply(env, at)
			return err
		}
	}
	both := sign("registrar-1", "registrar-2")
	fresh, changed, done := testlog.Named(t, heirOrigin), testlog.Named(t, heirOrigin), testlog.Named(t, heirOrigin)
	changed.Change(trust.Change{})
	done.Succeed(s.Predecessor, s.Checkpoint)
	for what, c := range map[string]struct {
		err  error
		code report.Code
	}{
		"at leaf 1":                    {both(fresh, 1), ""},
		"at leaf 2":                    {both(fresh, 2), report.CodeRegistryPlace},
		"behind a change":              {both(changed, 2), report.CodeRegistryPlace},
		"twice":                        {both(done, 1), report.CodeRegistryPlace},
		"by a registrar and an engine": {sign("registrar-1", "engine")(fresh, 1), report.CodeRegistrySigner},
		"in another log":               {both(testlog.New(t), 1), report.CodeRegistryLog},
	} {
		if got := report.CodeOf(c.err); c.err != nil && got != c.code || c.err == nil && c.code != "" {
			t.Errorf("%s: %v, want %s", what, c.err, c.code)
		}
	}
	s.Predecessor.Root = merkle.Hash{1}
	if _, err := s.Encode(); report.CodeOf(err) != report.CodeRegistrySchema {
		t.Errorf("a note of another tree: %v", err)
	}
}

// FuzzParseSuccession: what parses is written as it was read, and following it
// never panics.
func FuzzParseSuccession(f *testing.F) {
	for _, freeze := range []func(*testlog.Log, *trust.Heir) *bundle.Succession{byLeaf, byStatement} {
		s := handOver(f, freeze)
		f.Add(s.evidence.Append(nil))
	}
	l := testlog.New(f)
	policy, engines := l.Policy("none"), l.Engines()
	f.Fuzz(func(t *testing.T, doc []byte) {
		s, err := bundle.ParseSuccession(doc)
		if err != nil {
			return
		}
		back, err := bundle.ParseSuccession(s.Append(nil))
		if err != nil || cmp.Diff(s, back, cmpopts.EquateEmpty()) != "" {
			t.Fatalf("%v\n%s", err, cmp.Diff(s, back))
		}
		_, _ = s.Follow(policy, engines)
	})
}
