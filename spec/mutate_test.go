package spec

import (
	"iter"
	"slices"

	"github.com/obstat/obstat/internal/dagcbor"
)

// junk stands in for every item once, and where it is of the right type it
// shows what a length, an alphabet or a range says.
func junk() []dagcbor.Value {
	cid := dagcbor.Sum([]byte{0xa0})
	return []dagcbor.Value{
		dagcbor.Int(-1), dagcbor.Int(0), dagcbor.Int(1), dagcbor.Int(2), dagcbor.Int(14), dagcbor.Int(dagcbor.MaxInt), dagcbor.Bool(true), dagcbor.Bool(false),
		dagcbor.Text(""), dagcbor.Text("x y"), dagcbor.Text("lower"), dagcbor.Text("OK-1"), dagcbor.Text("-"), dagcbor.Text("unknown"), dagcbor.Text("a+b"), dagcbor.Text("%41"), dagcbor.Text("%c3"), dagcbor.Text("%C3%A4"),
		dagcbor.Text(string(make([]byte, 1200))), dagcbor.Text("A" + string(slices.Repeat([]byte("B"), 64))), dagcbor.Text(slices.Repeat([]byte("n"), 129)),
		dagcbor.Bytes(nil), dagcbor.Bytes(make([]byte, 16)), dagcbor.Bytes(make([]byte, 32)), dagcbor.Bytes(make([]byte, 33)), dagcbor.Bytes(make([]byte, 34)), dagcbor.Bytes(make([]byte, 64)),
		cid.Link(), dagcbor.Link(append([]byte{0x12, 0x20}, make([]byte, 32)...)),
		dagcbor.List{}, dagcbor.List{dagcbor.Int(1)}, dagcbor.Map{}, dagcbor.Map{{Key: "unneeded", Value: dagcbor.Map{}}},
	}
}

// strangers are entries that a map may not have: one that none has, and some
// that others have.
func strangers() []dagcbor.Entry {
	cid, b := dagcbor.Sum([]byte{0xa0}).Link(), dagcbor.Bytes(make([]byte, 32))
	return []dagcbor.Entry{
		{Key: "zz", Value: dagcbor.Int(1)}, {Key: "code", Value: dagcbor.Text("OK-1")}, {Key: "from", Value: dagcbor.Int(1)},
		{Key: "settles", Value: cid}, {Key: "prev", Value: cid}, {Key: "approval", Value: cid}, {Key: "parent", Value: cid},
		{Key: "before", Value: b}, {Key: "after", Value: b}, {Key: "expires", Value: dagcbor.Int(dagcbor.MaxInt)},
		{Key: "recovery", Value: dagcbor.Map{{Key: "code", Value: dagcbor.Text("A")}, {Key: "hint", Value: dagcbor.Text("A")}, {Key: "class", Value: dagcbor.Text("stop")}}},
	}
}

// mutants yields v with one thing changed: an entry left out, added or renamed,
// an item left out or doubled, or one item replaced by junk.
func mutants(v dagcbor.Value) iter.Seq[dagcbor.Value] {
	return func(yield func(dagcbor.Value) bool) {
		for _, j := range junk() {
			if !yield(j) {
				return
			}
		}
		switch v := v.(type) {
		case dagcbor.Map:
			for _, e := range strangers() {
				if !yield(append(slices.Clone(v), e)) {
					return
				}
			}
			for i, e := range v {
				if !yield(slices.Delete(slices.Clone(v), i, i+1)) {
					return
				}
				renamed := slices.Clone(v)
				renamed[i].Key += "x"
				if !yield(renamed) {
					return
				}
				for m := range mutants(e.Value) {
					out := slices.Clone(v)
					out[i].Value = m
					if !yield(out) {
						return
					}
				}
			}
		case dagcbor.List:
			for i, item := range v {
				if !yield(slices.Delete(slices.Clone(v), i, i+1)) || !yield(slices.Insert(slices.Clone(v), i, item)) {
					return
				}
				for m := range mutants(item) {
					out := slices.Clone(v)
					out[i] = m
					if !yield(out) {
						return
					}
				}
			}
		}
	}
}
