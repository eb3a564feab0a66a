package keyfile_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/report"
)

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func is(phrase string) keyfile.Passphrase {
	return func() ([]byte, error) { return []byte(phrase), nil }
}

func wantCode(t *testing.T, what string, err error, code report.Code) {
	t.Helper()
	if report.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// TestRoundTrip: a key comes back from its file, plain or encrypted, and from an
// encrypted one under its own passphrase alone; a plain file asks for none.
func TestRoundTrip(t *testing.T) {
	key := newKey(t)
	unasked := func() ([]byte, error) { t.Error("a passphrase was asked"); return nil, nil }
	plain, err := keyfile.Marshal(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := keyfile.Parse(plain, unasked); err != nil || !got.Equal(key) {
		t.Errorf("%v, %v", got, err)
	}
	sealed, err := keyfile.Marshal(key, []byte("correct horse"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, key.Seed()) {
		t.Error("not encrypted")
	}
	if got, err := keyfile.Parse(sealed, is("correct horse")); err != nil || !got.Equal(key) {
		t.Errorf("%v, %v", got, err)
	}
	_, err = keyfile.Parse(sealed, is("battery"))
	wantCode(t, "another passphrase", err, report.CodeKeyPassphrase)
	nobody := errors.New("nobody is there")
	if _, err = keyfile.Parse(sealed, func() ([]byte, error) { return nil, nobody }); !errors.Is(err, nobody) {
		t.Errorf("the error of the asker is lost: %v", err)
	}
	_, err = keyfile.Marshal(key, []byte{})
	wantCode(t, "an empty passphrase", err, report.CodeKeyPassphrase)
}

// TestRefusals: what is no key file says what it is.
func TestRefusals(t *testing.T) {
	key := newKey(t)
	plain, _ := keyfile.Marshal(key, nil)
	block, _ := pem.Decode(plain)
	of := func(typ string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: b}) }
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p256DER, err := x509.MarshalPKCS8PrivateKey(p256)
	if err != nil {
		t.Fatal(err)
	}
	headed := pem.EncodeToMemory(&pem.Block{Type: keyfile.PlainType, Headers: map[string]string{"a": "b"}, Bytes: block.Bytes})
	for what, b := range map[string][]byte{
		"nothing":               nil,
		"text":                  []byte("hello"),
		"two blocks":            append(bytes.Clone(plain), plain...),
		"headers":               headed,
		"a public key":          of("PUBLIC KEY", block.Bytes),
		"a certificate":         of("CERTIFICATE", block.Bytes),
		"cut short":             of(keyfile.PlainType, block.Bytes[:20]),
		"a P-256 key":           of(keyfile.PlainType, p256DER),
		"encrypted by OpenSSL":  of("ENCRYPTED PRIVATE KEY", block.Bytes),
		"an OpenSSH key, as is": of(keyfile.OpenSSHType, block.Bytes),
	} {
		_, err := keyfile.Parse(b, is("x"))
		wantCode(t, what, err, report.CodeKeyPEM)
	}
	for what, b := range map[string][]byte{
		"encrypted junk":    of(keyfile.EncryptedType, []byte("junk")),
		"no JSON of a box":  of(keyfile.EncryptedType, []byte(`{"kdf":{"name":"none"}}`)),
		"endless scrypt":    of(keyfile.EncryptedType, []byte(`{"kdf":{"name":"scrypt","params":{"N":1073741824,"r":8,"p":1}},"cipher":{"name":"nacl/secretbox"}}`)),
		"a nonce too short": of(keyfile.EncryptedType, []byte(`{"kdf":{"name":"scrypt","params":{"N":32768,"r":8,"p":1}},"cipher":{"name":"nacl/secretbox","nonce":"AA=="}}`)),
	} {
		_, err := keyfile.Parse(b, is("x"))
		wantCode(t, what, err, report.CodeKeyPassphrase)
	}
}

// TestFiles: a file is its owner's alone, is never overwritten, and changes its
// form whole or not at all.
func TestFiles(t *testing.T) {
	key, name := newKey(t), filepath.Join(t.TempDir(), "a.key")
	if err := keyfile.Create(name, key, nil); err != nil {
		t.Fatal(err)
	}
	private := func() {
		t.Helper()
		st, err := os.Stat(name)
		if err != nil || st.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("%v %v", st.Mode(), err)
		}
	}
	private()
	wantCode(t, "a second key", keyfile.Create(name, newKey(t), nil), report.CodeFileUnwritable)
	if err := os.WriteFile(name+".tmp", []byte("left behind"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := keyfile.Replace(name, key, []byte("correct horse")); err != nil {
		t.Fatal(err)
	}
	private()
	if got, err := keyfile.Read(name, is("correct horse")); err != nil || !got.Equal(key) {
		t.Errorf("%v, %v", got, err)
	}
	_, err := keyfile.Read(name, is("battery"))
	wantCode(t, "another passphrase", err, report.CodeKeyPassphrase)
	var e *report.Error
	if !errors.As(err, &e) || e.Where != name {
		t.Errorf("which file is not said: %v", err)
	}
	if left, _ := filepath.Glob(name + "?*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	_, err = keyfile.Read(name+".none", is(""))
	wantCode(t, "no file", err, report.CodeFileUnreadable)
	if err := os.WriteFile(name+".big", make([]byte, keyfile.MaxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = keyfile.Read(name+".big", is(""))
	wantCode(t, "too long", err, report.CodeFileUnreadable)
}

// FuzzParse: bytes that are no key file are refused with a code.
func FuzzParse(f *testing.F) {
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	plain, err := keyfile.Marshal(key, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Add([]byte("-----BEGIN OBSTAT ENCRYPTED PRIVATE KEY-----\ne30=\n-----END OBSTAT ENCRYPTED PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := keyfile.Parse(b, func() ([]byte, error) { return nil, &report.Error{Code: report.CodeKeyPassphrase} })
		switch {
		case err == nil && !bytes.Equal(got, ed25519.NewKeyFromSeed(got.Seed())):
			t.Errorf("a key whose halves do not belong together")
		case err != nil && report.CodeOf(err) != report.CodeKeyPEM && report.CodeOf(err) != report.CodeKeyPassphrase:
			t.Errorf("%v", err)
		}
	})
}
