package rlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// history is what clients of a log were told, over all its restarts.
type history struct {
	disk    *faultfs.FS // the disk of the log as it goes on
	created bool        // Create answered nil
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
		if err := h.submit(l, leaf); err != nil {
			return err
		}
	}
	return nil
}

// longScript fills tiles, rolls and drops segments. The first process dies and
// does not close.
func longScript(cfg Config, h *history) error {
	cfg.SegmentBytes = 700 // two groups
	genesis := make([][]byte, 251)
	for i := range genesis {
		genesis[i] = fmt.Appendf(nil, "g%d|", i)
	}
	if err := Create(cfg, genesis...); err != nil {
		return err
	}
	h.created = true
	for round, n := range []int{3, 4, 2} {
		l, err := Open(cfg)
		if err != nil {
			return err
		}
		for i := range n {
			if err = h.submit(l, fmt.Sprintf("statement %d-%d|", round, i)); err != nil {
				break
			}
			if i != 1 {
				continue
			}
			if err = l.publish(); err != nil {
				break
			}
		}
		if err == nil && round == 0 {
			h.disk = h.disk.Kill()
			cfg.FS = h.disk
			l.Close()
			continue
		}
		if cerr := l.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *history) submit(l *Log, leaf string) error {
	r, err := l.Submit(context.Background(), item(leaf))
	if err == nil {
		h.answers = append(h.answers, r)
	}
	return err
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
func powerCuts() []powerCut {
	cuts := []powerCut{
		{"lose all", faultfs.LoseAll}, {"keep all", faultfs.KeepAll}, {"tear last", faultfs.TearLast},
		{"lose first", faultfs.LoseFirst}, {"names only", faultfs.NamesOnly}, {"bytes only", faultfs.BytesOnly},
	}
	for i := range uint64(3) {
		cuts = append(cuts, powerCut{fmt.Sprint("random ", i), func() faultfs.Keep { return faultfs.Random(i) }})
	}
	return cuts
}

type powerCut struct {
	name string
	keep func() faultfs.Keep
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

// life is a script and how often it answers.
type life struct {
	run     func(Config, *history) error
	answers int
}

var shortLife, longLife = life{script, 8}, life{longScript, 9}

// live runs a script on a fresh disk.
func (s life) live(t *testing.T, m faultfs.Mutant, hook faultfs.Hook) (*history, error) {
	h := &history{disk: faultfs.New()}
	h.disk.SetMutant(m)
	h.disk.SetHook(hook)
	cfg := testConfig(t, h.disk)
	return h, s.run(cfg, h)
}

// steps is the number of steps of a script without faults.
func (s life) steps(t *testing.T) int {
	h, err := s.live(t, faultfs.Mutant{}, nil)
	if os.Getenv(mutantEnv) == "" && (err != nil || len(h.answers) != s.answers) {
		t.Fatalf("%d answers, %v", len(h.answers), err)
	}
	return len(h.disk.Ops())
}

// cutEverywhere cuts the power at every step and returns what was found wrong,
// by place. Of the ways for power to go each step sees some, at least keep; with
// OBSTAT_HEAVY all.
func (s life) cutEverywhere(t *testing.T, m faultfs.Mutant, keep int) (cases int, wrong []string) {
	cuts := powerCuts()
	switch {
	case raceBuild:
		keep = 1
	case os.Getenv("OBSTAT_HEAVY") != "":
		keep = len(cuts)
	}
	for step := range s.steps(t) {
		for i := range 2 * keep {
			cut, applied := cuts[(step+i/2)%len(cuts)], i%2 == 0
			h, err := s.live(t, m, atStep(step, faultfs.Fault{Err: faultfs.ErrPowerCut, Applied: applied}))
			if err == nil {
				t.Fatalf("the script ended well with power cut at step %d", step)
			}
			cases++
			cfg := testConfig(t, h.disk.PowerCut(cut.keep()))
			if err := h.verify(cfg); err != nil {
				ops := h.disk.Ops()
				wrong = append(wrong, fmt.Sprintf("%v, applied %v, %s: %v", ops[len(ops)-1], applied, cut.name, err))
				if os.Getenv(mutantEnv) != "" {
					return cases, wrong // one is enough
				}
			}
		}
	}
	return cases, wrong
}

// The long life does what it is there for.
func TestLongLife(t *testing.T) {
	h, err := longLife.live(t, faultfs.Mutant{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, op := range h.disk.Ops() {
		seen[fmt.Sprint(op.Kind, " ", op.Name)] = true
	}
	for _, want := range []string{"remove " + segmentName(1), "rename site/checkpoint", "rename site/tile/0/000",
		"rename site/tile/entries/000", "rename site/tile/1/000.p/1", "remove site/tile/0/000.p"} {
		if !seen[want] {
			t.Errorf("no %s", want)
		}
	}
}

func TestPowerCut(t *testing.T) {
	for name, s := range map[string]life{"short": shortLife, "long": longLife} {
		keep := 3
		if name == "long" {
			keep = 2
		}
		cases, wrong := s.cutEverywhere(t, faultfs.Mutant{}, keep)
		for _, w := range wrong {
			t.Error(name, w)
		}
		t.Logf("%s life: %d power cuts at %d steps", name, cases, s.steps(t))
	}
}

// The test above would see it if the engine did not sync. Other faults of the
// engine are planted in its source, see TestMutants.
func TestPowerCutWithoutSync(t *testing.T) {
	for name, m := range map[string]faultfs.Mutant{"no fdatasync": {NoSyncData: true}, "no directory sync": {NoSyncDir: true}} {
		_, wrong := shortLife.cutEverywhere(t, m, 2)
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
	stride := 7
	if raceBuild {
		stride = 41
	}
	for step := 12; step < longLife.steps(t); step += stride {
		for again := range 12 {
			h, err := longLife.live(t, faultfs.Mutant{}, atStep(step, faultfs.Fault{Err: faultfs.ErrPowerCut, Applied: true}))
			if err == nil {
				t.Fatal("no power cut")
			}
			cut := cuts[(step+again)%len(cuts)]
			disk := h.disk.PowerCut(cut.keep())
			disk.SetHook(atStep(again, faultfs.Fault{Err: faultfs.ErrPowerCut, Applied: again%2 == 0}))
			_ = h.verify(testConfig(t, disk)) // whatever it came to
			if err := h.verify(testConfig(t, disk.PowerCut(faultfs.Random(uint64(step))))); err != nil {
				t.Errorf("step %d, %s, then step %d: %v", step, cut.name, again, err)
			}
		}
	}
}

// faults are the ways for an operation to fail.
func faults() []namedFault {
	return []namedFault{
		{"EIO", faultfs.Fault{Err: syscall.EIO}},
		{"EIO, done anyway", faultfs.Fault{Err: syscall.EIO, Applied: true}},
		{"disk full", faultfs.Fault{Err: syscall.ENOSPC}},
		{"disk full midway", faultfs.Fault{Err: syscall.ENOSPC, Partial: 100}},
		{"full after a page", faultfs.Fault{Err: syscall.ENOSPC, Partial: 5000}},
		{"read-only", faultfs.Fault{Err: syscall.EROFS}},
		{"no permission", faultfs.Fault{Err: fs.ErrPermission}},
	}
}

type namedFault struct {
	name  string
	fault faultfs.Fault
}

// ends are what may come after a failure.
func ends(t *testing.T, h *history) []namedEnd {
	return []namedEnd{
		{"restart", (*faultfs.FS).Kill}, // Close was called; the files are as they are
		{"lose all", func(f *faultfs.FS) *faultfs.FS { return f.PowerCut(faultfs.LoseAll()) }},
		{"keep all", func(f *faultfs.FS) *faultfs.FS { return f.PowerCut(faultfs.KeepAll()) }},
		{"random", func(f *faultfs.FS) *faultfs.FS { return f.PowerCut(faultfs.Random(7)) }},
		{"restart, then lose all", func(f *faultfs.FS) *faultfs.FS {
			f = f.Kill()
			cfg := testConfig(t, f)
			_ = h.verify(cfg) // and goes on, and is told more
			return f.PowerCut(faultfs.LoseAll())
		}},
	}
}

type namedEnd struct {
	name string
	end  func(*faultfs.FS) *faultfs.FS
}

// failEverywhere fails every operation once and returns what was found wrong.
func (s life) failEverywhere(t *testing.T, each int) (cases int, wrong []string) {
	all := faults()
	switch {
	case raceBuild:
		each = 1
	case os.Getenv("OBSTAT_HEAVY") != "":
		each = len(all) * len(ends(t, nil))
	}
	for step := range s.steps(t) {
		for i := range each {
			f := all[(step+i)%len(all)]
			h, err := s.live(t, faultfs.Mutant{}, atStep(step, f.fault))
			then := ends(t, h)
			end := then[(step+i/len(all)+i)%len(then)]
			place := fmt.Sprintf("%v, %s, %s", h.disk.Ops()[step], f.name, end.name)
			if err != nil {
				if !errors.Is(err, f.fault.Err) {
					wrong = append(wrong, fmt.Sprintf("%s: the error does not say why: %v", place, err))
				}
				if c := report.CodeOf(err); c != report.CodeLogIO && c != report.CodeLogStopped {
					wrong = append(wrong, fmt.Sprintf("%s: code %s", place, c))
				}
			}
			cases++
			cfg := testConfig(t, end.end(h.disk))
			if err := h.verify(cfg); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v", place, err))
				if os.Getenv(mutantEnv) != "" {
					return cases, wrong
				}
			}
		}
	}
	return cases, wrong
}

// Every operation fails once. The writer stops; what comes after, a restart, the
// death of the process or a power cut, finds everything that was answered.
func TestEveryOperationFails(t *testing.T) {
	for name, s := range map[string]life{"short": shortLife, "long": longLife} {
		each := 8
		if name == "long" {
			each = 5
		}
		cases, wrong := s.failEverywhere(t, each)
		for _, w := range wrong {
			t.Error(name, w)
		}
		t.Logf("%s life: %d failures", name, cases)
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
