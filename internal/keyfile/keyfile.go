// Package keyfile reads and writes private key files: Ed25519, PKCS #8 in PEM as
// OpenSSL writes it, or the same encrypted under a passphrase. Import reads what
// other programs keep.
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
	"golang.org/x/crypto/ssh"

	"github.com/obstat/obstat/report"
)

// MaxFile is far above what one key takes, in bytes.
const MaxFile = 16 << 10

// The PEM types that are read and written.
const (
	PlainType     = "PRIVATE KEY" // PKCS #8, RFC 5958
	EncryptedType = "OBSTAT ENCRYPTED PRIVATE KEY"
	opensshType   = "OPENSSH PRIVATE KEY"
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
	block, err := block(b)
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
	case opensshType:
		return nil, refuse("an OpenSSH private key", "logd keys import makes a key file of it")
	case "ENCRYPTED PRIVATE KEY":
		return nil, refuse("a PKCS #8 key that OpenSSL encrypted", "openssl pkey -in FILE writes it out again, for logd keys import to encrypt")
	}
	return nil, refuse(fmt.Sprintf("a PEM block of type %q", block.Type), "")
}

// Encrypted reports whether b is an encrypted key file, of ours or of OpenSSH.
func Encrypted(b []byte) bool {
	block, err := block(b)
	if err != nil {
		return false
	}
	if block.Type == opensshType {
		_, err := ssh.ParseRawPrivateKey(b)
		_, missing := err.(*ssh.PassphraseMissingError)
		return missing
	}
	return block.Type == EncryptedType
}

// Import reads a private key as other programs keep it: what Parse reads, and an
// OpenSSH private key, encrypted or not.
func Import(b []byte, passphrase Passphrase) (ed25519.PrivateKey, error) {
	block, err := block(b)
	if err != nil {
		return nil, err
	}
	if block.Type != opensshType {
		return Parse(b, passphrase)
	}
	raw, err := ssh.ParseRawPrivateKey(b)
	if _, missing := err.(*ssh.PassphraseMissingError); missing {
		phrase, asked := passphrase()
		if asked != nil {
			return nil, asked
		}
		if raw, err = ssh.ParseRawPrivateKeyWithPassphrase(b, phrase); err != nil {
			return nil, wrongPassphrase(err)
		}
	}
	if err != nil {
		return nil, refuse("an OpenSSH private key that does not parse", "")
	}
	if key, ok := raw.(*ed25519.PrivateKey); ok {
		return sound(*key)
	}
	return nil, refuse(fmt.Sprintf("an OpenSSH key of type %T", raw), "ssh-keygen -t ed25519 makes one of the type that is used here")
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

func block(b []byte) (*pem.Block, error) {
	block, rest := pem.Decode(b)
	switch {
	case block == nil:
		return nil, refuse("no PEM block", "")
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, refuse("more behind the block", "")
	case len(block.Headers) > 0:
		return nil, refuse("a PEM block with headers", "")
	}
	return block, nil
}

func fromPKCS8(der []byte) (ed25519.PrivateKey, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, refuse("a block that does not parse", "")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, refuse(fmt.Sprintf("a key of type %T", parsed), "")
	}
	return sound(key)
}

// sound refuses a private key whose public half is another's: to sign with such a
// pair gives the private half away.
func sound(key ed25519.PrivateKey) (ed25519.PrivateKey, error) {
	if len(key) != ed25519.PrivateKeySize || !bytes.Equal(ed25519.NewKeyFromSeed(key.Seed()), key) {
		return nil, refuse("a private key with the public half of another", "")
	}
	return key, nil
}

func refuse(actual, fix string) error {
	return &report.Error{Code: report.CodeKeyPEM, Expected: "one Ed25519 private key, PKCS #8 in PEM, or encrypted by logd keys", Actual: actual, Fix: fix}
}

func wrongPassphrase(cause error) error {
	return &report.Error{Code: report.CodeKeyPassphrase, Expected: "the passphrase that it was encrypted under", Actual: cause.Error()}
}
