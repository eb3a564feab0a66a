package keyfile

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/report"
)

// Create makes a key file that its owner alone may read. It never overwrites,
// and the file is on disk when it returns.
func Create(file string, key ed25519.PrivateKey, passphrase []byte) error {
	b, err := Marshal(key, passphrase)
	if err != nil {
		return At(file, err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return unwritable(file, err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = durable.SyncFile(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return unwritable(file, errors.Join(err, os.Remove(file)))
	}
	return syncDir(file)
}

// Replace makes an existing key file hold key, which is the key that it held, in
// the other form: whole or, at a crash, not at all.
func Replace(file string, key ed25519.PrivateKey, passphrase []byte) error {
	// Beside the file, so that it can be renamed over it, and for the owner alone.
	tmp := file + durable.TempSuffix
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritable(tmp, err)
	}
	if err := Create(tmp, key, passphrase); err != nil {
		return err
	}
	if err := os.Rename(tmp, file); err != nil {
		return unwritable(file, err)
	}
	return syncDir(file)
}

func syncDir(file string) error {
	d, err := os.Open(filepath.Dir(file))
	if err != nil {
		return unwritable(file, err)
	}
	defer d.Close()
	if err := durable.SyncOpenDir(d); err != nil {
		return unwritable(file, err)
	}
	return nil
}

// Read reads a key file, as Parse does.
func Read(file string, passphrase Passphrase) (ed25519.PrivateKey, error) {
	b, err := ReadSmall(file)
	if err != nil {
		return nil, err
	}
	key, err := Parse(b, passphrase)
	return key, At(file, err)
}

// ReadSmall reads a file of at most MaxFile bytes. A directory, a device or a
// FIFO is refused by whoever opens it.
func ReadSmall(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, unreadable(file, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, unreadable(file, err)
	}
	if len(b) > MaxFile {
		return nil, &report.Error{Code: report.CodeFileUnreadable, Where: file,
			Expected: fmt.Sprintf("at most %d bytes, since no key or trust file is longer", MaxFile), Actual: "more"}
	}
	return b, nil
}

// At names the file in an error that knows only what is wrong with it.
func At(file string, err error) error {
	var e *report.Error
	if !errors.As(err, &e) || e.Where != "" {
		return err
	}
	said := *e
	said.Where = file
	return &said
}

func unreadable(file string, err error) error {
	return fileError(report.CodeFileUnreadable, file, "a file to read", err)
}

func unwritable(file string, err error) error {
	return fileError(report.CodeFileUnwritable, file, "a place to write", err)
}

func fileError(code report.Code, file, expected string, err error) error {
	var in *fs.PathError
	if errors.As(err, &in) {
		err = in.Err
	}
	return &report.Error{Code: code, Where: file, Expected: expected, Actual: err.Error()}
}
