package sshkey_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/internal/sshkey"
	"github.com/obstat/obstat/report"
)

func is(phrase string) keyfile.Passphrase {
	return func() ([]byte, error) { return []byte(phrase), nil }
}

func wantCode(t *testing.T, what string, err error, code report.Code) {
	t.Helper()
	if report.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func openssh(t testing.TB, key any, phrase string) []byte {
	t.Helper()
	var block *pem.Block
	var err error
	if phrase == "" {
		block, err = ssh.MarshalPrivateKey(key, "somebody")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "somebody", []byte(phrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block)
}

// TestImport: keys of OpenSSH, encrypted or not, and what they are not.
func TestImport(t *testing.T) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, phrase := range []string{"", "correct horse"} {
		b := openssh(t, key, phrase)
		if got, err := sshkey.Import(b, is(phrase)); err != nil || !got.Equal(key) {
			t.Errorf("%q: %v, %v", phrase, got, err)
		}
	}
	_, err = sshkey.Import(openssh(t, key, "correct horse"), is("battery"))
	wantCode(t, "another passphrase", err, report.CodeKeyPassphrase)
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, err = sshkey.Import(openssh(t, p256, ""), is(""))
	wantCode(t, "a P-256 key", err, report.CodeKeyPEM)
	ours, _ := keyfile.Marshal(key, nil)
	if got, err := sshkey.Import(ours, is("")); err != nil || !got.Equal(key) {
		t.Errorf("our own: %v, %v", got, err)
	}

	pub, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	line := ssh.MarshalAuthorizedKey(pub)
	if got, err := sshkey.ImportPublic(line); err != nil || !got.Equal(key.Public()) {
		t.Errorf("%v, %v", got, err)
	}
	other, err := ssh.NewPublicKey(&p256.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string][]byte{
		"another type": ssh.MarshalAuthorizedKey(other),
		"two lines":    append(bytes.Clone(line), line...),
		"options":      append([]byte(`command="rm" `), line...),
		"junk":         []byte("ssh-ed25519 AAAA"),
		"a token's key": append(append([]byte("sk-ssh-ed25519@openssh.com "), base64.StdEncoding.EncodeToString(ssh.Marshal(struct {
			Name        string
			Key         []byte
			Application string
		}{"sk-ssh-ed25519@openssh.com", key.Public().(ed25519.PublicKey), "ssh:"}))...), '\n'),
	} {
		_, err := sshkey.ImportPublic(b)
		wantCode(t, what, err, report.CodeKeyPEM)
	}
}

// FuzzImport: bytes that are no key are refused with a code.
func FuzzImport(f *testing.F) {
	f.Add(openssh(f, ed25519.NewKeyFromSeed(make([]byte, 32)), ""))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := sshkey.Import(b, func() ([]byte, error) { return nil, &report.Error{Code: report.CodeKeyPassphrase} })
		switch {
		case err == nil && !bytes.Equal(got, ed25519.NewKeyFromSeed(got.Seed())):
			t.Errorf("a key whose halves do not belong together")
		case err != nil && report.CodeOf(err) != report.CodeKeyPEM && report.CodeOf(err) != report.CodeKeyPassphrase:
			t.Errorf("%v", err)
		}
		_, _ = sshkey.ImportPublic(b)
	})
}
