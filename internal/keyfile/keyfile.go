// Package keyfile reads and writes private key files: Ed25519, PKCS #8 in PEM as
// OpenSSL writes it, or the same encrypted under a passphrase.
//
// An encrypted file is one PEM block, EncryptedType, around the JSON of
// go-securesystemslib's package encrypted: scrypt and NaCl's secret box over the
// PKCS #8 bytes. cosign keeps its keys the same way under its own label.
//
// What is read is a crypto.Signer. Everything that signs takes one, so a key in a
// token or a key service needs a crypto.Signer with an Ed25519 public key and
// nothing else from here.
package keyfile

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/obstat/obstat/report"
)

// MaxFile is far above what one key takes, in bytes.
const MaxFile = 16 << 10

// The PEM types that are read and written.
const (
	PlainType     = "PRIVATE KEY" // PKCS #8, RFC 5958
	EncryptedType = "OBSTAT ENCRYPTED PRIVATE KEY"
	OpenSSHType   = "OPENSSH PRIVATE KEY" // not read here: package sshkey does
)

// Passphrase is asked for the passphrase of an encrypted file, and only then.
type Passphrase func() ([]byte, error)

// Marshal returns the bytes of a key file. It is encrypted where passphrase is
// not nil; an empty one is refused (KEY-PASSPHRASE).
func Marshal(key ed25519.PrivateKey, passphrase []byte) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if passphrase == nil {
		return pem.EncodeToMemory(&pem.Block{Type: PlainType, Bytes: der}), nil
	}
	if len(passphrase) == 0 {
		return nil, &report.Error{Code: report.CodeKeyPassphrase, Expected: "a passphrase", Actual: "an empty one"}
	}
	box, err := encrypted.EncryptWithCustomKDFParameters(der, passphrase, encrypted.OWASP)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: EncryptedType, Bytes: box}), nil
}

// Parse reads a key file. The error is KEY-PEM for what is none, KEY-PASSPHRASE
// where the passphrase does not open it, or that of passphrase.
func Parse(b []byte, passphrase Passphrase) (ed25519.PrivateKey, error) {
	block, err := Block(b)
	if err != nil {
		return nil, err
	}
	switch block.Type {
	case PlainType:
		return fromPKCS8(block.Bytes)
	case EncryptedType:
		phrase, err := passphrase()
		if err != nil {
			return nil, err
		}
		der, err := encrypted.Decrypt(block.Bytes, phrase)
		if err != nil {
			return nil, wrongPassphrase(err)
		}
		return fromPKCS8(der)
	case OpenSSHType:
		return nil, Refuse("an OpenSSH private key", "logd keys import makes a key file of it")
	case "ENCRYPTED PRIVATE KEY":
		return nil, Refuse("a PKCS #8 key that OpenSSL encrypted", "openssl pkey -in FILE writes it out again, for logd keys import to encrypt")
	}
	return nil, Refuse(fmt.Sprintf("a PEM block of type %q", block.Type), "")
}

// Block returns the one PEM block of a key file.
func Block(b []byte) (*pem.Block, error) {
	block, rest := pem.Decode(b)
	switch {
	case block == nil:
		return nil, Refuse("no PEM block", "")
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, Refuse("more behind the block", "")
	case len(block.Headers) > 0:
		return nil, Refuse("a PEM block with headers", "")
	}
	return block, nil
}

func fromPKCS8(der []byte) (ed25519.PrivateKey, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, Refuse("a block that does not parse", "")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, Refuse(fmt.Sprintf("a key of type %T", parsed), "")
	}
	return Sound(key)
}

// Sound refuses a private key whose public half is another's: to sign with such a
// pair gives the private half away.
func Sound(key ed25519.PrivateKey) (ed25519.PrivateKey, error) {
	if len(key) != ed25519.PrivateKeySize || !bytes.Equal(ed25519.NewKeyFromSeed(key.Seed()), key) {
		return nil, Refuse("a private key with the public half of another", "")
	}
	return key, nil
}

// Refuse says what is no key file, and what to do about it.
func Refuse(actual, fix string) error {
	return &report.Error{Code: report.CodeKeyPEM, Expected: "one Ed25519 private key, PKCS #8 in PEM, or encrypted by logd keys", Actual: actual, Fix: fix}
}

func wrongPassphrase(cause error) error {
	return &report.Error{Code: report.CodeKeyPassphrase, Expected: "the passphrase that it was encrypted under", Actual: cause.Error()}
}
