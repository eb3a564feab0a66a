package bundle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// Two signed roots for one size in one hand are a fork, whichever of the
// caller's files holds the second one.
func TestTwoRootsInOneHand(t *testing.T) {
	a, b := testlog.New(t), testlog.New(t)
	statement := func(label string) *receipt.Decoded {
		run := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), receipt.Name("run-"+label))
		return run.Add(receipttest.Open(testlog.Origin))
	}
	index := a.Append(a.Sign(statement("a"), "engine"))
	b.Append(b.Sign(statement("b"), "engine"))
	chain := func(size uint64) *bundle.Chain {
		return &bundle.Chain{Leaves: b.Chain(size), Checkpoint: b.Checkpoint(size)}
	}
	for mode, engines := range map[string]*trust.Engines{"registry": a.Engines(), "plain keys": a.PlainEngines(), "none": nil} {
		o := bundle.Options{Policy: a.Policy("none"), Engines: engines, Registry: chain(b.Size())}
		r := bundle.Verify(a.Bundle(index, a.Size()), o)
		hold(t, r, 1, want{"checkpoint", no, report.CodeLogForked})
		c, _ := r.Find("checkpoint")
		if !strings.Contains(c.Expected, a.Root(a.Size()).String()) || !strings.Contains(c.Actual, b.Root(b.Size()).String()) {
			t.Errorf("%s: both roots are not shown: %+v", mode, c)
		}
		for _, name := range []string{"KEY-LISTED-AT", "KEY-NOT-DISOWNED", "REGISTRY-COMPLETE"} {
			if c, _ := r.Find(name); mode == "registry" && c.Answer == ok {
				t.Errorf("%s is verified in a forked log", name)
			}
		}
	}
	// One tree in both hands, or another size: nothing to show.
	o := bundle.Options{Policy: a.Policy("none"), Engines: a.Engines(), Registry: chain(1)}
	hold(t, bundle.Verify(a.Bundle(index, a.Size()), o), 0)
	o.Registry = &bundle.Chain{Leaves: a.Chain(a.Size()), Checkpoint: a.Checkpoint(a.Size())}
	hold(t, bundle.Verify(a.Bundle(index, a.Size()), o), 0)
	// What the log did not sign shows nothing about it.
	o.Registry = chain(b.Size())
	o.Registry.Checkpoint = []byte(strings.Replace(string(o.Registry.Checkpoint), "— "+testlog.Origin, "— example.com/other", 1))
	r := bundle.Verify(a.Bundle(index, a.Size()), o)
	if c, _ := r.Find("checkpoint"); c.Code != report.CodeOK {
		t.Errorf("an unsigned root counts: %+v", c)
	}
}

// KEY-LISTED-AT says what it rests on: a chain that ends below the leaf may
// have lost a leaf that retires the key.
func TestListedSaysByWhat(t *testing.T) {
	l := testlog.New(t)
	run := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "run-1")
	open := run.Add(receipttest.Open(testlog.Origin))
	early := l.Append(l.Sign(open, "engine"))
	l.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}})
	l.Change(trust.Change{Retire: []trust.PublicKey{trust.PublicKey(testlog.Public("engine"))}})
	late := l.Append(l.Sign(open, "engine"))
	o := bundle.Options{Policy: l.Policy("none"), Engines: l.Engines()}
	note := func(b *bundle.Bundle, o bundle.Options, exit int) string {
		t.Helper()
		r := bundle.Verify(b, o)
		hold(t, r, exit, want{"KEY-LISTED-AT", ok, report.CodeOK})
		c, _ := r.Find("KEY-LISTED-AT")
		for _, out := range []string{r.Text(), string(r.JSON())} {
			if !strings.Contains(out, c.Note) {
				t.Errorf("the report leaves the note out:\n%s", out)
			}
		}
		return c.Note
	}
	const open1 = "by the registry chain up to version 1 (leaf 2); a later registry leaf below this index that was left out would change it: REGISTRY-COMPLETE"
	short := l.Bundle(late, l.Size())
	short.Registry = short.Registry[:2]
	if got := note(short, o, 0); got != open1 {
		t.Errorf("%q", got)
	}
	hold(t, bundle.Verify(short, o), 0, want{"REGISTRY-COMPLETE", nc, report.CodeRegistryOpen})
	hold(t, bundle.Verify(l.Bundle(late, l.Size()), o), 1, want{"KEY-LISTED-AT", no, report.CodeKeyNotListed})
	if got := note(l.Bundle(early, l.Size()), o, 0); got != "by the registry chain up to version 2 (leaf 3), which goes on behind this index" {
		t.Errorf("%q", got)
	}
	whole := testlog.New(t)
	at := whole.Append(whole.Sign(open, "engine"))
	o = bundle.Options{Policy: whole.Policy("none"), Engines: &trust.Engines{Origin: testlog.Origin, Genesis: whole.Genesis, AsOf: whole.Size(), HasAsOf: true}}
	if got := note(whole.Bundle(at, whole.Size()), o, 0); got != "by the registry chain up to version 0 (leaf 0), complete below tree size 2" {
		t.Errorf("%q", got)
	}
}

// A disclosure stands once, there is a bound on how many, and the payload is
// read once for all of them.
func TestDisclosuresAreBounded(t *testing.T) {
	l, index, d := disclosing(t)
	o := bundle.Options{Policy: l.Policy("none"), Engines: l.Engines()}
	b := l.Bundle(index, l.Size())
	b.Disclosures = []preview.Disclosure{d, d}
	r := bundle.Check(b.Append(nil), o)
	hold(t, r, 1, want{"disclosures", no, report.CodeDisclosureTwice})
	if c, _ := r.Find("disclosures"); !strings.Contains(c.Actual, "/disclosures/1") {
		t.Errorf("%+v", c)
	}
	b.Disclosures = nil
	for range bundle.MaxDisclosures + 1 {
		b.Disclosures = append(b.Disclosures, d)
	}
	r = bundle.Check(b.Append(nil), o)
	hold(t, r, 1, want{"form", no, report.CodeProofBundleValue})
	if c, _ := r.Find("form"); !strings.Contains(c.Expected, fmt.Sprint(bundle.MaxDisclosures)) {
		t.Errorf("%+v", c)
	}
	// As many as are allowed, each another: linear, and none is taken for a copy.
	run := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "run-2")
	run.Add(receipttest.Open(testlog.Origin))
	j := receipttest.Judgment("many", receipttest.Admit("rule-1"))
	b.Disclosures = nil
	for i := range 500 {
		name := fmt.Sprintf("i%04d", i)
		d, err := preview.NewDisclosure(preview.Salt{1}, preview.FieldInput, name, preview.Text("v"))
		if err != nil {
			t.Fatal(err)
		}
		j.Request.Inputs = append(j.Request.Inputs, receipt.Input{Name: receipt.Name(name), Value: receipt.CommittedTo(receipt.Commitment(d.Commitment()))})
		b.Disclosures = append(b.Disclosures, d)
	}
	receipt.SortSet(j.Request.Inputs)
	dec := run.Add(j)
	many := l.Bundle(l.Append(l.Sign(dec, "engine")), l.Size())
	many.Disclosures = b.Disclosures
	hold(t, bundle.Check(many.Append(nil), o), 0, want{"disclosures", ok, report.CodeOK})
	doc := many.Append(nil)
	few := *many
	few.Disclosures = many.Disclosures[:1]
	short := few.Append(nil)
	extra := testing.AllocsPerRun(1, func() { bundle.Check(doc, o) }) - testing.AllocsPerRun(1, func() { bundle.Check(short, o) })
	if each := extra / 499; each > 200 {
		t.Errorf("%.0f allocations for each more disclosure: the payload is walked again", each)
	}
}
