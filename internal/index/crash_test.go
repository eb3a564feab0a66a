package index

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/merkle"
)

// drawn are n leaves of a log.
func drawn(t *testing.T, seed, n int) naive {
	return rapid.Custom(func(rt *rapid.T) naive {
		d := drawer{tb: t}
		var out naive
		seen := map[any]bool{}
		for len(out) < n {
			if l := d.leaf(rt); !seen[l.statement] {
				seen[l.statement] = true
				out = append(out, l)
			}
		}
		return out
	}).Example(seed)
}

// A power cut, at any moment and with any part of what was not synced lost,
// leaves what some whole batches gave, or nothing; never a part of a batch, and
// never entries of one history under the root of another.
func TestPowerCut(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	powerCuts(t, rounds)
}

func TestHeavyPowerCut(t *testing.T) {
	if os.Getenv("OBSTAT_HEAVY") == "" {
		t.Skip("OBSTAT_HEAVY is not set")
	}
	powerCuts(t, 1000)
}

func powerCuts(t *testing.T, rounds int) {
	pools := []naive{drawn(t, 1, 300), drawn(t, 2, 300), drawn(t, 3, 300)}
	kept := 0
	for seed := range rounds {
		if powerCut(t, pools, uint64(seed)) > 0 {
			kept++
		}
	}
	if kept < rounds/5 {
		t.Errorf("only %d of %d power cuts left anything", kept, rounds)
	}
}

func powerCut(t *testing.T, pools []naive, seed uint64) uint64 {
	r := rand.New(rand.NewPCG(seed, 1))
	disk := vfs.NewCrashableMem()
	x, err := open(disk, "index", Options{Origin: origin}, small)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { x.Close() }()
	type history struct {
		log  int
		size uint64
	}
	covered := map[merkle.Hash]history{} // what was ever handed in
	rootOf := func(h history) merkle.Hash { return rootAt(uint64(h.log)<<32 | h.size) }
	log, done := 0, make(chan *vfs.MemFS)
	cut := r.IntN(40)
	for step := range 40 {
		if step == cut {
			cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 20, 50, 80, 100}[r.IntN(5)], RNG: rand.New(rand.NewPCG(seed, 1))}
			go func() { done <- disk.CrashClone(cfg) }() // beside what follows
			if r.IntN(3) == 0 {
				break
			}
		}
		if step > cut+2 {
			break
		}
		if log < len(pools)-1 && r.IntN(25) == 0 {
			log++
			if err := x.Reset(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		size, _, _ := x.Covered()
		var leaves [][]byte
		for range r.IntN(30) {
			if at := int(size) + len(leaves); at < len(pools[log]) {
				leaves = append(leaves, pools[log][at].bytes)
			}
		}
		h := history{log, size + uint64(len(leaves))}
		covered[rootOf(h)] = h
		if err := x.Absorb(leaves, nil, h.size, rootOf(h)); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { // t.Fatal below does not name it
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	after := <-done
	y, err := open(after, "index", Options{Origin: origin}, small)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	defer y.Close()
	size, root, err := y.Covered()
	if err != nil {
		t.Fatal(err)
	}
	h := covered[root]
	if size != h.size {
		t.Fatalf("seed %d: covers %d with a root of %d", seed, size, h.size)
	}
	want := pools[h.log][:size]
	y.covered.Store(&cover{size, rootAt(size)}) // as compareFrom computes it
	compareFrom(t, y, want, 0, MaxPage)
	// What is lost is absorbed again.
	y.covered.Store(&cover{size, root})
	absorb(t, y, leavesOf(pools[h.log][size:])...)
	compareFrom(t, y, pools[h.log], 0, MaxPage)
	return size
}

func leavesOf(n naive) (out [][]byte) {
	for _, l := range n {
		out = append(out, l.bytes)
	}
	return out
}
