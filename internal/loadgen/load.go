package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/trust"
)

const origin = "bench.example/log"

// server is bin/logd over a new log.
type server struct {
	cmd    *exec.Cmd
	dir    string
	addr   string // host:port
	key    ed25519.PrivateKey
	stderr bytes.Buffer
}

// serve makes a log in dir and starts a server for it.
func serve(ctx context.Context, bin, dir string) (*server, error) {
	logd := filepath.Join(bin, "logd")
	if out, err := exec.CommandContext(ctx, logd, "init", "--dir", dir, "--origin", origin, "--make-engine", "bench").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s init: %w\n%s", logd, err, out)
	}
	s := &server{dir: dir}
	var err error
	if s.key, err = readKey(filepath.Join(dir, "keys", "engine-bench.key")); err != nil {
		return nil, err
	}
	s.cmd = exec.CommandContext(ctx, logd, "serve", "--dir", dir, "--listen", "127.0.0.1:0")
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s serve: %w\n%s", logd, errors.Join(err, s.cmd.Wait()), &s.stderr)
	}
	s.addr = strings.TrimPrefix(strings.TrimSpace(line), "http://")
	return s, nil
}

func readKey(file string) (ed25519.PrivateKey, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, fmt.Errorf("%s is no PEM", file)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is no Ed25519 key", file)
	}
	return key, nil
}

// stop ends the server and returns the processor time that it took.
func (s *server) stop() (time.Duration, error) {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return 0, err
	}
	if err := s.cmd.Wait(); err != nil {
		return 0, fmt.Errorf("logd: %w\n%s", err, &s.stderr)
	}
	return s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime(), nil
}

// options are what a verifier of this log is given.
func (s *server) options() (bundle.Options, error) {
	var o bundle.Options
	b, err := os.ReadFile(filepath.Join(s.dir, "log.policy"))
	if err != nil {
		return o, err
	}
	if o.Policy, err = trust.ParsePolicy(b); err != nil {
		return o, err
	}
	if b, err = os.ReadFile(filepath.Join(s.dir, "trust")); err != nil {
		return o, err
	}
	o.Engines, err = trust.ParseEngines(b)
	return o, err
}

// load measures one level, each time on a new log, and returns the median run.
func load(ctx context.Context, cfg *Config, work string, f form, level Level) (*Load, error) {
	var runs []Load
	for i := range cfg.Repeat {
		dir := filepath.Join(work, fmt.Sprintf("log-%s-%d-%d", strings.ReplaceAll(f.name, " ", "-"), level.Callers, i))
		l, err := loadOnce(ctx, cfg.Bin, dir, f, level)
		if err != nil {
			return nil, err
		}
		runs = append(runs, *l)
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(runs, func(a, b Load) int { return int(a.Rate) - int(b.Rate) })
	median := runs[len(runs)/2]
	for _, r := range runs {
		median.Rates = append(median.Rates, r.Rate)
	}
	return &median, nil
}

func loadOnce(ctx context.Context, bin, dir string, f form, level Level) (l *Load, err error) {
	s, err := serve(ctx, bin, dir)
	if err != nil {
		return nil, err
	}
	running := true
	defer func() {
		if running {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait() // killed, as it says
		}
	}()
	envs, err := envelopes(s.key, fmt.Sprintf("bench-%d", level.Callers), level.Statements)
	if err != nil {
		return nil, err
	}
	requests := make([][]byte, len(envs))
	size := 0
	for i, env := range envs {
		body, err := f.body(env)
		if err != nil {
			return nil, err
		}
		size += len(body)
		requests[i] = request(f.mediaType, body)
	}
	callers := make([]*caller, level.Callers)
	for i := range callers {
		if callers[i], err = dial(s.addr); err != nil {
			return nil, err
		}
		defer callers[i].conn.Close()
	}
	l, err = drive(callers, requests)
	if err != nil {
		return nil, err
	}
	l.Form, l.Callers, l.Body = f.name, level.Callers, size/len(envs)
	if err := s.sample(callers[0], requests); err != nil {
		return nil, err
	}
	running = false
	cpu, err := s.stop()
	l.ServerCPU = cpu.Seconds() / float64(l.Statements)
	return l, err
}

// drive lets every caller send its share of requests, one after the other.
func drive(callers []*caller, requests [][]byte) (*Load, error) {
	took := make([]time.Duration, len(requests))
	failures := make([]int, len(callers))
	errs := make([]error, len(callers))
	var wg sync.WaitGroup
	began := time.Now()
	for w, c := range callers {
		wg.Go(func() {
			for i := w; i < len(requests); i += len(callers) {
				sent := time.Now()
				status, err := c.do(requests[i])
				if err != nil {
					errs[w] = err
					return
				}
				took[i] = time.Since(sent)
				if status != 201 {
					failures[w]++
				}
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	l := &Load{Statements: len(requests), Seconds: elapsed.Seconds(), Rate: float64(len(requests)) / elapsed.Seconds()}
	for _, n := range failures {
		l.Failed += n
	}
	slices.Sort(took)
	l.P50, l.P99 = took[len(took)/2].Seconds(), took[len(took)*99/100].Seconds()
	return l, nil
}

// sample submits some statements again.
func (s *server) sample(c *caller, requests [][]byte) error {
	o, err := s.options()
	if err != nil {
		return err
	}
	return again(c, requests, o)
}

// again submits some statements again: their answers are repeats, and bundles
// that the verifier verifies. A load whose answers prove nothing measured
// something else.
func again(c *caller, requests [][]byte, o bundle.Options) error {
	for i := range 20 {
		req := bytes.Replace(requests[i*(len(requests)-1)/19], []byte("/v1/receipts "), []byte("/v1/receipts?registry=chain "), 1)
		status, err := c.do(req)
		if err != nil {
			return err
		}
		if r := bundle.Check(c.body, o); status != 200 || r.ExitCode() != 0 {
			return fmt.Errorf("statement %d, submitted again, is answered with status %d and a bundle that is not verified:\n%s", i, status, r.Text())
		}
	}
	return nil
}
