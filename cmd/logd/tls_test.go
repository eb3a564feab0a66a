package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/report"
)

// pair writes a certificate of localhost, valid until then, and its key.
func pair(t *testing.T, dir, name string, until time.Time) (certFile, keyFile string, cert *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, b := range map[string][]byte{
		certFile: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyFile:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	} {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile, cert
}

// TestTLS: the log over TLS, and no version below 1.2.
func TestTLS(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := initialise(&Config{Dir: dir, Origin: "example.com/log", Keys: []Registered{{Role: "engine", Name: "ci"}}}, io.Discard); err != nil {
		t.Fatal(err)
	}
	certFile, keyFile, cert := pair(t, t.TempDir(), "localhost", time.Now().Add(24*time.Hour))
	p := relaunch(t, dir, "--tls-cert", certFile, "--tls-key", keyFile)
	if !strings.HasPrefix(p.url, "https://") {
		t.Fatal(p.url)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	for version, want := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: version, MaxVersion: version}}
		resp, err := (&http.Client{Transport: tr}).Get(p.url + "/checkpoint")
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != want {
			t.Errorf("TLS %x: %v", version, err)
		}
		tr.CloseIdleConnections()
	}
}

// TestCertificateReload: a new pair is taken, one that does not fit is not, and
// that is told once.
func TestCertificateReload(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, first := pair(t, dir, "one.example", time.Now().Add(time.Hour))
	var log bytes.Buffer
	c := &certificates{certFile: certFile, keyFile: keyFile, logger: slog.New(slog.NewTextHandler(&log, nil))}
	if err := c.load(); err != nil {
		t.Fatal(err)
	}
	serves := func(want *x509.Certificate) {
		t.Helper()
		if got := c.current.Load().Leaf; !got.Equal(want) {
			t.Errorf("serves %v, want %v", got.DNSNames, want.DNSNames)
		}
	}
	serves(first)
	oldKey, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	_, _, second := pair(t, dir, "two.example", time.Now().Add(-time.Hour))
	newKey, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keyFile, oldKey, 0o600); err != nil { // half of a change
		t.Fatal(err)
	}
	c.reload()
	c.reload()
	serves(first)
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), string(report.CodeTLSPair)) {
		t.Errorf("told %d times:\n%s", n, log.String())
	}
	if err := os.WriteFile(keyFile, newKey, 0o600); err != nil {
		t.Fatal(err)
	}
	hangup, done := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		reloading(ctx, hangup, time.Hour, c.reload)
	}()
	hangup <- struct{}{}
	cancel()
	<-done
	serves(second)
	if !strings.Contains(log.String(), "level=WARN") {
		t.Error("nobody is told that the certificate has ended")
	}
	if err := os.Remove(certFile); err != nil {
		t.Fatal(err)
	}
	c.reload()
	serves(second)
}

// TestTLSRefused: what serve does not begin with.
func TestTLSRefused(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, _ := pair(t, dir, "localhost", time.Now().Add(time.Hour))
	other := t.TempDir()
	_, otherKey, _ := pair(t, other, "localhost", time.Now().Add(time.Hour))
	for name, c := range map[string]struct {
		cert, key string
		code      report.Code
	}{
		"another key": {certFile, otherKey, report.CodeTLSPair}, "no file": {dir + "/none", keyFile, report.CodeFileUnreadable},
		"the wrong way round": {keyFile, certFile, report.CodeTLSPair},
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, err = openTLS(t.Context(), &Config{TLSCert: c.cert, TLSKey: c.key}, ln, slog.New(slog.DiscardHandler))
		if report.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
		if _, err := ln.Accept(); err == nil {
			t.Errorf("%s: it listens on", name)
		}
	}
	for _, args := range [][]string{{"--tls-cert", certFile}, {"--tls-key", keyFile}} {
		if _, err := parseServe(append([]string{"--dir", dir}, args...), nil, io.Discard); err == nil {
			t.Errorf("%v is enough", args)
		}
	}
}
