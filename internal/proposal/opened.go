package proposal

import (
	"crypto"
	"crypto/ed25519"
	"fmt"
	"slices"
	"strconv"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// Trust is what whoever has a proposal believes.
type Trust struct {
	Engines *trust.Engines // pins the genesis; nil: only a genesis can be opened
	Policy  *trust.Policy  // nil: that the log signed the checkpoint is not checked
}

// Opened is a proposal that was held against somebody's trust: the registry that
// it follows is the pinned one, the statement keeps every rule, and every
// signature that it has holds.
type Opened struct {
	*Proposal
	// One of the three, by Type.
	Statement *trust.Statement
	Freeze    *trust.Freeze
	Successor *trust.Successor

	Before *Folded         // nil of a genesis
	After  *trust.Registry // that it would make
}

// NewGenesis makes the proposal of a new log's registry.
func NewGenesis(origin string, threshold int, add []trust.Addition) (*Proposal, error) {
	s, err := trust.NewGenesis(origin, threshold, add, nil)
	if err != nil {
		return nil, err
	}
	payload, err := s.Encode()
	if err != nil {
		return nil, err
	}
	return &Proposal{Type: dsse.RegistryType, Payload: payload}, nil
}

// New makes the proposal of a change to the registry of a chain.
func New(chain *bundle.Chain, t Trust, c trust.Change) (*Proposal, error) {
	r, err := Fold(chain, t)
	if err != nil {
		return nil, err
	}
	s, err := r.Next(c)
	if err != nil {
		return nil, err
	}
	payload, err := s.Encode()
	if err != nil {
		return nil, err
	}
	return &Proposal{Type: dsse.RegistryType, Payload: payload, Chain: chain}, nil
}

// NewFreeze makes the proposal of ending a log; heir is nil where nobody goes on
// yet. Of a log that is frozen it is the statement beside it that names somebody.
func NewFreeze(chain *bundle.Chain, t Trust, heir *trust.Heir) (*Proposal, error) {
	r, err := Fold(chain, t)
	if err != nil {
		return nil, err
	}
	z, err := r.Freeze(heir)
	if err != nil {
		return nil, err
	}
	payload, err := z.Encode()
	if err != nil {
		return nil, err
	}
	return &Proposal{Type: dsse.FreezeType, Payload: payload, Chain: chain}, nil
}

// NewSuccessor makes the proposal of leaf 1 of a log, whose chain this is: it goes
// on where the log of another chain ended.
func NewSuccessor(chain *bundle.Chain, t Trust, predecessor *bundle.Chain, of Trust) (*Proposal, error) {
	r, err := Fold(chain, t)
	if err != nil {
		return nil, err
	}
	was, err := Fold(predecessor, of)
	if err != nil {
		return nil, fmt.Errorf("the predecessor: %w", err)
	}
	s := &trust.Successor{
		Log:         r.Log(),
		Predecessor: trust.Predecessor{Log: was.Log(), Size: was.Head.Size, Root: was.Head.Root, Registry: was.Registry.Head()},
		Checkpoint:  predecessor.Checkpoint,
	}
	payload, err := s.Encode()
	if err != nil {
		return nil, err
	}
	return &Proposal{Type: dsse.SuccessorType, Payload: payload, Chain: chain}, nil
}

// Folded is a registry chain that was verified under somebody's trust.
type Folded struct {
	*trust.Registry
	Head     checkpoint.Checkpoint // in which the leaves are proven
	Signed   bool                  // the log signed it; without a policy nobody can tell
	Versions []Version
}

// Version is one leaf of a folded chain.
type Version struct {
	Leaf      uint64
	What      string // "version 3", "freeze", "successor statement"
	Statement dagcbor.CID
	Changes   []string // one line each, as Changes makes them
	Signers   []dsse.KeyID
	After     *trust.Registry
}

// Fold verifies a registry chain under somebody's trust.
func Fold(chain *bundle.Chain, t Trust) (*Folded, error) {
	switch {
	case t.Engines == nil:
		return nil, &report.Error{Code: report.CodeTrustNotGiven, Expected: "the engine trust file that pins the genesis", Actual: "none"}
	case t.Engines.PlainMode():
		return nil, &report.Error{Code: report.CodeTrustMode, Expected: "an engine trust file that pins a genesis", Actual: "one that lists keys"}
	}
	note, err := checkpoint.ParseNote(chain.Checkpoint)
	if err != nil {
		return nil, err
	}
	f := &Folded{}
	if f.Head, err = checkpoint.ParseBody(note.Text); err != nil {
		return nil, err
	}
	if f.Head.Origin != t.Engines.Origin {
		return nil, &report.Error{Code: report.CodeLogOther, Expected: "the log " + t.Engines.Origin, Actual: strconv.Quote(f.Head.Origin)}
	}
	pin := trust.Pin{Origin: t.Engines.Origin, Genesis: t.Engines.Genesis}
	if t.Policy != nil {
		pin.Foreign = t.Policy.Foreign()
		if _, c := bundle.OpenHead(chain.Checkpoint, f.Head.Origin, t.Policy); c.Answer != report.Verified {
			return nil, &report.Error{Code: c.Code, Where: "the checkpoint of the registry", Expected: c.Expected, Actual: c.Actual}
		}
		f.Signed = true
	}
	return f, f.fold(chain.Leaves, pin)
}

func (f *Folded) fold(leaves []bundle.RegistryLeaf, pin trust.Pin) error {
	for i, l := range leaves {
		before := f.Registry
		after, env, err := bundle.FoldLeaf(before, l, f.Head, pin)
		if err != nil {
			return fmt.Errorf("registry leaf %d: %w", i, err)
		}
		v := Version{Leaf: l.Index, Statement: dagcbor.Sum(env.Payload), After: after}
		switch env.Type {
		case dsse.FreezeType:
			z, _ := after.Frozen()
			v.What, v.Changes = "freeze", freezing(&z.Freeze)
		case dsse.SuccessorType:
			p, _ := after.Predecessor()
			v.What, v.Changes = "successor statement", succeeding(p)
		default:
			s, err := trust.DecodeStatement(env.Payload)
			if err != nil {
				return err
			}
			v.What, v.Changes = fmt.Sprintf("version %d", s.Version), Changes(before, after, s)
		}
		for _, sig := range env.Sigs {
			v.Signers = append(v.Signers, sig.By)
		}
		f.Registry, f.Versions = after, append(f.Versions, v)
	}
	return nil
}

// Leaf returns where a statement stands.
func (f *Folded) Leaf(statement dagcbor.CID) (uint64, bool) {
	at := slices.IndexFunc(f.Versions, func(v Version) bool { return v.Statement == statement })
	if at < 0 {
		return 0, false
	}
	return f.Versions[at].Leaf, true
}

// What says what stands at a leaf of the chain.
func (f *Folded) What(leaf uint64) string {
	at := slices.IndexFunc(f.Versions, func(v Version) bool { return v.Leaf == leaf })
	if at < 0 {
		return "nothing"
	}
	return f.Versions[at].What
}

// Text says which registry this is.
func (f *Folded) Text() string {
	leaves := f.Leaves()
	s := fmt.Sprintf("Registry of the log %s, version %d, statement %s, leaf %d\n", f.Log(), f.Version(), f.Registry.Head(), leaves[len(leaves)-1])
	if p, ok := f.Predecessor(); ok {
		s += fmt.Sprintf("It goes on from %s, which ended with %d leaves\n", p.Log, p.Size)
	}
	if z, ok := f.Frozen(); ok {
		s += fmt.Sprintf("Frozen by leaf %d, the last; %s\n", z.Leaf, goesOn(&z.Freeze))
	}
	return s + fmt.Sprintf("%s sign a change; %s\n\n", threshold(f.Registry), proven(f.Head.Size, f.Signed))
}

func proven(size uint64, signed bool) string {
	s := fmt.Sprintf("proven in a tree of %d leaves, ", size)
	if signed {
		return s + "which the log signed"
	}
	return s + "and that the log signed it was not checked: no policy"
}

// Open holds a proposal against the trust of whoever has it.
func (p *Proposal) Open(t Trust) (*Opened, error) {
	o := &Opened{Proposal: p}
	var err error
	switch p.Type {
	case dsse.RegistryType:
		o.Statement, err = trust.DecodeStatement(p.Payload)
	case dsse.FreezeType:
		o.Freeze, err = trust.DecodeFreeze(p.Payload)
	case dsse.SuccessorType:
		o.Successor, err = trust.DecodeSuccessor(p.Payload)
	default:
		err = &report.Error{Code: report.CodePayloadType, Expected: dsse.RegistryType, Actual: strconv.Quote(p.Type)}
	}
	if err != nil {
		return nil, err
	}
	switch {
	case p.Chain == nil && o.Statement == nil:
		return nil, refuse("", "the registry that it follows", "none")
	case p.Chain == nil:
		err = o.openGenesis(t)
	default:
		err = o.openNext(t)
	}
	if err != nil {
		return nil, err
	}
	return o, o.checkSignatures()
}

func (o *Opened) openGenesis(t Trust) (err error) {
	var foreign []ed25519.PublicKey
	if t.Policy != nil {
		foreign = t.Policy.Foreign()
	}
	if e := t.Engines; e != nil && e.Genesis != dagcbor.Sum(o.Payload) {
		return &report.Error{Code: report.CodeRegistryPin, Expected: "the genesis " + e.Genesis.String(), Actual: dagcbor.Sum(o.Payload).String()}
	}
	o.After, err = trust.PreviewGenesis(o.Statement, foreign)
	return err
}

func (o *Opened) openNext(t Trust) (err error) {
	if o.Before, err = Fold(o.Chain, t); err != nil {
		return err
	}
	switch {
	case o.Freeze != nil:
		o.After, err = o.Before.PreviewFreeze(o.Freeze)
	case o.Successor != nil:
		o.After, err = o.Before.PreviewSuccessor(o.Successor, o.Before.Head.Size)
	default:
		o.After, err = o.Before.Preview(o.Statement)
	}
	return err
}

// Beside reports whether this names who goes on beside a log that is frozen: no
// log takes it, and it is evidence.
func (o *Opened) Beside() bool {
	if o.Freeze == nil {
		return false
	}
	_, frozen := o.Before.Frozen()
	return frozen
}

// registrar says what a key may sign: before and after the statement.
func (o *Opened) registrar(id dsse.KeyID) (before, after bool) {
	is := func(r *trust.Registry) bool {
		k, ok := r.MaySign(id)
		return ok && k.Role == trust.Registrar
	}
	return o.Before != nil && is(o.Before.Registry), is(o.After)
}

func (o *Opened) checkSignatures() error {
	for i, s := range o.Sigs {
		where := fmt.Sprintf("/signatures/%d", i)
		if before, after := o.registrar(s.By); !before && !after {
			return &report.Error{Code: report.CodeRegistrySigner, Where: where, Expected: "signatures of registrars, before or after", Actual: s.By.String()}
		}
		one := dsse.Envelope{Type: o.Type, Payload: o.Payload, Sigs: []dsse.Signature{s}}
		if _, err := dsse.Verify(&one, o.After.Public); err != nil {
			return err
		}
	}
	return nil
}

// Counts says how many registrars of the registry before and of the one after
// have signed.
func (o *Opened) Counts() (before, after int) {
	for _, s := range o.Sigs {
		was, is := o.registrar(s.By)
		if was {
			before++
		}
		if is {
			after++
		}
	}
	return before, after
}

// Complete reports whether both thresholds are met.
func (o *Opened) Complete() bool {
	before, after := o.Counts()
	return after >= o.After.Threshold() && (o.Before == nil || before >= o.Before.Threshold())
}

// Sign adds the signature of a registrar's key.
func (o *Opened) Sign(key crypto.Signer) error {
	pub, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return &report.Error{Code: report.CodeKeyForm, Expected: "an Ed25519 key", Actual: fmt.Sprintf("%T", key.Public())}
	}
	id := dsse.IDOf(pub)
	if before, after := o.registrar(id); !before && !after {
		return &report.Error{Code: report.CodeRegistrySigner, Expected: "the key of a registrar, before or after the statement", Actual: id.String()}
	}
	s, err := sign(o.Type, o.Payload, key)
	if err != nil {
		return err
	}
	return o.add(s)
}

// Envelope returns the signed statement, once both thresholds are met.
func (o *Opened) Envelope() (*dsse.Envelope, error) {
	if !o.Complete() {
		before, after := o.Counts()
		want, got := fmt.Sprintf("%d registrars of the registry that it makes", o.After.Threshold()), strconv.Itoa(after)
		if o.Before != nil {
			want = fmt.Sprintf("%d registrars of version %d, and %d of the one after", o.Before.Threshold(), o.Before.Version(), o.After.Threshold())
			got = fmt.Sprintf("%d, and %d", before, after)
		}
		return nil, &report.Error{Code: report.CodeRegistryQuorum, Expected: want, Actual: got, Fix: "the next registrar signs it: logd keys sign"}
	}
	env := &dsse.Envelope{Type: o.Type, Payload: o.Payload, Sigs: o.Sigs}
	return env, o.holds(env)
}

// holds makes every check of the signed statement that a log or a verifier makes.
func (o *Opened) holds(env *dsse.Envelope) error {
	if o.Before == nil {
		_, err := trust.Genesis(env, 0, trust.Pin{Origin: o.Statement.Log, Genesis: dagcbor.Sum(o.Payload)})
		return err
	}
	if !o.Beside() {
		_, err := o.Before.Apply(env, o.Before.Head.Size)
		return err
	}
	loose, err := dsse.ParseJSON(env.JSON())
	if err == nil {
		_, err = o.Before.Endorsed(loose)
	}
	return err
}
