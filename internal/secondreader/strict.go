package secondreader

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// This file is preview.md#json: JSON that has one value.

type (
	member struct {
		name  string
		value any
	}
	object []member // null is nil, numbers are float64, lists are []any
)

func (o object) get(name string) (any, bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// jsonReader reads JSON. Where lax is set, names may stand twice and numbers be
// spelled in any way: what DSSE ignores is not held to more than JSON.
type jsonReader struct {
	s    string
	pos  int
	lax  bool
	deep int
}

func strictJSON(doc []byte) (any, refusal) {
	return (&jsonReader{s: string(doc), deep: 64}).document()
}

func (r *jsonReader) document() (v any, err refusal) {
	defer func() {
		if x := recover(); x != nil {
			v, err = nil, x.(refusal)
		}
	}()
	if !utf8.ValidString(r.s) {
		return nil, "JSON-UTF8"
	}
	v = r.value(0)
	if r.space(); r.pos < len(r.s) {
		return nil, "JSON-TRAILING"
	}
	return v, ""
}

func (r *jsonReader) fail(code refusal) { panic(code) }

func (r *jsonReader) space() {
	for r.pos < len(r.s) && strings.IndexByte(" \t\r\n", r.s[r.pos]) >= 0 {
		r.pos++
	}
}

// next skips white space and returns the next byte, 0 at the end.
func (r *jsonReader) next() byte {
	if r.space(); r.pos < len(r.s) {
		return r.s[r.pos]
	}
	return 0
}

func (r *jsonReader) want(c byte) {
	if r.next() != c {
		r.fail("JSON-SYNTAX")
	}
	r.pos++
}

func (r *jsonReader) value(depth int) any {
	switch c := r.next(); {
	case c == '{' || c == '[':
		if depth == r.deep {
			r.fail("JSON-DEPTH")
		}
		r.pos++
		if c == '[' {
			return r.array(depth)
		}
		return r.object(depth)
	case c == '"':
		return r.text()
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	for word, v := range map[string]any{"null": nil, "true": true, "false": false} {
		if strings.HasPrefix(r.s[r.pos:], word) {
			r.pos += len(word)
			return v
		}
	}
	r.fail("JSON-SYNTAX")
	return nil
}

func (r *jsonReader) array(depth int) []any {
	out := []any{}
	if r.next() == ']' {
		r.pos++
		return out
	}
	for {
		out = append(out, r.value(depth+1))
		if r.next() == ']' {
			r.pos++
			return out
		}
		r.want(',')
	}
}

func (r *jsonReader) object(depth int) object {
	out := object{}
	if r.next() == '}' {
		r.pos++
		return out
	}
	for {
		if r.next() != '"' {
			r.fail("JSON-SYNTAX")
		}
		name := r.text()
		if _, twice := out.get(name); twice && !r.lax {
			r.fail("JSON-NAME-TWICE")
		}
		r.want(':')
		out = append(out, member{name, r.value(depth + 1)})
		if r.next() == '}' {
			r.pos++
			return out
		}
		r.want(',')
	}
}

func (r *jsonReader) text() string {
	var b strings.Builder
	for r.pos++; ; {
		if r.pos >= len(r.s) || r.s[r.pos] < 0x20 {
			r.fail("JSON-SYNTAX")
		}
		c := r.s[r.pos]
		r.pos++
		switch {
		case c == '"':
			return b.String()
		case c != '\\':
			b.WriteByte(c)
			continue
		}
		if r.pos >= len(r.s) {
			r.fail("JSON-SYNTAX")
		}
		c = r.s[r.pos]
		r.pos++
		if at := strings.IndexByte(`"\/bfnrt`, c); at >= 0 {
			b.WriteByte("\"\\/\b\f\n\r\t"[at])
			continue
		}
		if c != 'u' {
			r.fail("JSON-SYNTAX")
		}
		u := r.hex4()
		switch {
		case u >= 0xdc00 && u <= 0xdfff:
			r.fail("JSON-SURROGATE")
		case u >= 0xd800 && u <= 0xdbff:
			if !strings.HasPrefix(r.s[r.pos:], `\u`) {
				r.fail("JSON-SURROGATE")
			}
			r.pos += 2
			low := r.hex4()
			if low < 0xdc00 || low > 0xdfff {
				r.fail("JSON-SURROGATE")
			}
			u = 0x10000 + (u-0xd800)<<10 + (low - 0xdc00)
		}
		b.WriteRune(rune(u))
	}
}

func (r *jsonReader) hex4() uint64 {
	if r.pos+4 > len(r.s) {
		r.fail("JSON-SYNTAX")
	}
	u, err := strconv.ParseUint(r.s[r.pos:r.pos+4], 16, 32)
	if err != nil {
		r.fail("JSON-SYNTAX")
	}
	r.pos += 4
	return u
}

func (r *jsonReader) number() float64 {
	from := r.pos
	digits := func() {
		n := r.pos
		for r.pos < len(r.s) && r.s[r.pos] >= '0' && r.s[r.pos] <= '9' {
			r.pos++
		}
		if n == r.pos {
			r.fail("JSON-SYNTAX")
		}
	}
	at := func(set string) bool {
		if r.pos < len(r.s) && strings.IndexByte(set, r.s[r.pos]) >= 0 {
			r.pos++
			return true
		}
		return false
	}
	at("-")
	if !at("0") {
		digits()
	}
	if at(".") {
		digits()
	}
	if at("eE") {
		at("+-")
		digits()
	}
	literal := r.s[from:r.pos]
	f, err := strconv.ParseFloat(literal, 64)
	if !r.lax && (err != nil || ecmaScript(f) != literal) {
		r.fail("JSON-NUMBER")
	}
	return f
}

// ecmaScript spells a double as ECMAScript does.
func ecmaScript(f float64) string {
	if f == 0 {
		return "0"
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}
