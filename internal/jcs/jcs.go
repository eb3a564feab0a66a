// Package jcs reads JSON strictly and writes it in the one form of RFC 8785.
//
// RFC 8785 starts from a JSON value and says how to write it; it leaves to
// I-JSON (RFC 7493) which documents have one value at all. [Parse] draws that
// line and refuses, before anything is hashed, every document that two readers
// could understand differently (spec/preview.md#json):
//
//   - bytes that are not valid UTF-8, and a byte order mark;
//   - an escape that names half a surrogate pair;
//   - one object with the same name twice, compared after unescaping;
//   - a number literal that is not spelled as ECMAScript would spell the double
//     it denotes: 1.0, 1e2, -0 and 9007199254740993 are refused, 1, 100, 0 and
//     9007199254740992 are not. So a number's text and its value are one;
//   - anything after the value but white space;
//   - arrays and objects nested deeper than [MaxDepth].
//
// [Append] writes a [Value] as RFC 8785 says. Reader and writer are our own:
// the reader because no library refuses all of the above, the writer because a
// preview is built from Go values and never was a document. The library that
// implements RFC 8785, github.com/gowebpki/jcs, judges both in tests.
package jcs

import "github.com/obstat/obstat/report"

// MaxDepth bounds how deep arrays and objects may be nested; a scalar has
// depth 0, the outermost array or object depth 1.
const MaxDepth = 64

// Canonical returns the RFC 8785 form of the one JSON value in doc, or the
// refusal of [Parse]. It is idempotent.
func Canonical(doc []byte) ([]byte, error) {
	v, err := Parse(doc)
	if err != nil {
		return nil, err
	}
	return Append(make([]byte, 0, len(doc)), v)
}

// Value is one JSON value: Null, Bool, Number, String, Array or Object.
type Value interface{ value() }

type (
	// Null is the literal null.
	Null struct{}
	// Bool is true or false.
	Bool bool
	// Number is an IEEE 754 double that is finite and not -0.
	Number float64
	// String is valid UTF-8.
	String string
	// Array is a list of values.
	Array []Value
	// Object is a set of members with distinct names. Parse returns them in
	// canonical order; Append takes them in any.
	Object []Member
	// Member is one name and its value.
	Member struct {
		Name  string
		Value Value
	}
)

func (Null) value()   {}
func (Bool) value()   {}
func (Number) value() {}
func (String) value() {}
func (Array) value()  {}
func (Object) value() {}

// Get returns the value of the member called name.
func (o Object) Get(name string) (Value, bool) {
	for _, m := range o {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

func refuse(code report.Code, where, expected, actual string) error {
	return &report.Error{Code: code, Where: where, Expected: expected, Actual: actual}
}
