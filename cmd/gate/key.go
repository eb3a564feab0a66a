package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/report"
)

// Files of a key that init made.
const (
	keyName    = "engine.key" // SECRET, PKCS #8 in PEM
	publicName = "engine.pub" // PKIX in PEM: what a registrar lists
)

// makeKey makes the engine's key below the gate's directory. One that is there,
// of an init that did not end, stays: somebody may list it already.
func makeKey(tree durable.FS) error {
	dir := filepath.Join(tree.String(), keysName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil { // it may have been there
		return err
	}
	file := filepath.Join(dir, keyName)
	var key ed25519.PrivateKey
	_, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, key, err = ed25519.GenerateKey(rand.Reader)
		if err == nil {
			err = writeKey(tree, key)
		}
	case err == nil:
		key, err = readKey(file)
	}
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return durable.WriteFile(tree, path.Join(keysName, publicName), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// writeKey writes the private key, for its owner alone: the directory is 0700, and
// so is what stands in it.
func writeKey(tree durable.FS, key ed25519.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	name := path.Join(keysName, keyName)
	if err := durable.WriteFile(tree, name, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})); err != nil {
		return err
	}
	return os.Chmod(filepath.Join(tree.String(), filepath.FromSlash(name)), 0o600)
}

// passphraseEnv holds the passphrase of a key that logd keys encrypted. A gate runs
// where nobody types it.
const passphraseEnv = "OBSTAT_PASSPHRASE"

func readKey(file string) (ed25519.PrivateKey, error) {
	return keyfile.Read(file, func() ([]byte, error) {
		if phrase := os.Getenv(passphraseEnv); phrase != "" {
			return []byte(phrase), nil
		}
		return nil, &report.Error{
			Code: report.CodeKeyPassphrase, Expected: "a passphrase in " + passphraseEnv, Actual: "none",
			Fix: "logd keys passphrase --plain decrypts a key file where the machine keeps it",
		}
	})
}
