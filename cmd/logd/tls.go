package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/obstat/obstat/report"
)

// certificates is the server's certificate, read again when its files change. A
// pair that does not fit leaves the one before in place.
type certificates struct {
	certFile, keyFile string
	logger            *slog.Logger

	current     atomic.Pointer[tls.Certificate]
	cert, key   []byte // as they were read last; owner: whoever reloads
	troubleTold string // the trouble that was told last
}

// certEvery is how often the files are looked at.
const certEvery = 10 * time.Second

// openTLS wraps ln, if cfg has a certificate, whose files are read again at
// SIGHUP and when they change, until ctx ends.
func openTLS(ctx context.Context, cfg *Config, ln net.Listener, logger *slog.Logger) (net.Listener, error) {
	if cfg.TLSCert == "" {
		return ln, nil
	}
	c := &certificates{certFile: cfg.TLSCert, keyFile: cfg.TLSKey, logger: logger}
	if err := c.load(); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	go reloading(ctx, hangups(ctx), certEvery, c.reload)
	return tls.NewListener(ln, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}), nil
}

// load reads both files, and takes them if they fit.
func (c *certificates) load() error {
	cert, err := readSmall(c.certFile)
	if err != nil {
		return err
	}
	key, err := readSmall(c.keyFile)
	if err != nil {
		return err
	}
	if bytes.Equal(cert, c.cert) && bytes.Equal(key, c.key) {
		return nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return &report.Error{Code: report.CodeTLSPair, Where: c.certFile, Expected: "a certificate chain in PEM, and its key in " + c.keyFile, Actual: err.Error()}
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return &report.Error{Code: report.CodeTLSPair, Where: c.certFile, Expected: "a certificate", Actual: err.Error()}
	}
	pair.Leaf = leaf
	c.current.Store(&pair)
	c.cert, c.key = cert, key
	level := slog.LevelInfo
	if time.Now().After(leaf.NotAfter) {
		level = slog.LevelWarn
	}
	c.logger.Log(context.Background(), level, "certificate", "file", c.certFile, "names", fmt.Sprint(leaf.DNSNames), "until", leaf.NotAfter.UTC().Format(time.RFC3339))
	return nil
}

// reload takes the files as they are now. Trouble is told once.
func (c *certificates) reload() {
	err := c.load()
	told := ""
	if err != nil {
		told = err.Error()
	}
	if told != "" && told != c.troubleTold {
		c.logger.Error("the certificate stays what it was", "error", told)
	}
	c.troubleTold = told
}

// reloading calls reload at every signal and every now and then, until ctx ends.
func reloading(ctx context.Context, hangup <-chan struct{}, every time.Duration, reload func()) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		case <-t.C:
		}
		reload()
	}
}
