package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// serve opens the log and answers until ctx ends.
func serve(ctx context.Context, cfg *Config, stdout, stderr io.Writer) (err error) {
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	sc, err := load(cfg.Dir, logger)
	if err != nil {
		return err
	}
	s, err := server.Open(sc)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return err
	}
	logger.Info("serving", "origin", sc.Engines.Origin, "listen", ln.Addr().String(),
		"size", s.Head().Size, "rollback_protection", s.Stats().RollbackProtection)
	// The one line for whoever started it, who may have asked for port 0.
	if _, err := fmt.Fprintf(stdout, "http://%s\n", ln.Addr()); err != nil {
		return errors.Join(err, ln.Close())
	}
	err = s.Serve(ctx, ln)
	logger.Info("stopped", "size", s.Head().Size)
	return err
}

// load reads a log's directory as init made it.
func load(dir string, logger *slog.Logger) (server.Config, error) {
	none := server.Config{}
	policyBytes, err := readSmall(filepath.Join(dir, policyFile))
	if errors.Is(err, os.ErrNotExist) {
		return none, &report.Error{
			Code: report.CodeLogAbsent, Where: dir,
			Expected: "the directory of a log", Actual: "one without " + policyFile,
			Fix: "logd init makes one",
		}
	}
	if err != nil {
		return none, err
	}
	policy, err := trust.ParsePolicy(policyBytes)
	if err != nil {
		return none, fmt.Errorf("%s: %w", filepath.Join(dir, policyFile), err)
	}
	enginesBytes, err := readSmall(filepath.Join(dir, enginesFile))
	if err != nil {
		return none, err
	}
	engines, err := trust.ParseEngines(enginesBytes)
	if err != nil {
		return none, fmt.Errorf("%s: %w", filepath.Join(dir, enginesFile), err)
	}
	keyFile := filepath.Join(dir, logKeyFile)
	key, err := readPrivateKey(keyFile)
	if err != nil {
		return none, err
	}
	if st, err := os.Stat(keyFile); err == nil && st.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		logger.Warn("others may read the log's key", "file", keyFile, "mode", st.Mode().Perm().String(), "fix", "chmod 600")
	}
	signer, err := checkpoint.NewSigner(engines.Origin, checkpoint.TypeEd25519, key)
	if err != nil {
		return none, err
	}
	fs, err := durable.OpenDir(filepath.Join(dir, logDir))
	if err != nil {
		return none, err
	}
	return server.Config{FS: fs, Signer: signer, Policy: policy, Engines: engines, Logger: logger}, nil
}
