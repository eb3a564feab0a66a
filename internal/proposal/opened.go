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
	Statement *trust.Statement
	Before    *Folded         // nil of a genesis
	After     *trust.Registry // that it would make
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

// Folded is a registry chain that was verified under somebody's trust.
type Folded struct {
	*trust.Registry
	Head     checkpoint.Checkpoint // in which the leaves are proven
	Signed   bool                  // the log signed it; without a policy nobody can tell
	Versions []Version
}

// Version is one statement of a folded chain.
type Version struct {
	Leaf    uint64
	Changes []string // one line each, as Changes makes them
	Signers []dsse.KeyID
	After   *trust.Registry
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
		s, err := trust.DecodeStatement(env.Payload)
		if err != nil {
			return err
		}
		v := Version{Leaf: l.Index, Changes: Changes(before, after, s), After: after}
		for _, sig := range env.Sigs {
			v.Signers = append(v.Signers, sig.By)
		}
		f.Registry, f.Versions = after, append(f.Versions, v)
	}
	return nil
}

// Leaf returns where a statement stands.
func (f *Folded) Leaf(statement dagcbor.CID) (uint64, bool) {
	at := slices.Index(f.Statements(), statement)
	if at < 0 {
		return 0, false
	}
	return f.Leaves()[at], true
}

// Text says which registry this is.
func (f *Folded) Text() string {
	leaves := f.Leaves()
	s := fmt.Sprintf("Registry of the log %s, version %d, statement %s, leaf %d\n", f.Log(), f.Version(), f.Registry.Head(), leaves[len(leaves)-1])
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
	if p.Type != dsse.RegistryType {
		return nil, &report.Error{Code: report.CodePayloadType, Expected: dsse.RegistryType, Actual: strconv.Quote(p.Type)}
	}
	s, err := trust.DecodeStatement(p.Payload)
	if err != nil {
		return nil, err
	}
	o := &Opened{Proposal: p, Statement: s}
	if p.Chain == nil {
		var foreign []ed25519.PublicKey
		if t.Policy != nil {
			foreign = t.Policy.Foreign()
		}
		if e := t.Engines; e != nil && e.Genesis != dagcbor.Sum(p.Payload) {
			return nil, &report.Error{Code: report.CodeRegistryPin, Expected: "the genesis " + e.Genesis.String(), Actual: dagcbor.Sum(p.Payload).String()}
		}
		o.After, err = trust.PreviewGenesis(s, foreign)
	} else {
		if o.Before, err = Fold(p.Chain, t); err != nil {
			return nil, err
		}
		o.After, err = o.Before.Preview(s)
	}
	if err != nil {
		return nil, err
	}
	return o, o.checkSignatures()
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
	var err error
	if o.Before == nil {
		_, err = trust.Genesis(env, 0, trust.Pin{Origin: o.Statement.Log, Genesis: dagcbor.Sum(o.Payload)})
	} else {
		_, err = o.Before.Apply(env, o.Before.Head.Size)
	}
	if err != nil {
		return nil, err
	}
	return env, nil
}
