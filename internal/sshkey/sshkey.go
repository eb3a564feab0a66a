// Package sshkey reads Ed25519 keys as OpenSSH keeps them. Only logd keys import and
// public read them: the other programs read key files.
package sshkey

import (
	"bytes"
	"crypto/ed25519"
	"fmt"

	"golang.org/x/crypto/ssh"

	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/report"
)

// Import reads a private key as other programs keep it: what keyfile.Parse
// reads, and an OpenSSH private key, encrypted or not.
func Import(b []byte, passphrase keyfile.Passphrase) (ed25519.PrivateKey, error) {
	block, err := keyfile.Block(b)
	if err != nil {
		return nil, err
	}
	if block.Type != keyfile.OpenSSHType {
		return keyfile.Parse(b, passphrase)
	}
	raw, err := ssh.ParseRawPrivateKey(b)
	if _, missing := err.(*ssh.PassphraseMissingError); missing {
		phrase, asked := passphrase()
		if asked != nil {
			return nil, asked
		}
		if raw, err = ssh.ParseRawPrivateKeyWithPassphrase(b, phrase); err != nil {
			return nil, &report.Error{Code: report.CodeKeyPassphrase, Expected: "the passphrase that it was encrypted under", Actual: err.Error()}
		}
	}
	if err != nil {
		return nil, keyfile.Refuse("an OpenSSH private key that does not parse", "")
	}
	if key, ok := raw.(*ed25519.PrivateKey); ok {
		return keyfile.Sound(*key)
	}
	return nil, keyfile.Refuse(fmt.Sprintf("an OpenSSH key of type %T", raw), "ssh-keygen -t ed25519 makes one of the type that is used here")
}

// ImportPublic reads a public key as OpenSSH keeps it, "ssh-ed25519 AAAA… comment"
// in one line.
func ImportPublic(b []byte) (ed25519.PublicKey, error) {
	pub, _, options, rest, err := ssh.ParseAuthorizedKey(b)
	if err != nil || len(options) > 0 || len(bytes.TrimSpace(rest)) > 0 {
		return nil, &report.Error{Code: report.CodeKeyPEM, Expected: "one line of an OpenSSH public key", Actual: "something else"}
	}
	// A key of a security token signs something else than the message alone.
	if c, ok := pub.(ssh.CryptoPublicKey); ok && pub.Type() == ssh.KeyAlgoED25519 {
		if key, ok := c.CryptoPublicKey().(ed25519.PublicKey); ok {
			return key, nil
		}
	}
	return nil, &report.Error{Code: report.CodeKeyPEM, Expected: "an Ed25519 key", Actual: "one of type " + pub.Type()}
}
