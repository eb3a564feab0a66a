package audit_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

func chainOf(l *testlog.Log, size uint64) *bundle.Chain {
	return &bundle.Chain{Leaves: l.Chain(size), Checkpoint: l.Checkpoint(size)}
}

func revoke(from uint64) trust.Change {
	return trust.Change{Revoke: []trust.Revocation{{Key: trust.PublicKey(testlog.Public("engine")), From: from, HasFrom: true}}}
}

// TestCallersChain: an older copy of a log says nothing of what was disowned
// since; a chain by the caller does, and only one that goes on from the log's own.
func TestCallersChain(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	size := l.Size()
	o := audit.Options{Policy: l.Policy("none"), Engines: l.Engines(), Require: []string{"law-1-judged-first"}}
	hold(t, run(t, l.Site(size), o), 0, want{"law-1-judged-first", ok, "OK"})
	l.Change(revoke(0))

	o.Registry = chainOf(l, l.Size())
	r := run(t, l.Site(size), o)
	hold(t, r, 3, want{audit.CheckRegistry, ok, "OK"}, want{"law-1-judged-first", nc, report.CodeLawDisowned})
	if !strings.Contains(r.Text(), "from leaf 0 on") || !strings.Contains(r.Text(), "goes on to version 1") {
		t.Errorf("the report does not say so:\n%s", r.Text())
	}

	o.Registry = chainOf(testlog.Named(t, "example.com/other"), 1)
	r = run(t, l.Site(size), o)
	hold(t, r, 0, want{audit.CheckRegistry, ok, "OK"})
	if len(r.Ignored) != 1 {
		t.Errorf("a chain of another log is not said to be ignored:\n%s", r.Text())
	}

	// A registry leaf in the chain that the log's own tree has not.
	other := testlog.New(t)
	other.Change(revoke(0))
	for other.Size() < size {
		other.AppendLeaf(l.Leaves[other.Size()])
	}
	o.Registry = chainOf(other, other.Size()-1)
	hold(t, run(t, l.Site(size), o), 1, want{audit.CheckRegistry, no, report.CodeRegistryDiverged})
	o.Registry = chainOf(other, size)
	hold(t, run(t, l.Site(size), o), 1, want{audit.CheckRegistry, no, report.CodeLogForked})
	o.Registry.Leaves[1].Envelope = o.Registry.Leaves[0].Envelope
	hold(t, run(t, l.Site(size), audit.Options{Policy: o.Policy, Engines: o.Engines, Registry: &bundle.Chain{Leaves: o.Registry.Leaves, Checkpoint: other.Checkpoint(size - 1)}}), 1,
		want{audit.CheckRegistry, no, report.CodeProofInvalid})

	o.Registry, o.Engines = chainOf(l, l.Size()), l.PlainEngines()
	if r := run(t, l.Site(size), o); len(r.Ignored) != 1 {
		t.Errorf("plain keys and a chain:\n%s", r.Text())
	}
}

// TestFrozen: a log ends with the leaf that froze it, and one that goes on is
// refuted.
func TestFrozen(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	at := l.Freeze(nil)
	o := audit.Options{Policy: l.Policy("none"), Engines: l.Engines()}
	r := run(t, l.Site(l.Size()), o)
	hold(t, r, 0, want{audit.CheckRegistry, ok, "OK"})
	if !strings.Contains(r.Text(), "nobody is named who goes on") {
		t.Errorf("the report does not say that the log is frozen:\n%s", r.Text())
	}
	l.AppendLeaf(l.Leaves[at-1])
	hold(t, run(t, l.Site(l.Size()), o), 1, want{audit.CheckRegistry, no, report.CodeLogFrozen})
}

// TestFollowed: under the trust in the first log the second is audited, where the
// evidence says that it goes on; and the first is held to the size at which it
// ended.
func TestFollowed(t *testing.T) {
	const second = "example.com/log-2"
	old, heir := testlog.New(t), testlog.Named(t, second)
	old.Examples()
	z := old.FreezeBy(&trust.Heir{Log: second, Key: trust.PublicKey(testlog.Public(second)), Genesis: heir.Genesis}, "registrar-1", "registrar-2")
	heir.Succeed(old.Final(), old.Checkpoint(old.Size()))
	heir.Examples()
	s := &bundle.Succession{Predecessor: chainOf(old, old.Size()), Freeze: z.JSON(), Successor: chainOf(heir, heir.Size())}

	o := audit.Options{Policy: old.Policy("none"), Engines: old.Engines()}
	hold(t, run(t, heir.Site(heir.Size()), o), 3, want{audit.CheckKeys, nc, report.CodeLogOther})
	o.Successions = []*bundle.Succession{s}
	r := run(t, heir.Site(heir.Size()), o)
	hold(t, r, 0, want{bundle.CheckSuccession, ok, "OK"}, want{audit.CheckKeys, ok, "OK"})
	if !strings.Contains(r.Text(), "example.com/log, which ended with") {
		t.Errorf("the report does not name the predecessor:\n%s", r.Text())
	}
	hold(t, run(t, old.Site(old.Size()), o), 0, want{bundle.CheckSuccession, ok, "OK"})
	old.AppendLeaf(old.Leaves[5])
	r = run(t, old.Site(old.Size()), o)
	hold(t, r, 1, want{bundle.CheckSuccession, no, report.CodeLogEnded})

	o.Engines = nil
	hold(t, run(t, heir.Site(heir.Size()), o), 3, want{bundle.CheckSuccession, nc, report.CodeTrustNotGiven})
}
