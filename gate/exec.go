package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// Exec runs one program, without a shell (spec/preview.md#exec).
//
// The program is the file that is named, pinned by its bytes from the moment
// they are hashed until it runs (see [Pin]); scripts are refused, since their
// first line would name a program that nobody pinned. The child gets Env and
// nothing else. What the program goes on to read, load or start is its own.
type Exec struct {
	Root    string   // directory that the engine was let into: absolute, clean
	Dir     string   // working directory: absolute, clean, Root or below it
	Program string   // file to execute: absolute, clean
	Argv    []string // [0] is the name that the program sees
	Env     []string // NAME=value: the whole environment of the child
	Stdin   []byte   // nil or empty: nothing to read
	Pin     Pin
}

// Freeze opens and hashes the program and copies the rest.
func (e *Exec) Freeze() (Frozen, error) {
	p, err := openProgram(e.Program, e.Pin)
	if err != nil {
		return nil, err
	}
	return &frozenExec{
		root: e.Root,
		process: process{
			program: p, argv: slices.Clone(e.Argv), env: slices.Clone(e.Env), dir: e.Dir, stdin: slices.Clone(e.Stdin),
		},
	}, nil
}

type frozenExec struct {
	root    string
	process process
	once
}

func (f *frozenExec) Plan() Plan {
	p := &f.process
	return Plan{
		Intent: preview.Exec{
			Root: f.root, Dir: p.dir, Program: p.program.path, File: p.program.sum,
			Argv: p.argv, Env: p.env, Stdin: preview.ContentOf(p.stdin),
		},
		Effects: []preview.Effect{{On: preview.OnExec, Target: p.program.path}},
	}
}

func (f *frozenExec) Close() error { return f.process.program.close() }

// Invert says that nobody knows what would undo a command.
func (f *frozenExec) Invert() (Inverse, error) { return Inverse{None: codeNotSupported}, nil }

// Check looks whether the working directory is still inside the root.
func (f *frozenExec) Check(context.Context) error {
	d, err := enter(f.root, f.process.dir)
	if err == nil {
		err = d.Close()
	}
	if err != nil {
		return &FailedError{codeStartFailed, receipt.RestoredYes, err}
	}
	return nil
}

func (f *frozenExec) Apply(ctx context.Context, _ Call) Result {
	if err := f.take(); err != nil {
		return Result{Err: err}
	}
	d, err := enter(f.root, f.process.dir)
	if err != nil {
		return Result{Err: &FailedError{codeStartFailed, receipt.RestoredYes, err}}
	}
	defer d.Close()
	end, started, err := f.process.run(ctx, d)
	if !started {
		return Result{Err: &FailedError{codeStartFailed, receipt.RestoredYes, err}}
	}
	r := Result{Process: &Process{
		Exit: end.exit, Stdout: end.stdout.kept, Stderr: end.stderr.kept, Dropped: end.stdout.dropped + end.stderr.dropped,
	}}
	if err != nil {
		// Nobody knows what a command did before it failed.
		r.Err = &FailedError{codeOfEnd(ctx, end.exit, err), receipt.RestoredUnknown, err}
	}
	return r
}

func codeOfEnd(ctx context.Context, exit int, err error) receipt.Code {
	var status *exec.ExitError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return codeTimedOut
	case ctx.Err() != nil:
		return codeInterrupted
	case errors.As(err, &status) && exit < 0:
		return codeSignalled
	case errors.As(err, &status):
		return codeExitStatus
	}
	return codeIOError
}

// enter opens a working directory below root; a symbolic link that leads out of
// root is refused. Where the system can, the command starts in the very directory
// that was opened, whatever its name leads to by then.
func enter(root, dir string) (*os.File, error) {
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	r, err := openRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := r.Open(rel)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.IsDir() {
		return nil, errors.Join(fmt.Errorf("%s is not a directory", dir), err, f.Close())
	}
	return f, nil
}
