package corpus

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
)

// Unsaid is the Why of a case that New made. No corpus is released with one.
const Unsaid = "not said yet: it was answered so when the case was added"

// Beginning is what the caller says about a corpus that New begins or goes on
// with. Paths are below the corpus, as they stand in a manifest.
type Beginning struct {
	Name    string // of the corpus; empty: as in the manifest that is there
	Policy  string // trust files of the cases that are added; empty: none
	Trust   string
	Release bool // it is finished, and never changes again
}

// New makes the manifest of the files at the root of fsys. A draft that is there
// goes on: its cases are kept as somebody wrote them, digests are computed anew,
// and every file that no case names yet becomes a case of its own, with the
// answer that it gets today. A directory with a file called checkpoint is a log.
//
// What a case answers today may be wrong: New says what is, and a person what
// is right. Errors are those of reading; CORPUS-MANIFEST for a manifest that
// cannot be gone on with, and for a file that is of no known kind;
// CORPUS-ANSWER for a release of which a case does not hold.
func New(fsys fs.FS, n Beginning) (*Manifest, error) {
	m := &Manifest{Name: n.Name, Status: Draft, Files: map[string]Digest{}}
	doc, err := readFile(fsys, ManifestName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if m, err = goOn(doc, n.Name); err != nil {
			return nil, err
		}
	}
	if m.Name == "" {
		return nil, malformed("/name", "a name for the corpus", "none")
	}
	if err := m.list(fsys); err != nil {
		return nil, err
	}
	if err := m.addCases(fsys, n); err != nil {
		return nil, err
	}
	r := &reader{}
	if r.used(m); r.err != nil {
		return nil, r.err
	}
	if n.Release {
		if err := m.release(fsys); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// goOn reads a draft whose digests need not hold any more.
func goOn(doc []byte, name string) (*Manifest, error) {
	if len(doc) == 0 {
		return nil, &report.Error{
			Code: report.CodeInputEmpty, Where: ManifestName, Expected: "a manifest, or no such file", Actual: "0 bytes",
			Fix: "a shell empties the file that it writes to before anybody reads it: write the new manifest beside the old one, then move it there",
		}
	}
	v, err := jcs.Parse(doc)
	if err != nil {
		return nil, err
	}
	r := &reader{going: true}
	m := r.manifest(v)
	switch {
	case r.err != nil:
		return nil, r.err
	case m.Status == Released:
		return nil, &report.Error{Code: report.CodeCorpusManifest, Where: "/status", Expected: "a draft", Actual: "a released corpus, which never changes", Fix: "begin the next version in another directory"}
	}
	if name != "" {
		m.Name = name
	}
	m.Files = map[string]Digest{}
	return m, nil
}

// list takes every file but the manifest.
func (m *Manifest) list(fsys fs.FS) error {
	return fs.WalkDir(fsys, ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() || at == ManifestName:
			return nil
		case !d.Type().IsRegular():
			return malformed("/files/"+at, "a regular file", d.Type().String())
		}
		b, err := readFile(fsys, at)
		if err != nil {
			return err
		}
		if len(b) > MaxFile {
			return malformed("/files/"+at, fmt.Sprintf("at most %d bytes", MaxFile), "more")
		}
		m.Files[at] = sha256.Sum256(b)
		return nil
	})
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// addCases makes a case of every file that none names.
func (m *Manifest) addCases(fsys fs.FS, n Beginning) error {
	paths, named, seen := keys(m.Files), map[string]bool{}, map[string]bool{}
	name := func(c *Case) {
		seen[c.Name] = true
		for part, at := range c.Files {
			for _, path := range belongs(paths, part, at) {
				named[path] = true
			}
		}
	}
	for i := range m.Cases {
		name(&m.Cases[i])
	}
	for _, at := range []string{n.Policy, n.Trust} {
		if _, ok := m.Files[at]; at != "" && !ok {
			return malformed("/files/"+at, "the name of a file below the corpus, from there", "none")
		}
		named[at] = true
	}
	for _, at := range paths {
		if named[at] {
			continue
		}
		c, err := m.caseOf(at, n)
		if err != nil {
			return err
		}
		for i := 2; seen[c.Name]; i++ {
			c.Name = strings.TrimSuffix(c.Name, "-"+strconv.Itoa(i-1)) + "-" + strconv.Itoa(i)
		}
		name(&c)
		r, err := c.Report(fsys)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		c.Answer, c.Found = Of(r)
		m.Cases = append(m.Cases, c)
	}
	return nil
}

// caseOf begins the case of a file, by its name.
func (m *Manifest) caseOf(at string, n Beginning) (Case, error) {
	c := Case{Files: map[Part]string{}, Why: Unsaid}
	base := at
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if _, ok := m.Files[dir+"/checkpoint"]; ok {
			c.Command, c.Files[Log], c.Spec, base = AskLog, dir, "report.md#checks", dir
		}
	}
	if c.Command == "" {
		var ext string
		switch ext = kindOf(at); ext {
		case ".receipt.json", ".tlog-proof":
			c.Command, c.Spec = AskBundle, "bundle.md#verifying"
		case ".dsse.json", ".leaf":
			c.Command, c.Spec = AskReceipt, "leaf.md#signatures"
		default:
			return c, malformed("/files/"+at, "*.receipt.json, *.tlog-proof, *.dsse.json, *.leaf, a directory with a checkpoint, or a file that a case names", "another")
		}
		c.Files[Artifact] = at
		base = strings.TrimSuffix(at, ext)
	}
	for part, file := range map[Part]string{Policy: n.Policy, Trust: n.Trust} {
		if file != "" {
			c.Files[part] = file
		}
	}
	area, name := "cases", base
	if dir, rest, ok := strings.Cut(base, "/"); ok {
		area, name = dir, rest
	}
	word := func(s, empty string) string {
		if s = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(s), "-"), "-"); s == "" {
			return empty
		}
		return s
	}
	c.Name = word(area, "cases") + "/" + word(name, "case")
	return c, nil
}

func kindOf(at string) string {
	for _, ext := range []string{".receipt.json", ".tlog-proof", ".dsse.json", ".leaf"} {
		if strings.HasSuffix(at, ext) {
			return ext
		}
	}
	return ""
}

// release makes the draft final, if each case holds and says why.
func (m *Manifest) release(fsys fs.FS) error {
	for i := range m.Cases {
		c := &m.Cases[i]
		if c.Why == Unsaid {
			return malformed(fmt.Sprintf("/cases/%d/why", i), "what the case "+c.Name+" is about", "that nobody said it yet")
		}
		bad, err := c.hold(fsys)
		if err != nil {
			return fmt.Errorf("case %s: %w", c.Name, err)
		}
		if bad != nil {
			bad.Where = c.Name
			return bad
		}
	}
	m.Status = Released
	return nil
}
