package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/obstat/obstat/preview"
)

// Pin is how a program file is kept as it was hashed until it runs
// (docs/gate.md#programs). Whichever it is, what runs has the bytes that were
// hashed, or nothing runs.
type Pin string

// The ways.
const (
	// PinAuto runs the file itself where nobody can have rewritten it by then:
	// where the system lets the gate hold writers off, and where only the
	// superuser may write. It runs a copy where that is not so.
	PinAuto Pin = ""
	// PinInPlace runs the file itself or nothing. The program finds itself, and
	// what lies beside it, where it is.
	PinInPlace Pin = "in-place"
	// PinCopy runs a copy that nobody can write. The program finds itself
	// somewhere else.
	PinCopy Pin = "copy"
)

// program is an executable file that is held as it was hashed.
type program struct {
	path string // as it was named
	sum  preview.Content
	held
}

var errScript = errors.New("it is a script: its first line names another program, which nobody would have pinned; " +
	"name the interpreter as the program and the script as an argument")

// openProgram opens the program at path, holds it, and hashes what it holds.
// The caller closes it.
func openProgram(path string, pin Pin) (*program, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	h, err := hold(f, pin)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("program %s: %w", path, err), f.Close())
	}
	sum, err := hashProgram(h.file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("program %s: %w", path, err), h.close())
	}
	return &program{path, sum, h}, nil
}

func regular(f *os.File) error {
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	return err
}

func hashProgram(f *os.File) (preview.Content, error) {
	r := io.NewSectionReader(f, 0, 1<<62)
	head := make([]byte, 2)
	switch _, err := io.ReadFull(r, head); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return preview.Content{}, errors.New("it is too short to be a program")
	case err != nil:
		return preview.Content{}, err
	case string(head) == "#!":
		return preview.Content{}, errScript
	}
	return preview.ReadContent(io.MultiReader(bytes.NewReader(head), r))
}
