package laws_test

import (
	"fmt"
	"testing"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/receipt/receipttest"
)

// BenchmarkLaws holds statements of a hundred runs that mingle to the laws; the
// statements are decoded and their signatures are somebody else's.
func BenchmarkLaws(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if n > 100_000 && testing.Short() {
				b.Skip("takes a gigabyte")
			}
			entries := statements(n)
			o := laws.Options{
				Origin: origin, Now: receipttest.Start + 1_000_000_000,
				Vocabularies: []*receipt.Vocabulary{receipt.StandardVocabulary()},
			}
			b.ReportAllocs()
			for b.Loop() {
				c, err := laws.New(o)
				if err != nil {
					b.Fatal(err)
				}
				for i := range entries {
					if err := c.Add(entries[i]); err != nil {
						b.Fatal(err)
					}
				}
				r, err := c.Finish()
				if err != nil {
					b.Fatal(err)
				}
				if r.Answer() != laws.Held {
					b.Fatal(list(r))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/statement")
		})
	}
}

// statements makes n statements of lawful runs, four in a round of each.
func statements(n int) []laws.Entry {
	w := newWorld()
	w.entries = make([]laws.Entry, 0, n+8)
	var runs []*receipttest.Run
	for i := range 100 {
		w.run = receipttest.NewRun(receipttest.Key("engine"), receipt.Name(fmt.Sprintf("run-%d", i)))
		runs = append(runs, w.run)
		w.open()
	}
	for i := 0; len(w.entries) < n-len(runs); i++ {
		w.run = runs[i%len(runs)]
		label := fmt.Sprint(i)
		switch i % 8 {
		case 0:
			w.judge(label, receipttest.Deny("NO-RULE"))
		case 1:
			j := w.ask(label)
			w.commitUnder(j, w.decide(j, receipt.Approve))
		default:
			w.commit(w.admit(label))
		}
	}
	for _, w.run = range runs {
		w.close()
	}
	return w.entries
}
