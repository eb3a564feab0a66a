package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/preview"
)

// ρ of judged requests stands in files of lines, "<request digest> <ρ>\n". Making
// a file costs far more than writing to one, and an effect waits for it: so a
// Store makes one when it keeps its first ρ, named after that, and appends the
// others to it. Nobody else writes to it.
const (
	rhoDir     = "rho"
	rhoSuffix  = ".jsonl"
	maxRhoFile = 64 << 20 // then the next one is begun
)

// putRho keeps ρ. It is not synced: what a power cut takes is the means to
// disclose, not the receipt.
func (s *Store) putRho(r preview.Rho) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := append([]byte(r.Digest().String()), ' ')
	line = append(append(line, r.JSON()...), '\n')
	w, err := s.rhoFile(r.Digest())
	if w == nil {
		return err // nil where the same request was judged before
	}
	err = errors.Join(w.Append(line), w.Close())
	if err != nil || s.rhoSize > maxRhoFile {
		s.rho = "" // what stands behind half a line would be lost
	}
	s.rhoSize += int64(len(line))
	return err
}

// rhoFile opens the file to append to. None means that the same request was
// judged before, by whoever made the file of that name.
func (s *Store) rhoFile(d preview.Digest) (durable.File, error) {
	if s.rho != "" {
		return s.fs.Append(s.rho)
	}
	for n := 0; ; n++ {
		name := path.Join(rhoDir, d.String()+rhoSuffix)
		if n > 0 { // a crash left half a line there
			name = path.Join(rhoDir, fmt.Sprintf("%s-%d%s", d, n, rhoSuffix))
		}
		w, err := s.fs.Create(name)
		if err == nil {
			s.rho, s.rhoSize = name, 0
		}
		if !errors.Is(err, fs.ErrExist) {
			return w, err
		}
		if _, err := s.rhoIn(name, d); !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// Rho returns ρ of a request that was judged; an error that is fs.ErrNotExist
// where there is none. Whoever has the run's secret opens all of its
// commitments with it.
func (s *Store) Rho(d preview.Digest) (preview.Rho, error) {
	r, err := s.rhoIn(path.Join(rhoDir, d.String()+rhoSuffix), d)
	if !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	names, dirErr := s.fs.ReadDir(rhoDir)
	if dirErr != nil {
		return preview.Rho{}, dirErr
	}
	for _, n := range names {
		if r, err := s.rhoIn(path.Join(rhoDir, n.Name()), d); !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	return preview.Rho{}, err
}

// rhoIn looks for ρ in one file. Part of a line at its end is what a crash left.
func (s *Store) rhoIn(name string, d preview.Digest) (preview.Rho, error) {
	b, err := durable.ReadFile(s.fs, name, maxRhoFile+preview.MaxRho+1<<10)
	if err != nil {
		return preview.Rho{}, err
	}
	begins := append([]byte(d.String()), ' ')
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		b = rest
		doc, ok := bytes.CutPrefix(line, begins)
		if !ok || !whole {
			continue
		}
		r, err := preview.ParseRho(doc)
		if err == nil && r.Digest() != d {
			err = fmt.Errorf("its digest is %s", r.Digest())
		}
		if err != nil {
			return preview.Rho{}, s.damaged(name, err)
		}
		return r, nil
	}
	return preview.Rho{}, &fs.PathError{Op: "find", Path: path.Join(rhoDir, d.String()), Err: fs.ErrNotExist}
}
