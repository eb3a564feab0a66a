package rlog

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// replay reads the segments of a directory into memory. It changes nothing on
// disk. It is for one goroutine.
type replay struct {
	cfg *Config

	tree       *tree
	leaves     *leaves
	statements *statements

	numbers []uint64 // the segments, ascending
	last    found    // the last valid record; its bytes are a copy
	lastIn  *scanner // the segment it stands in
	torn    torn     // what stands behind it, in the last segment

	cids []dagcbor.CID // scratch
}

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

// run reads all segments. After an error the replay is of no use but for close.
func (r *replay) run() error {
	var err error
	if r.numbers, err = listSegments(r.cfg); err != nil {
		return err
	}
	if len(r.numbers) == 0 {
		return &report.Error{Code: report.CodeLogAbsent, Where: r.cfg.FS.String(), Expected: "a log",
			Actual: "no segment", Fix: "make one with `logd init`, or name the right directory"}
	}
	for i, n := range r.numbers {
		if err := r.segment(n, i == len(r.numbers)-1); err != nil {
			return err
		}
	}
	return r.checkLast()
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
	return lost("behind "+s.name, r.last.group+1, until-1)
}

func lost(where string, from, to uint64) error {
	return &report.Error{Code: report.CodeLogLost, Where: where, Expected: fmt.Sprintf("groups %d to %d", from, to),
		Actual: "none", Fix: "put the missing segment back; without it this log cannot go on"}
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
	want := r.last.groupOrZero() + 1
	if f.group != want || f.prev != r.last.sum || f.first != r.last.sizeOrZero() {
		if firstOfSegment && f.group > want {
			return lost("before "+s.name, want, f.group-1)
		}
		return damaged(s.name, f.at, fmt.Sprintf("group %d, continuing the one before", want),
			fmt.Sprintf("group %d", f.group))
	}
	r.cids = r.cids[:0]
	for i, leaf := range f.leaves {
		c, err := r.cfg.Statement(leaf)
		if err != nil {
			return damaged(s.name, f.at, "leaves that name a statement", fmt.Sprintf("leaf %d: %v", f.first+uint64(i), err))
		}
		r.cids = append(r.cids, c)
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
	r.statements.add(f.first, r.cids)
	r.last = found{record: &record{recordHeader: f.recordHeader, note: slices.Clone(f.note)}, sum: f.sum, at: f.at}
	r.lastIn = s
	return nil
}

func (f found) sizeOrZero() uint64 {
	if f.record == nil {
		return 0
	}
	return f.size
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
