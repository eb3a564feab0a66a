package bundle

import (
	"crypto/ed25519"
	"fmt"
	"strconv"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// signer is the key that the caller's trust has for the receipt's signer.
type signer struct {
	id   dsse.KeyID
	pub  ed25519.PublicKey
	name string
	role trust.Role
}

func (s signer) lookup(id dsse.KeyID) (ed25519.PublicKey, bool) { return s.pub, id == s.id }

// trusted says why the engine trust file cannot be used, if it cannot.
func (j *judge) trusted() report.Check {
	e := j.o.Engines
	switch {
	case e == nil:
		return unchecked(report.CodeTrustNotGiven, "an engine trust file", "none")
	case j.bundle != nil && j.head == nil:
		return waits(CheckCheckpoint)
	case j.bundle != nil && j.head.Origin != e.Origin:
		return unchecked(report.CodeLogOther, "the log "+e.Origin, strconv.Quote(j.head.Origin))
	}
	return verified("")
}

// signer finds the key; the check says why there is none.
func (j *judge) signer() (signer, report.Check) {
	if c := j.trusted(); c.Answer != report.Verified {
		return signer{}, c
	}
	if j.frame == nil {
		return signer{}, waits(CheckSchema)
	}
	id := keyOf(j.frame.Call.By)
	if j.o.Engines.PlainMode() {
		k, ok := j.o.Engines.Key(id)
		if !ok {
			return signer{}, unchecked(report.CodeKeyUnknown, "a key of the trust file", id.String())
		}
		return signer{id, k.Public, k.Principal, k.Role}, verified("")
	}
	if j.registry == nil {
		if j.chain.Answer == report.Refuted {
			return signer{}, waits("the registry chain")
		}
		return signer{}, j.chain
	}
	k, ok := j.registry.Key(id)
	if !ok {
		return signer{}, unchecked(report.CodeKeyUnknown, "a key of registry version "+strconv.FormatUint(j.registry.Version(), 10), id.String())
	}
	return signer{id, k.Public, k.Name, k.Role}, verified("")
}

// readRegistry folds the chains that the bundle and the caller have, and keeps
// the longer of the two.
func (j *judge) readRegistry() {
	carried := j.bundle != nil && j.bundle.Registry != nil
	if c := j.trusted(); c.Answer != report.Verified || j.o.Engines.PlainMode() {
		j.chain = c
		switch {
		case !carried:
		case c.Code == report.CodeLogOther:
			j.ignored = append(j.ignored, "the registry chain: it is not of the log that the trust file names")
		case c.Code == report.CodeTrustNotGiven || c.Answer == report.Verified:
			j.ignored = append(j.ignored, "the registry chain: no trust file pins its genesis")
		}
		return
	}
	j.chain = unchecked(report.CodeRegistryNotGiven, "a registry chain in the bundle or by the caller", "none")
	j.chainHead = j.checkpoint
	if j.forked { // of two histories, neither says who is listed
		j.chain = j.checkpoint
		return
	}
	if carried {
		j.fold(j.bundle.Registry, *j.head, "/registry")
	}
	if j.o.Registry == nil || j.chain.Answer == report.Refuted {
		return
	}
	own := j.registry
	j.registry = nil
	j.foldCallers(j.o.Registry)
	switch {
	case own == nil || j.chain.Answer == report.Refuted:
	case j.registry == nil: // the caller's could not be used, the bundle's was
		j.registry, j.chain, j.chainHead = own, verified(""), j.checkpoint
	case !alike(own, j.registry):
		j.registry, j.chain = nil, refuted(&report.Error{Code: report.CodeRegistryDiverged, Expected: "the chain in the bundle and the caller's to begin alike", Actual: "two that do not"})
	case further(own, j.registry):
		j.registry, j.chainHead = own, j.checkpoint
	}
}

// foldCallers folds the caller's chain in its own checkpoint.
func (j *judge) foldCallers(c *Chain) {
	note, err := checkpoint.ParseNote(c.Checkpoint)
	if err != nil {
		j.chain = refuted(under("the caller's chain", err))
		return
	}
	head, err := checkpoint.ParseBody(note.Text)
	if err != nil {
		j.chain = refuted(under("the caller's chain", err))
		return
	}
	if head.Origin != j.o.Engines.Origin {
		j.chain = unchecked(report.CodeLogOther, "a registry chain of "+j.o.Engines.Origin, strconv.Quote(head.Origin))
		return
	}
	// Who is listed follows from the pinned genesis and the registrars' signatures;
	// where its leaves stand, from the checkpoint.
	_, j.chainHead = OpenHead(c.Checkpoint, head.Origin, j.o.Policy)
	if j.chainHead.Answer == report.Refuted {
		j.chain = j.chainHead
		return
	}
	j.fold(c.Leaves, head, "the caller's chain")
}

// fold verifies a registry chain whose leaves stand in the tree of head.
func (j *judge) fold(leaves []RegistryLeaf, head checkpoint.Checkpoint, place string) {
	pin := trust.Pin{Origin: j.o.Engines.Origin, Genesis: j.o.Engines.Genesis}
	if j.o.Policy != nil {
		pin.Foreign = j.o.Policy.Foreign()
	}
	reg, err := FoldChain(leaves, head, pin)
	if err != nil {
		j.registry, j.chain = nil, refuted(under(place, err))
		return
	}
	j.registry, j.chain = reg, verified("")
}

// FoldChain verifies a registry chain, genesis first, whose leaves stand in the
// tree of head, which the caller has opened. Errors name the place, "/0".
func FoldChain(leaves []RegistryLeaf, head checkpoint.Checkpoint, pin trust.Pin) (*trust.Registry, error) {
	var reg *trust.Registry
	for i, l := range leaves {
		next, _, err := FoldLeaf(reg, l, head, pin)
		if err != nil {
			return nil, under(fmt.Sprintf("/%d", i), err)
		}
		reg = next
	}
	return reg, nil
}

// FoldLeaf verifies the next leaf of a chain, and returns the registry behind it
// and its envelope. reg is nil before the genesis.
func FoldLeaf(reg *trust.Registry, l RegistryLeaf, head checkpoint.Checkpoint, pin trust.Pin) (*trust.Registry, *dsse.Envelope, error) {
	loose, err := dsse.ParseJSON(l.Envelope)
	if err != nil {
		return nil, nil, err
	}
	// Before keys are tried: a genesis that is not the pinned one costs nothing.
	if cid := dagcbor.Sum(loose.Payload); reg == nil && cid != pin.Genesis {
		return nil, nil, &report.Error{Code: report.CodeRegistryPin, Expected: pin.Genesis.String(), Actual: cid.String()}
	}
	env, err := trust.Bind(loose, reg)
	if err != nil {
		return nil, nil, err
	}
	leaf, err := env.Leaf()
	if err != nil {
		return nil, nil, err
	}
	if err := merkle.VerifyInclusion(l.Index, head.Size, merkle.LeafHash(leaf), l.Proof, head.Root); err != nil {
		return nil, nil, err
	}
	if reg == nil {
		reg, err = trust.Genesis(env, l.Index, pin)
	} else {
		reg, err = reg.Apply(env, l.Index)
	}
	if err != nil {
		return nil, nil, err
	}
	return reg, env, goesOn(reg, head.Size)
}

// goesOn refuses a tree that has leaves behind the one that froze the log.
func goesOn(r *trust.Registry, size uint64) error {
	if z, frozen := r.Frozen(); frozen && z.Leaf+1 < size {
		return &report.Error{Code: report.CodeLogFrozen, Expected: fmt.Sprintf("a tree of %d leaves, whose last froze the log", z.Leaf+1), Actual: fmt.Sprintf("one of %d", size)}
	}
	return nil
}

// alike reports whether one registry begins as the other does.
func alike(a, b *trust.Registry) bool {
	n := min(len(a.Leaves()), len(b.Leaves()))
	for v := range n {
		if a.Leaves()[v] != b.Leaves()[v] || a.Statements()[v] != b.Statements()[v] {
			return false
		}
	}
	za, frozenA := a.Frozen()
	zb, frozenB := b.Frozen()
	switch {
	case frozenA && frozenB:
		return za.Leaf == zb.Leaf && za.Statement == zb.Statement
	case frozenA: // nothing stands behind
		return len(b.Leaves()) == n
	case frozenB:
		return len(a.Leaves()) == n
	}
	return true
}

// further reports whether one registry, which begins as the other does, says more.
func further(a, b *trust.Registry) bool {
	_, ends := a.Frozen()
	return a.Version() > b.Version() || ends
}

// Later folds a registry chain by the caller beside the registry of the whole log
// of a tree, and returns the one that says more, of the two. The check is verified
// where the chain could be used.
func Later(own *trust.Registry, tree checkpoint.Checkpoint, c *Chain, p *trust.Policy, e *trust.Engines) (*trust.Registry, report.Check) {
	head, err := readHead(c.Checkpoint)
	if err != nil {
		return own, refuted(under("the caller's chain", err))
	}
	if head.Origin != e.Origin {
		return own, unchecked(report.CodeLogOther, "a registry chain of "+e.Origin, strconv.Quote(head.Origin))
	}
	if _, opened := OpenHead(c.Checkpoint, head.Origin, p); opened.Answer != report.Verified {
		return own, opened
	}
	if head.Size == tree.Size && head.Root != tree.Root {
		return own, refuted(&report.Error{Code: report.CodeLogForked, Expected: fmt.Sprintf("one root for %d leaves", tree.Size), Actual: "two, both signed"})
	}
	pin := trust.Pin{Origin: e.Origin, Genesis: e.Genesis, Foreign: p.Foreign()}
	r, err := FoldChain(c.Leaves, head, pin)
	if err != nil {
		return own, refuted(under("the caller's chain", err))
	}
	diverged := !alike(own, r)
	for v, leaf := range r.Leaves() { // a whole log has all that stand in it
		diverged = diverged || leaf < tree.Size && v >= len(own.Leaves())
	}
	if diverged {
		return own, refuted(&report.Error{Code: report.CodeRegistryDiverged, Expected: "the registry in the log and the caller's chain to begin alike", Actual: "two that do not"})
	}
	if further(r, own) {
		own = r
	}
	return own, verified("")
}

// placed says why the leaf's index is not proven, if it is not.
func (j *judge) placed() report.Check {
	if c := j.inclusion(); c.Answer != report.Verified {
		return waits(CheckInclusion)
	}
	if j.checkpoint.Answer != report.Verified {
		return waits(CheckCheckpoint)
	}
	return verified("")
}

// wrongRole refuses a key of the other role, whatever else is known about it.
func (j *judge) wrongRole(k signer) (report.Check, bool) {
	want := receipt.RoleFor(j.frame.Kind)
	if k.role == want {
		return report.Check{}, false
	}
	return refuted(&report.Error{
		Code: report.CodeKeyRole, Expected: fmt.Sprintf("a key of the role %s, which signs %s", want, j.frame.Kind), Actual: string(k.role),
	}), true
}

// listedAt is KEY-LISTED-AT: the registry as of the leaf's index lists the key
// in the role that signs this kind.
func (j *judge) listedAt() report.Check {
	if c := j.trusted(); c.Answer != report.Verified {
		return c
	}
	if j.frame == nil {
		return waits(CheckSchema)
	}
	if !j.o.Engines.PlainMode() && j.chain.Answer == report.Refuted {
		return j.chain
	}
	k, c := j.signer()
	if c.Answer == report.Verified {
		if wrong, is := j.wrongRole(k); is {
			return wrong
		}
	}
	if placed := j.placed(); placed.Answer != report.Verified {
		return placed
	}
	index := j.bundle.Proof.Index
	if j.o.Engines.PlainMode() {
		if c.Answer != report.Verified {
			return c
		}
		if line, _ := j.o.Engines.Key(k.id); !line.Covers(index) {
			return unchecked(report.CodeKeyOutOfRange, "an index that the key line covers", strconv.FormatUint(index, 10))
		}
		return verified("the caller's own word")
	}
	if j.registry == nil {
		return c
	}
	return j.listedIn(index)
}

func (j *judge) listedIn(index uint64) report.Check {
	id := keyOf(j.frame.Call.By)
	if err := goesOn(j.registry, j.head.Size); err != nil {
		return refuted(err)
	}
	if _, ok := j.registry.ListedAt(id, index); ok {
		return verified(j.shown(index))
	}
	k, ever := j.registry.Key(id)
	leaves := j.registry.Leaves()
	absent := func(actual string) report.Check {
		return refuted(&report.Error{Code: report.CodeKeyNotListed, Expected: fmt.Sprintf("a key listed at leaf %d", index), Actual: actual})
	}
	switch {
	case ever && leaves[k.Added] >= index:
		return absent(fmt.Sprintf("one that leaf %d added", leaves[k.Added]))
	case ever && k.Retired > 0:
		return absent(fmt.Sprintf("one that leaf %d retired", leaves[k.Retired]))
	case ever:
		return absent(fmt.Sprintf("one that leaf %d revoked", leaves[k.Revoked]))
	}
	if complete, _ := j.o.Engines.Complete(j.registry); complete && index <= j.o.Engines.AsOf {
		return absent("a key that no registry leaf lists")
	}
	return unchecked(report.CodeKeyUnknown, "a key of the registry chain, or a chain known complete", id.String())
}

// shown says by what a key is listed at index. A leaf that retires it may have
// been left out of a chain that ends below: each statement names the one before
// it and none names the one behind it.
func (j *judge) shown(index uint64) string {
	leaves := j.registry.Leaves()
	last := leaves[len(leaves)-1]
	by := fmt.Sprintf("by the registry chain up to version %d (leaf %d)", j.registry.Version(), last)
	switch {
	case last > index:
		return by + ", which goes on behind this index"
	case j.registryComplete().Answer == report.Verified:
		return by + fmt.Sprintf(", complete below tree size %d", j.o.Engines.AsOf)
	}
	return by + "; a later registry leaf below this index that was left out would change it: " + CheckRegistryComplete
}

// notDisowned is KEY-NOT-DISOWNED. A disowning leaf that is there refutes,
// whatever else is known.
func (j *judge) notDisowned() report.Check {
	k, c := j.signer()
	if c.Answer != report.Verified {
		return c
	}
	if j.o.Engines.PlainMode() {
		return verified("the caller's own word")
	}
	index := j.bundle.Proof.Index
	if from, disowned := j.registry.DisownedFrom(k.id); disowned && from <= index {
		return refuted(&report.Error{Code: report.CodeKeyDisowned, Expected: "a key whose leaf is not disowned", Actual: fmt.Sprintf("one disowned from leaf %d on", from)})
	}
	switch c := j.registryComplete(); {
	case c.Code == report.CodeRegistryOpen:
		return unchecked(report.CodeRegistryOpen, "every registry leaf there is, since a later one may disown this leaf", "a chain that may go on")
	case c.Answer != report.Verified:
		return waits(CheckRegistryComplete)
	}
	return verified(fmt.Sprintf("as of tree size %d", j.o.Engines.AsOf))
}

// registryComplete is REGISTRY-COMPLETE: every registry leaf below the as-of
// line is in the chain, and the receipt stands below it.
func (j *judge) registryComplete() report.Check {
	if c := j.trusted(); c.Answer != report.Verified {
		return c
	}
	e := j.o.Engines
	if e.PlainMode() {
		return verified("the caller's own word")
	}
	if j.registry == nil {
		if j.chain.Answer == report.Refuted {
			return waits("the registry chain")
		}
		return j.chain
	}
	if j.chainHead.Answer != report.Verified {
		return waits("the checkpoint of the registry chain")
	}
	complete, err := e.Complete(j.registry)
	switch {
	case err != nil:
		return refuted(err)
	case !e.HasAsOf:
		return unchecked(report.CodeRegistryOpen, "a whole-log audit, or an as-of line in the trust file", "neither")
	case j.bundle.Proof.Index >= e.AsOf:
		return unchecked(report.CodeRegistryOpen, fmt.Sprintf("a leaf below as-of %d", e.AsOf), strconv.FormatUint(j.bundle.Proof.Index, 10))
	case !complete:
		return unchecked(report.CodeRegistryOpen, "a chain up to the head that the as-of line names", fmt.Sprintf("version %d", j.registry.Version()))
	}
	return verified(fmt.Sprintf("by the as-of line, below tree size %d", e.AsOf))
}
