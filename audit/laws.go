package audit

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// Laws is what Options.Require takes for all laws together.
const Laws = "laws"

// LawChecks returns the names of the checks that hold the eight laws
// (spec/laws.md), in order: "law-1-judged-first" and so on. They are not among
// Required: a violated law counts always, and one that could not be checked
// counts where the caller requires it, since an honest log that is still
// written has open runs.
func LawChecks() []string {
	var out []string
	for _, l := range laws.All() {
		out = append(out, checkOfLaw(l))
	}
	return out
}

func checkOfLaw(l laws.Law) string {
	name := strings.ReplaceAll(strings.ReplaceAll(l.String(), "=", "is"), " ", "-")
	return fmt.Sprintf("law-%d-%s", l, name)
}

// findingsOfCode is how many findings of one code a report lists; all count.
const findingsOfCode = 10

// holdLaws begins to hold the log to the laws.
func (a *auditor) holdLaws() (err error) {
	o := laws.Options{
		Origin: receipt.Name(a.head.Origin), Now: a.o.Now, Cosigned: a.cosigned,
		Vocabularies: append([]*receipt.Vocabulary{receipt.StandardVocabulary()}, a.o.Vocabularies...),
		Disowned:     a.disowned, Only: a.o.Only, MaxState: a.o.MaxState, NewSorter: a.o.NewSorter, MaxFindings: findingsOfCode,
	}
	a.laws, err = laws.New(o)
	return err
}

// disowned is asked of the registry as it is when every leaf is folded.
func (a *auditor) disowned(key uint32, index uint64) bool {
	if a.registry == nil || int(key) >= len(a.signers) {
		return false
	}
	from, is := a.known().DisownedFrom(a.signers[key])
	return is && from <= index
}

// known is the registry as far as anybody knows it: the log's own, or a later one
// by the caller.
func (a *auditor) known() *trust.Registry {
	if a.later != nil {
		return a.later
	}
	return a.registry
}

// number returns a signer's place in the order in which signers came.
func (a *auditor) number(id dsse.KeyID) uint32 {
	n, ok := a.numbers[id]
	if !ok {
		n = uint32(len(a.signers))
		a.numbers[id] = n
		a.signers = append(a.signers, id)
	}
	return n
}

// addToLaws takes the receipts of a piece, unless it is clear already that no
// law will be checked.
func (a *auditor) addToLaws(p *piece) error {
	if _, blocked := a.lawsWait(); blocked {
		return nil
	}
	for _, l := range p.leaves {
		if l.kind != receiptLeaf {
			continue
		}
		e := laws.Entry{Index: l.index, Decoded: l.decoded, Frame: l.frame, Principal: l.principal, Role: l.role}
		if l.principal != "" {
			e.Key = a.number(l.env.Sigs[0].By)
		}
		if err := a.laws.Add(e); err != nil {
			return err
		}
	}
	return nil
}

// lawsWait says why no law can be checked, if so. Laws accuse signers, so they
// rest on everything that shows that the log is what its signers signed: what
// is forged or left out would be held against them. A version or a signer that
// is not known is for the laws themselves to weigh.
func (a *auditor) lawsWait() (report.Check, bool) {
	if a.opened == nil {
		return waits(CheckCheckpoint), true
	}
	if k := a.keys(); !k.known() && a.head.Size > 0 {
		return k.why, true
	}
	for _, name := range []string{CheckEntries, CheckForm, CheckSchema, CheckSignatures, CheckKeys} {
		f := a.found[name]
		if f == nil {
			continue
		}
		switch f.check.Code {
		case report.CodeVersionUnknown, report.CodeKeyUnknown, report.CodeKeyOutOfRange:
		case report.CodeNotReached: // the signature of a signer that is not known
		default:
			return waits(name), true
		}
	}
	return report.Check{}, false
}

// concludeLaws adds a check for each law, and as facts what violates one.
func (a *auditor) concludeLaws(r *report.Report, rooted, interrupted bool) error {
	c, blocked := a.lawsWait()
	switch {
	case interrupted:
		c, blocked = stopped(), true
	case a.resume.check.Answer == report.Refuted:
		c, blocked = waits(CheckResume), true
	case !blocked && !rooted:
		c, blocked = waits(CheckRoot), true
	}
	if blocked {
		for _, name := range LawChecks() {
			c.Law = true
			add(r, name, c)
		}
		if r.Says != "" {
			r.Says += "; no law between receipts was checked"
		}
		return nil
	}
	found, err := a.laws.Finish()
	if report.CodeOf(err) == report.CodeInterrupted && err != nil {
		return a.concludeLaws(r, rooted, true)
	}
	if err != nil {
		return err
	}
	for _, result := range found.Results {
		add(r, checkOfLaw(result.Law), a.lawCheck(found, result))
	}
	r.Says += saysOfLaws(found)
	factsOfLaws(r, found)
	return nil
}

// lawCheck turns how one law ended into a check.
func (a *auditor) lawCheck(found *laws.Report, result laws.Result) report.Check {
	c := verified("")
	c.Law = true
	if result.Answer == laws.Held {
		return c
	}
	c.Answer = report.NotChecked
	if result.Answer == laws.Violated {
		c.Answer = report.Refuted
	}
	for _, f := range found.Findings {
		violates := f.Answer == laws.Violated && !f.Disowned
		if f.Law != result.Law || violates != (result.Answer == laws.Violated) {
			continue
		}
		c.Code, c.Actual = f.Code, report.Meaning[f.Code]
		if words := wordsOf(f); words != "" {
			c.Actual += ": " + words
		}
		break
	}
	switch c.Code {
	case report.CodeLawStateLimit:
		c.Expected = fmt.Sprintf("at most %d bytes of records, or room to sort more", a.maxState())
	case report.CodeLaw6Now:
		c.Expected = "the time, from the caller or by a witness"
	}
	if n := result.Violated + result.NotChecked; n > 1 {
		c.Note = fmt.Sprintf("%d findings in all", n)
		if result.Violated > 0 && result.NotChecked > 0 {
			c.Note = fmt.Sprintf("%d findings violate it, %d leave it not checked", result.Violated, result.NotChecked)
		}
	}
	return c
}

func (a *auditor) maxState() int64 {
	if a.o.MaxState == 0 {
		return laws.DefaultMaxState
	}
	return a.o.MaxState
}

// wordsOf says where a finding is: the leaf at fault first.
func wordsOf(f laws.Finding) string {
	var words []string
	if len(f.Evidence) > 0 {
		list := make([]string, len(f.Evidence))
		for i, index := range f.Evidence {
			list[i] = strconv.FormatUint(index, 10)
		}
		leaf := "leaf "
		if len(list) > 1 {
			leaf = "leaves "
		}
		words = append(words, leaf+strings.Join(list, " and "))
	}
	switch {
	case f.Run.Name != "":
		words = append(words, fmt.Sprintf("run %s of %s", f.Run.Name, f.Run.Principal))
	case f.Run.Principal != "":
		words = append(words, "by "+f.Run.Principal)
	}
	if f.Detail != "" {
		words = append(words, f.Detail)
	}
	if f.Gravest != "" {
		words = append(words, "gravest class "+string(f.Gravest))
	}
	return strings.Join(words, ", ")
}

// saysOfLaws ends the first line with what a reader must not take for held.
func saysOfLaws(found *laws.Report) string {
	var violated, open []string
	for _, result := range found.Results {
		switch n := strconv.Itoa(int(result.Law)); result.Answer {
		case laws.Violated:
			violated = append(violated, n)
		case laws.NotChecked:
			open = append(open, n)
		}
	}
	s := ""
	if len(violated) > 0 {
		s += "; laws violated: " + strings.Join(violated, " ")
	}
	switch len(open) {
	case 0:
	case len(found.Results):
		s += "; no law between receipts was checked"
	default:
		s += "; laws not checked: " + strings.Join(open, " ")
	}
	if s == "" {
		s = "; all eight laws held"
	}
	return s
}

func factsOfLaws(r *report.Report, found *laws.Report) {
	if found.Runs > 0 {
		r.AddFact("runs", strconv.FormatUint(found.Runs, 10))
	}
	if found.Outcomes > 0 {
		r.AddFact("seen", fmt.Sprintf("%d of %d outcomes name a checkpoint that holds what they answer", found.Seen, found.Outcomes))
	}
	if found.Late > 0 {
		r.AddFact("decisions", fmt.Sprintf("%d came behind the first on their judgment and change nothing", found.Late))
	}
	for _, f := range found.Findings {
		switch {
		case f.Answer == laws.Violated && f.Disowned:
			r.AddFact("by disowned", fmt.Sprintf("law %d %s: %s", f.Law, f.Code, wordsOf(f)))
		case f.Answer == laws.Violated:
			r.AddFact("violation", fmt.Sprintf("law %d %s: %s", f.Law, f.Code, wordsOf(f)))
		}
	}
}

// cosignedAt is when witnesses of the policy say that the tree had this size,
// where its quorum is met: fewer of them are nobody's word for the time.
func (a *auditor) cosignedAt() []laws.Cosigned {
	if a.opened == nil || !a.o.Policy.Evaluate(a.opened).Met {
		return nil
	}
	var out []laws.Cosigned
	for _, v := range a.opened.Verified {
		if v.Time > 0 && v.Time <= math.MaxInt64/1000 {
			out = append(out, laws.Cosigned{Size: a.opened.Size, Time: int64(v.Time) * 1000})
		}
	}
	return out
}
