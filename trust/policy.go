package trust

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"strconv"
	"strings"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/report"
)

// Limits of a tlog-policy file. C2SP asks for at least 32 of each kind of line.
const (
	MaxPolicy      = 256 << 10 // bytes
	MaxPolicyLines = 1024      // log, witness and group lines together
)

// Policy is a C2SP tlog-policy: the logs that are accepted, the witnesses that
// are known, and which of them must have cosigned (spec/trust.md#policy). Only
// ParsePolicy makes one.
type Policy struct {
	logs      []PolicyLog
	witnesses []PolicyWitness
	nodes     []policyNode // witnesses and groups in the order they are defined
	quorum    int          // index of a node; -1 is "none"
}

// PolicyLog is one log line. The key's name is the log's origin.
type PolicyLog struct {
	Key checkpoint.VKey
	URL string
}

// PolicyWitness is one witness line. Name means nothing outside of the file.
type PolicyWitness struct {
	Name string
	Key  checkpoint.VKey
	URL  string
}

// policyNode is a witness (members nil, witness its index) or a group of which
// k members must have witnessed.
type policyNode struct {
	name    string
	witness int
	k       int
	members []int
}

// Quorum is how the quorum rule of a policy ended for one checkpoint.
type Quorum struct {
	Met       bool
	None      bool     // the policy says "quorum none": nothing was asked
	Rule      string   // the quorum's name in the file
	Cosigned  []string // names of the witnesses whose cosignatures were verified
	Witnesses int      // witnesses that the policy knows
}

// ParsePolicy reads a tlog-policy file strictly. It is narrower than the C2SP
// text in three places: a key stands in one line of the whole file, so a log
// cannot be its own witness; a log's key is Ed25519 (0x01) and a witness's
// cosignature/v1 (0x04); a threshold has no leading zero. A last line without
// its newline is read.
func ParsePolicy(b []byte) (*Policy, error) {
	if len(b) > MaxPolicy {
		return nil, &report.Error{Code: report.CodePolicyLimit, Expected: fmt.Sprintf("at most %d bytes", MaxPolicy), Actual: strconv.Itoa(len(b))}
	}
	p := policyParser{policy: &Policy{quorum: -1}, names: map[string]int{}, keys: map[string]int{}, grouped: map[int]bool{}}
	for n, items := range lines(b, &p.line) {
		if n < 0 {
			return nil, p.refuse(report.CodePolicyOctet, "tab, newline, 0x20-0x7E or 0x80-0xFF", items[0])
		}
		if err := p.item(items); err != nil {
			return nil, err
		}
	}
	if !p.hasQuorum {
		return nil, &report.Error{Code: report.CodePolicyQuorum, Expected: "exactly one quorum line", Actual: "none", Fix: `say "quorum none" to ask for no cosignature`}
	}
	return p.policy, nil
}

type policyParser struct {
	policy    *Policy
	line      int
	names     map[string]int // to node
	keys      map[string]int // public key to line
	grouped   map[int]bool   // nodes that are members already
	hasQuorum bool
}

func (p *policyParser) refuse(code report.Code, expected, actual string) error {
	return &report.Error{Code: code, Where: "line " + strconv.Itoa(p.line), Expected: expected, Actual: actual}
}

func (p *policyParser) item(items []string) error {
	if n := len(p.policy.logs) + len(p.policy.nodes); n >= MaxPolicyLines {
		return p.refuse(report.CodePolicyLimit, fmt.Sprintf("at most %d log, witness and group lines", MaxPolicyLines), "more")
	}
	count := len(items)
	switch {
	case items[0] == "log" && (count == 2 || count == 3):
		key, err := p.key(items[1], checkpoint.TypeEd25519)
		if err != nil {
			return err
		}
		p.policy.logs = append(p.policy.logs, PolicyLog{key, optional(items, 2)})
		return nil
	case items[0] == "witness" && (count == 3 || count == 4):
		return p.witness(items)
	case items[0] == "group" && count >= 4:
		return p.group(items)
	case items[0] == "quorum" && count == 2:
		return p.setQuorum(items[1])
	}
	return p.refuse(report.CodePolicySyntax,
		`"log <vkey> [url]", "witness <name> <vkey> [url]", "group <name> all|any|<k> <member>...", "quorum <name>|none" or a comment line`,
		strconv.Quote(strings.Join(items, " ")))
}

func optional(items []string, i int) string {
	if i < len(items) {
		return items[i]
	}
	return ""
}

func (p *policyParser) key(s string, typ byte) (checkpoint.VKey, error) {
	key, err := checkpoint.ParseVKey(s)
	if err != nil {
		return key, p.refuse(report.CodePolicyKey, "a vkey", err.Error())
	}
	if key.Type != typ {
		return key, p.refuse(report.CodePolicyKey, fmt.Sprintf("a key of signature type 0x%02x", typ), fmt.Sprintf("0x%02x", key.Type))
	}
	if err := dsse.CheckPublicKey(key.Public); err != nil {
		return key, p.refuse(report.CodePolicyKey, "a canonical Ed25519 public key not of small order", err.Error())
	}
	if first, twice := p.keys[string(key.Public)]; twice {
		return key, p.refuse(report.CodePolicyKeyTwice, "each public key once", fmt.Sprintf("the public key of line %d", first))
	}
	p.keys[string(key.Public)] = p.line
	return key, nil
}

func (p *policyParser) define(name string, n policyNode) error {
	if name == "none" {
		return p.refuse(report.CodePolicyName, `another name than "none", which is reserved`, strconv.Quote(name))
	}
	if _, twice := p.names[name]; twice {
		return p.refuse(report.CodePolicyName, "each name defined once", strconv.Quote(name)+" again")
	}
	n.name = name
	p.names[name] = len(p.policy.nodes)
	p.policy.nodes = append(p.policy.nodes, n)
	return nil
}

func (p *policyParser) witness(items []string) error {
	key, err := p.key(items[2], checkpoint.TypeCosignature)
	if err != nil {
		return err
	}
	if err := p.define(items[1], policyNode{witness: len(p.policy.witnesses)}); err != nil {
		return err
	}
	p.policy.witnesses = append(p.policy.witnesses, PolicyWitness{items[1], key, optional(items, 3)})
	return nil
}

func (p *policyParser) group(items []string) error {
	var members []int
	for _, name := range items[3:] {
		i, ok := p.names[name]
		if !ok {
			return p.refuse(report.CodePolicyName, "members that are defined on lines before", strconv.Quote(name))
		}
		if p.grouped[i] {
			return p.refuse(report.CodePolicyMember, "each name a member once", strconv.Quote(name)+" again")
		}
		p.grouped[i] = true
		members = append(members, i)
	}
	k := 0
	switch items[2] {
	case "all":
		k = len(members)
	case "any":
		k = 1
	default:
		n, err := strconv.Atoi(items[2])
		if err != nil || n < 1 || n > len(members) || strconv.Itoa(n) != items[2] {
			return p.refuse(report.CodePolicyThreshold, fmt.Sprintf("all, any, or a decimal from 1 to %d", len(members)), strconv.Quote(items[2]))
		}
		k = n
	}
	return p.define(items[1], policyNode{witness: -1, k: k, members: members})
}

func (p *policyParser) setQuorum(name string) error {
	if p.hasQuorum {
		return p.refuse(report.CodePolicyQuorum, "exactly one quorum line", "another")
	}
	p.hasQuorum = true
	if name == "none" {
		return nil
	}
	i, ok := p.names[name]
	if !ok {
		return p.refuse(report.CodePolicyName, "a witness or group that is defined on a line before", strconv.Quote(name))
	}
	p.policy.quorum = i
	return nil
}

// Logs and Witnesses return the lines in file order; the caller does not
// change them.
func (p *Policy) Logs() []PolicyLog          { return p.logs }
func (p *Policy) Witnesses() []PolicyWitness { return p.witnesses }

// Foreign returns every public key of the file: keys that no registry may list.
func (p *Policy) Foreign() []ed25519.PublicKey {
	var out []ed25519.PublicKey
	for _, l := range p.logs {
		out = append(out, l.Key.Public)
	}
	for _, w := range p.witnesses {
		out = append(out, w.Key.Public)
	}
	return out
}

// WithLog returns the policy with one more log line. A policy that knows the log
// already is returned as it is: the caller has said which keys it has.
func (p *Policy) WithLog(key checkpoint.VKey) *Policy {
	if p.KnowsLog(key.Name) {
		return p
	}
	more := *p
	more.logs = append(p.logs[:len(p.logs):len(p.logs)], PolicyLog{Key: key})
	return &more
}

// Keys returns the keys to open a checkpoint of origin with: those of the logs
// of that name, and all witnesses.
func (p *Policy) Keys(origin string) []checkpoint.VKey {
	var out []checkpoint.VKey
	for _, l := range p.logs {
		if l.Key.Name == origin {
			out = append(out, l.Key)
		}
	}
	for _, w := range p.witnesses {
		out = append(out, w.Key)
	}
	return out
}

// KnowsLog reports whether a log line names origin.
func (p *Policy) KnowsLog(origin string) bool {
	for _, l := range p.logs {
		if l.Key.Name == origin {
			return true
		}
	}
	return false
}

// SignedByLog returns the log key whose line was verified: one of a log whose
// name is the checkpoint's origin.
func (p *Policy) SignedByLog(o *checkpoint.Opened) (checkpoint.VKey, bool) {
	for _, v := range o.Verified {
		for _, l := range p.logs {
			if l.Key.Name == o.Origin && sameKey(l.Key, v.Key) {
				return l.Key, true
			}
		}
	}
	return checkpoint.VKey{}, false
}

func sameKey(a, b checkpoint.VKey) bool {
	return a.Name == b.Name && a.ID == b.ID && a.Type == b.Type && bytes.Equal(a.Public, b.Public)
}

// Evaluate applies the quorum rule to the cosignatures that were verified.
func (p *Policy) Evaluate(o *checkpoint.Opened) Quorum {
	q := Quorum{None: p.quorum < 0, Witnesses: len(p.witnesses), Rule: "none"}
	met := make([]bool, len(p.nodes))
	for i, n := range p.nodes {
		if n.members == nil {
			w := p.witnesses[n.witness]
			for _, v := range o.Verified {
				met[i] = met[i] || sameKey(w.Key, v.Key)
			}
			if met[i] {
				q.Cosigned = append(q.Cosigned, n.name)
			}
			continue
		}
		count := 0
		for _, m := range n.members {
			if met[m] {
				count++
			}
		}
		met[i] = count >= n.k
	}
	if q.None {
		q.Met = true
		return q
	}
	q.Rule, q.Met = p.nodes[p.quorum].name, met[p.quorum]
	return q
}
