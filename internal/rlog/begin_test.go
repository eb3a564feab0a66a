package rlog

import (
	"errors"
	"testing"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/merkle"
)

// Begin is asked once a start, before the index gets a leaf, with every leaf
// there to be read and with how far the index goes.
func TestBegin(t *testing.T) {
	cfg := testConfig(t, faultfs.New())
	x := newMemoryIndex()
	cfg.Index = x
	calls := 0
	want := Reading{Size: 3}
	cfg.Begin = func(r Reading) error {
		calls++
		if r.Size != want.Size || r.Covered != want.Covered {
			t.Errorf("size %d, covered %d, want %d, %d", r.Size, r.Covered, want.Size, want.Covered)
		}
		if covered, _, _ := x.Covered(); covered > r.Covered {
			t.Errorf("the index was handed leaves up to %d before", covered)
		}
		var read []string
		err := r.Leaves(0, r.Size, func(first uint64, leaves [][]byte) error {
			if int(first) != len(read) || len(leaves) > merkle.TileWidth {
				t.Errorf("%d leaves from %d on, want them from %d on", len(leaves), first, len(read))
			}
			for _, l := range leaves {
				read = append(read, string(l))
			}
			return nil
		})
		if err == nil && (len(read) != int(r.Size) || read[0] != "a") {
			t.Errorf("read %q", read)
		}
		return err
	}
	create(t, cfg, "a", "b", "c")
	open(t, cfg).Close()

	want = Reading{Size: 3, Covered: 3}
	open(t, cfg).Close()
	x.lose(1)
	want.Covered = 0
	open(t, cfg).Close()
	if _, err := Reindex(cfg); err != nil {
		t.Error(err)
	}
	if x.batches[0].root[0] ^= 1; calls != 4 { // an index of another tree covers nothing
		t.Errorf("asked %d times", calls)
	}
	open(t, cfg).Close()

	x, cfg.Index = newMemoryIndex(), nil
	open(t, cfg).Close()
	no := errors.New("no")
	cfg.Begin = func(Reading) error { return no }
	if _, err := Open(cfg); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	cfg.Begin = nil
	open(t, cfg).Close() // the lock is free
}

// A statement that is known before its head is no statement of the log yet.
func TestKnownBeforeItsHead(t *testing.T) {
	cfg := testConfig(t, faultfs.New())
	create(t, cfg, "a")
	l := open(t, cfg)
	defer l.Close()
	l.statements.add(1, []dagcbor.CID{mustStatement([]byte("b"))})
	if index, ok, err := l.Lookup(mustStatement([]byte("b"))); ok || err != nil {
		t.Errorf("found at %d, %v", index, err)
	}
	if _, ok, err := l.Lookup(mustStatement([]byte("a"))); !ok || err != nil {
		t.Errorf("not found, %v", err)
	}
}
