package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/obstat/obstat/report"
)

// maxSmall is far above what a key, a trust or a settings file takes, in bytes.
const maxSmall = 1 << 20

const pemPrivate = "PRIVATE KEY" // PKCS #8, RFC 5958

// fileError is a file, a directory or an output that cannot be used, and which.
func fileError(code report.Code, where string, cause error) error {
	var at *fs.PathError
	if errors.As(cause, &at) {
		cause = at.Err // where says it
	}
	expected := "a file to read"
	if code == report.CodeFileUnwritable {
		expected = "a place to write"
	}
	return &report.Error{Code: code, Where: where, Expected: expected, Actual: cause.Error()}
}

// readSmall reads a whole file of at most maxSmall bytes.
func readSmall(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fileError(report.CodeFileUnreadable, file, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if err != nil {
		return nil, fileError(report.CodeFileUnreadable, file, err)
	}
	if len(b) > maxSmall {
		return nil, &report.Error{Code: report.CodeFileUnreadable, Where: file, Expected: fmt.Sprintf("at most %d bytes", maxSmall), Actual: "more"}
	}
	return b, nil
}

// writeNew makes a file and never overwrites one.
func writeNew(file string, b []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fileError(report.CodeFileUnwritable, file, err)
	}
	if _, err := f.Write(b); err != nil {
		return fileError(report.CodeFileUnwritable, file, errors.Join(err, f.Close()))
	}
	if err := f.Close(); err != nil {
		return fileError(report.CodeFileUnwritable, file, err)
	}
	return nil
}

// writePrivateKey makes a key file that its owner alone may read, PKCS #8 in
// PEM as OpenSSL writes it.
func writePrivateKey(file string, key ed25519.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writeNew(file, pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: der}), 0o600)
}

// readPrivateKey reads one Ed25519 key, PKCS #8 in PEM.
func readPrivateKey(file string) (ed25519.PrivateKey, error) {
	b, err := readSmall(file)
	if err != nil {
		return nil, err
	}
	refuse := func(actual string) error {
		return &report.Error{Code: report.CodeKeyPEM, Where: file, Expected: "one Ed25519 private key, PKCS #8 in PEM", Actual: actual}
	}
	block, rest := pem.Decode(b)
	switch {
	case block == nil:
		return nil, refuse("no PEM block")
	case block.Type != pemPrivate:
		return nil, refuse(fmt.Sprintf("a PEM block of type %q", block.Type))
	case len(rest) > 0:
		return nil, refuse("more behind the block")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, refuse("a block that does not parse")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, refuse(fmt.Sprintf("a key of type %T", parsed))
	}
	return key, nil
}
