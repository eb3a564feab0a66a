package audit_test

import (
	"bytes"
	"io/fs"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

func quorumNone(t testing.TB) *trust.Policy {
	t.Helper()
	p, err := trust.ParsePolicy(testlog.PolicyFile("none"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// filled is a log of n entries that need be no receipts.
func filled(t testing.TB, n int, mark byte, from int) *testlog.Log {
	t.Helper()
	l := testlog.Bare(t)
	for i := range n {
		entry := []byte{byte(i), byte(i >> 8)}
		if i >= from {
			entry = append(entry, mark)
		}
		l.AppendLeaf(entry)
	}
	return l
}

// Two checkpoints of one log are always consistent, by a proof and by tiles; of
// two logs that part from each other, whose key is one, a fork is always found
// where the smaller tree has what they differ in, and its evidence holds.
func TestHeadsProperty(t *testing.T) {
	p := quorumNone(t)
	one := filled(t, 600, 1, 600)
	rapid.Check(t, func(rt *rapid.T) {
		from := rapid.Uint64Range(1, 599).Draw(rt, "from")
		to := rapid.Uint64Range(from, 600).Draw(rt, "to")
		older, newer := audit.Source{Data: one.Checkpoint(from)}, audit.Source{Site: one.Site(to)}
		growth := checkpoint.AddCheckpoint{Old: from, Checkpoint: one.Checkpoint(to)}
		if from < to {
			growth.Proof = one.Growth(from, to)
		}
		for _, newer := range []audit.Source{newer, {Data: growth.Bytes()}} {
			r, err := audit.Consistency(older, newer, p)
			if err != nil || r.Overall() != report.AllVerified {
				rt.Fatalf("%v\n%s", err, r.Text())
			}
			if f, err := audit.FindFork(older, newer, p); f != nil || err != nil {
				rt.Fatalf("a fork of one history: %v", err)
			}
		}
	})
	other := filled(t, 600, 2, 300)
	rapid.Check(t, func(rt *rapid.T) {
		from := rapid.Uint64Range(1, 600).Draw(rt, "from")
		to := rapid.Uint64Range(from, 600).Draw(rt, "to")
		a, b := audit.Source{Data: one.Checkpoint(from)}, audit.Source{Site: other.Site(to)}
		f, err := audit.FindFork(a, b, p)
		if err != nil {
			rt.Fatal(err)
		}
		if got, want := f != nil, from > 300; got != want {
			rt.Fatalf("a fork: %t, want %t", got, want)
		}
		if f == nil {
			return
		}
		doc := f.Append(nil)
		if r := audit.Fork(doc, p); r.Overall() != report.AllVerified {
			rt.Fatal(r.Text())
		}
		if r, err := audit.ForkOf(a, b, p); err != nil || r.Overall() != report.AllVerified {
			rt.Fatalf("%v", err)
		}
		at := rapid.IntRange(0, len(doc)-1).Draw(rt, "at")
		doc[at] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
		if r := audit.Fork(doc, p); r.Overall() == report.AllVerified {
			rt.Fatalf("verified with byte %d flipped: %s", at, doc)
		}
	})
}

// failing cannot be read, which says nothing about the log.
type failing struct{ fs.FS }

func (failing) Open(string) (fs.File, error) { return nil, fs.ErrPermission }

func TestHeadsUnreadable(t *testing.T) {
	p, l := quorumNone(t), filled(t, 300, 0, 300)
	older := audit.Source{Data: l.Checkpoint(7)}
	if _, err := audit.Consistency(older, audit.Source{Site: failing{}}, p); err == nil {
		t.Error("no error")
	}
	site := l.Site(300)
	delete(site, merkle.Tile{Index: 1, Width: 44}.Path())
	r, err := audit.Consistency(older, audit.Source{Site: site}, p)
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := r.Find(audit.CheckConsistency); c.Code != report.CodeTileMissing || c.Answer != report.NotChecked {
		t.Errorf("%+v", c)
	}
	site["tile/0/001.p/44"] = &fstest.MapFile{Data: bytes.Repeat([]byte{1}, 44*32)}
	if r, err = audit.Consistency(older, audit.Source{Site: site}, p); err != nil {
		t.Fatal(err)
	}
	if c, _ := r.Find(audit.CheckConsistency); c.Code != report.CodeTileMismatch {
		t.Errorf("%+v", c)
	}
}

// FuzzFork: any bytes have a report, and only evidence that is there is verified.
func FuzzFork(f *testing.F) {
	p, one, other := quorumNone(f), filled(f, 9, 1, 9), filled(f, 9, 2, 3)
	for _, from := range []uint64{5, 9} {
		e, err := audit.FindFork(audit.Source{Data: one.Checkpoint(from)}, audit.Source{Site: other.Site(9)}, p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e.Append(nil))
	}
	f.Add([]byte(`{"mediaType":"application/vnd.obstat.fork.v2+json"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := audit.Fork(data, p)
		e, err := bundle.ParseFork(data)
		if err != nil {
			if r.Overall() == report.AllVerified {
				t.Fatal(r.Text())
			}
			return
		}
		if again, err := bundle.ParseFork(e.Append(nil)); err != nil || !bytes.Equal(again.Append(nil), e.Append(nil)) {
			t.Fatalf("%s: %v", data, err)
		}
	})
}
