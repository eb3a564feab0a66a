package secondreader

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// This file is corpus.md: it reads a manifest and holds each case to it.

type manifest struct {
	Cases []Case
}

// Case is a case as the manifest has it.
type Case struct {
	Name, Area, Command string
	Files               map[string]string
	Ask                 struct {
		Now            int64
		Principal, Run string
		Require        []string
		Expect         []string
	}
	Answer, Code, Check string
	Also                []struct{ Check, Answer, Code string }
	Why, Spec           string
}

// standardVocabulary is the document that vocabulary.md#standard prints, as a
// case of the corpus has it.
const standardVocabulary = "vocabulary/standard.vocabulary"

// Skipped are the commands that this reader does not have, and why.
func Skipped() map[string]string {
	return map[string]string{
		"preview": "the verbs of preview.md are a format of their own for each; what is derived from a preview is read elsewhere",
		"view":    "jsonview.md is for people",
	}
}

// Cases reads the manifest of a corpus.
func Cases(fsys fs.FS) ([]Case, error) {
	doc, err := fs.ReadFile(fsys, "manifest.json")
	if err != nil {
		return nil, err
	}
	var m manifest
	return m.Cases, cmp.Or(json.Unmarshal(doc, &m), nilError(&m))
}

func nilError(m *manifest) error {
	if len(m.Cases) == 0 {
		return fmt.Errorf("a manifest without cases")
	}
	return nil
}

// Got answers a case in the words of its manifest: the overall answer and the
// checks that count, sorted.
func (c Case) Got(fsys fs.FS) (answer string, found []string, err error) {
	file := func(part string) []byte {
		path, ok := c.Files[part]
		if !ok || err != nil {
			return nil
		}
		b, readErr := fs.ReadFile(fsys, path)
		if readErr != nil {
			err = readErr
		}
		if b == nil {
			b = []byte{}
		}
		return b
	}
	who := caller{expect: map[string]string{}, require: c.Ask.Require}
	for _, e := range c.Ask.Expect {
		key, value, _ := strings.Cut(e, "=")
		who.expect[key] = value
	}
	artifact := file("artifact")
	var list []finding
	form := func(code refusal) {
		var f findings
		if code != "" {
			f.refute("form", code)
		}
		list = f.list
	}
	switch c.Command {
	case "block":
		_, code := block(artifact)
		form(code)
	case "cid":
		form(map[bool]refusal{false: "CID-TEXT"}[isCIDText(string(artifact))])
	case "policy":
		_, code := readPolicy(artifact)
		form(code)
	case "trust":
		_, code := readEngines(artifact)
		form(code)
	case "vocabulary":
		list = vocabularyOf(artifact, who.expect["digest"])
	case "meet", "combine", "ticket":
		list = claimsOf(c.Command, artifact)
	default:
		list, err = c.underTrust(fsys, who, file, artifact)
	}
	if err != nil {
		return "", nil, err
	}
	answer, found = conclude(list)
	return answer, found, nil
}

// underTrust answers the commands that take trust files.
func (c Case) underTrust(fsys fs.FS, who caller, file func(string) []byte, artifact []byte) ([]finding, error) {
	who.succession = file("succession")
	var code refusal
	if b := file("policy"); b != nil {
		if who.policy, code = readPolicy(b); code != "" {
			return nil, fmt.Errorf("policy: %s", code)
		}
	}
	if b := file("trust"); b != nil {
		if who.engines, code = readEngines(b); code != "" {
			return nil, fmt.Errorf("trust: %s", code)
		}
	}
	who.chain = file("registry")
	switch c.Command {
	case "receipt":
		return receiptOf(artifact, who), nil
	case "bundle":
		return bundleOf(artifact, who), nil
	case "fork":
		return forkOf(artifact, who), nil
	}
	var site fs.FS
	if dir, ok := c.Files["log"]; ok {
		var err error
		if site, err = fs.Sub(fsys, dir); err != nil {
			return nil, err
		}
	}
	switch c.Command {
	case "consistency":
		return consistencyOf(file("older"), file("newer"), site, who), nil
	case "log", "run":
		standard, err := fs.ReadFile(fsys, standardVocabulary)
		if err != nil {
			return nil, err
		}
		if b := file("vocabulary"); b != nil {
			if _, code := readVocabulary(b); code != "" {
				return nil, fmt.Errorf("vocabulary: %s", code)
			}
		}
		a := &audit{caller: who, fsys: site, older: file("older"), now: c.Ask.Now, known: [][]byte{standard, file("vocabulary")}}
		if c.Command == "run" {
			a.only = [2]string{c.Ask.Principal, c.Ask.Run}
		}
		return a.run(), nil
	}
	return nil, fmt.Errorf("no command %s here", c.Command)
}

// conclude is report.md#answers.
func conclude(list []finding) (answer string, found []string) {
	answer = "verified"
	rank := []string{"verified", "not checked", "violated", "refuted"}
	for _, f := range list {
		if slices.Index(rank, f.answer) > slices.Index(rank, answer) {
			answer = f.answer
		}
		found = append(found, f.check+" "+f.answer+" "+f.code)
	}
	slices.Sort(found)
	return answer, slices.Compact(found)
}

// Want is what the manifest says.
func (c Case) Want() (answer string, found []string) {
	if c.Answer != "verified" {
		found = append(found, c.Check+" "+c.Answer+" "+c.Code)
	}
	for _, f := range c.Also {
		found = append(found, f.Check+" "+f.Answer+" "+f.Code)
	}
	slices.Sort(found)
	return c.Answer, found
}
