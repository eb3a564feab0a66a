package dsse

import (
	"bytes"
	"fmt"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
)

// ParseLeaf reads the canonical leaf (spec/leaf.md), canonical DAG-CBOR
//
//	{sigs: [{by: bytes(32), sig: bytes(64)}], type: text, payload: bytes}
//
// with sigs strictly ascending by by, at most MaxLeaf bytes. Whatever it
// accepts, Leaf gives back byte for byte. The envelope keeps nothing of b.
func ParseLeaf(b []byte) (*Envelope, error) {
	if err := checkLeafSize(len(b)); err != nil {
		return nil, err
	}
	root, err := dagcbor.Parse(b)
	if err != nil {
		return nil, err
	}
	members, e := fields(root, "sigs", "type", "payload")
	if e != nil {
		return nil, e
	}
	sigs, typ, payload := members[0], members[1], members[2]
	if e := want(sigs, dagcbor.KindList, "/sigs"); e != nil {
		return nil, e
	}
	if e := want(typ, dagcbor.KindText, "/type"); e != nil {
		return nil, e
	}
	if e := want(payload, dagcbor.KindBytes, "/payload"); e != nil {
		return nil, e
	}
	if err := checkSigCount(sigs.Len()); err != nil {
		return nil, err
	}
	env := &Envelope{Type: typ.Text(), Payload: bytes.Clone(payload.Bytes()), Sigs: make([]Signature, sigs.Len())}
	for i, item := range sigs.Items() {
		if e := env.Sigs[i].parse(item); e != nil {
			e.Where = fmt.Sprintf("/sigs/%d%s", i, e.Where)
			return nil, e
		}
	}
	if err := env.check(); err != nil {
		return nil, err
	}
	return env, nil
}

func (s *Signature) parse(n dagcbor.Node) *report.Error {
	members, e := fields(n, "by", "sig")
	if e == nil {
		e = fixed(s.By[:], members[0], "/by")
	}
	if e == nil {
		e = fixed(s.Sig[:], members[1], "/sig")
	}
	return e
}

// fields returns the values of a map that has exactly these keys, which are
// given in canonical order.
func fields(n dagcbor.Node, keys ...string) ([3]dagcbor.Node, *report.Error) {
	var values [3]dagcbor.Node
	if e := want(n, dagcbor.KindMap, ""); e != nil {
		return values, e
	}
	i := 0
	for key, value := range n.Entries() {
		if i == len(keys) || key != keys[i] {
			return values, malformed("", fmt.Sprintf("exactly the keys %q", keys), fmt.Sprintf("%q", key))
		}
		values[i] = value
		i++
	}
	if i < len(keys) {
		return values, malformed("", fmt.Sprintf("exactly the keys %q", keys), fmt.Sprintf("no %q", keys[i]))
	}
	return values, nil
}

func want(n dagcbor.Node, k dagcbor.Kind, where string) *report.Error {
	if n.Kind() != k {
		return malformed(where, "a "+k.String(), "a "+n.Kind().String())
	}
	return nil
}

// fixed copies a byte string of exactly len(dst) bytes.
func fixed(dst []byte, n dagcbor.Node, where string) *report.Error {
	if e := want(n, dagcbor.KindBytes, where); e != nil {
		return e
	}
	if len(n.Bytes()) != len(dst) {
		return malformed(where, fmt.Sprintf("%d bytes", len(dst)), fmt.Sprint(len(n.Bytes())))
	}
	copy(dst, n.Bytes())
	return nil
}

func malformed(where, expected, actual string) *report.Error {
	return &report.Error{Code: report.CodeLeafForm, Where: where, Expected: expected, Actual: actual}
}

func checkLeafSize(n int) error {
	if n > MaxLeaf {
		return &report.Error{
			Code:     report.CodeLeafSize,
			Expected: fmt.Sprintf("at most %d bytes", MaxLeaf),
			Actual:   fmt.Sprint(n),
		}
	}
	return nil
}

// Leaf returns the one canonical spelling, at most MaxLeaf bytes. It refuses an
// envelope that ParseLeaf would refuse.
func (e *Envelope) Leaf() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	sigs := make(dagcbor.List, len(e.Sigs))
	for i := range e.Sigs {
		s := &e.Sigs[i]
		sigs[i] = dagcbor.Map{{Key: "by", Value: dagcbor.Bytes(s.By[:])}, {Key: "sig", Value: dagcbor.Bytes(s.Sig[:])}}
	}
	b, err := dagcbor.Encode(dagcbor.Map{
		{Key: "sigs", Value: sigs},
		{Key: "type", Value: dagcbor.Text(e.Type)},
		{Key: "payload", Value: dagcbor.Bytes(e.Payload)},
	})
	if err != nil {
		return nil, err
	}
	if err := checkLeafSize(len(b)); err != nil {
		return nil, err
	}
	return b, nil
}
