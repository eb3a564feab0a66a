package jcs

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/obstat/obstat/report"
)

// Append appends the RFC 8785 form of v to dst. It refuses what [Parse] would:
// a number that is not finite or is -0 (JSON-NUMBER), text that is not UTF-8
// (JSON-UTF8), a name twice in one object (JSON-NAME-TWICE), nesting deeper
// than [MaxDepth] (JSON-DEPTH), and a nil value (JSON-SYNTAX). v is not changed.
func Append(dst []byte, v Value) ([]byte, error) { return appendValue(dst, v, 0) }

func appendValue(dst []byte, v Value, depth int) ([]byte, error) {
	switch v := v.(type) {
	case Null:
		return append(dst, "null"...), nil
	case Bool:
		return strconv.AppendBool(dst, bool(v)), nil
	case Number:
		f := float64(v)
		if math.IsNaN(f) || math.IsInf(f, 0) || f == 0 && math.Signbit(f) {
			return nil, refuse(report.CodeJSONNumber, "the value", "a finite number other than -0", strconv.FormatFloat(f, 'g', -1, 64))
		}
		return AppendNumber(dst, f), nil
	case String:
		return appendString(dst, string(v))
	case Array:
		if depth == MaxDepth {
			return nil, tooDeep("the value")
		}
		return appendArray(dst, v, depth+1)
	case Object:
		if depth == MaxDepth {
			return nil, tooDeep("the value")
		}
		return appendObject(dst, v, depth+1)
	}
	return nil, refuse(report.CodeJSONSyntax, "the value", "a JSON value", "nil")
}

func appendArray(dst []byte, a Array, depth int) ([]byte, error) {
	dst = append(dst, '[')
	var err error
	for i, v := range a {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, v, depth); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, o Object, depth int) ([]byte, error) {
	if !slices.IsSortedFunc(o, byName) {
		o = slices.Clone(o)
		slices.SortFunc(o, byName)
	}
	dst = append(dst, '{')
	var err error
	for i, m := range o {
		if i > 0 {
			if m.Name == o[i-1].Name {
				return nil, nameTwice("the value", m.Name)
			}
			dst = append(dst, ',')
		}
		if dst, err = appendString(dst, m.Name); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = appendValue(dst, m.Value, depth); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendString(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, refuse(report.CodeJSONUTF8, "the value", "valid UTF-8", quote(s))
	}
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"'), nil
}

// byName orders members by the UTF-16 code units of their names (RFC 8785
// section 3.2.3). That is the order of the UTF-8 bytes except that code points
// from U+10000, which UTF-16 writes as surrogates D800 to DFFF, come before
// U+E000 to U+FFFF. Bytes that are not UTF-8 have some order; the writer
// refuses them later.
func byName(a, b Member) int { return compareUTF16(a.Name, b.Name) }

func compareUTF16(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i == n {
		return len(a) - len(b)
	}
	// The strings differ inside or at the start of one character each, which
	// begins at the same place in both.
	const supplementary = 0xf0 // first byte of a character from U+10000
	const private = 0xee       // first byte of a character from U+E000
	start := i
	for start > 0 && a[start]&0xc0 == 0x80 {
		start--
	}
	x, y := a[start], b[start]
	if x >= supplementary && y >= private && y < supplementary {
		return -1
	}
	if y >= supplementary && x >= private && x < supplementary {
		return 1
	}
	return int(a[i]) - int(b[i])
}

func nameTwice(where, name string) error {
	return refuse(report.CodeJSONNameTwice, where, "each name once in an object", quote(name)+" again")
}

func tooDeep(where string) error {
	return refuse(report.CodeJSONDepth, where, "at most "+strconv.Itoa(MaxDepth)+" levels of arrays and objects", "more")
}

// quote shows at most 32 bytes of bad input, escaped.
func quote(s string) string {
	const most = 32
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:most]) + " and " + strconv.Itoa(len(s)-most) + " bytes more"
}
