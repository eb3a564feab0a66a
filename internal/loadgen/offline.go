package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/obstat/obstat/bundle"
)

// offlineBundles is how many bundles are verified.
const offlineBundles = 256

// offline measures what a verifier does with answers of the log: many in one
// process, and one in a process of its own.
func offline(ctx context.Context, cfg *Config, work string) (Offline, error) {
	var o Offline
	s, err := serve(ctx, cfg.Bin, filepath.Join(work, "log-offline"))
	if err != nil {
		return o, err
	}
	bundles, err := s.bundles(offlineBundles)
	if _, e := s.stop(); err == nil {
		err = e
	}
	if err != nil {
		return o, err
	}
	opts, err := s.options()
	if err != nil {
		return o, err
	}
	for _, b := range bundles {
		if r := bundle.Check(b, opts); r.ExitCode() != 0 {
			return o, fmt.Errorf("a bundle is not verified:\n%s", r.Text())
		}
	}
	o.Bundles = len(bundles)
	next := 0
	o.Rate1 = rate(1, cfg.Primary, func() { bundle.Check(bundles[next%len(bundles)], opts); next++ })
	o.Rate2 = rate(2, cfg.Primary, func() { bundle.Check(bundles[0], opts) })
	o.ColdStart, err = coldStart(ctx, cfg.Bin, s.dir, work, bundles[len(bundles)-1])
	return o, err
}

// bundles submits n statements and returns the answers, with their registry.
func (s *server) bundles(n int) ([][]byte, error) {
	c, err := dial(s.addr)
	if err != nil {
		return nil, err
	}
	defer c.conn.Close()
	envs, err := envelopes(s.key, "offline", n)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for _, env := range envs {
		body, err := env.Leaf()
		if err != nil {
			return nil, err
		}
		req := request(forms()[0].mediaType, body)
		req = slices.Concat([]byte("POST /v1/receipts?registry=chain"), req[len("POST /v1/receipts"):])
		status, err := c.do(req)
		if err != nil {
			return nil, err
		}
		if status != 201 {
			return nil, fmt.Errorf("status %d: %s", status, c.body)
		}
		all = append(all, slices.Clone(c.body))
	}
	return all, nil
}

// coldStart is the median time of verify bundle as a process, in seconds.
func coldStart(ctx context.Context, bin, dir, work string, b []byte) (float64, error) {
	file := filepath.Join(work, "x.receipt.json")
	if err := os.WriteFile(file, b, 0o644); err != nil {
		return 0, err
	}
	var took []time.Duration
	for range 41 {
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "verify"), "bundle",
			"--policy", filepath.Join(dir, "log.policy"), "--trust", filepath.Join(dir, "trust"), file)
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("verify: %w\n%s", err, out)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2].Seconds(), nil
}
