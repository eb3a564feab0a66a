package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"
)

// stopTime is how long a server may take to end when asked.
const stopTime = 15 * time.Second

// process is a server as a child process.
type process struct {
	cmd    *exec.Cmd
	stderr string // file
	ended  chan error
}

// startProcess starts a server whose standard error goes to a file in dir. It
// ends with ctx.
func startProcess(ctx context.Context, dir, program string, args ...string) (*process, error) {
	stderr, err := os.CreateTemp(dir, "stderr-*")
	if err != nil {
		return nil, err
	}
	defer stderr.Close() // the child has its own
	p := &process{cmd: exec.CommandContext(ctx, program, args...), stderr: stderr.Name(), ended: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = stderr, stderr
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.WaitDelay = stopTime
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.cmd.Wait() }()
	return p, nil
}

// ready asks until a server answers that it is ready.
func (p *process) ready(ctx context.Context, ask func() error) error {
	var err error
	for range 200 {
		if err = ask(); err == nil {
			return nil
		}
		select {
		case end := <-p.ended:
			p.ended <- end
			return fmt.Errorf("the server has ended: %w%s", errors.Join(end, err), p.words())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("the server is not ready in time: %w%s", err, p.words())
}

// stop asks a server to end and waits until it has.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-p.ended:
		if err != nil {
			return fmt.Errorf("%s: %w%s", p.cmd.Path, err, p.words())
		}
		return nil
	case <-time.After(stopTime):
		_ = p.cmd.Process.Kill() // it may have ended just now
		return fmt.Errorf("%s did not end when asked", p.cmd.Path)
	}
}

// words is the end of what a server wrote.
func (p *process) words() string {
	b, err := os.ReadFile(p.stderr)
	if err != nil || len(b) == 0 {
		return ""
	}
	return "\n" + string(b[max(0, len(b)-2000):])
}

// goTool runs the go command.
func goTool(ctx context.Context, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %v: %w\n%s", args, err, out)
	}
	return nil
}

// freeAddr is a loopback address that nobody listens on just now.
func freeAddr() (addr, port string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	addr = ln.Addr().String()
	_, port, err = net.SplitHostPort(addr)
	return addr, port, errors.Join(err, ln.Close())
}
