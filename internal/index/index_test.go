package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

const origin = "log.example/test"

// leafOf wraps a payload; the index does not check signatures.
func leafOf(t testing.TB, typ string, payload []byte) []byte {
	t.Helper()
	e := &dsse.Envelope{Type: typ, Payload: payload, Sigs: []dsse.Signature{{}}}
	leaf, err := e.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func principal(id dsse.KeyID) (string, bool) {
	switch receipt.KeyID(id) {
	case receipttest.EngineKey():
		return "engine-a", true
	case receipttest.ApproverKey():
		return "approver-a", true
	}
	return "", false
}

func openIndex(t testing.TB, dir string) *Index {
	t.Helper()
	x, err := Open(dir, Options{Origin: origin, Principal: principal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// naive is the same index, kept as a list and told from the JSON view.
type naive []naiveLeaf

type naiveLeaf struct {
	statement, receipt dagcbor.CID
	engine, run        string
	seq                uint64
	kind               string
	verdict            string
	disposition        string
	codes              []string
}

func naiveOf(t testing.TB, d *receipt.Decoded) naiveLeaf {
	doc, err := receipt.ToJSON(d)
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Call struct {
			By  string
			Run string
			Seq uint64
		}
		Receipt map[string]map[string]any
	}
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	n := naiveLeaf{statement: d.CID, receipt: d.ReceiptCID, run: v.Call.Run, seq: v.Call.Seq}
	by := d.Statement.Call.By
	name, ok := principal(dsse.KeyID(by))
	if !ok {
		name = "key:" + by.String()
	}
	n.engine = name
	for kind, body := range v.Receipt {
		n.kind = kind
		n.verdict, n.disposition = word(body["verdict"]), word(body["disposition"])
		n.codes = codesIn(body)
	}
	return n
}

func word(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		for k := range v {
			return k
		}
	}
	return ""
}

func codesIn(v any) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if s, ok := e.(string); ok && k == "code" {
				out = append(out, s)
			} else if l, ok := e.([]any); ok && k == "reasons" {
				for _, r := range l {
					out = append(out, r.(string))
				}
			} else {
				out = append(out, codesIn(e)...)
			}
		}
	case []any:
		for _, e := range v {
			out = append(out, codesIn(e)...)
		}
	}
	return out
}

func (n naive) pick(from uint64, keep func(naiveLeaf) bool) (out []Entry) {
	for i, l := range n {
		if uint64(i) >= from && keep(l) {
			out = append(out, Entry{Index: uint64(i)})
		}
	}
	return out
}

func (q Query) matches(l naiveLeaf) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	return is(q.Kind, l.kind) && is(q.Verdict, l.verdict) && is(q.Disposition, l.disposition) && is(q.Engine, l.engine) &&
		(q.Code == "" || slices.Contains(l.codes, q.Code))
}

// all reads a whole list in pages.
func all(t rapid.TB, size uint64, from uint64, limit int, page func(from uint64, limit int) (Page, error)) []Entry {
	t.Helper()
	var out []Entry
	for {
		p, err := page(from, limit)
		if err != nil {
			t.Fatal(err)
		}
		if p.Covered != size {
			t.Fatalf("the page covers %d, not %d", p.Covered, size)
		}
		out = append(out, p.Leaves...)
		if !p.More {
			return out
		}
		if len(p.Leaves) != limit {
			t.Fatalf("a page of %d with more behind it", len(p.Leaves))
		}
		from = p.Leaves[limit-1].Index + 1
	}
}

// Random leaves in random batches, with restarts: the index answers as the
// naive list does.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "index")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		x, err := Open(dir, Options{Origin: origin, Principal: principal})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { x.Close() }()
		var want naive
		keys := []receipt.KeyID{receipttest.EngineKey(), receipttest.ApproverKey(), receipttest.Key("other")}
		for range rapid.IntRange(1, 4).Draw(rt, "batches") {
			var leaves [][]byte
			for range rapid.IntRange(0, 12).Draw(rt, "leaves") {
				s := receipttest.Statement(rt)
				s.Call.By = rapid.SampledFrom(keys).Draw(rt, "by")
				if s.Call.Run != "" {
					s.Call.Run = rapid.SampledFrom([]receipt.Name{"run-1", "run-2"}).Draw(rt, "run")
				}
				d := receipttest.Build(s.Call, s.Receipt)
				leaves = append(leaves, leafOf(t, dsse.ReceiptType, d.Payload()))
				want = append(want, naiveOf(t, d))
			}
			if err := x.Absorb(leaves, nil, uint64(len(want)), merkle.Hash{byte(len(want))}); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(rt, "restart") {
				if err := x.Close(); err != nil {
					t.Fatal(err)
				}
				if x, err = Open(dir, Options{Origin: origin, Principal: principal}); err != nil {
					t.Fatal(err)
				}
			}
		}
		compare(rt, x, want)
	})
}

func compare(t *rapid.T, x *Index, want naive) {
	size := uint64(len(want))
	covered, root, err := x.Covered()
	if err != nil || covered != size || root != (merkle.Hash{byte(size)}) && size > 0 {
		t.Fatalf("covers %d %v %v", covered, root, err)
	}
	from := rapid.Uint64Range(0, size).Draw(t, "from")
	limit := rapid.IntRange(1, 5).Draw(t, "limit")
	same := func(what string, got, want []Entry) {
		if !slices.Equal(got, want) {
			t.Fatalf("%s from %d: got %v, want %v", what, from, got, want)
		}
	}
	counts := map[string]uint64{}
	for i, l := range want {
		if at, ok, err := x.Lookup(l.statement); err != nil || !ok || at >= size || want[at].statement != l.statement {
			t.Fatalf("statement %d: %d %v %v", i, at, ok, err)
		}
		same("receipt", all(t, size, from, limit, func(f uint64, n int) (Page, error) { return x.Receipt(l.receipt, f, n) }),
			want.pick(from, func(o naiveLeaf) bool { return o.receipt == l.receipt }))
		got := all(t, size, from, limit, func(f uint64, n int) (Page, error) { return x.Run(l.engine, l.run, f, n) })
		for j, e := range got {
			if e.Seq != want[e.Index].seq {
				t.Fatalf("leaf %d has seq %d, not %d", e.Index, e.Seq, want[e.Index].seq)
			}
			got[j].Seq = 0
		}
		if l.run != "" {
			same("run", got, want.pick(from, func(o naiveLeaf) bool { return o.engine == l.engine && o.run == l.run }))
		}
		for _, q := range []Query{{Kind: l.kind}, {Verdict: l.verdict, Engine: l.engine}, {Disposition: l.disposition, Kind: "outcome"},
			{Code: slices.Concat(l.codes, []string{"NONE"})[0]}, {Kind: l.kind, Engine: l.engine}} {
			same(fmt.Sprint(q), all(t, size, from, limit, func(f uint64, n int) (Page, error) { return x.Search(q, f, n) }),
				want.pick(from, q.matches))
		}
		for _, term := range slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(l.codes), "")))) {
			counts["code="+term]++
		}
		counts["kind="+l.kind]++
		counts["engine="+l.engine]++
		counts["verdict="+l.verdict]++
		counts["disposition="+l.disposition]++
	}
	for k := range counts {
		if strings.HasSuffix(k, "=") {
			delete(counts, k)
		}
	}
	got := map[string]uint64{}
	list, _, err := x.Counts()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		got[c.Field+"="+c.Value] = c.Leaves
	}
	if !reflect.DeepEqual(got, counts) {
		t.Fatalf("counters %v, want %v", got, counts)
	}
	if _, ok, err := x.Lookup(dagcbor.Sum([]byte("none"))); ok || err != nil {
		t.Fatalf("%v %v", ok, err)
	}
}

func someLeaves(t testing.TB, n int) [][]byte {
	run := receipttest.NewRun(receipttest.EngineKey(), "run-1")
	out := [][]byte{leafOf(t, dsse.ReceiptType, run.Add(receipttest.Open(origin)).Payload())}
	for i := range n - 1 {
		out = append(out, leafOf(t, dsse.ReceiptType, run.Add(receipttest.Judgment(fmt.Sprint(i), receipttest.Deny("OUTSIDE-ROOT"))).Payload()))
	}
	return out
}

// Another origin, another version, bytes that went bad: the store is made
// again; one that another process holds is not touched.
func TestBeginsAgain(t *testing.T) {
	for name, spoil := range map[string]func(dir string, x *Index) Options{
		"other origin": func(string, *Index) Options { return Options{Origin: "log.example/other", Principal: principal} },
		"other version": func(_ string, x *Index) Options {
			m := cover{7, merkle.Hash{}}.meta(origin)
			m[3]++
			if err := x.db.Set([]byte{keyMeta}, m, nil); err != nil {
				t.Fatal(err)
			}
			return Options{Origin: origin, Principal: principal}
		},
		"no manifest": func(dir string, x *Index) Options {
			x.Close()
			ms, err := filepath.Glob(dir + "/MANIFEST-*")
			if err != nil || len(ms) == 0 {
				t.Fatal(err, ms)
			}
			for _, m := range ms {
				if err := os.Truncate(m, 3); err != nil {
					t.Fatal(err)
				}
			}
			return Options{Origin: origin, Principal: principal}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "index")
			x := openIndex(t, dir)
			if err := x.Absorb(someLeaves(t, 7), nil, 7, merkle.Hash{7}); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, Options{Origin: origin, Principal: principal}); err == nil {
				t.Fatal("two have it open")
			}
			o := spoil(dir, x)
			x.Close()
			x, err := Open(dir, o)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			if size, _, _ := x.Covered(); size != 0 {
				t.Fatalf("covers %d", size)
			}
			if c, _, err := x.Counts(); err != nil || len(c) != 0 {
				t.Fatalf("%v %v", c, err)
			}
		})
	}
}

// TestReadOnly: what is only looked at stays as it is, whatever state it is in.
func TestReadOnly(t *testing.T) {
	look := Options{Origin: origin, Principal: principal, ReadOnly: true}
	dir := filepath.Join(t.TempDir(), "index")
	if _, err := Open(dir, look); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an index that is not there: %v", err)
	}
	x := openIndex(t, dir)
	leaves := someLeaves(t, 3)
	if err := x.Absorb(leaves, nil, 3, merkle.Hash{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, look); err == nil {
		t.Error("an index that is open elsewhere")
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	before := contentsOf(t, dir)
	r, err := Open(dir, look)
	if err != nil {
		t.Fatal(err)
	}
	if size, root, err := r.Covered(); size != 3 || root != (merkle.Hash{1}) || err != nil {
		t.Errorf("covers %d, %s, %v", size, root, err)
	}
	if err := r.Absorb(someLeaves(t, 4)[3:], nil, 4, merkle.Hash{2}); err == nil {
		t.Error("a leaf was absorbed")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if after := contentsOf(t, dir); !maps.Equal(before, after) {
		t.Errorf("it changed from %d files to %d", len(before), len(after))
	}
	for name := range before {
		if strings.HasPrefix(name, "MANIFEST") {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("no"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := Open(dir, look); err == nil {
		t.Error("an index that cannot be read was opened")
	}
	if after := contentsOf(t, dir); len(after) != len(before) {
		t.Errorf("what cannot be read was removed: %d files, then %d", len(before), len(after))
	}
}

func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}

func TestReset(t *testing.T) {
	x := openIndex(t, filepath.Join(t.TempDir(), "index"))
	leaves := someLeaves(t, 7)
	for range 2 {
		if err := x.Absorb(leaves, nil, 7, merkle.Hash{7}); err != nil {
			t.Fatal(err)
		}
		if p, err := x.Search(Query{Code: "OUTSIDE-ROOT"}, 0, 100); err != nil || len(p.Leaves) != 6 {
			t.Fatalf("%+v %v", p, err)
		}
		if err := x.Absorb(leaves, nil, 7, merkle.Hash{7}); err == nil {
			t.Fatal("the same leaves again")
		}
		if err := x.Reset(); err != nil {
			t.Fatal(err)
		}
		if size, _, _ := x.Covered(); size != 0 {
			t.Fatal(size)
		}
		env, err := dsse.ParseLeaf(leaves[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, ok, err := x.Lookup(dagcbor.Sum(env.Payload)); ok || err != nil {
			t.Fatalf("%v %v", ok, err)
		}
		if p, err := x.Search(Query{Kind: "judgment"}, 0, 100); err != nil || len(p.Leaves) != 0 {
			t.Fatalf("%+v %v", p, err)
		}
	}
}

// What is no receipt, or none of a version that is known, is found by its
// statement and by what could be read.
func TestOddLeaves(t *testing.T) {
	x := openIndex(t, filepath.Join(t.TempDir(), "index"))
	payload, err := dagcbor.Encode(dagcbor.Map{
		{Key: "call", Value: dagcbor.Map{{Key: "by", Value: dagcbor.Bytes(bytes.Repeat([]byte{9}, 32))}, {Key: "seq", Value: dagcbor.Int(-4)}}},
		{Key: "receipt", Value: dagcbor.Map{{Key: "novelty", Value: dagcbor.Map{{Key: "code", Value: dagcbor.Text("NEW")}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	odd, err := dagcbor.Encode(dagcbor.Int(3))
	if err != nil {
		t.Fatal(err)
	}
	leaves := [][]byte{leafOf(t, dsse.RegistryType, odd), leafOf(t, "application/vnd.obstat.receipt.v9+cbor", payload),
		leafOf(t, dsse.ReceiptType, odd), leafOf(t, dsse.ReceiptType, []byte("no cbor"))}
	if err := x.Absorb(leaves, nil, 4, merkle.Hash{}); err != nil {
		t.Fatal(err)
	}
	if p, err := x.Search(Query{Kind: "novelty", Code: "NEW", Engine: "key:" + strings.Repeat("09", 32)}, 0, 9); err != nil || len(p.Leaves) != 1 || p.Leaves[0].Index != 1 {
		t.Fatalf("%+v %v", p, err)
	}
	if p, err := x.Search(Query{Kind: "registry"}, 0, 9); err != nil || len(p.Leaves) != 1 {
		t.Fatalf("%+v %v", p, err)
	}
	if i, ok, err := x.Lookup(dagcbor.Sum([]byte("no cbor"))); !ok || err != nil || i != 3 {
		t.Fatalf("%d %v %v", i, ok, err)
	}
	if err := x.Absorb([][]byte{[]byte("no leaf")}, nil, 5, merkle.Hash{}); err == nil {
		t.Fatal("absorbed")
	}
	if size, _, _ := x.Covered(); size != 4 {
		t.Fatal("a failed batch counts")
	}
	for _, limit := range []int{0, MaxPage + 1} {
		if _, err := x.Search(Query{Kind: "registry"}, 0, limit); err == nil {
			t.Fatal("limit")
		}
	}
	if _, err := x.Search(Query{}, 0, 1); err == nil {
		t.Fatal("empty query")
	}
}
