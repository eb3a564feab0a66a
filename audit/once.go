package audit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/report"
)

// digest is that of a statement CID.
type digest [32]byte

// statements finds a statement that stands twice: in memory up to a limit, and
// in a sorter beyond it.
type statements struct {
	limit     int
	newSorter func() (laws.Sorter, error) // nil: nowhere to go
	over      bool                        // the limit was passed with nowhere to go
	all       []statement
	sorter    laws.Sorter
}

type statement struct {
	digest digest
	index  uint64
}

func (s *statements) add(first uint64, digests []digest) error {
	if s.over {
		return nil
	}
	if s.sorter == nil && len(s.all)+len(digests) > s.limit {
		if err := s.moveOut(); err != nil || s.over {
			return err
		}
	}
	for i, d := range digests {
		if d == (digest{}) {
			continue
		}
		one := statement{d, first + uint64(i)}
		if s.sorter == nil {
			s.all = append(s.all, one)
		} else if err := s.sorter.Add(one.record()); err != nil {
			return err
		}
	}
	return nil
}

// moveOut hands everything to a sorter, if there is one.
func (s *statements) moveOut() (err error) {
	if s.newSorter == nil {
		s.over, s.all = true, nil
		return nil
	}
	if s.sorter, err = s.newSorter(); err != nil {
		return err
	}
	for _, one := range s.all {
		if err := s.sorter.Add(one.record()); err != nil {
			return err
		}
	}
	s.all = nil
	return nil
}

// record has the order of compare.
func (s statement) record() []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, 40), s.digest[:]...), s.index)
}

func compare(a, b statement) int {
	if c := bytes.Compare(a.digest[:], b.digest[:]); c != 0 {
		return c
	}
	if a.index < b.index {
		return -1
	}
	return 1
}

// twice returns the first two leaves of the first statement that stands twice,
// by digest.
func (s *statements) twice() (one, two uint64, found bool, err error) {
	if s.sorter == nil {
		slices.SortFunc(s.all, compare)
		for i := 1; i < len(s.all); i++ {
			if s.all[i-1].digest == s.all[i].digest {
				return s.all[i-1].index, s.all[i].index, true, nil
			}
		}
		return 0, 0, false, nil
	}
	var last statement
	begun := false
	for record, err := range s.sorter.Sorted() {
		if err != nil {
			return 0, 0, false, err
		}
		if len(record) != 40 {
			return 0, 0, false, &report.Error{Code: report.CodeInternal, Expected: "records of 40 bytes", Actual: fmt.Sprint(len(record)), Fix: "the sorter that was given is broken"}
		}
		next := statement{digest(record[:32]), binary.BigEndian.Uint64(record[32:])}
		if begun && next.digest == last.digest {
			return last.index, next.index, true, nil
		}
		last, begun = next, true
	}
	return 0, 0, false, nil
}

func (s *statements) close() error {
	if s.sorter == nil {
		return nil
	}
	return s.sorter.Close()
}
