package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
)

// The JSON view (spec/jsonview.md) is lossless both ways: maps, lists, texts
// and integers are themselves, and the name of a field tells what a string
// under it stands for:
//
//   - a link: its CID in the one text spelling;
//   - a pin: "blake3:" or "sha256:" and lowercase hex;
//   - a value: a commitment in lowercase hex, or {"clear": …} with the clear
//     form, so that what is disclosed is marked;
//   - other bytes: lowercase hex;
//   - anything else: the text.
//
// Only "approval" has two meanings: a name in context, a link in a disposition.

type viewForm uint8

const (
	viewText viewForm = iota
	viewHex
	viewLink
	viewPin
	viewValue
)

const viewClear = "clear"

// viewFormOf returns what a string under a field stands for.
func viewFormOf(parent, field string) viewForm {
	switch field {
	case "by", "root", "digest", "request", "fired", "before", "after", "seen", "expected", "vocabulary", "delta", "ticket":
		return viewHex
	case "path", "target", "key", "value":
		return viewValue
	case "plan", "lock", "permits", "policy", "tool", "sandbox":
		return viewPin
	case "prev", "settles", "parent", "of", "judgment", "decision", "outcome":
		return viewLink
	case "approval":
		if parent != "context" {
			return viewLink
		}
	}
	return viewText
}

// ToJSON returns the JSON view of a statement, in the one form of RFC 8785.
func ToJSON(d *Decoded) ([]byte, error) {
	return view(d.payload)
}

// ReceiptToJSON returns the JSON view of a receipt alone, in the one form of
// RFC 8785. It refuses what EncodeReceipt refuses.
func ReceiptToJSON(r Receipt) ([]byte, error) {
	b, err := EncodeReceipt(r)
	if err != nil {
		return nil, err
	}
	return view(b)
}

func view(block []byte) ([]byte, error) {
	n, err := dagcbor.Parse(block)
	if err != nil {
		return nil, err
	}
	return jcs.Append(make([]byte, 0, 2*len(block)), viewOf("", "", n))
}

func viewOf(parent, field string, n node) jcs.Value {
	switch n.Kind() {
	case dagcbor.KindInt:
		return jcs.Number(n.Int())
	case dagcbor.KindBool:
		return jcs.Bool(n.Bool())
	case dagcbor.KindLink:
		return jcs.String(CID(n.Link()).String())
	case dagcbor.KindBytes:
		if viewFormOf(parent, field) == viewPin {
			return jcs.String(Pin(n.Bytes()).String())
		}
		return jcs.String(hex.EncodeToString(n.Bytes()))
	case dagcbor.KindText:
		if viewFormOf(parent, field) == viewValue {
			return jcs.Object{{Name: viewClear, Value: jcs.String(n.Text())}}
		}
		return jcs.String(n.Text())
	case dagcbor.KindList:
		list := make(jcs.Array, 0, n.Len())
		for _, v := range n.Items() {
			list = append(list, viewOf("", "", v))
		}
		return list
	default:
		object := make(jcs.Object, 0, n.Len())
		for key, v := range n.Entries() {
			object = append(object, jcs.Member{Name: key, Value: viewOf(field, key, v)})
		}
		return object
	}
}

// FromJSON reads the JSON view of a statement, in any spacing and member order.
// Every view of a statement gives back that statement's bytes. Errors are those
// of package jcs for what is not strict JSON, RECEIPT-JSON for a string that
// does not spell what its field holds, and Decode's.
func FromJSON(doc []byte) (*Decoded, error) {
	b, err := unview(doc)
	if err != nil {
		return nil, err
	}
	return Decode(b)
}

// ReceiptFromJSON is FromJSON for a receipt alone.
func ReceiptFromJSON(doc []byte) (Receipt, error) {
	b, err := unview(doc)
	if err != nil {
		return nil, err
	}
	return DecodeReceipt(b)
}

func unview(doc []byte) ([]byte, error) {
	v, err := jcs.Parse(doc)
	if err != nil {
		return nil, err
	}
	tree, e := unviewOf("", "", v)
	if e != nil {
		return nil, e
	}
	b, err := dagcbor.Encode(tree)
	if err != nil {
		return nil, dotted(err)
	}
	return b, nil
}

func unviewOf(parent, field string, v jcs.Value) (dagcbor.Value, *report.Error) {
	switch v := v.(type) {
	case jcs.Bool:
		return dagcbor.Bool(v), nil
	case jcs.Number:
		if f := float64(v); f == float64(int64(f)) && f <= dagcbor.MaxInt && f >= -dagcbor.MaxInt {
			return dagcbor.Int(f), nil
		}
		return nil, refuse(report.CodeReceiptJSON, "an integer within 2^53-1 of 0", fmt.Sprint(float64(v)))
	case jcs.String:
		return unviewString(viewFormOf(parent, field), string(v))
	case jcs.Array:
		list := make(dagcbor.List, len(v))
		for i, element := range v {
			var e *report.Error
			if list[i], e = unviewOf("", "", element); e != nil {
				return nil, item(i, e)
			}
		}
		return list, nil
	case jcs.Object:
		if viewFormOf(parent, field) == viewValue {
			return unviewClear(v)
		}
		m := make(dagcbor.Map, 0, len(v))
		for _, member := range v {
			value, e := unviewOf(field, member.Name, member.Value)
			if e != nil {
				return nil, under(member.Name, e)
			}
			m = append(m, dagcbor.Entry{Key: member.Name, Value: value})
		}
		return m, nil
	}
	return nil, refuse(report.CodeReceiptJSON, "an absent member for what is absent", "null")
}

func unviewString(form viewForm, s string) (dagcbor.Value, *report.Error) {
	switch form {
	case viewHex, viewValue:
		b, ok := lowerHex(s)
		if !ok {
			return nil, refuse(report.CodeReceiptJSON, "lowercase hex", quote(s))
		}
		return dagcbor.Bytes(b), nil
	case viewLink:
		c, err := dagcbor.ParseCID(s)
		if err != nil {
			return nil, refuse(report.CodeReceiptJSON, "the one text spelling of a CID", quote(s))
		}
		return c.Link(), nil
	case viewPin:
		p, ok := parsePin(s)
		if !ok {
			return nil, refuse(report.CodeReceiptJSON, `"blake3:" or "sha256:" and 64 lowercase hex digits`, quote(s))
		}
		return dagcbor.Bytes(p[:]), nil
	}
	return dagcbor.Text(s), nil
}

func unviewClear(o jcs.Object) (dagcbor.Value, *report.Error) {
	if len(o) == 1 && o[0].Name == viewClear {
		if s, ok := o[0].Value.(jcs.String); ok {
			return dagcbor.Text(s), nil
		}
	}
	return nil, refuse(report.CodeReceiptJSON, `a commitment in lowercase hex, or {"clear": text}`, "another object")
}

func lowerHex(s string) ([]byte, bool) {
	b, err := hex.DecodeString(s)
	return b, err == nil && hex.EncodeToString(b) == s
}

func parsePin(s string) (p Pin, ok bool) {
	const digits = 64
	if len(s) < digits {
		return p, false
	}
	algorithm, text := s[:len(s)-digits], s[len(s)-digits:]
	b, ok := lowerHex(text)
	if !ok {
		return p, false
	}
	switch algorithm {
	case "blake3:":
		return pinOf(pinBLAKE3, [32]byte(b)), true
	case "sha256:":
		return pinOf(pinSHA256, [32]byte(b)), true
	}
	return p, false
}

// ParsePin reads what Pin.String writes.
func ParsePin(s string) (Pin, error) {
	p, ok := parsePin(s)
	if !ok {
		return Pin{}, refuse(report.CodeSchemaPin, `"blake3:" or "sha256:" and 64 lowercase hex digits`, quote(s))
	}
	return p, nil
}

// JCSDigest is SHA-256 over the RFC 8785 form of a receipt's JSON view: a second
// route for those who speak JSON and have no CBOR (spec/jsonview.md#digest). It
// is never an identity; that is the receipt CID alone.
type JCSDigest [32]byte

// String returns "jcs-sha256:" and lowercase hex, so that it is not taken for
// another digest.
func (d JCSDigest) String() string { return "jcs-sha256:" + hex.EncodeToString(d[:]) }

// JCSDigestOf returns the digest of r. It refuses what EncodeReceipt refuses.
func JCSDigestOf(r Receipt) (JCSDigest, error) {
	b, err := ReceiptToJSON(r)
	if err != nil {
		return JCSDigest{}, err
	}
	return sha256.Sum256(b), nil
}
