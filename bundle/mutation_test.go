package bundle_test

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/testlog"
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

// Every byte of a bundle and of a .tlog-proof: with one of its bits flipped,
// left out, or put twice, it never verifies, but for the keyid of an envelope.
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
		free := make([]bool, len(c.artifact))
		if name == "bundle" {
			for _, at := range ignored.FindAllIndex(c.artifact, -1) {
				for i := at[0]; i < at[1]; i++ {
					free[i] = true
				}
			}
		}
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
		t.Logf("%s: %d bytes, %d mutants, %d survivors, all in keyid", name, len(c.artifact), tried, survivors)
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
