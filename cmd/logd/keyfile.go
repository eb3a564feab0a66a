package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/internal/sshkey"
)

// newKey makes a key and its file. Without a passphrase it is not encrypted.
func newKey(file string, passphrase []byte) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return key, keyfile.Create(file, key, passphrase)
}

// readPublicKey reads one Ed25519 public key: PKIX in PEM, or a line of OpenSSH.
func readPublicKey(file string) (ed25519.PublicKey, error) {
	b, err := readSmall(file)
	if err != nil {
		return nil, err
	}
	return parsePublicKey(file, b)
}

func parsePublicKey(file string, b []byte) (ed25519.PublicKey, error) {
	key, err := dsse.ParsePublicKeyPEM(b)
	if bytes.HasPrefix(b, []byte("ssh-")) {
		if key, err = sshkey.ImportPublic(b); err == nil {
			err = dsse.CheckPublicKey(key)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}

// readSmall reads a key or trust file.
func readSmall(file string) ([]byte, error) { return keyfile.ReadSmall(file) }
