package jcs

import (
	"math"
	"strconv"
)

// maxNumber is longer than every number that AppendNumber writes: a sign,
// 17 digits, a point, and at most six zeros or an exponent.
const maxNumber = 32

// AppendNumber appends f as ECMAScript writes it (RFC 8785 section 3.2.2.3):
// the shortest digits that give f back, in exponent form below 1e-6 and from
// 1e21. Both zeros are "0". f must be finite.
func AppendNumber(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0')
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go writes at least two digits of exponent, ECMAScript no leading zero.
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '+' || dst[n-3] == '-') {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// ownSpelling returns the double that the JSON number literal denotes, and
// whether AppendNumber would spell it just so.
func ownSpelling(literal []byte) (float64, bool) {
	if len(literal) > maxNumber {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(literal), 64)
	if err != nil {
		return 0, false // out of range
	}
	var buf [maxNumber]byte
	return f, string(AppendNumber(buf[:0], f)) == string(literal)
}
