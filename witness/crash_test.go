package witness

import (
	"crypto/ed25519"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/report"
)

func signerAs(t *testing.T, name string) string {
	t.Helper()
	k, err := checkpoint.NewVKey(name, checkpoint.TypeEd25519, key(name).Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	return k.String()
}

// answered is the history that a witness's cosignatures tell the world.
type answered struct {
	t    *testing.T
	last checkpoint.Checkpoint
	on   *testLog // the branch that was cosigned; nil while both are possible
}

// took notes that a checkpoint was cosigned, and holds it against all before.
func (h *answered) took(l *testLog, size uint64, how string) {
	h.t.Helper()
	if h.on != nil && h.on != l && size > l.fork {
		h.t.Fatalf("%s: both branches are cosigned", how)
	}
	if size < h.last.Size {
		h.t.Fatalf("%s: cosigned %d after %d", how, size, h.last.Size)
	}
	if size > l.fork {
		h.on = l
	}
	h.last = l.head(size)
}

// TestEveryFault makes every operation of the disk fail in every way, with the
// machine or without, lets two branches of a log compete for the witness behind
// it, and asks whether what was cosigned is one history that grows.
func TestEveryFault(t *testing.T) {
	keeps := map[string]func() faultfs.Keep{
		"lose all": faultfs.LoseAll, "keep all": faultfs.KeepAll, "tear last": faultfs.TearLast,
		"names only": faultfs.NamesOnly, "bytes only": faultfs.BytesOnly, "lose first": faultfs.LoseFirst,
	}
	faults := map[string]faultfs.Fault{
		"fails": {Err: fmt.Errorf("input/output error")}, "is done and fails": {Err: fmt.Errorf("input/output error"), Applied: true},
		"cut": {Err: faultfs.ErrPowerCut}, "is done and cut": {Err: faultfs.ErrPowerCut, Applied: true},
		"short": {Err: fmt.Errorf("no space left on device"), Partial: 100},
	}
	steps := 0
	for begun := true; begun; steps++ {
		begun = false
		for faultName, fault := range faults {
			for keepName, keep := range keeps {
				how := fmt.Sprintf("step %d %s, %s", steps, faultName, keepName)
				begun = faultAt(t, steps, fault, keep(), how) || begun
			}
		}
	}
	if steps < 10 {
		t.Errorf("only %d steps", steps)
	}
}

// faultAt runs one history with a fault at a step and reports whether it came to
// that step.
func faultAt(t *testing.T, step int, fault faultfs.Fault, keep faultfs.Keep, how string) (reached bool) {
	t.Helper()
	a, b := newLog(t, "a"), newLog(t, "b")
	h := answered{t: t}
	fs := faultfs.New()
	fs.SetHook(func(op faultfs.Op) *faultfs.Fault {
		if op.Step != step {
			return nil
		}
		reached = true
		f := fault
		return &f
	})
	w, err := tryOpen(t, fs, Config{})
	if err == nil {
		h.ask(w, a, 2, how)
		h.ask(w, a, 5, how)
		h.ask(w, b, 6, how)
		h.ask(w, a, 7, how)
		_ = w.Close()
	}
	after := fs.PowerCut(keep)
	w, err = tryOpen(t, after, Config{})
	if err != nil {
		t.Fatalf("%s: it does not start again: %v", how, err)
	}
	h.served(w, a, b, how)
	h.ask(w, b, 9, how)
	h.ask(w, a, 9, how)
	h.served(w, a, b, how)
	if err := w.Close(); err != nil {
		t.Fatalf("%s: %v", how, err)
	}
	return reached
}

// ask sends a checkpoint as a log does: from the size that the witness names.
func (h *answered) ask(w *Witness, l *testLog, size uint64, how string) {
	h.t.Helper()
	old := uint64(0)
	for range 3 {
		lines, err := w.Add(l.add(old, size).Bytes())
		if c, ok := err.(*ConflictError); ok {
			if c.Size > size {
				return
			}
			old = c.Size
			continue
		}
		switch code := report.CodeOf(err); {
		case err == nil:
			if !strings.HasPrefix(string(lines), "— witness.example ") {
				h.t.Fatalf("%s: answered %q", how, lines)
			}
			h.took(l, size, how)
		case code != report.CodeWitnessStopped && code != report.CodeLogForked && code != report.CodeProofInvalid:
			h.t.Fatalf("%s: %v", how, err)
		}
		return
	}
	h.t.Fatalf("%s: the witness names one size after another", how)
}

// served holds what monitors are told to the same history.
func (h *answered) served(w *Witness, a, b *testLog, how string) {
	h.t.Helper()
	rec := get(w, monitoring)
	if rec.Code == 404 {
		if h.last.Size > 0 {
			h.t.Fatalf("%s: size %d was cosigned and is forgotten", how, h.last.Size)
		}
		return
	}
	o, err := checkpoint.Open(rec.Body.Bytes(), []checkpoint.VKey{a.signer.Key, signer(h.t, "witness.example").Key})
	if err != nil {
		h.t.Fatalf("%s: %v", how, err)
	}
	for _, l := range []*testLog{a, b} {
		if l.head(o.Size).Root == o.Root {
			h.took(l, o.Size, how+", served")
			return
		}
	}
	h.t.Fatalf("%s: it serves a checkpoint of neither branch", how)
}
