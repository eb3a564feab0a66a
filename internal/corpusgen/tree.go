package corpusgen

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/dagcbor"
)

// tree returns a block as a value to be spoilt.
func tree(t testing.TB, block []byte) dagcbor.Value {
	t.Helper()
	node, err := dagcbor.Parse(block)
	if err != nil {
		t.Fatal(err)
	}
	return node.Value()
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
		i := slices.IndexFunc(at, func(e dagcbor.Entry) bool { return e.Key == step })
		switch {
		case i < 0 && (rest != "" || v == nil):
			t.Fatalf("no %q in the map", step)
		case i < 0:
			return append(slices.Clone(at), dagcbor.Entry{Key: step, Value: v})
		case rest == "" && v == nil:
			return slices.Delete(slices.Clone(at), i, i+1)
		}
		out := slices.Clone(at)
		out[i].Value = put(t, at[i].Value, rest, v)
		return out
	case dagcbor.List:
		i, err := strconv.Atoi(step)
		if err != nil || i >= len(at) {
			t.Fatalf("no item %q in the list", step)
		}
		out := slices.Clone(at)
		out[i] = put(t, at[i], rest, v)
		return out
	}
	t.Fatalf("%q leads into %T", path, root)
	return nil
}

// get returns the item at a path.
func get(t testing.TB, root dagcbor.Value, path string) dagcbor.Value {
	t.Helper()
	for step := range strings.SplitSeq(path, ".") {
		m, ok := root.(dagcbor.Map)
		if !ok {
			t.Fatalf("%q leads into %T", path, root)
		}
		i := slices.IndexFunc(m, func(e dagcbor.Entry) bool { return e.Key == step })
		if i < 0 {
			t.Fatalf("no %q on the way to %q", step, path)
		}
		root = m[i].Value
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
