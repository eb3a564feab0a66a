package dagcbor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/obstat/obstat/report"
)

// Check reports whether b is exactly one item in canonical form
// (spec/encoding.md#canonical-form). It makes one pass, allocates nothing for
// an accepted block and never panics. The error is a *report.Error whose Where
// is "byte N", counted from 0, the first byte of the head at fault.
func Check(b []byte) error {
	if e := check(b); e != nil {
		return e
	}
	return nil
}

// frame is a list or map whose items are still coming. In a map left counts
// keys and values, so a key is due whenever it is even.
type frame struct {
	left     int
	isMap    bool
	hasKey   bool
	key, end int // the last key is b[key:end]
}

func check(b []byte) *report.Error {
	var stack [MaxDepth]frame
	depth, pos := 0, 0
	for {
		if depth > 0 {
			if f := &stack[depth-1]; f.isMap && f.left&1 == 0 {
				var e *report.Error
				if pos, e = f.nextKey(b, pos); e != nil {
					return e
				}
			}
		}
		major, arg, next, e := readHead(b, pos)
		if e != nil {
			return e
		}
		switch major {
		case majorUint:
			if arg > MaxInt {
				return refuse(report.CodeCBORIntRange, pos, "an integer of at most 2^53-1", fmt.Sprint(arg))
			}
		case majorNint: // the value is -1-arg
			if arg > MaxInt-1 {
				return refuse(report.CodeCBORIntRange, pos, "an integer of at least -(2^53-1)", fmt.Sprintf("-1-%d", arg))
			}
		case majorBytes, majorText:
			if arg > uint64(len(b)-next) {
				return truncated(b, pos, fmt.Sprintf("%d bytes of string", arg), len(b)-next)
			}
			start := next
			next += int(arg)
			if major == majorText && !validText(b, start, next) {
				return refuse(report.CodeCBORUTF8, pos, "valid UTF-8", "a text that is not")
			}
		case majorList, majorMap:
			if depth == MaxDepth {
				return refuse(report.CodeCBORDepth, pos, fmt.Sprintf("at most %d levels of lists and maps", MaxDepth), "one more")
			}
			// An item takes at least a byte, an entry at least two, so a
			// count beyond what is left can be refused at once.
			room := uint64(len(b) - next)
			if arg > room || major == majorMap && arg > room/2 {
				return truncated(b, pos, fmt.Sprintf("%d items", arg), len(b)-next)
			}
			if arg > 0 {
				stack[depth] = frame{left: int(arg)}
				if major == majorMap {
					stack[depth] = frame{left: 2 * int(arg), isMap: true}
				}
				depth++
				pos = next
				continue
			}
		case majorTag:
			if next, e = checkLink(b, pos, arg, next); e != nil {
				return e
			}
		}
		pos = next
		for depth > 0 {
			if stack[depth-1].left--; stack[depth-1].left > 0 {
				break
			}
			depth--
		}
		if depth == 0 {
			break
		}
	}
	if pos != len(b) {
		return refuse(report.CodeCBORTrailing, pos, "the end of the input", fmt.Sprintf("%d more bytes", len(b)-pos))
	}
	return nil
}

// nextKey checks the map key at pos and returns where its value begins.
func (f *frame) nextKey(b []byte, pos int) (int, *report.Error) {
	major, arg, start, e := readHead(b, pos)
	if e != nil {
		return 0, e
	}
	if major != majorText {
		return 0, refuse(report.CodeCBORKeyType, pos, "a text as map key", majorName(major))
	}
	if arg > uint64(len(b)-start) {
		return 0, truncated(b, pos, fmt.Sprintf("%d bytes of key", arg), len(b)-start)
	}
	end := start + int(arg)
	key := b[start:end]
	if !validText(b, start, end) {
		return 0, refuse(report.CodeCBORUTF8, pos, "valid UTF-8", "a map key that is not")
	}
	if f.hasKey {
		switch last := b[f.key:f.end]; {
		case len(last) > len(key):
			return 0, refuse(report.CodeCBORKeyOrder, pos, "keys ascending by length", "a shorter key after a longer one")
		case len(last) == len(key):
			if c := bytes.Compare(last, key); c == 0 {
				return 0, refuse(report.CodeCBORKeyDuplicate, pos, "each key once", "the key before it again")
			} else if c > 0 {
				return 0, refuse(report.CodeCBORKeyOrder, pos, "keys of one length ascending by bytes", "a smaller key after a greater one")
			}
		}
	}
	f.hasKey, f.key, f.end = true, start, end
	f.left--
	return end, nil
}

// validText reports whether b[start:end] is valid UTF-8. Most texts are short
// and ASCII: eight bytes are looked at in one step, those behind end shifted
// out, and utf8.Valid is asked only where a byte is not ASCII.
func validText(b []byte, start, end int) bool {
	const high = 0x8080808080808080
	i := start
	for ; i+8 <= end; i += 8 {
		if binary.LittleEndian.Uint64(b[i:])&high != 0 {
			return utf8.Valid(b[start:end])
		}
	}
	if i < end && i+8 <= len(b) {
		rest := binary.LittleEndian.Uint64(b[i:]) << (8 * (8 - (end - i)))
		return rest&high == 0 || utf8.Valid(b[start:end])
	}
	return utf8.Valid(b[i:end]) // all before i is ASCII
}

// checkLink checks the byte string behind the tag head at pos, which ends at
// next, and returns where that string ends.
func checkLink(b []byte, pos int, tag uint64, next int) (int, *report.Error) {
	if tag != tagCID {
		return 0, refuse(report.CodeCBORTag, pos, "no tag but 42", fmt.Sprintf("tag %d", tag))
	}
	major, arg, start, e := readHead(b, next)
	if e != nil {
		return 0, e
	}
	if major != majorBytes {
		return 0, refuse(report.CodeCBORLink, next, "a byte string behind tag 42", majorName(major))
	}
	if arg > uint64(len(b)-start) {
		return 0, truncated(b, next, fmt.Sprintf("%d bytes of link", arg), len(b)-start)
	}
	end := start + int(arg)
	link := b[start:end]
	if len(link) == 0 || link[0] != 0 {
		return 0, refuse(report.CodeCBORLink, next, "0x00 before the CID of a link", "a link that does not begin so")
	}
	if !wellFormedCID(link[1:]) {
		return 0, refuse(report.CodeCBORLink, next, "one well-formed CID in a link", fmt.Sprintf("%d bytes that are none", len(link)-1))
	}
	return end, nil
}

// readHead reads the head at pos (RFC 8949, section 3): its major type, its
// argument and where it ends. It refuses heads that are cut short, reserved,
// indefinite or longer than they need be, and under major type 7 all but
// false and true.
func readHead(b []byte, pos int) (major byte, arg uint64, next int, e *report.Error) {
	if pos >= len(b) {
		return 0, 0, 0, truncated(b, pos, "an item", 0)
	}
	first := b[pos]
	major, arg, next = first>>5, uint64(first&0x1f), pos+1
	if major == majorOther {
		if first == headFalse || first == headTrue {
			return major, arg, next, nil
		}
		return 0, 0, 0, refuseOther(first, pos)
	}
	if arg < 24 {
		return major, arg, next, nil
	}
	return readLongHead(b, pos, major, first&0x1f)
}

func readLongHead(b []byte, pos int, major, info byte) (byte, uint64, int, *report.Error) {
	if info > 27 {
		if info == 31 && major >= majorBytes && major <= majorMap {
			return 0, 0, 0, refuse(report.CodeCBORIndefinite, pos, "a definite length", majorName(major)+" of indefinite length")
		}
		return 0, 0, 0, refuse(report.CodeCBORReserved, pos, "additional information 0 to 27", fmt.Sprint(info))
	}
	size := 1 << (info - 24) // 1, 2, 4 or 8 bytes of argument
	if size > len(b)-pos-1 {
		return 0, 0, 0, truncated(b, pos, fmt.Sprintf("%d bytes of argument", size), len(b)-pos-1)
	}
	var arg uint64
	for _, c := range b[pos+1 : pos+1+size] {
		arg = arg<<8 | uint64(c)
	}
	if arg < 24 || size > 1 && arg>>(4*size) == 0 {
		return 0, 0, 0, refuse(report.CodeCBORNotShortest, pos, "the shortest form", fmt.Sprintf("%d in %d bytes", arg, size))
	}
	return major, arg, pos + 1 + size, nil
}

// refuseOther says why a head of major type 7 is not in the profile.
func refuseOther(first byte, pos int) *report.Error {
	const want = "an integer, byte string, text, list, map, link, false or true"
	switch info := first & 0x1f; info {
	case 22:
		return refuse(report.CodeCBORNull, pos, want, "null")
	case 23:
		return refuse(report.CodeCBORSimple, pos, want, "undefined")
	case 25, 26, 27:
		return refuse(report.CodeCBORFloat, pos, want, fmt.Sprintf("a %d-bit float", 16<<(info-25)))
	case 28, 29, 30:
		return refuse(report.CodeCBORReserved, pos, "additional information 0 to 27", fmt.Sprint(info))
	case 31:
		return refuse(report.CodeCBORIndefinite, pos, want, "a break code")
	default:
		return refuse(report.CodeCBORSimple, pos, want, "a simple value")
	}
}

func refuse(code report.Code, pos int, expected, actual string) *report.Error {
	return &report.Error{Code: code, Where: fmt.Sprintf("byte %d", pos), Expected: expected, Actual: actual}
}

func truncated(b []byte, pos int, expected string, left int) *report.Error {
	if len(b) == 0 {
		return refuse(report.CodeCBORTruncated, 0, "one item", "no bytes")
	}
	return refuse(report.CodeCBORTruncated, pos, expected, fmt.Sprintf("%d bytes to the end", left))
}

func majorName(major byte) string {
	switch major {
	case majorUint, majorNint:
		return "an integer"
	case majorBytes:
		return "a byte string"
	case majorText:
		return "a text"
	case majorList:
		return "a list"
	case majorMap:
		return "a map"
	case majorTag:
		return "a tag"
	default:
		return "a simple value"
	}
}
