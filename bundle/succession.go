package bundle

import (
	"fmt"
	"strconv"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// SuccessionMediaType is that of the evidence that one log goes on as another, a
// *.succession.json file (spec/bundle.md#succession).
const SuccessionMediaType = "application/vnd.obstat.succession.v1+json"

// CheckSuccession is the check of the successions that the caller gave.
const CheckSuccession = "succession"

// Succession is evidence that one log goes on as another. It is not verified.
type Succession struct {
	Predecessor *Chain // its registry, under the checkpoint of its final tree
	Freeze      []byte // DSSE JSON of a freeze that is no leaf of it; nil where it is one
	Successor   *Chain // the registry of the log that goes on, its leaf 1 included
}

// State is how a log ended (spec/trust.md#how-a-log-ends).
type State string

// The states. A log that nobody ended has none.
const (
	Frozen     State = "frozen"      // by its last leaf, and nobody is named who goes on
	Superseded State = "superseded"  // another goes on from a tree that no leaf froze
	HandedOver State = "handed over" // another goes on from the tree that its last leaf froze
)

// ParseSuccession reads the JSON form as strictly as Parse reads a bundle.
func ParseSuccession(doc []byte) (*Succession, error) {
	o, err := open(doc, SuccessionMediaType)
	if err != nil {
		return nil, err
	}
	if err := members(o, "", []string{"mediaType", "predecessor", "successor"}, "freeze"); err != nil {
		return nil, err
	}
	s := &Succession{}
	if s.Predecessor, err = chainIn(o, "predecessor"); err != nil {
		return nil, err
	}
	if s.Successor, err = chainIn(o, "successor"); err != nil {
		return nil, err
	}
	if v, ok := o.Get("freeze"); ok {
		if s.Freeze, err = envelope(jcs.Object{{Name: "envelope", Value: v}}, "/freeze"); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func chainIn(o jcs.Object, name string) (*Chain, error) {
	v, _ := o.Get(name)
	doc, err := jcs.Append(nil, v)
	if err != nil {
		return nil, err
	}
	c, err := ParseChain(doc)
	if err != nil {
		return nil, under("/"+name, err)
	}
	return c, nil
}

// Append appends the JSON form to dst.
func (s *Succession) Append(dst []byte) []byte {
	dst = append(dst, `{"mediaType":"`+SuccessionMediaType+`","predecessor":`...)
	dst = s.Predecessor.Append(dst)
	if s.Freeze != nil {
		dst = append(append(dst, `,"freeze":`...), s.Freeze...)
	}
	return append(s.Successor.Append(append(dst, `,"successor":`...)), '}')
}

// Followed is a succession that was verified under the trust in the predecessor.
type Followed struct {
	State   State
	From    trust.Predecessor // its final tree
	Policy  *trust.Policy     // the caller's, with the key of the log that goes on
	Engines *trust.Engines    // that pins the genesis of that log
}

// Follow verifies a succession under trust in the predecessor, and returns the
// trust in the log that goes on. The check says why there is none.
func (s *Succession) Follow(p *trust.Policy, e *trust.Engines) (*Followed, report.Check) {
	head, r, c := s.predecessor(p, e)
	if c.Answer != report.Verified {
		return nil, c
	}
	state, heir, c := s.heir(r)
	if c.Answer != report.Verified {
		return nil, c
	}
	f := &Followed{
		State:   state,
		From:    trust.Predecessor{Log: e.Origin, Size: head.Size, Root: head.Root, Registry: r.Head()},
		Engines: &trust.Engines{Origin: heir.Log, Genesis: heir.Genesis},
	}
	key, err := checkpoint.NewVKey(heir.Log, checkpoint.TypeEd25519, heir.Key[:])
	if err != nil {
		return nil, refuted(under("the successor's key", err))
	}
	f.Policy = p.WithLog(key)
	if c := s.successor(f); c.Answer != report.Verified {
		return nil, c
	}
	return f, verified(fmt.Sprintf("%s goes on as %s, %s at size %d", f.From.Log, heir.Log, state, f.From.Size))
}

// predecessor verifies the final tree and the registry in it. It asks for the
// quorum: what follows rests on that tree being the last.
func (s *Succession) predecessor(p *trust.Policy, e *trust.Engines) (head checkpoint.Checkpoint, r *trust.Registry, c report.Check) {
	switch {
	case e == nil:
		return head, nil, unchecked(report.CodeTrustNotGiven, "an engine trust file", "none")
	case e.PlainMode():
		return head, nil, unchecked(report.CodeTrustMode, "an engine trust file that pins a genesis", "one that lists keys")
	}
	head, err := readHead(s.Predecessor.Checkpoint)
	if err != nil {
		return head, nil, refuted(under("/predecessor", err))
	}
	if head.Origin != e.Origin {
		return head, nil, unchecked(report.CodeLogOther, "a succession of "+e.Origin, strconv.Quote(head.Origin))
	}
	opened, c := OpenHead(s.Predecessor.Checkpoint, head.Origin, p)
	if c.Answer != report.Verified {
		return head, nil, c
	}
	if q := p.Evaluate(opened); !q.Met {
		return head, nil, unchecked(report.CodeQuorumUnmet, "quorum "+q.Rule+" over the final tree", fmt.Sprintf("%d cosignatures", len(q.Cosigned)))
	}
	r, err = FoldChain(s.Predecessor.Leaves, head, trust.Pin{Origin: e.Origin, Genesis: e.Genesis, Foreign: p.Foreign()})
	if err != nil {
		return head, nil, refuted(under("/predecessor", err))
	}
	return head, r, verified("")
}

// heir finds who goes on: by the leaf that froze the log, or by a statement of
// its registrars that stands in no log.
func (s *Succession) heir(r *trust.Registry) (State, *trust.Heir, report.Check) {
	z, frozen := r.Frozen()
	state := Superseded
	if frozen {
		state = HandedOver
	}
	if s.Freeze == nil {
		switch {
		case !frozen:
			return "", nil, unchecked(report.CodeSuccessionOpen, "a statement of the registrars who goes on", "a log that goes on itself")
		case z.Heir == nil:
			return Frozen, nil, unchecked(report.CodeSuccessionOpen, "a statement of the registrars who goes on", fmt.Sprintf("leaf %d froze the log and names nobody", z.Leaf))
		}
		return state, z.Heir, verified("")
	}
	loose, err := dsse.ParseJSON(s.Freeze)
	if err != nil {
		return "", nil, refuted(under("/freeze", err))
	}
	named, err := r.Endorsed(loose)
	if err != nil {
		return "", nil, refuted(under("/freeze", err))
	}
	return state, named, verified("")
}

// successor verifies that the log that goes on says so: in its leaf 1, of the
// very tree.
func (s *Succession) successor(f *Followed) report.Check {
	head, err := readHead(s.Successor.Checkpoint)
	if err != nil {
		return refuted(under("/successor", err))
	}
	mismatch := func(expected, actual string) report.Check {
		return refuted(&report.Error{Code: report.CodeSuccessionMismatch, Expected: expected, Actual: actual})
	}
	if head.Origin != f.Engines.Origin {
		return mismatch("the log "+f.Engines.Origin+", which the registrars named", strconv.Quote(head.Origin))
	}
	if _, c := OpenHead(s.Successor.Checkpoint, head.Origin, f.Policy); c.Answer != report.Verified {
		return c
	}
	r, err := FoldChain(s.Successor.Leaves, head, trust.Pin{Origin: f.Engines.Origin, Genesis: f.Engines.Genesis, Foreign: f.Policy.Foreign()})
	if err != nil {
		return refuted(under("/successor", err))
	}
	was, ok := r.Predecessor()
	if !ok {
		return unchecked(report.CodeSuccessionOpen, "a successor statement at leaf 1 of "+head.Origin, "none")
	}
	if was != f.From {
		return mismatch(fmt.Sprintf("size %d, root %s, of %s", f.From.Size, f.From.Root, f.From.Log), fmt.Sprintf("size %d, root %s, of %s", was.Size, was.Root, was.Log))
	}
	return verified("")
}

// Follow returns o with the trust in the log of origin, which may be a successor
// of the one that the trust files name, and the check that says how; the check
// has no code where the caller gave no succession. ended is where the log itself
// ended, if a succession says so.
func (o Options) Follow(origin string) (to Options, ended *Followed, c report.Check) {
	if len(o.Successions) == 0 || o.Engines == nil {
		return o, nil, c
	}
	c = unchecked(report.CodeLogOther, "a succession of "+o.Engines.Origin, "others")
	for range len(o.Successions) + 1 {
		arrived := o.Engines.Origin == origin
		s := o.successionOf(o.Engines.Origin)
		if s == nil {
			break
		}
		f, next := s.Follow(o.Policy, o.Engines)
		c = next
		switch {
		case arrived && f != nil:
			return o, f, c
		case arrived || f == nil:
			return o, nil, c
		}
		o.Policy, o.Engines = f.Policy, f.Engines
	}
	return o, nil, c
}

func (o Options) successionOf(origin string) *Succession {
	for _, s := range o.Successions {
		if head, err := readHead(s.Predecessor.Checkpoint); err == nil && head.Origin == origin {
			return s
		}
	}
	return nil
}

// follow takes over the trust that the caller's successions lead to, for the log
// whose signed note this is.
func (j *judge) follow(note []byte, o Options) {
	j.o = o
	head, err := readHead(note)
	if err != nil {
		j.succession = waits(CheckCheckpoint)
		return
	}
	j.o, j.ended, j.succession = o.Follow(head.Origin)
}

// followed is the check of the caller's successions, for the leaf at hand.
func (j *judge) followed() report.Check {
	if j.succession.Code == "" {
		return unchecked(report.CodeTrustNotGiven, "an engine trust file, and a registry that says which log this is", "not both")
	}
	if j.ended != nil && j.bundle != nil && j.bundle.Proof.Index >= j.ended.From.Size {
		return refuted(&report.Error{
			Code: report.CodeLogEnded, Expected: fmt.Sprintf("a leaf of the %d with which the log ended", j.ended.From.Size),
			Actual: strconv.FormatUint(j.bundle.Proof.Index, 10),
		})
	}
	return j.succession
}
