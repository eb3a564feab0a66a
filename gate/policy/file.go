package policy

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/receipt"
)

// maxFile bounds a policy file, in bytes.
const maxFile = 4 << 20

// File is a Policy that stands in a file. A commit refuses, POLICY-CHANGED, what
// was judged by it once the file says something else.
type File struct {
	*Policy
	path string
}

var _ gate.Standing = (*File)(nil)

// Open reads the policy file at path; agent is as in [Parse].
func Open(path, agent string) (*File, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	p, err := Parse(path, text, agent)
	if err != nil {
		return nil, err
	}
	return &File{p, path}, nil
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return text, err
}

// Stands fails where the file is not what was read, or cannot be read any more.
func (f *File) Stands(context.Context) (receipt.Code, error) {
	const code = "POLICY-CHANGED"
	text, err := read(f.path)
	if err != nil {
		return code, err
	}
	if receipt.PinBLAKE3(text) != f.Pin() {
		return code, fmt.Errorf("%s is not the policy that judged", f.path)
	}
	return "", nil
}
