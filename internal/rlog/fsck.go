package rlog

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// Fsck is what a check of a whole directory found. It read what it counts, and
// says what it did not read.
type Fsck struct {
	Published Head // the checkpoint on disk; without a note where there is none
	Head      Head // the newest signed checkpoint; Published where the segments were not read

	Entries  uint64 // hashed again
	Bytes    uint64 // of these entries
	Tiles    uint64 // full tiles compared
	Partials uint64 // partial tiles and bundles compared
	Segments int    // read
	Groups   uint64 // the number of the last group record
	Indexed  uint64 // statements found in the index where they belong
	Covered  uint64 // the size that the index covers

	Problems []error  // what is wrong; none of it was changed
	Notes    []string // what is not wrong and worth knowing
	NotRead  []string // what was not read, and why
}

// CheckDirectory reads a whole log directory: every entry is hashed again, every
// tile, root and checkpoint compared, every record of the segments read, every
// statement looked up in cfg.Index. It changes nothing; where the log is open in
// another process the segments are not read. cfg is as for Open. progress, if not
// nil, is called now and then with how many entries of how many are done. The
// error is only for a check that could not begin.
func CheckDirectory(cfg Config, progress func(done, total uint64)) (*Fsck, error) {
	c, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	k := &fsck{Fsck: &Fsck{}, cfg: c, progress: progress}
	lock, err := c.FS.Lock(lockName)
	var held *durable.LockedError
	switch {
	case errors.As(err, &held):
		k.skip("segments and cut records", held.Error())
	case err != nil:
		return nil, lockError(c.FS.String()+"/"+lockName, err)
	default:
		defer lock.Close()
		k.segments()
	}
	k.site()
	k.index()
	return k.Fsck, nil
}

type fsck struct {
	*Fsck
	cfg      *Config
	progress func(done, total uint64)
	replay   *replay // nil where the segments were not read, or were not whole
}

func (k *fsck) problem(err error) { k.Problems = append(k.Problems, err) }

func (k *fsck) skip(what, why string) { k.NotRead = append(k.NotRead, what+": "+why) }

// segments reads them as a start would.
func (k *fsck) segments() {
	r := newReplay(k.cfg)
	if err := r.run(); err != nil {
		r.leaves.close()
		k.problem(err)
		k.skip("segments", "what stands behind the first problem in them was not read")
		return
	}
	k.replay = r
	k.Head = Head{Size: r.last.size, Root: r.last.root, Note: r.last.note}
	k.Segments, k.Groups = len(r.numbers), r.last.group
	if n := r.torn.end - r.torn.off; n > 0 {
		k.Notes = append(k.Notes, fmt.Sprintf("%s byte %d: a record that was never whole, of %d bytes: the next start cuts it",
			r.lastIn.name, r.torn.off, n))
	}
	if cuts, err := k.cfg.FS.ReadDir(cutDir); err == nil {
		for _, c := range cuts {
			k.skip(cutDir+"/"+c.Name(), "bytes cut from a segment, kept for a person")
		}
	}
}

// site reads what was published, entry by entry.
func (k *fsck) site() {
	var err error
	if k.Published, err = readCheckpoint(k.cfg); err != nil {
		k.problem(err)
		k.skip("tiles and bundles", "without a checkpoint nothing says what they should be")
		return
	}
	if k.Head.Note == nil {
		k.Head = k.Published
	}
	if k.Published.Note == nil {
		k.Notes = append(k.Notes, "no checkpoint was published yet")
		return
	}
	s := newSite(k.cfg.FS, siteDir)
	c := siteChecker{site: s, range_: new(merkle.Range)}
	err = c.whole(k.Published, k.entries)
	if err != nil {
		k.problem(err)
		// One damaged file does not hide the next: the tile says what the entries
		// of a damaged bundle must be.
		k.others(s, c.range_.Size())
	}
	k.Tiles, k.Partials = c.tiles, c.partial
	k.strays(s, siteDir)
}

// entries counts, and looks the statements of a bundle up.
func (k *fsck) entries(first uint64, entries [][]byte) error {
	for i, e := range entries {
		k.Entries++
		k.Bytes += uint64(len(e))
		k.lookup(first+uint64(i), e)
	}
	if k.progress != nil && first%(64*merkle.TileWidth) == 0 {
		k.progress(first, k.Published.Size)
	}
	return nil
}

// others goes on behind the first problem: every bundle against its own tile,
// every tile against the one above.
func (k *fsck) others(s *site, from uint64) {
	size := k.Published.Size
	for bundle := from/merkle.TileWidth + 1; bundle*merkle.TileWidth < size; bundle++ {
		t := merkle.Tile{Index: bundle, Width: merkle.TileWidthAt(0, bundle, size)}
		_, entries, err := s.bundle(bundle, t.Width)
		if err != nil {
			k.problem(err)
			continue
		}
		data, err := s.tile(t)
		if err != nil {
			k.problem(err)
			continue
		}
		if string(data) != string(merkle.AppendLeafTile(nil, entries)) {
			k.problem(damaged(s.name(merkle.EntriesPath(bundle, t.Width)), 0, "the entries that its tile is over", "others"))
		}
		_ = k.entries(bundle*merkle.TileWidth, entries)
	}
	k.skip("the root over all entries", "a bundle or tile before the end is damaged")
}

// strays walks the directory for what the published tree does not need: partial
// tiles of sizes that were published before, which must be prefixes, and what
// nobody put there.
func (k *fsck) strays(s *site, dir string) {
	entries, err := k.cfg.FS.ReadDir(dir)
	if err != nil {
		k.problem(ioError("list", dir, err))
		return
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			k.strays(s, name)
			continue
		}
		rel := strings.TrimPrefix(name, siteDir+"/")
		if rel == "checkpoint" {
			continue
		}
		t, isEntries, err := merkle.ParsePath(rel)
		switch {
		case strings.HasSuffix(rel, durable.TempSuffix):
			k.Notes = append(k.Notes, name+": left by a process that died; the next start writes over it")
		case err != nil:
			k.skip(name, "no tile, bundle or checkpoint has this name")
		case !t.In(k.Published.Size):
			k.skip(name, "beyond the published size: a process died while it wrote; the next start writes over it")
		case t.Width < merkle.TileWidthAt(t.Level, t.Index, k.Published.Size):
			k.older(s, t, isEntries, name)
		}
	}
}

// older compares a partial tile or bundle with the beginning of the wider one.
func (k *fsck) older(s *site, t merkle.Tile, isEntries bool, name string) {
	wide := t
	wide.Width = merkle.TileWidthAt(t.Level, t.Index, k.Published.Size)
	var have, want []byte
	var err1, err2 error
	if isEntries {
		have, _, err1 = s.bundle(t.Index, t.Width)
		want, _, err2 = s.bundle(wide.Index, wide.Width)
	} else {
		have, err1 = s.tile(t)
		want, err2 = s.tile(wide)
	}
	if err := errors.Join(err1, err2); err != nil {
		k.problem(err)
		return
	}
	if !strings.HasPrefix(string(want), string(have)) {
		k.problem(damaged(name, 0, "the beginning of the wider one", "other bytes"))
		return
	}
	k.Partials++
}

// lookup asks the index for the statement of a leaf.
func (k *fsck) lookup(index uint64, leaf []byte) {
	x := k.cfg.Index
	if x == nil {
		return
	}
	covered, _, err := x.Covered()
	if err != nil || index >= covered {
		return
	}
	c, err := k.cfg.Statement(leaf)
	if err != nil {
		k.problem(damaged(fmt.Sprintf("leaf %d", index), 0, "a leaf that names a statement", err.Error()))
		return
	}
	at, ok, err := x.Lookup(c)
	switch {
	case err != nil:
		k.problem(ioError("read", "index", err))
	case !ok:
		k.problem(indexError(fmt.Sprintf("statement of leaf %d", index), "in the index", "not in it"))
	case at != index:
		k.problem(indexError(fmt.Sprintf("statement of leaf %d", index), "that leaf, once",
			fmt.Sprintf("leaf %d by the index", at)))
	default:
		k.Indexed++
	}
}

func indexError(where, expected, actual string) error {
	return &report.Error{Code: report.CodeLogDamaged, Where: where, Expected: expected, Actual: actual,
		Fix: "if the leaves are right, make the index again with `logd reindex`"}
}

// index holds its coverage against the tree, and reads what only the segments
// have.
func (k *fsck) index() {
	x := k.cfg.Index
	if x == nil {
		k.skip("index", "none was given; nothing says whether a statement has two leaves")
	}
	if k.replay == nil {
		return
	}
	defer k.replay.leaves.close()
	size := k.Head.Size
	err := k.replay.eachBundle(k.Published.Size, size, k.entries)
	if err != nil {
		k.problem(err)
	}
	if x == nil {
		return
	}
	covered, root, err := x.Covered()
	if err != nil {
		k.problem(ioError("read", "index", err))
		return
	}
	k.Covered = covered
	if covered > size {
		k.problem(indexError("index", fmt.Sprintf("at most size %d", size), fmt.Sprint(covered)))
		return
	}
	want, err := merkle.Root(covered, k.replay.tree.node)
	if err != nil {
		k.problem(err)
		return
	}
	if covered > 0 && root != want {
		k.problem(indexError("index", "root "+want.String(), root.String()))
	}
	if covered < size {
		k.skip(fmt.Sprintf("%d statements", size-covered), "the index has not absorbed their leaves yet; the next start does")
	}
}
