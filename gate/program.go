package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/obstat/obstat/preview"
)

// program is an executable file, open and hashed.
type program struct {
	file *os.File
	sum  preview.Content
}

var errScript = errors.New("it is a script: its first line names another program, which nobody would have pinned; " +
	"name the interpreter as the program and the script as an argument")

// openProgram opens and hashes the program at path. The caller closes it.
func openProgram(path string) (*program, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	p, err := hashProgram(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("program %s: %w", path, err)
	}
	return p, nil
}

func hashProgram(f *os.File) (*program, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	head := make([]byte, 2)
	switch _, err := io.ReadFull(f, head); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("it is too short to be a program")
	case err != nil:
		return nil, err
	case string(head) == "#!":
		return nil, errScript
	}
	sum, err := preview.ReadContent(io.MultiReader(bytes.NewReader(head), f))
	if err != nil {
		return nil, err
	}
	return &program{f, sum}, nil
}

func (p *program) close() error { return p.file.Close() }
