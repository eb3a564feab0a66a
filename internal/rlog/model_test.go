package rlog

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/merkle"
)

// memoryIndex is an Index in memory. Like a store that does not sync, it may
// come back from a crash as it was some batches ago.
type memoryIndex struct {
	mu      sync.RWMutex
	index   map[dagcbor.CID]uint64
	batches []batch
	lookups int
}

type batch struct {
	from, size uint64
	root       merkle.Hash
	cids       []dagcbor.CID
}

func newMemoryIndex() *memoryIndex { return &memoryIndex{index: map[dagcbor.CID]uint64{}} }

func (m *memoryIndex) Covered() (uint64, merkle.Hash, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.batches) == 0 {
		return 0, merkle.Hash{}, nil
	}
	b := m.batches[len(m.batches)-1]
	return b.size, b.root, nil
}

func (m *memoryIndex) Lookup(c dagcbor.CID) (uint64, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lookups++
	i, ok := m.index[c]
	return i, ok, nil
}

func (m *memoryIndex) Absorb(leaves [][]byte, statements []dagcbor.CID, size uint64, root merkle.Hash) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := batch{from: size - uint64(len(leaves)), size: size, root: root}
	if n := len(m.batches); n > 0 && m.batches[n-1].size != b.from || n == 0 && b.from != 0 {
		return fmt.Errorf("leaves from %d on do not continue", b.from)
	}
	for i, l := range leaves {
		c := mustStatement(l)
		if statements != nil && statements[i] != c {
			return fmt.Errorf("leaf %d does not carry the statement that is named", b.from+uint64(i))
		}
		if _, ok := m.index[c]; ok {
			return fmt.Errorf("statement of leaf %d is there already", b.from+uint64(i))
		}
		m.index[c] = b.from + uint64(i)
		b.cids = append(b.cids, c)
	}
	m.batches = append(m.batches, b)
	return nil
}

func (m *memoryIndex) Reset() error {
	m.lose(len(m.batches))
	return nil
}

// lose forgets the last batches.
func (m *memoryIndex) lose(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keep := max(0, len(m.batches)-n)
	for _, b := range m.batches[keep:] {
		for _, c := range b.cids {
			delete(m.index, c)
		}
	}
	m.batches = m.batches[:keep]
}

// naiveRoot is RFC 6962 as it is written.
func naiveRoot(leaves [][]byte) merkle.Hash {
	switch len(leaves) {
	case 0:
		return merkle.EmptyRoot
	case 1:
		return merkle.LeafHash(leaves[0])
	}
	k := 1
	for k*2 < len(leaves) {
		k *= 2
	}
	return merkle.NodeHash(naiveRoot(leaves[:k]), naiveRoot(leaves[k:]))
}

// machine drives a log and a naive one side by side.
type machine struct {
	t     *testing.T
	disk  *faultfs.FS
	index *memoryIndex
	log   *Log

	leaves [][]byte          // the naive log
	at     map[string]uint64 // statement → index
	next   int               // makes statements that are new
	heads  []Head            // all that were handed out
}

func (m *machine) config() Config {
	cfg := testConfig(m.t, m.disk)
	cfg.SegmentBytes = 20_000
	if m.index != nil {
		cfg.Index = m.index
	}
	return cfg
}

func (m *machine) open(t *rapid.T) {
	l, err := Open(m.config())
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	m.log = l
}

// told checks an answer against the naive log.
func (m *machine) told(t *rapid.T, leaf string, r Result) {
	cfg := m.config()
	if err := checkResult(cfg, r); err != nil {
		t.Fatal(err)
	}
	c := leaf[:slices.Index([]byte(leaf), '|')]
	if at, ok := m.at[c]; ok {
		if r.Index != at || !r.Repeat || string(r.Leaf) != string(m.leaves[at]) {
			t.Fatalf("%q: index %d repeat %v, stands at %d", leaf, r.Index, r.Repeat, at)
		}
	} else {
		if r.Index != uint64(len(m.leaves)) || r.Repeat {
			t.Fatalf("%q: index %d repeat %v, is new", leaf, r.Index, r.Repeat)
		}
		m.at[c] = r.Index
		m.leaves = append(m.leaves, []byte(leaf))
	}
	m.heads = append(m.heads, r.Head)
}

func (m *machine) fresh(size int) string {
	m.next++
	return fmt.Sprintf("s%d|%s", m.next, string(make([]byte, size)))
}

// Submit submits one statement, new or known, in a new spelling.
func (m *machine) Submit(t *rapid.T) {
	leaf := m.fresh(rapid.SampledFrom([]int{0, 10, 500, 6000}).Draw(t, "bytes"))
	if len(m.at) > 0 && rapid.Bool().Draw(t, "known") {
		leaf = fmt.Sprintf("s%d|again", rapid.IntRange(1, m.next).Draw(t, "which"))
	}
	r, err := m.log.Submit(context.Background(), item(leaf))
	if err != nil {
		t.Fatal(err)
	}
	m.told(t, leaf, r)
}

// Many submits a run of new statements, several callers at once, each twice.
func (m *machine) Many(t *rapid.T) {
	n := rapid.SampledFrom([]int{3, 100, 300}).Draw(t, "statements")
	results := make([]Result, 2*n)
	var wg sync.WaitGroup
	first := m.next + 1
	for i := range results {
		wg.Go(func() {
			r, err := m.log.Submit(context.Background(), item(fmt.Sprintf("s%d|%d", first+i/2, i)))
			if err != nil {
				panic(err)
			}
			results[i] = r
		})
	}
	wg.Wait()
	m.next += n
	// In the order that the log chose, the one that was not a repeat first.
	order := make([]int, len(results))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if d := int(results[a].Index) - int(results[b].Index); d != 0 {
			return d
		}
		if results[a].Repeat != results[b].Repeat && results[b].Repeat {
			return -1
		}
		return 1
	})
	for _, i := range order {
		m.told(t, fmt.Sprintf("s%d|%d", first+i/2, i), results[i])
	}
}

func (m *machine) Publish(t *rapid.T) {
	if err := m.log.publish(); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) Restart(t *rapid.T) {
	if err := m.log.Close(); err != nil {
		t.Fatal(err)
	}
	m.open(t)
}

// Crash kills the process, or the power with what was not synced.
func (m *machine) Crash(t *rapid.T) {
	old := m.log
	if rapid.Bool().Draw(t, "power") {
		m.disk = m.disk.PowerCut(faultfs.Random(rapid.Uint64().Draw(t, "seed")))
	} else {
		m.disk = m.disk.Kill()
	}
	_ = old.Close() // its disk is gone
	if m.index != nil {
		m.index.lose(rapid.IntRange(0, 2).Draw(t, "batches lost"))
		if rapid.IntRange(0, 5).Draw(t, "index of another tree") == 0 && len(m.index.batches) > 0 {
			m.index.batches[len(m.index.batches)-1].root[0] ^= 1
		}
	}
	m.open(t)
}

// Read compares a tile, a bundle, a proof and a leaf with the naive log.
func (m *machine) Read(t *rapid.T) {
	size := uint64(len(m.leaves))
	if size == 0 {
		t.Skip("empty")
	}
	i := rapid.Uint64Range(0, size-1).Draw(t, "leaf")
	r, err := m.log.Prove(i)
	if err != nil || string(r.Leaf) != string(m.leaves[i]) {
		t.Fatalf("leaf %d: %v", i, err)
	}
	if err := checkResult(m.config(), r); err != nil {
		t.Fatal(err)
	}
	bundle := i / merkle.TileWidth
	width := rapid.IntRange(1, merkle.TileWidthAt(0, bundle, size)).Draw(t, "width")
	b, err := m.log.Entries(bundle, width)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := merkle.ParseBundle(b, width)
	if err != nil {
		t.Fatal(err)
	}
	for j, e := range entries {
		if string(e) != string(m.leaves[bundle*merkle.TileWidth+uint64(j)]) {
			t.Fatalf("entry %d of bundle %d", j, bundle)
		}
	}
	tile, err := m.log.Tile(merkle.Tile{Index: bundle, Width: width})
	if err != nil || string(tile) != string(merkle.AppendLeafTile(nil, entries)) {
		t.Fatalf("tile %d: %v", bundle, err)
	}
	old := m.heads[rapid.IntRange(0, len(m.heads)-1).Draw(t, "head")]
	p, err := m.log.ConsistencyProof(old.Size, size)
	if err != nil {
		t.Fatal(err)
	}
	if err := merkle.VerifyConsistency(old.Size, size, old.Root, m.log.Head().Root, p); err != nil {
		t.Fatal(err)
	}
}

// Check is run after every operation.
func (m *machine) Check(t *rapid.T) {
	h := m.log.Head()
	if h.Size != uint64(len(m.leaves)) {
		t.Fatalf("size %d, want %d", h.Size, len(m.leaves))
	}
	if want := naiveRoot(m.leaves); h.Root != want {
		t.Fatalf("root %s, want %s", h.Root, want)
	}
}

// Random operations against a log kept as a list. Every submission is waited
// for, so that nothing is in doubt when the machine dies.
func TestModel(t *testing.T) {
	if os.Getenv("OBSTAT_HEAVY") == "" || raceBuild {
		checks, n := flag.Lookup("rapid.checks"), "15"
		if raceBuild {
			n = "2"
		}
		old := checks.Value.String()
		if err := checks.Value.Set(n); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = checks.Value.Set(old) })
	}
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{t: t, disk: faultfs.New(), at: map[string]uint64{}}
		if rapid.Bool().Draw(rt, "index") {
			m.index = newMemoryIndex()
		}
		if err := Create(m.config()); err != nil {
			t.Fatal(err)
		}
		m.open(rt)
		defer func() { m.log.Close() }()
		m.Submit(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"submit": m.Submit, "many": m.Many, "publish": m.Publish, "restart": m.Restart, "crash": m.Crash,
			"read": m.Read, "": m.Check,
		})
		m.check(rt)
	})
}

// check ends a run: fsck and export find nothing wrong.
func (m *machine) check(t *rapid.T) {
	if err := m.log.Close(); err != nil {
		t.Fatal(err)
	}
	k, err := CheckDirectory(m.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(k.Problems) > 0 || k.Head.Size != uint64(len(m.leaves)) || k.Entries != k.Head.Size {
		t.Fatalf("fsck: %+v", k)
	}
	out := faultfs.New()
	head, err := Export(m.config(), out)
	if err != nil || head.Size != uint64(len(m.leaves)) {
		t.Fatalf("export: %v %v", head, err)
	}
	m.open(t)
}
