package verdict

// Limits of the two alphabets that receipts are written in, in bytes
// (spec/encoding.md#text).
const (
	MaxCode = 64
	MaxName = 128
)

const (
	codeForm = "a code [A-Z0-9]+(-[A-Z0-9]+)* of at most 64 bytes"
	nameForm = "a name of 1 to 128 bytes from [A-Za-z0-9._/@:+-]"
)

// ValidCode reports whether s is [A-Z0-9]+(-[A-Z0-9]+)* and at most [MaxCode]
// bytes (spec/encoding.md#text).
func ValidCode(s string) bool {
	if s == "" || len(s) > MaxCode {
		return false
	}
	prev := byte('-')
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '-' && prev != '-':
		default:
			return false
		}
		prev = s[i]
	}
	return prev != '-'
}

// ValidName reports whether s is 1 to [MaxName] bytes from
// [A-Za-z0-9._/@:+-] (spec/encoding.md#text).
func ValidName(s string) bool {
	if s == "" || len(s) > MaxName {
		return false
	}
	for i := range len(s) {
		if !NameByte(s[i]) {
			return false
		}
	}
	return true
}

// NameByte reports whether c is in the alphabet of names.
func NameByte(c byte) bool {
	switch {
	case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		return true
	case c == '.', c == '_', c == '/', c == '@', c == ':', c == '+', c == '-':
		return true
	}
	return false
}
