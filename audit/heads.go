package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// Names of the checks of two checkpoints (spec/report.md#checks).
const (
	CheckOlder       = "older"       // the checkpoint of the smaller tree is signed by a log of the policy
	CheckNewer       = "newer"       // that of the larger tree
	CheckConsistency = "consistency" // the smaller tree is a prefix of the larger
	CheckFirst       = "first"       // a checkpoint of a fork's evidence is signed by a log of the policy
	CheckSecond      = "second"      // the other
	CheckFork        = "fork"        // they cannot both be
)

// RequiredOfConsistency are the checks without which two checkpoints are not
// said to be of one growing tree.
func RequiredOfConsistency() []string {
	return []string{CheckOlder, CheckNewer, CheckPolicy, CheckConsistency}
}

// RequiredOfFork are the checks without which a fork is not proven.
func RequiredOfFork() []string { return []string{CheckFirst, CheckSecond, CheckFork} }

// Source is where a checkpoint stands: in an artifact, as bundle.ParseHead reads
// it, or in a site of tiles, from which a proof can be made.
type Source struct {
	Data []byte
	Site fs.FS // not nil: Data is not looked at
}

// head is one of two checkpoints.
type head struct {
	c      checkpoint.Checkpoint
	note   []byte
	growth *checkpoint.AddCheckpoint
	site   fs.FS
	read   report.Check // it was read, or why not
	signed report.Check
	opened *checkpoint.Opened
}

// open reads the checkpoint of a source and opens it under the policy. The
// error is one of reading that says nothing about the log.
func (s Source) open(p *trust.Policy) (*head, error) {
	h := &head{site: s.Site, read: verified("")}
	data := s.Data
	if s.Site != nil {
		var err error
		data, err = readFile(s.Site, "checkpoint", maxCheckpoint)
		if errors.Is(err, fs.ErrNotExist) {
			h.read = missing("checkpoint")
			return h, nil
		}
		if err != nil {
			return nil, err
		}
	}
	found, err := bundle.ParseHead(data)
	if err != nil {
		h.read = unread(err)
		return h, nil
	}
	h.note, h.growth = found.Checkpoint, found.Growth
	note, err := checkpoint.ParseNote(h.note)
	if err == nil {
		h.c, err = checkpoint.ParseBody(note.Text)
	}
	if err != nil {
		h.read = unread(err)
		return h, nil
	}
	h.opened, h.signed = bundle.OpenHead(h.note, h.c.Origin, p)
	return h, nil
}

// unread is the check of an artifact that a parser refused.
func unread(err error) report.Check {
	c := refuted(err)
	if c.Code == report.CodeInputEmpty || c.Code == report.CodeVersionUnknown {
		c.Answer = report.NotChecked
	}
	return c
}

// check is what the report says of one head.
func (h *head) check() report.Check {
	if h.read.Answer != report.Verified {
		return h.read
	}
	return h.signed
}

func (h *head) facts(r *report.Report, name string) {
	if h.read.Answer == report.Verified {
		r.AddFact(name, fmt.Sprintf("%s, size %d, root %s", h.c.Origin, h.c.Size, h.c.Root))
	}
}

// Consistency checks that of two checkpoints of one log the smaller tree is a
// prefix of the larger, whichever is given first. The proof is that of an
// add-checkpoint body which carries the larger, or is made from the tiles of
// its site; trees of one size need none. The error is one of reading.
func Consistency(one, two Source, p *trust.Policy) (*report.Report, error) {
	older, newer, err := openBoth(one, two, p)
	if err != nil {
		return nil, err
	}
	r := &report.Report{Command: "consistency"}
	older.facts(r, "older")
	newer.facts(r, "newer")
	add(r, CheckOlder, older.check())
	add(r, CheckNewer, newer.check())
	policy := waits(CheckNewer)
	if newer.opened != nil {
		policy = quorum(p.Evaluate(newer.opened))
	}
	add(r, CheckPolicy, policy)
	c, err := consistent(older, newer)
	if err != nil {
		return nil, err
	}
	add(r, CheckConsistency, c)
	if older.c.Origin != "" && newer.c.Origin != "" {
		r.Says = fmt.Sprintf("%s grew from %d to %d leaves, and nothing before changed", newer.c.Origin, older.c.Size, newer.c.Size)
	}
	for _, name := range RequiredOfConsistency() {
		r.Require(name)
	}
	return r, nil
}

func consistent(older, newer *head) (report.Check, error) {
	switch {
	case older.opened == nil:
		return waits(CheckOlder), nil
	case newer.opened == nil:
		return waits(CheckNewer), nil
	case older.c.Origin != newer.c.Origin:
		return unchecked(report.CodeLogOther, "two checkpoints of one log", fmt.Sprintf("%q and %q", older.c.Origin, newer.c.Origin)), nil
	case older.c.Size == newer.c.Size && older.c.Root == newer.c.Root:
		return verified("the same tree"), nil
	case older.c.Size == newer.c.Size:
		return refuted(&report.Error{
			Code: report.CodeLogForked, Expected: "one root of size " + strconv.FormatUint(older.c.Size, 10),
			Actual: fmt.Sprintf("%s and %s, both signed", older.c.Root, newer.c.Root), Fix: forkFix,
		}), nil
	case older.c.Size == 0:
		return verified("every tree extends the empty one"), nil
	case newer.growth != nil:
		return byProof(older, newer), nil
	case newer.site != nil:
		return byTiles(older, newer)
	}
	return unchecked(report.CodeProofNotGiven, fmt.Sprintf(`an add-checkpoint body of "old %d", or the site of the larger tree`, older.c.Size), "the checkpoint alone"), nil
}

func byProof(older, newer *head) report.Check {
	if newer.growth.Old != older.c.Size {
		return unchecked(report.CodeProofNotGiven, fmt.Sprintf("a proof from size %d", older.c.Size), fmt.Sprintf("one from size %d", newer.growth.Old))
	}
	if err := merkle.VerifyConsistency(older.c.Size, newer.c.Size, older.c.Root, newer.c.Root, newer.growth.Proof); err != nil {
		return refuted(err)
	}
	return verified(fmt.Sprintf("by a proof of %d hashes", len(newer.growth.Proof)))
}

// byTiles holds the older root against the tiles of the newer site.
func byTiles(older, newer *head) (report.Check, error) {
	root, _, c, err := prefix(newer, older.c.Size)
	if err != nil || c.Answer != report.Verified {
		return c, err
	}
	if root != older.c.Root {
		return refuted(&report.Error{
			Code: report.CodeLogForked, Expected: fmt.Sprintf("the root of size %d that the older checkpoint says: %s", older.c.Size, older.c.Root),
			Actual: fmt.Sprintf("%s, by the tiles of the newer one", root), Fix: forkFix,
		}), nil
	}
	return verified("by a proof from the tiles"), nil
}

const forkFix = "keep both: verify fork judges them"

// prefix makes from the site of h the root at a smaller size, and the proof that
// it is one of h's own tree. Tiles need not be those of its checkpoint: the
// check says whether they are.
func prefix(h *head, size uint64) (root merkle.Hash, proof []merkle.Hash, c report.Check, err error) {
	var reading error
	tiles := merkle.TileReader(h.c.Size, func(t merkle.Tile) ([]byte, error) {
		data, full, err := readTile(h.site, t)
		if err != nil {
			reading = &tileError{t.Path(), err}
			return nil, reading
		}
		whole := t
		if full {
			whole.Width = merkle.TileWidth
		}
		if err := merkle.CheckTile(whole, data); err != nil {
			return nil, err
		}
		return data[:t.Width*merkle.HashSize], nil
	})
	if root, err = merkle.Root(size, tiles); err == nil {
		proof, err = merkle.ConsistencyProof(size, h.c.Size, tiles)
	}
	var tile *tileError
	switch {
	case errors.As(reading, &tile) && errors.Is(tile.err, fs.ErrNotExist):
		return root, nil, missing(tile.path), nil
	case reading != nil:
		return root, nil, c, reading
	case err != nil:
		return root, nil, refuted(err), nil
	}
	if err := merkle.VerifyConsistency(size, h.c.Size, root, h.c.Root, proof); err != nil {
		return root, nil, refuted(&report.Error{Code: report.CodeTileMismatch, Expected: "tiles that lead to " + h.c.Root.String(), Actual: "others"}), nil
	}
	return root, proof, verified(""), nil
}

// tileError is a tile that could not be read.
type tileError struct {
	path string
	err  error
}

func (e *tileError) Error() string { return e.path + ": " + e.err.Error() }
func (e *tileError) Unwrap() error { return e.err }

// FindFork makes the evidence that two checkpoints contradict each other, where
// they do: both of one log and of one size, or the larger with a site that has
// another root at the size of the smaller. Nil where nothing is proven.
func FindFork(one, two Source, p *trust.Policy) (*bundle.Fork, error) {
	older, newer, err := openBoth(one, two, p)
	if err != nil {
		return nil, err
	}
	if c, err := consistent(older, newer); err != nil || c.Code != report.CodeLogForked {
		return nil, err
	}
	return evidence(older, newer)
}

// evidence is that of two heads that were found to contradict each other.
func evidence(older, newer *head) (*bundle.Fork, error) {
	f := &bundle.Fork{Checkpoints: [2][]byte{older.note, newer.note}, Grown: older.c.Size < newer.c.Size}
	if !f.Grown {
		return f, nil
	}
	var c report.Check
	var err error
	if f.Root, f.Proof, c, err = prefix(newer, older.c.Size); err == nil && c.Answer != report.Verified {
		err = &report.Error{Code: c.Code, Where: "tiles", Expected: c.Expected, Actual: c.Actual} // they changed meanwhile
	}
	return f, err
}

// openBoth returns the smaller tree first; where one of the two cannot be read,
// they stay in the order in which they were given.
func openBoth(one, two Source, p *trust.Policy) (older, newer *head, err error) {
	if older, err = one.open(p); err != nil {
		return nil, nil, err
	}
	if newer, err = two.open(p); err != nil {
		return nil, nil, err
	}
	if older.read.Answer == report.Verified && newer.read.Answer == report.Verified && older.c.Size > newer.c.Size {
		older, newer = newer, older
	}
	return older, newer, nil
}

// Fork checks evidence that a log signed two histories: verified says that it
// did. data is what ParseFork reads.
func Fork(data []byte, p *trust.Policy) *report.Report {
	r := &report.Report{Command: "fork"}
	f, err := bundle.ParseFork(data)
	if err != nil {
		add(r, CheckFirst, unread(err))
		add(r, CheckSecond, waits(CheckFirst))
		add(r, CheckFork, waits(CheckFirst))
		return requireFork(r)
	}
	return forked(r, f, p)
}

// ForkOf checks whether two checkpoints contradict each other as they stand:
// verified says that they do, refuted that they do not. The error is one of
// reading.
func ForkOf(one, two Source, p *trust.Policy) (*report.Report, error) {
	first, second, err := openBoth(one, two, p)
	if err != nil {
		return nil, err
	}
	c, err := consistent(first, second)
	if err != nil {
		return nil, err
	}
	r := &report.Report{Command: "fork"}
	if c.Code == report.CodeLogForked {
		f, err := evidence(first, second)
		if err != nil {
			return nil, err
		}
		return forked(r, f, p), nil
	}
	first.facts(r, "first")
	second.facts(r, "second")
	add(r, CheckFirst, first.check())
	add(r, CheckSecond, second.check())
	switch {
	case first.opened == nil:
		c = waits(CheckFirst)
	case second.opened == nil:
		c = waits(CheckSecond)
	case c.Answer == report.Verified:
		c = refuted(&report.Error{Code: report.CodeNotForked, Expected: "two checkpoints that cannot both be", Actual: "two of one growing tree"})
	default:
		c.Answer = report.NotChecked // a proof that fails proves nothing, one way or the other
	}
	add(r, CheckFork, c)
	return requireFork(r), nil
}

func forked(r *report.Report, f *bundle.Fork, p *trust.Policy) *report.Report {
	var heads [2]*head
	for i, name := range []string{CheckFirst, CheckSecond} {
		heads[i], _ = Source{Data: f.Checkpoints[i]}.open(p) // bytes are always read
		heads[i].facts(r, name)
		add(r, name, heads[i].check())
	}
	add(r, CheckFork, contradict(f, heads[0], heads[1]))
	r.Says = fmt.Sprintf("%s signed two histories of its first %d leaves", heads[0].c.Origin, heads[0].c.Size)
	return requireFork(r)
}

func contradict(f *bundle.Fork, first, second *head) report.Check {
	not := func(actual string) report.Check {
		return refuted(&report.Error{Code: report.CodeNotForked, Expected: "two checkpoints that cannot both be", Actual: actual})
	}
	switch {
	case first.opened == nil:
		return waits(CheckFirst)
	case second.opened == nil:
		return waits(CheckSecond)
	case first.c.Origin != second.c.Origin:
		return not(fmt.Sprintf("two logs: %q and %q", first.c.Origin, second.c.Origin))
	case !f.Grown && first.c.Root == second.c.Root:
		return not("the same tree twice")
	case !f.Grown:
		return report.Check{Answer: report.Verified, Code: report.CodeLogForked, Note: fmt.Sprintf("size %d has the roots %s and %s, both signed", first.c.Size, first.c.Root, second.c.Root)}
	case f.Root == first.c.Root:
		return not("a tree and one that extends it")
	}
	if err := merkle.VerifyConsistency(first.c.Size, second.c.Size, f.Root, second.c.Root, f.Proof); err != nil {
		return refuted(err)
	}
	return report.Check{Answer: report.Verified, Code: report.CodeLogForked, Note: fmt.Sprintf("the second has the root %s at size %d, and the first says %s", f.Root, first.c.Size, first.c.Root)}
}

func requireFork(r *report.Report) *report.Report {
	for _, name := range RequiredOfFork() {
		r.Require(name)
	}
	return r
}
