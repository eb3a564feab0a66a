// Package corpusgen makes the project's corpora (spec/corpus.md): the files of
// every case, and the one right answer, which is written here beside the case
// and is never asked of the verifier. Keys come from labels, clocks are counted,
// nothing is drawn, so the same bytes come out every time.
//
// go test ./internal/corpusgen makes corpus/v1 again and compares; with -update
// it writes it, as long as it is a draft.
package corpusgen

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/report"
)

// Build makes corpus v1: its manifest and all files, the manifest among them.
func Build(t testing.TB) (*corpus.Manifest, map[string][]byte) {
	t.Helper()
	b := &builder{t: t, files: map[string][]byte{}, names: map[string]bool{}}

	b.trustFiles()
	for _, area := range []func(*builder){
		canonicalForm, schema, identity, envelopes, roles, verdicts, dispositions, origins, vocabularies, previews, commitments, inclusion, consistency, checkpoints, policies, registryCases, bundles, lawCases, logs,
		previewCommit, changeSets, escrow, reversible, rendered,
	} {
		area(b)
	}
	m := &corpus.Manifest{Name: "obstat-v1", Status: corpus.Draft, Files: map[string]corpus.Digest{}, Cases: b.cases}
	for path, data := range b.files {
		m.Files[path] = sha256.Sum256(data)
	}
	b.files[corpus.ManifestName] = m.Append(nil)
	return m, b.files
}

// builder gathers cases.
type builder struct {
	t     testing.TB
	world *world
	area  string
	spec  string // page#section of the cases that follow
	files map[string][]byte
	names map[string]bool
	cases []corpus.Case
}

// in begins an area.
func (b *builder) in(area string) { b.area = area }

// about says which section of the specification the cases that follow are about.
func (b *builder) about(spec string) { b.spec = spec }

// put keeps a file, once.
func (b *builder) put(path string, data []byte) string {
	b.t.Helper()
	if have, ok := b.files[path]; ok && !bytes.Equal(have, data) {
		b.t.Fatalf("two files at %s", path)
	}
	b.files[path] = data
	return path
}

// add keeps a case. Its name is unique in its area; its file takes that name.
func (b *builder) add(name string, c corpus.Case, w want, why string) {
	b.t.Helper()
	c.Name, c.Why, c.Spec = b.area+"/"+name, why, b.spec
	c.Answer, c.Found = w.answer, w.found
	if b.names[c.Name] {
		b.t.Fatalf("two cases are called %s", c.Name)
	}
	b.names[c.Name] = true
	b.cases = append(b.cases, c)
}

// path is where the file of a case stands.
func (b *builder) path(name, ext string) string { return b.area + "/" + name + ext }

// one adds a case with one file and no trust.
func (b *builder) one(command corpus.Command, name, ext string, data []byte, w want, why string, expect ...string) {
	b.t.Helper()
	b.add(name, corpus.Case{
		Command: command, Files: map[corpus.Part]string{corpus.Artifact: b.put(b.path(name, ext), data)}, Ask: corpus.Ask{Expect: expect},
	}, w, why)
}

// want is the one right answer.
type want struct {
	answer corpus.Answer
	found  []corpus.Finding
}

// ok: everything that is required is verified.
func ok() want { return want{answer: corpus.Verified} }

// no: the check is refuted.
func no(check string, code report.Code) want {
	return want{corpus.Refuted, []corpus.Finding{{Check: check, Answer: corpus.Refuted, Code: code}}}
}

// unknown: the check could not be made.
func unknown(check string, code report.Code) want {
	return want{corpus.NotChecked, []corpus.Finding{{Check: check, Answer: corpus.NotChecked, Code: code}}}
}

// broken: the law is violated.
func broken(l laws.Law, code report.Code) want {
	return want{corpus.Violated, []corpus.Finding{{Check: checkOf(l), Answer: corpus.Violated, Code: code}}}
}

// and adds what is found beside.
func (w want) and(others ...want) want {
	w.found = slices.Clone(w.found)
	for _, o := range others {
		w.found = append(w.found, o.found...)
	}
	return w
}

// checkOf is the name of the check that holds a law.
func checkOf(l laws.Law) string {
	return [...]string{
		"", "law-1-judged-first", "law-2-admitted-first", "law-3-judged-is-executed", "law-4-settled-once",
		"law-5-nothing-missing", "law-6-nothing-hanging", "law-7-undone-soundly", "law-8-closed-vocabulary",
	}[l]
}

// slug turns words into the name of a case.
func slug(words ...any) string {
	s := strings.ToLower(fmt.Sprint(words...))
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return ' '
	}, strings.ReplaceAll(s, "'", ""))
	return strings.Join(strings.Fields(s), "-")
}
