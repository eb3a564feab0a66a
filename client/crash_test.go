package client

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"syscall"
	"testing"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// crashes is a log to which runs are written that end at every step.
type crashes struct {
	*testing.T
	log       *servertest.Log
	transport *http.Transport
	runs      int
}

func newCrashes(t *testing.T) *crashes {
	c := &crashes{T: t, log: servertest.New(t), transport: http.DefaultTransport.(*http.Transport).Clone()}
	t.Cleanup(c.transport.CloseIdleConnections)
	return c
}

// client is one that has seen nothing.
func (c *crashes) client() *Client {
	cl, err := New(Config{URL: c.log.URL, Policy: c.log.Policy, Engines: c.log.Engines, Transport: c.transport})
	if err != nil {
		c.Fatal(err)
	}
	return cl
}

func (c *crashes) name() string { c.runs++; return fmt.Sprintf("crash-%d", c.runs) }

// heard is what an engine was told before its process ended.
type heard struct {
	recorded, kept []receipt.CID
	seen           uint64
}

// live is the life of an engine up to where its disk fails: it records, keeps,
// finds no room, looks after promises, ends and comes back.
func (c *crashes) live(tree durable.FS, name string) (h heard, err error) {
	cl := c.client()
	r, err := createIn(tree, cl, runConfig("", name))
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	record := func(e Entry) {
		if err != nil {
			return
		}
		var rec *Recorded
		if rec, err = r.Record(c.Context(), e); err == nil {
			h.recorded, h.seen = append(h.recorded, rec.Statement.CID), cl.Seen().Size
		}
	}
	keep := func(e Entry) {
		if err != nil {
			return
		}
		var st *receipt.Decoded
		if st, err = r.Keep(c.Context(), e); err == nil {
			h.kept = append(h.kept, st.CID)
		}
	}
	record(open("1"))
	keep(fault("RULE-FAILED"))
	keep(fault("RULE-FAILED"))
	record(fault("INTERNAL"))
	r.spool = 1 // no room any more
	for range 2 {
		if err == nil {
			_, err = r.Offer(c.Context(), fault("EXHAUSTED"))
		}
	}
	r.spool = DefaultSpool
	if err == nil {
		_, err = r.CheckPromises(c.Context())
	}
	keep(fault("INTERNAL"))
	if err == nil {
		err = r.Flush(c.Context())
	}
	keep(fault("RULE-FAILED"))
	return h, err
}

// again is the next process: it takes up what is there and closes the run.
func (c *crashes) again(tree durable.FS, name string, h heard, survives bool) {
	cl := c.client()
	begun, err := (&store{fs: tree}).begun()
	if err != nil {
		c.Fatal(err)
	}
	if !begun {
		if len(h.recorded)+len(h.kept) > 0 {
			c.Fatalf("%s: a run of %d statements is gone", name, len(h.recorded))
		}
		if _, err := c.live(tree, name); err != nil { // and may be begun again
			c.Fatalf("%s, begun again: %v", name, err)
		}
	}
	r, err := openIn(tree, cl, runConfig("", name))
	if err != nil {
		c.Fatalf("%s: %v", name, err)
	}
	defer r.Close()
	if seen := cl.Seen().Size; survives && begun && seen < h.seen {
		c.Errorf("%s: the tree of %d leaves that was seen is forgotten, %d", name, h.seen, seen)
	}
	said := map[receipt.CID]bool{}
	for st, err := range r.Statements(c.Context()) {
		if err != nil {
			c.Fatalf("%s: %v", name, err)
		}
		said[st.CID] = true
	}
	for _, cid := range h.recorded {
		if !said[cid] {
			c.Errorf("%s: recorded and gone: %s", name, cid)
		}
	}
	for _, cid := range h.kept {
		if survives && !said[cid] {
			c.Errorf("%s: kept and gone: %s", name, cid)
		}
	}
	if len(said) == 0 {
		if _, err := r.Record(c.Context(), open("1")); err != nil {
			c.Fatalf("%s: %v", name, err)
		}
	}
	if _, err := r.Record(c.Context(), fault("LOG-UNAVAILABLE")); err != nil {
		c.Fatalf("%s: %v", name, err)
	}
	if _, err := r.CloseRun(c.Context()); err != nil {
		c.Fatalf("%s: %v", name, err)
	}
	if left, err := r.CheckPromises(c.Context()); err != nil || left != 0 {
		c.Errorf("%s: %d promises are left, %v", name, left, err)
	}
}

// audited holds every run to the laws; gapped runs are not checked, and nothing
// is violated.
func (c *crashes) audited() *report.Report {
	c.Helper()
	c.log.Stop()
	dir := c.TempDir()
	site, err := durable.OpenDir(dir)
	if err != nil {
		c.Fatal(err)
	}
	cfg := c.log.Config()
	if _, err := rlog.Export(cfg.Engine(), site); err != nil {
		c.Fatal(err)
	}
	r, err := audit.Log(os.DirFS(dir), audit.Options{Policy: c.log.Policy, Engines: c.log.Engines, Now: 1 << 50})
	if err != nil {
		c.Fatal(err)
	}
	return r
}

// lawful fails where a law is violated in any run.
func (c *crashes) lawful() {
	c.Helper()
	for _, f := range c.audited().Checks {
		if f.Answer == report.Refuted {
			c.Errorf("%s: %s %s %s", f.Name, f.Answer, f.Code, f.Actual)
		}
	}
}

// dies makes the process end at the n-th step; false where there are fewer.
func (c *crashes) dies(disk *faultfs.FS, name string, n int, fault *faultfs.Fault) (h heard, died bool) {
	disk.SetHook(func(op faultfs.Op) *faultfs.Fault {
		if op.Kind != faultfs.Read && op.Step == n {
			died = true
			return fault
		}
		return nil
	})
	h, err := c.live(disk, name)
	if died == (err == nil) {
		c.Fatalf("%s, step %d: died: %v, but %v", name, n, died, err)
	}
	disk.SetHook(nil)
	return h, died
}

// Wherever the process ends or the power goes, the run goes on where it stopped:
// no place is taken twice, nothing that was told is gone.
func TestRunSurvivesEveryStep(t *testing.T) {
	c := newCrashes(t)
	cuts := map[string]func() faultfs.Keep{
		"lose all": faultfs.LoseAll, "tear last": faultfs.TearLast,
		"random": func() faultfs.Keep { return faultfs.Random(uint64(c.runs)) },
	}
	if os.Getenv("OBSTAT_HEAVY") != "" {
		cuts["keep all"], cuts["lose first"], cuts["names only"], cuts["bytes only"] = faultfs.KeepAll, faultfs.LoseFirst, faultfs.NamesOnly, faultfs.BytesOnly
	}
	steps := 0
	for n := 0; ; n++ {
		disk, name := faultfs.New(), c.name()
		h, died := c.dies(disk, name, n, &faultfs.Fault{Err: faultfs.ErrPowerCut})
		if !died {
			c.again(disk.Kill(), name, h, true)
			break
		}
		steps++
		c.again(disk.Kill(), name, h, true)
		for what, cut := range cuts {
			disk, name := faultfs.New(), c.name()
			h, _ := c.dies(disk, name, n, &faultfs.Fault{Err: faultfs.ErrPowerCut})
			c.again(disk.PowerCut(cut()), name, h, false)
			if t.Failed() {
				t.Fatalf("%s at step %d: %v", what, n, disk.Ops()[n])
			}
		}
	}
	if steps < 30 {
		t.Errorf("only %d steps", steps)
	}
	t.Logf("%d steps, %d runs", steps, c.runs)
	c.lawful()
}

// A sync that failed proves nothing when it is tried again: what the page cache
// shows then may never reach the disk.
func TestRunSurvivesAFailedSync(t *testing.T) {
	c := newCrashes(t)
	for n := 0; ; n++ {
		disk, name := faultfs.New(), c.name()
		h, died := c.dies(disk, name, n, &faultfs.Fault{Err: syscall.EIO})
		if !died {
			break
		}
		disk = disk.Kill()
		begun, err := (&store{fs: disk}).begun()
		if err != nil {
			t.Fatal(err)
		}
		if begun {
			r, err := openIn(disk, c.client(), runConfig("", name))
			if err != nil {
				t.Fatalf("step %d, %v: %v", n, disk.Ops()[n], err)
			}
			if s, err := r.Standing(); err != nil || s.Statements == 0 {
				h.kept = nil
				_, err = r.Record(t.Context(), open("1"))
				if err != nil {
					t.Fatal(err)
				}
			}
			rec, err := r.Record(t.Context(), fault("INTERNAL"))
			if err != nil {
				t.Fatal(err)
			}
			h.recorded = append(h.recorded, rec.Statement.CID)
		}
		c.again(disk.PowerCut(faultfs.LoseAll()), name, h, false)
	}
	c.lawful()
}

// A disk that is full from some step on takes pieces and no more. What an engine
// was told stays; nothing is said half; and when there is room again the run goes on.
func TestRunSurvivesAFullDisk(t *testing.T) {
	c := newCrashes(t)
	for n := 0; ; n++ {
		disk, name, full := faultfs.New(), c.name(), false
		disk.SetHook(func(op faultfs.Op) *faultfs.Fault {
			needsRoom := op.Kind == faultfs.Append || op.Kind == faultfs.Create || op.Kind == faultfs.Preallocate || op.Kind == faultfs.Mkdir
			if !needsRoom || op.Step < n {
				return nil
			}
			full = true
			return &faultfs.Fault{Err: syscall.ENOSPC, Partial: op.Len / 2}
		})
		h, err := c.live(disk, name)
		if !full {
			if err != nil {
				t.Fatal(err)
			}
			if n < 20 {
				t.Errorf("only %d steps", n)
			}
			break
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("step %d, %v: %v", n, disk.Ops()[n], err)
		}
		// What is full says so, to whoever comes back too early, and is not worse
		// for it.
		if r, err := openIn(disk, c.client(), runConfig("", name)); err == nil {
			if rec, err := r.Record(t.Context(), fault("INTERNAL")); err == nil {
				t.Errorf("step %d: recorded %s where nothing can be kept", n, rec.Statement.CID)
			}
			_ = r.Close()
		}
		disk.SetHook(nil)
		c.again(disk, name, h, true)
	}
	c.lawful()
}

// Who comes back may be gone again in a moment; what a first crash has left must
// not come back behind what is said then.
func TestRunSurvivesCrashAfterCrash(t *testing.T) {
	c := newCrashes(t)
	for seed := range uint64(80) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		disk, name := faultfs.New(), c.name()
		h, _ := c.dies(disk, name, 15+rnd.IntN(42), &faultfs.Fault{Err: faultfs.ErrPowerCut})
		disk = disk.PowerCut(faultfs.Random(seed))
		for range 2 {
			n := rnd.IntN(12)
			disk.SetHook(func(op faultfs.Op) *faultfs.Fault {
				if op.Kind != faultfs.Read && op.Step == n {
					return &faultfs.Fault{Err: faultfs.ErrPowerCut}
				}
				return nil
			})
			r, err := openIn(disk, c.client(), runConfig("", name))
			for err == nil {
				if _, err = r.Keep(t.Context(), fault("RULE-FAILED")); err == nil {
					var rec *Recorded
					if rec, err = r.Record(t.Context(), fault("INTERNAL")); err == nil {
						h.recorded = append(h.recorded, rec.Statement.CID)
					}
				}
			}
			if !errors.Is(err, faultfs.ErrPowerCut) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			disk.SetHook(nil)
			disk = disk.PowerCut(faultfs.Random(seed + 1000))
		}
		c.again(disk, name, h, false)
	}
	c.lawful()
}

// What was cut off does not come back behind the next statement, even if power
// goes before that is on disk.
func TestWhatIsCutOffStaysAway(t *testing.T) {
	c := newCrashes(t)
	disk, name := faultfs.New(), c.name()
	r, err := createIn(disk, c.client(), runConfig("", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Record(t.Context(), open("1")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Keep(t.Context(), fault("INTERNAL")); err != nil {
			t.Fatal(err)
		}
	}
	second := r.ledger.places[1].off
	disk = disk.Kill()
	if err := disk.Edit(journalName, func(b []byte) []byte { b[second+100] ^= 1; return b }); err != nil {
		t.Fatal(err)
	}
	if r, err = openIn(disk, c.client(), runConfig("", name)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Keep(t.Context(), fault("INTERNAL")); err != nil {
		t.Fatal(err)
	}
	disk = disk.PowerCut(faultfs.Keep{Page: func(_ string, page, pages int) faultfs.Fate {
		if page == pages-1 {
			return faultfs.Kept
		}
		return faultfs.Lost
	}})
	if r, err = openIn(disk, c.client(), runConfig("", name)); err != nil {
		t.Fatal(err)
	}
	if s, err := r.Standing(); err != nil || s.Statements != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Without its syncs the test above is red: a place is taken twice.
func TestCrashTestSeesAMissingSync(t *testing.T) {
	c := newCrashes(t)
	disk, name := faultfs.New(), c.name()
	if _, err := c.live(disk, name); err != nil {
		t.Fatal(err)
	}
	disk, name = faultfs.New(), c.name()
	r, err := createIn(disk, c.client(), runConfig("", name))
	if err != nil {
		t.Fatal(err)
	}
	disk.SetMutant(faultfs.Mutant{NoSyncData: true})
	for _, e := range []Entry{open("1"), fault("INTERNAL")} {
		if _, err := r.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	disk = disk.PowerCut(faultfs.LoseAll())
	if r, err = openIn(disk, c.client(), runConfig("", name)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Record(t.Context(), open("2")); err != nil {
		t.Fatal(err)
	}
	if rep := c.audited(); rep.Overall() != report.LawViolated {
		t.Errorf("an engine that spoke in one place twice is %s", rep.Overall())
	}
}
