package index

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// full is a file system without room for files of a kind, once it is on.
type full struct {
	on   atomic.Bool
	name string // part of the names
	err  error  // nil: ENOSPC
}

func (f *full) wrap(fs vfs.FS) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpCreate, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpLock:
			if f.on.Load() && strings.Contains(op.Path, f.name) {
				if f.err != nil {
					return f.err
				}
				return syscall.ENOSPC
			}
		}
		return nil
	}))
}

// A store that cannot write stops, with a reason, and ends nothing else: readers
// go on, Close comes back, and with room again it opens and goes on.
func TestDiskFull(t *testing.T) {
	for _, kind := range []string{".sst", "MANIFEST"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			mem := vfs.NewCrashableMem()
			f := &full{name: kind}
			x, err := open(f.wrap(mem), "index", Options{Origin: origin}, small)
			if err != nil {
				t.Fatal(err)
			}
			leaves := someLeaves(t, 4000)
			absorb(t, x, leaves[:1000]...)
			f.on.Store(true)
			begin := time.Now()
			for i := 1000; err == nil && i < len(leaves); i += 20 {
				err = x.Absorb(leaves[i:i+20], nil, uint64(i+20), rootAt(uint64(i+20)))
				time.Sleep(time.Millisecond)
			}
			wantCode(t, err, report.CodeLogIO)
			if !errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
				t.Errorf("no reason: %v", err)
			}
			size, _, _ := x.Covered()
			wantCode(t, x.Absorb(leaves[size:size+1], nil, size+1, rootAt(size+1)), report.CodeLogIO)
			for i := range size {
				find(t, x, leaves[i], i, true)
			}
			if got := search(t, x, Query{Kind: "run-open"}); len(got) != 1 {
				t.Error(got)
			}
			_ = x.Close() // may say that it could not
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("it took %v to stop", took)
			}
			f.on.Store(false)
			// As another process finds it.
			y, err := open(mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}), "index", Options{Origin: origin}, small)
			if err != nil {
				t.Fatal(err)
			}
			defer y.Close()
			again, root, _ := y.Covered()
			if again > size+20 || again > 0 && root != rootAt(again) {
				t.Fatalf("covers %d, of %d", again, size)
			}
			absorb(t, y, leaves[again:]...)
			for i, l := range leaves {
				find(t, y, l, uint64(i), true)
			}
		})
	}
}

// The file system's no is not the store's fault: it is not made again.
func TestOpenRefused(t *testing.T) {
	mem := vfs.NewCrashableMem()
	x := openIn(t, mem, "index")
	absorb(t, x, someLeaves(t, 7)...)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	copied := func() vfs.FS {
		return mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	}
	for _, kind := range []string{"MANIFEST", "dbtmp", "LOCK", ""} {
		fs := copied()
		f := &full{name: kind}
		f.on.Store(true)
		if _, err := open(f.wrap(fs), "index", Options{Origin: origin}, small); report.CodeOf(err) != report.CodeLogIO || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("no room for %q: %v", kind, err)
		}
		mem = fs.(*vfs.MemFS)
		wantCovered(t, openIn(t, copied(), "index"), 7)
	}
}

// Nor is a store made again that this process still has half open.
func TestOpenAbandoned(t *testing.T) {
	mem := vfs.NewCrashableMem()
	x := openIn(t, mem, "index")
	absorb(t, x, someLeaves(t, 7)...)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	f := &full{name: "MANIFEST", err: syscall.EIO}
	f.on.Store(true)
	_, err := open(f.wrap(mem), "index", Options{Origin: origin}, small)
	wantCode(t, err, report.CodeLogIO)
	wantCovered(t, openIn(t, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}), "index"), 7)
}

// A block that went bad is an error of the read that meets it, never an answer,
// and the next start makes the index again.
func TestBadBlock(t *testing.T) {
	mem := vfs.NewMem()
	x := openIn(t, mem, "index")
	leaves := someLeaves(t, 400)
	absorb(t, x, leaves...)
	if err := x.store.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := mem.List("index")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasSuffix(n, ".sst") {
			b := readAll(t, mem, mem.PathJoin("index", n))
			for i := 0; i < len(b)*3/4; i += 512 { // the end says where the blocks are
				b[i] ^= 1
			}
			writeAll(t, mem, mem.PathJoin("index", n), b)
		}
	}
	x = openIn(t, mem, "index")
	if size, _, _ := x.Covered(); size != 400 {
		t.Skip("the damage was met at once")
	}
	met := 0
	for i, l := range leaves {
		at, ok, err := x.Lookup(statementOf(t, l))
		switch {
		case err != nil:
			wantCode(t, err, report.CodeLogDamaged)
			met++
		case !ok || at != uint64(i):
			t.Fatalf("statement of leaf %d: %d %v", i, at, ok)
		}
	}
	if met == 0 {
		t.Fatal("no read met the damage")
	}
	if err := x.Absorb(nil, nil, 400, rootAt(400)); err == nil {
		t.Fatal("absorbed on top of it")
	}
	_ = x.Close()
	wantCovered(t, openIn(t, mem, "index"), 0)
}

// Pebble's last word is an error of the call that met it. (TestDiskFull has it
// said by a goroutine of Pebble's, where the manifest cannot be written.)
func TestFatalIsAnError(t *testing.T) {
	x := openIn(t, vfs.NewMem(), "index")
	h := x.store.health
	err := x.read(func(*store, *cover) error {
		h.Fatalf("no way on: %d", 7)
		t.Error("it returned")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "no way on: 7") {
		t.Fatal(err)
	}
	if err := x.Absorb(nil, nil, 0, merkle.EmptyRoot); err == nil {
		t.Fatal("absorbed")
	}
}

// A look-up that began before a batch leaves nothing behind that is blind to it.
func TestProbesOfThePast(t *testing.T) {
	x := openIn(t, vfs.NewMem(), "index")
	leaves := someLeaves(t, 3)
	it, generation, err := x.probes.take(x.store.db)
	if err != nil {
		t.Fatal(err)
	}
	absorb(t, x, leaves...)
	if err := x.probes.give(it, generation); err != nil {
		t.Fatal(err)
	}
	find(t, x, leaves[2], 2, true)
}

// Everybody reads while one absorbs: what was absorbed before a look-up is
// found by it.
func TestReadersBesideAbsorb(t *testing.T) {
	x, err := open(vfs.NewMem(), "index", Options{Origin: origin}, small)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	leaves := someLeaves(t, 1200)
	cids := make([]dagcbor.CID, len(leaves))
	for i, l := range leaves {
		cids[i] = statementOf(t, l)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for i := n; !stop.Load(); i = (i + 7) % len(cids) {
				size, _, err := x.Covered()
				at, ok, err2 := x.Lookup(cids[i])
				if err = errors.Join(err, err2); err != nil || ok && at != uint64(i) || !ok && uint64(i) < size {
					t.Errorf("statement of leaf %d at size %d: %d %v %v", i, size, at, ok, err)
					return
				}
				p, err := x.Search(Query{Code: "OUTSIDE-ROOT"}, 0, MaxPage)
				if want := int(min(max(p.Covered, 2)-2, MaxPage)); err != nil || len(p.Leaves) != want || p.Covered < size {
					t.Errorf("%d leaves of %d, %v; want %d", len(p.Leaves), p.Covered, err, want)
					return
				}
				if _, covered, err := x.Counters(); err != nil || covered < size {
					t.Errorf("counters of %d, %v", covered, err)
					return
				}
			}
		})
	}
	for i := 0; i < len(leaves); i += 30 {
		absorb(t, x, leaves[i:i+30]...)
	}
	stop.Store(true)
	wg.Wait()
}
