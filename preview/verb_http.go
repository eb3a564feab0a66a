package preview

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
)

// VerbHTTP is the verb that sends one HTTP/1.1 request.
const VerbHTTP = "http"

// MaxURL bounds a URL, in bytes.
const MaxURL = 8192

// HTTP is the intent to send one HTTP/1.1 request (spec/preview.md#http). What
// leaves is a function of its members and the body alone: see [HTTP.Head]. In ρ
// it is
//
//	{"address": text or null, "body": {"b3": …} or null, "headers": [{"name": text, "value": bytes}, …],
//	 "method": text, "url": text}
//
// What it does not bind: who answers at Address, or, without one, where the
// host's name leads by then; under https the certificate says who it is.
type HTTP struct {
	Method string // [A-Z]{1,32}
	// URL is absolute, http or https, without user and fragment, in one
	// spelling: lower-case host, no default port, a path.
	URL     string
	Headers []Header // in the order in which they leave; no Host
	Body    Content  // absent: none, which is not the same as an empty one
	Address string   // "ip:port" that is dialled; empty: where the host's name leads then
}

// Header is one line of a request's head, as it leaves.
type Header struct {
	Name  string // a token of RFC 9110
	Value string // no CR, LF or NUL, no blank at either end
}

// Verb returns "http".
func (HTTP) Verb() string { return VerbHTTP }

func (HTTP) changes() []Change { return nil }

// Authority returns the host and port that the URL names.
func (h HTTP) Authority() string {
	authority, _ := splitURL(h.URL)
	return authority
}

// Head returns the bytes of the request before its body, which follows them
// with nothing in between:
//
//	METHOD SP target SP "HTTP/1.1" CRLF "Host: " authority CRLF (name ": " value CRLF)… CRLF
//
// The target is the URL from its path on.
func (h HTTP) Head() []byte {
	authority, target := splitURL(h.URL)
	b := make([]byte, 0, 256)
	b = append(b, h.Method...)
	b = append(append(append(b, ' '), target...), " HTTP/1.1\r\nHost: "...)
	b = append(append(b, authority...), "\r\n"...)
	for _, l := range h.Headers {
		b = append(append(append(append(b, l.Name...), ": "...), l.Value...), "\r\n"...)
	}
	return append(b, "\r\n"...)
}

func splitURL(url string) (authority, target string) {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[:i], rest[i:]
	}
	return rest, ""
}

func (h HTTP) normal() (Intent, error) {
	if !all(h.Method, 32, func(c byte) bool { return 'A' <= c && c <= 'Z' }) {
		return nil, bad(report.CodePreviewIntent, "intent.method", "1 to 32 letters from A to Z", quote(h.Method))
	}
	if err := checkURL(h.URL); err != nil {
		return nil, err
	}
	if h.Address != "" {
		if a, err := netip.ParseAddrPort(h.Address); err != nil || a.String() != h.Address || a.Port() == 0 || a.Addr().Zone() != "" {
			return nil, bad(report.CodePreviewIntent, "intent.address", "an IP address and a port in their one spelling, or null", quote(h.Address))
		}
	}
	return h, h.checkHeaders()
}

// checkHeaders refuses heads that two servers could read in two ways.
func (h HTTP) checkHeaders() error {
	lengths := 0
	for i, l := range h.Headers {
		where := "intent.headers[" + strconv.Itoa(i) + "]"
		if !all(l.Name, 128, tokenByte) {
			return bad(report.CodePreviewIntent, where+".name", "a token of at most 128 bytes", quote(l.Name))
		}
		if strings.ContainsAny(l.Value, "\r\n\x00") || strings.Trim(l.Value, " \t") != l.Value {
			return bad(report.CodePreviewIntent, where+".value", "no CR, LF or NUL, and no blank at either end", quote(l.Value))
		}
		switch strings.ToLower(l.Name) {
		case "host", "transfer-encoding":
			return bad(report.CodePreviewIntent, where+".name", "another header: the URL gives the host, and a body leaves whole", quote(l.Name))
		case "content-length":
			lengths++
			if n, err := strconv.ParseUint(l.Value, 10, 53); err != nil || strconv.FormatUint(n, 10) != l.Value {
				return bad(report.CodePreviewIntent, where+".value", "a decimal length", quote(l.Value))
			}
		}
	}
	want := 1
	if h.Body.IsAbsent() {
		want = 0
	}
	if lengths != want {
		return bad(report.CodePreviewIntent, "intent.headers", "one Content-Length with a body and none without", strconv.Itoa(lengths))
	}
	return nil
}

func all(s string, most int, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return s != "" && len(s) <= most
}

func tokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// checkURL takes one spelling of each URL that it takes at all.
func checkURL(url string) error {
	wrong := func(what string) error {
		return bad(report.CodePreviewIntent, "intent.url", what, quote(url))
	}
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || scheme != "http" && scheme != "https" || len(url) > MaxURL {
		return wrong("http:// or https://, at most 8,192 bytes")
	}
	authority, target := splitURL(url)
	if target == "" || rest == "" {
		return wrong("a path, / at least")
	}
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host, port = authority[:i], authority[i+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return wrong("a port from 1 to 65535")
		}
	}
	if scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return wrong("no port where it is the scheme's own")
	}
	if in, ok := strings.CutPrefix(host, "["); ok {
		if a, err := netip.ParseAddr(strings.TrimSuffix(in, "]")); err != nil || !a.Is6() || a.Zone() != "" || "["+a.String()+"]" != host {
			return wrong("an IPv6 address in its one spelling")
		}
	} else if !all(host, 253, func(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' }) {
		return wrong("a host in lower case, without a user")
	}
	for i := range len(target) {
		if c := target[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>\\^`{|}", c) >= 0 {
			return wrong("a path and query whose other bytes are escaped, and no fragment")
		}
		if target[i] != '%' {
			continue
		}
		escape := target[i:min(i+3, len(target))]
		c, err := strconv.ParseUint(escape[1:], 16, 8)
		if err != nil || len(escape) != 3 || strings.ToUpper(escape) != escape || unreserved(byte(c)) {
			return wrong("escapes in upper-case hex, and none of a byte that needs none")
		}
	}
	path, _, _ := strings.Cut(target, "?")
	for s := range strings.SplitSeq(path, "/") {
		if s == "." || s == ".." {
			return wrong("a path without . and ..")
		}
	}
	return nil
}

// unreserved is as in RFC 3986, section 2.3.
func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func (h HTTP) members() jcs.Object {
	address := jcs.Value(jcs.Null{})
	if h.Address != "" {
		address = jcs.String(h.Address)
	}
	headers := make(jcs.Array, len(h.Headers))
	for i, l := range h.Headers {
		headers[i] = jcs.Object{{Name: "name", Value: jcs.String(l.Name)}, {Name: "value", Value: Text(l.Value).json()}}
	}
	return jcs.Object{
		{Name: "address", Value: address},
		{Name: "body", Value: h.Body.Value().json()},
		{Name: "headers", Value: headers},
		{Name: "method", Value: jcs.String(h.Method)},
		{Name: "url", Value: jcs.String(h.URL)},
	}
}

func readHTTP(m *members, changes []Change) (Intent, error) {
	if changes != nil {
		return nil, bad(report.CodePreviewIntent, "intent.changes", "no changes under http", "some")
	}
	var h HTTP
	var err error
	if h.Method, err = m.text("method"); err != nil {
		return nil, err
	}
	if h.URL, err = m.text("url"); err != nil {
		return nil, err
	}
	if h.Body, err = m.content("body"); err != nil {
		return nil, err
	}
	address, err := m.take("address")
	if err != nil {
		return nil, err
	}
	switch v := address.(type) {
	case jcs.Null:
	case jcs.String:
		if h.Address = string(v); v == "" {
			return nil, bad(report.CodePreviewIntent, "intent.address", "an IP address and a port in their one spelling, or null", `""`)
		}
	default:
		return nil, bad(report.CodePreviewSchema, "intent.address", "a string or null", kind(v))
	}
	headers, err := m.array("headers")
	if err != nil {
		return nil, err
	}
	for i, v := range headers {
		e, err := openObject("intent.headers["+strconv.Itoa(i)+"]", v)
		if err != nil {
			return nil, err
		}
		var l Header
		if l.Name, err = e.text("name"); err != nil {
			return nil, err
		}
		if l.Value, err = e.bytes("value"); err != nil {
			return nil, err
		}
		if err := e.done(); err != nil {
			return nil, err
		}
		h.Headers = append(h.Headers, l)
	}
	return h, m.done()
}
