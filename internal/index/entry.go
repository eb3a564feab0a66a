package index

import (
	"encoding/hex"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/trust"
	"github.com/obstat/obstat/verdict"
)

// Entry is what one leaf adds to the index. It shares nothing with the leaf. What is neither statement nor
// registry statement has a Statement and nothing else.
type Entry struct {
	Leaf      uint64
	Statement dagcbor.CID
	Receipt   dagcbor.CID // zero where the leaf is no receipt

	// Of a receipt. Principal is the signer's, for a key that no covered leaf
	// lists "key:" and its id in hex; empty where the leaf is no receipt. A Run is
	// empty where the call stands outside any.
	Principal   string
	Run         string
	Seq         uint64
	Kind        string // "registry" of a registry statement, a freeze and a successor statement
	Verdict     string
	Disposition string
	Codes       []string // every reason and every field named code, in their order, each once, at most MaxCodes

	// Of a registry statement: the keys that it lists.
	Listed []trust.Addition
}

// MaxCodes is how many codes of one leaf are indexed; any further ones are not
// found by Search. A statement has room for twenty thousand, which nobody means.
const MaxCodes = 64

// KindRegistry is the Kind of registry statements.
const KindRegistry = "registry"

// EntryOf reads a leaf. statement is its CID; zero where it is to be computed.
// principalOf names the principal of a key, or is empty. Beyond the frame, which
// is frozen, it looks for what is indexed without holding it to the schema: of a
// version to come it finds what it can. It fails only on bytes that are no leaf.
func EntryOf(index uint64, leaf []byte, statement dagcbor.CID, principalOf func(dsse.KeyID) string) (Entry, error) {
	env, err := dsse.ParseLeaf(leaf)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Leaf: index, Statement: statement}
	if statement.IsZero() {
		e.Statement = dagcbor.Sum(env.Payload)
	}
	if trust.IsRegistryType(env.Type) {
		e.Kind = KindRegistry
		if s, err := trust.DecodeStatement(env.Payload); err == nil {
			e.Listed = s.Add
		}
		return e, nil
	}
	root, err := dagcbor.Parse(env.Payload)
	if err != nil || root.Kind() != dagcbor.KindMap {
		return e, nil
	}
	var call, body dagcbor.Node
	for k, v := range root.Entries() {
		switch k {
		case "call":
			call = v
		case "receipt":
			body = v
		}
	}
	if call.Kind() == dagcbor.KindMap && body.Kind() == dagcbor.KindMap {
		e.Receipt = dagcbor.Sum(body.Raw())
		e.call(call, principalOf)
		e.body(body)
	}
	return e, nil
}

func (e *Entry) call(call dagcbor.Node, principalOf func(dsse.KeyID) string) {
	var by, run, seq dagcbor.Node
	for k, v := range call.Entries() {
		switch k {
		case "by":
			by = v
		case "run":
			run = v
		case "seq":
			seq = v
		}
	}
	if by.Kind() != dagcbor.KindBytes || len(by.Bytes()) != len(dsse.KeyID{}) {
		return
	}
	id := dsse.KeyID(by.Bytes())
	if e.Principal = principalOf(id); e.Principal == "" {
		e.Principal = "key:" + hex.EncodeToString(id[:])
	}
	if run.Kind() == dagcbor.KindText && verdict.ValidName(run.Text()) && seq.Kind() == dagcbor.KindInt && seq.Int() >= 0 {
		e.Run, e.Seq = run.Text(), uint64(seq.Int())
	}
}

// body reads {kind: {…}}.
func (e *Entry) body(r dagcbor.Node) {
	for kind, body := range r.Entries() {
		e.Kind = word(kind)
		if body.Kind() != dagcbor.KindMap {
			return
		}
		for k, v := range body.Entries() {
			switch k {
			case "verdict":
				e.Verdict = arm(v)
			case "disposition":
				e.Disposition = arm(v)
			}
			e.codesAt(k, v)
		}
		return // a receipt is a map of one entry
	}
}

// arm names the arm of a sum: a word, or a map of one key.
func arm(n dagcbor.Node) string {
	switch n.Kind() {
	case dagcbor.KindText:
		return word(n.Text())
	case dagcbor.KindMap:
		for k := range n.Entries() {
			return word(k)
		}
	}
	return ""
}

// word returns what may stand in a key: a name.
func word(s string) string {
	if !verdict.ValidName(s) {
		return ""
	}
	return s
}

// codesAt collects the codes at an entry of a map, or below it.
func (e *Entry) codesAt(k string, v dagcbor.Node) {
	switch {
	case k == "code" && v.Kind() == dagcbor.KindText:
		e.code(v.Text())
	case k == "reasons" && v.Kind() == dagcbor.KindList:
		for _, r := range v.Items() {
			if r.Kind() == dagcbor.KindText {
				e.code(r.Text())
			}
		}
	case k == "request" || k == "reads": // large, and without codes
	default:
		e.codes(v)
	}
}

func (e *Entry) codes(n dagcbor.Node) {
	switch n.Kind() {
	case dagcbor.KindMap:
		for k, v := range n.Entries() {
			e.codesAt(k, v)
		}
	case dagcbor.KindList:
		for _, v := range n.Items() {
			e.codes(v)
		}
	}
}

func (e *Entry) code(c string) {
	if len(e.Codes) == MaxCodes || !verdict.ValidCode(c) {
		return
	}
	for _, have := range e.Codes {
		if have == c {
			return
		}
	}
	e.Codes = append(e.Codes, c)
}

// field is one of those that Search takes.
type field byte

const (
	fieldKind        field = 'k'
	fieldVerdict     field = 'v'
	fieldDisposition field = 'd'
	fieldCode        field = 'c'
	fieldEngine      field = 'e'
)

// String is the name of a field in counters.
func (f field) String() string {
	switch f {
	case fieldKind:
		return "kind"
	case fieldVerdict:
		return "verdict"
	case fieldDisposition:
		return "disposition"
	case fieldCode:
		return "code"
	case fieldEngine:
		return "engine"
	}
	return ""
}

// term is a value of a field: what a list of leaves and a counter are of.
type term struct {
	field field
	value string
}

// terms calls f with everything that Search finds the leaf by.
func (e *Entry) terms(f func(term)) {
	for _, t := range [...]term{
		{fieldKind, e.Kind}, {fieldVerdict, e.Verdict}, {fieldDisposition, e.Disposition}, {fieldEngine, e.Principal},
	} {
		if t.value != "" {
			f(t)
		}
	}
	for _, c := range e.Codes {
		f(term{fieldCode, c})
	}
}
