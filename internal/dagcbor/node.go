package dagcbor

import (
	"bytes"
	"fmt"
	"iter"
)

// Kind is the kind of an item.
type Kind uint8

const (
	KindInt Kind = iota + 1
	KindBytes
	KindText
	KindBool
	KindLink
	KindList
	KindMap
)

// String returns the kind's name as error messages use it.
func (k Kind) String() string {
	switch k {
	case KindInt:
		return "integer"
	case KindBytes:
		return "byte string"
	case KindText:
		return "text"
	case KindBool:
		return "boolean"
	case KindLink:
		return "link"
	case KindList:
		return "list"
	case KindMap:
		return "map"
	default:
		return "nothing"
	}
}

// Node is one item of a checked block, read in place. Only Parse makes one, so
// its accessors need no error: they trust what Check has established. An
// accessor of another kind than Kind says panics; ask Kind first. The zero Node
// has Kind 0.
//
// Bytes, Link and Raw alias the block given to Parse, which must not be
// written to while they are in use. Text and keys belong to a copy that Parse
// makes and stay as they are.
type Node struct {
	raw  []byte
	text string // the same bytes as raw
}

// Parse checks b as Check does and returns its one item. The node aliases b.
func Parse(b []byte) (Node, error) {
	if err := Check(b); err != nil {
		return Node{}, err
	}
	return Node{raw: b, text: string(b)}, nil
}

// Kind returns what the item is.
func (n Node) Kind() Kind {
	if len(n.raw) == 0 {
		return 0
	}
	switch n.raw[0] >> 5 {
	case majorUint, majorNint:
		return KindInt
	case majorBytes:
		return KindBytes
	case majorText:
		return KindText
	case majorList:
		return KindList
	case majorMap:
		return KindMap
	case majorTag:
		return KindLink
	default:
		return KindBool
	}
}

// Int returns an integer, within ±MaxInt.
func (n Node) Int() int64 {
	n.must(KindInt)
	arg, _ := headOf(n.raw)
	if n.raw[0]>>5 == majorNint {
		return -1 - int64(arg)
	}
	return int64(arg)
}

// Bytes returns a byte string. It aliases the block.
func (n Node) Bytes() []byte {
	n.must(KindBytes)
	_, start := headOf(n.raw)
	return n.raw[start:len(n.raw):len(n.raw)]
}

// Text returns a text, valid UTF-8.
func (n Node) Text() string {
	n.must(KindText)
	_, start := headOf(n.raw)
	return n.text[start:]
}

// Bool returns a boolean.
func (n Node) Bool() bool {
	n.must(KindBool)
	return n.raw[0] == headTrue
}

// Link returns the bytes of a link's CID without the 0x00 before them: any
// well-formed CID, so a caller that wants the one form hands them to
// CIDFromBytes. They alias the block.
func (n Node) Link() []byte {
	n.must(KindLink)
	_, start := headOf(n.raw[2:]) // the tag's head is d8 2a
	return n.raw[2+start+1 : len(n.raw) : len(n.raw)]
}

// Len returns the number of items of a list or of entries of a map.
func (n Node) Len() int {
	if k := n.Kind(); k != KindList && k != KindMap {
		n.must(KindList)
	}
	arg, _ := headOf(n.raw)
	return int(arg)
}

// Items returns the items of a list with their indexes, in order.
func (n Node) Items() iter.Seq2[int, Node] {
	n.must(KindList)
	return func(yield func(int, Node) bool) {
		count, pos := headOf(n.raw)
		for i := range int(count) {
			end := pos + itemLen(n.raw[pos:])
			if !yield(i, n.cut(pos, end)) {
				return
			}
			pos = end
		}
	}
}

// Entries returns the entries of a map in canonical order: by length of the
// key, then by its bytes.
func (n Node) Entries() iter.Seq2[string, Node] {
	n.must(KindMap)
	return func(yield func(string, Node) bool) {
		count, pos := headOf(n.raw)
		for range int(count) {
			size, start := headOf(n.raw[pos:])
			key := pos + start
			value := key + int(size)
			end := value + itemLen(n.raw[value:])
			if !yield(n.text[key:value], n.cut(value, end)) {
				return
			}
			pos = end
		}
	}
}

// Lookup returns the value of key in a map, and whether the map has it.
func (n Node) Lookup(key string) (Node, bool) {
	n.must(KindMap)
	count, pos := headOf(n.raw)
	for range int(count) {
		size, start := headOf(n.raw[pos:])
		at := pos + start
		value := at + int(size)
		if int(size) > len(key) {
			break // keys ascend by length
		}
		end := value + itemLen(n.raw[value:])
		if n.text[at:value] == key {
			return n.cut(value, end), true
		}
		pos = end
	}
	return Node{}, false
}

// Raw returns the item's own bytes, themselves a canonical block. They alias
// the block.
func (n Node) Raw() []byte {
	return n.raw[:len(n.raw):len(n.raw)]
}

// Value returns the item as a tree that Encode turns into the same bytes; it
// shares nothing with the block. It panics on the zero Node.
func (n Node) Value() Value {
	switch n.Kind() {
	case KindInt:
		return Int(n.Int())
	case KindBytes:
		return append(Bytes{}, n.Bytes()...)
	case KindText:
		return Text(n.Text())
	case KindBool:
		return Bool(n.Bool())
	case KindLink:
		return Link(bytes.Clone(n.Link()))
	case KindList:
		list := make(List, 0, n.Len())
		for _, item := range n.Items() {
			list = append(list, item.Value())
		}
		return list
	case KindMap:
		m := make(Map, 0, n.Len())
		for key, value := range n.Entries() {
			m = append(m, Entry{Key: key, Value: value.Value()})
		}
		return m
	default:
		panic("dagcbor: Value of the zero Node")
	}
}

func (n Node) cut(start, end int) Node {
	return Node{raw: n.raw[start:end], text: n.text[start:end]}
}

func (n Node) must(k Kind) {
	if n.Kind() != k {
		mismatch(k, n.Kind())
	}
}

func mismatch(want, have Kind) {
	panic(fmt.Sprintf("dagcbor: item read as %v is %v", want, have))
}

// headOf reads the head of a checked item: its argument and its length.
func headOf(b []byte) (arg uint64, size int) {
	info := b[0] & 0x1f
	if info < 24 {
		return uint64(info), 1
	}
	size = 1 + 1<<(info-24)
	for _, c := range b[1:size] {
		arg = arg<<8 | uint64(c)
	}
	return arg, size
}

// itemLen returns how many bytes the first item of b takes; b begins with a
// checked item.
func itemLen(b []byte) int {
	pos := 0
	for todo := 1; todo > 0; todo-- {
		arg, size := headOf(b[pos:])
		switch b[pos] >> 5 {
		case majorBytes, majorText:
			size += int(arg)
		case majorList:
			todo += int(arg)
		case majorMap:
			todo += 2 * int(arg)
		case majorTag:
			todo++
		}
		pos += size
	}
	return pos
}
