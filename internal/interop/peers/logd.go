package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/trust"
)

// newLogd builds this repository's log server.
func newLogd(ctx context.Context, repository, dir string) (*system, error) {
	program := filepath.Join(dir, "logd")
	if err := goTool(ctx, []string{"CGO_ENABLED=0"}, "build", "-C", repository, "-buildvcs=auto", "-trimpath", "-ldflags=-s", "-o", program, "./cmd/logd"); err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	args := []string{"serve", "--dir", "DIR", "--listen", "127.0.0.1:PORT"}
	return &system{
		name:      "obstat",
		waits:     "a bundle: envelope, inclusion proof, signed checkpoint",
		version:   info.Main.Version + " " + info.GoVersion,
		command:   append([]string{"logd"}, args...),
		notes:     "checks the signature and the schema; one key listed; exact dedup",
		perCaller: 8000, most: 30000,
		body: func(env *dsse.Envelope) ([]byte, error) {
			return request("/v1/receipts", server.DSSEType, env.JSON()), nil
		},
		start: func(ctx context.Context, dir string) (*instance, error) { return startLogd(ctx, program, dir) },
	}, nil
}

func startLogd(ctx context.Context, program, dir string) (*instance, error) {
	pem, home := filepath.Join(dir, "engine.pem"), filepath.Join(dir, "log")
	if err := os.WriteFile(pem, dsse.MarshalPublicKeyPEM(enginePublic), 0o644); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, program, "init", "--dir", home, "--origin", origin, "--engine", "peers="+pem).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("logd init: %w\n%s", err, out)
	}
	key, err := logdKey(home)
	if err != nil {
		return nil, err
	}
	addr, _, err := freeAddr()
	if err != nil {
		return nil, err
	}
	p, err := startProcess(ctx, dir, program, "serve", "--dir", home, "--listen", addr)
	if err != nil {
		return nil, err
	}
	if err := p.ready(ctx, func() error { return ask("http://" + addr + "/readyz") }); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &instance{
		connect: func() caller {
			return &httpCaller{addr: addr, verify: func(answer []byte) error { return logdVerify(answer, key) }}
		},
		stop: p.stop,
	}, nil
}

// logdKey reads the log's key out of the trust file that init wrote.
func logdKey(home string) (checkpoint.VKey, error) {
	b, err := os.ReadFile(filepath.Join(home, "log.policy"))
	if err != nil {
		return checkpoint.VKey{}, err
	}
	policy, err := trust.ParsePolicy(b)
	if err != nil {
		return checkpoint.VKey{}, err
	}
	return policy.Logs()[0].Key, nil
}

// logdVerify checks that a bundle proves its own leaf.
func logdVerify(answer []byte, key checkpoint.VKey) error {
	b, err := bundle.Parse(answer)
	if err != nil {
		return err
	}
	loose, err := dsse.ParseJSON(b.Envelope)
	if err != nil {
		return err
	}
	env, err := loose.BindOne(dsse.KeyID(engineID))
	if err != nil {
		return err
	}
	leaf, err := env.Leaf()
	if err != nil {
		return err
	}
	return proven(leaf, b.Proof.Index, b.Proof.Hashes, b.Proof.Checkpoint, key)
}

// asking is who looks whether a server is ready.
var asking = &http.Client{Timeout: 5 * time.Second}

// ask is one GET that must be answered by 200.
func ask(url string) error {
	resp, err := asking.Get(url)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return nil
}
