package receipt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// The readers of this file and of decode*.go take a node of a checked block
// and return a value or an error without place. Whoever read the node as a
// field puts the step before it (under), so a path costs nothing until there
// is something to say.

type node = dagcbor.Node

func refuse(code report.Code, expected, actual string) *report.Error {
	return &report.Error{Code: code, Expected: expected, Actual: actual}
}

// under puts the field step before where e points.
func under(step string, e *report.Error) *report.Error {
	switch {
	case e.Where == "":
		e.Where = step
	case e.Where[0] == '[':
		e.Where = step + e.Where
	default:
		e.Where = step + "." + e.Where
	}
	return e
}

// item puts the place in a list before where e points.
func item(i int, e *report.Error) *report.Error {
	return under("["+strconv.Itoa(i)+"]", e)
}

// quote shows at most 48 bytes of bad input, escaped: a refusal repeats only
// what cannot do harm.
func quote(s string) string {
	const most = 48
	if len(s) <= most {
		return strconv.QuoteToASCII(s)
	}
	return strconv.QuoteToASCII(s[:most]) + " and " + strconv.Itoa(len(s)-most) + " bytes more"
}

func isKind(n node, want dagcbor.Kind) *report.Error {
	if have := n.Kind(); have != want {
		return refuse(report.CodeSchemaType, want.String(), have.String())
	}
	return nil
}

func unknown(key string) *report.Error {
	return refuse(report.CodeSchemaUnknown, "no field "+quote(key), "one")
}

// lacks names the first of the required fields that the map does not have,
// given how many of them were found.
func lacks(n node, found int, required ...string) *report.Error {
	if found == len(required) {
		return nil
	}
	for _, key := range required {
		if _, ok := n.Lookup(key); !ok {
			return under(key, refuse(report.CodeSchemaMissing, "a value", "nothing"))
		}
	}
	return nil
}

// onlyEntry opens a sum: a map of one entry.
func onlyEntry(n node) (key string, v node, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return "", node{}, e
	}
	if n.Len() != 1 {
		return "", node{}, refuse(report.CodeSchemaArm, "a map of one entry", fmt.Sprintf("%d entries", n.Len()))
	}
	for key, v = range n.Entries() {
	}
	return key, v, nil
}

func noArm(key string, arms ...string) *report.Error {
	return refuse(report.CodeSchemaArm, oneOf(arms), quote(key))
}

func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// readEmpty reads the body of an arm that carries nothing.
func readEmpty(n node) *report.Error {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return e
	}
	for key := range n.Entries() {
		return under(key, unknown(key))
	}
	return nil
}

func readText(n node) (string, *report.Error) {
	if e := isKind(n, dagcbor.KindText); e != nil {
		return "", e
	}
	return n.Text(), nil
}

func readWord[T ~string](n node, words ...T) (T, *report.Error) {
	s, e := readText(n)
	if e != nil {
		return "", e
	}
	for _, w := range words {
		if string(w) == s {
			return w, nil
		}
	}
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return "", refuse(report.CodeSchemaWord, oneOf(list), quote(s))
}

func readCode(n node) (Code, *report.Error) {
	s, e := readText(n)
	if e == nil && !verdict.ValidCode(s) {
		e = refuse(report.CodeSchemaCode, "[A-Z0-9]+(-[A-Z0-9]+)* of at most 64 bytes", quote(s))
	}
	return Code(s), e
}

func readName(n node) (Name, *report.Error) {
	s, e := readText(n)
	if e == nil && !verdict.ValidName(s) {
		e = refuse(report.CodeSchemaName, "1 to 128 bytes of [A-Za-z0-9._/@:+-]", quote(s))
	}
	return Name(s), e
}

// readUint reads an integer from least to 2^53-1.
func readUint(n node, least int64) (uint64, *report.Error) {
	if e := isKind(n, dagcbor.KindInt); e != nil {
		return 0, e
	}
	v := n.Int()
	if v < least {
		return 0, refuse(report.CodeSchemaRange, fmt.Sprintf("an integer from %d", least), strconv.FormatInt(v, 10))
	}
	return uint64(v), nil
}

// readBytes fills dst from a byte string of exactly that length.
func readBytes(n node, dst []byte) *report.Error {
	if e := isKind(n, dagcbor.KindBytes); e != nil {
		return e
	}
	b := n.Bytes()
	if len(b) != len(dst) {
		return refuse(report.CodeSchemaLength, fmt.Sprintf("%d bytes", len(dst)), fmt.Sprintf("%d", len(b)))
	}
	copy(dst, b)
	return nil
}

func readLink(n node) (CID, *report.Error) {
	if e := isKind(n, dagcbor.KindLink); e != nil {
		return CID{}, e
	}
	c, err := dagcbor.CIDFromBytes(n.Link())
	if err != nil {
		return CID{}, refuse(report.CodeSchemaLink, "a CIDv1 of dag-cbor and BLAKE3-256", "another CID")
	}
	return c, nil
}

func readDigest(n node) (d Digest, e *report.Error) {
	e = readBytes(n, d[:])
	return d, e
}

func readCommitment(n node) (c Commitment, e *report.Error) {
	e = readBytes(n, c[:])
	return c, e
}

func readPin(n node) (p Pin, e *report.Error) {
	if e = readBytes(n, p[:]); e != nil {
		return Pin{}, e
	}
	if p.Algorithm() == "" {
		return Pin{}, refuse(report.CodeSchemaPin, "multihash 1e 20 or 12 20", fmt.Sprintf("% x", p[:2]))
	}
	return p, nil
}

// readValue reads a commitment or a clear form: the type tells which.
func readValue(n node) (Value, *report.Error) {
	switch n.Kind() {
	case dagcbor.KindBytes:
		c, e := readCommitment(n)
		return CommittedTo(c), e
	case dagcbor.KindText:
		s := n.Text()
		if len(s) == 0 || len(s) > MaxClear {
			return Value{}, refuse(report.CodeSchemaClear, fmt.Sprintf("1 to %d bytes", MaxClear), fmt.Sprintf("%d", len(s)))
		}
		if _, ok := UnescapeClear(s); !ok {
			return Value{}, refuse(report.CodeSchemaClear, "bytes of [A-Za-z0-9._/@:+-] and %XX for every other", quote(s))
		}
		return Value{form: formClear, clear: s}, nil
	}
	return Value{}, refuse(report.CodeSchemaType, "byte string or text", n.Kind().String())
}

// readPath reads a value that, in the clear, is a path relative to the root:
// segments between single slashes, none of them empty, "." or "..", and no
// NUL.
func readPath(n node) (Value, *report.Error) {
	v, e := readValue(n)
	if e != nil || v.form != formClear {
		return v, e
	}
	for segment := range strings.SplitSeq(v.clear, "/") {
		if segment == "" || segment == "." || segment == ".." || strings.Contains(segment, "%00") {
			return Value{}, refuse(report.CodeSchemaPath, "a relative, clean path inside the root", quote(v.clear))
		}
	}
	return v, nil
}

// readSet reads a list that is a set: not empty, strictly ascending.
func readSet[T any](n node, read func(node) (T, *report.Error), compare func(a, b T) int) ([]T, *report.Error) {
	set, e := readAscending(n, read, compare)
	if e == nil && len(set) == 0 {
		return nil, refuse(report.CodeSchemaEmpty, "at least one item", "none")
	}
	return set, e
}

func readAscending[T any](n node, read func(node) (T, *report.Error), compare func(a, b T) int) ([]T, *report.Error) {
	if e := isKind(n, dagcbor.KindList); e != nil {
		return nil, e
	}
	// The first items decide whether there is anything to hold, so that a long
	// list of nonsense costs no more than its bytes.
	set := make([]T, 0, min(n.Len(), 64))
	for i, v := range n.Items() {
		t, e := read(v)
		if e != nil {
			return nil, item(i, e)
		}
		set = append(set, t)
		if i > 0 {
			if c := compare(set[i-1], set[i]); c >= 0 {
				actual := "a smaller one"
				if c == 0 {
					actual = "the same again"
				}
				return nil, item(i, refuse(report.CodeSchemaOrder, "a key greater than the one before", actual))
			}
		}
	}
	return set, nil
}
