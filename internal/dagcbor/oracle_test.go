package dagcbor

import (
	"bytes"
	"fmt"
	"math/big"
	"reflect"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/ipfs/go-cid"
)

// oracle decides the profile a second time with other people's code: decode
// with fxamacker/cbor, re-encode, compare, and look through the decoded tree
// for what the profile forbids; go-cid judges links. It is slow, and none of
// it is ours but the list of what is forbidden.
type oracle struct {
	dec cbor.DecMode
	enc cbor.EncMode
}

func newOracle(t testing.TB) oracle {
	t.Helper()
	dec, err := cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		IndefLength:      cbor.IndefLengthForbidden,
		MapKeyByteString: cbor.MapKeyByteStringForbidden,
		BignumTag:        cbor.BignumTagForbidden,
		MaxNestedLevels:  4096,
		IntDec:           cbor.IntDecConvertSignedOrBigInt,
		UTF8:             cbor.UTF8RejectInvalid,
	}.DecMode()
	if err != nil {
		t.Fatal(err)
	}
	enc, err := cbor.EncOptions{Sort: cbor.SortLengthFirst, ShortestFloat: cbor.ShortestFloatNone}.EncMode()
	if err != nil {
		t.Fatal(err)
	}
	return oracle{dec, enc}
}

// accepts returns nil where b is in the profile.
func (o oracle) accepts(b []byte) error {
	var v any
	if err := o.dec.Unmarshal(b, &v); err != nil {
		return err
	}
	again, err := o.enc.Marshal(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, b) {
		return fmt.Errorf("re-encodes as %x", again)
	}
	return inProfile(v, 0)
}

func inProfile(v any, depth int) error {
	switch v := v.(type) {
	case int64:
		if v > 1<<53-1 || v < -(1<<53-1) {
			return fmt.Errorf("integer %d", v)
		}
	case big.Int, *big.Int:
		return fmt.Errorf("integer %v", v)
	case []byte, string, bool:
	case cbor.Tag:
		content, ok := v.Content.([]byte)
		if v.Number != 42 || !ok || len(content) == 0 || content[0] != 0 {
			return fmt.Errorf("tag %d over %T", v.Number, v.Content)
		}
		_, err := cid.Cast(content[1:])
		return err
	case []any:
		if depth == 16 {
			return fmt.Errorf("too deep")
		}
		for _, item := range v {
			if err := inProfile(item, depth+1); err != nil {
				return err
			}
		}
	case map[any]any:
		if depth == 16 {
			return fmt.Errorf("too deep")
		}
		for key, item := range v {
			if _, ok := key.(string); !ok {
				return fmt.Errorf("key %T", key)
			}
			if err := inProfile(item, depth+1); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("%T", v)
	}
	return nil
}

// toValue turns what the oracle decodes into a Value, where there is one.
func toValue(v any) (Value, error) {
	switch v := v.(type) {
	case int64:
		return Int(v), nil
	case []byte:
		return Bytes(v), nil
	case string:
		return Text(v), nil
	case bool:
		return Bool(v), nil
	case cbor.Tag:
		content, ok := v.Content.([]byte)
		if v.Number != 42 || !ok || len(content) == 0 {
			return nil, fmt.Errorf("no value for tag %d over %T", v.Number, v.Content)
		}
		return Link(content[1:]), nil
	case []any:
		list := make(List, len(v))
		for i := range v {
			var err error
			if list[i], err = toValue(v[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[any]any:
		var m Map
		for key, item := range v {
			text, ok := key.(string)
			if !ok {
				return nil, fmt.Errorf("no key for %T", key)
			}
			value, err := toValue(item)
			if err != nil {
				return nil, err
			}
			m = append(m, Entry{text, value})
		}
		return m, nil
	default:
		return nil, fmt.Errorf("no value for %T", v)
	}
}

// fromValue turns a Value into what fxamacker/cbor encodes.
func fromValue(v Value) any {
	switch v := v.(type) {
	case Int:
		return int64(v)
	case Bytes:
		return append([]byte{}, v...)
	case Text:
		return string(v)
	case Bool:
		return bool(v)
	case Link:
		return cbor.Tag{Number: 42, Content: append([]byte{0}, v...)}
	case List:
		list := make([]any, len(v))
		for i := range v {
			list[i] = fromValue(v[i])
		}
		return list
	case Map:
		m := make(map[string]any, len(v))
		for _, e := range v {
			m[e.Key] = fromValue(e.Value)
		}
		return m
	default:
		panic(reflect.TypeOf(v))
	}
}

// judge holds Check, Parse, Value and Encode against the oracle for one input.
func (o oracle) judge(t *testing.T, b []byte) {
	t.Helper()
	kept := bytes.Clone(b)
	err, theirs := Check(b), o.accepts(b)
	if (err == nil) != (theirs == nil) {
		t.Fatalf("%x: Check says %v, the oracle %v", b, err, theirs)
	}
	node, perr := Parse(b)
	if fmt.Sprint(perr) != fmt.Sprint(err) {
		t.Fatalf("%x: Parse says %v, Check %v", b, perr, err)
	}
	if err == nil {
		v := node.Value()
		again, err := Encode(v)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x: re-encodes as %x, %v", b, again, err)
		}
		if again, err = o.enc.Marshal(fromValue(v)); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x: fxamacker/cbor encodes the value as %x, %v", b, again, err)
		}
		sameTree(t, node, v)
	}
	if !bytes.Equal(kept, b) {
		t.Fatalf("%x: was changed to %x", kept, b)
	}
}

// sameTree walks a node through every accessor beside its Value.
func sameTree(t *testing.T, n Node, v Value) {
	t.Helper()
	raw, err := Encode(v)
	if err != nil || !bytes.Equal(n.Raw(), raw) {
		t.Fatalf("Raw is %x, the value encodes as %x, %v", n.Raw(), raw, err)
	}
	switch v := v.(type) {
	case List:
		if n.Kind() != KindList || n.Len() != len(v) {
			t.Fatalf("%v of %d items, want a list of %d", n.Kind(), n.Len(), len(v))
		}
		count := 0
		for i, item := range n.Items() {
			sameTree(t, item, v[i])
			count++
		}
		if count != len(v) {
			t.Fatalf("%d items of %d", count, len(v))
		}
	case Map:
		if n.Kind() != KindMap || n.Len() != len(v) {
			t.Fatalf("%v of %d items, want a map of %d", n.Kind(), n.Len(), len(v))
		}
		i := 0
		for key, item := range n.Entries() {
			if key != v[i].Key {
				t.Fatalf("key %q, want %q", key, v[i].Key)
			}
			sameTree(t, item, v[i].Value)
			found, ok := n.Lookup(key)
			if !ok || !bytes.Equal(found.Raw(), item.Raw()) {
				t.Fatalf("Lookup(%q) finds %x, %v", key, found.Raw(), ok)
			}
			for _, other := range []string{key + "\x00", key[:len(key)/2] + "\x00", ""} {
				found, ok := n.Lookup(other)
				want := false
				for _, e := range v {
					want = want || e.Key == other
				}
				if ok != want || !ok && found.Kind() != 0 {
					t.Fatalf("Lookup(%q) finds %v", other, ok)
				}
			}
			i++
		}
		if i != len(v) {
			t.Fatalf("%d entries of %d", i, len(v))
		}
	}
}
