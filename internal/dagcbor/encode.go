package dagcbor

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat/report"
)

// Value is an item to encode: Int, Bytes, Text, Bool, Link, List or Map.
type Value interface{ value() }

type (
	Int   int64  // within ±MaxInt
	Bytes []byte // nil is the empty string
	Text  string // valid UTF-8
	Bool  bool
	Link  []byte // one well-formed CID, without the 0x00 before it; see CID.Link
	List  []Value
	Map   []Entry // in any order; Encode sorts, and refuses duplicates

	// Entry is one entry of a Map.
	Entry struct {
		Key   string
		Value Value
	}
)

func (Int) value()   {}
func (Bytes) value() {}
func (Text) value()  {}
func (Bool) value()  {}
func (Link) value()  {}
func (List) value()  {}
func (Map) value()   {}

// Encode returns the one canonical form of v (spec/encoding.md#canonical-form).
// It refuses what Check would: the error is a *report.Error with the same code,
// whose Where is a path from the outermost item, as in "/sigs/0/by". v is not
// changed.
func Encode(v Value) ([]byte, error) {
	b, e := appendValue(make([]byte, 0, encodedLen(v)), v, 0)
	if e != nil {
		return nil, e
	}
	return b, nil
}

func appendValue(dst []byte, v Value, depth int) ([]byte, *report.Error) {
	switch v := v.(type) {
	case Int:
		if v > MaxInt || v < -MaxInt {
			return nil, unencodable(report.CodeCBORIntRange, "an integer within ±(2^53-1)", strconv.FormatInt(int64(v), 10))
		}
		if v < 0 {
			return appendHead(dst, majorNint, uint64(-1-v)), nil
		}
		return appendHead(dst, majorUint, uint64(v)), nil
	case Bytes:
		return append(appendHead(dst, majorBytes, uint64(len(v))), v...), nil
	case Text:
		return appendText(dst, string(v))
	case Bool:
		if v {
			return append(dst, headTrue), nil
		}
		return append(dst, headFalse), nil
	case Link:
		if !wellFormedCID(v) {
			return nil, unencodable(report.CodeCBORLink, "one well-formed CID", fmt.Sprintf("%d bytes that are none", len(v)))
		}
		dst = appendHead(dst, majorTag, tagCID)
		dst = appendHead(dst, majorBytes, uint64(1+len(v)))
		return append(append(dst, 0), v...), nil
	case List:
		return appendList(dst, v, depth)
	case Map:
		return appendMap(dst, v, depth)
	case nil:
		return nil, unencodable(report.CodeCBORNull, "a value", "nil")
	default:
		return nil, unencodable(report.CodeInternal, "a value of this package", fmt.Sprintf("%T", v))
	}
}

func appendText(dst []byte, s string) ([]byte, *report.Error) {
	if !utf8.ValidString(s) {
		return nil, unencodable(report.CodeCBORUTF8, "valid UTF-8", "a text that is not")
	}
	return append(appendHead(dst, majorText, uint64(len(s))), s...), nil
}

func appendList(dst []byte, list List, depth int) ([]byte, *report.Error) {
	if depth == MaxDepth {
		return nil, tooDeep()
	}
	dst = appendHead(dst, majorList, uint64(len(list)))
	for i, item := range list {
		var e *report.Error
		if dst, e = appendValue(dst, item, depth+1); e != nil {
			return nil, within(strconv.Itoa(i), e)
		}
	}
	return dst, nil
}

func appendMap(dst []byte, m Map, depth int) ([]byte, *report.Error) {
	if depth == MaxDepth {
		return nil, tooDeep()
	}
	if !slices.IsSortedFunc(m, compareEntries) {
		m = slices.Clone(m)
		slices.SortFunc(m, compareEntries)
	}
	dst = appendHead(dst, majorMap, uint64(len(m)))
	for i, entry := range m {
		if i > 0 && m[i-1].Key == entry.Key {
			return nil, within(entry.Key, unencodable(report.CodeCBORKeyDuplicate, "each key once", "the same key twice"))
		}
		var e *report.Error
		if dst, e = appendText(dst, entry.Key); e == nil {
			dst, e = appendValue(dst, entry.Value, depth+1)
		}
		if e != nil {
			return nil, within(entry.Key, e)
		}
	}
	return dst, nil
}

// compareEntries orders as the encoded keys do: the length is in the head, so
// shorter keys come first, and then bytes decide.
func compareEntries(a, b Entry) int {
	if c := cmp.Compare(len(a.Key), len(b.Key)); c != 0 {
		return c
	}
	return strings.Compare(a.Key, b.Key)
}

func appendHead(dst []byte, major byte, arg uint64) []byte {
	major <<= 5
	switch {
	case arg < 24:
		return append(dst, major|byte(arg))
	case arg < 1<<8:
		return append(dst, major|24, byte(arg))
	case arg < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(arg))
	case arg < 1<<32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(arg))
	default:
		return binary.BigEndian.AppendUint64(append(dst, major|27), arg)
	}
}

// encodedLen returns how many bytes v takes at most, so that Encode allocates
// once. It looks no deeper than Encode does.
func encodedLen(v Value) int { return sizeOf(v, 0) }

func sizeOf(v Value, depth int) int {
	const head = 9
	switch v := v.(type) {
	case Int:
		return head
	case Bytes:
		return head + len(v)
	case Text:
		return head + len(v)
	case Link:
		return 2 + head + 1 + len(v)
	case List:
		n := head
		for i := 0; i < len(v) && depth < MaxDepth; i++ {
			n += sizeOf(v[i], depth+1)
		}
		return n
	case Map:
		n := head
		for i := 0; i < len(v) && depth < MaxDepth; i++ {
			n += head + len(v[i].Key) + sizeOf(v[i].Value, depth+1)
		}
		return n
	default:
		return 1
	}
}

func unencodable(code report.Code, expected, actual string) *report.Error {
	return &report.Error{Code: code, Expected: expected, Actual: actual}
}

func tooDeep() *report.Error {
	return unencodable(report.CodeCBORDepth, fmt.Sprintf("at most %d levels of lists and maps", MaxDepth), "one more")
}

// within puts one step of the path before where e already points.
func within(step string, e *report.Error) *report.Error {
	if !utf8.ValidString(step) {
		step = strconv.QuoteToASCII(step)
	}
	e.Where = "/" + step + e.Where
	return e
}
