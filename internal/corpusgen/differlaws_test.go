package corpusgen

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/internal/secondreader"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

// TestTwoReadersOfLaws draws runs, lawful ones and ones in which something was
// dropped, moved, doubled or changed, and asks both readers about each: they say
// the same of every law. Which of several codes a law has may differ.
func TestTwoReadersOfLaws(t *testing.T) {
	_, files := built(t)
	r := drawing(t)
	rounds := 300
	if os.Getenv("OBSTAT_HEAVY") != "" {
		rounds = 3000
	}
	answers := map[corpus.Answer]int{}
	for range rounds {
		w := (&builder{t: t}).newLawWorld()
		said := drawn(r, w)
		l := testlog.New(t)
		w.fill(l)
		fsys := fstest.MapFS{}
		for path, f := range l.Site(l.Size()) {
			fsys["log/"+path] = f
		}
		for _, path := range []string{noQuorum, lawTrust, "vocabulary/standard.vocabulary"} {
			fsys[path] = &fstest.MapFile{Data: files[path]}
		}
		c := corpus.Case{
			Name: "drawn/run", Command: corpus.AskRun, Ask: w.ask,
			Files: map[corpus.Part]string{corpus.Log: "log", corpus.Policy: noQuorum, corpus.Trust: lawTrust},
		}
		rep, err := c.Report(fsys)
		if err != nil {
			t.Fatal(err)
		}
		answer, found := corpus.Of(rep)
		answers[answer]++
		second := secondreader.Case{Command: "run", Files: map[string]string{"log": "log", "policy": noQuorum, "trust": lawTrust}}
		second.Ask.Now, second.Ask.Principal, second.Ask.Run = w.ask.Now, w.ask.Principal, w.ask.Run
		_, other, err := second.Got(fsys)
		var one, two []string
		for _, f := range found {
			one = append(one, f.Check+" "+string(f.Answer))
		}
		for _, s := range other {
			two = append(two, s[:strings.LastIndexByte(s, ' ')])
		}
		slices.Sort(one)
		slices.Sort(two)
		if err != nil || !slices.Equal(slices.Compact(one), slices.Compact(two)) {
			t.Errorf("%s:\n%v\nand by the second reader (%v)\n%v", strings.Join(said, ", "), found, err, other)
		}
	}
	t.Logf("answers %v", answers)
	if answers[corpus.Verified] == 0 || answers[corpus.Violated] == 0 {
		t.Error("the runs that are drawn are all alike")
	}
}

// drawn makes a run and spoils it in up to two places, and says what it did.
func drawn(r *rand.Rand, w *lawWorld) (said []string) {
	say := func(s string) { said = append(said, s) }
	w.open()
	var open []*receipt.Decoded // calls without an outcome
	var done []*receipt.Decoded // commits that recorded something
	for range r.IntN(7) {
		label := strconv.Itoa(r.IntN(4))
		switch r.IntN(7) {
		case 0:
			w.deny(label)
			say("deny")
		case 1:
			open = append(open, w.admit(label))
			say("admit")
		case 2:
			open = append(open, w.escalate(label))
			say("escalate")
		case 3:
			open = append(open, w.fault())
			say("fault")
		case 4:
			done = append(done, w.wrote(label))
			say("wrote")
		case 5:
			if len(done) > 0 {
				seen := []string{"v", "v", "w"}[r.IntN(3)]
				w.undo(label, done[r.IntN(len(done))], compared("k", []string{"v", "v", "x"}[r.IntN(3)], seen))
				say("undo, seen " + seen)
			}
		default:
			if len(open) > 0 {
				i := r.IntN(len(open))
				say("finish: " + w.finished(r, open[i]))
				if r.IntN(8) > 0 {
					open = slices.Delete(open, i, i+1)
				}
			}
		}
	}
	if r.IntN(8) > 0 {
		for _, call := range open {
			say("finish: " + w.finished(r, call))
		}
	}
	if r.IntN(6) > 0 {
		w.close()
		say("close")
	}
	for range r.IntN(3) {
		say(w.spoilt(r))
	}
	return said
}

// finished settles a call, as it should be more often than not.
func (w *lawWorld) finished(r *rand.Rand, call *receipt.Decoded) string {
	var approval receipt.CID
	j, is := call.Statement.Receipt.(receipt.Judgment)
	if is && j.Ruling.Verdict().Arm().String() == "escalate" {
		switch r.IntN(6) {
		case 0:
			w.settle(call, receipt.Expired{Recovery: receipttest.Recovery("expired")})
			return "expired"
		case 1:
			d := w.decide(call, receipt.Reject)
			w.settle(call, receipt.Rejected{Decision: d.CID, Recovery: receipttest.Recovery("rejected")})
			return "rejected"
		case 2: // nobody decides
		case 3:
			approval = w.decide(call, receipt.Reject).CID
		default:
			approval = w.decide(call, receipt.Approve).CID
		}
	}
	switch r.IntN(5) {
	case 0:
		call = w.settle(call, receipt.Unobserved{Code: "NO-ANSWER", Approval: approval})
		if r.IntN(2) == 0 {
			return "unobserved"
		}
		fallthrough
	case 1:
		w.settle(call, receipt.Failed{Code: "IO-ERROR", Restored: receipt.RestoredNo, Approval: approval})
		return "failed"
	case 2:
		w.settle(call, cancelled())
		return "cancelled"
	}
	fired := receipttest.RequestOf(call)
	if r.IntN(10) == 0 {
		fired[0] ^= 1
	}
	w.settle(call, receipt.Committed{Fired: fired, Approval: approval})
	return "committed"
}

// spoilt changes the log in one place.
func (w *lawWorld) spoilt(r *rand.Rand) string {
	i, j := r.IntN(len(w.entries)), r.IntN(len(w.entries))
	at := strconv.Itoa(i)
	switch r.IntN(6) {
	case 0:
		if len(w.entries) > 1 {
			w.drop(i)
		}
		return "drop " + at
	case 1:
		w.swap(i, j)
		return "swap " + at + " and " + strconv.Itoa(j)
	case 2:
		w.entries = append(w.entries, w.entries[i])
		return "repeat " + at
	case 3:
		for j := range w.entries { // one statement is of one version, in however many leaves
			if w.entries[j].d.CID == w.entries[i].d.CID {
				w.entries[j].typ = nextType
			}
		}
		return "later version at " + at
	case 4:
		w.entries[i].d = altered(r, w.entries[i].d)
		return "alter " + at
	}
	w.ask.Now = []int64{0, receipttest.Start, lawNow}[r.IntN(3)]
	return "another time"
}

// altered is another statement in the same place.
func altered(r *rand.Rand, d *receipt.Decoded) *receipt.Decoded {
	c := d.Statement.Call
	switch x := d.Statement.Receipt.(type) {
	case receipt.RunOpen:
		if r.IntN(2) == 0 {
			x.Logs = []receipt.Name{"example.org/second"}
		} else {
			x.Vocabulary[0] ^= 1
		}
		return receipttest.Build(c, x)
	case receipt.Judgment:
		x.Request.Digest[0] ^= 1
		return receipttest.Build(c, x)
	case receipt.Outcome:
		if r.IntN(2) == 0 {
			x.Of = d.CID
		} else {
			c.Settles = d.CID
		}
		return receipttest.Build(c, x)
	case receipt.Decision:
		switch r.IntN(3) {
		case 0:
			x.Ticket[0] ^= 1
		case 1:
			c.At += 1_000_000
		default:
			x.Answer = map[receipt.Answer]receipt.Answer{receipt.Approve: receipt.Reject, receipt.Reject: receipt.Approve}[x.Answer]
		}
		return receipttest.Build(c, x)
	case receipt.RunClose:
		x.Judgments.Deny++
		return receipttest.Build(c, x)
	}
	return d
}
