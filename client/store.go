package client

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/report"
)

// store is a run's directory:
//
//	secret               the run's secret, 64 hex digits
//	journal              every statement and every checkpoint in answer to one
//	000000.receipt.json  the log's answer to the statement with seq 0, verified before it is written
//	evidence/            what a log said that proves nothing, or contradicts what it said before
//	lock                 held while a process speaks for the run
//
// The lock keeps two processes from saying two things in one place.
type store struct {
	fs   durable.FS
	lock durable.Lock
}

const (
	secretName  = "secret"
	evidenceDir = "evidence"
	// maxEvidence is how many pieces are kept: a log that lies at length does not
	// fill the disk.
	maxEvidence = 32
)

func answerName(seq uint64) string { return fmt.Sprintf("%06d.receipt.json", seq) }

// makeDir makes the directory of a run, for its owner alone.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700) // it may have been there: the secret is nobody else's
}

// openStore takes the directory; the caller closes the store.
func openStore(tree durable.FS) (*store, error) {
	lock, err := tree.Lock("lock")
	if err != nil {
		return nil, locked(err)
	}
	return &store{tree, lock}, nil
}

// locked says that another process speaks for the run.
func locked(err error) error {
	var held *durable.LockedError
	if !errors.As(err, &held) {
		return err
	}
	said := &report.Error{
		Code: report.CodeRunLocked, Where: held.Name, Expected: "a run that no other process speaks for", Actual: held.Error(),
		Fix: "wait until that process has ended, or end it; to look at the run needs no lock",
	}
	return fmt.Errorf("%w (%w)", said, held)
}

// createStore makes an empty run. The secret comes last: what has none is no
// run, and may be begun again.
func createStore(tree durable.FS, secret [32]byte) (*store, error) {
	s, err := openStore(tree)
	if err != nil {
		return nil, err
	}
	begun, err := s.begun()
	if err == nil && begun {
		err = &report.Error{
			Code: report.CodeRunExists, Where: tree.String(), Expected: "a directory without a run",
			Actual: secretName, Fix: "open that run, or choose another directory",
		}
	}
	if err == nil {
		err = createJournal(tree)
	}
	if err == nil {
		err = durable.WriteFile(tree, secretName, []byte(hex.EncodeToString(secret[:])))
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *store) close() error { return s.lock.Close() }

// begun reports whether there is a run.
func (s *store) begun() (bool, error) {
	names, err := s.fs.ReadDir(".")
	for _, n := range names {
		if n.Name() == secretName {
			return true, err
		}
	}
	return false, err
}

func (s *store) secret() (preview.RunSecret, error) {
	b, err := durable.ReadFile(s.fs, secretName, 64)
	if err != nil {
		return preview.RunSecret{}, err
	}
	key, err := hex.DecodeString(string(b))
	if err != nil { // and not what stands there: it may be most of a secret
		return preview.RunSecret{}, &report.Error{Code: report.CodeRunStore, Where: secretName, Expected: "64 hex digits", Actual: "something else"}
	}
	return preview.NewRunSecret(key)
}

// answer returns the stored answer to a statement, nil where there is none.
func (s *store) answer(seq uint64) ([]byte, error) {
	b, err := durable.ReadFile(s.fs, answerName(seq), maxAnswer)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// putAnswer keeps an answer. It is not synced.
func (s *store) putAnswer(seq uint64, answer []byte) error {
	name := answerName(seq)
	tmp := name + durable.TempSuffix
	if err := s.fs.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := s.fs.Create(tmp)
	if err != nil {
		return err
	}
	if err := errors.Join(w.Append(answer), w.Close()); err != nil {
		return err
	}
	return s.fs.Rename(tmp, name)
}

// putEvidence keeps what a log said, for good: as it came, beside what it was
// asked, and as a file for `verify fork` where two checkpoints contradict each
// other. The same again is kept once.
func (s *store) putEvidence(seq uint64, e *ProofError) error {
	files := map[string][]byte{"leaf": e.Leaf, "answer": e.Answer}
	if fork := e.Fork(); fork != nil {
		files["fork.json"] = append(fork.Append(nil), '\n')
	}
	sum := blake3.Sum256(append(append([]byte(nil), e.Prior...), e.Answer...))
	return s.putFiles(fmt.Sprintf("%06d-%s-%x", seq, e.Code, sum[:4]), files)
}

func (s *store) putFiles(name string, files map[string][]byte) error {
	if err := s.fs.Mkdir(evidenceDir); err != nil {
		return err
	}
	have, err := s.evidence()
	if err != nil || len(have) >= maxEvidence {
		return err
	}
	for ext, b := range files {
		if len(b) == 0 {
			continue
		}
		if err := durable.WriteFile(s.fs, path.Join(evidenceDir, name+"."+ext), b); err != nil {
			return err
		}
	}
	return s.fs.SyncDir(".")
}

// evidence lists what is kept, by name, without the endings.
func (s *store) evidence() ([]string, error) {
	names, err := s.fs.ReadDir(evidenceDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []string
	for _, n := range names {
		name, _, _ := strings.Cut(n.Name(), ".")
		if len(all) == 0 || all[len(all)-1] != name {
			all = append(all, name)
		}
	}
	return all, err
}
