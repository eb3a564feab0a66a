package rlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// history is what clients of a log were told, over all its restarts.
type history struct {
	created bool // Create answered nil
	answers []Result
}

// script is a short life of a log: made, written, closed, opened, written. It
// ends at the first error, as everything does when power goes.
func script(cfg Config, h *history) error {
	if err := Create(cfg, []byte("genesis")); err != nil {
		return err
	}
	h.created = true
	for round := range 2 {
		l, err := Open(cfg)
		if err != nil {
			return err
		}
		if err := submitScript(l, h, round); err != nil {
			l.Close()
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

func submitScript(l *Log, h *history, round int) error {
	for i := range 4 {
		leaf := fmt.Sprintf("statement %d-%d|", round, i)
		if i == 2 {
			leaf += string(make([]byte, 9000)) // a record of several pages
		}
		r, err := l.Submit(context.Background(), item(leaf))
		if err != nil {
			return err
		}
		h.answers = append(h.answers, r)
	}
	return nil
}

// verify opens the log as it was left and checks everything that anybody was
// told against it; then it goes on with it.
func (h *history) verify(cfg Config) error {
	l, err := Open(cfg)
	if err != nil {
		if report.CodeOf(err) == report.CodeLogAbsent && !h.created {
			return h.createAgain(cfg)
		}
		return fmt.Errorf("open: %w", err)
	}
	defer l.Close()
	if err := h.check(cfg, l); err != nil {
		return err
	}
	// It goes on: a statement already answered finds its index, a new one one
	// that nobody has.
	for _, a := range h.answers {
		r, err := l.Submit(context.Background(), Item{Leaf: a.Leaf, Statement: mustStatement(a.Leaf)})
		if err != nil || !r.Repeat || r.Index != a.Index {
			return fmt.Errorf("statement answered with index %d, now %d, repeat %v, %v", a.Index, r.Index, r.Repeat, err)
		}
	}
	r, err := l.Submit(context.Background(), item("after"))
	if err != nil {
		return fmt.Errorf("submit after restart: %w", err)
	}
	h.answers = append(h.answers, r)
	return h.check(cfg, l)
}

func (h *history) createAgain(cfg Config) error {
	if err := Create(cfg, []byte("genesis")); err != nil {
		return fmt.Errorf("create again: %w", err)
	}
	return nil
}

func (h *history) check(cfg Config, l *Log) error {
	head := l.Head()
	var edge merkle.Range
	for i := range head.Size {
		leaf, err := l.Leaf(i)
		if err != nil {
			return err
		}
		edge.Append(merkle.LeafHash(leaf), nil)
	}
	if edge.Root() != head.Root {
		return errors.New("the leaves do not give the root")
	}
	for _, a := range h.answers {
		if err := checkResult(cfg, a); err != nil {
			return err
		}
		if a.Head.Size > head.Size {
			return fmt.Errorf("size %d was signed and handed out, the log has %d", a.Head.Size, head.Size)
		}
		p, err := l.ConsistencyProof(a.Head.Size, head.Size)
		if err != nil {
			return err
		}
		if err := merkle.VerifyConsistency(a.Head.Size, head.Size, a.Head.Root, head.Root, p); err != nil {
			return fmt.Errorf("a checkpoint that was handed out: %w", err)
		}
		leaf, err := l.Leaf(a.Index)
		if err != nil || string(leaf) != string(a.Leaf) {
			return fmt.Errorf("answered leaf %d is not there: %w", a.Index, err)
		}
	}
	return nil
}

// powerCuts are the ways for power to go.
func powerCuts() map[string]faultfs.Keep {
	m := map[string]faultfs.Keep{
		"lose all": faultfs.LoseAll(), "keep all": faultfs.KeepAll(), "tear last": faultfs.TearLast(),
		"lose first": faultfs.LoseFirst(), "names only": faultfs.NamesOnly(), "bytes only": faultfs.BytesOnly(),
	}
	for i := range uint64(3) {
		m[fmt.Sprint("random ", i)] = faultfs.Random(i)
	}
	return m
}

// atStep makes the fault happen at one step.
func atStep(n int, f faultfs.Fault) faultfs.Hook {
	return func(op faultfs.Op) *faultfs.Fault {
		if op.Step == n && op.Kind != faultfs.Read {
			return &f
		}
		return nil
	}
}

// steps is the number of steps of the script without faults.
func steps(t *testing.T) int {
	disk := faultfs.New()
	var h history
	if err := script(testConfig(t, disk), &h); err != nil {
		t.Fatal(err)
	}
	if len(h.answers) != 8 {
		t.Fatalf("%d answers", len(h.answers))
	}
	return len(disk.Ops())
}

// cutEverywhere cuts the power at every step, in every way, and returns what
// was found wrong, by place.
func cutEverywhere(t *testing.T, mutant faultfs.Mutant, verify func(*history, Config) error) (cases int, wrong []string) {
	for step := range steps(t) {
		for _, applied := range []bool{false, true} {
			for name, keep := range powerCuts() {
				disk := faultfs.New()
				disk.SetMutant(mutant)
				disk.SetHook(atStep(step, faultfs.Fault{Err: faultfs.ErrPowerCut, Applied: applied}))
				var h history
				if err := script(testConfig(t, disk), &h); err == nil {
					t.Fatalf("the script ended well with power cut at step %d", step)
				}
				cases++
				if err := verify(&h, testConfig(t, disk.PowerCut(keep))); err != nil {
					ops := disk.Ops()
					wrong = append(wrong, fmt.Sprintf("%v, applied %v, %s: %v", ops[len(ops)-1], applied, name, err))
				}
			}
		}
	}
	return cases, wrong
}

func TestPowerCut(t *testing.T) {
	cases, wrong := cutEverywhere(t, faultfs.Mutant{}, (*history).verify)
	for _, w := range wrong {
		t.Error(w)
	}
	t.Logf("%d power cuts at %d steps", cases, steps(t))
}

// The test above would see it if the engine did not sync.
func TestPowerCutMutants(t *testing.T) {
	for name, m := range map[string]faultfs.Mutant{"no fdatasync": {NoSyncData: true}, "no directory sync": {NoSyncDir: true}} {
		_, wrong := cutEverywhere(t, m, (*history).verify)
		if len(wrong) == 0 {
			t.Errorf("%s: nothing noticed", name)
			continue
		}
		t.Logf("%s: %d power cuts noticed, first: %s", name, len(wrong), wrong[0])
	}
}

// A power cut while a log recovers from a power cut.
func TestPowerCutInRecovery(t *testing.T) {
	cuts := powerCuts()
	n := steps(t)
	for step := 12; step < n; step += 3 {
		for name, keep := range cuts {
			for again := range 8 {
				disk := faultfs.New()
				disk.SetHook(atStep(step, faultfs.Fault{Err: faultfs.ErrPowerCut, Applied: true}))
				var h history
				if err := script(testConfig(t, disk), &h); err == nil {
					t.Fatal("no power cut")
				}
				disk = disk.PowerCut(keep)
				disk.SetHook(atStep(again, faultfs.Fault{Err: faultfs.ErrPowerCut, Applied: again%2 == 0}))
				_ = h.verify(testConfig(t, disk)) // whatever it came to
				if err := h.verify(testConfig(t, disk.PowerCut(faultfs.Random(uint64(step))))); err != nil {
					t.Errorf("step %d, %s, then step %d: %v", step, name, again, err)
				}
			}
		}
	}
}

// Every operation fails once, in every way. The writer stops; what comes after,
// a restart, the death of the process or a power cut, finds everything that was
// answered.
func TestEveryOperationFails(t *testing.T) {
	faults := map[string]faultfs.Fault{
		"EIO":               {Err: syscall.EIO},
		"EIO, done anyway":  {Err: syscall.EIO, Applied: true},
		"disk full":         {Err: syscall.ENOSPC},
		"disk full midway":  {Err: syscall.ENOSPC, Partial: 100},
		"full after a page": {Err: syscall.ENOSPC, Partial: 5000},
		"read-only":         {Err: syscall.EROFS},
		"no permission":     {Err: fs.ErrPermission},
	}
	ends := map[string]func(*faultfs.FS) *faultfs.FS{
		"restart":  (*faultfs.FS).Kill, // Close was called; the files are as they are
		"lose all": func(f *faultfs.FS) *faultfs.FS { return f.PowerCut(faultfs.LoseAll()) },
		"keep all": func(f *faultfs.FS) *faultfs.FS { return f.PowerCut(faultfs.KeepAll()) },
		"random":   func(f *faultfs.FS) *faultfs.FS { return f.PowerCut(faultfs.Random(7)) },
		"restart, then lose all": func(f *faultfs.FS) *faultfs.FS {
			f = f.Kill()
			if l, err := Open(testConfig(t, f)); err == nil {
				l.Close()
			}
			return f.PowerCut(faultfs.LoseAll())
		},
	}
	for step := range steps(t) {
		for fault, f := range faults {
			for end, what := range ends {
				disk := faultfs.New()
				disk.SetHook(atStep(step, f))
				var h history
				err := script(testConfig(t, disk), &h)
				if err != nil && !errors.Is(err, f.Err) {
					t.Errorf("step %d, %s: the error does not say why: %v", step, fault, err)
				}
				if err != nil {
					switch c := report.CodeOf(err); c {
					case report.CodeLogIO, report.CodeLogStopped:
					default:
						t.Errorf("step %d, %s: code %s", step, fault, c)
					}
				}
				if err := h.verify(testConfig(t, what(disk))); err != nil {
					t.Errorf("%v, %s, %s: %v", disk.Ops()[step], fault, end, err)
				}
			}
		}
	}
}

// After a failed sync nothing is acknowledged, even though later syncs succeed,
// and readers go on.
func TestFailStop(t *testing.T) {
	disk := faultfs.New()
	cfg := testConfig(t, disk)
	create(t, cfg, "genesis")
	l := open(t, cfg)
	r := submit(t, l, "durable")
	disk.SetHook(atStep(len(disk.Ops())+1, faultfs.Fault{Err: syscall.EIO}))
	_, err := l.Submit(t.Context(), item("lost"))
	wantCode(t, err, report.CodeLogStopped)
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("%v does not wrap EIO", err)
	}
	<-l.Stopped()
	wantCode(t, l.Err(), report.CodeLogStopped)
	disk.SetHook(nil)
	_, err = l.Submit(t.Context(), item("lost"))
	wantCode(t, err, report.CodeLogStopped)
	if again := submit(t, l, "durable"); !again.Repeat || again.Index != r.Index {
		t.Errorf("repeat: %+v", again)
	}
	if got, err := l.Prove(r.Index); err != nil || checkResult(cfg, got) != nil {
		t.Errorf("a reader: %v", err)
	}
	if l.Size() != 2 {
		t.Errorf("size %d", l.Size())
	}
	wantCode(t, l.Close(), report.CodeLogStopped)
}

func TestTwoWriters(t *testing.T) {
	for name, cfg := range map[string]Config{"disk": testConfig(t, dirFS(t)), "memory": testConfig(t, faultfs.New())} {
		create(t, cfg, "genesis")
		wantCode(t, Create(cfg, []byte("genesis")), report.CodeLogExists)
		l := open(t, cfg)
		_, err := Open(cfg)
		wantCode(t, err, report.CodeLogLocked)
		t.Log(name, err)
		wantCode(t, Create(cfg), report.CodeLogLocked)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		open(t, cfg)
	}
}
