package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/report"
)

// maxKeyFile is far above what one key takes, in bytes.
const maxKeyFile = 16 << 10

const pemPrivate = "PRIVATE KEY" // PKCS #8, RFC 5958

// writePrivateKey makes a key file that its owner alone may read, PKCS #8 in
// PEM as OpenSSL writes it. It never overwrites.
func writePrivateKey(file string, key ed25519.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fileError(report.CodeFileUnwritable, file, err)
	}
	if err := errors.Join(pem.Encode(f, &pem.Block{Type: pemPrivate, Bytes: der}), f.Close()); err != nil {
		return fileError(report.CodeFileUnwritable, file, err)
	}
	return nil
}

// readPrivateKey reads one Ed25519 key, PKCS #8 in PEM.
func readPrivateKey(file string) (ed25519.PrivateKey, error) {
	b, err := readSmall(file)
	if err != nil {
		return nil, err
	}
	refuse := func(actual string) error {
		return &report.Error{
			Code: report.CodeKeyPEM, Where: file,
			Expected: "one Ed25519 private key, PKCS #8 in PEM", Actual: actual,
		}
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

// readPublicKey reads one Ed25519 public key, PKIX in PEM.
func readPublicKey(file string) (ed25519.PublicKey, error) {
	b, err := readSmall(file)
	if err != nil {
		return nil, err
	}
	key, err := dsse.ParsePublicKeyPEM(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}

// readSmall reads a key or trust file.
func readSmall(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fileError(report.CodeFileUnreadable, file, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, fileError(report.CodeFileUnreadable, file, err)
	}
	if len(b) > maxKeyFile {
		return nil, &report.Error{Code: report.CodeFileUnreadable, Where: file,
			Expected: fmt.Sprintf("at most %d bytes, since no key or trust file is longer", maxKeyFile), Actual: "more"}
	}
	return b, nil
}
