package index

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

// A key rotates within a run, two statements claim one place, and a statement
// comes late: the run is listed by seq all the same.
func TestRunInOrder(t *testing.T) {
	x := openIn(t, vfs.NewMem(), "index")
	add := func(key string, run receipt.Name, seq uint64, n int) []byte {
		j := receipttest.Judgment(fmt.Sprint(n), receipttest.Admit("rule"))
		c := receipt.Call{By: receipt.KeyID(keyID(key)), Run: run, Seq: seq, At: receipttest.Start, Prev: dagcbor.Sum([]byte("prev"))}
		return leafOf(t, dsse.ReceiptType, receipttest.Build(c, j).Payload())
	}
	absorb(t, x, listing(t, "a"), add("a", "run", 3, 1), add("a", "run", 1, 2), add("b", "run", 2, 3))
	absorb(t, x, add("a", "run", 2, 4), add("a", "run-2", 1, 5), add("a", "run", 300, 6), add("a", "run", 1, 7))
	got := allOfRun(t, x, "a", "run", Position{}, 2)
	var at []Position
	for _, p := range got {
		at = append(at, p.Position)
	}
	want := []Position{{1, 2}, {1, 7}, {2, 4}, {3, 1}, {300, 6}}
	if !slices.Equal(at, want) {
		t.Fatal(at)
	}
	for from, n := range map[Position]int{{1, 3}: 4, {2, 0}: 3, {3, 2}: 1, {301, 0}: 0, {math.MaxUint64, math.MaxUint64}: 0} {
		if got := allOfRun(t, x, "a", "run", from, 9); len(got) != n {
			t.Errorf("from %v: %v", from, got)
		}
	}
	if got := allOfRun(t, x, "key:"+keyID("b").String(), "run", Position{}, 9); len(got) != 1 || got[0].Leaf != 3 {
		t.Error(got)
	}
	if got := allOfRun(t, x, "a", "ru", Position{}, 9); len(got) != 0 {
		t.Error("a run by half its name:", got)
	}
}

// The same receipt in many calls is many leaves.
func TestReceiptInPages(t *testing.T) {
	x := openIn(t, vfs.NewMem(), "index")
	var c dagcbor.CID
	var want []uint64
	for i := range uint64(30) {
		j := receipttest.Judgment("same", receipttest.Admit("rule"))
		if i%3 == 2 {
			j = receipttest.Judgment("other", receipttest.Admit("rule"))
		}
		d := receipttest.Build(receipt.Call{By: receipt.KeyID(keyID("a")), Run: "run", Seq: 1 + i, At: receipttest.Start, Prev: dagcbor.Sum([]byte("prev"))}, j)
		absorb(t, x, leafOf(t, dsse.ReceiptType, d.Payload()))
		if i%3 != 2 {
			c, want = d.ReceiptCID, append(want, i)
		}
	}
	for _, limit := range []int{1, 3, 20, MaxPage} {
		if got := all(t, 30, 0, limit, func(from uint64, n int) (Page, error) { return x.Receipt(c, from, n) }); !slices.Equal(got, want) {
			t.Errorf("in pages of %d: %v", limit, got)
		}
	}
	if p, err := x.Receipt(c, 28, 9); err != nil || !slices.Equal(p.Leaves, []uint64{28}) || p.More {
		t.Errorf("%+v %v", p, err)
	}
}

// Lists longer than a piece, over several batches, meet each other.
func TestSearchMeets(t *testing.T) {
	x := openIn(t, vfs.NewMem(), "index")
	var leaves [][]byte
	deny := []string{"A", "B", "C"}
	const n = 2*maxList + 500
	for i := range n {
		v := receipttest.Admit("rule")
		if i%7 == 0 || i > n-5 {
			v = receipttest.Deny(deny[i%3], "EVERY")
		}
		c := receipt.Call{By: receipt.KeyID(keyID(fmt.Sprint("k", i%2))), Run: "run", Seq: 1, At: receipttest.Start, Prev: dagcbor.Sum([]byte("prev"))}
		leaves = append(leaves, leafOf(t, dsse.ReceiptType, receipttest.Build(c, receipttest.Judgment(fmt.Sprint(i), v)).Payload()))
	}
	absorb(t, x, listing(t, "k0", "k1"))
	absorb(t, x, leaves[:maxList+100]...)
	absorb(t, x, leaves[maxList+100:]...)
	for q, keep := range map[Query]func(i int) bool{
		{Kind: "judgment"}: func(int) bool { return true },
		{Verdict: "deny"}:  func(i int) bool { return i%7 == 0 || i > n-5 },
		{Kind: "judgment", Verdict: "deny", Code: "B", Engine: "k1"}: func(i int) bool { return (i%7 == 0 || i > n-5) && i%3 == 1 && i%2 == 1 },
		{Code: "EVERY", Engine: "k0"}:                                func(i int) bool { return (i%7 == 0 || i > n-5) && i%2 == 0 },
		{Verdict: "admit", Code: "EVERY"}:                            func(int) bool { return false },
	} {
		var want []uint64
		for i := range n {
			if keep(i) {
				want = append(want, uint64(i)+1)
			}
		}
		for _, limit := range []int{1, 10, MaxPage} {
			if limit == 1 && len(want) > 500 {
				continue
			}
			got := all(t, n+1, 0, limit, func(from uint64, limit int) (Page, error) { return x.Search(q, from, limit) })
			if !slices.Equal(got, want) {
				t.Errorf("%+v in pages of %d: %d leaves, want %d", q, limit, len(got), len(want))
			}
		}
	}
}

// A search that finds nothing for long says how far it came.
func TestSearchIsBounded(t *testing.T) {
	p := Page{Covered: math.MaxUint64}
	x := openIn(t, vfs.NewMem(), "index")
	var odd, even list
	for i := range uint64(2 * maxSteps) {
		odd.leaves, even.leaves = append(odd.leaves, 2*i+1), append(even.leaves, 2*i)
	}
	w := writing{lists: map[term]*list{{fieldCode, "ODD"}: &odd, {fieldCode, "EVEN"}: &even}}
	if err := x.commit(&w, cover{1 << 40, rootAt(1 << 40)}); err != nil {
		t.Fatal(err)
	}
	err := x.read(func(s *store, _ *cover) error {
		var all []*cursor
		for _, v := range []string{"ODD", "EVEN"} {
			prefix := termPrefix(term{fieldCode, v})
			it, err := s.iterate(prefix)
			if err != nil {
				return err
			}
			defer it.Close()
			all = append(all, &cursor{it: it, prefix: prefix})
		}
		return p.search(all, 0, 10)
	})
	if err != nil || !p.More || len(p.Leaves) != 0 || p.Next < maxSteps/2 || p.Next > 2*maxSteps {
		t.Fatalf("%+v %v", p, err)
	}
}

// What an index holds beyond the size that it says it covers is not told:
// readers may be ahead of the size that they read first.
func TestAnswersEndAtCovered(t *testing.T) {
	x := openIn(t, vfs.NewMem(), "index")
	leaves := someLeaves(t, 9)
	absorb(t, x, leaves...)
	x.covered.Store(&cover{5, rootAt(5)})
	if p, err := x.Search(Query{Code: "OUTSIDE-ROOT"}, 0, 2); err != nil || !slices.Equal(p.Leaves, []uint64{2, 3}) || !p.More || p.Next != 4 || p.Covered != 5 {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := x.Search(Query{Code: "OUTSIDE-ROOT"}, 0, 3); err != nil || len(p.Leaves) != 3 || p.More {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := x.Run("engine-a", "run-1", Position{}, 9); err != nil || len(p.Statements) != 4 || p.More || p.Covered != 5 {
		t.Errorf("%+v %v", p, err)
	}
	env, err := dsse.ParseLeaf(leaves[7])
	if err != nil {
		t.Fatal(err)
	}
	d, err := receipt.Decode(env.Payload)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := x.Receipt(d.ReceiptCID, 0, 9); err != nil || len(p.Leaves) != 0 || p.Covered != 5 {
		t.Errorf("%+v %v", p, err)
	}
	// Counters cannot be cut, and so say what they cover.
	if _, covered, err := x.Counters(); err != nil || covered != 9 {
		t.Error(covered, err)
	}
}

func TestQueryRefuses(t *testing.T) {
	x := openIn(t, vfs.NewMem(), "index")
	absorb(t, x, someLeaves(t, 4)...)
	c := dagcbor.Sum(nil)
	for _, limit := range []int{-1, 0, MaxPage + 1} {
		_, err := x.Search(Query{Kind: "judgment"}, 0, limit)
		wantCode(t, err, report.CodeHTTPQuery)
		_, err = x.Run("engine-a", "run-1", Position{}, limit)
		wantCode(t, err, report.CodeHTTPQuery)
		_, err = x.Receipt(c, 0, limit)
		wantCode(t, err, report.CodeHTTPQuery)
	}
	for _, bad := range []string{"a\x00b", "a b", strings.Repeat("x", 129), "ü"} {
		_, err := x.Search(Query{Code: bad}, 0, 1)
		wantCode(t, err, report.CodeHTTPQuery)
		_, err = x.Run(bad, "run-1", Position{}, 1)
		wantCode(t, err, report.CodeHTTPQuery)
		_, err = x.Run("engine-a", bad, Position{}, 1)
		wantCode(t, err, report.CodeHTTPQuery)
	}
	_, err := x.Search(Query{}, 0, 1)
	wantCode(t, err, report.CodeHTTPQuery)
}
