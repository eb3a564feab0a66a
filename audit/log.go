package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// Bounds of one audit.
const (
	MaxStatements = 1 << 20 // statements held in memory to find one that stands twice
	piecesOfJob   = 2       // entry bundles looked at together, for each job
	bytesOfJob    = 1 << 20 // the same, in bytes
	maxCheckpoint = 1 << 20 // bytes of the checkpoint file
	maxBundleFile = 256 * (2 + merkle.MaxEntry)
)

// Runner calls fn with 0 to n-1, each once, in any order and at the same time
// if it likes, and returns when all calls did. An error says that it stopped
// early, and ends the audit with INTERRUPTED.
type Runner func(n int, fn func(i int)) error

// Serial runs one piece after another.
func Serial(n int, fn func(i int)) error {
	for i := range n {
		fn(i)
	}
	return nil
}

// Options is what the caller trusts and lends. Trust that is not given leaves
// checks not made.
type Options struct {
	Policy   *trust.Policy
	Engines  *trust.Engines
	Require  []string      // checks that become required, by name; Laws for all of them
	Registry *bundle.Chain // a later registry chain by the caller, for what was disowned since; nil: none
	// Successions lead from the log that Engines names to those that go on.
	Successions []*bundle.Succession
	Run         Runner                   // nil: Serial
	Jobs        int                      // pieces that Run works on at once, 0 for 1: what is held in memory grows with it
	Progress    func(done, total uint64) // called between windows; nil: not

	Now          int64                 // Unix ms, for what has expired; 0: the latest time of a cosignature
	Vocabularies []*receipt.Vocabulary // known besides the standard one, at most laws.MaxVocabularies-1
	HashesOnly   bool                  // read no entry: hashes, tiles and root, and who signed the checkpoint
	Only         *laws.Run             // hold this run to the laws and no other, and require them; nil: all runs

	// Since is an older checkpoint, in any artifact that bundle.ParseHead reads:
	// the log must have grown from it. Nil: not asked.
	Since []byte
	// Resume is how far an earlier audit came: signatures are not checked again,
	// and everything else is. Keep is called with how far this one came, between
	// windows; its error ends the audit.
	Resume *Resume
	Keep   func(Resume) error

	// MaxStatements and MaxState bound what is kept in memory: statements to find
	// one that stands twice, and bytes of records for the laws. 0 is
	// MaxStatements and laws.DefaultMaxState. Beyond them records go to sorters
	// of NewSorter; where that is nil, what needs them is not checked
	// (STATE-LIMIT). A sorter that returns INTERRUPTED ends the audit so.
	MaxStatements int
	MaxState      int64
	NewSorter     func() (laws.Sorter, error)

	pieces int // in a window; 0: as many as Jobs asks for
}

// Names of the checks of a log (spec/report.md#checks).
const (
	CheckCheckpoint = "checkpoint"
	CheckPolicy     = "policy"
	CheckEntries    = "entries"    // every entry hashes to its place in a level-0 tile
	CheckTiles      = "tiles"      // every tile above holds the hashes of the tiles below
	CheckRoot       = "root"       // the whole leads to the checkpoint's root
	CheckForm       = "form"       // every leaf is a canonical envelope
	CheckSchema     = "schema"     // of every statement
	CheckRegistry   = "registry"   // genesis and every later registry statement
	CheckSignatures = "signatures" // of every receipt
	CheckKeys       = "keys"       // every signer was listed at its leaf, in the role that signs this kind
	CheckOnce       = "once"       // no statement stands in two leaves
	CheckGrowth     = "growth"     // the log grew from the older checkpoint that the caller gave
)

// Required are the checks without which no log is verified. Under plain keys,
// registry is not among them.
func Required() []string {
	return []string{
		CheckCheckpoint, CheckPolicy, CheckEntries, CheckTiles, CheckRoot,
		CheckForm, CheckSchema, CheckRegistry, CheckSignatures, CheckKeys, CheckOnce,
	}
}

// requiredOfHashes are the checks of Required that read no entry.
func requiredOfHashes() []string {
	return []string{CheckCheckpoint, CheckPolicy, CheckEntries, CheckTiles, CheckRoot}
}

// auditor holds one audit. Only the goroutine of Log touches it; pieces have
// state of their own.
type auditor struct {
	site     fs.FS
	o        Options
	head     checkpoint.Checkpoint
	edge     edge
	registry *trust.Registry
	later    *trust.Registry // registry, or what the caller's chain adds to it

	succession report.Check     // of the caller's successions; without a code: there are none
	ended      *bundle.Followed // where one says that this log ended
	broken     bool             // the registry chain did not hold, so that nothing behind is known
	found      findings
	tally      tally
	seen       statements

	opened   *checkpoint.Opened // the checkpoint is the log's own; nil where that was not verified
	cosigned []laws.Cosigned
	resume   resuming
	read     reading
	laws     *laws.Check
	signers  []dsse.KeyID // by number
	numbers  map[dsse.KeyID]uint32
}

// Log audits the site, which lies at the root of fsys: "checkpoint",
// "tile/entries/…", "tile/0/…". Errors are those of reading that say nothing
// about the log; a file that is not there is an answer.
func Log(fsys fs.FS, o Options) (*report.Report, error) {
	if o.Run == nil {
		o.Run = Serial
	}
	o.Jobs = max(o.Jobs, 1)
	if o.MaxStatements == 0 {
		o.MaxStatements = MaxStatements
	}
	a := &auditor{
		site: fsys, o: o, found: findings{}, tally: tally{}, numbers: map[dsse.KeyID]uint32{},
		seen: statements{limit: o.MaxStatements, newSorter: o.NewSorter},
	}
	r := &report.Report{Command: "log"}
	if o.Only != nil {
		r.Command = "run"
	}
	checkpointCheck, policyCheck, err := a.readHead(r)
	if err != nil {
		return nil, err
	}
	add(r, CheckCheckpoint, checkpointCheck)
	add(r, CheckPolicy, policyCheck)
	if a.head.Origin == "" {
		for _, name := range Required()[2:] {
			add(r, name, waits(CheckCheckpoint))
		}
		a.concludeResume(r, false)
		err = errors.Join(a.concludeGrowth(r, false), a.concludeLaws(r, false, false))
	} else {
		err = a.audit(r)
	}
	if err != nil {
		return nil, err
	}
	a.require(r)
	return r, nil
}

// CheckArchive is the check of an archive that holds the site; there is none
// where it could be read.
const CheckArchive = "archive"

// NoArchive is the report of a site in an archive that could not be read as one,
// for the reason that err gives.
func NoArchive(err error, o Options) *report.Report {
	a := &auditor{o: o}
	r := &report.Report{Command: "log"}
	if o.Only != nil {
		r.Command = "run"
	}
	add(r, CheckArchive, unread(err))
	r.Require(CheckArchive)
	for _, name := range append(Required(), LawChecks()...) {
		c := waits(CheckArchive)
		c.Law = strings.HasPrefix(name, "law-")
		add(r, name, c)
	}
	a.require(r)
	return r
}

// audit goes over the leaves that the checkpoint promises.
func (a *auditor) audit(r *report.Report) (err error) {
	a.cosigned = a.cosignedAt()
	a.beginResume()
	if err := a.holdLaws(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.laws.Close(), a.seen.close()) }()
	interrupted, err := a.walk()
	if err != nil {
		return err
	}
	return a.conclude(r, interrupted)
}

func add(r *report.Report, name string, c report.Check) {
	c.Name = name
	r.Add(c)
}

func waits(on string) report.Check {
	return report.Check{Code: report.CodeNotReached, Expected: on + " verified first"}
}

func (a *auditor) require(r *report.Report) {
	names := append(Required(), a.o.Require...)
	if a.o.HashesOnly {
		names = append(requiredOfHashes(), a.o.Require...)
	}
	if a.o.Only != nil || slices.Contains(names, Laws) {
		names = append(names, LawChecks()...)
	}
	for _, name := range names {
		if name == CheckRegistry && a.o.Engines != nil && a.o.Engines.PlainMode() && !slices.Contains(a.o.Require, name) {
			continue
		}
		r.Require(name)
	}
}

// readHead reads the checkpoint and opens it under the policy.
func (a *auditor) readHead(r *report.Report) (head, policy report.Check, err error) {
	b, err := readFile(a.site, "checkpoint", maxCheckpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return a.noCheckpoint(), waits(CheckCheckpoint), nil
	}
	if err != nil {
		return head, policy, err
	}
	if len(b) == 0 {
		return report.Check{Code: report.CodeInputEmpty, Expected: "a checkpoint", Actual: "0 bytes"}, waits(CheckCheckpoint), nil
	}
	note, err := checkpoint.ParseNote(b)
	if err != nil {
		return refuted(err), waits(CheckCheckpoint), nil
	}
	c, err := checkpoint.ParseBody(note.Text)
	if err != nil {
		return refuted(err), waits(CheckCheckpoint), nil
	}
	a.head = c
	r.AddFact("log", c.Origin)
	r.AddFact("size", strconv.FormatUint(c.Size, 10))
	r.AddFact("root", c.Root.String())
	var o bundle.Options
	o, a.ended, a.succession = bundle.Options{Policy: a.o.Policy, Engines: a.o.Engines, Successions: a.o.Successions}.Follow(c.Origin)
	a.o.Policy, a.o.Engines = o.Policy, o.Engines
	if a.opened, head = bundle.OpenHead(b, c.Origin, a.o.Policy); a.opened == nil {
		if head.Code == report.CodePolicyNotGiven {
			return head, head, nil
		}
		return head, waits(CheckCheckpoint), nil
	}
	if n := a.opened.Unknown; n > 0 {
		r.Ignored = append(r.Ignored, fmt.Sprintf("%d signature lines of the checkpoint, by keys that the policy does not list", n))
	}
	return head, quorum(a.o.Policy.Evaluate(a.opened)), nil
}

// noCheckpoint says where one would be, if the directory is that of a logd.
func (a *auditor) noCheckpoint() report.Check {
	c := missing("checkpoint")
	for _, dir := range []string{"site", "log/site"} {
		if _, err := fs.Stat(a.site, dir+"/checkpoint"); err == nil {
			c.Note = "there is one in " + dir + " below this directory, and that is the one to name"
		}
	}
	return c
}

func quorum(q trust.Quorum) report.Check {
	switch {
	case q.None:
		return verified(`the policy asks for no cosignature ("quorum none"): this is the log's word alone`)
	case q.Met:
		return verified(fmt.Sprintf("cosigned by %d of %d known witnesses", len(q.Cosigned), q.Witnesses))
	}
	return unchecked(report.CodeQuorumUnmet, "quorum "+q.Rule, fmt.Sprintf("cosignatures of %d of %d known witnesses", len(q.Cosigned), q.Witnesses))
}

// walk goes over the log from left to right. Three windows are on their way at
// once, so that no processor waits for what has an order: the pieces of the first
// are taken one after the other while the signatures of the second are checked
// and the third is read.
func (a *auditor) walk() (interrupted bool, err error) {
	pieces := (a.head.Size + merkle.TileWidth - 1) / merkle.TileWidth
	var first, second, third []*piece
	for next := uint64(0); ; {
		first, second, third = second, third, nil
		if next < pieces {
			if third, err = a.window(next, pieces); err != nil {
				return false, err
			}
			next += uint64(len(third))
		}
		if len(first)+len(second)+len(third) == 0 {
			return false, nil
		}
		if interrupted, err = a.step(first, second, third); interrupted || err != nil {
			return interrupted, err
		}
		// A bundle that is not there ends the walk: nothing behind it can be
		// held against the root, and a size costs nothing to claim.
		if a.edge.lost {
			return false, nil
		}
		if n := len(first); n > 0 && a.o.Progress != nil {
			a.o.Progress(first[n-1].first+uint64(first[n-1].width), a.head.Size)
		}
	}
}

// step takes the first window, verifies the second and reads the third, and then
// folds what the third says of the registry.
func (a *auditor) step(first, second, third []*piece) (interrupted bool, err error) {
	trusted := a.keys() // nothing is folded while it is used
	for _, p := range second {
		p.skip = a.resume.skips(p)
	}
	var failed error
	if a.o.Run(1+len(second)+len(third), func(i int) {
		switch i--; {
		case i < 0:
			failed = a.takeAll(first)
		case i < len(second):
			second[i].verify(trusted)
		default:
			third[i-len(second)].read(a.site)
		}
	}) != nil {
		return true, nil
	}
	if failed != nil || a.edge.lost {
		return false, failed
	}
	for _, p := range third {
		if p.err != nil {
			return false, p.err
		}
		a.foldPiece(p)
	}
	return false, nil
}

func (a *auditor) takeAll(pieces []*piece) error {
	for _, p := range pieces {
		if err := a.take(p); err != nil {
			return err
		}
	}
	return nil
}

// window returns the next pieces, by the size of their files.
func (a *auditor) window(next, pieces uint64) ([]*piece, error) {
	var out []*piece
	most := a.o.pieces
	if most == 0 {
		most = piecesOfJob * a.o.Jobs
	}
	for bytes := int64(0); next < pieces && len(out) < most; next++ {
		p := newPiece(next, a.head.Size)
		p.closed = a.o.HashesOnly
		st, err := fs.Stat(a.site, merkle.EntriesPath(p.index, p.width))
		switch {
		case err == nil:
			bytes += st.Size()
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		if len(out) > 0 && bytes > bytesOfJob*int64(a.o.Jobs) {
			break
		}
		out = append(out, p)
	}
	return out, nil
}

// take adds what one piece found, in order, and holds it against the tiles
// above.
func (a *auditor) take(p *piece) error {
	a.found.merge(p.found)
	a.tally.merge(p.tally)
	if err := a.seen.add(p.first, p.statements); err != nil {
		return err
	}
	if p.hashes == nil {
		a.edge.lost = true
		return nil
	}
	a.read.add(p)
	if err := a.addToLaws(p); err != nil {
		return err
	}
	if err := a.edge.append(a.site, p.hashes, a.found); err != nil {
		return err
	}
	return a.passed(p.first + uint64(p.width))
}

// reading counts what an audit read.
type reading struct {
	entries, bytes, checked, skipped uint64
}

func (r *reading) add(p *piece) {
	r.entries += uint64(p.width)
	r.bytes += p.bytes
	r.checked += p.checked
	r.skipped += p.skipped
}

// of says how much of a log of size leaves was read, and what was left out.
func (r reading) of(size uint64) string {
	s := strconv.FormatUint(r.entries, 10)
	if r.entries < size {
		s += fmt.Sprintf(" of %d", size)
	}
	s += fmt.Sprintf(" entries, %d bytes of entries and of their hashes, %d signatures", r.bytes, r.checked)
	if r.skipped > 0 {
		s += fmt.Sprintf("; %d signatures were checked before, by the state", r.skipped)
	}
	return s
}
