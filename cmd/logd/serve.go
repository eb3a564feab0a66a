package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// serve opens the log and answers until ctx ends.
func serve(ctx context.Context, cfg *Config, stdout, stderr io.Writer) (err error) {
	logger := cfg.logger(stderr)
	sc, err := load(cfg, logger)
	if err != nil {
		return err
	}
	sc.Public, sc.Anchors, sc.UnreachableAnchors = cfg.Public, cfg.Anchors, cfg.UnreachableAnchors
	// The address first: every opening of the log begins a segment, and one that
	// cannot be served must not leave a segment behind at each try.
	ln, err := listen(ctx, cfg.Listen)
	if err != nil {
		return err
	}
	address := ln.Addr()
	scheme := "http"
	if cfg.TLSCert != "" {
		scheme = "https"
	}
	within, stop := context.WithCancel(ctx)
	defer stop()
	ln, err = openTLS(within, cfg, ln, logger)
	if err != nil {
		return err
	}
	s, err := server.Open(sc)
	if err != nil {
		return errors.Join(atFault(cfg.Dir, err), ln.Close())
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	adm, err := openAdmin(ctx, cfg, s, logger)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer func() { err = errors.Join(err, adm.close()) }()
	logger.Info("serving", "origin", sc.Engines.Origin, "listen", address.String(), "public", cfg.Public,
		"size", s.Head().Size, "rollback_protection", s.Stats().RollbackProtection)
	// The one line for whoever started it, who may have asked for port 0.
	if err := say(stdout, fmt.Sprintf("%s://%s\n", scheme, address)); err != nil {
		return errors.Join(err, ln.Close())
	}
	err = s.Serve(ctx, ln)
	logger.Info("stopped", "size", s.Head().Size)
	return err
}

// listen takes the address. Of an IPv4 address only that is taken: 0.0.0.0 under
// the name "tcp" would be every IPv6 address too.
func listen(ctx context.Context, address string) (net.Listener, error) {
	network := "tcp"
	if host, _, err := net.SplitHostPort(address); err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
			network = "tcp4"
		}
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if err != nil {
		cause := err
		var op *net.OpError
		if errors.As(err, &op) {
			cause = op.Err
		}
		return nil, &report.Error{Code: report.CodeListenRefused, Where: address,
			Expected: "an address of this machine that nobody listens on", Actual: cause.Error(), Fix: "name another with --listen"}
	}
	return ln, nil
}

// atFault names the file of a log's directory that an error of the engine or of
// the trust files comes from: these know what does not fit and not where it was
// read.
func atFault(dir string, err error) error {
	var file string
	switch report.CodeOf(err) {
	case report.CodeLogForeign:
		file = logKeyFile
	case report.CodeRegistryPin:
		file = enginesFile
	case report.CodeCheckpointUnsigned, report.CodeCheckpointSignatureInvalid:
		file = policyFile
	default:
		return err
	}
	return fmt.Errorf("%s is not of the log in %s: %w", filepath.Join(dir, file), filepath.Join(dir, logDir), err)
}

// load reads a log's directory as init made it.
func load(cfg *Config, logger *slog.Logger) (server.Config, error) {
	none, dir := server.Config{}, cfg.Dir
	policyName, enginesName, keyName := filepath.Join(dir, policyFile), filepath.Join(dir, enginesFile), filepath.Join(dir, logKeyFile)
	absent := func(actual string) error {
		return &report.Error{
			Code: report.CodeLogAbsent, Where: dir,
			Expected: "the directory of a log", Actual: actual,
			Fix: "logd init makes one",
		}
	}
	if _, err := os.Stat(policyName); errors.Is(err, os.ErrNotExist) {
		return none, absent("one without " + policyFile)
	}
	policyBytes, err := readSmall(policyName)
	if err != nil {
		return none, err
	}
	policy, err := trust.ParsePolicy(policyBytes)
	if err != nil {
		return none, fmt.Errorf("%s: %w", policyName, err)
	}
	enginesBytes, err := readSmall(enginesName)
	if err != nil {
		return none, err
	}
	engines, err := trust.ParseEngines(enginesBytes)
	if err != nil {
		return none, fmt.Errorf("%s: %w", enginesName, err)
	}
	key, err := keyfile.Read(keyName, cfg.Phrase.opening(keyName))
	if err != nil {
		return none, err
	}
	if st, err := os.Stat(keyName); err == nil && st.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		logger.Warn("others may read the log's key", "file", keyName, "mode", st.Mode().Perm().String(), "fix", "chmod 600")
	}
	if err := fit(dir, policy, engines, key); err != nil {
		return none, err
	}
	signer, err := checkpoint.NewSigner(engines.Origin, checkpoint.TypeEd25519, key)
	if err != nil {
		return none, err
	}
	files, err := durable.OpenDir(filepath.Join(dir, logDir))
	if errors.Is(err, os.ErrNotExist) {
		return none, absent("one without " + logDir + "/")
	}
	if err != nil {
		return none, fileError(report.CodeFileUnreadable, filepath.Join(dir, logDir), err)
	}
	return server.Config{FS: files, Signer: signer, Policy: policy, Engines: engines, Logger: logger,
		IndexDir: filepath.Join(dir, indexDir)}, nil
}

// fit holds the three files against each other by the origin. Where the policy
// has no such log, the log's key says which of the two is the odd one.
func fit(dir string, policy *trust.Policy, engines *trust.Engines, key ed25519.PrivateKey) error {
	if policy.KnowsLog(engines.Origin) {
		return nil
	}
	for _, l := range policy.Logs() {
		if l.Key.Public.Equal(key.Public()) {
			return &report.Error{
				Code: report.CodeLogForeign, Where: filepath.Join(dir, enginesFile),
				Expected: "origin " + l.Key.Name + ", as " + policyFile + " and " + logKeyFile + " have it", Actual: "origin " + engines.Origin,
				Fix: "put back the file that the log was made with",
			}
		}
	}
	return &report.Error{
		Code: report.CodeLogForeign, Where: filepath.Join(dir, policyFile),
		Expected: "a log line for " + engines.Origin + ", the origin in " + enginesFile, Actual: "none",
		Fix: "put back the file that the log was made with",
	}
}
