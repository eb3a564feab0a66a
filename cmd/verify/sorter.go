package main

import (
	"bufio"
	"bytes"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/report"
)

// Bounds of a sorter: bytes in memory, files read at once, bytes of a record.
const (
	sorterMemory = 2 << 20
	sorterFiles  = 64
	sorterRecord = 1 << 20
)

// sorter sorts byte strings that do not fit in memory: sorted runs in files of
// a directory, and whenever there are as many runs of one size as may be read at
// once, one run of them all. So memory and open files are bounded, and each
// record is written once for every factor of sorterFiles.
type sorter struct {
	ctx    context.Context
	dir    string // of its own
	memory int
	files  int

	block []byte // records in memory, one behind another
	ends  []int  // where each ends
	runs  [][]string
	made  int
	added uint64
}

var _ laws.Sorter = (*sorter)(nil)

func newSorter(ctx context.Context, work string) (*sorter, error) {
	dir, err := os.MkdirTemp(work, "sort-")
	if err != nil {
		return nil, err
	}
	return &sorter{ctx: ctx, dir: dir, memory: sorterMemory, files: sorterFiles}, nil
}

// Add copies a record.
func (s *sorter) Add(record []byte) error {
	if len(record) > sorterRecord {
		return fmt.Errorf("a record of %d bytes, more than a sorter takes", len(record))
	}
	const place = 32 // of an end, and of a slice while sorting
	if len(s.ends) > 0 && len(s.block)+len(record)+place*(len(s.ends)+1) > s.memory {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.block = append(s.block, record...)
	s.ends = append(s.ends, len(s.block))
	s.added++
	return nil
}

// inMemory returns the records in memory, sorted.
func (s *sorter) inMemory() [][]byte {
	out, from := make([][]byte, len(s.ends)), 0
	for i, end := range s.ends {
		out[i], from = s.block[from:end], end
	}
	slices.SortFunc(out, bytes.Compare)
	return out
}

// spill writes what is in memory as a run.
func (s *sorter) spill() error {
	records := s.inMemory()
	name, err := s.write(func(yield func([]byte, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	s.block, s.ends = s.block[:0], s.ends[:0]
	return s.keep(0, name)
}

// keep takes a run of a level, and merges a full level into the next.
func (s *sorter) keep(level int, name string) error {
	if level == len(s.runs) {
		s.runs = append(s.runs, nil)
	}
	s.runs[level] = append(s.runs[level], name)
	if len(s.runs[level]) < s.files {
		return nil
	}
	merged, err := s.write(s.merge(s.runs[level]))
	if err != nil {
		return err
	}
	for _, name := range s.runs[level] {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	s.runs[level] = nil
	return s.keep(level+1, merged)
}

// write makes a file of records: each behind its length.
func (s *sorter) write(records iter.Seq2[[]byte, error]) (name string, err error) {
	s.made++
	f, err := os.Create(fmt.Sprintf("%s/%d", s.dir, s.made))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 16<<10)
	for r, err := range records {
		if err != nil {
			return "", err
		}
		var head [binary.MaxVarintLen64]byte
		if _, err := w.Write(head[:binary.PutUvarint(head[:], uint64(len(r)))]); err != nil {
			return "", err
		}
		if _, err := w.Write(r); err != nil {
			return "", err
		}
	}
	return f.Name(), w.Flush()
}

// Sorted yields every record, ascending.
func (s *sorter) Sorted() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if len(s.ends) > 0 {
			if err := s.spill(); err != nil {
				yield(nil, err)
				return
			}
		}
		s.block, s.ends = nil, nil
		var all []string
		for _, level := range s.runs {
			all = append(all, level...)
		}
		seen := uint64(0)
		for r, err := range s.merge(all) {
			if !yield(r, err) || err != nil {
				return
			}
			seen++
		}
		if seen != s.added {
			yield(nil, fmt.Errorf("%s: %d records, and %d were written", s.dir, seen, s.added))
		}
	}
}

// merge yields the records of runs, ascending, until the context ends.
func (s *sorter) merge(names []string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var front runs
		defer func() {
			for _, r := range front {
				r.file.Close()
			}
		}()
		for _, name := range names {
			f, err := os.Open(name)
			if err != nil {
				yield(nil, err)
				return
			}
			r := &sortedRun{file: f, in: bufio.NewReaderSize(f, 16<<10)}
			front = append(front, r) // so that it is closed
			if err := r.next(); err != nil {
				yield(nil, fmt.Errorf("%s: %w", name, err))
				return
			}
		}
		heap.Init(&front)
		for n := 0; len(front) > 0; n++ {
			if n%4096 == 0 && s.ctx.Err() != nil {
				yield(nil, &report.Error{Code: report.CodeInterrupted, Expected: "the whole log", Actual: "a part of it"})
				return
			}
			r := front[0]
			if !yield(r.record, nil) {
				return
			}
			switch err := r.next(); {
			case err == io.EOF:
				r.file.Close()
				heap.Pop(&front)
			case err != nil:
				yield(nil, fmt.Errorf("%s: %w", r.file.Name(), err))
				return
			default:
				heap.Fix(&front, 0)
			}
		}
	}
}

// Close removes every file.
func (s *sorter) Close() error { return os.RemoveAll(s.dir) }

// sortedRun is one file, at its next record.
type sortedRun struct {
	file   *os.File
	in     *bufio.Reader
	record []byte
}

// next reads a record; io.EOF says that there is none.
func (r *sortedRun) next() error {
	n, err := binary.ReadUvarint(r.in)
	if err != nil {
		return err
	}
	if n > sorterRecord {
		return fmt.Errorf("a record of %d bytes, which nobody wrote", n)
	}
	r.record = slices.Grow(r.record[:0], int(n))[:n]
	if _, err := io.ReadFull(r.in, r.record); err != nil {
		return errors.Join(io.ErrUnexpectedEOF, err)
	}
	return nil
}

// runs is a heap: the least record first.
type runs []*sortedRun

func (h runs) Len() int           { return len(h) }
func (h runs) Less(i, j int) bool { return bytes.Compare(h[i].record, h[j].record) < 0 }
func (h runs) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runs) Push(x any)        { *h = append(*h, x.(*sortedRun)) }
func (h *runs) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}
