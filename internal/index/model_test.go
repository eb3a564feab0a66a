package index

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

// naive is the same index, kept as a list and told from the JSON view.
type naive []naiveLeaf

type naiveLeaf struct {
	bytes              []byte
	statement, receipt dagcbor.CID
	engine, run        string
	seq                uint64
	kind               string
	verdict            string
	disposition        string
	codes              []string
}

func naiveOf(t rapid.TB, leaf []byte, d *receipt.Decoded, engine string) naiveLeaf {
	doc, err := receipt.ToJSON(d)
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Call struct {
			Run string
			Seq uint64
		}
		Receipt map[string]map[string]any
	}
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	n := naiveLeaf{bytes: leaf, statement: d.CID, receipt: d.ReceiptCID, engine: engine, run: v.Call.Run, seq: v.Call.Seq}
	for kind, body := range v.Receipt {
		n.kind = kind
		n.verdict, n.disposition = armIn(body["verdict"]), armIn(body["disposition"])
		n.codes = codesIn(body)
	}
	return n
}

func armIn(v any) string {
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

func (n naive) pick(from uint64, keep func(naiveLeaf) bool) (out []uint64) {
	for i, l := range n {
		if uint64(i) >= from && keep(l) {
			out = append(out, uint64(i))
		}
	}
	return out
}

// run lists a run by seq, then leaf.
func (n naive) run(engine, run string, from Position) (out []Placed) {
	for i, l := range n {
		p := Position{l.seq, uint64(i)}
		if l.engine == engine && l.run == run && run != "" && !(p.Seq < from.Seq || p.Seq == from.Seq && p.Leaf < from.Leaf) {
			out = append(out, Placed{p, l.statement})
		}
	}
	slices.SortStableFunc(out, func(a, b Placed) int { return int(int64(a.Seq) - int64(b.Seq)) })
	return out
}

func (n naive) counters() map[Count]bool {
	m := map[[2]string]uint64{}
	for _, l := range n {
		m[[2]string{"kind", l.kind}]++
		m[[2]string{"verdict", l.verdict}]++
		m[[2]string{"disposition", l.disposition}]++
		m[[2]string{"engine", l.engine}]++
		for _, c := range slices.Compact(slices.Sorted(slices.Values(l.codes))) {
			m[[2]string{"code", c}]++
		}
	}
	out := map[Count]bool{}
	for k, v := range m {
		if k[1] != "" {
			out[Count{k[0], k[1], v}] = true
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
func all(t rapid.TB, size uint64, from uint64, limit int, page func(from uint64, limit int) (Page, error)) []uint64 {
	t.Helper()
	var out []uint64
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
		if len(p.Leaves) != limit || p.Next <= p.Leaves[limit-1] {
			t.Fatalf("a page of %d with more behind it, next %d", len(p.Leaves), p.Next)
		}
		from = p.Next
	}
}

func allOfRun(t rapid.TB, x *Index, engine, run string, from Position, limit int) []Placed {
	var out []Placed
	for {
		p, err := x.Run(engine, run, from, limit)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p.Statements...)
		if !p.More {
			return out
		}
		if len(p.Statements) != limit {
			t.Fatalf("a page of %d with more behind it", len(p.Statements))
		}
		from = p.Next
	}
}

// drawer draws leaves of one log.
type drawer struct {
	tb     testing.TB
	listed []string // labels of keys that a leaf lists
}

var labels = []string{"engine-a", "engine-b", "engine-c"}

func (d *drawer) leaf(t *rapid.T) naiveLeaf {
	if rapid.IntRange(0, 9).Draw(t, "registry") == 0 {
		label := rapid.SampledFrom(labels).Draw(t, "listed")
		leaf := listing(d.tb, label)
		d.listed = append(d.listed, label)
		return naiveLeaf{bytes: leaf, statement: statementOf(d.tb, leaf), kind: KindRegistry}
	}
	s := receipttest.Statement(t)
	label := rapid.SampledFrom(labels).Draw(t, "by")
	s.Call.By = receipt.KeyID(keyID(label))
	if s.Call.Run != "" {
		s.Call.Run = rapid.SampledFrom([]receipt.Name{"run-1", "run-2", "run"}).Draw(t, "run")
	}
	if s.Call.Seq > 0 && s.Receipt.Kind() != receipt.KindGap {
		s.Call.Seq = rapid.Uint64Range(1, 5).Draw(t, "seq")
	}
	st := receipttest.Build(s.Call, s.Receipt)
	name := label
	if !slices.Contains(d.listed, label) {
		name = "key:" + keyID(label).String()
	}
	leaf := leafOf(d.tb, dsse.ReceiptType, st.Payload())
	return naiveOf(t, leaf, st, name)
}

// Random leaves in random batches, with restarts, flushes and new beginnings:
// the index answers as the naive list does.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := vfs.NewMem()
		x := openIn(t, f, "index")
		defer func() { x.Close() }()
		var want naive
		d := drawer{tb: t}
		for range rapid.IntRange(1, 5).Draw(rt, "batches") {
			var leaves [][]byte
			for range rapid.IntRange(0, 12).Draw(rt, "leaves") {
				l := d.leaf(rt)
				if slices.ContainsFunc(want, func(o naiveLeaf) bool { return o.statement == l.statement }) {
					continue // as the log does
				}
				leaves, want = append(leaves, l.bytes), append(want, l)
			}
			absorb(t, x, leaves...)
			switch rapid.SampledFrom([]string{"go on", "restart", "flush", "reset"}).Draw(rt, "then") {
			case "restart":
				if err := x.Close(); err != nil {
					t.Fatal(err)
				}
				x = openIn(t, f, "index")
			case "flush":
				if err := x.store.db.Flush(); err != nil {
					t.Fatal(err)
				}
			case "reset":
				if err := x.Reset(); err != nil {
					t.Fatal(err)
				}
				leaves = leaves[:0]
				for _, l := range want {
					leaves = append(leaves, l.bytes)
				}
				absorb(t, x, leaves...)
			}
		}
		compare(rt, x, want)
	})
}

func compare(t *rapid.T, x *Index, want naive) {
	size := uint64(len(want))
	from := rapid.Uint64Range(0, size).Draw(t, "from")
	limit := rapid.IntRange(1, 5).Draw(t, "limit")
	compareFrom(t, x, want, from, limit)
	if _, ok, err := x.Lookup(dagcbor.Sum([]byte("none"))); ok || err != nil {
		t.Fatalf("%v %v", ok, err)
	}
}

func compareFrom(t rapid.TB, x *Index, want naive, from uint64, limit int) {
	t.Helper()
	size := uint64(len(want))
	if got, root, err := x.Covered(); err != nil || got != size || size > 0 && root != rootAt(size) {
		t.Fatalf("covers %d %v %v, want %d", got, root, err, size)
	}
	same := func(what string, got, want []uint64) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Fatalf("%s from %d: got %v, want %v", what, from, got, want)
		}
	}
	asked := map[any]bool{}
	once := func(what any) bool {
		was := asked[what]
		asked[what] = true
		return !was
	}
	for i, l := range want {
		if at, ok, err := x.Lookup(l.statement); err != nil || !ok || at != uint64(i) {
			t.Fatalf("statement %d: %d %v %v", i, at, ok, err)
		}
		if once(l.receipt) && !l.receipt.IsZero() {
			same("receipt", all(t, size, from, limit, func(f uint64, n int) (Page, error) { return x.Receipt(l.receipt, f, n) }),
				want.pick(from, func(o naiveLeaf) bool { return o.receipt == l.receipt }))
		}
		if l.run != "" && once([2]string{l.engine, l.run}) {
			at := Position{l.seq, from}
			got, want := allOfRun(t, x, l.engine, l.run, at, limit), want.run(l.engine, l.run, at)
			if !slices.Equal(got, want) {
				t.Fatalf("run from %+v: got %v, want %v", at, got, want)
			}
		}
		for _, q := range []Query{{Kind: l.kind}, {Verdict: l.verdict, Engine: l.engine}, {Disposition: l.disposition, Kind: "outcome"},
			{Code: slices.Concat(l.codes, []string{"NONE"})[0]}, {Kind: l.kind, Engine: l.engine, Code: slices.Concat(l.codes, []string{"NONE"})[0]}} {
			if q != (Query{}) && once(q) {
				same(fmt.Sprint(q), all(t, size, from, limit, func(f uint64, n int) (Page, error) { return x.Search(q, f, n) }),
					want.pick(from, q.matches))
			}
		}
	}
	counters := want.counters()
	list, covered, err := x.Counters()
	if err != nil || covered != size || len(list) != len(counters) {
		t.Fatalf("%d counters of %d leaves, %v; want %d of %d", len(list), covered, err, len(counters), size)
	}
	for _, c := range list {
		if !counters[c] {
			t.Fatalf("counter %+v is not among %v", c, counters)
		}
	}
}
