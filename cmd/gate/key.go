package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/obstat/obstat/internal/durable"
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
	key, err := readKey(file)
	if errors.Is(err, fs.ErrNotExist) {
		_, key, err = ed25519.GenerateKey(rand.Reader)
		if err == nil {
			err = writeKey(tree, key)
		}
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
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is no Ed25519 key", file)
	}
	return key, nil
}
