package index

import (
	"encoding/hex"
	"strings"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
)

// facts are what is indexed of one leaf.
type facts struct {
	statement dagcbor.CID
	receipt   dagcbor.CID // zero where the leaf is no receipt
	principal string      // of the signer; empty where the leaf is no receipt
	run       string      // empty where the call is outside any run
	seq       uint64
	terms     []string // "field=value", in no order, each once
}

// The fields of terms.
const (
	fieldKind        = "kind"
	fieldVerdict     = "verdict"
	fieldDisposition = "disposition"
	fieldCode        = "code"
	fieldEngine      = "engine"
)

// factsOf reads a leaf. It reads the frame, which is frozen, and looks for the
// rest: of a receipt version that is not known yet, or one that is void, it
// finds what it can. known is the statement's CID, zero where it is to be made.
func factsOf(leaf []byte, known dagcbor.CID, principal func(dsse.KeyID) (string, bool)) (facts, error) {
	env, err := dsse.ParseLeaf(leaf)
	if err != nil {
		return facts{}, err
	}
	f := facts{statement: known}
	if known.IsZero() {
		f.statement = dagcbor.Sum(env.Payload)
	}
	if env.Type == dsse.RegistryType {
		f.term(fieldKind, "registry")
		return f, nil
	}
	root, err := dagcbor.Parse(env.Payload)
	if err != nil || root.Kind() != dagcbor.KindMap {
		return f, nil
	}
	if call, ok := lookup(root, "call", dagcbor.KindMap); ok {
		f.call(call, principal)
	}
	if r, ok := lookup(root, "receipt", dagcbor.KindMap); ok {
		f.receipt = dagcbor.Sum(r.Raw())
		f.body(r)
	}
	return f, nil
}

func (f *facts) call(call dagcbor.Node, principal func(dsse.KeyID) (string, bool)) {
	by, ok := lookup(call, "by", dagcbor.KindBytes)
	if !ok || len(by.Bytes()) != len(dsse.KeyID{}) {
		return
	}
	id := dsse.KeyID(by.Bytes())
	if f.principal, ok = principal(id); !ok {
		f.principal = "key:" + hex.EncodeToString(id[:])
	}
	f.term(fieldEngine, f.principal)
	if run, ok := lookup(call, "run", dagcbor.KindText); ok {
		f.run = run.Text()
	}
	if seq, ok := lookup(call, "seq", dagcbor.KindInt); ok && seq.Int() >= 0 {
		f.seq = uint64(seq.Int())
	}
}

// body reads {kind: {…}}.
func (f *facts) body(receipt dagcbor.Node) {
	for kind, body := range receipt.Entries() {
		f.term(fieldKind, kind)
		if body.Kind() != dagcbor.KindMap {
			continue
		}
		if v, ok := body.Lookup("verdict"); ok {
			f.term(fieldVerdict, arm(v))
		}
		if d, ok := body.Lookup("disposition"); ok {
			f.term(fieldDisposition, arm(d))
		}
		f.codes(body)
	}
}

// arm names the arm of a sum: a word, or a map of one key.
func arm(n dagcbor.Node) string {
	switch n.Kind() {
	case dagcbor.KindText:
		return n.Text()
	case dagcbor.KindMap:
		for k := range n.Entries() {
			return k
		}
	}
	return ""
}

// codes collects every "code" and the codes of every "reasons".
func (f *facts) codes(n dagcbor.Node) {
	switch n.Kind() {
	case dagcbor.KindMap:
		for k, v := range n.Entries() {
			switch {
			case k == "code" && v.Kind() == dagcbor.KindText:
				f.term(fieldCode, v.Text())
			case k == "reasons" && v.Kind() == dagcbor.KindList:
				for _, r := range v.Items() {
					if r.Kind() == dagcbor.KindText {
						f.term(fieldCode, r.Text())
					}
				}
			default:
				f.codes(v)
			}
		}
	case dagcbor.KindList:
		for _, v := range n.Items() {
			f.codes(v)
		}
	}
}

// maxTerm bounds a value, in bytes: codes and names are shorter.
const maxTerm = 200

func (f *facts) term(field, value string) {
	if value == "" || len(value) > maxTerm || strings.IndexByte(value, 0) >= 0 {
		return
	}
	t := field + "=" + value
	for _, have := range f.terms {
		if have == t {
			return
		}
	}
	f.terms = append(f.terms, t)
}

func lookup(n dagcbor.Node, key string, kind dagcbor.Kind) (dagcbor.Node, bool) {
	v, ok := n.Lookup(key)
	return v, ok && v.Kind() == kind
}
