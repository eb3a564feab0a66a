package laws

import (
	"cmp"
	"slices"

	"github.com/obstat/obstat/report"
)

// findings counts all and keeps some of every code.
type findings struct {
	most    int
	kept    []Finding
	ofCode  map[report.Code]int
	results [lawCount]Result
}

func newFindings(most int) *findings {
	f := &findings{most: most, ofCode: make(map[report.Code]int)}
	for i, l := range All() {
		f.results[i] = Result{Law: l, Answer: Held}
	}
	return f
}

func (f *findings) add(x Finding) {
	r := &f.results[x.Law-1]
	if x.Answer == Violated && !x.Disowned {
		r.Violated++
		r.Answer = Violated
	} else {
		r.NotChecked++
		if r.Answer == Held {
			r.Answer = NotChecked
		}
	}
	if f.ofCode[x.Code] < f.most {
		f.ofCode[x.Code]++
		f.kept = append(f.kept, x)
	}
}

// sorted returns what was kept: forks first, then by evidence and law.
func (f *findings) sorted() ([]Finding, [lawCount]Result) {
	slices.SortStableFunc(f.kept, func(a, b Finding) int {
		fork := func(x Finding) int {
			if x.Code == report.CodeLaw5Fork {
				return 0
			}
			return 1
		}
		return cmp.Or(
			cmp.Compare(fork(a), fork(b)),
			slices.Compare(a.Evidence, b.Evidence),
			cmp.Compare(a.Law, b.Law),
			cmp.Compare(a.Code, b.Code),
		)
	})
	return f.kept, f.results
}

// finding is one on its way to its run, where it is weighed.
type finding struct {
	law      Law
	code     report.Code
	only     bool // leaves the law not checked, and does not violate it
	hangs    bool // violates exactly if the run is closed
	flags    byte // of the evidence, together
	evidence [3]uint64
	leaves   byte // how many of evidence there are
}

func evidence(index ...uint64) (e [3]uint64) {
	copy(e[:], index)
	return e
}

// find sends a finding to a run.
func (c *Check) find(f finding, run Run) error {
	if f.leaves == 0 {
		f.leaves = 1
	}
	r := &c.rec
	r.headOfRun(run, tagFinding)
	r.uint64(uint64(f.law))
	r.uint64(f.evidence[0])
	r.bool(f.only)
	r.bool(f.hangs)
	r.byte(f.flags)
	r.byte(f.leaves)
	r.uint64(f.evidence[1])
	r.uint64(f.evidence[2])
	r.text(string(f.code))
	return c.runs.add(*r)
}

// readFinding reads what find wrote, behind the head.
func readFinding(r *reader) (f finding) {
	f.law = Law(r.uint64())
	f.evidence[0] = r.uint64()
	f.only = r.bool()
	f.hangs = r.bool()
	f.flags = r.byte()
	f.leaves = r.byte()
	f.evidence[1] = r.uint64()
	f.evidence[2] = r.uint64()
	f.code = report.Code(r.text())
	if f.law < JudgedFirst || f.law > ClosedVocabulary || f.leaves == 0 || f.leaves > 3 {
		r.bad = true
	}
	return f
}
