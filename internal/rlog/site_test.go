package rlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// bigLog is a log of 700 leaves in small segments, most of them dropped; closed.
func bigLog(t testing.TB) (*faultfs.FS, Config) {
	disk := faultfs.New()
	cfg := testConfig(t, disk)
	cfg.SegmentBytes, cfg.room, cfg.Index = 5000, -1, newMemoryIndex()
	create(t, cfg, "genesis|")
	l := open(t, cfg)
	for i := range 699 {
		submit(t, l, fmt.Sprintf("statement %d|%s", i, strings.Repeat("x", i%50)))
		if i%100 == 50 {
			if err := l.publish(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return disk, cfg
}

// A start reads the right edge and the last segments, not the log.
func TestStartReadsTheRightEdge(t *testing.T) {
	disk, cfg := bigLog(t)
	numbers, err := listSegments(&cfg)
	if err != nil || numbers[0] < 5 {
		t.Fatalf("segments %v, %v: nothing was dropped", numbers, err)
	}
	read := map[string]int{}
	disk.SetHook(func(op faultfs.Op) *faultfs.Fault {
		if op.Kind == faultfs.Read {
			read[op.Name] += op.Len
		}
		return nil
	})
	l := open(t, cfg)
	disk.SetHook(nil)
	for name := range read {
		if strings.HasPrefix(name, "site/tile/entries") || name == "site/tile/0/000" {
			t.Errorf("the start read %s", name)
		}
	}
	if read["site/tile/1/000.p/2"] == 0 {
		t.Errorf("the start did not read the right edge: %v", read)
	}
	cfg.Index = nil
	checkTree(t, cfg, l)
	for _, i := range []uint64{0, 255, 256, 400, 511, 512, 699} {
		r, err := l.Prove(i)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkResult(cfg, r); err != nil {
			t.Fatal(err)
		}
	}
	if r := submit(t, l, "statement 3|again"); !r.Repeat || r.Index != 4 {
		t.Errorf("%+v", r)
	}
}

// What stands on disk at any time is a whole site: everything its checkpoint
// covers, and no temporary file that matters.
func TestSiteIsWholeAtEveryStep(t *testing.T) {
	disk := faultfs.New()
	cfg := testConfig(t, disk)
	create(t, cfg, "genesis|")
	l := open(t, cfg)
	checks := 0
	disk.SetHook(func(op faultfs.Op) *faultfs.Fault {
		if !strings.HasPrefix(op.Name, "site/") || op.Kind == faultfs.Read || op.Kind == faultfs.SyncDir {
			return nil
		}
		now := disk.Peek()
		c := cfg
		c.FS = now
		head, err := readCheckpoint(&c)
		if err != nil {
			t.Error(op, err)
			return nil
		}
		if err := checkSite(newSite(now, siteDir), head, nil); err != nil && head.Note != nil {
			t.Error(op, err)
		}
		checks++
		return nil
	})
	for i := range 300 {
		submit(t, l, fmt.Sprintf("statement %d|", i))
		if i%100 == 99 || i == 255 {
			if err := l.publish(); err != nil {
				t.Fatal(err)
			}
		}
	}
	disk.SetHook(nil)
	if checks < 50 {
		t.Errorf("%d checks", checks)
	}
}

// A damaged tile or bundle is an error of the reader that needs it, never an
// answer, and the scrubber and fsck find it.
func TestSiteDamaged(t *testing.T) {
	flip := func(b []byte) []byte { b[40] ^= 1; return b }
	for name, what := range map[string]struct {
		read func(*Log) error
		fsck string
	}{
		"site/tile/entries/001":       {func(l *Log) error { _, err := l.Leaf(257); return err }, "site/tile"},
		"site/tile/0/000":             {func(l *Log) error { _, err := l.InclusionProof(30, 700); return err }, "site/tile/0/000"},
		"site/tile/0/002.p/188":       {nil, "site/tile"},
		"site/tile/1/000.p/2":         {nil, "site/tile"},
		"site/tile/entries/002.p/188": {nil, "site/tile"},
		"site/checkpoint":             {nil, "site/checkpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			disk, cfg := bigLog(t)
			cfg.FS = disk
			if name == "site/tile/entries/002.p/188" || name == "site/tile/0/002.p/188" {
				// The right edge of entries is not read at a start.
				flip = func(b []byte) []byte { b[1] ^= 1; return b }
			}
			if err := disk.Edit(name, flip); err != nil {
				t.Fatal(err)
			}
			k, err := CheckDirectory(cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(fmt.Sprint(k.Problems), what.fsck) {
				t.Errorf("fsck: %v", k.Problems)
			}
			l, err := Open(cfg)
			if what.read == nil {
				if name != "site/tile/entries/002.p/188" {
					wantCode(t, err, report.CodeLogDamaged)
				}
				if err == nil {
					l.Close()
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			wantCode(t, what.read(l), report.CodeLogDamaged)
			s := scrubber{log: l}
			for range 2 {
				s.step()
			}
			if !strings.Contains(l.Stats().Damage, "site/tile") {
				t.Errorf("scrubbed: %q", l.Stats().Damage)
			}
			if r := submit(t, l, "goes on|"); r.Index != 700 {
				t.Errorf("index %d", r.Index)
			}
		})
	}
}

// Nothing below the published checkpoint is cut or missing.
func TestPublishedIsAFloor(t *testing.T) {
	for name, spoil := range map[string]func(disk *faultfs.FS, cfg Config, last uint64) error{
		"last record torn": func(d *faultfs.FS, cfg Config, last uint64) error {
			at := records(t, cfg, last)
			return d.Edit(segmentName(last), func(b []byte) []byte { return b[:at[len(at)-1]-5] })
		},
		"last segment missing": func(d *faultfs.FS, _ Config, last uint64) error { return d.Remove(segmentName(last)) },
		"bundle missing":       func(d *faultfs.FS, _ Config, _ uint64) error { return d.Remove("site/tile/1/000.p/2") },
		"all segments missing": func(d *faultfs.FS, cfg Config, last uint64) error {
			numbers, err := listSegments(&cfg)
			for _, n := range numbers {
				err = errors.Join(err, d.Remove(segmentName(n)))
			}
			return err
		},
		"site missing": func(d *faultfs.FS, _ Config, _ uint64) error { return d.Rename("site", "elsewhere") },
	} {
		disk, cfg := bigLog(t)
		numbers, err := listSegments(&cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(disk, cfg, numbers[len(numbers)-1]); err != nil {
			t.Fatal(err)
		}
		_, err = Open(cfg)
		if report.CodeOf(err) != report.CodeLogLost {
			t.Errorf("%s: %v", name, err)
		}
		t.Log(name, err)
	}
}

// With two segments' worth torn off a log whose checkpoint is behind, one
// record is cut and the checkpoint stays a prefix.
func TestFsckOfAHealthyLog(t *testing.T) {
	_, cfg := bigLog(t)
	k, err := CheckDirectory(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(k.Problems) != 0 || k.Entries != 700 || k.Indexed != 700 || k.Covered != 700 || k.Tiles != 2 ||
		k.Head.Size != 700 || k.Segments == 0 || len(k.NotRead) != 0 {
		t.Errorf("%+v", k)
	}
	l := open(t, cfg)
	submit(t, l, "more|")
	k, err = CheckDirectory(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(k.Problems) != 0 || k.Entries != 700 || len(k.NotRead) != 1 || k.Segments != 0 {
		t.Errorf("of an open log: %+v", k)
	}
	l.Close()
	cfg.Index.(*memoryIndex).index[mustStatement([]byte("genesis"))] = 9
	delete(cfg.Index.(*memoryIndex).index, mustStatement([]byte("statement 5")))
	k, err = CheckDirectory(cfg, nil)
	if err != nil || len(k.Problems) != 2 {
		t.Errorf("a wrong index: %v %+v", err, k)
	}
	if size, err := Reindex(cfg); err != nil || size != 701 {
		t.Errorf("reindex: %d %v", size, err)
	}
	if k, err = CheckDirectory(cfg, nil); err != nil || len(k.Problems) != 0 || k.Indexed != 701 {
		t.Errorf("after reindex: %v %+v", err, k)
	}
}

// fsck says what it found of files that nobody needs, and leaves them.
func TestFsckStrays(t *testing.T) {
	disk, cfg := bigLog(t)
	put := func(name string, b []byte) {
		if err := disk.Mkdir(name[:strings.LastIndex(name, "/")]); err != nil {
			t.Fatal(err)
		}
		f, err := disk.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Append(b); err != nil {
			t.Fatal(err)
		}
	}
	tile := readFile(t, disk, "site/tile/0/001")
	put("site/tile/0/001.p/3", tile[:96])
	put("site/tile/0/000.p/2", tile[:64])
	put("site/tile/0/009", tile)
	put("site/notes.txt", nil)
	put("site/tile/0/002.tmp", nil)
	k, err := CheckDirectory(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(k.Problems) != 1 || !strings.Contains(k.Problems[0].Error(), "site/tile/0/000.p/2") {
		t.Errorf("problems %v", k.Problems)
	}
	if len(k.NotRead) != 2 || len(k.Notes) != 1 {
		t.Errorf("not read %q, notes %q", k.NotRead, k.Notes)
	}
}

func TestExport(t *testing.T) {
	_, cfg := bigLog(t)
	l := open(t, cfg)
	want := l.Head()
	out := faultfs.New()
	_, err := Export(cfg, out)
	wantCode(t, err, report.CodeLogLocked)
	l.Close()
	head, err := Export(cfg, out)
	if err != nil || !bytes.Equal(head.Note, want.Note) {
		t.Fatalf("%v %v", head, err)
	}
	for _, name := range []string{"checkpoint", "tile/0/000", "tile/0/002.p/188", "tile/1/000.p/2", "tile/entries/000", "tile/entries/002.p/188"} {
		if !bytes.Equal(readFile(t, out, name), readFile(t, cfg.FS, "site/"+name)) {
			t.Errorf("%s differs", name)
		}
	}
	_, err = Export(cfg, out)
	wantCode(t, err, report.CodeLogExists)
}

func TestAnchors(t *testing.T) {
	_, cfg := bigLog(t)
	old := readFile(t, cfg.FS, checkpointFile)
	snapshot := cfg.FS.(*faultfs.FS).Clone()
	l := open(t, cfg)
	submit(t, l, "after the snapshot|")
	newer := l.Head().Note
	l.Close()

	forked, err := sign(&cfg, 700, merkle.Hash{1})
	if err != nil {
		t.Fatal(err)
	}
	other := cfg
	other.Signer = testSigner(t, "another key")
	foreign, err := sign(&other, 900, merkle.Hash{1})
	if err != nil {
		t.Fatal(err)
	}
	cfg.FS, cfg.Index = snapshot, nil
	note := func(b []byte) func(context.Context) ([]byte, error) {
		return func(context.Context) ([]byte, error) { return b, nil }
	}
	for _, c := range []struct {
		name  string
		fetch func(context.Context) ([]byte, error)
		code  report.Code
	}{
		{"knows nothing", note(nil), ""},
		{"knows this size", note(old), ""},
		{"is ahead", note(newer), report.CodeLogRollback},
		{"knows another history", note(forked), report.CodeLogRollback},
		{"knows another log's", note(foreign), report.CodeAnchorUnreachable},
		{"fails", func(context.Context) ([]byte, error) { return nil, errors.New("no route") }, report.CodeAnchorUnreachable},
		{"hangs", func(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }, report.CodeAnchorUnreachable},
	} {
		cfg.Anchors = []Anchor{{"first", note(nil)}, {"witness", c.fetch}}
		cfg.AnchorTimeout = 10 * time.Millisecond
		before := len(snapshot.Ops())
		l, err := Open(cfg)
		if c.code == "" {
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if p := l.Stats().RollbackProtection; !strings.Contains(p, "witness (") {
				t.Errorf("%s: protection %q", c.name, p)
			}
			l.Close()
			continue
		}
		wantCode(t, err, c.code)
		if len(snapshot.Ops()) != before {
			t.Errorf("%s: a refused start wrote", c.name)
		}
		cfg.UnreachableAnchors = true
		l, err = Open(cfg)
		cfg.UnreachableAnchors = false
		if c.code == report.CodeLogRollback {
			wantCode(t, err, c.code) // that one is no matter of the operator's word
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if p := l.Stats().RollbackProtection; !strings.Contains(p, "witness (not asked)") {
			t.Errorf("%s: protection %q", c.name, p)
		}
		l.Close()
	}
	cfg.Anchors = nil
	if p := open(t, cfg).Stats().RollbackProtection; p != "none" {
		t.Errorf("protection %q", p)
	}
}

// A statement that was in memory when its submitter looked, and in the index
// when the sequencer does, is found all the same.
func TestTwinWhileTheIndexGoesOn(t *testing.T) {
	disk := faultfs.New()
	cfg := testConfig(t, disk)
	cfg.Index = newMemoryIndex()
	create(t, cfg, "genesis|")
	l := open(t, cfg)
	syncing, release := make(chan struct{}), make(chan struct{})
	first := true
	disk.SetHook(func(op faultfs.Op) *faultfs.Fault {
		if op.Kind == faultfs.SyncData && first && strings.HasPrefix(op.Name, segmentsDir) {
			first = false
			close(syncing)
			<-release
		}
		return nil
	})
	results := make(chan Result, 2)
	send := func() {
		r, err := l.Submit(context.Background(), item("twin|"))
		if err != nil {
			t.Error(err)
		}
		results <- r
	}
	go send()
	<-syncing
	go send() // has looked: neither in memory nor in the index
	eventually(t, func() bool { return l.Stats().QueueItems == 1 })
	// Hold the second back until the first was absorbed and let go of.
	l.queue.mu.Lock()
	close(release)
	a := <-results
	if err := l.publish(); err != nil {
		t.Fatal(err)
	}
	if n := l.statements.pending(); n != 0 {
		t.Fatalf("%d statements are still in memory", n)
	}
	l.queue.mu.Unlock()
	b := <-results
	if a.Index != b.Index || a.Repeat || !b.Repeat {
		t.Errorf("%+v %+v", a, b)
	}
}

// A log whose index was lost, or is of another tree, makes it again at start.
func TestIndexMadeAgain(t *testing.T) {
	for name, spoil := range map[string]func(*memoryIndex){
		"lost":   func(m *memoryIndex) { m.lose(len(m.batches)) },
		"behind": func(m *memoryIndex) { m.lose(2) },
		"of another tree": func(m *memoryIndex) {
			m.batches[len(m.batches)-1].root[3]++
			m.index[mustStatement([]byte("statement 5"))] = 99
		},
		"ahead": func(m *memoryIndex) { m.batches[len(m.batches)-1].size += 5 },
	} {
		_, cfg := bigLog(t)
		m := cfg.Index.(*memoryIndex)
		spoil(m)
		l := open(t, cfg)
		if size, _, _ := m.Covered(); size != 700 {
			t.Errorf("%s: covers %d", name, size)
		}
		checkTree(t, cfg, l)
	}
}
