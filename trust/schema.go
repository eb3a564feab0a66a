package trust

import (
	"fmt"
	"strconv"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
)

// schema reads the items of a checked block and keeps the first refusal; what
// it returns after one is the zero value.
type schema struct{ err error }

// field is one member of a map that the schema knows.
type field struct {
	node    dagcbor.Node
	present bool
}

func (d *schema) refuse(path, expected, actual string) {
	if d.err == nil {
		if path == "" {
			path = "/"
		}
		d.err = &report.Error{Code: report.CodeRegistrySchema, Where: path, Expected: expected, Actual: actual}
	}
}

func (d *schema) is(n dagcbor.Node, k dagcbor.Kind, path string) bool {
	if d.err != nil {
		return false
	}
	if n.Kind() != k {
		d.refuse(path, k.String(), n.Kind().String())
		return false
	}
	return true
}

// fields returns the members of a map, all of which must be among names.
func (d *schema) fields(n dagcbor.Node, path string, names ...string) map[string]field {
	out := make(map[string]field, len(names))
	if !d.is(n, dagcbor.KindMap, path) {
		return out
	}
	for key, value := range n.Entries() {
		known := false
		for _, name := range names {
			known = known || name == key
		}
		if !known {
			d.refuse(path+"/"+key, fmt.Sprintf("one of %q", names), strconv.Quote(key))
			return out
		}
		out[key] = field{value, true}
	}
	return out
}

// need returns a member that must be there and of that kind.
func (d *schema) need(f map[string]field, path, name string, k dagcbor.Kind) (dagcbor.Node, bool) {
	if d.err != nil {
		return dagcbor.Node{}, false
	}
	if !f[name].present {
		d.refuse(path+"/"+name, k.String(), "nothing")
		return dagcbor.Node{}, false
	}
	return f[name].node, d.is(f[name].node, k, path+"/"+name)
}

func (d *schema) text(f map[string]field, path, name string, valid func(string) bool, form string) string {
	n, ok := d.need(f, path, name, dagcbor.KindText)
	if !ok {
		return ""
	}
	if s := n.Text(); valid(s) {
		return s
	}
	d.refuse(path+"/"+name, form, strconv.Quote(n.Text()))
	return ""
}

func (d *schema) count(f map[string]field, path, name string) uint64 {
	n, ok := d.need(f, path, name, dagcbor.KindInt)
	if !ok {
		return 0
	}
	if n.Int() < 0 {
		d.refuse(path+"/"+name, "an integer from 0", strconv.FormatInt(n.Int(), 10))
		return 0
	}
	return uint64(n.Int())
}

func (d *schema) bytes32(f map[string]field, path, name string) []byte {
	n, ok := d.need(f, path, name, dagcbor.KindBytes)
	if !ok {
		return nil
	}
	k := d.publicKey(n, path+"/"+name)
	return k[:]
}

// publicKey reads 32 bytes.
func (d *schema) publicKey(n dagcbor.Node, path string) (k PublicKey) {
	if !d.is(n, dagcbor.KindBytes, path) {
		return k
	}
	if len(n.Bytes()) != len(k) {
		d.refuse(path, "32 bytes", strconv.Itoa(len(n.Bytes())))
		return k
	}
	return PublicKey(n.Bytes())
}

// link reads an optional statement CID.
func (d *schema) link(f map[string]field, name string) dagcbor.CID {
	if !f[name].present || !d.is(f[name].node, dagcbor.KindLink, "/"+name) {
		return dagcbor.CID{}
	}
	cid, err := dagcbor.CIDFromBytes(f[name].node.Link())
	if err != nil {
		d.refuse("/"+name, "a CIDv1 of dag-cbor and BLAKE3-256", err.Error())
	}
	return cid
}

// set returns the items of a list that must not be empty.
func (d *schema) set(n dagcbor.Node, path string) []dagcbor.Node {
	if !d.is(n, dagcbor.KindList, path) {
		return nil
	}
	if n.Len() == 0 {
		d.refuse(path, "at least one, or no such key", "an empty list")
		return nil
	}
	var out []dagcbor.Node
	for _, item := range n.Items() {
		out = append(out, item)
	}
	return out
}

// ascending refuses sets that are not strictly ascending by key.
func ascending[T any](d *schema, path string, items []T, key func(T) PublicKey) {
	for i := 1; i < len(items); i++ {
		if key(items[i-1]).compare(key(items[i])) >= 0 {
			d.refuse(fmt.Sprintf("%s/%d", path, i), "keys strictly ascending by their bytes", "one that is not")
			return
		}
	}
}
