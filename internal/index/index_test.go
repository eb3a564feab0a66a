package index

import (
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

const origin = "log.example/test"

func public(label string) ed25519.PublicKey {
	seed := sha256.Sum256([]byte(label))
	return ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey)
}

func keyID(label string) dsse.KeyID { return dsse.IDOf(public(label)) }

// leafOf wraps a payload; the index does not check signatures.
func leafOf(t testing.TB, typ string, payload []byte) []byte {
	t.Helper()
	leaf, err := (&dsse.Envelope{Type: typ, Payload: payload, Sigs: []dsse.Signature{{}}}).Leaf()
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func statementOf(t testing.TB, leaf []byte) dagcbor.CID {
	t.Helper()
	env, err := dsse.ParseLeaf(leaf)
	if err != nil {
		t.Fatal(err)
	}
	return dagcbor.Sum(env.Payload)
}

// listing is a registry leaf that lists keys under their labels.
func listing(t testing.TB, labels ...string) []byte {
	t.Helper()
	add := []trust.Addition{{Key: trust.PublicKey(public("registrar")), Name: "registrar", Role: trust.Registrar}}
	for _, l := range labels {
		add = append(add, trust.Addition{Key: trust.PublicKey(public(l)), Name: l, Role: trust.Engine})
	}
	s, err := trust.NewGenesis(origin, 1, add, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return leafOf(t, dsse.RegistryType, payload)
}

// someLeaves are a listing of "engine-a" and n-1 statements of its run "run-1",
// refusals for one reason behind the run-open.
func someLeaves(t testing.TB, n int) [][]byte {
	run := receipttest.NewRun(receipt.KeyID(keyID("engine-a")), "run-1")
	out := [][]byte{listing(t, "engine-a"), leafOf(t, dsse.ReceiptType, run.Add(receipttest.Open(origin)).Payload())}
	for i := range n - len(out) {
		out = append(out, leafOf(t, dsse.ReceiptType, run.Add(receipttest.Judgment(fmt.Sprint(i), receipttest.Deny("OUTSIDE-ROOT"))).Payload()))
	}
	return out[:n]
}

func rootAt(size uint64) merkle.Hash { return sha256.Sum256(fmt.Append(nil, "root at ", size)) }

func absorb(t testing.TB, x *Index, leaves ...[]byte) {
	t.Helper()
	size, _, _ := x.Covered()
	size += uint64(len(leaves))
	if err := x.Absorb(leaves, nil, size, rootAt(size)); err != nil {
		t.Fatal(err)
	}
}

func openIn(t testing.TB, f vfs.FS, dir string) *Index {
	t.Helper()
	x, err := open(f, dir, Options{Origin: origin}, small)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// small makes a few leaves fill tables and set compactions off.
func small(o *pebble.Options) {
	o.MemTableSize = 64 << 10
	o.L0CompactionThreshold = 1
	o.LBaseMaxBytes = 64 << 10
	for i := range o.TargetFileSizes {
		o.TargetFileSizes[i] = 8 << 10
	}
}

func wantCode(t testing.TB, err error, code report.Code) {
	t.Helper()
	if report.CodeOf(err) != code {
		t.Fatalf("%v, want %s", err, code)
	}
}

func wantCovered(t testing.TB, x *Index, size uint64) {
	t.Helper()
	root := merkle.EmptyRoot
	if size > 0 {
		root = rootAt(size)
	}
	if got, r, err := x.Covered(); err != nil || got != size || r != root {
		t.Fatalf("covers %d with root %v, %v; want %d", got, r, err, size)
	}
}

func find(t testing.TB, x *Index, leaf []byte, at uint64, want bool) {
	t.Helper()
	i, ok, err := x.Lookup(statementOf(t, leaf))
	if err != nil || ok != want || ok && i != at {
		t.Fatalf("statement of leaf %d: %d %v %v, want %v", at, i, ok, err, want)
	}
}

func search(t testing.TB, x *Index, q Query) []uint64 {
	t.Helper()
	p, err := x.Search(q, 0, MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	return p.Leaves
}

func TestOpenKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index") // the file system of the machine
	leaves := someLeaves(t, 9)
	x := openIn(t, vfs.Default, dir)
	wantCovered(t, x, 0)
	absorb(t, x, leaves[:4]...)
	absorb(t, x) // nothing is something to cover, too
	absorb(t, x, leaves[4:7]...)
	for range 2 {
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		x = openIn(t, vfs.Default, dir)
		wantCovered(t, x, 7)
		for i, l := range leaves {
			find(t, x, l, uint64(i), i < 7)
		}
	}
	// The principal of the key was read from a leaf of the first life.
	absorb(t, x, leaves[7:]...)
	if got := search(t, x, Query{Engine: "engine-a"}); !slices.Equal(got, []uint64{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Fatal(got)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal("a second Close:", err)
	}
	_, _, err := x.Lookup(statementOf(t, leaves[0]))
	wantCode(t, err, report.CodeLogClosed)
	wantCode(t, x.Absorb(nil, nil, 9, merkle.Hash{}), report.CodeLogClosed)
	wantCode(t, x.Reset(), report.CodeLogClosed)
	_, err = x.Search(Query{Kind: "judgment"}, 0, 1)
	wantCode(t, err, report.CodeLogClosed)
}

// What does not fit is made again, and says so; what holds another process or
// the file system responsible is not touched.
func TestOpenBeginsAgain(t *testing.T) {
	const dir = "d/index"
	set := func(key, value []byte) func(*testing.T, *Index, *vfs.MemFS) {
		return func(t *testing.T, x *Index, _ *vfs.MemFS) {
			if err := x.store.db.Set(key, value, pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		}
	}
	otherVersion := cover{7, rootAt(7)}.meta(origin)
	otherVersion[3]++
	cut := func(pattern string, keep int) func(*testing.T, *Index, *vfs.MemFS) {
		return func(t *testing.T, x *Index, f *vfs.MemFS) {
			if err := x.store.db.Flush(); err != nil {
				t.Fatal(err)
			}
			x.Close()
			truncate(t, f, dir, pattern, keep)
		}
	}
	for name, spoil := range map[string]func(*testing.T, *Index, *vfs.MemFS){
		"other origin":  set([]byte{keyMeta}, cover{7, rootAt(7)}.meta("log.example/other")),
		"other version": set([]byte{keyMeta}, otherVersion),
		"short meta":    set([]byte{keyMeta}, otherVersion[:20]),
		"no meta": func(t *testing.T, x *Index, _ *vfs.MemFS) {
			if err := x.store.db.Delete([]byte{keyMeta}, pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		},
		"an odd name":    set([]byte{keyName, 3}, []byte("x")),
		"no manifest":    cut("MANIFEST-*", 3),
		"half a table":   cut("*.sst", 900),
		"marked spoiled": func(_ *testing.T, x *Index, _ *vfs.MemFS) { x.store.health.fail(errMalformed) },
	} {
		t.Run(name, func(t *testing.T) {
			f := vfs.NewMem()
			x := openIn(t, f, dir)
			leaves := someLeaves(t, 7)
			absorb(t, x, leaves...)
			if _, err := open(f, dir, Options{Origin: origin}, nil); report.CodeOf(err) != report.CodeLogLocked {
				t.Fatal("a second process:", err)
			}
			spoil(t, x, f)
			x.Close()
			_, err := open(f, dir, Options{Origin: origin, ReadOnly: true}, nil)
			wantCode(t, err, report.CodeLogDamaged)
			x = openIn(t, f, dir)
			wantCovered(t, x, 0)
			if c, _, err := x.Counters(); err != nil || len(c) != 0 {
				t.Fatal(c, err)
			}
			absorb(t, x, leaves...)
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			x = openIn(t, f, dir)
			wantCovered(t, x, 7)
			find(t, x, leaves[6], 6, true)
		})
	}
}

// truncate cuts the files that match.
func truncate(t *testing.T, f vfs.FS, dir, pattern string, keep int) {
	t.Helper()
	names, err := f.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range names {
		if ok, _ := filepath.Match(pattern, name); !ok {
			continue
		}
		b := readAll(t, f, f.PathJoin(dir, name))
		writeAll(t, f, f.PathJoin(dir, name), b[:min(keep, len(b))])
		n++
	}
	if n == 0 {
		t.Fatalf("no %s among %v", pattern, names)
	}
}

func readAll(t *testing.T, f vfs.FS, name string) []byte {
	t.Helper()
	r, err := f.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	st, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, st.Size())
	if _, err := r.ReadAt(b, 0); err != nil && len(b) > 0 {
		t.Fatal(err)
	}
	return b
}

func writeAll(t *testing.T, f vfs.FS, name string, b []byte) {
	t.Helper()
	w, err := f.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
}

func TestOpenReadOnly(t *testing.T) {
	f := vfs.NewMem()
	_, err := open(f, "index", Options{Origin: origin, ReadOnly: true}, nil)
	wantCode(t, err, report.CodeLogIO)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	x := openIn(t, f, "index")
	leaves := someLeaves(t, 7)
	absorb(t, x, leaves...)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := f.List("index")
	if err != nil {
		t.Fatal(err)
	}
	x, err = open(f, "index", Options{Origin: origin, ReadOnly: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantCovered(t, x, 7)
	find(t, x, leaves[6], 6, true)
	if got := search(t, x, Query{Code: "OUTSIDE-ROOT"}); len(got) != 5 {
		t.Fatal(got)
	}
	wantCode(t, x.Absorb(leaves[:1], nil, 8, merkle.Hash{}), report.CodeLogConfig)
	wantCode(t, x.Reset(), report.CodeLogConfig)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := f.List("index")
	slices.Sort(before)
	slices.Sort(after)
	if err != nil || !slices.Equal(before, after) {
		t.Fatal(before, after, err)
	}
}

func TestReset(t *testing.T) {
	f := vfs.NewMem()
	x := openIn(t, f, "index")
	leaves := someLeaves(t, 7)
	for range 3 {
		absorb(t, x, leaves...)
		find(t, x, leaves[6], 6, true)
		if err := x.Reset(); err != nil {
			t.Fatal(err)
		}
		wantCovered(t, x, 0)
		for i, l := range leaves {
			find(t, x, l, uint64(i), false)
		}
		if got := search(t, x, Query{Code: "OUTSIDE-ROOT"}); len(got) != 0 {
			t.Fatal(got)
		}
		// The key is known no more, either.
		absorb(t, x, leaves[2])
		if got := search(t, x, Query{Engine: "engine-a"}); len(got) != 0 {
			t.Fatal(got)
		}
		if err := x.Reset(); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	wantCovered(t, openIn(t, f, "index"), 0)
}

func TestAbsorbRefuses(t *testing.T) {
	x := openIn(t, vfs.NewMem(), "index")
	leaves := someLeaves(t, 7)
	absorb(t, x, leaves[:3]...)
	for name, err := range map[string]error{
		"a hole":       x.Absorb(leaves[4:], nil, 7, rootAt(7)),
		"too many":     x.Absorb(leaves[2:], nil, 7, rootAt(7)),
		"other number": x.Absorb(leaves[3:], make([]dagcbor.CID, 3), 7, rootAt(7)),
	} {
		if report.CodeOf(err) != report.CodeInternal {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := x.Absorb([][]byte{leaves[3], []byte("no leaf")}, nil, 5, rootAt(5)); err == nil {
		t.Error("absorbed what is no leaf")
	}
	wantCovered(t, x, 3)
	find(t, x, leaves[3], 3, false)
	absorb(t, x, leaves[3:]...)
	wantCovered(t, x, 7)
}

// A key has one principal for ever, the first that a leaf gives it.
func TestFirstPrincipalStays(t *testing.T) {
	f := vfs.NewMem()
	x := openIn(t, f, "index")
	other := func(name string) []byte {
		s, err := trust.NewGenesis(origin, 1, []trust.Addition{
			{Key: trust.PublicKey(public("registrar")), Name: "registrar", Role: trust.Registrar},
			{Key: trust.PublicKey(public("engine-a")), Name: name, Role: trust.Engine}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return leafOf(t, dsse.RegistryType, payload)
	}
	leaves := someLeaves(t, 5)
	absorb(t, x, leaves[0], other("second"), leaves[1])
	absorb(t, x, other("third"), leaves[2])
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = openIn(t, f, "index")
	absorb(t, x, leaves[3:]...)
	if got := search(t, x, Query{Engine: "engine-a"}); !slices.Equal(got, []uint64{2, 4, 5, 6}) {
		t.Fatal(got)
	}
}

// What the caller knows of the statements is taken.
func TestAbsorbTakesStatements(t *testing.T) {
	x := openIn(t, vfs.NewMem(), "index")
	leaves := someLeaves(t, 3)
	given := []dagcbor.CID{dagcbor.Sum([]byte("a")), dagcbor.Sum([]byte("b")), dagcbor.Sum([]byte("c"))}
	if err := x.Absorb(leaves, given, 3, rootAt(3)); err != nil {
		t.Fatal(err)
	}
	for i, c := range given {
		if at, ok, err := x.Lookup(c); err != nil || !ok || at != uint64(i) {
			t.Fatal(at, ok, err)
		}
		find(t, x, leaves[i], 0, false)
	}
}

// A log holds no statement twice; if one did within a batch, its first leaf is
// the answer.
func TestFirstOfTwo(t *testing.T) {
	x := openIn(t, vfs.NewMem(), "index")
	leaves := someLeaves(t, 3)
	absorb(t, x, leaves[2], leaves[1], leaves[2])
	find(t, x, leaves[2], 0, true)
}

func TestRefused(t *testing.T) {
	if refused(fs.ErrNotExist) || !refused(fmt.Errorf("open: %w", fs.ErrPermission)) {
		t.Fatal("refused")
	}
}
