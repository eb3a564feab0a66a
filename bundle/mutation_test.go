package bundle_test

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// small returns a log of three leaves whose bundles are short, and everything
// that verifies the last.
func small(t testing.TB) (*testlog.Log, uint64, bundle.Options) {
	t.Helper()
	l := testlog.New(t)
	run := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "run-1")
	l.Append(l.Sign(run.Add(receipttest.Open(testlog.Origin)), "engine"))
	i := l.Append(l.Sign(run.Add(receipttest.Judgment("request", receipttest.Deny("CLASS-RED"))), "engine"))
	return l, i, bundle.Options{Policy: l.Policy("all", "w1"), Engines: l.Engines()}
}

// ignored finds what a change may leave verified: DSSE has keyid ignored, its
// name included, since a member of another name is ignored too.
var ignored = regexp.MustCompile(`"keyid":"[0-9a-f]*"`)

// padding finds the end of a payload whose one padding character DSSE lets
// somebody leave out: another spelling of the same bytes (spec/leaf.md#json).
var padding = regexp.MustCompile(`[^=]=","payloadType"`)

// mayDiffer marks the bytes in which a mutant may be verified.
func mayDiffer(artifact []byte) []bool {
	free := make([]bool, len(artifact))
	for _, at := range ignored.FindAllIndex(artifact, -1) {
		for i := at[0]; i < at[1]; i++ {
			free[i] = true
		}
	}
	for _, at := range padding.FindAllIndex(artifact, -1) {
		free[at[0]+1] = true
	}
	return free
}

// Every byte of a bundle and of a .tlog-proof: with one of its bits flipped,
// left out, or put twice, it never verifies, but where mayDiffer says why.
// Every bit of every byte with OBSTAT_HEAVY=1.
func TestMutations(t *testing.T) {
	l, index, o := small(t)
	b := l.Bundle(index, l.Size(), "w1")
	doc := b.Append(nil)
	text, err := b.TlogProof()
	if err != nil {
		t.Fatal(err)
	}
	plain := o
	plain.Engines = l.PlainEngines()
	for name, c := range map[string]struct {
		artifact []byte
		o        bundle.Options
	}{"bundle": {doc, o}, ".tlog-proof": {text, plain}} {
		free := mayDiffer(c.artifact)
		if r := bundle.Check(c.artifact, c.o); r.Overall() != report.AllVerified {
			t.Fatalf("%s\n%s", name, r.Text())
		}
		tried, survivors := 0, 0
		try := func(i int, how string, artifact []byte) {
			tried++
			r := bundle.Check(artifact, c.o)
			if r.Overall() != report.AllVerified {
				return
			}
			if free[i] {
				survivors++
				return
			}
			t.Errorf("%s, byte %d %s: still verified\n%s", name, i, how, artifact[max(0, i-20):min(len(artifact), i+20)])
		}
		for i := range c.artifact {
			bits := []int{i % 8}
			if os.Getenv("OBSTAT_HEAVY") != "" {
				bits = []int{0, 1, 2, 3, 4, 5, 6, 7}
			}
			for _, bit := range bits {
				flipped := bytes.Clone(c.artifact)
				flipped[i] ^= 1 << bit
				try(i, "flipped", flipped)
			}
			try(i, "left out", append(bytes.Clone(c.artifact[:i]), c.artifact[i+1:]...))
			try(i, "twice", append(append(bytes.Clone(c.artifact[:i+1]), c.artifact[i]), c.artifact[i+1:]...))
		}
		t.Logf("%s: %d bytes, %d mutants, %d survivors, all in what DSSE ignores or spells freely", name, len(c.artifact), tried, survivors)
		if name != "bundle" && survivors > 0 {
			t.Errorf("%s: %d survivors", name, survivors)
		}
	}
}

// Every prefix of a bundle is refuted, and so is the whole with anything behind it.
func TestTruncations(t *testing.T) {
	l, index, o := small(t)
	doc := l.Bundle(index, l.Size(), "w1").Append(nil)
	for n := range doc {
		r := bundle.Check(doc[:n], o)
		if want := map[bool]int{true: 3, false: 1}[n == 0]; r.ExitCode() != want {
			t.Fatalf("%d bytes: exit %d\n%s", n, r.ExitCode(), r.Text())
		}
	}
}

// FuzzCheck holds that any byte string has a report, and that only what the log
// holds is verified. keyids, spaces and the like may differ from what it wrote.
func FuzzCheck(f *testing.F) {
	l, index, o := small(f)
	b := l.Bundle(index, l.Size(), "w1")
	text, err := b.TlogProof()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b.Append(nil))
	f.Add(text)
	f.Add([]byte{})
	f.Add([]byte("{}"))
	f.Add([]byte(`{"mediaType":"application/vnd.obstat.bundle.v2+json"}`))
	statement := ""
	if r := bundle.Verify(b, o); r.Overall() == report.AllVerified {
		statement = fact(r, "statement")
	}
	plain := bundle.Options{Policy: o.Policy, Engines: l.PlainEngines()}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, o := range []bundle.Options{o, plain, {}} {
			r := bundle.Check(data, o)
			if r.Overall() == report.AllVerified && (fact(r, "statement") != statement || fact(r, "leaf") != "2 of a tree of 3") {
				t.Fatalf("verified:\n%s", r.Text())
			}
			if len(r.Text()) == 0 || len(r.JSON()) == 0 {
				t.Fatal("no report")
			}
			for _, c := range r.Checks {
				if report.Meaning[c.Code] == "" || c.Code == report.CodeInternal {
					t.Fatalf("%s %s", c.Name, c.Code)
				}
			}
		}
	})
}

// FuzzCheckEnvelope is the same for an envelope alone.
func FuzzCheckEnvelope(f *testing.F) {
	l, index, _ := small(f)
	o := bundle.Options{Engines: l.PlainEngines()}
	f.Add(l.Leaves[index])
	f.Add(l.Bundle(index, l.Size()).Envelope)
	f.Add([]byte{})
	f.Add([]byte{0xa3})
	known := map[string]bool{}
	for _, leaf := range l.Leaves[1:] {
		known[fact(bundle.CheckEnvelope(leaf, o), "statement")] = true
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bundle.CheckEnvelope(data, o)
		if r.Overall() == report.AllVerified && !known[fact(r, "statement")] {
			t.Fatalf("verified:\n%s", r.Text())
		}
		for _, c := range r.Checks {
			if report.Meaning[c.Code] == "" || c.Code == report.CodeInternal {
				t.Fatalf("%s %s", c.Name, c.Code)
			}
		}
	})
}

// FuzzParseChain holds that what is read is written back the same.
func FuzzParseChain(f *testing.F) {
	l, _, _ := small(f)
	l.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}})
	c := &bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size())}
	f.Add(c.Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := bundle.ParseChain(data)
		if (c == nil) == (err == nil) {
			t.Fatalf("%v, %v", c, err)
		}
		if err != nil {
			return
		}
		doc := c.Append(nil)
		again, err := bundle.ParseChain(doc)
		if err != nil || !bytes.Equal(again.Append(nil), doc) {
			t.Fatalf("%v\n%s", err, doc)
		}
	})
}

func fact(r *report.Report, name string) string {
	for _, f := range r.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

func BenchmarkCheck(b *testing.B) {
	l, index, o := small(b)
	doc := l.Bundle(index, l.Size(), "w1").Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		if r := bundle.Check(doc, o); r.Overall() != report.AllVerified {
			b.Fatal(r.Text())
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	l, index, _ := small(b)
	d := l.Bundle(index, l.Size(), "w1")
	d.Registry = nil
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = d.Append(buf[:0])
	}
}

// mutant is one way to change an artifact in one place.
func mutant(r *rand.Rand, artifact []byte, at int) []byte {
	switch r.IntN(4) {
	case 0:
		return append(bytes.Clone(artifact[:at]), artifact[at+1:]...)
	case 1:
		return append(append(bytes.Clone(artifact[:at+1]), artifact[at]), artifact[at+1:]...)
	}
	changed := bytes.Clone(artifact)
	changed[at] ^= 1 << r.IntN(8)
	return changed
}

// TestHeavyMutationsOfEveryKind: of a receipt of every kind and disposition, of a
// bundle that discloses and of a registry chain, in each of their forms, a mutant
// for every byte where the heavy tests run, and else for a few that differ from
// run to run. The survivors are what DSSE has ignored, as in TestMutations.
func TestHeavyMutationsOfEveryKind(t *testing.T) {
	seed, share := uint64(time.Now().UnixNano()), 40
	if os.Getenv("OBSTAT_HEAVY") != "" {
		share = 1
	}
	r := rand.New(rand.NewPCG(seed, 3))
	tried, survivors := 0, 0
	hold := func(name string, artifact []byte, verified func([]byte) bool) {
		t.Helper()
		if !verified(artifact) {
			t.Fatalf("%s is not verified as it is", name)
		}
		free := mayDiffer(artifact)
		for at := range artifact {
			if share > 1 && r.IntN(share) > 0 {
				continue
			}
			tried++
			switch changed := mutant(r, artifact, at); {
			case !verified(changed) || bytes.Equal(changed, artifact):
			case free[at]:
				survivors++
			default:
				t.Errorf("seed %d: %s, byte %d: still verified\n%s", seed, name, at, changed[max(0, at-20):min(len(changed), at+20)])
			}
		}
	}
	by := func(check func([]byte, bundle.Options) *report.Report, o bundle.Options) func([]byte) bool {
		return func(data []byte) bool { return check(data, o).Overall() == report.AllVerified }
	}
	l := testlog.New(t)
	examples := l.Examples()
	o := bundle.Options{Policy: l.Policy("all", "w1"), Engines: l.Engines()}
	plain := bundle.Options{Policy: o.Policy, Engines: l.PlainEngines()}
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		b := l.Bundle(examples[name], l.Size(), "w1")
		text, err := b.TlogProof()
		if err != nil {
			t.Fatal(err)
		}
		hold(name+" as a bundle", b.Append(nil), by(bundle.Check, o))
		hold(name+" as a .tlog-proof", text, by(bundle.Check, plain))
		hold(name+" as an envelope", b.Envelope, by(bundle.CheckEnvelope, plain))
		hold(name+" as a leaf", l.Leaves[examples[name]], by(bundle.CheckEnvelope, plain))
	}
	open, index, d := disclosing(t)
	b := open.Bundle(index, open.Size(), "w1")
	b.Disclosures = []preview.Disclosure{d}
	disclosed := bundle.Options{Policy: o.Policy, Engines: open.Engines(), Require: []string{bundle.CheckDisclosures}}
	hold("disclosures", b.Append(nil), by(bundle.Check, disclosed))

	// A chain whose end the caller knows, so that nothing can be left out of it.
	bare := l.Bundle(examples["judgment-admit"], l.Size(), "w1")
	bare.Registry = nil
	l.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}})
	chain := &bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size())}
	known := o
	known.Engines = l.Engines()
	known.Engines.AsOf, known.Engines.HasAsOf, known.Engines.Head = l.Size(), true, l.Registry.Head()
	hold("a registry chain", chain.Append(nil), func(data []byte) bool {
		var err error
		o := known
		if o.Registry, err = bundle.ParseRegistryFile(data); err != nil {
			return false
		}
		return bundle.Verify(bare, o).Overall() == report.AllVerified
	})
	t.Logf("%d mutants, seed %d, %d survivors, all in what DSSE ignores or spells freely", tried, seed, survivors)
}
