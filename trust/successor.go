package trust

import (
	"crypto"
	"strconv"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// successorLeaf is where a successor statement stands, and nowhere else.
const successorLeaf = 1

// Successor is the payload of leaf 1 of a log that goes on where another ended
// (spec/trust.md#successor).
type Successor struct {
	Log         string // origin of this log
	Predecessor Predecessor
	Checkpoint  []byte // signed note of the predecessor's final tree
}

// Predecessor is the final tree of a log that another one goes on from.
type Predecessor struct {
	Log      string // its origin
	Size     uint64
	Root     merkle.Hash
	Registry dagcbor.CID // statement CID of the head of its registry
}

// DecodeSuccessor reads the payload of a successor statement: canonical form and
// schema, and a note that says the tree that the statement says. Who signed the
// note is for whoever knows the predecessor's key.
func DecodeSuccessor(payload []byte) (*Successor, error) {
	n, err := parsePayload(payload)
	if err != nil {
		return nil, err
	}
	d := schema{}
	s := &Successor{}
	f := d.fields(n, "", "log", "predecessor", "checkpoint")
	s.Log = d.origin(f, "", "log")
	if node, ok := d.need(f, "", "predecessor", dagcbor.KindMap); ok {
		p := d.fields(node, "/predecessor", "log", "size", "root", "registry")
		s.Predecessor.Log = d.origin(p, "/predecessor", "log")
		s.Predecessor.Size = d.count(p, "/predecessor", "size")
		copy(s.Predecessor.Root[:], d.bytes32(p, "/predecessor", "root"))
		s.Predecessor.Registry = d.needLink(p, "/predecessor", "registry")
	}
	if node, ok := d.need(f, "", "checkpoint", dagcbor.KindBytes); ok {
		s.Checkpoint = append([]byte(nil), node.Bytes()...)
	}
	if d.err == nil {
		d.finalTree(s)
	}
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

// finalTree holds the note against what the statement says of it.
func (d *schema) finalTree(s *Successor) {
	p := s.Predecessor
	if p.Log == s.Log {
		d.refuse("/predecessor/log", "another log", strconv.Quote(p.Log))
		return
	}
	note, err := checkpoint.ParseNote(s.Checkpoint)
	if err != nil {
		d.refuse("/checkpoint", "a signed note", err.Error())
		return
	}
	head, err := checkpoint.ParseBody(note.Text)
	if err != nil || head.Origin != p.Log || head.Size != p.Size || head.Root != p.Root || p.Size == 0 {
		d.refuse("/checkpoint", "the checkpoint of the predecessor's final tree", "another")
	}
}

// Encode returns the canonical payload; it refuses what DecodeSuccessor would.
func (s *Successor) Encode() ([]byte, error) {
	b, err := dagcbor.Encode(dagcbor.Map{
		{Key: "log", Value: dagcbor.Text(s.Log)},
		{Key: "predecessor", Value: dagcbor.Map{
			{Key: "log", Value: dagcbor.Text(s.Predecessor.Log)},
			{Key: "size", Value: dagcbor.Int(s.Predecessor.Size)},
			{Key: "root", Value: dagcbor.Bytes(s.Predecessor.Root[:])},
			{Key: "registry", Value: s.Predecessor.Registry.Link()},
		}},
		{Key: "checkpoint", Value: dagcbor.Bytes(s.Checkpoint)},
	})
	if err != nil {
		return nil, err
	}
	_, err = DecodeSuccessor(b)
	return b, err
}

// SignSuccessor makes the envelope of s, one signature a registrar of the log
// that goes on.
func SignSuccessor[K crypto.Signer](s *Successor, registrars ...K) (*dsse.Envelope, error) {
	payload, err := s.Encode()
	if err != nil {
		return nil, err
	}
	return dsse.SignMany(dsse.SuccessorType, payload, registrars...)
}

// Predecessor returns the log that this one goes on from, if it says so.
func (r *Registry) Predecessor() (Predecessor, bool) {
	if r.predecessor == nil {
		return Predecessor{}, false
	}
	return *r.predecessor, true
}

// PreviewSuccessor returns the registry as s at leaf index would make it, whoever
// signs it.
func (r *Registry) PreviewSuccessor(s *Successor, index uint64) (*Registry, error) {
	switch {
	case s.Log != r.log:
		return nil, refuse(report.CodeRegistryLog, r.log, s.Log)
	case index != successorLeaf || r.Version() != 0 || r.predecessor != nil:
		return nil, refuse(report.CodeRegistryPlace, "the successor statement at leaf 1, behind the genesis", "leaf "+strconv.FormatUint(index, 10))
	}
	if err := r.behind(index); err != nil {
		return nil, err
	}
	next := r.clone()
	next.predecessor = &s.Predecessor
	return next, nil
}

// applySuccessor verifies a successor statement, which stands at leaf 1, behind
// the genesis and before everything else.
func (r *Registry) applySuccessor(env *dsse.Envelope, index uint64) (*Registry, error) {
	s, err := DecodeSuccessor(env.Payload)
	if err != nil {
		return nil, err
	}
	next, err := r.PreviewSuccessor(s, index)
	if err != nil {
		return nil, err
	}
	if err := r.signed(env, next); err != nil {
		return nil, err
	}
	return next, nil
}
