// Package testlog is a log in memory for tests: deterministic keys, a registry
// that lives in it, bundles, trust files, and the static site that a mirror
// would hold. It keeps every leaf and signs whatever it is asked to, lies
// included, so that tests can ask what a verifier makes of them.
package testlog

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/trust"
)

// Origin is the name of the log, one of those that the examples of receipttest
// write to.
const Origin = "example.com/log"

// Time is when witnesses cosign, in Unix seconds: 2026-01-01.
const Time = 1767225600

// Key returns the private key that belongs to a label.
func Key(label string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("obstat test key " + label))
	return ed25519.NewKeyFromSeed(seed[:])
}

// Public returns the public half of Key(label).
func Public(label string) ed25519.PublicKey { return Key(label).Public().(ed25519.PublicKey) }

// ID returns the KeyID of Key(label).
func ID(label string) dsse.KeyID { return dsse.IDOf(Public(label)) }

// Add returns the addition of Key(label) under its own label as name.
func Add(label string, role trust.Role) trust.Addition {
	return trust.Addition{Key: trust.PublicKey(Public(label)), Name: label, Role: role}
}

// Log is a log in memory. Its leaf 0 is the genesis: registrars "registrar-1"
// and "registrar-2" with a threshold of 2, the engine "engine", the approver
// "approver".
type Log struct {
	t        testing.TB
	Registry *trust.Registry
	Genesis  dagcbor.CID
	Leaves   [][]byte

	origin string
	key    string  // the label of the key that signs checkpoints
	chain  []entry // registry leaves
	nodes  map[merkle.NodeID]merkle.Hash
	tree   merkle.Range
}

type entry struct {
	index uint64
	env   *dsse.Envelope
}

// Bare returns a log that holds nothing, not even its genesis.
func Bare(t testing.TB) *Log {
	return &Log{t: t, origin: Origin, key: "log", nodes: map[merkle.NodeID]merkle.Hash{}}
}

// Named is New for a log of another origin, whose key is that of its origin.
func Named(t testing.TB, origin string, extra ...trust.Addition) *Log {
	t.Helper()
	l := Bare(t)
	l.origin, l.key = origin, origin
	return l.begin(extra)
}

// New returns a log that holds its genesis and what extra adds to it.
func New(t testing.TB, extra ...trust.Addition) *Log {
	t.Helper()
	return Bare(t).begin(extra)
}

func (l *Log) begin(extra []trust.Addition) *Log {
	l.t.Helper()
	add := append([]trust.Addition{
		Add("registrar-1", trust.Registrar), Add("registrar-2", trust.Registrar),
		Add("engine", trust.Engine), Add("approver", trust.Approver),
	}, extra...)
	s, err := trust.NewGenesis(l.origin, 2, add, nil)
	l.must(err)
	env, err := trust.SignStatement(s, Key("registrar-1"), Key("registrar-2"))
	l.must(err)
	l.Genesis = dagcbor.Sum(env.Payload)
	l.Registry, err = trust.Genesis(env, l.Append(env), trust.Pin{Origin: l.origin, Genesis: l.Genesis})
	l.must(err)
	l.chain = append(l.chain, entry{0, env})
	return l
}

func (l *Log) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// Size returns how many leaves there are.
func (l *Log) Size() uint64 { return l.tree.Size() }

// Append adds an envelope, whatever it holds, and returns its index.
func (l *Log) Append(env *dsse.Envelope) uint64 {
	l.t.Helper()
	leaf, err := env.Leaf()
	l.must(err)
	return l.AppendLeaf(leaf)
}

// AppendLeaf adds any bytes as a leaf.
func (l *Log) AppendLeaf(leaf []byte) uint64 {
	l.Leaves = append(l.Leaves, leaf)
	l.tree.Append(merkle.LeafHash(leaf), func(id merkle.NodeID, h merkle.Hash) { l.nodes[id] = h })
	return l.tree.Size() - 1
}

// Change appends the next registry statement, signed by both registrars.
func (l *Log) Change(c trust.Change) uint64 {
	l.t.Helper()
	return l.ChangeBy(c, "registrar-1", "registrar-2")
}

// ChangeBy is Change, signed by the keys of labels.
func (l *Log) ChangeBy(c trust.Change, labels ...string) uint64 {
	l.t.Helper()
	s, err := l.Registry.Next(c)
	l.must(err)
	env, err := trust.SignStatement(s, keys(labels)...)
	l.must(err)
	return l.extend(env)
}

// FreezeBy is the freeze of the log as its registry stands, signed by the keys of
// labels. Nothing is appended.
func (l *Log) FreezeBy(heir *trust.Heir, labels ...string) *dsse.Envelope {
	l.t.Helper()
	z, err := l.Registry.Freeze(heir)
	l.must(err)
	env, err := trust.SignFreeze(z, keys(labels)...)
	l.must(err)
	return env
}

// Freeze appends a freeze, signed by both registrars.
func (l *Log) Freeze(heir *trust.Heir) uint64 {
	l.t.Helper()
	return l.extend(l.FreezeBy(heir, "registrar-1", "registrar-2"))
}

// Succeed appends the successor statement of a log that goes on where another
// ended.
func (l *Log) Succeed(p trust.Predecessor, note []byte) uint64 {
	l.t.Helper()
	env, err := trust.SignSuccessor(&trust.Successor{Log: l.origin, Predecessor: p, Checkpoint: note}, keys([]string{"registrar-1", "registrar-2"})...)
	l.must(err)
	return l.extend(env)
}

// extend appends what comes next of the registry.
func (l *Log) extend(env *dsse.Envelope) uint64 {
	l.t.Helper()
	i := l.Append(env)
	var err error
	l.Registry, err = l.Registry.Apply(env, i)
	l.must(err)
	l.chain = append(l.chain, entry{i, env})
	return i
}

// Final is the tree of the log as a successor names it.
func (l *Log) Final() trust.Predecessor {
	return trust.Predecessor{Log: l.origin, Size: l.Size(), Root: l.Root(l.Size()), Registry: l.Registry.Head()}
}

func keys(labels []string) (out []ed25519.PrivateKey) {
	for _, label := range labels {
		out = append(out, Key(label))
	}
	return out
}

// Sign returns the envelope of a statement by the key of a label; the call's
// By is set to that key.
func (l *Log) Sign(d *receipt.Decoded, label string) *dsse.Envelope {
	l.t.Helper()
	s := d.Statement
	s.Call.By = receipt.KeyID(ID(label))
	payload, err := s.Encode()
	l.must(err)
	env, err := dsse.Sign(dsse.ReceiptType, payload, Key(label))
	l.must(err)
	return env
}

// Examples appends every example of receipttest, decisions by "approver" and
// all else by "engine", and returns their indexes by name.
func (l *Log) Examples() map[string]uint64 {
	l.t.Helper()
	at := map[string]uint64{}
	for _, e := range receipttest.ExamplesBy(receipt.KeyID(ID("engine")), receipt.KeyID(ID("approver"))) {
		at[e.Name] = l.Append(l.Sign(e.Decoded, l.signerOf(e.Decoded)))
	}
	return at
}

func (l *Log) signerOf(d *receipt.Decoded) string {
	if receipt.RoleFor(d.Frame().Kind) == trust.Approver {
		return "approver"
	}
	return "engine"
}

func (l *Log) read(id merkle.NodeID) (merkle.Hash, error) {
	h, ok := l.nodes[id]
	if !ok {
		return h, fmt.Errorf("no node %+v", id)
	}
	return h, nil
}

// Root returns the root of the tree of size.
func (l *Log) Root(size uint64) merkle.Hash {
	l.t.Helper()
	root, err := merkle.Root(size, l.read)
	l.must(err)
	return root
}

// Growth returns the proof that the tree of one size is a prefix of that of
// another.
func (l *Log) Growth(from, to uint64) []merkle.Hash {
	l.t.Helper()
	proof, err := merkle.ConsistencyProof(from, to, l.read)
	l.must(err)
	return proof
}

// Checkpoint returns the signed checkpoint of size, cosigned by the witnesses
// of these labels.
func (l *Log) Checkpoint(size uint64, witnesses ...string) []byte {
	l.t.Helper()
	return l.SignHead(checkpoint.Checkpoint{Origin: l.origin, Size: size, Root: l.Root(size)}, witnesses...)
}

// SignHead signs any tree head with the log's key, true or not.
func (l *Log) SignHead(c checkpoint.Checkpoint, witnesses ...string) []byte {
	l.t.Helper()
	body := c.Body()
	s, err := checkpoint.NewSigner(l.origin, checkpoint.TypeEd25519, Key(l.key))
	l.must(err)
	note, err := s.SignBody(body, 0)
	l.must(err)
	n, err := checkpoint.ParseNote(note)
	l.must(err)
	for _, w := range witnesses {
		ws, err := checkpoint.NewSigner(w, checkpoint.TypeCosignature, Key(w))
		l.must(err)
		line, err := ws.Sign(body, Time)
		l.must(err)
		n.Sigs = append(n.Sigs, line)
	}
	return n.Bytes()
}

// Proof returns the inclusion proof of index in the tree of size.
func (l *Log) Proof(index, size uint64) []merkle.Hash {
	l.t.Helper()
	p, err := merkle.InclusionProof(index, size, l.read)
	l.must(err)
	return p
}

// Chain returns the registry leaves below size, proven in the tree of size.
func (l *Log) Chain(size uint64) []bundle.RegistryLeaf {
	l.t.Helper()
	var out []bundle.RegistryLeaf
	for _, e := range l.chain {
		if e.index < size {
			out = append(out, bundle.RegistryLeaf{Envelope: e.env.JSON(), Index: e.index, Proof: l.Proof(e.index, size)})
		}
	}
	return out
}

// Bundle returns the bundle of a leaf in the tree of size, with the registry
// chain, cosigned by the witnesses of these labels.
func (l *Log) Bundle(index, size uint64, witnesses ...string) *bundle.Bundle {
	l.t.Helper()
	env, err := dsse.ParseLeaf(l.Leaves[index])
	l.must(err)
	b := &bundle.Bundle{
		Envelope: env.JSON(),
		Proof:    &checkpoint.Proof{Index: index, Hashes: l.Proof(index, size), Checkpoint: l.Checkpoint(size, witnesses...)},
		Registry: l.Chain(size),
	}
	if len(witnesses) > 0 {
		b.Level = bundle.Witnessed
	}
	return b
}

// VKey returns the verifier key of the log (label "log") or of a witness.
func VKey(label string) string {
	name, typ := label, byte(checkpoint.TypeCosignature)
	if label == "log" {
		name, typ = Origin, checkpoint.TypeEd25519
	}
	k, err := checkpoint.NewVKey(name, typ, Public(label))
	if err != nil {
		panic(err)
	}
	return k.String()
}

// PolicyFile returns a tlog-policy file that knows the log and witnesses of
// these labels; rule is all, any or a number, or "none" to ask for nothing.
func PolicyFile(rule string, witnesses ...string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "log %s\n", VKey("log"))
	for _, w := range witnesses {
		fmt.Fprintf(&b, "witness %s %s\n", w, VKey(w))
	}
	if rule == "none" {
		b.WriteString("quorum none\n")
		return []byte(b.String())
	}
	fmt.Fprintf(&b, "group witnesses %s %s\nquorum witnesses\n", rule, strings.Join(witnesses, " "))
	return []byte(b.String())
}

// Policy is PolicyFile, parsed.
func (l *Log) Policy(rule string, witnesses ...string) *trust.Policy {
	l.t.Helper()
	p, err := trust.ParsePolicy(PolicyFile(rule, witnesses...))
	l.must(err)
	return p
}

// Engines returns the trust in registry mode that pins this log's genesis.
func (l *Log) Engines() *trust.Engines {
	return &trust.Engines{Origin: l.origin, Genesis: l.Genesis}
}

// PlainEngines returns the trust in plain keys mode that lists engine and
// approver.
func (l *Log) PlainEngines() *trust.Engines {
	key := func(label string, role trust.Role) trust.PlainKey {
		return trust.PlainKey{Principal: label, Role: role, Public: Public(label), ID: ID(label)}
	}
	return &trust.Engines{Origin: Origin, Keys: []trust.PlainKey{key("engine", trust.Engine), key("approver", trust.Approver)}}
}

// Site returns the tlog-tiles site of the tree of size: the checkpoint, and
// tiles and entry bundles at the widths of that tree.
func (l *Log) Site(size uint64, witnesses ...string) fstest.MapFS {
	l.t.Helper()
	site := fstest.MapFS{"checkpoint": {Data: l.Checkpoint(size, witnesses...)}}
	for t := range merkle.NewTiles(0, size) {
		data, err := merkle.AppendTile(nil, t, l.read)
		l.must(err)
		site[t.Path()] = &fstest.MapFile{Data: data}
		if t.Level > 0 {
			continue
		}
		var b []byte
		for i := range t.Width {
			b, err = merkle.AppendEntry(b, l.Leaves[t.Index*merkle.TileWidth+uint64(i)])
			l.must(err)
		}
		site[merkle.EntriesPath(t.Index, t.Width)] = &fstest.MapFile{Data: b}
	}
	return site
}
