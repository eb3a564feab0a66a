package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// beMonitor makes this test binary the program, so that tests need no build.
const beMonitor = "OBSTAT_TEST_BE_MONITOR"

func TestMain(m *testing.M) {
	if os.Getenv(beMonitor) != "" {
		main()
	}
	testscript.Main(m, map[string]func(){"monitor": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: filepath.Join("testdata", "script")})
}

// process is the program in a process of its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string // what it printed first
	stderr *lockedBuffer
	ended  bool
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts the program and waits until it says where it listens.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0], args...), stderr: &lockedBuffer{}}
	p.cmd.Env = append(os.Environ(), beMonitor+"=1")
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !p.ended {
			p.kill()
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("it said nothing: %v\n%s", err, p.stderr)
	}
	p.url = strings.TrimSpace(line)
	return p
}

// kill ends it at once.
func (p *process) kill() {
	p.ended = true
	_ = p.cmd.Process.Kill() // it may have ended by itself
	_ = p.cmd.Wait()
}

// end asks it to end, which it has to do well.
func (p *process) end() {
	p.t.Helper()
	p.ended = true
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("it ended with %v\n%s", err, p.stderr)
	}
}
