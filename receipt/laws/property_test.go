package laws_test

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

// lawfulWorld draws a log of one to three lawful and closed runs whose
// statements mingle, with the decisions they rest on.
func lawfulWorld(t *rapid.T) *world {
	w := newWorld()
	var runs []*receipttest.Run
	for i := range rapid.IntRange(1, 3).Draw(t, "runs") {
		w.run = receipttest.NewRun(receipttest.Key("engine"), receipt.Name([]string{"a", "b", "c"}[i]))
		w.open()
		runs = append(runs, w.run)
	}
	pending := make(map[*receipttest.Run][]*receipt.Decoded) // judged, to be settled
	label := 0
	for range rapid.IntRange(0, 12).Draw(t, "steps") {
		w.run = rapid.SampledFrom(runs).Draw(t, "run")
		label++
		name := string(rune('a' + label))
		switch rapid.IntRange(0, 5).Draw(t, "step") {
		case 0:
			w.judge(name, receipttest.Deny("NO-RULE"))
		case 1:
			pending[w.run] = append(pending[w.run], w.admit(name))
		case 2:
			pending[w.run] = append(pending[w.run], w.ask(name))
		case 3:
			pending[w.run] = append(pending[w.run], w.fault())
		default:
			if calls := pending[w.run]; len(calls) > 0 {
				i := rapid.IntRange(0, len(calls)-1).Draw(t, "call")
				w.finish(t, calls[i])
				pending[w.run] = slices.Delete(calls, i, i+1)
			}
		}
	}
	for _, w.run = range runs {
		for _, call := range pending[w.run] {
			w.finish(t, call)
		}
		w.close()
	}
	w.renumber()
	return w
}

// finish settles a call in one of the ways that are lawful.
func (w *world) finish(t *rapid.T, call *receipt.Decoded) {
	approval := receipt.CID{}
	if j, ok := call.Statement.Receipt.(receipt.Judgment); ok && j.Ruling.Verdict().Arm().String() == "escalate" {
		switch rapid.IntRange(0, 2).Draw(t, "answer") {
		case 0:
			w.settle(call, receipt.Expired{Recovery: receipttest.Recovery("expired")})
			return
		case 1:
			no := w.decide(call, receipt.Reject)
			w.settle(call, receipt.Rejected{Decision: no.CID, Recovery: receipttest.Recovery("rejected")})
			return
		}
		approval = w.decide(call, receipt.Approve).CID
	}
	request := receipttest.RequestOf(call)
	for rapid.Bool().Draw(t, "left open") {
		call = w.settle(call, receipt.Unobserved{Code: "NO-ANSWER", Approval: approval})
	}
	switch rapid.IntRange(0, 2).Draw(t, "end") {
	case 0:
		w.settle(call, receipt.Committed{Fired: request, Approval: approval})
	case 1:
		w.settle(call, receipt.Failed{Code: "IO-ERROR", Restored: receipt.RestoredNo, Approval: approval})
	default:
		w.settle(call, receipt.Cancelled{Code: "WITHDRAWN", Recovery: receipttest.Recovery("cancelled")})
	}
}

// TestOneChangeIsFound: no receipt can be dropped from lawful runs, doubled,
// moved or changed so that all laws are still held.
func TestOneChangeIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := lawfulWorld(t)
		if r := check(t, w); r.Answer() != laws.Held {
			t.Fatalf("lawful and %v:%s", r.Answer(), list(r))
		}
		i := rapid.IntRange(0, len(w.entries)-1).Draw(t, "entry")
		change := rapid.SampledFrom([]string{"drop", "double", "move", "change"}).Draw(t, "change")
		if change != "double" && !matters(w, w.entries[i].Decoded) {
			t.Skip("a decision that nothing rests on")
		}
		switch change {
		case "drop":
			w.drop(i)
		case "double":
			to := rapid.IntRange(i+1, len(w.entries)).Draw(t, "to")
			w.entries = slices.Insert(w.entries, to, w.entries[i])
			w.renumber()
		case "move":
			to := rapid.IntRange(0, len(w.entries)-1).Draw(t, "to")
			was := slices.Clone(w.entries)
			w.move(i, to)
			if sameOrder(w, was) {
				t.Skip("nothing that belongs together has changed order")
			}
		case "change":
			w.entries[i].Decoded = changed(t, w.entries[i].Decoded)
		}
		if r := check(t, w); r.Answer() == laws.Held {
			t.Fatalf("%s of %s at %d is not found", change, w.entries[min(i, len(w.entries)-1)].Decoded.Statement.Receipt.Kind(), i)
		}
	})
}

func check(t *rapid.T, w *world) *laws.Report {
	c, err := laws.New(w.o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range w.entries {
		if err := c.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	r, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// matters: a decision that no outcome names changes nothing.
func matters(w *world, d *receipt.Decoded) bool {
	if d.Statement.Receipt.Kind() != receipt.KindDecision {
		return true
	}
	for _, e := range w.entries {
		if restsOn(e.Decoded, d) {
			return true
		}
	}
	return false
}

func restsOn(outcome, decision *receipt.Decoded) bool {
	o, ok := outcome.Statement.Receipt.(receipt.Outcome)
	if !ok {
		return false
	}
	r, _ := o.Disposition.(receipt.Rejected)
	return r.Decision == decision.CID || receipt.ApprovalOf(o.Disposition) == decision.CID
}

// sameOrder: the statements of each run, and each decision with its judgment
// and with the outcomes that rest on it, stand in the order in which they were.
func sameOrder(w *world, was []laws.Entry) bool {
	place := make(map[receipt.CID]int)
	for i, e := range w.entries {
		place[e.Decoded.CID] = i
	}
	for i, x := range was {
		for _, y := range was[i+1:] {
			if belong(w, x.Decoded, y.Decoded) && place[x.Decoded.CID] > place[y.Decoded.CID] {
				return false
			}
		}
	}
	return true
}

func belong(w *world, x, y *receipt.Decoded) bool {
	c, d := x.Statement.Call, y.Statement.Call
	switch {
	case c.Run != "" && c.Run == d.Run:
		return true
	case d.Settles == x.CID:
		return matters(w, y)
	}
	return x.Statement.Receipt.Kind() == receipt.KindDecision && restsOn(y, x)
}

// changed returns another receipt in the same call.
func changed(t *rapid.T, d *receipt.Decoded) *receipt.Decoded {
	c := d.Statement.Call
	switch r := d.Statement.Receipt.(type) {
	case receipt.RunOpen:
		r.Engine.Version = "9"
		return receipttest.Build(c, r)
	case receipt.Judgment:
		r.Class = receipt.Red
		return receipttest.Build(c, r)
	case receipt.Outcome:
		r.Request[0] ^= 1
		return receipttest.Build(c, r)
	case receipt.Fault:
		r.Code = "INTERNAL"
		return receipttest.Build(c, r)
	case receipt.Decision:
		if !rapid.Bool().Draw(t, "ticket") {
			c.At++
			if r.Answer == receipt.Approve { // nothing may rest on it, and then it may be another
				r.Answer = receipt.Reject
			} else {
				r.Answer = receipt.Approve
			}
			return receipttest.Build(c, r)
		}
		r.Ticket[0] ^= 1
		return receipttest.Build(c, r)
	case receipt.RunClose:
		r.Judgments.Deny++
		return receipttest.Build(c, r)
	}
	panic("no such kind in a lawful world")
}

// slow is a Sorter over a slice.
type slow struct {
	records [][]byte
	closed  *int
	fail    error
}

func (s *slow) Add(r []byte) error {
	s.records = append(s.records, bytes.Clone(r))
	return s.fail
}

func (s *slow) Sorted() iter.Seq2[[]byte, error] {
	slices.SortFunc(s.records, bytes.Compare)
	return func(yield func([]byte, error) bool) {
		var buf []byte // used again, as a sorter over files would
		for _, r := range s.records {
			buf = append(buf[:0], r...)
			if !yield(buf, nil) {
				return
			}
		}
	}
}

func (s *slow) Close() error { *s.closed++; return nil }

// TestSorterChangesNothing: the same report comes out of memory, of a sorter,
// and of both; and every sorter is closed.
func TestSorterChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := lawfulWorld(t)
		if rapid.Bool().Draw(t, "break") {
			w.drop(rapid.IntRange(0, len(w.entries)-1).Draw(t, "entry"))
		}
		want := check(t, w)
		made, closed := 0, 0
		w.o.MaxState = int64(rapid.IntRange(1, 20_000).Draw(t, "bytes"))
		w.o.NewSorter = func() (laws.Sorter, error) { made++; return &slow{closed: &closed}, nil }
		got := check(t, w)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if made != closed || w.o.MaxState < 100 && made == 0 {
			t.Fatalf("%d sorters made, %d closed", made, closed)
		}
	})
}

func TestStateLimit(t *testing.T) {
	w := newWorld()
	w.lawful()
	w.drop(2)
	for _, most := range []int64{1, 3_000, 7_000} {
		w.o.MaxState = most
		r := w.check(t)
		for _, l := range laws.All() {
			f, ok := found(r, l, report.CodeLawStateLimit)
			if !ok || f.Answer != laws.NotChecked || r.Of(l).Answer != laws.NotChecked {
				t.Errorf("%d bytes: law %d is %v:%s", most, l, r.Of(l).Answer, list(r))
			}
		}
	}
}

// TestSorterFails: the sorter's error comes back, and a sorter that gives other
// records than it was given is found out and never panics.
func TestSorterFails(t *testing.T) {
	w := newWorld()
	w.lawful()
	w.o.MaxState = 1
	closed := 0
	failed := errors.New("disk full")
	run := func(s func() (laws.Sorter, error)) error {
		w.o.NewSorter = s
		c, err := laws.New(w.o)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range w.entries {
			if err := c.Add(e); err != nil {
				return err
			}
		}
		_, err = c.Finish()
		return err
	}
	if err := run(func() (laws.Sorter, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("no sorter: %v", err)
	}
	if err := run(func() (laws.Sorter, error) { return &slow{closed: &closed, fail: failed}, nil }); !errors.Is(err, failed) {
		t.Errorf("no space: %v", err)
	}
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.IntRange(0, 60).Draw(t, "keep")
		_ = run(func() (laws.Sorter, error) { return &spoiler{slow{closed: &closed}, keep}, nil })
	})
	if err := run(func() (laws.Sorter, error) { return &spoiler{slow{closed: &closed}, 45}, nil }); report.CodeOf(err) != report.CodeInternal {
		t.Errorf("cut short: %v", err)
	}
}

// spoiler cuts every record.
type spoiler struct {
	slow
	keep int
}

func (s *spoiler) Add(r []byte) error { return s.slow.Add(r[:min(len(r), s.keep)]) }

// TestStrangersAccuseNobody: whoever is not known may have signed just what is
// missed, so lawful runs of which some signers are not known violate nothing,
// and no law is held.
func TestStrangersAccuseNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := lawfulWorld(t)
		for range rapid.IntRange(1, 3).Draw(t, "strangers") {
			w.entries[rapid.IntRange(0, len(w.entries)-1).Draw(t, "entry")].Principal = ""
		}
		r := check(t, w)
		for _, result := range r.Results {
			if result.Answer != laws.NotChecked {
				t.Fatalf("law %d is %v:%s", result.Law, result.Answer, list(r))
			}
		}
	})
	// What a statement that is there shows stands.
	w := newWorld()
	w.lawful()
	w.settle(w.entries[1].Decoded, receipt.Committed{Fired: receipttest.Digest("other")})
	w.log(w.run.Add(receipttest.Judgment("x", receipttest.Deny("NO-RULE"))))
	w.last().Principal = ""
	r := w.check(t)
	for _, l := range []laws.Law{laws.JudgedIsExecuted, laws.SettledOnce} {
		if r.Of(l).Answer != laws.Violated {
			t.Errorf("law %d: %s", l, list(r))
		}
	}
}

// TestAnythingIsJudged: statements that have nothing to do with one another, of
// any content, are held to the laws without a panic, and something is found.
func TestAnythingIsJudged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for i := range rapid.IntRange(1, 20).Draw(t, "statements") {
			d, err := receipttest.Statement(t).Build()
			if err != nil {
				t.Fatal(err)
			}
			e := laws.Entry{
				Index: uint64(i), Decoded: d, Role: receipt.RoleFor(d.Statement.Receipt.Kind()),
				Principal: rapid.SampledFrom([]string{"", "engine", "rival"}).Draw(t, "principal"),
				Key:       rapid.Uint32Max(disowned).Draw(t, "key"),
			}
			if rapid.Bool().Draw(t, "later version") {
				e.Frame, e.Decoded = d.Frame(), nil
			}
			w.entries = append(w.entries, e)
		}
		r := check(t, w)
		if r.Answer() == laws.Held {
			t.Fatal("held")
		}
		for _, f := range r.Findings {
			if len(f.Evidence) == 0 && f.Code != report.CodeLawNothing {
				t.Fatalf("no evidence: %v", f)
			}
		}
	})
}
