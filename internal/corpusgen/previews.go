package corpusgen

import (
	"encoding/hex"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// runSecret is the secret of every run here: 00 01 … 1f.
func runSecret() []byte {
	out := make([]byte, 32)
	for i := range out {
		out[i] = byte(i)
	}
	return out
}

func keyed(message string) (sum [32]byte) {
	h, err := blake3.NewKeyed(runSecret())
	if err != nil {
		panic(err)
	}
	_, _ = h.Write([]byte(message))
	h.Digest().Read(sum[:])
	return sum
}

// rho is a preview, written by hand in the form of RFC 8785, and its digest.
type rho struct {
	text   string
	digest receipt.Digest
}

// rhoOf puts a preview together; the members are JSON, in order, and ctx is what
// stands in it beside the blind: members before "blind" and those behind it.
func rhoOf(verb, task, attempt, inputs, intent, before, after string) rho {
	doc := func(blind string) string {
		ctx := strings.Join(notEmpty(before, blind, after), ",")
		return `{"attempt":` + attempt + `,"ctx":{` + ctx + `},"inputs":` + inputs + `,"intent":` + intent + `,"task_id":` + task + `,"verb":"` + verb + `"}`
	}
	blind := keyed("obstat blind v1" + doc(""))
	text := doc(`"blind":"` + hex.EncodeToString(blind[:]) + `"`)
	return rho{text, digestOf(text)}
}

func notEmpty(list ...string) (out []string) {
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// digestOf is the preview digest of a document in the form of RFC 8785.
func digestOf(text string) receipt.Digest { return blake3.Sum256([]byte("effect-preview" + text)) }

func (r rho) expect() string { return "digest=" + hex.EncodeToString(r.digest[:]) }

// content is the content of a file in ρ.
func content(data string) string {
	sum := blake3.Sum256([]byte(data))
	return `{"b3":"` + hex.EncodeToString(sum[:]) + `"}`
}

// execIntent runs git with these arguments.
func execIntent(argv string) string {
	return `{"argv":` + argv + `,"cwd":"notes","env":{"HOME":"/srv/work","LC_ALL":"C"},"program":{"content":` + content("the program file") +
		`,"path":"/usr/bin/git"},"root":"/srv/work","stdin":null}`
}

func execRho(argv string) rho {
	return rhoOf("exec", `"tidy-notes"`, "1", "{}", execIntent(argv), "", "")
}

// previews: which documents are a preview, and which digest they have.
func previews(b *builder) {
	b.in("preview-digests")
	p := previewCases{b, execRho(`["git","commit"]`)}
	p.values()
	p.json()
	p.schema()
	p.context()
	p.changes()
	p.http()
	p.others()
	b.boundInReceipt(p.base)
}

type previewCases struct {
	b    *builder
	base rho
}

func (p previewCases) ask(name, doc string, w want, why string, expect ...string) {
	p.b.t.Helper()
	p.b.one(corpus.AskPreview, name, ".preview.json", []byte(doc), w, why, expect...)
}

// edit replaces one part of the base.
func (p previewCases) edit(name, old, new string, code report.Code, why string) {
	p.b.t.Helper()
	if strings.Count(p.base.text, old) == 0 {
		p.b.t.Fatalf("%s: no %q", name, old)
	}
	p.ask(name, strings.Replace(p.base.text, old, new, 1), no("form", code), why)
}

func (p previewCases) values() {
	p.b.about("preview.md#digest")
	p.ask("exec", p.base.text, ok(), "a program with its arguments", p.base.expect())
	p.ask("exec-another-digest", p.base.text, no("expect digest", report.CodeExpectationUnmet), "one digest belongs to one preview", execRho(`["git","commit","-a"]`).expect())
	flipped := execRho(`["git","commiu"]`)
	p.ask("exec-one-bit-apart", flipped.text, ok(), "one bit of one argument is another digest", flipped.expect())
	p.ask("exec-one-bit-is-not-the-same", flipped.text, no("expect digest", report.CodeExpectationUnmet), "one bit of one argument is not what was judged", p.base.expect())
	p.b.about("preview.md#json")
	spaced := strings.NewReplacer(`":`, "\" :\t", `,"`, ",\r\n\"").Replace(p.base.text) + "\n"
	p.ask("spaces-do-not-matter", spaced, ok(), "the value is bound, not the document", p.base.expect())
	reordered := `{"verb":"exec",` + strings.TrimSuffix(p.base.text[1:], `,"verb":"exec"}`) + "}"
	p.ask("order-of-members-does-not-matter", reordered, ok(), "the value is bound, not the document", p.base.expect())
	p.ask("escapes-do-not-matter", strings.Replace(p.base.text, `"git","commit"`, `"\u0067it","commit"`, 1), ok(), "the value is bound, not the document", p.base.expect())
	p.b.about("preview.md#values")
	bytes := execRho(`["git","commit","-m",{"b64":"bmHvdmU="}]`)
	p.ask("argument-not-utf8", bytes.text, ok(), "bytes that are no text stand as base64", bytes.expect())
	accents := execRho(`["git","commit","-m","naïve ä a` + "\u0308" + `"]`)
	p.ask("text-is-not-normalised", accents.text, ok(), "one letter and a letter with a combining mark are two texts", accents.expect())
	p.edit("text-as-base64", `"git","commit"`, `{"b64":"Z2l0"},"commit"`, report.CodePreviewValue, "what is valid UTF-8 is a string: no choice")
	p.edit("base64-without-padding", `"git","commit"`, `"git",{"b64":"bmHvdmU"}`, report.CodePreviewValue, "standard base64 with padding")
	p.edit("content-in-upper-case", `"b3":"`, `"b3":"A`, report.CodePreviewValue, "64 lowercase hex digits")
	p.b.about("preview.md#rho")
	later := rhoOf("forecast", "null", "null", "{}", `{"weather":"fair"}`, "", "")
	p.ask("verb-not-known", later.text, unknown("intent", report.CodeVersionUnknown), "the digest is computed, and whether the intent fits its verb is not checked", later.expect())
	inputs := rhoOf("exec", "null", "null", `{"branch":"main","message":{"b64":"/w=="}}`, execIntent(`["git"]`), "", "")
	p.ask("inputs", inputs.text, ok(), "values that the effect is made from", inputs.expect())
	full := rhoOf("exec", `"t"`, "9007199254740991", "{}", strings.Replace(execIntent(`["git"]`), `"env"`, `"effects":[{"on":"network","target":"example.com"},{"on":"writes","target":"/srv"}],"env"`, 1), "", "")
	p.ask("effects", full.text, ok(), "what the engine's own audit expects, ascending", full.expect())
}

func (p previewCases) json() {
	p.b.about("preview.md#json")
	p.edit("json-not-utf8", `"tidy-notes"`, "\"tidy-\xffnotes\"", report.CodeJSONUTF8, "a string that is no UTF-8")
	p.edit("json-half-a-surrogate", `"git","commit"`, `"git","\ud800"`, report.CodeJSONSurrogate, "an escape that names half a surrogate pair")
	p.edit("json-name-twice", `"verb":"exec"`, `"verb":"exec","verb":"exec"`, report.CodeJSONNameTwice, "two readers could take two values")
	p.edit("json-name-twice-by-an-escape", `"verb":"exec"`, `"verb":"exec","\u0076erb":"exec"`, report.CodeJSONNameTwice, "names are compared after unescaping")
	for _, n := range []struct{ name, text string }{{"point-zero", "1.0"}, {"exponent", "1e0"}, {"minus-zero", "-0"}, {"beyond-a-double", "9007199254740993"}, {"infinite", "1e999"}} {
		p.edit("json-number-"+n.name, `"attempt":1,`, `"attempt":`+n.text+`,`, report.CodeJSONNumber, "a number is spelled as ECMAScript spells its double")
	}
	p.edit("json-leading-zero", `"attempt":1,`, `"attempt":01,`, report.CodeJSONSyntax, "no leading zeros in JSON")
	p.edit("json-byte-order-mark", `{"attempt"`, "\ufeff"+`{"attempt"`, report.CodeJSONSyntax, "a byte order mark is no white space")
	p.edit("json-comment", `{"attempt"`, `/* */{"attempt"`, report.CodeJSONSyntax, "JSON has no comments")
	p.edit("json-comma-at-the-end", `"verb":"exec"`, `"verb":"exec",`, report.CodeJSONSyntax, "no comma behind the last member")
	p.edit("json-too-deep", `["git","commit"]`, strings.Repeat("[", 64)+strings.Repeat("]", 64), report.CodeJSONDepth, "64 levels are the most")
	p.ask("json-something-behind", p.base.text+"{}", no("form", report.CodeJSONTrailing), "nothing but white space follows the value")
	p.ask("json-empty", "", no("form", report.CodeJSONSyntax), "nothing is no value")
}

func (p previewCases) schema() {
	p.b.about("preview.md#rho")
	p.edit("member-missing", `"task_id":"tidy-notes",`, ``, report.CodePreviewSchema, "all six members stand always")
	p.edit("member-unknown", `"verb":"exec"`, `"verb":"exec","zeal":1`, report.CodePreviewSchema, "no other member")
	p.edit("member-of-another-type", `"inputs":{}`, `"inputs":[]`, report.CodePreviewSchema, "inputs is an object")
	p.edit("attempt-zero", `"attempt":1,`, `"attempt":0,`, report.CodePreviewSchema, "attempts count from 1")
	p.edit("task-that-is-no-name", `"tidy-notes"`, `"tidy notes"`, report.CodePreviewSchema, "a task is a name")
	p.edit("effect-that-is-none", `"env":{`, `"effects":[{"on":"dreams","target":"x"}],"env":{`, report.CodePreviewSchema, "the list of effects is closed")
	p.edit("effects-empty", `"env":{`, `"effects":[],"env":{`, report.CodePreviewSpelling, "a member that says nothing is absent")
	p.edit("effects-out-of-order", `"env":{`, `"effects":[{"on":"writes","target":"x"},{"on":"reads","target":"x"}],"env":{`, report.CodePreviewSpelling, "lists are in order")
	p.edit("effect-twice", `"env":{`, `"effects":[{"on":"reads","target":"x"},{"on":"reads","target":"x"}],"env":{`, report.CodePreviewTwice, "a key stands once")
	p.edit("read-twice", `"root"`, `"reads":[{"key":"a","seen":null},{"key":"a","seen":null}],"root"`, report.CodePreviewTwice, "a key stands once")
	p.b.about("preview.md#exec")
	p.edit("exec-without-program", `"program":{`, `"programme":{`, report.CodePreviewSchema, "an exec names its program")
	p.edit("exec-without-arguments", `["git","commit"]`, `[]`, report.CodePreviewIntent, "argv[0] is always there")
	p.edit("exec-with-nul", `"git","commit"`, `"git","a\u0000b"`, report.CodePreviewIntent, "execve hands over no NUL")
	p.edit("exec-env-that-is-no-name", `"LC_ALL"`, `"LC-ALL"`, report.CodePreviewIntent, "names of variables")
	p.edit("exec-with-changes", `"cwd"`, `"changes":[{"after":null,"before":`+content("x")+`,"mode":null,"path":"a"}],"cwd"`, report.CodePreviewIntent, "an exec has no changes")
	p.edit("exec-of-a-relative-program", `"/usr/bin/git"`, `"usr/bin/git"`, report.CodePreviewPath, "the program is absolute and clean")
	p.edit("exec-in-an-unclean-root", `"root":"/srv/work"`, `"root":"/srv/./work"`, report.CodePreviewPath, "the root is absolute and clean")
	p.edit("exec-outside-the-root", `"cwd":"notes"`, `"cwd":"../notes"`, report.CodePreviewPath, "the working directory is below the root")
}

func (p previewCases) context() {
	p.b.about("preview.md#context")
	pin := "1220" + strings.Repeat("ab", 32)
	pinned := rhoOf("exec", `"tidy-notes"`, "1", "{}", execIntent(`["git","commit"]`), `"approval":"one-person"`, `"tool":"`+pin+`"`)
	p.ask("context", pinned.text, ok(), "what the request is judged under enters its digest", pinned.expect())
	p.ask("context-changes-the-digest", pinned.text, no("expect digest", report.CodeExpectationUnmet), "the same program under another context is another request", p.base.expect())
	blind := p.base.text[strings.Index(p.base.text, `"blind":"`)+9:][:64]
	p.edit("blind-missing", `"blind":"`+blind+`"`, ``, report.CodePreviewSchema, "a blind stands always")
	p.edit("blind-short", blind, blind[2:], report.CodePreviewContext, "64 lowercase hex digits")
	p.edit("blind-in-upper-case", blind, strings.ToUpper(blind), report.CodePreviewContext, "64 lowercase hex digits")
	other := strings.Replace(p.base.text, blind, strings.Repeat("0", 64), 1)
	p.ask("blind-of-another-secret", other, ok(), "only who has the secret can tell how a blind was made", "digest="+digestOf(other).String())
	p.edit("pin-of-another-function", `"blind"`, `"plan":"1320`+strings.Repeat("00", 32)+`","blind"`, report.CodePreviewContext, "a pin is BLAKE3 or SHA-256")
	p.edit("pin-cut", `"blind"`, `"tool":"`+pin[:66]+`","blind"`, report.CodePreviewContext, "a pin is 34 bytes")
	p.edit("approval-that-is-no-name", `"blind"`, `"approval":"two people","blind"`, report.CodePreviewContext, "an approval class is a name")
}

func (p previewCases) changes() {
	b := p.b
	b.about("preview.md#changes")
	files := func(changes string) rho {
		return rhoOf("files", "null", "null", "{}", `{"changes":`+changes+`,"root":"/srv/work"}`, "", "")
	}
	change := func(path, before, after, mode string) string {
		return `{"after":` + after + `,"before":` + before + `,"mode":` + mode + `,"path":` + path + `}`
	}
	one, two := content("one"), content("two")
	b.about("preview.md#files")
	good := files(`[` + change(`"a"`, "null", one, `"755"`) + "," + change(`"b/c"`, one, two, "null") + "," + change(`"d"`, one, "null", "null") + `]`)
	p.ask("files", good.text, ok(), "a file created, one replaced, one deleted", good.expect())
	mode := files(`[` + change(`"a"`, one, one, `"644"`) + `]`)
	p.ask("files-mode-alone", mode.text, ok(), "a file that stays and gets a mode", mode.expect())
	bad := func(name, changes string, code report.Code, why string) {
		p.ask(name, files(changes).text, no("form", code), why)
	}
	bad("files-without-changes", `[]`, report.CodePreviewIntent, "at least one change")
	b.about("preview.md#changes")
	bad("files-that-change-nothing", `[`+change(`"a"`, one, one, "null")+`]`, report.CodePreviewIntent, "a change changes something")
	bad("files-neither-before-nor-after", `[`+change(`"a"`, "null", "null", "null")+`]`, report.CodePreviewIntent, "a change changes something")
	bad("files-mode-of-a-deleted", `[`+change(`"a"`, one, "null", `"644"`)+`]`, report.CodePreviewIntent, "a deleted file has no mode")
	bad("files-plain-mode-of-a-new", `[`+change(`"a"`, "null", one, `"644"`)+`]`, report.CodePreviewIntent, "a new file is not executable anyway")
	bad("files-mode-that-is-none", `[`+change(`"a"`, one, two, `"777"`)+`]`, report.CodePreviewIntent, "644 and 755")
	bad("files-path-twice", `[`+change(`"a"`, one, two, "null")+","+change(`"a"`, one, two, "null")+`]`, report.CodePreviewTwice, "a path stands once")
	bad("files-out-of-order", `[`+change(`"b"`, one, two, "null")+","+change(`"a"`, one, two, "null")+`]`, report.CodePreviewSpelling, "paths ascend")
	for _, path := range []struct{ name, text, why string }{
		{"parent", `"../a"`, "no element is .."}, {"dot", `"./a"`, "no element is ."}, {"absolute", `"/a"`, "relative to the root"}, {"empty", `""`, "a path has an element"},
		{"double-slash", `"a//b"`, "no element is empty"}, {"backslash", `"a\\b"`, "a relative path has no backslash"}, {"nul", `"a\u0000"`, "no NUL"},
		{"long-element", `"` + strings.Repeat("a", 256) + `"`, "an element has at most 255 bytes"},
		{"long", `"` + strings.Repeat("aaaaaaaaa/", 410) + `"`, "a path has at most 4,096 bytes"},
	} {
		bad("files-path-"+path.name, `[`+change(path.text, one, two, "null")+`]`, report.CodePreviewPath, path.why)
	}
	bad("files-path-below-another", `[`+change(`"a"`, one, "null", "null")+","+change(`"a/b"`, "null", two, "null")+`]`, report.CodePreviewPath, "the outcome would depend on the order of application")
}

// boundInReceipt: the digest of a preview in the receipt that is about it.
func (b *builder) boundInReceipt(r rho) {
	b.about("receipt.md#request")
	v := put(b.t, tree(b.t, b.example("judgment-for-refused").Payload()), "receipt.judgment.request.digest", dagcbor.Bytes(r.digest[:]))
	v = put(b.t, v, "receipt.judgment.request.task", s("tidy-notes"))
	request := "request=" + hex.EncodeToString(r.digest[:])
	b.signed("receipt-about-the-preview", encode(b.t, v), "engine", ok(), "the receipt names the digest of the preview exec", request)
	b.signed("receipt-about-another-preview", b.example("judgment-for-refused").Payload(), "engine", no("expect request", report.CodeExpectationUnmet), "a receipt about another request", request)
}
