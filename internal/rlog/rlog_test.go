package rlog

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

const testOrigin = "log.example/test"

func testSigner(t testing.TB, seed string) *checkpoint.Signer {
	t.Helper()
	s := sha256.Sum256([]byte(seed))
	signer, err := checkpoint.NewSigner(testOrigin, checkpoint.TypeEd25519, ed25519.NewKeyFromSeed(s[:]))
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// testStatement names a leaf "statement|anything" by what stands before the
// bar: two leaves of one statement stand for two signatures over it.
func testStatement(leaf []byte) (dagcbor.CID, error) {
	name, _, _ := bytes.Cut(leaf, []byte("|"))
	return dagcbor.Sum(name), nil
}

func testConfig(t testing.TB, fs durable.FS) Config {
	return Config{Origin: testOrigin, Signer: testSigner(t, "log key"), FS: fs, Statement: testStatement, PublishEvery: -1, ScrubEvery: -1, room: 6000}
}

func item(leaf string) Item {
	c, _ := testStatement([]byte(leaf))
	return Item{Leaf: []byte(leaf), Statement: c}
}

// dirFS is the operating system's file system in a temporary directory.
func dirFS(t testing.TB) durable.FS {
	t.Helper()
	fs, err := durable.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

func create(t testing.TB, cfg Config, leaves ...string) {
	t.Helper()
	var ls [][]byte
	for _, l := range leaves {
		ls = append(ls, []byte(l))
	}
	if err := Create(cfg, ls...); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, cfg Config) *Log {
	t.Helper()
	l, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func submit(t testing.TB, l *Log, leaf string) Result {
	t.Helper()
	r, err := l.Submit(t.Context(), item(leaf))
	if err != nil {
		t.Fatalf("submit %q: %v", leaf, err)
	}
	return r
}

// checkResult verifies a promise with nothing but the log's public key.
func checkResult(cfg Config, r Result) error {
	o, err := checkpoint.Open(r.Head.Note, []checkpoint.VKey{cfg.Signer.Key})
	if err != nil {
		return err
	}
	if o.Origin != cfg.Origin || o.Size != r.Head.Size || o.Root != r.Head.Root {
		return fmt.Errorf("checkpoint says %s %d %s, head %d %s", o.Origin, o.Size, o.Root, r.Head.Size, r.Head.Root)
	}
	return merkle.VerifyInclusion(r.Index, o.Size, merkle.LeafHash(r.Leaf), r.Proof, o.Root)
}

// checkTree re-hashes every entry that the log serves and compares tiles, root
// and head; and looks every statement up.
func checkTree(t testing.TB, cfg Config, l *Log) {
	t.Helper()
	head := l.Head()
	var edge merkle.Range
	for i := uint64(0); i*merkle.TileWidth < head.Size; i++ {
		width := merkle.TileWidthAt(0, i, head.Size)
		b, err := l.Entries(i, width)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := merkle.ParseBundle(b, width)
		if err != nil {
			t.Fatal(err)
		}
		tile, err := l.Tile(merkle.Tile{Index: i, Width: width})
		if err != nil {
			t.Fatal(err)
		}
		if want := merkle.AppendLeafTile(nil, entries); !bytes.Equal(tile, want) {
			t.Fatalf("tile %d is not over its bundle", i)
		}
		for j, e := range entries {
			edge.Append(merkle.LeafHash(e), nil)
			c, _ := testStatement(e)
			if at, ok, err := l.Lookup(c); !ok || err != nil || at != i*merkle.TileWidth+uint64(j) {
				t.Fatalf("statement of leaf %d: %d %v %v", i*merkle.TileWidth+uint64(j), at, ok, err)
			}
		}
	}
	if edge.Root() != head.Root {
		t.Fatalf("entries give root %s, head says %s", edge.Root(), head.Root)
	}
	o, err := checkpoint.Open(head.Note, []checkpoint.VKey{cfg.Signer.Key})
	if err != nil || o.Root != head.Root || o.Size != head.Size {
		t.Fatalf("head: %v %v", o, err)
	}
}

// eventually waits for something that another goroutine is about to do.
func eventually(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("it never happened")
		}
	}
}

func wantCode(t testing.TB, err error, code report.Code) {
	t.Helper()
	if err == nil || report.CodeOf(err) != code {
		t.Fatalf("got %v, want %s", err, code)
	}
}

func TestSubmitAndReopen(t *testing.T) {
	cfg := testConfig(t, dirFS(t))
	create(t, cfg, "genesis")
	var kept []Result
	for round := range 3 {
		l, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 80 {
			r := submit(t, l, fmt.Sprintf("statement %d-%d|first", round, i))
			if want := uint64(1 + round*80 + i); r.Index != want || r.Repeat {
				t.Fatalf("index %d repeat %v, want %d", r.Index, r.Repeat, want)
			}
			kept = append(kept, r)
		}
		checkTree(t, cfg, l)
		head := l.Head()
		for i, k := range kept {
			if err := checkResult(cfg, k); err != nil {
				t.Fatal(err)
			}
			p, err := l.ConsistencyProof(k.Head.Size, head.Size)
			if err != nil {
				t.Fatal(err)
			}
			if err := merkle.VerifyConsistency(k.Head.Size, head.Size, k.Head.Root, head.Root, p); err != nil {
				t.Fatalf("checkpoint of answer %d: %v", i, err)
			}
		}
		// The same statement, signed again: the stored leaf comes back.
		again := submit(t, l, "statement 0-7|second")
		if !again.Repeat || again.Index != 8 || string(again.Leaf) != "statement 0-7|first" {
			t.Fatalf("repeat: %+v", again)
		}
		if err := checkResult(cfg, again); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEmptyLog(t *testing.T) {
	cfg := testConfig(t, dirFS(t))
	create(t, cfg)
	l := open(t, cfg)
	if h := l.Head(); h.Size != 0 || h.Root != merkle.EmptyRoot {
		t.Fatalf("head %+v", h)
	}
	_, err := l.Leaf(0)
	wantCode(t, err, report.CodeBeyondSize)
	if r := submit(t, l, "a"); r.Index != 0 || len(r.Proof) != 0 {
		t.Fatalf("%+v", r)
	}
}

func TestReads(t *testing.T) {
	cfg := testConfig(t, dirFS(t))
	create(t, cfg, "genesis")
	l := open(t, cfg)
	for i := range 299 {
		submit(t, l, fmt.Sprint("statement ", i))
	}
	for _, tile := range []merkle.Tile{{Width: 1}, {Width: 255}, {Width: 256}, {Index: 1, Width: 44}, {Level: 1, Width: 1}} {
		b, err := l.Tile(tile)
		if err != nil || len(b) != tile.Width*merkle.HashSize {
			t.Errorf("%s: %d bytes, %v", tile.Path(), len(b), err)
		}
		if tile.Level == 0 {
			if b, err := l.Entries(tile.Index, tile.Width); err != nil {
				t.Errorf("entries %d: %v", tile.Index, err)
			} else if _, err := merkle.ParseBundle(b, tile.Width); err != nil {
				t.Errorf("entries %d: %v", tile.Index, err)
			}
		}
	}
	for _, tile := range []merkle.Tile{{Index: 1, Width: 45}, {Index: 2, Width: 1}, {Level: 1, Width: 2}, {Level: 9, Width: 1}, {Width: 0}, {Width: 257}} {
		_, err := l.Tile(tile)
		wantCode(t, err, report.CodeBeyondSize)
		if tile.Level == 0 {
			_, err = l.Entries(tile.Index, tile.Width)
			wantCode(t, err, report.CodeBeyondSize)
		}
	}
	_, err := l.Prove(300)
	wantCode(t, err, report.CodeBeyondSize)
	_, err = l.InclusionProof(3, 301)
	wantCode(t, err, report.CodeBeyondSize)
	_, err = l.InclusionProof(3, 3)
	wantCode(t, err, report.CodeBeyondSize)
	_, err = l.ConsistencyProof(3, 301)
	wantCode(t, err, report.CodeBeyondSize)
	for i := range uint64(300) {
		r, err := l.Prove(i)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkResult(cfg, r); err != nil {
			t.Fatal(err)
		}
	}
}

// Many submitters, each statement handed in by several at once in different
// spellings: one index each, the same for all, and every answer proves itself.
func TestConcurrentDuplicates(t *testing.T) {
	cfg := testConfig(t, dirFS(t))
	create(t, cfg, "genesis")
	l := open(t, cfg)
	const workers, statements = 16, 120
	var first [statements]atomic.Uint64
	var fresh atomic.Uint64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range statements {
				s := (i*7 + w*13) % statements
				r, err := l.Submit(t.Context(), item(fmt.Sprintf("statement %d|by %d", s, w)))
				if err != nil {
					t.Error(err)
					return
				}
				if !r.Repeat {
					fresh.Add(1)
				}
				if !first[s].CompareAndSwap(0, r.Index) && first[s].Load() != r.Index {
					t.Errorf("statement %d has indexes %d and %d", s, first[s].Load(), r.Index)
				}
				if err := checkResult(cfg, r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if l.Size() != 1+statements || fresh.Load() != statements {
		t.Fatalf("size %d, %d answers not repeats, want %d statements", l.Size(), fresh.Load(), statements)
	}
	checkTree(t, cfg, l)
}

func TestBounds(t *testing.T) {
	fs := faultfs.New()
	cfg := testConfig(t, fs)
	create(t, cfg, "genesis")
	cfg.QueueItems, cfg.QueueBytes = 3, 70_000
	l := open(t, cfg)

	// The first group hangs in its sync until the queue behind it is full.
	syncing, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fs.SetHook(func(op faultfs.Op) *faultfs.Fault {
		if op.Kind == faultfs.SyncData {
			once.Do(func() { close(syncing); <-release })
		}
		return nil
	})
	var wg sync.WaitGroup
	send := func(leaf string) {
		wg.Go(func() {
			if _, err := l.Submit(context.Background(), item(leaf)); err != nil {
				t.Errorf("%.20q: %v", leaf, err)
			}
		})
	}
	send("hangs")
	<-syncing
	send("waits 1")
	send("waits 2" + string(make([]byte, 60_000)))
	eventually(t, func() bool { return l.Stats().QueueItems == 2 })
	_, err := l.Submit(t.Context(), item("too many bytes"+string(make([]byte, 20_000))))
	wantCode(t, err, report.CodeBusy)
	send("waits 3")
	eventually(t, func() bool { return l.Stats().QueueItems == 3 })
	_, err = l.Submit(t.Context(), item("too many items"))
	wantCode(t, err, report.CodeBusy)
	// Giving up while queued leaves nothing behind.
	close(release)
	wg.Wait()
	if s := l.Stats(); s.Busy != 2 || s.QueueItems != 0 || s.QueueBytes != 0 || s.Size != 5 {
		t.Fatalf("stats %+v", s)
	}
	if r := submit(t, l, "too many items"); r.Repeat {
		t.Fatal("a refused item stands in the log")
	}
	for _, leaf := range []string{"", string(make([]byte, 65536))} {
		_, err = l.Submit(t.Context(), item(leaf))
		wantCode(t, err, report.CodeLeafSize)
	}
	if r := submit(t, l, string(make([]byte, 65535))); r.Index != 6 {
		t.Fatalf("%+v", r.Index)
	}
}

func TestCancel(t *testing.T) {
	fs := faultfs.New()
	cfg := testConfig(t, fs)
	create(t, cfg, "genesis")
	l := open(t, cfg)
	syncing, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fs.SetHook(func(op faultfs.Op) *faultfs.Fault {
		if op.Kind == faultfs.SyncData {
			once.Do(func() { close(syncing); <-release })
		}
		return nil
	})
	var wg sync.WaitGroup
	wg.Go(func() { l.Submit(context.Background(), item("hangs")) })
	<-syncing
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		if _, err := l.Submit(ctx, item("given up")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	eventually(t, func() bool { return l.Stats().QueueItems == 1 })
	cancel()
	eventually(t, func() bool {
		l.queue.mu.Lock()
		defer l.queue.mu.Unlock()
		return l.queue.items[0].gone.Load()
	})
	close(release)
	wg.Wait()
	if r := submit(t, l, "next"); r.Index != 2 {
		t.Fatalf("index %d", r.Index)
	}
}

// An item checked under an older registry than the one it would stand behind is
// asked about again, in the same group too; one checked under the new is not.
func TestRecheck(t *testing.T) {
	fs := faultfs.New()
	cfg := testConfig(t, fs)
	create(t, cfg, "genesis")
	retired := errors.New("key is retired")
	var asked []string // by the sequencer only
	cfg.Recheck = func(it Item, index uint64) error {
		asked = append(asked, fmt.Sprintf("%s@%d", it.Leaf, index))
		if string(it.Leaf) == "by retired key" {
			return retired
		}
		return nil
	}
	l := open(t, cfg)
	submit(t, l, "before")

	syncing, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fs.SetHook(func(op faultfs.Op) *faultfs.Fault {
		if op.Kind == faultfs.SyncData {
			once.Do(func() { close(syncing); <-release })
		}
		return nil
	})
	var wg sync.WaitGroup
	send := func(it Item, want error) {
		n := l.Stats().QueueItems
		wg.Go(func() {
			if _, err := l.Submit(context.Background(), it); !errors.Is(err, want) {
				t.Errorf("%s: %v", it.Leaf, err)
			}
		})
		eventually(t, func() bool { return l.Stats().QueueItems == n+1 })
	}
	wg.Go(func() { l.Submit(context.Background(), item("hangs")) })
	<-syncing
	registry := item("registry")
	registry.Registry = true
	send(registry, nil)
	send(item("by retired key"), retired)
	send(item("by good key"), nil)
	new := item("checked under the new registry")
	new.RegistryVersion = 1
	send(new, nil)
	if r := submit(t, l, "before"); !r.Repeat { // a repeat is not asked about, and does not wait
		t.Fatal("not a repeat")
	}
	close(release)
	wg.Wait()
	want := []string{"registry@3", "by retired key@4", "by good key@4"}
	if fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Fatalf("asked about %q, want %q", asked, want)
	}
	checkTree(t, cfg, l)
}

// A queue that is full of other leaves has room for a few registry statements.
func TestRegistryReserve(t *testing.T) {
	fs := faultfs.New()
	cfg := testConfig(t, fs)
	cfg.QueueItems = 2
	create(t, cfg, "genesis")
	l := open(t, cfg)
	syncing, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fs.SetHook(func(op faultfs.Op) *faultfs.Fault {
		if op.Kind == faultfs.SyncData {
			once.Do(func() { close(syncing); <-release })
		}
		return nil
	})
	var wg sync.WaitGroup
	wg.Go(func() { l.Submit(context.Background(), item("hangs")) })
	<-syncing
	send := func(n int, registry bool) {
		it := item(fmt.Sprintf("waits %d", n))
		it.Registry = registry
		wg.Go(func() {
			if _, err := l.Submit(context.Background(), it); err != nil {
				t.Errorf("%s: %v", it.Leaf, err)
			}
		})
		eventually(t, func() bool { return l.Stats().QueueItems == n })
	}
	send(1, false)
	send(2, false)
	_, err := l.Submit(t.Context(), item("no receipt more"))
	wantCode(t, err, report.CodeBusy)
	for n := range registryReserve {
		send(3+n, true)
	}
	last := item("no statement more")
	last.Registry = true
	_, err = l.Submit(t.Context(), last)
	wantCode(t, err, report.CodeBusy)
	close(release)
	wg.Wait()
}

func mustStatement(leaf []byte) dagcbor.CID {
	c, err := testStatement(leaf)
	if err != nil {
		panic(err)
	}
	return c
}
