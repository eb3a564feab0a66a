package client

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/report"
)

// store is a run's directory:
//
//	secret               the run's secret, 64 hex digits
//	000000.leaf          canonical leaf of the statement with seq 0, synced before it is sent
//	000000.receipt.json  the log's answer to it, verified before it is written
//	lock                 held while a process speaks for the run
//
// The lock keeps two processes from saying two things in one place.
type store struct {
	fs   durable.FS
	lock durable.Lock
}

const (
	secretName = "secret"
	leafSuffix = ".leaf"
)

func leafName(seq uint64) string   { return fmt.Sprintf("%06d%s", seq, leafSuffix) }
func answerName(seq uint64) string { return fmt.Sprintf("%06d.receipt.json", seq) }

// openStore takes the directory; the caller closes the store.
func openStore(dir string) (*store, error) {
	tree, err := durable.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	lock, err := tree.Lock("lock")
	if err != nil {
		return nil, err
	}
	return &store{tree, lock}, nil
}

func createStore(dir string, secret [32]byte) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil { // it may have been there: the secret is nobody else's
		return nil, err
	}
	s, err := openStore(dir)
	if err != nil {
		return nil, err
	}
	err = s.empty()
	if err == nil {
		err = durable.WriteFile(s.fs, secretName, []byte(hex.EncodeToString(secret[:])))
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *store) close() error { return s.lock.Close() }

// empty refuses a directory in which a run has begun.
func (s *store) empty() error {
	names, err := s.fs.ReadDir(".")
	if err != nil {
		return err
	}
	for _, n := range names {
		if n.Name() == secretName || strings.HasSuffix(n.Name(), leafSuffix) {
			return &report.Error{
				Code: report.CodeRunExists, Where: s.fs.String(), Expected: "a directory without a run",
				Actual: n.Name(), Fix: "open that run, or choose another directory",
			}
		}
	}
	return nil
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

// leaf returns the stored leaf of a statement, nil where there is none.
func (s *store) leaf(seq uint64) ([]byte, error) { return s.read(leafName(seq), dsse.MaxLeaf) }

// answer returns the stored answer to a statement, nil where there is none.
func (s *store) answer(seq uint64) ([]byte, error) { return s.read(answerName(seq), maxAnswer) }

func (s *store) read(name string, limit int64) ([]byte, error) {
	b, err := durable.ReadFile(s.fs, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// nothingFrom refuses a directory in which a statement stands behind a hole.
func (s *store) nothingFrom(seq uint64) error {
	names, err := s.fs.ReadDir(".")
	if err != nil {
		return err
	}
	for _, n := range names {
		name, ok := strings.CutSuffix(n.Name(), leafSuffix)
		if other, err := strconv.ParseUint(name, 10, 64); ok && (err != nil || other > seq) {
			return &report.Error{Code: report.CodeRunStore, Where: n.Name(), Expected: leafName(seq) + " before it", Actual: "none"}
		}
	}
	return nil
}

// putLeaf keeps a statement for good: when it returns, a retry after any crash
// is the same statement.
func (s *store) putLeaf(seq uint64, leaf []byte) error {
	return durable.WriteFile(s.fs, leafName(seq), leaf)
}

// putAnswer keeps an answer. It is not synced: the log can always be asked
// again, and an effect waits for this.
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
