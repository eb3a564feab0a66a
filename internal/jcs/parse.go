package jcs

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/obstat/obstat/report"
)

// Parse reads the one JSON value in doc, which it refuses as the package
// comment lists. The error is a *report.Error with one of the codes JSON-SYNTAX,
// JSON-UTF8, JSON-SURROGATE, JSON-NUMBER, JSON-NAME-TWICE, JSON-DEPTH and
// JSON-TRAILING, and Where is "byte N", counted from 0. The value shares no
// memory with doc. The caller bounds the length of doc; work and memory are
// linear in it, up to sorting the names of an object.
func Parse(doc []byte) (Value, error) {
	p := parser{doc: doc}
	p.space()
	v, err := p.parseValue(0)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.at < len(doc) {
		return nil, p.bad(report.CodeJSONTrailing, p.at, "the end of the document", p.show())
	}
	return v, nil
}

type parser struct {
	doc []byte
	at  int // next byte
}

func (p *parser) bad(code report.Code, at int, expected, actual string) error {
	return refuse(code, "byte "+strconv.Itoa(at), expected, actual)
}

func (p *parser) syntax(expected string) error {
	return p.bad(report.CodeJSONSyntax, p.at, expected, p.show())
}

// show is the byte at p.at for a person.
func (p *parser) show() string {
	if p.at >= len(p.doc) {
		return "the end of the document"
	}
	if c := p.doc[p.at]; c < 0x20 || c >= 0x7f {
		return "byte 0x" + strconv.FormatUint(uint64(c), 16)
	}
	return strconv.Quote(string(p.doc[p.at : p.at+1]))
}

func (p *parser) space() {
	for p.at < len(p.doc) {
		switch p.doc[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// next returns the next byte without taking it, 0 at the end. A 0 byte in the
// document stands nowhere where next is asked for, so the two cannot be mixed up.
func (p *parser) next() byte {
	if p.at < len(p.doc) {
		return p.doc[p.at]
	}
	return 0
}

func (p *parser) take(c byte) bool {
	if p.next() != c {
		return false
	}
	p.at++
	return true
}

// parseValue reads the value that begins at p.at inside depth arrays and
// objects.
func (p *parser) parseValue(depth int) (Value, error) {
	switch c := p.next(); {
	case c == '{' || c == '[':
		if depth == MaxDepth {
			return nil, tooDeep("byte " + strconv.Itoa(p.at))
		}
		p.at++
		if c == '{' {
			return p.object(depth + 1)
		}
		return p.array(depth + 1)
	case c == '"':
		s, err := p.text()
		return String(s), err
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case p.literal("true"):
		return Bool(true), nil
	case p.literal("false"):
		return Bool(false), nil
	case p.literal("null"):
		return Null{}, nil
	}
	return nil, p.syntax("a value")
}

func (p *parser) literal(word string) bool {
	if len(p.doc)-p.at < len(word) || string(p.doc[p.at:p.at+len(word)]) != word {
		return false
	}
	p.at += len(word)
	return true
}

func (p *parser) array(depth int) (Value, error) {
	a := Array{}
	p.space()
	if p.take(']') {
		return a, nil
	}
	for {
		p.space()
		v, err := p.parseValue(depth)
		if err != nil {
			return nil, err
		}
		a = append(a, v)
		p.space()
		if p.take(']') {
			return a, nil
		}
		if !p.take(',') {
			return nil, p.syntax(`"," or "]"`)
		}
	}
}

func (p *parser) object(depth int) (Value, error) {
	o := Object{}
	start := p.at - 1
	p.space()
	if p.take('}') {
		return o, nil
	}
	for {
		p.space()
		if p.next() != '"' {
			return nil, p.syntax("a name in double quotes")
		}
		name, err := p.text()
		if err != nil {
			return nil, err
		}
		p.space()
		if !p.take(':') {
			return nil, p.syntax(`":"`)
		}
		p.space()
		v, err := p.parseValue(depth)
		if err != nil {
			return nil, err
		}
		o = append(o, Member{name, v})
		p.space()
		if p.take('}') {
			break
		}
		if !p.take(',') {
			return nil, p.syntax(`"," or "}"`)
		}
	}
	slices.SortFunc(o, byName)
	for i := 1; i < len(o); i++ {
		if o[i].Name == o[i-1].Name {
			return nil, nameTwice("the object at byte "+strconv.Itoa(start), o[i].Name)
		}
	}
	return o, nil
}

// number reads a literal of RFC 8259 section 6, and takes it only in its own
// shortest spelling.
func (p *parser) number() (Value, error) {
	start := p.at
	p.take('-')
	if p.take('0') {
		if c := p.next(); c >= '0' && c <= '9' {
			return nil, p.syntax("no digit after a leading 0")
		}
	} else if !p.digits() {
		return nil, p.syntax("a digit")
	}
	if p.take('.') && !p.digits() {
		return nil, p.syntax("a digit")
	}
	if c := p.next(); c == 'e' || c == 'E' {
		p.at++
		if !p.take('+') {
			p.take('-')
		}
		if !p.digits() {
			return nil, p.syntax("a digit")
		}
	}
	literal := p.doc[start:p.at]
	f, own := ownSpelling(literal)
	if !own {
		return nil, p.bad(report.CodeJSONNumber, start, "a double in its shortest ECMAScript spelling", quote(string(literal)))
	}
	return Number(f), nil
}

func (p *parser) digits() bool {
	start := p.at
	for c := p.next(); c >= '0' && c <= '9'; c = p.next() {
		p.at++
	}
	return p.at > start
}

// text reads a string literal, from its opening to its closing quote.
func (p *parser) text() (string, error) {
	p.at++
	start := p.at
	for ; p.at < len(p.doc); p.at++ {
		switch c := p.doc[p.at]; {
		case c == '"':
			raw := p.doc[start:p.at]
			if err := p.utf8(raw, start); err != nil {
				return "", err
			}
			p.at++
			return string(raw), nil
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			return "", p.syntax("an escape for a control character")
		}
	}
	return "", p.syntax("a closing quote")
}

// escaped goes on reading a string literal that began at start, from its first
// escape at p.at.
func (p *parser) escaped(start int) (string, error) {
	var b strings.Builder
	from := start
	flush := func() error {
		raw := p.doc[from:p.at]
		b.Write(raw)
		return p.utf8(raw, from)
	}
	for p.at < len(p.doc) {
		switch c := p.doc[p.at]; {
		case c == '"':
			if err := flush(); err != nil {
				return "", err
			}
			p.at++
			return b.String(), nil
		case c == '\\':
			if err := flush(); err != nil {
				return "", err
			}
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			from = p.at
		case c < 0x20:
			return "", p.syntax("an escape for a control character")
		default:
			p.at++
		}
	}
	return "", p.syntax("a closing quote")
}

// utf8 refuses raw, which stands at byte at, unless it is valid UTF-8. An
// escape never splits a character: a backslash is no part of one.
func (p *parser) utf8(raw []byte, at int) error {
	if utf8.Valid(raw) {
		return nil
	}
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		if r == utf8.RuneError && n == 1 {
			break
		}
		raw, at = raw[n:], at+n
	}
	return p.bad(report.CodeJSONUTF8, at, "valid UTF-8", "byte 0x"+strconv.FormatUint(uint64(raw[0]), 16))
}

// escape reads one escape, or the two that spell a surrogate pair.
func (p *parser) escape() (rune, error) {
	start := p.at
	p.at++ // the backslash
	c := p.next()
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		p.at++
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return 0, p.syntax(`one of "\/bfnrtu after a backslash`)
	}
	r, err := p.unit()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	lone := func() error {
		return p.bad(report.CodeJSONSurrogate, start, "a high surrogate and a low one", quote(string(p.doc[start:p.at])))
	}
	if r >= 0xdc00 || p.at+1 >= len(p.doc) || p.doc[p.at] != '\\' || p.doc[p.at+1] != 'u' {
		return 0, lone()
	}
	p.at++
	low, err := p.unit()
	if err != nil {
		return 0, err
	}
	if low < 0xdc00 || low > 0xdfff {
		return 0, lone()
	}
	return utf16.DecodeRune(r, low), nil
}

// unit reads u and four hexadecimal digits, one UTF-16 code unit.
func (p *parser) unit() (rune, error) {
	p.at++ // the u
	var r rune
	for range 4 {
		c := p.next()
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, p.syntax("four hexadecimal digits")
		}
		p.at++
	}
	return r, nil
}
