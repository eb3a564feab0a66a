package dagcbor

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/report"
)

func TestEncode(t *testing.T) {
	name := Sum([]byte{0xa0})
	for _, tc := range []struct {
		v   Value
		hex string
	}{
		{Int(0), "00"}, {Int(23), "17"}, {Int(24), "1818"}, {Int(255), "18ff"}, {Int(256), "190100"},
		{Int(65535), "19ffff"}, {Int(65536), "1a00010000"}, {Int(1<<32 - 1), "1affffffff"},
		{Int(1 << 32), "1b0000000100000000"}, {Int(MaxInt), "1b001fffffffffffff"},
		{Int(-1), "20"}, {Int(-24), "37"}, {Int(-25), "3818"}, {Int(-MaxInt), "3b001ffffffffffffe"},
		{Bytes(nil), "40"}, {Bytes{0, 1}, "420001"},
		{Text(""), "60"}, {Text("水"), "63e6b0b4"},
		{Bool(false), "f4"}, {Bool(true), "f5"},
		{List(nil), "80"}, {List{Int(1), List{}}, "820180"},
		{Map(nil), "a0"},
		{Map{{"b", Int(1)}, {"aa", Int(2)}, {"", Int(3)}, {"a", Int(4)}}, "a46003616104616201626161" + "02"},
		{name.Link(), "d82a58250001711e20" + hexOf(name[4:])},
		{Link(append([]byte{0x12, 0x20}, make([]byte, 32)...)), "d82a5823001220" + zeros(32)},
	} {
		b, err := Encode(tc.v)
		if err != nil || hexOf(b) != tc.hex {
			t.Errorf("%#v encodes as %x, %v; want %s", tc.v, b, err, tc.hex)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	deep := func(levels int, wrap func(Value) Value) Value {
		var v Value = Int(1)
		for range levels {
			v = wrap(v)
		}
		return v
	}
	inList := func(v Value) Value { return List{v} }
	inMap := func(v Value) Value { return Map{{"k", v}} }
	for _, tc := range []struct {
		name  string
		v     Value
		code  report.Code
		where string
	}{
		{"2^53", Int(MaxInt + 1), report.CodeCBORIntRange, ""},
		{"-2^53", List{Int(0), Int(-MaxInt - 1)}, report.CodeCBORIntRange, "/1"},
		{"text", Map{{"a", List{Text("\xff")}}}, report.CodeCBORUTF8, "/a/0"},
		{"key", Map{{"\xff", Int(1)}}, report.CodeCBORUTF8, `/"\xff"`},
		{"key twice", Map{{"a", Int(1)}, {"b", Int(2)}, {"a", Int(1)}}, report.CodeCBORKeyDuplicate, "/a"},
		{"nothing", nil, report.CodeCBORNull, ""},
		{"nothing in a list", List{Int(1), nil}, report.CodeCBORNull, "/1"},
		{"nothing in a map", Map{{Key: "a"}}, report.CodeCBORNull, "/a"},
		{"no link", Link(nil), report.CodeCBORLink, ""},
		{"a cut link", Link(Sum(nil).Link()[:35]), report.CodeCBORLink, ""},
		{"a long link", append(Sum(nil).Link(), 0), report.CodeCBORLink, ""},
		{"17 lists", deep(17, inList), report.CodeCBORDepth, strings.Repeat("/0", 16)},
		{"17 maps", deep(17, inMap), report.CodeCBORDepth, strings.Repeat("/k", 16)},
	} {
		b, err := Encode(tc.v)
		e, ok := err.(*report.Error)
		if !ok || b != nil || e.Code != tc.code || e.Where != tc.where {
			t.Errorf("%s: %x, %v; want %s at %q", tc.name, b, err, tc.code, tc.where)
		}
	}
	if _, err := Encode(deep(16, inList)); err != nil {
		t.Errorf("16 lists: %v", err)
	}
	if _, err := Encode(deep(16, inMap)); err != nil {
		t.Errorf("16 maps: %v", err)
	}
}

// TestEncodeLeavesItsInput: sorting is done on a copy.
func TestEncodeLeavesItsInput(t *testing.T) {
	m := Map{{"bb", Int(1)}, {"a", Int(2)}}
	if _, err := Encode(m); err != nil {
		t.Fatal(err)
	}
	if m[0].Key != "bb" || m[1].Key != "a" {
		t.Errorf("the map was reordered: %v", m)
	}
}

// drawValue draws an encodable value, at most levels deep, its maps sorted.
func drawValue(t *rapid.T, levels int) Value {
	kinds := 5
	if levels > 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return Int(rapid.Int64Range(-MaxInt, MaxInt).Draw(t, "int"))
	case 1:
		return Bytes(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes"))
	case 2:
		return Text(rapid.String().Draw(t, "text"))
	case 3:
		return Bool(rapid.Bool().Draw(t, "bool"))
	case 4:
		return Sum(rapid.SliceOf(rapid.Byte()).Draw(t, "block")).Link()
	case 5:
		list := make(List, rapid.IntRange(0, 6).Draw(t, "items"))
		for i := range list {
			list[i] = drawValue(t, levels-1)
		}
		return list
	default:
		keys := rapid.SliceOfNDistinct(rapid.String(), 0, 6, rapid.ID[string]).Draw(t, "keys")
		m := make(Map, len(keys))
		for i, key := range keys {
			m[i] = Entry{key, drawValue(t, levels-1)}
		}
		slices.SortFunc(m, compareEntries)
		return m
	}
}

// shuffled returns v with the entries of every map in another order.
func shuffled(t *rapid.T, v Value) Value {
	switch v := v.(type) {
	case List:
		out := make(List, len(v))
		for i := range v {
			out[i] = shuffled(t, v[i])
		}
		return out
	case Map:
		out := make(Map, len(v))
		for i := range v {
			out[i] = Entry{v[i].Key, shuffled(t, v[i].Value)}
		}
		if len(out) == 0 {
			return out
		}
		return Map(rapid.Permutation(out).Draw(t, "order"))
	default:
		return v
	}
}

// TestRoundTrip: a value, its bytes, the value again; in any order of entries;
// and fxamacker/cbor writes and reads the same.
func TestRoundTrip(t *testing.T) {
	o := newOracle(t)
	rapid.Check(t, func(rt *rapid.T) {
		v := drawValue(rt, 4)
		b, err := Encode(v)
		if err != nil {
			rt.Fatal(err)
		}
		o.judge(t, b)
		node, err := Parse(b)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(v, node.Value()); diff != "" {
			rt.Fatal(diff)
		}
		if again, err := Encode(shuffled(rt, v)); err != nil || !bytes.Equal(again, b) {
			rt.Fatalf("in another order: %x, %v", again, err)
		}
		var generic any
		if err := o.dec.Unmarshal(b, &generic); err != nil {
			rt.Fatal(err)
		}
		theirs, err := toValue(generic)
		if err != nil {
			rt.Fatal(err)
		}
		if again, err := Encode(theirs); err != nil || !bytes.Equal(again, b) {
			rt.Fatalf("what fxamacker/cbor read encodes as %x, %v", again, err)
		}
	})
}
