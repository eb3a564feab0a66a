package dsse

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/obstat/obstat/report"
)

// maxJSONDepth is how deep objects and arrays nest in what ParseJSON reads;
// the envelope's own take three levels, members that are ignored the rest.
const maxJSONDepth = 32

// jsonReader reads one RFC 8259 text, valid UTF-8, from front to back.
// encoding/json is no front end for what is signed: it takes a member twice, in
// any case, and puts U+FFFD for halves of surrogate pairs.
type jsonReader struct {
	b     []byte
	pos   int
	depth int
}

func byteAt(pos int) string { return fmt.Sprintf("byte %d", pos) }

// space skips white space.
func (r *jsonReader) space() {
	for r.pos < len(r.b) {
		switch r.b[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// peek returns the byte after white space, or 0 at the end.
func (r *jsonReader) peek() byte {
	if r.space(); r.pos < len(r.b) {
		return r.b[r.pos]
	}
	return 0
}

func (r *jsonReader) syntax(expected string) *report.Error {
	actual := "the end of the input"
	if r.pos < len(r.b) {
		actual = fmt.Sprintf("byte 0x%02x", r.b[r.pos])
	}
	return refuse(report.CodeDSSESyntax, byteAt(r.pos), expected, actual)
}

func (r *jsonReader) take(c byte) *report.Error {
	if r.peek() != c {
		return r.syntax(fmt.Sprintf("%q", c))
	}
	r.pos++
	return nil
}

func (r *jsonReader) enter() *report.Error {
	if r.depth++; r.depth > maxJSONDepth {
		return refuse(report.CodeDSSESyntax, byteAt(r.pos), fmt.Sprintf("at most %d levels of objects and arrays", maxJSONDepth), "one more")
	}
	return nil
}

// object reads an object. member is called with the reader before the value of
// known[i]; other members are skipped. No name may stand twice, and none may
// differ from a known one in case alone.
func (r *jsonReader) object(where string, known []string, member func(i int) *report.Error) *report.Error {
	if r.peek() != '{' {
		return r.mistyped(where, "an object")
	}
	r.pos++
	if e := r.enter(); e != nil {
		return e
	}
	var few [8][]byte
	seen := few[:0]
	for first := true; ; first = false {
		if r.peek() == '}' && first {
			break
		}
		name, e := r.name(known, seen)
		if e != nil {
			return e
		}
		seen = append(seen, name)
		if i := slices.Index(known, string(name)); i >= 0 {
			e = member(i)
		} else {
			e = r.skip()
		}
		if e != nil {
			return e
		}
		if r.peek() == ',' {
			r.pos++
			continue
		}
		if r.peek() != '}' {
			return r.syntax(`"," or "}"`)
		}
		break
	}
	r.pos++
	r.depth--
	return nil
}

// maxMembers bounds the members of one object, known and ignored, so that
// looking for duplicates stays cheap.
const maxMembers = 64

// name reads a member's name and the colon behind it.
func (r *jsonReader) name(known []string, seen [][]byte) ([]byte, *report.Error) {
	if r.peek() != '"' {
		return nil, r.syntax("a member's name")
	}
	at := r.pos
	name, e := r.str()
	if e != nil {
		return nil, e
	}
	for _, s := range seen {
		if string(s) == string(name) {
			return nil, refuse(report.CodeDSSEDuplicate, byteAt(at), "each member once", "the name of one before it")
		}
	}
	for _, k := range known {
		if k != string(name) && strings.EqualFold(k, string(name)) {
			return nil, refuse(report.CodeDSSECase, byteAt(at), fmt.Sprintf("%q", k), "a case variant of it")
		}
	}
	if len(seen) == maxMembers {
		return nil, refuse(report.CodeDSSESyntax, byteAt(at), fmt.Sprintf("at most %d members", maxMembers), "one more")
	}
	return name, r.take(':')
}

// array reads an array; item is called with the reader before each item.
func (r *jsonReader) array(where string, item func(i int) *report.Error) *report.Error {
	if r.peek() != '[' {
		return r.mistyped(where, "an array")
	}
	r.pos++
	if e := r.enter(); e != nil {
		return e
	}
	if r.peek() != ']' {
		for i := 0; ; i++ {
			if e := item(i); e != nil {
				return e
			}
			if r.peek() != ',' {
				break
			}
			r.pos++
		}
	}
	if r.peek() != ']' {
		return r.syntax(`"," or "]"`)
	}
	r.pos++
	r.depth--
	return nil
}

// text reads a member that must be a string.
func (r *jsonReader) text(where string) ([]byte, *report.Error) {
	if r.peek() != '"' {
		return nil, r.mistyped(where, "a string")
	}
	return r.str()
}

// mistyped says that the value ahead is of another type, or that there is none.
func (r *jsonReader) mistyped(where, expected string) *report.Error {
	actual := ""
	switch c := r.peek(); {
	case c == '{':
		actual = "an object"
	case c == '[':
		actual = "an array"
	case c == '"':
		actual = "a string"
	case c == 't' || c == 'f':
		actual = "a boolean"
	case c == 'n':
		actual = "null"
	case c == '-' || '0' <= c && c <= '9':
		actual = "a number"
	default:
		return r.syntax(expected)
	}
	return refuse(report.CodeDSSEType, where, expected, actual)
}

// skip reads a value and forgets it.
func (r *jsonReader) skip() *report.Error {
	switch c := r.peek(); {
	case c == '{':
		return r.skipObject()
	case c == '[':
		return r.array("", func(int) *report.Error { return r.skip() })
	case c == '"':
		_, e := r.str()
		return e
	case c == '-' || '0' <= c && c <= '9':
		return r.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(string(r.b[r.pos:min(len(r.b), r.pos+5)]), word) {
			r.pos += len(word)
			return nil
		}
	}
	return r.syntax("a value")
}

// skipObject reads an object inside a member that is ignored. Its names are
// nobody's business.
func (r *jsonReader) skipObject() *report.Error {
	r.pos++
	if e := r.enter(); e != nil {
		return e
	}
	if r.peek() != '}' {
		for {
			if r.peek() != '"' {
				return r.syntax("a member's name")
			}
			if _, e := r.str(); e != nil {
				return e
			}
			if e := r.take(':'); e != nil {
				return e
			}
			if e := r.skip(); e != nil {
				return e
			}
			if r.peek() != ',' {
				break
			}
			r.pos++
		}
	}
	if e := r.take('}'); e != nil {
		return e
	}
	r.depth--
	return nil
}

// number reads a number by the grammar of RFC 8259, section 6.
func (r *jsonReader) number() *report.Error {
	if r.b[r.pos] == '-' {
		r.pos++
	}
	if r.pos < len(r.b) && r.b[r.pos] == '0' {
		r.pos++
	} else if !r.digits() {
		return r.syntax("a digit")
	}
	if r.pos < len(r.b) && r.b[r.pos] == '.' {
		r.pos++
		if !r.digits() {
			return r.syntax("a digit")
		}
	}
	if r.pos < len(r.b) && (r.b[r.pos] == 'e' || r.b[r.pos] == 'E') {
		r.pos++
		if r.pos < len(r.b) && (r.b[r.pos] == '+' || r.b[r.pos] == '-') {
			r.pos++
		}
		if !r.digits() {
			return r.syntax("a digit")
		}
	}
	return nil
}

// digits skips digits and reports whether there was one.
func (r *jsonReader) digits() bool {
	start := r.pos
	for r.pos < len(r.b) && '0' <= r.b[r.pos] && r.b[r.pos] <= '9' {
		r.pos++
	}
	return r.pos > start
}

// str reads a string; the byte at pos is its opening quotation mark. Without
// escapes the result aliases the input.
func (r *jsonReader) str() ([]byte, *report.Error) {
	r.pos++
	start := r.pos
	var out []byte // what stands before start, once there was an escape
	for {
		rest, n := r.b[r.pos:], 0
		for n < len(rest) && rest[n] != '"' && rest[n] != '\\' && rest[n] >= 0x20 {
			n++
		}
		r.pos += n
		switch {
		case n == len(rest):
			return nil, r.syntax("the end of a string")
		case rest[n] == '"':
			text := r.b[start:r.pos:r.pos]
			r.pos++
			if out == nil {
				return text, nil
			}
			return append(out, text...), nil
		case rest[n] == '\\':
			out = append(out, r.b[start:r.pos]...)
			ch, e := r.escape()
			if e != nil {
				return nil, e
			}
			out = utf8.AppendRune(out, ch)
			start = r.pos
		default:
			return nil, r.syntax("no control character in a string")
		}
	}
}

// escape reads an escape sequence, a surrogate pair as one character.
func (r *jsonReader) escape() (rune, *report.Error) {
	at := r.pos
	r.pos++
	if r.pos == len(r.b) {
		return 0, r.syntax("an escape sequence")
	}
	c := r.b[r.pos]
	r.pos++
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		r.pos--
		return 0, r.syntax("an escape sequence")
	}
	ch, e := r.hex4()
	if e != nil || !utf16.IsSurrogate(ch) {
		return ch, e
	}
	if r.pos+1 < len(r.b) && r.b[r.pos] == '\\' && r.b[r.pos+1] == 'u' {
		r.pos += 2
		low, e := r.hex4()
		if e != nil {
			return 0, e
		}
		if pair := utf16.DecodeRune(ch, low); pair != utf8.RuneError {
			return pair, nil
		}
	}
	return 0, refuse(report.CodeDSSEUTF8, byteAt(at), "a surrogate pair", "half of one")
}

func (r *jsonReader) hex4() (rune, *report.Error) {
	var ch rune
	for range 4 {
		if r.pos == len(r.b) {
			return 0, r.syntax("four hex digits")
		}
		c := r.b[r.pos]
		i := strings.IndexByte("0123456789abcdef", c|0x20)
		if c < '0' || i < 0 {
			return 0, r.syntax("four hex digits")
		}
		ch = ch<<4 | rune(i)
		r.pos++
	}
	return ch, nil
}
