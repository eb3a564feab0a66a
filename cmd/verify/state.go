package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/obstat/obstat/audit"
)

// stateEvery is how often the state of an audit is written while it goes on.
const stateEvery = 5 * time.Second

// stateFile keeps how far an audit came, for the next one.
type stateFile struct {
	name    string
	written time.Time
	size    uint64        // of the state in the file
	last    *audit.Resume // not written yet; nil where it is
}

// openState reads the state that an earlier audit left, if the file is there.
func openState(name string) (*stateFile, *audit.Resume, error) {
	s := &stateFile{name: name, written: time.Now()}
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if len(b) == 0 { // not there yet, or what a power cut left of it
		return s, nil, nil
	}
	from, err := audit.ParseResume(b)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	s.size = from.Size
	return s, from, nil
}

// keep takes a state, and writes one now and then.
func (s *stateFile) keep(r audit.Resume) error {
	if r.Size <= s.size {
		return nil
	}
	s.last = &r
	if time.Since(s.written) < stateEvery {
		return nil
	}
	return s.write()
}

// write replaces the file, whole or not at all. Nothing is lost if a power cut
// takes the new one: the next audit checks more again.
func (s *stateFile) write() (err error) {
	if s.last == nil {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(s.name), ".state-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(s.last.Bytes())
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), s.name); err != nil {
		return err
	}
	s.size, s.last, s.written = s.last.Size, nil, time.Now()
	return nil
}
