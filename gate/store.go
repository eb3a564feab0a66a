package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// Store is what a gate keeps on its own disk, in one directory:
//
//	rho/<request digest>.jsonl        ρ of judged requests from that one on, to disclose them by
//	intent/<judgment>                 what a sink was about to do, until its outcome is logged
//	inverse/<request digest>          what undoes an effect, escrowed before it
//	outcome/<outcome>                 what an undo of that outcome must know
//
// ρ holds in the clear what receipts only commit to, and an inverse holds what
// files held, so the directory is nobody else's. A Store may be used by many
// goroutines, and by several gates of one process; runs that come after one
// another may share it, and an undo must.
type Store struct {
	fs durable.FS
	// step is told before every change to the world that a sink makes; a test
	// ends the process there. nil otherwise.
	step func(string)

	mu      sync.Mutex // owns what follows
	rho     string     // the file that ρ is appended to; empty before the first
	rhoSize int64      // bytes of that
}

// OpenStore opens the store in dir, which is made where it is missing.
func OpenStore(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil { // it may have been there
		return nil, err
	}
	tree, err := durable.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range []string{rhoDir, "intent", "inverse", "outcome"} {
		if err := tree.Mkdir(d); err != nil {
			return nil, err
		}
	}
	return &Store{fs: tree}, tree.SyncDir(".")
}

const (
	maxIntent  = 16 << 20 // bytes of an intent record
	maxDelta   = 64 << 20 // bytes of an escrowed inverse
	maxOutcome = 16 << 20 // bytes of what is known of an outcome
)

func (s *Store) damaged(name string, err error) error {
	return &report.Error{
		Code: report.CodeGateStore, Where: path.Join(s.fs.String(), name), Expected: "what the gate wrote there", Actual: err.Error(),
		Fix: "restore the file from a copy; what it was for cannot be done without it",
	}
}

func intentName(judgment receipt.CID) string { return path.Join("intent", judgment.String()) }

func (s *Store) putIntent(judgment receipt.CID, record []byte) error {
	return durable.WriteFile(s.fs, intentName(judgment), record)
}

// intent returns the intent record of a call, nil where there is none.
func (s *Store) intent(judgment receipt.CID) ([]byte, error) {
	b, err := durable.ReadFile(s.fs, intentName(judgment), maxIntent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

func (s *Store) dropIntent(judgment receipt.CID) error {
	err := s.fs.Remove(intentName(judgment))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// intents returns the calls that have an intent record.
func (s *Store) intents() ([]receipt.CID, error) {
	names, err := s.fs.ReadDir("intent")
	if err != nil {
		return nil, err
	}
	var all []receipt.CID
	for _, n := range names {
		if cid, err := parseCID(n.Name()); err == nil { // a temporary file is none
			all = append(all, cid)
		}
	}
	return all, nil
}

func inverseName(d receipt.Digest) string { return path.Join("inverse", d.String()) }

// escrow keeps a delta before its effect is judged. What is read back is what
// was to be kept, or it fails.
func (s *Store) escrow(request receipt.Digest, delta []byte) error {
	if len(delta) > maxDelta {
		return fmt.Errorf("an inverse of %d bytes", len(delta))
	}
	if err := durable.WriteFile(s.fs, inverseName(request), delta); err != nil {
		return err
	}
	_, err := s.delta(request, preview.ContentOf(delta))
	return err
}

// delta reads back what was escrowed for a request.
func (s *Store) delta(request receipt.Digest, want preview.Content) ([]byte, error) {
	b, err := durable.ReadFile(s.fs, inverseName(request), maxDelta)
	if err != nil {
		return nil, err
	}
	if got := preview.ContentOf(b); got != want {
		return nil, s.damaged(inverseName(request), fmt.Errorf("it is %s, not %s", got.Value(), want.Value()))
	}
	return b, nil
}
