package receipt_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

// example returns the example with the given name.
func example(t testing.TB, name string) *receipt.Decoded {
	t.Helper()
	for _, e := range receipttest.Examples() {
		if e.Name == name {
			return e.Decoded
		}
	}
	t.Fatalf("no example %q", name)
	return nil
}

// tree returns the payload of d as a tree to be spoilt.
func tree(t testing.TB, d *receipt.Decoded) dagcbor.Value {
	t.Helper()
	n, err := dagcbor.Parse(d.Payload())
	if err != nil {
		t.Fatal(err)
	}
	return n.Value()
}

// put returns root with the item at a path such as "call.seq" or
// "receipt.judgment.reads.0.key" replaced by v, added where the map lacks it,
// or removed where v is nil.
func put(t testing.TB, root dagcbor.Value, path string, v dagcbor.Value) dagcbor.Value {
	t.Helper()
	if path == "" {
		return v
	}
	step, rest, _ := strings.Cut(path, ".")
	switch at := root.(type) {
	case dagcbor.Map:
		out := make(dagcbor.Map, 0, len(at)+1)
		done := false
		for _, e := range at {
			if e.Key == step {
				done = true
				if e.Value = put(t, e.Value, rest, v); e.Value == nil {
					continue
				}
			}
			out = append(out, e)
		}
		if !done {
			if rest != "" || v == nil {
				t.Fatalf("no %q in the map", step)
			}
			out = append(out, dagcbor.Entry{Key: step, Value: v})
		}
		return out
	case dagcbor.List:
		i, err := strconv.Atoi(step)
		if err != nil || i >= len(at) {
			t.Fatalf("no item %q in the list", step)
		}
		out := append(dagcbor.List{}, at...)
		out[i] = put(t, out[i], rest, v)
		return out
	}
	t.Fatalf("%q leads into %T", path, root)
	return nil
}

// get returns the item at a path.
func get(t testing.TB, root dagcbor.Value, path string) dagcbor.Value {
	t.Helper()
	for step := range strings.SplitSeq(path, ".") {
		switch at := root.(type) {
		case dagcbor.Map:
			root = nil
			for _, e := range at {
				if e.Key == step {
					root = e.Value
				}
			}
		case dagcbor.List:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				t.Fatalf("no item %q", step)
			}
			root = at[i]
		}
		if root == nil {
			t.Fatalf("no %q on the way to %q", step, path)
		}
	}
	return root
}

func encode(t testing.TB, v dagcbor.Value) []byte {
	t.Helper()
	b, err := dagcbor.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
