package dagcbor

import (
	"bytes"
	"slices"
	"testing"

	"github.com/obstat/obstat/report"
)

func TestNodeReadsEachKind(t *testing.T) {
	name := Sum([]byte("a block"))
	b, err := Encode(Map{
		{"int", Int(-70000)},
		{"bytes", Bytes("abc")},
		{"text", Text("水")},
		{"yes", Bool(true)},
		{"no", Bool(false)},
		{"link", name.Link()},
		{"list", List{Int(1), Text("two"), List{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	n, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	get := func(key string, k Kind) Node {
		t.Helper()
		v, ok := n.Lookup(key)
		if !ok || v.Kind() != k {
			t.Fatalf("%s: %v, %v; want %v", key, ok, v.Kind(), k)
		}
		return v
	}
	if got := get("int", KindInt).Int(); got != -70000 {
		t.Errorf("int is %d", got)
	}
	if got := get("bytes", KindBytes).Bytes(); string(got) != "abc" || cap(got) != 3 {
		t.Errorf("bytes is %q, cap %d", got, cap(got))
	}
	if got := get("text", KindText).Text(); got != "水" {
		t.Errorf("text is %q", got)
	}
	if !get("yes", KindBool).Bool() || get("no", KindBool).Bool() {
		t.Error("booleans are wrong")
	}
	if got, err := CIDFromBytes(get("link", KindLink).Link()); err != nil || got != name {
		t.Errorf("link is %v, %v", got, err)
	}
	if got := get("list", KindList); got.Len() != 3 || !bytes.Equal(got.Raw(), unhex(t, "83 01 63 74776f 80")) {
		t.Errorf("list is %x of %d", got.Raw(), got.Len())
	}
	var keys []string
	for key := range n.Entries() {
		keys = append(keys, key)
	}
	if want := []string{"no", "int", "yes", "link", "list", "text", "bytes"}; !slices.Equal(keys, want) {
		t.Errorf("keys are %q, want %q", keys, want)
	}
	for key := range n.Entries() {
		if key == "int" {
			break // an early end is no fault
		}
	}
	for i := range get("list", KindList).Items() {
		if i == 1 {
			break
		}
	}
}

// TestNodeRefusesAnotherKind: asking an item for what it is not is a fault of
// the program, which must not pass as a value.
func TestNodeRefusesAnotherKind(t *testing.T) {
	accessors := map[Kind]func(Node){
		KindInt:   func(n Node) { n.Int() },
		KindBytes: func(n Node) { n.Bytes() },
		KindText:  func(n Node) { n.Text() },
		KindBool:  func(n Node) { n.Bool() },
		KindLink:  func(n Node) { n.Link() },
		KindList:  func(n Node) { n.Items() },
		KindMap:   func(n Node) { n.Entries() },
	}
	items := map[Kind]Value{
		KindInt: Int(1), KindBytes: Bytes{1}, KindText: Text("1"), KindBool: Bool(true),
		KindLink: Sum(nil).Link(), KindList: List{Int(1)}, KindMap: Map{{"k", Int(1)}},
	}
	panics := func(f func()) (did bool) {
		defer func() { did = recover() != nil }()
		f()
		return false
	}
	for have, v := range items {
		b, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		n, err := Parse(b)
		if err != nil || n.Kind() != have {
			t.Fatalf("%v parses as %v, %v", have, n.Kind(), err)
		}
		for want, read := range accessors {
			if got := panics(func() { read(n) }); got != (have != want) {
				t.Errorf("reading %v as %v: panics %v", have, want, got)
			}
		}
		if got := panics(func() { n.Len() }); got != (have != KindList && have != KindMap) {
			t.Errorf("Len of %v: panics %v", have, got)
		}
		if got := panics(func() { n.Lookup("k") }); got != (have != KindMap) {
			t.Errorf("Lookup in %v: panics %v", have, got)
		}
	}
	var zero Node
	if zero.Kind() != 0 || zero.Kind().String() != "nothing" || len(zero.Raw()) != 0 || !panics(func() { zero.Value() }) {
		t.Error("the zero Node is something")
	}
}

// TestTextOutlivesTheBlock: texts and keys are not the caller's buffer.
func TestTextOutlivesTheBlock(t *testing.T) {
	b := unhex(t, "a1 63 6b6579 65 76616c7565")
	n, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range n.Entries() {
		text := value.Text()
		clear(b)
		if key != "key" || text != "value" {
			t.Errorf("key %q, text %q after the block was overwritten", key, text)
		}
		break
	}
}

func TestValueOutlivesTheBlock(t *testing.T) {
	b, err := Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	n, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(b)
	v := n.Value()
	clear(b)
	if again, err := Encode(v); err != nil || !bytes.Equal(again, before) {
		t.Errorf("the value changed with the block: %x, %v", again, err)
	}
}

func TestParseRefuses(t *testing.T) {
	n, err := Parse([]byte{0x18, 0x01})
	if report.CodeOf(err) != report.CodeCBORNotShortest || n.Kind() != 0 {
		t.Errorf("got %v, %v", n.Kind(), err)
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	b, err := Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	n, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	var walk func(n Node)
	walk = func(n Node) {
		switch n.Kind() {
		case KindList:
			for _, item := range n.Items() {
				walk(item)
			}
		case KindMap:
			for key, item := range n.Entries() {
				total += len(key)
				walk(item)
			}
			if _, ok := n.Lookup("request"); ok {
				total++
			}
		case KindText:
			total += len(n.Text())
		case KindBytes:
			total += len(n.Bytes())
		case KindLink:
			total += len(n.Link())
		}
	}
	if allocs := testing.AllocsPerRun(10, func() { walk(n) }); allocs != 0 || total == 0 {
		t.Errorf("walking a block costs %v allocations", allocs)
	}
	if allocs := testing.AllocsPerRun(10, func() { _, _ = Parse(b) }); allocs > 1 {
		t.Errorf("Parse costs %v allocations, want the one copy for texts", allocs)
	}
}
