package gate

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"time"
)

// MaxOutput is how much of each of a command's two outputs is kept, in bytes.
// What comes after that is read and dropped.
const MaxOutput = 1 << 20

// killDelay is how long a killed command's outputs are waited for, where a
// descendant holds them open.
const killDelay = 2 * time.Second

// process is a command that is ready to start: values only, nothing is looked
// up any more, neither a program in PATH nor a variable in the environment.
type process struct {
	program *program
	argv    []string // argv[0] included
	env     []string // all of it
	dir     string
	stdin   []byte
}

// ended is how a process that was started ended.
type ended struct {
	exit           int // status; -1 where a signal ended it
	stdout, stderr output
}

// errUnsure says that it took so long to start a program that somebody may have
// written to its file meanwhile. It was killed.
var errUnsure = errors.New("starting the program took longer than its file could be held; it was killed")

// run starts p and waits for it. started says whether anything ran at all:
// where it is false, nothing happened. Cancelling ctx kills the process. dir is
// p.dir, open.
func (p *process) run(ctx context.Context, dir *os.File) (e ended, started bool, err error) {
	cmd := exec.CommandContext(ctx, p.program.path)
	cmd.Args = p.argv
	cmd.Env = append([]string{}, p.env...) // never nil, which would inherit ours
	cmd.Dir = workingDir(p.dir, dir)
	cmd.Stdin = bytes.NewReader(p.stdin)
	cmd.Stdout, cmd.Stderr = &e.stdout, &e.stderr
	cmd.WaitDelay = killDelay
	if err := p.program.start(cmd); err != nil {
		return e, errors.Is(err, errUnsure), err
	}
	err = cmd.Wait()
	e.exit = cmd.ProcessState.ExitCode() // of a nil state: -1
	return e, true, err
}

// output keeps the first MaxOutput bytes that are written to it.
type output struct {
	kept    []byte
	dropped int // bytes that came after
}

func (o *output) Write(p []byte) (int, error) {
	n := min(len(p), MaxOutput-len(o.kept))
	o.kept = append(o.kept, p[:n]...)
	o.dropped += len(p) - n
	return len(p), nil
}
