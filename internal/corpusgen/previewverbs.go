package corpusgen

import (
	"strings"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// http: one request, and what its intent cannot be.
func (p previewCases) http() {
	p.b.about("preview.md#http")
	const headers = `[{"name":"Accept","value":"text/plain"}]`
	intent := func(method, url, headers, body string) rho {
		return rhoOf("http", `"t"`, "1", "{}", `{"address":null,"body":`+body+`,"headers":`+headers+`,"method":"`+method+`","url":"`+url+`"}`, "", "")
	}
	const url = "https://example.com/a?q=1"
	good := intent("GET", url, headers, "null")
	p.ask("http-get", good.text, ok(), "a request without a body", good.expect())
	post := intent("POST", "http://example.com:8080/", `[{"name":"Content-Length","value":"2"}]`, content("hi"))
	p.ask("http-post", post.text, ok(), "a request with a body and its length", post.expect())
	bad := func(name string, r rho, why string) {
		p.ask("http-"+name, r.text, no("form", report.CodePreviewIntent), why)
	}
	for _, u := range []struct{ name, url, why string }{
		{"url-without-a-path", "https://example.com", "a path is at least /"},
		{"url-with-a-fragment", url + "#x", "there is no fragment"},
		{"url-with-a-user", "https://me@example.com/", "there is no user"},
		{"url-with-its-own-port", "https://example.com:443/", "the scheme's own port is left out"},
		{"url-in-upper-case", "https://EXAMPLE.com/", "a host is in lower case"},
		{"url-of-another-scheme", "ftp://example.com/", "http or https"},
		{"url-with-dots", "https://example.com/a/../b", "no element is .."},
		{"url-escaped-in-lower-case", "https://example.com/%c3%a4", "escapes have upper-case digits"},
		{"url-escaped-without-need", "https://example.com/%61", "no byte is escaped that needs none"},
	} {
		bad(u.name, intent("GET", u.url, headers, "null"), u.why)
	}
	bad("method-in-lower-case", intent("get", url, headers, "null"), "letters from A to Z")
	bad("header-host", intent("GET", url, `[{"name":"Host","value":"example.org"}]`, "null"), "Host is said by the URL")
	bad("header-transfer-encoding", intent("GET", url, `[{"name":"Transfer-Encoding","value":"chunked"}]`, "null"), "the body is what its digest says")
	bad("header-with-a-line-break", intent("GET", url, `[{"name":"X","value":"a\r\nY: b"}]`, "null"), "no CR and no LF")
	bad("header-that-is-no-token", intent("GET", url, `[{"name":"X Y","value":"a"}]`, "null"), "a name is a token")
	bad("body-without-length", intent("POST", url, headers, content("hi")), "Content-Length stands there with a body")
	bad("length-without-body", intent("POST", url, `[{"name":"Content-Length","value":"0"}]`, "null"), "and not without one")
}

// others: the verbs that call tools, render and undo.
func (p previewCases) others() {
	refused := func(name string, r rho, code report.Code, why string) { p.ask(name, r.text, no("form", code), why) }
	p.b.about("preview.md#tool")
	tool := func(intent string) rho { return rhoOf("tool", "null", "null", "{}", intent, "", "") }
	good := tool(`{"arguments":{"deep":[1,{"a":null}],"n":-7},"server":"files","tool":"list"}`)
	p.ask("tool", good.text, ok(), "arguments are any JSON that has one value", good.expect())
	refused("tool-without-name", tool(`{"arguments":{},"server":"files","tool":""}`), report.CodePreviewIntent, "a tool is called something")
	refused("tool-arguments-list", tool(`{"arguments":[],"server":"files","tool":"list"}`), report.CodePreviewSchema, "arguments are an object")
	refused("tool-with-changes", tool(`{"arguments":{},"changes":[{"after":`+content("x")+`,"before":null,"mode":null,"path":"a"}],"server":"files","tool":"list"}`), report.CodePreviewIntent, "a tool has no changes")
	p.b.about("preview.md#render")
	render := func(intent string) rho { return rhoOf("render", "null", "null", "{}", intent, "", "") }
	made := render(`{"payload":` + content("x") + `,"scaffolding":` + content("y") + `,"template":"letters/a"}`)
	p.ask("render", made.text, ok(), "a payload without slots", made.expect())
	refused("render-without-scaffolding", render(`{"payload":null,"scaffolding":null,"template":"letters/a"}`), report.CodePreviewIntent, "a template adds something, be it empty")
	p.b.about("preview.md#undo")
	refused("undo-without-changes", rhoOf("undo", "null", "null", "{}", `{"changes":[],"outcome":"`+p.b.example("outcome-committed").CID.String()+`","root":"/srv"}`, "", ""), report.CodePreviewIntent, "an undo puts something back")
}

// vocabularies: the closed list of words as a document.
func vocabularies(b *builder) {
	b.in("vocabulary")
	b.about("vocabulary.md#standard")
	doc := receipt.StandardVocabulary().Document()
	sum := digestHex(doc)
	ask := func(name string, data []byte, w want, why string, expect ...string) {
		b.one(corpus.AskVocabulary, name, ".vocabulary", data, w, why, expect...)
	}
	ask("standard", doc, ok(), "version 1, which this project's gates use", "digest="+sum)
	ask("standard-by-another-digest", doc, no("expect digest", report.CodeExpectationUnmet), "a run pins a vocabulary by its digest", "digest="+strings.Repeat("0", 64))
	b.about("vocabulary.md#document")
	code := func(c string) dagcbor.Value { return s(c) }
	recovery := m{{Key: "code", Value: code("NOT-ALLOWED")}, {Key: "class", Value: s("stop")}, {Key: "hints", Value: l{code("DO-NOT-ASK-AGAIN")}}}
	own := m{{Key: "name", Value: s("mine")}, {Key: "version", Value: n(1)}, {Key: "codes", Value: m{{Key: "reason", Value: l{code("A"), code("B")}}}}, {Key: "recovery", Value: l{recovery}}}
	ask("own", encode(b.t, own), ok(), "a vocabulary of one's own", "digest="+digestHex(encode(b.t, own)))
	bad := func(name, path string, v dagcbor.Value, why string) {
		ask(name, encode(b.t, put(b.t, own, path, v)), no("form", report.CodeVocabulary), why)
	}
	bad("without-name", "name", nil, "name, version, codes and recovery")
	bad("unknown-member", "note", s("x"), "and nothing else")
	bad("version-zero", "version", n(0), "versions count from 1")
	bad("place-that-is-none", "codes", m{{Key: "colour", Value: l{code("A")}}}, "the list of places is closed")
	bad("code-in-lower-case", "codes.reason", l{s("a")}, "codes are codes")
	bad("codes-out-of-order", "codes.reason", l{code("B"), code("A")}, "codes are sets")
	bad("codes-empty", "codes.reason", l{}, "a set is not empty")
	bad("class-that-is-none", "recovery.0.class", s("pray"), "five classes")
	bad("recovery-without-hints", "recovery.0.hints", nil, "a recovery has hints")
	bad("recovery-twice", "recovery", l{recovery, recovery}, "a code stands once")
	ask("not-canonical", append(encode(b.t, own), 0), no("form", report.CodeCBORTrailing), "a vocabulary is one canonical block")
}
