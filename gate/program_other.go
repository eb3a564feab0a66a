//go:build !linux

package gate

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// held is a program that nobody but its user can write to: by its owner and
// mode and those of the directories above it, or because it is a copy in a
// directory of this user's own. This system executes no open file, so another
// process of the same user can still put a file in its place.
type held struct {
	file *os.File
	dir  string // of the copy; empty where the file runs in place
}

// hold takes f over, unless it fails.
func hold(f *os.File, pin Pin) (held, error) {
	if err := regular(f); err != nil {
		return held{}, err
	}
	if pin != PinCopy && superuserPath(f.Name()) {
		return held{file: f}, nil
	}
	if pin == PinInPlace {
		return held{}, errors.New("others than the superuser can replace it before it runs, and this system cannot hold it")
	}
	return privateCopy(f)
}

// privateCopy closes f.
func privateCopy(f *os.File) (h held, err error) {
	if h.dir, err = os.MkdirTemp("", "obstat-program-"); err != nil {
		return held{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(h.dir))
		}
	}()
	path := filepath.Join(h.dir, filepath.Base(f.Name()))
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o500)
	if err != nil {
		return held{}, err
	}
	_, err = io.Copy(w, io.NewSectionReader(f, 0, 1<<62))
	if err = errors.Join(err, w.Close()); err != nil {
		return held{}, err
	}
	if h.file, err = os.Open(path); err != nil {
		return held{}, err
	}
	return h, f.Close()
}

func (h held) close() error {
	err := h.file.Close()
	if h.dir != "" {
		err = errors.Join(err, os.RemoveAll(h.dir))
	}
	return err
}

func (h held) start(cmd *exec.Cmd) error {
	cmd.Path = h.file.Name()
	return cmd.Start()
}

func workingDir(name string, _ *os.File) string { return name }
