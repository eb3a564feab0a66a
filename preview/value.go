package preview

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
	"github.com/zeebo/blake3"
)

// Value is what a commitment hides: a byte string, or a [Content]
// (spec/preview.md#values). The zero Value is the empty text. Values are
// comparable with ==.
type Value struct {
	content bool
	absent  bool
	bytes   string // of a content, its 32-byte digest
}

// Text returns the value that is the bytes of s, be they UTF-8 or not.
func Text(s string) Value { return Value{bytes: s} }

// Bytes returns the value that is b. Bytes that are valid UTF-8 are the same
// value as the text they spell.
func Bytes(b []byte) Value { return Value{bytes: string(b)} }

// IsContent reports whether v is a content (or the absence of one) and not a
// byte string.
func (v Value) IsContent() bool { return v.content }

// IsAbsent reports whether v is the absence of a content.
func (v Value) IsAbsent() bool { return v.absent }

// Raw returns a byte string as it is; ok is false for a content.
func (v Value) Raw() (raw string, ok bool) { return v.bytes, !v.content }

// String renders v for a person: a byte string quoted and escaped, "b3:" and
// lowercase hex of a content, "none" for no content.
func (v Value) String() string {
	switch {
	case v.absent:
		return "none"
	case v.content:
		return "b3:" + hex.EncodeToString([]byte(v.bytes))
	}
	return strconv.Quote(v.bytes)
}

// cbor returns the form that is committed to.
func (v Value) cbor() dagcbor.Value {
	switch {
	case v.absent:
		return dagcbor.Bool(false)
	case v.content, !utf8.ValidString(v.bytes):
		return dagcbor.Bytes(v.bytes)
	}
	return dagcbor.Text(v.bytes)
}

// json returns the form that stands in ρ and in a disclosure.
func (v Value) json() jcs.Value {
	switch {
	case v.absent:
		return jcs.Null{}
	case v.content:
		return jcs.Object{{Name: memberB3, Value: jcs.String(hex.EncodeToString([]byte(v.bytes)))}}
	case !utf8.ValidString(v.bytes):
		return jcs.Object{{Name: memberB64, Value: jcs.String(base64.StdEncoding.EncodeToString([]byte(v.bytes)))}}
	}
	return jcs.String(v.bytes)
}

const (
	memberB3  = "b3"
	memberB64 = "b64"
)

// Content is the BLAKE3 digest of the bytes of a file or a stream, or the
// absence of it (spec/preview.md#values). The zero Content is absent.
// Contents are comparable with ==.
type Content struct {
	present bool
	sum     [32]byte
}

// ContentOf returns the content that is b. An empty content is not an absent
// one.
func ContentOf(b []byte) Content { return ContentSum(blake3.Sum256(b)) }

// ContentSum returns the content with the given BLAKE3 digest.
func ContentSum(sum [32]byte) Content { return Content{true, sum} }

// ReadContent returns the content that r yields up to its end; it fails only
// as r does.
func ReadContent(r io.Reader) (Content, error) {
	h := blake3.New()
	if _, err := io.Copy(h, r); err != nil {
		return Content{}, err
	}
	return ContentSum([32]byte(h.Sum(nil))), nil
}

// IsAbsent reports whether there is no content.
func (c Content) IsAbsent() bool { return !c.present }

// Sum returns the digest, and whether there is a content.
func (c Content) Sum() ([32]byte, bool) { return c.sum, c.present }

// Value returns the content as a value to commit to.
func (c Content) Value() Value {
	if !c.present {
		return Value{content: true, absent: true}
	}
	return Value{content: true, bytes: string(c.sum[:])}
}

// readBytes reads the one spelling of a byte string.
func readBytes(where string, v jcs.Value) (string, error) {
	const expected = `a string, or {"b64": …} over bytes that are not UTF-8`
	switch v := v.(type) {
	case jcs.String:
		return string(v), nil
	case jcs.Object:
		text, ok := only(v, memberB64)
		if !ok {
			return "", bad(report.CodePreviewValue, where, expected, "another object")
		}
		b, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil || base64.StdEncoding.EncodeToString(b) != text {
			return "", bad(report.CodePreviewValue, where, "standard base64 with padding", quote(text))
		}
		if utf8.Valid(b) {
			return "", bad(report.CodePreviewValue, where, "a string, since the bytes are valid UTF-8", `{"b64": …}`)
		}
		return string(b), nil
	}
	return "", bad(report.CodePreviewValue, where, expected, kind(v))
}

// readContent reads the one spelling of a content.
func readContent(where string, v jcs.Value) (Content, error) {
	const expected = `null, or {"b3": 64 lowercase hex digits}`
	switch v := v.(type) {
	case jcs.Null:
		return Content{}, nil
	case jcs.Object:
		text, ok := only(v, memberB3)
		if !ok {
			return Content{}, bad(report.CodePreviewValue, where, expected, "another object")
		}
		sum, ok := readHex(text)
		if !ok {
			return Content{}, bad(report.CodePreviewValue, where, expected, quote(text))
		}
		return ContentSum([32]byte(sum)), nil
	}
	return Content{}, bad(report.CodePreviewValue, where, expected, kind(v))
}

// only returns the text of an object's one member if it has that name.
func only(o jcs.Object, name string) (string, bool) {
	if len(o) != 1 || o[0].Name != name {
		return "", false
	}
	s, ok := o[0].Value.(jcs.String)
	return string(s), ok
}

// readHex reads 64 lowercase hex digits.
func readHex(text string) ([]byte, bool) {
	b, err := hex.DecodeString(text)
	return b, err == nil && len(b) == 32 && hex.EncodeToString(b) == text
}

func kind(v jcs.Value) string {
	switch v.(type) {
	case jcs.Null:
		return "null"
	case jcs.Bool:
		return "a boolean"
	case jcs.Number:
		return "a number"
	case jcs.String:
		return "a string"
	case jcs.Array:
		return "an array"
	case jcs.Object:
		return "an object"
	}
	return "nothing"
}

func bad(code report.Code, where, expected, actual string) error {
	return &report.Error{Code: code, Where: where, Expected: expected, Actual: actual}
}

// quote shows at most 32 bytes of bad input, escaped.
func quote(s string) string {
	const most = 32
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:most]) + " and " + strconv.Itoa(len(s)-most) + " bytes more"
}
