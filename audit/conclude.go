package audit

import (
	"fmt"
	"strconv"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// keys says what the receipts of the window are held against, after its
// registry leaves were folded.
func (a *auditor) keys() keys {
	e := a.o.Engines
	switch {
	case e == nil:
		return keys{why: unchecked(report.CodeTrustNotGiven, "an engine trust file", "none")}
	case e.Origin != a.head.Origin:
		return keys{why: unchecked(report.CodeLogOther, "the log "+e.Origin, strconv.Quote(a.head.Origin))}
	case e.PlainMode():
		return keys{plain: e}
	case a.registry == nil || a.broken:
		return keys{why: waits(CheckRegistry)}
	}
	return keys{registry: a.registry}
}

// foldPiece folds the registry leaves of a piece, in order.
func (a *auditor) foldPiece(p *piece) {
	e := a.o.Engines
	if e == nil || e.Origin != a.head.Origin || e.PlainMode() || a.broken || a.o.HashesOnly {
		return
	}
	if p.hashes == nil { // not read, so its registry leaves are not known
		a.broken = true
		a.found.add(CheckRegistry, "", waits(CheckEntries))
		return
	}
	if p.first == 0 && (len(p.leaves) == 0 || p.leaves[0].index != 0 || p.leaves[0].kind != registryLeaf) {
		a.breakAt(0, refuted(&report.Error{Code: report.CodeRegistryPlace, Expected: "the genesis statement at leaf 0", Actual: "something else"}))
		return
	}
	for _, l := range p.leaves {
		if l.kind != registryLeaf {
			continue
		}
		if !trust.IsRegistryType(l.env.Type) {
			a.breakAt(l.index, unchecked(report.CodeVersionUnknown, dsse.RegistryType, l.env.Type))
			return
		}
		next, err := a.foldLeaf(l)
		if err != nil {
			a.breakAt(l.index, refuted(err))
			return
		}
		a.registry = next
	}
}

func (a *auditor) foldLeaf(l leaf) (*trust.Registry, error) {
	if a.registry != nil {
		return a.registry.Apply(l.env, l.index)
	}
	pin := trust.Pin{Origin: a.o.Engines.Origin, Genesis: a.o.Engines.Genesis}
	if a.o.Policy != nil {
		pin.Foreign = a.o.Policy.Foreign()
	}
	return trust.Genesis(l.env, l.index, pin)
}

// breakAt ends the registry: who is listed behind this leaf is not known.
func (a *auditor) breakAt(index uint64, c report.Check) {
	a.broken = true
	a.found.add(CheckRegistry, at(index), c)
}

// conclude turns what was found into checks and facts.
func (a *auditor) conclude(r *report.Report, interrupted bool) error {
	check := func(name, held string) report.Check {
		c := a.found.check(name, held)
		if interrupted && c.Answer != report.Refuted {
			return stopped()
		}
		return c
	}
	root, err := stopped(), error(nil)
	if !interrupted {
		if root, err = a.root(); err != nil {
			return err
		}
	}
	// What could not be read was not checked either.
	unread := func(name, held string) report.Check {
		c := check(name, held)
		if a.edge.lost && c.Answer == report.Verified {
			return waits(CheckEntries)
		}
		return c
	}
	add(r, CheckEntries, check(CheckEntries, "every entry hashed again"))
	add(r, CheckTiles, unread(CheckTiles, ""))
	add(r, CheckRoot, root)
	if a.o.HashesOnly {
		return a.concludeHashes(r, interrupted)
	}
	add(r, CheckForm, unread(CheckForm, ""))
	add(r, CheckSchema, unread(CheckSchema, ""))
	add(r, CheckRegistry, a.registryCheck(r, unread))
	a.concludeSuccession(r)
	signatures := unread(CheckSignatures, "")
	if a.resume.check.Answer == report.Refuted && signatures.Answer == report.Verified {
		signatures = waits(CheckResume) // those that were skipped are of other leaves
	}
	add(r, CheckSignatures, signatures)
	add(r, CheckKeys, unread(CheckKeys, ""))
	once, err := a.once(unread)
	if err != nil {
		return err
	}
	add(r, CheckOnce, once)
	a.concludeResume(r, interrupted)
	if err := a.concludeGrowth(r, interrupted); err != nil {
		return err
	}
	r.Says = fmt.Sprintf("a log of %d leaves", a.head.Size)
	if run := a.o.Only; run != nil {
		r.Says = fmt.Sprintf("run %s of %s in %s", run.Name, run.Principal, r.Says)
	}
	r.AddFact("read", a.read.of(a.head.Size))
	if len(a.tally) > 0 {
		r.AddFact("leaves", a.tally.String())
	}
	if a.registry != nil {
		r.AddFact("registry", fmt.Sprintf("version %d, statement %s", a.registry.Version(), a.registry.Head()))
		r.AddFact("keys", strconv.Itoa(len(a.registry.Keys())))
		for _, k := range a.registry.Keys() {
			if from, disowned := a.known().DisownedFrom(k.ID); disowned {
				r.AddFact("disowned", fmt.Sprintf("%s %s, key %s, from leaf %d on", k.Role, k.Name, k.ID, from))
			}
		}
	}
	return a.concludeLaws(r, root.Answer == report.Verified, interrupted)
}

// concludeHashes ends the report of an audit that read no entry.
func (a *auditor) concludeHashes(r *report.Report, interrupted bool) error {
	notAsked := unchecked(report.CodeNotAsked, "an audit that reads entries", "one of hashes alone")
	for _, name := range Required()[len(requiredOfHashes()):] {
		add(r, name, notAsked)
	}
	a.concludeResume(r, interrupted)
	if err := a.concludeGrowth(r, interrupted); err != nil {
		return err
	}
	r.Says = fmt.Sprintf("a log of %d leaves, by their hashes; no receipt was looked at", a.head.Size)
	r.AddFact("read", a.read.of(a.head.Size))
	notAsked.Law = true
	for _, name := range LawChecks() {
		add(r, name, notAsked)
	}
	return nil
}

func stopped() report.Check {
	return unchecked(report.CodeInterrupted, "the whole log", "a part of it")
}

// root holds the right edge against the checkpoint, and the partial tiles of
// the site against the right edge.
func (a *auditor) root() (report.Check, error) {
	if a.edge.lost {
		return waits(CheckEntries), nil
	}
	root, err := a.edge.finish(a.site, a.head.Size, a.found)
	if err != nil {
		return report.Check{}, err
	}
	if root != a.head.Root {
		return refuted(&report.Error{Code: report.CodeRootMismatch, Expected: a.head.Root.String(), Actual: root.String()}), nil
	}
	return verified(""), nil
}

// concludeGrowth holds the log against the older checkpoint, if there is one.
func (a *auditor) concludeGrowth(r *report.Report, interrupted bool) error {
	if a.o.Since == nil {
		return nil
	}
	older, err := Source{Data: a.o.Since}.open(a.o.Policy)
	if err != nil {
		return err
	}
	older.facts(r, "since")
	c := older.check()
	if c.Answer == report.Verified {
		newer := &head{c: a.head, opened: a.opened, site: a.site}
		switch {
		case interrupted:
			c = stopped()
		case a.opened == nil:
			c = waits(CheckCheckpoint)
		case older.c.Size > a.head.Size:
			c = unchecked(report.CodeProofRange, fmt.Sprintf("a checkpoint of at most %d leaves", a.head.Size), strconv.FormatUint(older.c.Size, 10))
		default:
			if c, err = consistent(older, newer); err != nil {
				return err
			}
		}
	}
	add(r, CheckGrowth, c)
	r.Require(CheckGrowth)
	return nil
}

func (a *auditor) registryCheck(r *report.Report, check func(name, held string) report.Check) report.Check {
	k := a.keys()
	if a.o.Registry != nil && k.registry == nil {
		r.Ignored = append(r.Ignored, "the caller's registry chain: the log's own did not come from a genesis that a trust file pins")
	}
	switch {
	case a.head.Size == 0:
		return unchecked(report.CodeLogEmpty, "the genesis statement at leaf 0", "no leaf")
	case k.plain != nil:
		return unchecked(report.CodeTrustNotGiven, "a trust file that pins the genesis", "plain keys")
	case a.registry == nil && !a.broken:
		return k.why
	}
	c := check(CheckRegistry, "complete as of this tree size")
	if c.Answer != report.Verified {
		return c
	}
	if z, frozen := a.registry.Frozen(); frozen && z.Leaf+1 < a.head.Size {
		return refuted(&report.Error{Code: report.CodeLogFrozen, Expected: fmt.Sprintf("nothing behind leaf %d, which froze the log", z.Leaf), Actual: fmt.Sprintf("a tree of %d leaves", a.head.Size)})
	}
	if a.o.Engines.HasAsOf {
		if _, err := a.o.Engines.Complete(a.registry); err != nil {
			return refuted(err)
		}
	}
	return a.callersChain(r, c)
}

// callersChain folds the caller's registry chain beside the log's own, where c is
// what the log's own came to.
func (a *auditor) callersChain(r *report.Report, c report.Check) report.Check {
	if a.o.Registry == nil {
		return c
	}
	var used report.Check
	a.later, used = bundle.Later(a.registry, a.head, a.o.Registry, a.o.Policy, a.o.Engines)
	switch {
	case used.Answer == report.Refuted:
		return used
	case used.Answer == report.NotChecked:
		r.Ignored = append(r.Ignored, fmt.Sprintf("the caller's registry chain: %s, expected %s, got %s", used.Code, used.Expected, used.Actual))
	case a.later != a.registry:
		c.Note += fmt.Sprintf("; the caller's chain goes on to version %d", a.later.Version())
	}
	return c
}

// concludeSuccession adds the check of the caller's successions, and how the log
// ended or began.
func (a *auditor) concludeSuccession(r *report.Report) {
	if a.registry != nil {
		if p, ok := a.registry.Predecessor(); ok {
			r.AddFact("predecessor", fmt.Sprintf("%s, which ended with %d leaves", p.Log, p.Size))
		}
		if z, ok := a.registry.Frozen(); ok {
			goesOn := "and nobody is named who goes on"
			if z.Heir != nil {
				goesOn = "and " + z.Heir.Log + " goes on"
			}
			r.AddFact("frozen", fmt.Sprintf("by leaf %d, %s", z.Leaf, goesOn))
		}
	}
	if len(a.o.Successions) == 0 {
		return
	}
	c := a.succession
	switch {
	case c.Code == "":
		c = unchecked(report.CodeTrustNotGiven, "an engine trust file", "none")
	case a.ended != nil && a.head.Size > a.ended.From.Size:
		c = refuted(&report.Error{Code: report.CodeLogEnded, Expected: fmt.Sprintf("a tree of at most %d leaves, with which the log ended", a.ended.From.Size), Actual: strconv.FormatUint(a.head.Size, 10)})
	}
	add(r, bundle.CheckSuccession, c)
	r.Require(bundle.CheckSuccession)
}

// once looks for a statement that stands in two leaves.
func (a *auditor) once(check func(name, held string) report.Check) (report.Check, error) {
	c := check(CheckOnce, "")
	if c.Answer != report.Verified {
		return c, nil
	}
	if a.seen.over {
		return unchecked(report.CodeLawStateLimit, fmt.Sprintf("at most %d leaves", a.seen.limit), strconv.FormatUint(a.head.Size, 10)), nil
	}
	one, two, twice, err := a.seen.twice()
	switch {
	case err != nil && report.CodeOf(err) == report.CodeInterrupted:
		return stopped(), nil
	case err != nil:
		return c, err
	case twice:
		return refuted(&report.Error{Code: report.CodeStatementTwice, Expected: "each statement in one leaf", Actual: fmt.Sprintf("one in leaves %d and %d", one, two)}), nil
	}
	return verified(""), nil
}
