package corpus

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
)

// Command is what a case asks (spec/corpus.md#commands). The first ones are
// commands of the program verify; the others ask about one layer by itself.
type Command string

// The closed list.
const (
	AskReceipt     Command = "receipt"
	AskBundle      Command = "bundle"
	AskLog         Command = "log"
	AskRun         Command = "run"
	AskConsistency Command = "consistency"
	AskFork        Command = "fork"
	AskBlock       Command = "block"      // one DAG-CBOR block
	AskCID         Command = "cid"        // the text of a CID
	AskView        Command = "view"       // the JSON view of a statement
	AskVocabulary  Command = "vocabulary" // a vocabulary document
	AskPolicy      Command = "policy"     // a tlog-policy file
	AskTrust       Command = "trust"      // an engine trust file
	AskPreview     Command = "preview"    // ρ as JSON
	AskMeet        Command = "meet"       // evaluations, and what they meet in
	AskCombine     Command = "combine"    // origins, and what they combine to
	AskTicket      Command = "ticket"     // refusals with their digests and tickets
)

// Part is what a file is to a case.
type Part string

// The closed list. Log is a directory, the others are files.
const (
	Artifact   Part = "artifact"
	Log        Part = "log"
	Policy     Part = "policy"
	Trust      Part = "trust"
	Registry   Part = "registry"
	Succession Part = "succession"
	Vocabulary Part = "vocabulary"
	Older      Part = "older"
	Newer      Part = "newer"
)

func parts() []Part {
	return []Part{Artifact, Log, Older, Newer, Policy, Trust, Registry, Succession, Vocabulary}
}

// shape says which parts and questions a command takes.
type shape struct {
	must, may []Part
	ask       []string
}

// shapes is the table of spec/corpus.md#commands.
func shapes() map[Command]shape {
	alone := shape{must: []Part{Artifact}}
	asking := shape{must: []Part{Artifact}, ask: []string{"expect"}}
	return map[Command]shape{
		AskReceipt:     {must: []Part{Artifact}, may: []Part{Policy, Trust, Registry}, ask: []string{"expect"}},
		AskBundle:      {must: []Part{Artifact}, may: []Part{Policy, Trust, Registry, Succession}, ask: []string{"expect", "require"}},
		AskLog:         {must: []Part{Log}, may: []Part{Policy, Trust, Vocabulary, Older}, ask: []string{"now", "require"}},
		AskRun:         {must: []Part{Log}, may: []Part{Policy, Trust, Vocabulary, Older}, ask: []string{"now", "principal", "require", "run"}},
		AskConsistency: {must: []Part{Older}, may: []Part{Newer, Log, Policy}},
		AskFork:        {must: []Part{Artifact}, may: []Part{Policy}},
		AskBlock:       alone,
		AskCID:         alone,
		AskView:        asking,
		AskVocabulary:  asking,
		AskPolicy:      alone,
		AskTrust:       alone,
		AskPreview:     asking,
		AskMeet:        alone,
		AskCombine:     alone,
		AskTicket:      alone,
	}
}

// ofProgram reports whether a command is one of the program verify.
func (c Command) ofProgram() bool {
	return slices.Contains([]Command{AskReceipt, AskBundle, AskLog, AskRun, AskConsistency, AskFork}, c)
}

// Commands returns every command, sorted.
func Commands() []Command { return sorted(shapes()) }

func sorted(m map[Command]shape) []Command {
	out := make([]Command, 0, len(m))
	for c := range m {
		out = append(out, c)
	}
	slices.Sort(out)
	return out
}

// Line is the command line of the case, below the directory of the corpus: of
// the program verify where it has such a command.
func (c *Case) Line() string {
	words := []string{"verify", string(c.Command)}
	if !c.Command.ofProgram() {
		words[0] = "corpus"
	}
	for _, p := range []Part{Policy, Trust, Registry, Succession, Vocabulary} {
		if path := c.Files[p]; path != "" {
			words = append(words, "--"+string(p), path)
		}
	}
	if c.Ask.Principal != "" {
		words = append(words, "--principal", c.Ask.Principal, "--run", c.Ask.Run)
	}
	if c.Ask.Now != 0 {
		words = append(words, "--now", strconv.FormatInt(c.Ask.Now/1000, 10))
	}
	for _, s := range c.Ask.Require {
		words = append(words, "--require", s)
	}
	for _, s := range c.Ask.Expect {
		words = append(words, "--expect", s)
	}
	if c.Command != AskConsistency && c.Files[Older] != "" {
		words = append(words, "--since", c.Files[Older])
	} else if c.Files[Older] != "" {
		words = append(words, c.Files[Older])
	}
	for _, p := range []Part{Newer, Artifact, Log} {
		if path := c.Files[p]; path != "" {
			words = append(words, path)
		}
	}
	return strings.Join(words, " ")
}

// one reads a case.
func (r *reader) one(where string, v jcs.Value) Case {
	o := r.object(where, v, []string{"name", "area", "command", "files", "answer", "code", "why", "spec"}, "ask", "check", "also")
	c := Case{
		Name: r.text(where, o, "name"), Command: Command(r.text(where, o, "command")), Files: map[Part]string{},
		Answer: Answer(r.text(where, o, "answer")), Why: r.text(where, o, "why"), Spec: r.text(where, o, "spec"),
	}
	if !caseName.MatchString(c.Name) {
		r.fail(where+"/name", "an area, a slash and a name, of [a-z0-9-]", strconv.Quote(c.Name))
	}
	if area := r.text(where, o, "area"); area != c.Area() {
		r.fail(where+"/area", strconv.Quote(c.Area())+", as the name begins", strconv.Quote(area))
	}
	if !section.MatchString(c.Spec) {
		r.fail(where+"/spec", "a page of the specification and its section, page.md#section", strconv.Quote(c.Spec))
	}
	r.question(where, &c, o)
	r.findings(where, &c, o)
	return c
}

// question reads command, files and ask, and holds them to the table.
func (r *reader) question(where string, c *Case, o jcs.Object) {
	s, ok := shapes()[c.Command]
	if !ok {
		r.fail(where+"/command", fmt.Sprintf("one of %q", Commands()), strconv.Quote(string(c.Command)))
		return
	}
	files, _ := o.Get("files")
	list := r.object(where+"/files", files, names(s.must), names(s.may)...)
	for _, m := range list {
		path := r.text(where+"/files", list, m.Name)
		if !fs.ValidPath(path) || path == "." {
			r.fail(where+"/files/"+m.Name, "a clean path below the manifest", strconv.Quote(path))
		}
		c.Files[Part(m.Name)] = path
	}
	_, newer := c.Files[Newer]
	if _, site := c.Files[Log]; c.Command == AskConsistency && newer == site {
		r.fail(where+"/files", "either newer or log", "both or neither")
	}
	asked, ok := o.Get("ask")
	if !ok {
		asked = jcs.Object{}
	}
	var must []string
	if c.Command == AskRun {
		must = []string{"principal", "run"}
	}
	a := r.object(where+"/ask", asked, must, s.ask...)
	if ok && len(a) == 0 {
		r.fail(where+"/ask", "at least one member, or no ask", "an empty one")
	}
	where += "/ask"
	c.Ask = Ask{Principal: r.text(where, a, "principal"), Run: r.text(where, a, "run"), Require: r.texts(where, a, "require"), Expect: r.texts(where, a, "expect")}
	if v, ok := a.Get("now"); ok {
		n, _ := v.(jcs.Number)
		c.Ask.Now = int64(n)
		if n < 1 || n > 1<<53-1 || jcs.Number(c.Ask.Now) != n {
			r.fail(where+"/now", "Unix ms, from 1", kind(v))
		}
	}
	for i, e := range c.Ask.Expect {
		if key, value, ok := strings.Cut(e, "="); !ok || key == "" || value == "" {
			r.fail(fmt.Sprintf("%s/expect/%d", where, i), "KEY=VALUE", strconv.Quote(e))
		}
	}
}

func names(parts []Part) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = string(p)
	}
	return out
}

// findings reads what is expected, and holds that it does not contradict itself.
func (r *reader) findings(where string, c *Case, o jcs.Object) {
	first := Finding{Check: r.text(where, o, "check"), Answer: c.Answer, Code: report.Code(r.text(where, o, "code"))}
	_, more := o.Get("also")
	if c.Answer == Verified {
		if first.Code != report.CodeOK || first.Check != "" || more {
			r.fail(where, "code OK, no check and nothing also, where the answer is verified", first.String())
		}
		return
	}
	if first.Check == "" {
		r.fail(where+"/check", "the check that does not end verified", "nothing")
	}
	c.Found = append(c.Found, first)
	for i, v := range r.array(where, o, "also") {
		at := fmt.Sprintf("%s/also/%d", where, i)
		f := r.object(at, v, []string{"check", "answer", "code"})
		c.Found = append(c.Found, Finding{Check: r.text(at, f, "check"), Answer: Answer(r.text(at, f, "answer")), Code: report.Code(r.text(at, f, "code"))})
	}
	for _, f := range c.Found {
		if !slices.Contains([]Answer{Refuted, NotChecked, Violated}, f.Answer) || !codeText.MatchString(string(f.Code)) {
			r.fail(where, "a code, and refuted, not checked or violated, for each check", f.String())
		}
	}
	if worst := worstOf(c.Found); worst != c.Answer {
		r.fail(where+"/answer", "the worst answer of its checks: "+string(worst), string(c.Answer))
	}
}

// worstOf is the overall answer of findings (spec/report.md#answers).
func worstOf(found []Finding) Answer {
	worst := Verified
	for _, f := range found {
		switch {
		case f.Answer == Refuted:
			return Refuted
		case f.Answer == Violated:
			worst = Violated
		case f.Answer == NotChecked && worst == Verified:
			worst = NotChecked
		}
	}
	return worst
}
