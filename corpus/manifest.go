package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
)

// MediaType is what the manifest says it is.
const MediaType = "application/vnd.obstat.corpus.v1+json"

// ManifestName is the path of the manifest. No other file of a corpus has it.
const ManifestName = "manifest.json"

// Limits, in bytes (spec/corpus.md#limits).
const (
	MaxManifest = 16 << 20
	MaxFile     = 16 << 20
)

// Status says whether a corpus may still change.
type Status string

// The two states.
const (
	Draft    Status = "draft"
	Released Status = "released" // never changes
)

// Digest is SHA-256, of a file or of a manifest (spec/corpus.md#digest).
type Digest [sha256.Size]byte

// String returns lowercase hex.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Manifest says what a corpus holds (spec/corpus.md#manifest).
type Manifest struct {
	Name   string
	Status Status
	Digest Digest            // over everything; Append computes it
	Files  map[string]Digest // by path, slash-separated, below the manifest
	Cases  []Case
}

// Answer is the overall answer of a case, or how one check in it ended.
type Answer string

// The four answers (spec/report.md#answers). A check is violated where it is a
// law that is refuted.
const (
	Verified   Answer = "verified"
	Refuted    Answer = "refuted"
	NotChecked Answer = "not checked"
	Violated   Answer = "violated"
)

// Finding is one check that did not end verified, and counts.
type Finding struct {
	Check  string // its name in the report
	Answer Answer
	Code   report.Code
}

// String renders a finding for a person.
func (f Finding) String() string { return fmt.Sprintf("%s %s %s", f.Check, f.Answer, f.Code) }

// Case is one question with its right answer (spec/corpus.md#case).
type Case struct {
	Name    string // its area, a slash, and a name of its own
	Command Command
	Files   map[Part]string // paths; Log is a directory
	Ask     Ask
	Answer  Answer
	// Found is every check that counts, that which the case is about first;
	// empty exactly where the answer is verified.
	Found []Finding
	Why   string // one line
	Spec  string // page#section
}

// Ask is what a case says beside its files.
type Ask struct {
	Now       int64 // Unix ms; 0: not said
	Principal string
	Run       string
	Require   []string // names of checks
	Expect    []string // KEY=VALUE
}

// Area is the part of the name before the slash.
func (c *Case) Area() string {
	area, _, _ := strings.Cut(c.Name, "/")
	return area
}

// Code is that of the check which the case is about, OK where all is verified.
func (c *Case) Code() report.Code {
	if len(c.Found) == 0 {
		return report.CodeOK
	}
	return c.Found[0].Code
}

var (
	caseName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*$`)
	section  = regexp.MustCompile(`^[a-z0-9-]+\.md(#[a-z0-9-]+)?$`)
	codeText = regexp.MustCompile(`^[A-Z0-9]+(-[A-Z0-9]+)*$`)
)

// Parse reads a manifest and computes its digest, which has to be the one that
// it states. Errors: INPUT-EMPTY; VERSION-UNKNOWN; those of package jcs for
// what is no strict JSON; CORPUS-MANIFEST with the place; CORPUS-DIGEST.
func Parse(doc []byte) (*Manifest, error) {
	switch {
	case len(doc) == 0:
		return nil, &report.Error{Code: report.CodeInputEmpty, Expected: "a manifest", Actual: "0 bytes"}
	case len(doc) > MaxManifest:
		return nil, malformed("", fmt.Sprintf("at most %d bytes", MaxManifest), strconv.Itoa(len(doc)))
	}
	v, err := jcs.Parse(doc)
	if err != nil {
		return nil, err
	}
	r := &reader{}
	m := r.manifest(v)
	if r.err != nil {
		return nil, r.err
	}
	got, err := digestOf(doc, m.Digest)
	if err != nil {
		return nil, err
	}
	if got != m.Digest {
		return nil, &report.Error{Code: report.CodeCorpusDigest, Where: ManifestName, Expected: "the digest that it states, " + m.Digest.String(), Actual: got.String(), Fix: "the manifest is not as it was made"}
	}
	return m, nil
}

// digestOf is the digest of a manifest (spec/corpus.md#digest): SHA-256 over its
// bytes with the digits of the digest replaced by zeros.
func digestOf(doc []byte, stated Digest) (Digest, error) {
	digits := []byte(stated.String())
	if n := bytes.Count(doc, digits); n != 1 {
		return Digest{}, malformed("/digest", "64 digits that stand in the manifest once", strconv.Itoa(n)+" times")
	}
	return sha256.Sum256(bytes.Replace(doc, digits, bytes.Repeat([]byte("0"), len(digits)), 1)), nil
}

func malformed(where, expected, actual string) *report.Error {
	if where == "" {
		where = ManifestName
	}
	return &report.Error{Code: report.CodeCorpusManifest, Where: where, Expected: expected, Actual: actual}
}

// reader reads JSON values into a manifest and keeps the first error.
type reader struct {
	err   *report.Error
	going bool // the manifest is a draft to go on with: its list of files may be out of date
}

func (r *reader) fail(where, expected, actual string) {
	if r.err == nil {
		r.err = malformed(where, expected, actual)
	}
}

func kind(v jcs.Value) string {
	switch v.(type) {
	case jcs.Null:
		return "null"
	case jcs.Bool:
		return "a boolean"
	case jcs.Number:
		return "a number"
	case jcs.String:
		return "a string"
	case jcs.Array:
		return "an array"
	case jcs.Object:
		return "an object"
	}
	return "nothing"
}

// object returns the members of v, which are among known; must are there.
func (r *reader) object(where string, v jcs.Value, must []string, optional ...string) jcs.Object {
	o, ok := v.(jcs.Object)
	if !ok {
		r.fail(where, "an object", kind(v))
		return nil
	}
	for _, m := range o {
		if !slices.Contains(must, m.Name) && !slices.Contains(optional, m.Name) {
			r.fail(where+"/"+m.Name, fmt.Sprintf("one of %q", append(slices.Clone(must), optional...)), strconv.Quote(m.Name))
		}
	}
	for _, name := range must {
		if _, ok := o.Get(name); !ok {
			r.fail(where+"/"+name, "a value", "nothing")
		}
	}
	return o
}

// text returns a member that is a string, empty where it is not there.
func (r *reader) text(where string, o jcs.Object, name string) string {
	v, ok := o.Get(name)
	if !ok {
		return ""
	}
	s, ok := v.(jcs.String)
	switch {
	case !ok:
		r.fail(where+"/"+name, "a string", kind(v))
	case s == "":
		r.fail(where+"/"+name, "a string that says something", "an empty one")
	case strings.ContainsFunc(string(s), func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.fail(where+"/"+name, "one line", "a control character")
	}
	return string(s)
}

func (r *reader) array(where string, o jcs.Object, name string) jcs.Array {
	v, ok := o.Get(name)
	if !ok {
		return nil
	}
	a, ok := v.(jcs.Array)
	if !ok {
		r.fail(where+"/"+name, "an array", kind(v))
	}
	return a
}

func (r *reader) texts(where string, o jcs.Object, name string) []string {
	var out []string
	for i, v := range r.array(where, o, name) {
		s, ok := v.(jcs.String)
		if !ok || s == "" {
			r.fail(fmt.Sprintf("%s/%s/%d", where, name, i), "a string that says something", kind(v))
		}
		out = append(out, string(s))
	}
	return out
}

func (r *reader) digest(where, s string) (d Digest) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(d) || hex.EncodeToString(b) != s {
		r.fail(where, "64 lowercase hex digits", strconv.Quote(s))
		return d
	}
	return Digest(b)
}

func (r *reader) manifest(v jcs.Value) *Manifest {
	o, ok := v.(jcs.Object)
	if !ok {
		r.fail("/", "an object", kind(v))
		return nil
	}
	if r.version(r.text("", o, "mediaType")); r.err != nil {
		return nil
	}
	r.object("", v, []string{"mediaType", "name", "status", "digest", "files", "cases"})
	m := &Manifest{Name: r.text("", o, "name"), Status: Status(r.text("", o, "status")), Files: map[string]Digest{}}
	if m.Status != Draft && m.Status != Released {
		r.fail("/status", "draft or released", strconv.Quote(string(m.Status)))
	}
	m.Digest = r.digest("/digest", r.text("", o, "digest"))
	files, _ := o.Get("files")
	list, ok := files.(jcs.Object)
	if !ok {
		r.fail("/files", "an object", kind(files))
	}
	for _, f := range list {
		where := "/files/" + f.Name
		if !fs.ValidPath(f.Name) || f.Name == "." || f.Name == ManifestName || strings.ContainsAny(f.Name, "\\:") {
			r.fail(where, "a clean path below the manifest", strconv.Quote(f.Name))
		}
		m.Files[f.Name] = r.digest(where, r.text("/files", list, f.Name))
	}
	seen := map[string]bool{}
	for i, v := range r.array("", o, "cases") {
		c := r.one(fmt.Sprintf("/cases/%d", i), v)
		if seen[c.Name] {
			r.fail(fmt.Sprintf("/cases/%d/name", i), "each name once", strconv.Quote(c.Name)+" a second time")
		}
		seen[c.Name] = true
		m.Cases = append(m.Cases, c)
	}
	if len(m.Cases) == 0 {
		r.fail("/cases", "at least one case", "none")
	}
	if !r.going {
		r.used(m)
	}
	return m
}

// version tells a manifest of another version from what is none.
func (r *reader) version(mediaType string) {
	if r.err != nil || mediaType == MediaType {
		return
	}
	r.fail("/mediaType", MediaType, strconv.Quote(mediaType))
	head, tail, _ := strings.Cut(MediaType, "1+")
	number, ok := strings.CutPrefix(mediaType, head)
	number, ok2 := strings.CutSuffix(number, "+"+tail)
	n, err := strconv.ParseUint(number, 10, 32)
	if ok && ok2 && err == nil && n > 1 && strconv.FormatUint(n, 10) == number {
		r.err.Code = report.CodeVersionUnknown
	}
}

// used holds that cases name files of the manifest, and that every file is
// named by a case.
func (r *reader) used(m *Manifest) {
	paths, free := keys(m.Files), map[string]bool{}
	for _, path := range paths {
		free[path] = true
	}
	for i := range m.Cases {
		for part, at := range m.Cases[i].Files {
			of := belongs(paths, part, at)
			if len(of) == 0 {
				r.fail(fmt.Sprintf("/cases/%d/files/%s", i, part), "a path of /files", strconv.Quote(at))
			}
			for _, path := range of {
				delete(free, path)
			}
		}
	}
	if len(free) > 0 {
		r.fail("/files/"+slices.Min(keys(free)), "a file that a case names", "one that none does")
	}
}

// belongs returns those of paths, which are sorted, that a part of a case names:
// the file, or for a log every file below the directory.
func belongs(paths []string, p Part, at string) []string {
	if p != Log {
		if i, ok := slices.BinarySearch(paths, at); ok {
			return paths[i : i+1]
		}
		return nil
	}
	from, _ := slices.BinarySearch(paths, at+"/")
	to, _ := slices.BinarySearch(paths, at+"0") // "0" comes behind "/"
	return paths[from:to]
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
