package rlog

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// replay reads a directory: the right edge of its site, and the segments behind
// it. It changes nothing on disk. It is for one goroutine.
type replay struct {
	*contents
	cfg *Config

	published Head // the checkpoint on disk; without a note where there is none

	numbers  []uint64 // the segments, ascending
	segments []segmentEnd
	base     uint64 // the first leaf in the segments
	baseRoot merkle.Hash
	last     found    // the last valid record; its bytes are a copy
	lastIn   *scanner // the segment it stands in
	torn     torn     // what stands behind it, in the last segment
}

// segmentEnd is the tree at the end of a segment.
type segmentEnd struct {
	number uint64
	size   uint64
	root   merkle.Hash
}

func newReplay(cfg *Config) *replay { return &replay{contents: newContents(cfg), cfg: cfg} }

// listSegments returns the numbers of the segments under their final names.
func listSegments(cfg *Config) ([]uint64, error) {
	entries, err := cfg.FS.ReadDir(segmentsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ioError("list", segmentsDir, err)
	}
	var out []uint64
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), tempExt) {
			continue
		}
		n, ok := parseSegmentName(e.Name())
		if !ok || e.IsDir() {
			return nil, &report.Error{Code: report.CodeLogDamaged, Where: segmentsDir + "/" + e.Name(),
				Expected: "segments only", Actual: "another name", Fix: "move it out of the directory"}
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return out, nil
}

// run reads all. After an error the replay is of no use but for leaves.close.
func (r *replay) run() error {
	var err error
	if r.numbers, err = listSegments(r.cfg); err != nil {
		return err
	}
	if r.published, err = readCheckpoint(r.cfg); err != nil {
		return err
	}
	if len(r.numbers) == 0 {
		if r.published.Note != nil {
			return lost("segments", "at least one segment", "restore them; a checkpoint was published")
		}
		return &report.Error{Code: report.CodeLogAbsent, Where: r.cfg.FS.String(), Expected: "a log",
			Actual: "no segment", Fix: "make one with `logd init`, or name the right directory"}
	}
	for i, n := range r.numbers {
		if err := r.segment(n, i == len(r.numbers)-1); err != nil {
			return err
		}
		end := segmentEnd{number: n}
		if r.last.record != nil {
			end.size, end.root = r.last.size, r.last.root
		}
		r.segments = append(r.segments, end)
	}
	for i := range r.segments { // superseded before the first record that counts
		if s := &r.segments[i]; s.size == 0 {
			s.size, s.root = r.base, r.baseRoot
		}
	}
	if err := r.checkLast(); err != nil {
		return err
	}
	return r.checkPublished()
}

// readCheckpoint reads the checkpoint that the site publishes.
func readCheckpoint(cfg *Config) (Head, error) {
	note, err := durable.ReadFile(cfg.FS, checkpointFile, 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return Head{}, nil
	}
	if err != nil {
		return Head{}, ioError("read", checkpointFile, err)
	}
	o, err := checkpoint.Open(note, []checkpoint.VKey{cfg.Signer.Key})
	switch {
	case report.CodeOf(err) == report.CodeCheckpointUnsigned || err == nil && o.Origin != cfg.Origin:
		return Head{}, &report.Error{Code: report.CodeLogForeign, Where: checkpointFile,
			Expected: "a checkpoint of " + cfg.Signer.Key.String(), Actual: "one of another key or origin",
			Fix: "use the key that the log was made with; a new key is a new log"}
	case err != nil:
		return Head{}, damaged(checkpointFile, 0, "a signed checkpoint", err.Error())
	}
	return Head{Size: o.Size, Root: o.Root, Note: note}, nil
}

// checkPublished holds the segments against the checkpoint on disk: nothing
// below it is ever cut or missing.
func (r *replay) checkPublished() error {
	p := r.published
	if p.Note == nil {
		return nil
	}
	if p.Size > r.last.size {
		return lost("behind "+r.lastIn.name, fmt.Sprintf("groups up to size %d, which was published", p.Size),
			"put back what is missing; this log cannot go on without it")
	}
	root, err := merkle.Root(p.Size, r.tree.node)
	if err != nil {
		return err
	}
	if root != p.Root {
		return &report.Error{Code: report.CodeLogRollback, Where: checkpointFile, Expected: "root " + root.String(),
			Actual: p.Root.String(), Fix: "the segments and the site are of two histories; restore both from one"}
	}
	r.written(p.Size)
	return nil
}

// begin takes the first record of the first segment as where the log's segments
// begin: what stands before it was dropped, and must be on disk in the site.
func (r *replay) begin(name string, f found) error {
	whole := r.published.Size - r.published.Size%merkle.TileWidth
	if f.first > whole {
		return lost("before "+name, fmt.Sprintf("the entries from %d on, of which the site has %d", whole, whole),
			"put the segments before it back")
	}
	r.base = f.first
	r.last = found{record: &record{recordHeader: recordHeader{group: f.group - 1, size: f.first}}, sum: f.prev}
	if r.published.Size > 0 {
		if err := r.tree.restore(r.published.Size, r.published.Root, f.first); err != nil {
			return err
		}
	}
	r.baseRoot = r.tree.edge.Root()
	return nil
}

// segment replays one segment, up to the record that the next one begins with.
func (r *replay) segment(number uint64, isLast bool) error {
	s, err := openScanner(r.cfg.FS, number, r.cfg.Origin)
	if err != nil {
		return err
	}
	r.leaves.open(number, s.file)
	until, from := ^uint64(0), number
	if !isLast {
		if until, from, err = r.firstGroup(number); err != nil {
			return err
		}
	}
	first := true
	for {
		h, ok, err := s.peek()
		if err != nil {
			return err
		}
		if ok && h.group >= until && (first || h.group == r.last.groupOrZero()+1) {
			return nil // superseded from here on
		}
		f, ok, err := s.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := r.record(s, f, first); err != nil {
			return err
		}
		first = false
	}
	if next := r.after(number); r.last.groupOrZero()+1 < until && len(next) > 0 && next[0] != from {
		return damaged(segmentName(next[0]), segmentHeaderSize, "a whole record, as every segment begins with", "none")
	}
	return r.end(s, first, isLast, until)
}

// after returns the segments behind number.
func (r *replay) after(number uint64) []uint64 {
	i, _ := slices.BinarySearch(r.numbers, number+1)
	return r.numbers[i:]
}

// end judges the place where no further record stands in a segment.
func (r *replay) end(s *scanner, empty, isLast bool, until uint64) error {
	if r.last.groupOrZero()+1 >= until {
		return nil // the next segment begins with the next record
	}
	if empty {
		return damaged(s.name, s.off, "a whole record, as every segment begins with", "none")
	}
	if isLast {
		var err error
		r.torn, err = s.tail(r.last)
		return err
	}
	end, err := s.lastNonZero()
	if err != nil {
		return err
	}
	if end > s.off {
		return damaged(s.name, s.off, fmt.Sprintf("a whole record of group %d", r.last.group+1), "a damaged one")
	}
	return lost("behind "+s.name, fmt.Sprintf("groups %d to %d", r.last.group+1, until-1),
		"put the missing segment back; this log cannot go on without it")
}

// firstGroup returns the group that the segments behind number begin with, and
// which of them does. A segment in between that does not begin with a whole
// record is passed over, since it may be superseded in turn.
func (r *replay) firstGroup(number uint64) (group, from uint64, err error) {
	for _, n := range r.after(number) {
		group, ok, err := r.peekGroup(n)
		if ok || err != nil {
			return group, n, err
		}
	}
	return 0, 0, damaged(segmentName(r.numbers[len(r.numbers)-1]), segmentHeaderSize,
		"a whole record, as every segment begins with", "none")
}

func (r *replay) peekGroup(number uint64) (group uint64, ok bool, err error) {
	s, err := openScanner(r.cfg.FS, number, r.cfg.Origin)
	if err != nil {
		return 0, false, err
	}
	defer s.file.Close()
	h, ok, err := s.peek()
	return h.group, ok, err
}

// record checks that f continues the log, and takes it in.
func (r *replay) record(s *scanner, f found, firstOfSegment bool) error {
	if r.last.record == nil {
		if err := r.begin(s.name, f); err != nil {
			return err
		}
	}
	want := r.last.group + 1
	if f.group != want || f.prev != r.last.sum || f.first != r.last.size {
		if firstOfSegment && f.group > want {
			return lost("before "+s.name, fmt.Sprintf("groups %d to %d", want, f.group-1),
				"put the missing segment back; this log cannot go on without it")
		}
		return damaged(s.name, f.at, fmt.Sprintf("group %d, continuing the one before", want),
			fmt.Sprintf("group %d", f.group))
	}
	for _, leaf := range f.leaves {
		r.tree.append(merkle.LeafHash(leaf))
	}
	if got := r.tree.edge.Root(); got != f.root {
		return damaged(s.name, f.at, "leaves that give root "+f.root.String(), "root "+got.String())
	}
	body := checkpoint.Checkpoint{Origin: r.cfg.Origin, Size: f.size, Root: f.root}.Body()
	if !strings.HasPrefix(string(f.note), body+"\n") {
		return damaged(s.name, f.at, "a checkpoint of the group's size and root", "another")
	}
	r.leaves.set(s.number, f.at, f.record)
	r.last = found{record: &record{recordHeader: f.recordHeader, note: slices.Clone(f.note)}, sum: f.sum, at: f.at}
	r.lastIn = s
	return nil
}

func (f found) groupOrZero() uint64 {
	if f.record == nil {
		return 0
	}
	return f.group
}

// checkLast verifies the signature of the newest checkpoint: a log of another
// key is not ours to go on with.
func (r *replay) checkLast() error {
	if _, err := checkpoint.Open(r.last.note, []checkpoint.VKey{r.cfg.Signer.Key}); err != nil {
		return &report.Error{Code: report.CodeLogForeign, Where: r.lastIn.name,
			Expected: "a checkpoint signed by " + r.cfg.Signer.Key.String(), Actual: err.Error(),
			Fix: "use the key that the log was made with; a new key is a new log"}
	}
	return nil
}
