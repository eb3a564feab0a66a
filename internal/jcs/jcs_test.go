package jcs

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/gowebpki/jcs"
	"github.com/obstat/obstat/report"
	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct{ in, want string }{
		{" { } ", "{}"},
		{"[ ]\r\n\t", "[]"},
		{`{"b":1,"a":[true,false,null]}`, `{"a":[true,false,null],"b":1}`},
		{`"\u0041\/\u00e9"`, `"A/é"`},
		{`"\u001f\b\t\n\f\r\"\\"`, `"\u001f\b\t\n\f\r\"\\"`},
		{"\"\x7f\u2028\"", "\"\x7f\u2028\""},
		{`"\ud83d\ude00"`, `"😀"`},
		{`"\uDBFF\uDFFF\uffff"`, "\"\U0010ffff\uffff\""},
		// UTF-16 order: a supplementary character before U+E000 and above.
		{"{\"\uffff\":1,\"\U00010000\":2,\"\ue000\":3,\"\ud7ff\":4}", "{\"\ud7ff\":4,\"\U00010000\":2,\"\ue000\":3,\"\uffff\":1}"},
		{`{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
		{"0", "0"}, {"-1", "-1"}, {"9007199254740992", "9007199254740992"},
		{"1e+21", "1e+21"}, {"100000000000000000000", "100000000000000000000"},
		{"1e-7", "1e-7"}, {"0.000001", "0.000001"}, {"5e-324", "5e-324"}, {"-1.7976931348623157e+308", "-1.7976931348623157e+308"},
		{nest(MaxDepth), nest(MaxDepth)},
	}
	for _, tt := range tests {
		got, err := Canonical([]byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("%.60q: got %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		in    string
		code  report.Code
		where string
	}{
		{"", report.CodeJSONSyntax, "byte 0"},
		{"  ", report.CodeJSONSyntax, "byte 2"},
		{"\x00", report.CodeJSONSyntax, "byte 0"},
		{"\ufeff{}", report.CodeJSONSyntax, "byte 0"},
		{"\v1", report.CodeJSONSyntax, "byte 0"},
		{"\u00a01", report.CodeJSONSyntax, "byte 0"},
		{"nul", report.CodeJSONSyntax, "byte 0"},
		{"nulll", report.CodeJSONTrailing, "byte 4"},
		{"True", report.CodeJSONSyntax, "byte 0"},
		{"NaN", report.CodeJSONSyntax, "byte 0"},
		{"-Infinity", report.CodeJSONSyntax, "byte 1"},
		{"{}{}", report.CodeJSONTrailing, "byte 2"},
		{"1 2", report.CodeJSONTrailing, "byte 2"},
		{"[1]\x00", report.CodeJSONTrailing, "byte 3"},
		{"[1,]", report.CodeJSONSyntax, "byte 3"},
		{"[,1]", report.CodeJSONSyntax, "byte 1"},
		{"[1 2]", report.CodeJSONSyntax, "byte 3"},
		{"[1", report.CodeJSONSyntax, "byte 2"},
		{`{"a":1,}`, report.CodeJSONSyntax, "byte 7"},
		{`{"a" 1}`, report.CodeJSONSyntax, "byte 5"},
		{`{a:1}`, report.CodeJSONSyntax, "byte 1"},
		{`{"a":1`, report.CodeJSONSyntax, "byte 6"},
		{`{"a":}`, report.CodeJSONSyntax, "byte 5"},
		{`{1:1}`, report.CodeJSONSyntax, "byte 1"},
		{"[1]//x", report.CodeJSONTrailing, "byte 3"},
		{`'a'`, report.CodeJSONSyntax, "byte 0"},
		{`"a`, report.CodeJSONSyntax, "byte 2"},
		{"\"a\nb\"", report.CodeJSONSyntax, "byte 2"},
		{"\"\\n\x1f\"", report.CodeJSONSyntax, "byte 3"},
		{`"\x41"`, report.CodeJSONSyntax, "byte 2"},
		{`"\u00g0"`, report.CodeJSONSyntax, "byte 5"},
		{`"\U0041"`, report.CodeJSONSyntax, "byte 2"},
		{`"\`, report.CodeJSONSyntax, "byte 2"},
		{"\"\\\x00\"", report.CodeJSONSyntax, "byte 2"},
		{`"\u12`, report.CodeJSONSyntax, "byte 5"},
		{`"\n`, report.CodeJSONSyntax, "byte 3"},
		{"\"\xff\"", report.CodeJSONUTF8, "byte 1"},
		{"\"é\xc3\"", report.CodeJSONUTF8, "byte 3"},
		{"\"\\n\xc0\x80\"", report.CodeJSONUTF8, "byte 3"},
		{"\"\xed\xa0\x80\"", report.CodeJSONUTF8, "byte 1"},
		{"\"\xf4\x90\x80\x80\"", report.CodeJSONUTF8, "byte 1"},
		{"\"\xc3\\u00e9\"", report.CodeJSONUTF8, "byte 1"},
		{"{\"\xff\":1}", report.CodeJSONUTF8, "byte 2"},
		{`"\ud800"`, report.CodeJSONSurrogate, "byte 1"},
		{`"\udc00"`, report.CodeJSONSurrogate, "byte 1"},
		{`"\ud800\ud800"`, report.CodeJSONSurrogate, "byte 1"},
		{`"\ud800\n"`, report.CodeJSONSurrogate, "byte 1"},
		{`"\ud800x"`, report.CodeJSONSurrogate, "byte 1"},
		{`"\ude00\ud83d"`, report.CodeJSONSurrogate, "byte 1"},
		{`"\ud83d\ude"`, report.CodeJSONSyntax, "byte 11"},
		{"-0", report.CodeJSONNumber, "byte 0"},
		{"[-0.0]", report.CodeJSONNumber, "byte 1"},
		{"-0e5", report.CodeJSONNumber, "byte 0"},
		{"1.0", report.CodeJSONNumber, "byte 0"},
		{"1.50", report.CodeJSONNumber, "byte 0"},
		{"1e2", report.CodeJSONNumber, "byte 0"},
		{"1E21", report.CodeJSONNumber, "byte 0"},
		{"1e21", report.CodeJSONNumber, "byte 0"},
		{"1e+021", report.CodeJSONNumber, "byte 0"},
		{"1000000000000000000000", report.CodeJSONNumber, "byte 0"},
		{"0.0000001", report.CodeJSONNumber, "byte 0"},
		{"1e-07", report.CodeJSONNumber, "byte 0"},
		{"9007199254740993", report.CodeJSONNumber, "byte 0"},
		{"333333333.33333329", report.CodeJSONNumber, "byte 0"},
		{"1e400", report.CodeJSONNumber, "byte 0"},
		{"1e-400", report.CodeJSONNumber, "byte 0"},
		{"1" + strings.Repeat("0", 100000), report.CodeJSONNumber, "byte 0"},
		{"01", report.CodeJSONSyntax, "byte 1"},
		{"-01", report.CodeJSONSyntax, "byte 2"},
		{"00", report.CodeJSONSyntax, "byte 1"},
		{"1.", report.CodeJSONSyntax, "byte 2"},
		{".1", report.CodeJSONSyntax, "byte 0"},
		{"+1", report.CodeJSONSyntax, "byte 0"},
		{"-", report.CodeJSONSyntax, "byte 1"},
		{"1e", report.CodeJSONSyntax, "byte 2"},
		{"1e+-1", report.CodeJSONSyntax, "byte 3"},
		{"0x10", report.CodeJSONTrailing, "byte 1"},
		{"1_0", report.CodeJSONTrailing, "byte 1"},
		{`{"a":1,"a":1}`, report.CodeJSONNameTwice, "the object at byte 0"},
		{`[{"a":1,"b":{},"\u0061":2}]`, report.CodeJSONNameTwice, "the object at byte 1"},
		{`{"😀":1,"\ud83d\ude00":2}`, report.CodeJSONNameTwice, "the object at byte 0"},
		{`{"x":{"":1,"":2}}`, report.CodeJSONNameTwice, "the object at byte 5"},
		{strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), report.CodeJSONDepth, "byte 64"},
		{strings.Repeat(`{"":`, 1<<16), report.CodeJSONDepth, "byte 256"},
	}
	for _, tt := range tests {
		out, err := Canonical([]byte(tt.in))
		var e *report.Error
		if !errors.As(err, &e) {
			t.Errorf("%.60q: got %q, %v; want %s", tt.in, out, err, tt.code)
			continue
		}
		if e.Code != tt.code || e.Where != tt.where || e.Expected == "" || e.Actual == "" {
			t.Errorf("%.60q: got %v; want %s at %s", tt.in, e, tt.code, tt.where)
		}
		if len(e.Error()) > 300 {
			t.Errorf("%.60q: the error carries its input along", tt.in)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	deep := Value(Null{})
	for range MaxDepth + 1 {
		deep = Array{deep}
	}
	tests := []struct {
		v    Value
		code report.Code
	}{
		{nil, report.CodeJSONSyntax},
		{Array{nil}, report.CodeJSONSyntax},
		{Object{{"a", nil}}, report.CodeJSONSyntax},
		{Number(math.NaN()), report.CodeJSONNumber},
		{Number(math.Inf(-1)), report.CodeJSONNumber},
		{Number(math.Copysign(0, -1)), report.CodeJSONNumber},
		{String("\xff"), report.CodeJSONUTF8},
		{Object{{"\xed\xa0\x80", Null{}}}, report.CodeJSONUTF8},
		{Object{{"b", Null{}}, {"a", Null{}}, {"b", Null{}}}, report.CodeJSONNameTwice},
		{Object{{"b", Null{}}, {"b", Null{}}}, report.CodeJSONNameTwice},
		{deep, report.CodeJSONDepth},
	}
	for _, tt := range tests {
		if out, err := Append(nil, tt.v); report.CodeOf(err) != tt.code || err == nil {
			t.Errorf("%v: got %q, %v; want %s", tt.v, out, err, tt.code)
		}
	}
	if _, err := Append(nil, deep.(Array)[0]); err != nil {
		t.Errorf("depth %d is refused: %v", MaxDepth, err)
	}
}

func TestAppendLeavesItsValueAlone(t *testing.T) {
	o := Object{{"b", Null{}}, {"a", Null{}}}
	out, err := Append([]byte("x"), o)
	if err != nil || string(out) != `x{"a":null,"b":null}` || o[0].Name != "b" {
		t.Errorf("got %q, %v, and %v", out, err, o)
	}
}

func TestGet(t *testing.T) {
	o := Object{{"a", Bool(true)}}
	if v, ok := o.Get("a"); !ok || v != Bool(true) {
		t.Errorf("got %v, %v", v, ok)
	}
	if v, ok := o.Get("b"); ok || v != nil {
		t.Errorf("got %v, %v", v, ok)
	}
}

// TestUTF16Order holds the order of names against the code units themselves.
func TestUTF16Order(t *testing.T) {
	some := []rune{0, 'a', 'b', 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xf000, 0xffff, 0x10000, 0x1f600, 0x10ffff}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.OneOf(rapid.SampledFrom(some), rapid.Rune()), 0, 4, -1)
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if rapid.Bool().Draw(t, "prefix") {
			b = a + b
		}
		want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		if got := cmp.Compare(compareUTF16(a, b), 0); got != want {
			t.Fatalf("%q and %q: got %d, want %d", a, b, got, want)
		}
	})
}

// drawValue draws any value that Append takes.
func drawValue(depth int) *rapid.Generator[Value] {
	name := rapid.StringN(0, 3, 8)
	return rapid.Custom(func(t *rapid.T) Value {
		top := 5
		if depth == 0 {
			top = 3
		}
		switch rapid.IntRange(0, top).Draw(t, "kind") {
		case 0:
			return Null{}
		case 1:
			return Bool(rapid.Bool().Draw(t, "bool"))
		case 2:
			f := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
			if rapid.Bool().Draw(t, "small") {
				f = float64(rapid.IntRange(-1000, 1000).Draw(t, "int")) / 8
			}
			if math.IsNaN(f) || math.IsInf(f, 0) || f == 0 {
				f = 0
			}
			return Number(f)
		case 3:
			return String(rapid.String().Draw(t, "text"))
		case 4:
			return Array(rapid.SliceOfN(drawValue(depth-1), 0, 4).Draw(t, "array"))
		}
		var o Object
		for _, n := range rapid.SliceOfNDistinct(name, 0, 4, rapid.ID).Draw(t, "names") {
			o = append(o, Member{n, drawValue(depth-1).Draw(t, "value")})
		}
		return o
	})
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(3).Draw(t, "value")
		out, err := Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		judge(t, out)
		back, err := Parse(out)
		if err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		again, err := Append(nil, back)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q became %q (%v)", out, again, err)
		}
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

// judge holds what we call canonical against gowebpki/jcs.
func judge(t fataler, out []byte) {
	theirs, err := jcs.Transform(out)
	if err != nil || !bytes.Equal(theirs, out) {
		t.Fatalf("ours %q, theirs %q (%v)", out, theirs, err)
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		"", "null", `{"b":[1,-2.5,1e+21],"a":"\ud83d\ude00\u0000é"}`, `{"a":1,"\u0061":2}`, "[-0]", "\"\xff\"",
		"[[[[[]]]]]", "{\"\U0001f600\":1,\"\ufb33\":2}", " [ 0.1 , 5e-324 ] ",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		out, err := Canonical(doc)
		if err != nil {
			var e *report.Error
			if out != nil || !errors.As(err, &e) || report.Meaning[e.Code] == "" {
				t.Fatalf("%q: %q, %v", doc, out, err)
			}
			return
		}
		theirs, err := jcs.Transform(doc)
		if err != nil || !bytes.Equal(theirs, out) {
			t.Fatalf("%q: ours %q, theirs %q (%v)", doc, out, theirs, err)
		}
		again, err := Canonical(out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q: not idempotent: %q, then %q (%v)", doc, out, again, err)
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	doc := []byte(`{"verb":"exec","task_id":"build","attempt":1,"inputs":{"user":"ci","token":"a\nb"},` +
		`"intent":{"argv":["/usr/bin/git","commit","-m","é"],"env":{"PATH":"/usr/bin","HOME":"/tmp"}},"ctx":{"blind":"` + strings.Repeat("0", 64) + `"}}`)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Canonical(doc); err != nil {
			b.Fatal(err)
		}
	}
}
