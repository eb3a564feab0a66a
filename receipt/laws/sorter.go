package laws

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
)

// Sorter sorts records that do not fit in memory, such as an external sort over
// files. The caller provides it; a Check uses it from one goroutine.
type Sorter interface {
	// Add takes one record, of at most 128 KiB. The sorter MUST NOT keep the
	// slice.
	Add(record []byte) error
	// Sorted is called once, after the last Add. It MUST yield every record,
	// ascending bytewise, or an error as its last pair. A yielded record is used
	// only until the next one.
	Sorted() iter.Seq2[[]byte, error]
	// Close is called once, after the last use, also after an error.
	Close() error
}

// budget bounds the memory of all tables of a Check together.
type budget struct {
	left  int64
	spill func() (Sorter, error) // nil: nowhere to go
	over  bool                   // the bound was passed with nowhere to go
}

// table is a list of records to be sorted: in memory, or in a Sorter once the
// budget is spent.
type table struct {
	budget *budget
	memory memory
	sorter Sorter
}

// add copies a record into the table.
func (t *table) add(record []byte) error {
	if t.budget.over {
		return nil
	}
	if t.sorter == nil {
		cost := int64(len(record) + recordCost)
		if t.budget.left >= cost {
			t.budget.left -= cost
			t.memory.add(record)
			return nil
		}
		if t.budget.spill == nil {
			t.budget.over = true
			return nil
		}
		if err := t.moveOut(); err != nil {
			return err
		}
	}
	return t.sorter.Add(record)
}

func (t *table) moveOut() error {
	s, err := t.budget.spill()
	if err != nil {
		return err
	}
	t.sorter = s
	for _, block := range t.memory.places {
		for _, at := range block {
			r := t.memory.record(at)
			if err := s.Add(r); err != nil {
				return err
			}
			t.budget.left += int64(len(r) + recordCost)
		}
	}
	t.memory = memory{}
	return nil
}

// each calls f with every record in order.
func (t *table) each(f func(record []byte) error) error {
	if t.sorter != nil {
		for r, err := range t.sorter.Sorted() {
			if err != nil {
				return err
			}
			if err := f(r); err != nil {
				return err
			}
		}
		return nil
	}
	for _, at := range t.memory.sorted() {
		if err := f(t.memory.record(at)); err != nil {
			return err
		}
	}
	return nil
}

// close lets go of everything.
func (t *table) close() error {
	t.memory = memory{}
	s := t.sorter
	if t.sorter = nil; s == nil {
		return nil
	}
	return s.Close()
}

// memory holds records in blocks and sorts places, not records.
type memory struct {
	blocks [][]byte
	places [][]place
}

// place is where a record stands, with its first eight bytes.
type place struct {
	prefix        uint64
	block, offset uint32
}

const (
	blockSize   = 1 << 20
	blockPlaces = 1 << 12
	recordCost  = 4 + 3*16 // length, and the place: here, in order, and once more while sorting
)

func (m *memory) add(record []byte) {
	need := 4 + len(record)
	last := len(m.blocks) - 1
	if last < 0 || cap(m.blocks[last])-len(m.blocks[last]) < need {
		m.blocks = append(m.blocks, make([]byte, 0, max(blockSize, need)))
		last++
	}
	b := m.blocks[last]
	at := place{prefix: prefixOf(record), block: uint32(last), offset: uint32(len(b))}
	b = binary.BigEndian.AppendUint32(b, uint32(len(record)))
	m.blocks[last] = append(b, record...)
	last = len(m.places) - 1
	if last < 0 || len(m.places[last]) == blockPlaces {
		m.places = append(m.places, make([]place, 0, blockPlaces))
		last++
	}
	m.places[last] = append(m.places[last], at)
}

func (m *memory) record(at place) []byte {
	b := m.blocks[at.block][at.offset:]
	n := binary.BigEndian.Uint32(b)
	return b[4 : 4+n : 4+n]
}

func prefixOf(record []byte) uint64 {
	if len(record) >= 8 {
		return binary.BigEndian.Uint64(record)
	}
	var b [8]byte
	copy(b[:], record)
	return binary.BigEndian.Uint64(b[:])
}

// sorted orders by the prefix first, by radix from the lowest byte: records
// come in log order and the passes are stable, so what shares a prefix (one run,
// one statement) is nearly always in order already.
func (m *memory) sorted() []place {
	order := slices.Concat(m.places...)
	order = radix(order, make([]place, len(order)))
	compare := func(a, b place) int { return bytes.Compare(m.record(a), m.record(b)) }
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && order[to].prefix == order[from].prefix {
			to++
		}
		if group := order[from:to]; !slices.IsSortedFunc(group, compare) {
			slices.SortFunc(group, compare)
		}
		from = to
	}
	return order
}

func radix(from, to []place) []place {
	for shift := 0; shift < 64; shift += 8 {
		var count [257]int
		for i := range from {
			count[from[i].prefix>>shift&255+1]++
		}
		if slices.Contains(count[:], len(from)) {
			continue // one digit for all
		}
		for i := 1; i < len(count); i++ {
			count[i] += count[i-1]
		}
		for i := range from {
			d := from[i].prefix >> shift & 255
			to[count[d]] = from[i]
			count[d]++
		}
		from, to = to, from
	}
	return from
}
