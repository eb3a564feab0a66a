package preview

import (
	"encoding/hex"
	"strconv"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
	"github.com/zeebo/blake3"
)

const commitmentContext = "obstat commitment v1"

// Commitment hides a value in a receipt, 32 bytes
// (spec/preview.md#commitments).
type Commitment [32]byte

// String returns lowercase hex.
func (c Commitment) String() string { return hex.EncodeToString(c[:]) }

// Salt makes a commitment unguessable, 32 bytes (spec/preview.md#commitments).
type Salt [32]byte

// Field is what a committed value is to its request; the closed list stands in
// the package comment.
type Field string

// The fields.
const (
	FieldInput    Field = "input"
	FieldPath     Field = "path"
	FieldBefore   Field = "before"
	FieldAfter    Field = "after"
	FieldSlot     Field = "slot"
	FieldTarget   Field = "target"
	FieldKey      Field = "key"
	FieldSeen     Field = "seen"
	FieldWroteKey Field = "wrote-key"
	FieldWrote    Field = "wrote"
	FieldDelta    Field = "delta"
)

// rule returns whether names of the field are indexes and whether its values
// are contents; known is false for a field that is none.
func (f Field) rule() (indexed, content, known bool) {
	switch f {
	case FieldInput, FieldSlot:
		return false, false, true
	case FieldPath, FieldTarget, FieldKey, FieldWroteKey:
		return true, false, true
	case FieldBefore, FieldAfter, FieldSeen, FieldWrote, FieldDelta:
		return true, true, true
	}
	return false, false, false
}

// Index returns the name of the place with the given index.
func Index(i int) string { return strconv.Itoa(i) }

func checkPlace(field Field, name string) error {
	indexed, _, known := field.rule()
	if !known {
		return bad(report.CodePreviewDisclosure, "field", "a field that receipts commit to", quote(string(field)))
	}
	if !indexed {
		if !verdict.ValidName(name) {
			return bad(report.CodePreviewDisclosure, "name", "a name", quote(name))
		}
		return nil
	}
	if i, err := strconv.ParseUint(name, 10, 31); err != nil || strconv.FormatUint(i, 10) != name {
		return bad(report.CodePreviewDisclosure, "name", "a decimal index", quote(name))
	}
	return nil
}

// Disclosure opens one commitment: {salt, field, name, value}
// (spec/preview.md#disclosures). It lies beside a bundle, never in a receipt.
// The zero Disclosure opens nothing.
type Disclosure struct {
	salt  Salt
	item  Item
	opens Commitment
}

// Item is one value at its place in a request: a row of the table in the
// package comment. Items are comparable with ==.
type Item struct {
	Field Field
	Name  string // an index, or the name of an input or a slot
	Value Value
}

// NewDisclosure returns the disclosure of value at a place under a salt. It
// fails with PREVIEW-DISCLOSURE where there is no such place, or the field does
// not hold such a value.
func NewDisclosure(salt Salt, field Field, name string, value Value) (Disclosure, error) {
	item := Item{field, name, value}
	if err := item.check(); err != nil {
		return Disclosure{}, err
	}
	return commit(blake3.NewDeriveKey(commitmentContext), salt, item)
}

func (i Item) check() error {
	if err := checkPlace(i.Field, i.Name); err != nil {
		return err
	}
	if _, content, _ := i.Field.rule(); content != i.Value.content {
		return bad(report.CodePreviewDisclosure, "value", "a value that the field "+string(i.Field)+" holds", kind(i.Value.json()))
	}
	return nil
}

// commit commits to a checked item with h, a hasher of the commitment context.
func commit(h *blake3.Hasher, salt Salt, item Item) (Disclosure, error) {
	m, err := dagcbor.Encode(dagcbor.List{
		dagcbor.Bytes(salt[:]), dagcbor.Text(item.Field), dagcbor.Text(item.Name), item.Value.cbor(),
	})
	if err != nil {
		return Disclosure{}, err
	}
	return Disclosure{salt, item, sumOf(h, "", m)}, nil
}

// Commitment returns what the disclosure opens.
func (d Disclosure) Commitment() Commitment { return d.opens }

// Salt returns the salt.
func (d Disclosure) Salt() Salt { return d.salt }

// Item returns the value and its place.
func (d Disclosure) Item() Item { return d.item }

// With returns the disclosure of another value at the same place under the
// same salt, so that its commitment equals d's exactly if the values are
// equal: what was seen, to be compared with what was expected.
func (d Disclosure) With(value Value) (Disclosure, error) {
	return NewDisclosure(d.salt, d.item.Field, d.item.Name, value)
}

// MarshalJSON returns the RFC 8785 form {"field", "name", "salt", "value"}:
// the salt as 64 lowercase hex digits, the value as it stands in ρ.
func (d Disclosure) MarshalJSON() ([]byte, error) {
	return jcs.Append(nil, jcs.Object{
		{Name: "field", Value: jcs.String(d.item.Field)},
		{Name: "name", Value: jcs.String(d.item.Name)},
		{Name: "salt", Value: jcs.String(hex.EncodeToString(d.salt[:]))},
		{Name: "value", Value: d.item.Value.json()},
	})
}

// ParseDisclosure reads what [Disclosure.MarshalJSON] writes, in any spacing
// and member order. It fails as package jcs does, with PREVIEW-VALUE for a
// value that is not in its one spelling, or with PREVIEW-DISCLOSURE.
func ParseDisclosure(doc []byte) (Disclosure, error) {
	v, err := jcs.Parse(doc)
	if err != nil {
		return Disclosure{}, err
	}
	m, err := openObject("", v)
	if err != nil {
		return Disclosure{}, err
	}
	var texts [3]string
	for i, key := range []string{"field", "name", "salt"} {
		if texts[i], err = m.text(key); err != nil {
			return Disclosure{}, err
		}
	}
	field := Field(texts[0])
	if err := checkPlace(field, texts[1]); err != nil {
		return Disclosure{}, err
	}
	salt, ok := readHex(texts[2])
	if !ok {
		return Disclosure{}, bad(report.CodePreviewDisclosure, "salt", "64 lowercase hex digits", quote(texts[2]))
	}
	value, err := m.value(field)
	if err != nil {
		return Disclosure{}, err
	}
	if err := m.done(); err != nil {
		return Disclosure{}, err
	}
	return NewDisclosure(Salt(salt), field, texts[1], value)
}

// value reads the member "value" as the field holds it.
func (m *members) value(field Field) (Value, error) {
	if _, content, _ := field.rule(); content {
		c, err := m.content("value")
		return c.Value(), err
	}
	s, err := m.bytes("value")
	return Text(s), err
}
