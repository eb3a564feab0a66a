package corpus

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// Names of the checks of the commands that the program verify has not.
const (
	CheckForm   = "form"   // the artifact is of its form
	CheckIntent = "intent" // of a preview: it fits its verb
	CheckClaims = "claims" // what a list claims is so
)

// Report answers the case by the files of the corpus in fsys. Errors are those
// of reading, and of trust files, which a case cannot be asked without.
func (c *Case) Report(fsys fs.FS) (*report.Report, error) {
	q := question{fsys: fsys, c: c}
	switch c.Command {
	case AskReceipt:
		return q.artifact(bundle.CheckEnvelope)
	case AskBundle:
		return q.artifact(bundle.Check)
	case AskLog, AskRun:
		return q.log()
	case AskConsistency:
		return q.consistency()
	}
	data, err := q.read(Artifact)
	if err != nil {
		return nil, err
	}
	if c.Command == AskFork {
		p, _, err := q.trust()
		if err != nil {
			return nil, err
		}
		return audit.Fork(data, p), nil
	}
	a := answerer{r: &report.Report{Command: string(c.Command), Says: c.Name}, expect: c.Ask.Expect}
	a.answer(c.Command, data)
	for _, ch := range a.r.Checks {
		a.r.Require(ch.Name)
	}
	return a.r, nil
}

// question is one case with the files that it is asked over.
type question struct {
	fsys fs.FS
	c    *Case
}

func (q question) read(p Part) ([]byte, error) {
	path, ok := q.c.Files[p]
	if !ok {
		return nil, nil
	}
	return readFile(q.fsys, path)
}

// readFile reads one byte more than a file may have.
func readFile(fsys fs.FS, path string) ([]byte, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

func (q question) trust() (p *trust.Policy, e *trust.Engines, err error) {
	for _, part := range []Part{Policy, Trust} {
		b, readErr := q.read(part)
		switch {
		case readErr != nil:
			return nil, nil, readErr
		case b == nil:
		case part == Policy:
			p, err = trust.ParsePolicy(b)
		default:
			e, err = trust.ParseEngines(b)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", q.c.Files[part], err)
		}
	}
	return p, e, nil
}

func (q question) artifact(check func([]byte, bundle.Options) *report.Report) (*report.Report, error) {
	p, e, err := q.trust()
	if err != nil {
		return nil, err
	}
	o := bundle.Options{Policy: p, Engines: e, Require: q.c.Ask.Require}
	for _, x := range q.c.Ask.Expect {
		key, value, _ := strings.Cut(x, "=")
		o.Expect = append(o.Expect, bundle.Expectation{Key: key, Value: value})
	}
	var chainErr error
	if q.c.Files[Registry] != "" {
		b, err := q.read(Registry)
		if err != nil {
			return nil, err
		}
		o.Registry, chainErr = bundle.ParseRegistryFile(b)
	}
	var successionErr error
	if q.c.Files[Succession] != "" {
		b, err := q.read(Succession)
		if err != nil {
			return nil, err
		}
		var s *bundle.Succession
		if s, successionErr = bundle.ParseSuccession(b); successionErr == nil {
			o.Successions = append(o.Successions, s)
		}
	}
	data, err := q.read(Artifact)
	if err != nil {
		return nil, err
	}
	r := check(data, o)
	if successionErr != nil {
		r.Add(bundle.SuccessionFileCheck(successionErr))
	}
	if chainErr != nil {
		r.Add(bundle.RegistryFileCheck(chainErr))
	}
	return r, nil
}

func (q question) log() (*report.Report, error) {
	p, e, err := q.trust()
	if err != nil {
		return nil, err
	}
	o := audit.Options{Policy: p, Engines: e, Require: q.c.Ask.Require, Now: q.c.Ask.Now}
	if o.Since, err = q.read(Older); err != nil {
		return nil, err
	}
	if q.c.Command == AskRun {
		o.Only = &laws.Run{Principal: q.c.Ask.Principal, Name: receipt.Name(q.c.Ask.Run)}
	}
	if b, err := q.read(Vocabulary); err != nil {
		return nil, err
	} else if b != nil {
		v, err := receipt.ParseVocabulary(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.c.Files[Vocabulary], err)
		}
		o.Vocabularies = append(o.Vocabularies, v)
	}
	site, err := fs.Sub(q.fsys, q.c.Files[Log])
	if err != nil {
		return nil, err
	}
	return audit.Log(site, o)
}

func (q question) consistency() (*report.Report, error) {
	p, _, err := q.trust()
	if err != nil {
		return nil, err
	}
	older, err := q.read(Older)
	if err != nil {
		return nil, err
	}
	newer := audit.Source{}
	if dir, ok := q.c.Files[Log]; ok {
		newer.Site, err = fs.Sub(q.fsys, dir)
	} else {
		newer.Data, err = q.read(Newer)
	}
	if err != nil {
		return nil, err
	}
	return audit.Consistency(audit.Source{Data: older}, newer, p)
}

// answerer answers the commands about one layer.
type answerer struct {
	r      *report.Report
	expect []string
}

func (a *answerer) answer(command Command, data []byte) {
	switch command {
	case AskBlock:
		a.form(dagcbor.Check(data))
	case AskCID:
		_, err := dagcbor.ParseCID(string(data))
		a.form(err)
	case AskView:
		a.view(data)
	case AskVocabulary:
		v, err := receipt.ParseVocabulary(data)
		if a.form(err) {
			a.compare("digest", Digest(v.Digest()).String())
		}
	case AskPolicy:
		_, err := trust.ParsePolicy(data)
		a.form(err)
	case AskTrust:
		_, err := trust.ParseEngines(data)
		a.form(err)
	case AskPreview:
		a.preview(data)
	default:
		a.claims(command, data)
	}
}

// check adds a check that ends as err says.
func (a *answerer) check(name string, err error) bool {
	c := report.Check{Name: name, Answer: report.Verified, Code: report.CodeOK}
	if err != nil {
		c.Answer, c.Code, c.Actual = report.Refuted, report.CodeOf(err), err.Error()
		var e *report.Error
		if errors.As(err, &e) {
			c.Expected = e.Expected
		}
	}
	a.r.Add(c)
	return err == nil
}

func (a *answerer) form(err error) bool { return a.check(CheckForm, err) }

// compare holds a computed value against what the case expects of it.
func (a *answerer) compare(key, got string) {
	for _, e := range a.expect {
		k, want, _ := strings.Cut(e, "=")
		if k != key {
			continue
		}
		var err error
		if want != got {
			err = &report.Error{Code: report.CodeExpectationUnmet, Expected: want, Actual: got}
		}
		a.check("expect "+key, err)
	}
}

func (a *answerer) view(data []byte) {
	d, err := receipt.FromJSON(data)
	if !a.form(err) {
		return
	}
	a.compare("statement", d.CID.String())
	a.compare("receipt", d.ReceiptCID.String())
	jcs, err := receipt.JCSDigestOf(d.Statement.Receipt)
	if err != nil {
		a.check("expect jcs", err)
		return
	}
	a.compare("jcs", jcs.String())
}

func (a *answerer) preview(data []byte) {
	rho, err := preview.ParseRho(data)
	if !a.form(err) {
		return
	}
	a.compare("digest", rho.Digest().String())
	c := report.Check{Name: CheckIntent, Answer: report.Verified, Code: report.CodeOK}
	if !rho.Known() {
		c = report.Check{Name: CheckIntent, Code: report.CodeVersionUnknown, Expected: "a verb that is known", Actual: rho.Verb()}
	}
	a.r.Add(c)
}
