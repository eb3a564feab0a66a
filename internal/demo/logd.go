package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/trust"
)

const (
	origin     = "demo.example/effects"
	engineName = "demo-engine"
	startTime  = 15 * time.Second // how long logd may take to say its URL
	stopTime   = 15 * time.Second // and to end
	readTime   = 5 * time.Second  // for one read of the log
)

// logd is the log as a child process.
type logd struct {
	cmd        *exec.Cmd
	url        string
	policyFile string // trust files, as logd init wrote them
	trustFile  string
	policy     *trust.Policy
	engines    *trust.Engines
	http       *http.Client
	stderr     string // file
}

// startLog makes a log and serves it. The engine's key is the engine's: the log
// gets its public half.
func (d *demo) startLog(ctx context.Context) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	d.key = private
	pem := d.path("engine.pub.pem")
	if err := os.WriteFile(pem, dsse.MarshalPublicKeyPEM(public), 0o644); err != nil {
		return err
	}
	dir := d.path("log")
	initialise := exec.CommandContext(ctx, d.program("logd"), "init", "--dir", dir, "--origin", origin,
		"--engine", engineName+"="+pem, "--make-approver", "alice")
	if out, err := initialise.CombinedOutput(); err != nil {
		return fmt.Errorf("logd init: %w\n%s", err, out)
	}
	l := &logd{policyFile: filepath.Join(dir, "log.policy"), trustFile: filepath.Join(dir, "trust"), stderr: d.path("logd.stderr")}
	if err := l.readTrust(); err != nil {
		return err
	}
	if err := l.serve(d.program("logd"), dir); err != nil {
		return err
	}
	d.log = l
	d.say("   logd    init: a log key, a registrar's key, the genesis registry as leaf 0")
	d.say("   logd    serve: %s, origin %s", l.url, origin)
	d.say("   keys    engine %s; approver alice, who will not answer", engineName)
	d.say("   folder  %s%s", d.dir, map[bool]string{true: " (removed at the end; --keep keeps it)"}[d.remove])
	size, _, err := l.head(ctx)
	if err != nil {
		return errors.Join(err, l.stop())
	}
	d.check(size == 1, "the log holds its registry and nothing else")
	return nil
}

func (l *logd) readTrust() error {
	b, err := os.ReadFile(l.policyFile)
	if err != nil {
		return err
	}
	if l.policy, err = trust.ParsePolicy(b); err != nil {
		return err
	}
	if b, err = os.ReadFile(l.trustFile); err != nil {
		return err
	}
	l.engines, err = trust.ParseEngines(b)
	return err
}

// serve starts the process and waits for the one line that says its URL.
func (l *logd) serve(program, dir string) error {
	stderr, err := os.Create(l.stderr)
	if err != nil {
		return err
	}
	defer stderr.Close() // the child has its own
	l.cmd = exec.Command(program, "serve", "--dir", dir, "--listen", "127.0.0.1:0")
	l.cmd.Stderr = stderr
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := l.cmd.Start(); err != nil {
		return err
	}
	timer := time.AfterFunc(startTime, func() { _ = l.cmd.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if !timer.Stop() || err != nil {
		return errors.Join(fmt.Errorf("logd serve did not say its URL: %w", err), l.stop(), l.words())
	}
	l.url = strings.TrimSpace(line)
	l.http = &http.Client{Timeout: readTime, Transport: http.DefaultTransport.(*http.Transport).Clone()}
	return nil
}

// words is what the process wrote to its standard error, as an error.
func (l *logd) words() error {
	b, err := os.ReadFile(l.stderr)
	if err != nil {
		return err
	}
	return errors.New(string(b))
}

// stop asks the process to end and waits until it has.
func (l *logd) stop() error {
	if l.http != nil {
		l.http.CloseIdleConnections()
	}
	if err := l.cmd.Process.Signal(os.Interrupt); err != nil {
		_ = l.cmd.Process.Kill() // it is gone already, or this system has no such signal
	}
	timer := time.AfterFunc(stopTime, func() { _ = l.cmd.Process.Kill() })
	defer timer.Stop()
	if err := l.cmd.Wait(); err != nil {
		return errors.Join(fmt.Errorf("logd serve: %w", err), l.words())
	}
	return nil
}

// gone reports whether nobody answers any more.
func (l *logd) gone(ctx context.Context) bool {
	_, err := l.get(ctx, "/checkpoint")
	return err != nil
}

func (l *logd) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := l.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 32<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return b, err
}

// head reads the checkpoint as anybody would, not as the engine's client does.
func (l *logd) head(ctx context.Context) (size uint64, note []byte, err error) {
	note, err = l.get(ctx, "/checkpoint")
	if err != nil {
		return 0, nil, err
	}
	c, err := checkpoint.Open(note, l.policy.Keys(origin))
	if err != nil {
		return 0, nil, err
	}
	return c.Size, note, nil
}

// statementAt reads the statement of a leaf out of the log's public tiles.
func (l *logd) statementAt(ctx context.Context, index, size uint64) ([]byte, error) {
	bundle := index / merkle.TileWidth
	width := merkle.TileWidthAt(0, bundle, size)
	b, err := l.get(ctx, "/"+merkle.EntriesPath(bundle, width))
	if err != nil {
		return nil, err
	}
	entries, err := merkle.ParseBundle(b, width)
	if err != nil {
		return nil, err
	}
	e, err := dsse.ParseLeaf(entries[index%merkle.TileWidth])
	if err != nil {
		return nil, err
	}
	return e.Payload, nil
}
