package trust

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// Limits of an engine trust file.
const (
	MaxEngines = 1 << 20 // bytes
	header     = "obstat trust v1"
)

// Engines is the engine trust file (spec/trust.md#engine-trust-file): whose
// receipts of one log a caller believes. It is either in registry mode
// (Genesis is set) or in plain keys mode (Keys is not empty), never both.
type Engines struct {
	Origin  string
	Genesis dagcbor.CID // statement CID of registry version 0; zero in plain keys mode
	Keys    []PlainKey  // in file order

	// AsOf is a tree size: the caller holds that of all leaves below it those
	// of the registry end in the statement Head. Only where HasAsOf.
	AsOf    uint64
	HasAsOf bool
	Head    dagcbor.CID // zero: the genesis, so that no other registry leaf stands below AsOf
}

// PlainKey is one key line: a key that the caller vouches for itself.
type PlainKey struct {
	Principal string
	Role      Role // Engine or Approver
	Public    ed25519.PublicKey
	ID        dsse.KeyID
	From      uint64 // first leaf index that the caller vouches for
	To        uint64 // the last one; only where HasTo
	HasTo     bool
}

// ParseEngines reads an engine trust file strictly; errors name the line. The
// file is cut into lines and items as a tlog-policy file is. The first line is
// "obstat trust v1"; then, in any order, exactly one "origin", either exactly
// one "genesis" and at most one "as-of", or one or more "key" lines.
func ParseEngines(b []byte) (*Engines, error) {
	if len(b) > MaxEngines {
		return nil, &report.Error{Code: report.CodeTrustSyntax, Expected: fmt.Sprintf("at most %d bytes", MaxEngines), Actual: strconv.Itoa(len(b))}
	}
	p := enginesParser{file: &Engines{}, keys: map[dsse.KeyID]int{}, roles: map[string]Role{}}
	begun := false
	for n, items := range lines(b, &p.line) {
		if n < 0 {
			return nil, p.refuse(report.CodeTrustSyntax, "tab, newline, 0x20-0x7E or 0x80-0xFF", items[0])
		}
		if !begun {
			if strings.Join(items, " ") != header {
				return nil, p.refuse(report.CodeTrustSyntax, strconv.Quote(header), strconv.Quote(strings.Join(items, " ")))
			}
			begun = true
			continue
		}
		if err := p.item(items); err != nil {
			return nil, err
		}
	}
	switch f := p.file; {
	case !begun:
		return nil, &report.Error{Code: report.CodeTrustSyntax, Expected: strconv.Quote(header), Actual: "no line"}
	case f.Origin == "":
		return nil, &report.Error{Code: report.CodeTrustSyntax, Expected: "one origin line", Actual: "none"}
	case f.Genesis.IsZero() && len(f.Keys) == 0:
		return nil, &report.Error{Code: report.CodeTrustMode, Expected: "a genesis line or key lines", Actual: "neither"}
	case !f.Genesis.IsZero() && len(f.Keys) > 0:
		return nil, &report.Error{Code: report.CodeTrustMode, Expected: "a genesis line or key lines", Actual: "both"}
	case f.HasAsOf && len(f.Keys) > 0:
		return nil, &report.Error{Code: report.CodeTrustMode, Expected: "no as-of beside key lines, which need none", Actual: "one"}
	}
	return p.file, nil
}

type enginesParser struct {
	file  *Engines
	line  int
	keys  map[dsse.KeyID]int // to line
	roles map[string]Role    // of principals
}

func (p *enginesParser) refuse(code report.Code, expected, actual string) error {
	return &report.Error{Code: code, Where: "line " + strconv.Itoa(p.line), Expected: expected, Actual: actual}
}

func (p *enginesParser) item(items []string) error {
	f := p.file
	switch count := len(items); {
	case items[0] == "origin" && count == 2 && f.Origin == "":
		// A note names its log's key after the origin, and "+" ends such a name.
		if !verdict.ValidName(items[1]) || strings.Contains(items[1], "+") {
			return p.refuse(report.CodeTrustSyntax, originForm, strconv.Quote(items[1]))
		}
		f.Origin = items[1]
		return nil
	case items[0] == "genesis" && count == 2 && f.Genesis.IsZero():
		cid, err := dagcbor.ParseCID(items[1])
		if err != nil {
			return p.refuse(report.CodeTrustSyntax, "a statement CID", err.Error())
		}
		f.Genesis = cid
		return nil
	case items[0] == "as-of" && (count == 2 || count == 3) && !f.HasAsOf:
		return p.asOf(items)
	case items[0] == "key" && count >= 4 && count <= 6:
		return p.key(items)
	}
	return p.refuse(report.CodeTrustSyntax,
		`one "origin <origin>", one "genesis <statement CID>", one "as-of <size> [statement CID]", "key <principal> <role> <base64> [from [to]]" or a comment line`,
		strconv.Quote(strings.Join(items, " ")))
}

// originForm is what a log's name may be here: run-open and seen hold it as a Name.
const originForm = "an origin of 1 to 128 bytes from [A-Za-z0-9._/@:-]"

func (p *enginesParser) number(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > dagcbor.MaxInt || strconv.FormatUint(n, 10) != s {
		return 0, p.refuse(report.CodeTrustSyntax, "a decimal from 0 to 9007199254740991", strconv.Quote(s))
	}
	return n, nil
}

func (p *enginesParser) asOf(items []string) (err error) {
	f := p.file
	f.HasAsOf = true
	if f.AsOf, err = p.number(items[1]); err != nil {
		return err
	}
	if len(items) == 3 {
		if f.Head, err = dagcbor.ParseCID(items[2]); err != nil {
			return p.refuse(report.CodeTrustSyntax, "a statement CID", err.Error())
		}
	}
	return nil
}

func (p *enginesParser) key(items []string) error {
	k := PlainKey{Principal: items[1]}
	if !verdict.ValidName(k.Principal) {
		return p.refuse(report.CodeTrustSyntax, "a principal of 1 to 128 bytes from [A-Za-z0-9._/@:+-]", strconv.Quote(k.Principal))
	}
	role, ok := ParseRole(items[2])
	if !ok || role == Registrar {
		return p.refuse(report.CodeTrustRole, "engine or approver", strconv.Quote(items[2]))
	}
	k.Role = role
	if was, known := p.roles[k.Principal]; known && was != role {
		return p.refuse(report.CodeTrustRole, "one role a principal", fmt.Sprintf("%s as %s and as %s", k.Principal, was, role))
	}
	p.roles[k.Principal] = role
	pub, err := base64.StdEncoding.Strict().DecodeString(items[3])
	if err != nil {
		return p.refuse(report.CodeTrustKey, "an Ed25519 public key, 32 bytes in padded base64", strconv.Quote(items[3]))
	}
	if err := dsse.CheckPublicKey(pub); err != nil {
		return p.refuse(report.CodeTrustKey, "a canonical Ed25519 public key not of small order", err.Error())
	}
	k.Public, k.ID = pub, dsse.IDOf(pub)
	if first, twice := p.keys[k.ID]; twice {
		return p.refuse(report.CodeTrustKey, "each key once", fmt.Sprintf("the key of line %d", first))
	}
	p.keys[k.ID] = p.line
	if len(items) > 4 {
		if k.From, err = p.number(items[4]); err != nil {
			return err
		}
	}
	if len(items) > 5 {
		k.HasTo = true
		if k.To, err = p.number(items[5]); err != nil {
			return err
		}
		if k.To < k.From {
			return p.refuse(report.CodeTrustSyntax, "a range that does not end before it begins", items[4]+" to "+items[5])
		}
	}
	p.file.Keys = append(p.file.Keys, k)
	return nil
}

// PlainMode reports whether the file lists keys itself.
func (e *Engines) PlainMode() bool { return len(e.Keys) > 0 }

// Key returns the key line of id.
func (e *Engines) Key(id dsse.KeyID) (PlainKey, bool) {
	for _, k := range e.Keys {
		if k.ID == id {
			return k, true
		}
	}
	return PlainKey{}, false
}

// Covers reports whether the caller vouches for the key at the leaf index.
func (k PlainKey) Covers(index uint64) bool {
	return index >= k.From && (!k.HasTo || index <= k.To)
}

// Complete reports whether r holds every registry leaf below AsOf, by the
// caller's own word: of the leaves of r below AsOf the last is that of Head. It
// fails with REGISTRY-HEAD where r contradicts that word.
func (e *Engines) Complete(r *Registry) (bool, error) {
	if !e.HasAsOf {
		return false, nil
	}
	head := e.Head
	if head.IsZero() {
		head = e.Genesis
	}
	last, contradicted := dagcbor.CID{}, false
	for v, leaf := range r.Leaves() {
		if leaf < e.AsOf {
			last = r.Statements()[v]
			contradicted = contradicted || slices.Contains(r.Statements()[:v], head)
		} else {
			contradicted = true
		}
	}
	if last == head {
		return true, nil
	}
	if contradicted {
		return false, &report.Error{Code: report.CodeRegistryHead, Expected: fmt.Sprintf("%s as the last registry statement below leaf %d", head, e.AsOf), Actual: last.String()}
	}
	return false, nil // the chain ends before head: an older one
}

// Bytes returns the file in its one layout; ParseEngines reads it back.
func (e *Engines) Bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\norigin %s\n", header, e.Origin)
	if !e.Genesis.IsZero() {
		fmt.Fprintf(&b, "genesis %s\n", e.Genesis)
	}
	if e.HasAsOf {
		fmt.Fprintf(&b, "as-of %d", e.AsOf)
		if !e.Head.IsZero() {
			fmt.Fprintf(&b, " %s", e.Head)
		}
		b.WriteByte('\n')
	}
	for _, k := range e.Keys {
		fmt.Fprintf(&b, "key %s %s %s", k.Principal, k.Role, base64.StdEncoding.EncodeToString(k.Public))
		if k.From > 0 || k.HasTo {
			fmt.Fprintf(&b, " %d", k.From)
		}
		if k.HasTo {
			fmt.Fprintf(&b, " %d", k.To)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
