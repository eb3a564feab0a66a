package corpus

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/report"
)

// Names of the checks of a corpus (spec/corpus.md#checking), all required.
const (
	CheckManifest = "manifest" // of its form, with the digest that it states and the caller pins
	CheckFiles    = "files"    // every file is there with its digest, and nothing else
	CheckCases    = "cases"    // every case gets exactly its answer
)

// Options is what the caller asks of a check.
type Options struct {
	Digest *Digest // the digest that the corpus has to have; nil: any
	Only   string  // the name of the one case to ask; empty: all
}

// shown is how many cases with another answer a report lists; all count.
const shown = 20

// Check holds the corpus at the root of fsys to its manifest. The report names
// the case that does not hold, or the file where it belongs to none. Errors are
// those of reading, which say nothing about the corpus; a file that is not there
// is an answer.
func Check(fsys fs.FS, o Options) (*report.Report, error) {
	r := &report.Report{Command: "corpus"}
	doc, err := readFile(fsys, ManifestName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var m *Manifest
	if err != nil {
		r.Add(report.Check{Name: CheckManifest, Code: report.CodeCorpusMissing, Expected: "the file " + ManifestName, Actual: "none"})
	} else if m, err = Parse(doc); err != nil {
		r.Add(ofManifest(err))
	} else if o.Digest != nil && *o.Digest != m.Digest {
		r.Add(refuted(CheckManifest, &report.Error{Code: report.CodeCorpusDigest, Expected: o.Digest.String() + ", which the caller pins", Actual: m.Digest.String()}))
		m = nil
	} else {
		r.Add(report.Check{Name: CheckManifest, Answer: report.Verified, Code: report.CodeOK})
	}
	if m == nil {
		r.Add(waits(CheckFiles, CheckManifest))
		r.Add(waits(CheckCases, CheckManifest))
		return required(r), nil
	}
	m.facts(r)
	files, err := m.files(fsys)
	if err != nil {
		return nil, err
	}
	r.Add(files)
	if files.Answer != report.Verified {
		r.Add(waits(CheckCases, CheckFiles))
		return required(r), nil
	}
	cases, err := m.cases(fsys, o, r)
	if err != nil {
		return nil, err
	}
	r.Add(cases)
	return required(r), nil
}

func required(r *report.Report) *report.Report {
	for _, name := range []string{CheckManifest, CheckFiles, CheckCases} {
		r.Require(name)
	}
	return r
}

func refuted(name string, e *report.Error) report.Check {
	return report.Check{Name: name, Answer: report.Refuted, Code: e.Code, Expected: e.Expected, Actual: e.Actual, Note: e.Fix}
}

func waits(name, on string) report.Check {
	return report.Check{Name: name, Code: report.CodeNotReached, Expected: on + " verified first"}
}

func ofManifest(err error) report.Check {
	var e *report.Error
	if !errors.As(err, &e) {
		e = &report.Error{Code: report.CodeInternal, Actual: err.Error()}
	}
	c := refuted(CheckManifest, e)
	if e.Where != "" {
		c.Actual += ", at " + e.Where
	}
	if c.Code == report.CodeInputEmpty || c.Code == report.CodeVersionUnknown {
		c.Answer = report.NotChecked
	}
	return c
}

// facts says what the corpus holds.
func (m *Manifest) facts(r *report.Report) {
	areas := m.Counts()
	r.Says = fmt.Sprintf("a %s corpus, %s, of %d cases in %d areas", m.Status, m.Name, len(m.Cases), len(areas))
	r.AddFact("digest", m.Digest.String())
	for _, a := range areas {
		r.AddFact(a.Area, a.String())
	}
}

// Count is how many cases of an area have which answer.
type Count struct {
	Area                                    string
	Verified, Refuted, NotChecked, Violated int
}

// Total returns how many cases the area has.
func (c Count) Total() int { return c.Verified + c.Refuted + c.NotChecked + c.Violated }

// String renders "4: 1 verified, 2 refuted, 1 not checked".
func (c Count) String() string {
	var words []string
	for _, w := range []struct {
		n int
		a Answer
	}{{c.Verified, Verified}, {c.Refuted, Refuted}, {c.NotChecked, NotChecked}, {c.Violated, Violated}} {
		if w.n > 0 {
			words = append(words, strconv.Itoa(w.n)+" "+string(w.a))
		}
	}
	return fmt.Sprintf("%d: %s", c.Total(), strings.Join(words, ", "))
}

// Counts returns the areas in the order in which their first cases stand.
func (m *Manifest) Counts() []Count {
	var out []Count
	for i := range m.Cases {
		area := m.Cases[i].Area()
		at := slices.IndexFunc(out, func(c Count) bool { return c.Area == area })
		if at < 0 {
			at, out = len(out), append(out, Count{Area: area})
		}
		switch m.Cases[i].Answer {
		case Verified:
			out[at].Verified++
		case Refuted:
			out[at].Refuted++
		case NotChecked:
			out[at].NotChecked++
		case Violated:
			out[at].Violated++
		}
	}
	return out
}

// files holds the directory to the list of files: first that there is nothing
// else, so that nothing but regular files of the list is ever opened.
func (m *Manifest) files(fsys fs.FS) (report.Check, error) {
	bad, err := m.extra(fsys)
	if err != nil || bad != nil {
		return m.fileCheck(bad), err
	}
	for _, path := range keys(m.Files) {
		if bad, err := m.file(fsys, path); err != nil || bad != nil {
			return m.fileCheck(bad), err
		}
	}
	return report.Check{Name: CheckFiles, Answer: report.Verified, Code: report.CodeOK, Note: fmt.Sprintf("%d files, each with its digest, and nothing else", len(m.Files))}, nil
}

// file holds one file to its digest.
func (m *Manifest) file(fsys fs.FS, path string) (*report.Error, error) {
	b, err := readFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return &report.Error{Code: report.CodeCorpusMissing, Where: path, Expected: "the file " + path, Actual: "none"}, nil
	}
	if err != nil {
		return nil, err
	}
	if got := Digest(sha256.Sum256(b)); got != m.Files[path] || len(b) > MaxFile {
		return &report.Error{Code: report.CodeCorpusFile, Where: path, Expected: path + " of SHA-256 " + m.Files[path].String(), Actual: got.String()}, nil
	}
	return nil, nil
}

// fileCheck names the case to which a file belongs, or the file.
func (m *Manifest) fileCheck(e *report.Error) report.Check {
	if e == nil {
		return report.Check{}
	}
	c := refuted(CheckFiles, e)
	c.Note = "the file " + e.Where + " belongs to no case"
	var of []string
	for i := range m.Cases {
		for part, at := range m.Cases[i].Files {
			if at == e.Where || part == Log && strings.HasPrefix(e.Where, at+"/") {
				of = append(of, m.Cases[i].Name)
			}
		}
	}
	if len(of) > 0 {
		c.Note = "of the case " + of[0]
	}
	if len(of) > 1 {
		c.Note += fmt.Sprintf(" and of %d more", len(of)-1)
	}
	return c
}

// extra returns the first thing that the manifest does not list, a listed file
// that is no regular file included.
func (m *Manifest) extra(fsys fs.FS) (*report.Error, error) {
	var bad *report.Error
	dirs := map[string]bool{".": true}
	for path := range m.Files {
		for at := strings.LastIndexByte(path, '/'); at > 0; at = strings.LastIndexByte(path[:at], '/') {
			dirs[path[:at]] = true
		}
	}
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		_, listed := m.Files[path]
		switch {
		case d.IsDir() && dirs[path], d.Type().IsRegular() && (listed || path == ManifestName):
			return nil
		case listed:
			bad = &report.Error{Code: report.CodeCorpusExtra, Where: path, Expected: path + " to be a regular file", Actual: d.Type().String()}
		default:
			bad = &report.Error{Code: report.CodeCorpusExtra, Where: path, Expected: "nothing that the manifest does not list", Actual: path}
		}
		return fs.SkipAll
	})
	return bad, err
}

// cases asks every case.
func (m *Manifest) cases(fsys fs.FS, o Options, r *report.Report) (report.Check, error) {
	asked, wrong := 0, 0
	var first report.Check
	for i := range m.Cases {
		c := &m.Cases[i]
		if o.Only != "" && c.Name != o.Only {
			continue
		}
		asked++
		bad, err := c.hold(fsys)
		if err != nil {
			return report.Check{}, fmt.Errorf("case %s: %w", c.Name, err)
		}
		if bad == nil {
			continue
		}
		if wrong++; wrong == 1 {
			first = refuted(CheckCases, bad)
		}
		if wrong <= shown {
			r.AddFact("wrong", fmt.Sprintf("%s: %s, not %s", c.Name, bad.Actual, bad.Expected))
		}
	}
	switch {
	case asked == 0:
		return report.Check{Name: CheckCases, Code: report.CodeCorpusMissing, Expected: "a case called " + o.Only, Actual: "none"}, nil
	case wrong > 1:
		first.Note += fmt.Sprintf("; %d cases in all", wrong)
		fallthrough
	case wrong > 0:
		return first, nil
	}
	return report.Check{Name: CheckCases, Answer: report.Verified, Code: report.CodeOK, Note: fmt.Sprintf("%d of %d cases asked, each with exactly its answer", asked, len(m.Cases))}, nil
}

// hold asks one case; nil where it gets its answer.
func (c *Case) hold(fsys fs.FS) (*report.Error, error) {
	bad := &report.Error{Code: report.CodeCorpusAnswer, Expected: words(c.Answer, c.Found), Fix: "case " + c.Name + ": " + c.Line()}
	rep, err := c.Report(fsys)
	var malformed *report.Error
	switch {
	case errors.As(err, &malformed):
		bad.Actual = "no answer: " + err.Error()
		return bad, nil
	case err != nil:
		return nil, err
	}
	answer, found := Of(rep)
	if c.Right(answer, found) {
		return nil, nil
	}
	bad.Actual = words(answer, found)
	return bad, nil
}

// Right reports whether an answer is exactly that of the case: the answer, and
// all findings in any order.
func (c *Case) Right(a Answer, found []Finding) bool {
	return a == c.Answer && sameFindings(found, c.Found)
}

func words(a Answer, found []Finding) string {
	list := make([]string, len(found))
	for i, f := range found {
		list[i] = f.String()
	}
	if len(list) == 0 {
		return string(a)
	}
	return string(a) + " (" + strings.Join(list, ", ") + ")"
}

// sameFindings compares them as sets.
func sameFindings(a, b []Finding) bool {
	sorted := func(f []Finding) []Finding {
		f = slices.Clone(f)
		slices.SortFunc(f, func(x, y Finding) int { return strings.Compare(x.String(), y.String()) })
		return f
	}
	return slices.Equal(sorted(a), sorted(b))
}

// Of returns the overall answer of a report and every check that counts in it
// (spec/corpus.md#answers): those that are refuted, and the required ones that
// were not made for a reason of their own, and not because they wait.
func Of(r *report.Report) (Answer, []Finding) {
	var found []Finding
	for _, c := range r.Checks {
		switch {
		case c.Answer == report.Refuted && c.Law:
			found = append(found, Finding{c.Name, Violated, c.Code})
		case c.Answer == report.Refuted:
			found = append(found, Finding{c.Name, Refuted, c.Code})
		case c.Answer == report.NotChecked && c.Required && c.Code != report.CodeNotReached:
			found = append(found, Finding{c.Name, NotChecked, c.Code})
		}
	}
	return map[report.Overall]Answer{
		report.AllVerified: Verified, report.AnyRefuted: Refuted, report.LawViolated: Violated, report.AllNotChecked: NotChecked,
	}[r.Overall()], found
}
