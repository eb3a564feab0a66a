package audit_test

import (
	"bytes"
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// world is a log with three registrars of whom two sign, while its history is made.
type world struct {
	*testlog.Log
	run *receipttest.Run
}

// receipt appends a judgment; that of another key than the engine's is in a run of
// its own.
func (w *world) receipt(label string) uint64 {
	if label != "engine" {
		run := receipttest.NewRun(receipt.KeyID(testlog.ID(label)), "run-2")
		w.Append(w.Sign(run.Add(receipttest.Open(testlog.Origin)), label))
		return w.Append(w.Sign(run.Add(receipttest.Judgment("request", receipttest.Admit("rule-1"))), label))
	}
	return w.Append(w.Sign(w.run.Add(receipttest.Judgment("request", receipttest.Admit("rule-1"))), label))
}

func key(label string) trust.PublicKey { return trust.PublicKey(testlog.Public(label)) }

func retire(labels ...string) (c trust.Change) {
	for _, l := range labels {
		c.Retire = append(c.Retire, key(l))
	}
	return c
}

// registryLeaf is a registry leaf that was appended, void or not.
type registryLeaf struct {
	index uint64
	env   *dsse.Envelope
}

// void appends a statement that the registry does not take: the next one, edited.
// It is signed as labels say, by two registrars where they say nothing.
func (w *world) void(t *testing.T, edit func(*trust.Statement), labels ...string) *registryLeaf {
	t.Helper()
	s, err := w.Registry.Next(trust.Change{Add: []trust.Addition{testlog.Add("x", trust.Engine)}})
	if err != nil {
		t.Fatal(err)
	}
	edit(s)
	payload, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if labels == nil {
		labels = []string{"registrar-1", "registrar-2"}
	}
	var keys []ed25519.PrivateKey
	for _, l := range labels {
		keys = append(keys, testlog.Key(l))
	}
	env, err := dsse.SignMany(dsse.RegistryType, payload, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return &registryLeaf{w.Append(env), env}
}

// TestSemantics is the table of what the registry makes of a leaf, in the bundle
// of that leaf with everything that the log has, and in an audit of that log.
func TestSemantics(t *testing.T) {
	const listed, notDisowned, keys, registry = bundle.CheckKeyListedAt, bundle.CheckKeyNotDisowned, audit.CheckKeys, audit.CheckRegistry
	adding := func(name string, key trust.PublicKey, role trust.Role) func(*trust.Statement) {
		return func(s *trust.Statement) { s.Add = []trust.Addition{{Key: key, Name: name, Role: role}} }
	}
	nothing := func(*trust.Statement) {}
	past := func(w *world) uint64 { return w.receipt("engine") }
	// broken is what both say of a chain with a statement that does not hold.
	broken := func(code report.Code) (of, in want) { return want{listed, no, code}, want{registry, no, code} }

	type row struct {
		name    string
		history func(t *testing.T, w *world) (at uint64, void *registryLeaf)
		bundle  want
		audit   want
	}
	good := func(name string, bundle, audit want, history func(w *world) uint64) row {
		return row{name, func(_ *testing.T, w *world) (uint64, *registryLeaf) { return history(w), nil }, bundle, audit}
	}
	void := func(name string, code report.Code, edit func(*trust.Statement), labels ...string) row {
		of, in := broken(code)
		return row{name, func(t *testing.T, w *world) (uint64, *registryLeaf) {
			at := past(w)
			return at, w.void(t, edit, labels...)
		}, of, in}
	}
	threshold := func(name string, n int, labels ...string) row {
		of, in := broken(report.CodeRegistryQuorum)
		return row{name, func(t *testing.T, w *world) (uint64, *registryLeaf) {
			at := past(w)
			s, err := w.Registry.Next(trust.Change{Threshold: n})
			if err != nil {
				t.Fatal(err)
			}
			return at, w.void(t, func(x *trust.Statement) { *x = *s }, labels...)
		}, of, in}
	}
	isListed, allKeys := want{listed, ok, "OK"}, want{keys, ok, "OK"}
	forged, forgedKeys := want{listed, no, report.CodeKeyNotListed}, want{keys, no, report.CodeKeyNotListed}
	disowned := want{notDisowned, no, report.CodeKeyDisowned}
	rows := []row{
		good("the honest past of a retired key is kept", isListed, allKeys, func(w *world) uint64 {
			at := past(w)
			w.Change(retire("engine"))
			return at
		}),
		good("the honest past of a stolen key is kept", isListed, allKeys, func(w *world) uint64 {
			at := past(w)
			w.Change(revoke(at + 1))
			return at
		}),
		good("and is not disowned", want{notDisowned, ok, "OK"}, allKeys, func(w *world) uint64 {
			at := past(w)
			w.Change(revoke(at + 1))
			return at
		}),
		good("the forged present of a retired key is refused", forged, forgedKeys, func(w *world) uint64 {
			w.Change(retire("engine"))
			return w.receipt("engine")
		}),
		good("the forged present of a stolen key is refused", forged, forgedKeys, func(w *world) uint64 {
			w.Change(trust.Change{Revoke: []trust.Revocation{{Key: key("engine")}}})
			return w.receipt("engine")
		}),
		good("a key signs nothing before it is listed", forged, forgedKeys, func(w *world) uint64 {
			at := w.receipt("engine-2")
			w.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}})
			return at
		}),
		good("nor in the leaf that lists it, but behind", isListed, allKeys, func(w *world) uint64 {
			w.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}})
			return w.receipt("engine-2")
		}),
		good("retroactive from an index: disowned, listed, and counted", disowned, allKeys, func(w *world) uint64 {
			at := past(w)
			w.Change(revoke(at))
			return at
		}),
		good("a revocation is lowered, and reaches further back", disowned, allKeys, func(w *world) uint64 {
			at := past(w)
			w.Change(revoke(at + 1))
			w.Change(revoke(at))
			return at
		}),
		good("a lost registrar's key is retired by the others", isListed, allKeys, func(w *world) uint64 {
			w.ChangeBy(retire("registrar-1"), "registrar-2", "registrar-3")
			return past(w)
		}),
		good("what a registrar signed before he was revoked stands", isListed, allKeys, func(w *world) uint64 {
			w.ChangeBy(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}}, "registrar-1", "registrar-2")
			w.ChangeBy(trust.Change{Revoke: []trust.Revocation{{Key: key("registrar-1")}}}, "registrar-2", "registrar-3")
			return w.receipt("engine-2")
		}),
		good("the threshold is raised and lowered by enough", isListed, allKeys, func(w *world) uint64 {
			w.ChangeBy(trust.Change{Threshold: 3}, "registrar-1", "registrar-2", "registrar-3")
			w.ChangeBy(trust.Change{Threshold: 1}, "registrar-1", "registrar-2", "registrar-3")
			w.ChangeBy(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}}, "registrar-3")
			return w.receipt("engine-2")
		}),

		void("a fork: a second statement behind the genesis", report.CodeRegistryPrev, func(s *trust.Statement) { s.Prev = dagcbor.Sum([]byte{0xa0}) }),
		void("for another log", report.CodeRegistryLog, func(s *trust.Statement) { s.Log = "example.com/other" }),
		void("a key under a second name", report.CodeRegistryKeyReused, adding("somebody", key("engine"), trust.Engine)),
		void("a key in a second role", report.CodeRegistryKeyReused, adding("engine", key("engine"), trust.Registrar)),
		void("engine and approver in one principal", report.CodeRegistryRole, adding("approver", key("x"), trust.Engine)),
		void("a key of small order", report.CodeRegistryKeyWeak, adding("x", trust.PublicKey{1}, trust.Engine)),
		void("a key that is not canonical", report.CodeRegistryKeyWeak, adding("x", trust.PublicKey(bytes.Repeat([]byte{0xff}, 32)), trust.Engine)),
		void("the log's own key", report.CodeRegistryKeyForeign, adding("x", key("log"), trust.Engine)),
		void("a witness's key", report.CodeRegistryKeyForeign, adding("x", key("w1"), trust.Engine)),
		void("a registrar is revoked retroactively", report.CodeRegistryStatus, func(s *trust.Statement) {
			s.Revoke = []trust.Revocation{{Key: key("registrar-1"), From: 1, HasFrom: true}}
		}),
		void("another state than the one that follows", report.CodeRegistryState, func(s *trust.Statement) { s.State[3] ^= 1 }),
		{"by a registrar who was revoked", func(t *testing.T, w *world) (uint64, *registryLeaf) {
			at := past(w)
			w.Change(trust.Change{Revoke: []trust.Revocation{{Key: key("registrar-3")}}})
			return at, w.void(t, nothing, "registrar-1", "registrar-3")
		}, want{listed, no, report.CodeRegistryQuorum}, want{registry, no, report.CodeRegistrySigner}},
		threshold("the threshold is raised by the old one alone", 3, "registrar-1", "registrar-2"),
		threshold("the threshold is lowered by the new one alone", 1, "registrar-1"),
		{"a revocation is raised again", func(t *testing.T, w *world) (uint64, *registryLeaf) {
			at := past(w)
			w.Change(revoke(at))
			return at, w.void(t, func(s *trust.Statement) {
				s.Revoke = []trust.Revocation{{Key: key("engine"), From: at + 1, HasFrom: true}}
			})
		}, want{listed, no, report.CodeRegistryStatus}, want{registry, no, report.CodeRegistryStatus}},
		{"the genesis of another log, replayed", func(t *testing.T, w *world) (uint64, *registryLeaf) {
			at := past(w)
			env, err := dsse.ParseLeaf(testlog.Named(t, "example.com/other").Leaves[0])
			if err != nil {
				t.Fatal(err)
			}
			return at, &registryLeaf{w.Append(env), env}
		}, want{listed, no, report.CodeRegistryLog}, want{registry, no, report.CodeRegistryLog}},
	}
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			w := &world{testlog.New(t, testlog.Add("registrar-3", trust.Registrar)), receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "run-1")}
			w.Append(w.Sign(w.run.Add(receipttest.Open(testlog.Origin)), "engine"))
			at, bad := c.history(t, w)
			engines := w.Engines()
			if c.bundle.name == notDisowned {
				engines.AsOf, engines.HasAsOf, engines.Head = w.Size(), true, w.Registry.Head()
			}
			b := w.Bundle(at, w.Size(), "w1", "w2")
			if bad != nil {
				b.Registry = append(b.Registry, bundle.RegistryLeaf{Envelope: bad.env.JSON(), Index: bad.index, Proof: w.Proof(bad.index, w.Size())})
			}
			policy := w.Policy("2", "w1", "w2")
			hold(t, bundle.Verify(b, bundle.Options{Policy: policy, Engines: engines}), exitOf(c.bundle), c.bundle)
			r := run(t, w.Site(w.Size(), "w1", "w2"), audit.Options{Policy: policy, Engines: engines})
			if c.audit.answer == ok {
				hold(t, r, 0, c.audit, want{registry, ok, "OK"}, want{audit.CheckSignatures, ok, "OK"})
			} else {
				hold(t, r, 1, c.audit)
			}
			if from, is := w.Registry.DisownedFrom(testlog.ID("engine")); is && from <= at && bad == nil && !strings.Contains(r.Text(), "disowned") {
				t.Errorf("what is disowned is not named:\n%s", r.Text())
			}
			// Whatever became of the key, its leaf is counted.
			if counted := "judgment admit "; bad == nil && !strings.Contains(r.Text(), counted) {
				t.Errorf("the leaf is not counted:\n%s", r.Text())
			}
		})
	}
}

// exitOf is how a bundle ends whose one refutation or doubt is w.
func exitOf(w want) int {
	if w.answer == no {
		return 1
	}
	return 0
}

// TestForkPresented: of two statements behind one the registrars signed both; a
// presenter shows one of them. The caller who knows the other is not fooled.
func TestForkPresented(t *testing.T) {
	w := &world{testlog.New(t), receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "run-1")}
	other := w.Registry
	w.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-3", trust.Engine)}})
	s, err := other.Next(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}})
	if err != nil {
		t.Fatal(err)
	}
	env, err := trust.SignStatement(s, testlog.Key("registrar-1"), testlog.Key("registrar-2"))
	if err != nil {
		t.Fatal(err)
	}
	forked := w.Append(env)
	at := w.receipt("engine-2")
	o := bundle.Options{Policy: w.Policy("none"), Engines: w.Engines()}
	shown := w.Bundle(at, w.Size())
	honest := slices.Clone(shown.Registry)
	shown.Registry = []bundle.RegistryLeaf{honest[0], {Envelope: env.JSON(), Index: forked, Proof: w.Proof(forked, w.Size())}}

	o.Registry = &bundle.Chain{Leaves: honest, Checkpoint: w.Checkpoint(w.Size())}
	hold(t, bundle.Verify(shown, o), 1, want{bundle.CheckKeyListedAt, no, report.CodeRegistryDiverged})
	o.Registry = nil
	o.Engines.AsOf, o.Engines.HasAsOf, o.Engines.Head = w.Size(), true, w.Registry.Head()
	r := bundle.Verify(shown, o)
	if c, _ := r.Find(bundle.CheckRegistryComplete); c.Answer == report.Verified || r.ExitCode() == 0 {
		t.Errorf("the fork passes for the whole registry:\n%s", r.Text())
	}
	o.Engines = w.Engines()
	hold(t, run(t, w.Site(w.Size()), audit.Options{Policy: o.Policy, Engines: o.Engines}), 1, want{audit.CheckRegistry, no, report.CodeRegistryPrev})
}
