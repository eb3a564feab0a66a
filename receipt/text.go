package receipt

import (
	"strings"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/verdict"
)

// MaxClear is how long a clear form may be, in bytes (spec/receipt.md#clear-form).
const MaxClear = 1024

// CID names a receipt or a statement: the one form of package dagcbor.
type CID = dagcbor.CID

// Code is a word of a closed vocabulary: [A-Z0-9]+(-[A-Z0-9]+)*, at most
// 64 bytes (spec/encoding.md#text).
type Code string

// Name is an identifier: 1 to 128 bytes of [A-Za-z0-9._/@:+-]
// (spec/encoding.md#text).
type Name string

const upperHex = "0123456789ABCDEF"

// EscapeClear returns the one clear form of s: bytes of the name alphabet stand
// for themselves, every other byte is %XX with upper-case digits
// (spec/receipt.md#clear-form). The result may be longer than MaxClear, and
// then no field takes it.
func EscapeClear(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := range len(s) {
		if c := s[i]; verdict.NameByte(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return b.String()
}

// UnescapeClear returns what EscapeClear was given; ok is false where s is not
// a clear form: another byte than those of the alphabet, an escape that is not
// %XX in upper case, or an escape of a byte that stands for itself.
func UnescapeClear(s string) (text string, ok bool) {
	if strings.IndexByte(s, '%') < 0 {
		for i := range len(s) {
			if !verdict.NameByte(s[i]) {
				return "", false
			}
		}
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if i+2 >= len(s) {
				return "", false
			}
			hi, lo := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
			if hi < 0 || lo < 0 {
				return "", false
			}
			c = byte(hi<<4 | lo)
			i += 2
			if verdict.NameByte(c) {
				return "", false
			}
		} else if !verdict.NameByte(c) {
			return "", false
		}
		b = append(b, c)
	}
	return string(b), true
}
