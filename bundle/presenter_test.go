package bundle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// told is a log with a history of keys, and what was true after each statement.
type told struct {
	*testlog.Log
	registries []*trust.Registry
	receipts   map[uint64]string // signer by index
}

var engines = []string{"engine", "engine-2", "engine-3"}

// tell makes a history. The log is a liar: it takes leaves of keys that may not
// sign. Its registrars are honest.
func tell(t *testing.T, rt *rapid.T) *told {
	w := &told{Log: testlog.New(t), receipts: map[uint64]string{}}
	w.registries = append(w.registries, w.Registry)
	for i := range rapid.IntRange(2, 9).Draw(rt, "steps") {
		label := rapid.SampledFrom(engines).Draw(rt, "who")
		var c trust.Change
		switch rapid.IntRange(0, 4).Draw(rt, "what") {
		case 0:
			c.Add = []trust.Addition{testlog.Add(label, trust.Engine)}
		case 1:
			c.Retire = []trust.PublicKey{trust.PublicKey(testlog.Public(label))}
		case 2:
			r := trust.Revocation{Key: trust.PublicKey(testlog.Public(label))}
			if r.HasFrom = rapid.Bool().Draw(rt, "stated"); r.HasFrom {
				r.From = rapid.Uint64Range(0, w.Size()).Draw(rt, "from")
			}
			c.Revoke = []trust.Revocation{r}
		default:
			run := receipttest.NewRun(receipt.KeyID(testlog.ID(label)), receipt.Name(fmt.Sprintf("run-%d", i)))
			w.receipts[w.Append(w.Sign(run.Add(receipttest.Open(testlog.Origin)), label))] = label
			continue
		}
		if _, err := w.Registry.Next(c); err == nil {
			w.Change(c)
			w.registries = append(w.registries, w.Registry)
		}
	}
	return w
}

// below is the registry of the leaves below a tree size.
func (w *told) below(size uint64) *trust.Registry {
	r := w.registries[0]
	for _, next := range w.registries {
		if leaves := next.Leaves(); leaves[len(leaves)-1] < size {
			r = next
		}
	}
	return r
}

func disownedBy(r *trust.Registry, label string, index uint64) bool {
	from, is := r.DisownedFrom(testlog.ID(label))
	return is && from <= index
}

// TestPresenter: whoever presents a receipt chooses the checkpoint and how much of
// the registry he shows. He never gets verified what was not checked.
func TestPresenter(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := tell(t, rt)
		if len(w.receipts) == 0 {
			rt.Skip("no receipt")
		}
		var all []uint64
		for i := range w.receipts {
			all = append(all, i)
		}
		slices.Sort(all)
		index := rapid.SampledFrom(all).Draw(rt, "index")
		label := w.receipts[index]
		size := rapid.Uint64Range(index+1, w.Size()).Draw(rt, "size")
		b := w.Bundle(index, size)
		shown := rapid.IntRange(1, len(b.Registry)).Draw(rt, "shown")
		b.Registry = b.Registry[:shown]
		o := bundle.Options{Policy: w.Policy("none"), Engines: w.Engines()}
		last := b.Registry[shown-1].Index
		if rapid.Bool().Draw(rt, "caller has a chain") {
			to := rapid.Uint64Range(1, w.Size()).Draw(rt, "caller's size")
			o.Registry = &bundle.Chain{Leaves: w.Chain(to), Checkpoint: w.Checkpoint(to)}
			last = max(last, o.Registry.Leaves[len(o.Registry.Leaves)-1].Index)
		}
		if rapid.Bool().Draw(rt, "caller has an as-of") {
			o.Engines.HasAsOf = true
			o.Engines.AsOf = rapid.Uint64Range(1, w.Size()).Draw(rt, "as-of")
			o.Engines.Head = w.below(o.Engines.AsOf).Head()
		}
		r := bundle.Verify(b, o)
		fail := func(format string, args ...any) {
			rt.Fatalf("%s\nleaf %d by %s of %d, chain up to leaf %d, registry leaves %v\n%s", fmt.Sprintf(format, args...), index, label, size, last, w.Registry.Leaves(), r.Text())
		}
		of := func(name string) report.Check {
			c, ok := r.Find(name)
			if !ok {
				fail("no check %s", name)
			}
			seen[name+" "+c.Answer.String()]++
			return c
		}
		covered := o.Engines.HasAsOf && index < o.Engines.AsOf && last >= w.below(o.Engines.AsOf).Leaves()[len(w.below(o.Engines.AsOf).Leaves())-1]
		if c := of(bundle.CheckRegistryComplete); (c.Answer == report.Verified) != covered || c.Answer == report.Refuted {
			fail("REGISTRY-COMPLETE is %v, and the chain is complete: %v", c.Answer, covered)
		}
		switch c := of(bundle.CheckKeyNotDisowned); c.Answer {
		case report.Verified:
			if !covered || disownedBy(w.below(o.Engines.AsOf), label, index) {
				fail("not disowned, and it was disowned or nobody can know")
			}
		case report.Refuted:
			if !disownedBy(w.Registry, label, index) {
				fail("disowned, and it was not")
			}
		case report.NotChecked:
			if disownedBy(w.below(last+1), label, index) {
				fail("a leaf that disowns is shown and is not used")
			}
		}
		_, listed := w.Registry.ListedAt(testlog.ID(label), index)
		switch c := of(bundle.CheckKeyListedAt); c.Answer {
		case report.Verified:
			if !listed && (covered || last > index) {
				fail("listed, and it was not")
			}
			if !covered && last <= index && !strings.Contains(c.Note, "left out would change it") {
				fail("listed, without saying by how much of the registry: %s", c.Note)
			}
		case report.Refuted:
			if listed {
				fail("not listed, and it was")
			}
		}
		if r.Overall() == report.AllVerified && o.Engines.HasAsOf && !covered {
			fail("verified, although the caller's as-of is not met")
		}
	})
	for _, want := range []string{
		bundle.CheckKeyNotDisowned + " verified", bundle.CheckKeyNotDisowned + " refuted", bundle.CheckKeyNotDisowned + " not checked",
		bundle.CheckKeyListedAt + " verified", bundle.CheckKeyListedAt + " refuted", bundle.CheckRegistryComplete + " verified",
	} {
		if seen[want] == 0 {
			t.Errorf("no history led to %s: %v", want, seen)
		}
	}
}
