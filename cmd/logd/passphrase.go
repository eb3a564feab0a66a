package main

import (
	"bytes"
	"crypto/subtle"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/report"
)

// These variables hold a passphrase where no file does and nobody types it.
const (
	passphraseEnv    = "OBSTAT_PASSPHRASE"
	newPassphraseEnv = "OBSTAT_NEW_PASSPHRASE" // that a file is to have from now on
)

// passphrases is where the passphrase of a key file comes from: the file that
// the command line names, else the environment, else whoever sits there.
type passphrases struct {
	file string // of --passphrase-file; empty where none was named
	env  string // the variable; empty for none
}

// opening asks for the passphrase of an encrypted file.
func (p passphrases) opening(what string) keyfile.Passphrase {
	return func() ([]byte, error) {
		if phrase, ok, err := p.stored(); ok || err != nil {
			return phrase, err
		}
		if !term.IsTerminal(int(os.Stdin.Fd())) {
			return nil, p.none(what)
		}
		return ask("Passphrase of " + what + ": ")
	}
}

// making asks for the passphrase of a file that is made, twice where it is typed.
func (p passphrases) making(what string) ([]byte, error) {
	if phrase, ok, err := p.stored(); ok || err != nil {
		return phrase, err
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, p.none(what)
	}
	one, err := ask("New passphrase of " + what + ": ")
	if err != nil {
		return nil, err
	}
	two, err := ask("The same again: ")
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare(one, two) != 1 {
		return nil, &report.Error{Code: report.CodeKeyPassphrase, Expected: "the same passphrase twice", Actual: "two"}
	}
	return one, nil
}

// stored returns the passphrase that a file or the environment has.
func (p passphrases) stored() (phrase []byte, ok bool, err error) {
	if p.file != "" {
		b, err := keyfile.ReadSmall(p.file)
		if err != nil {
			return nil, false, err
		}
		b = bytes.TrimRight(b, "\r\n")
		if len(b) == 0 {
			return nil, false, &report.Error{Code: report.CodeKeyPassphrase, Where: p.file, Expected: "a passphrase in the file's one line", Actual: "none"}
		}
		return b, true, nil
	}
	if v, set := os.LookupEnv(p.env); p.env != "" && set && v != "" {
		return []byte(v), true, nil
	}
	return nil, false, nil
}

func (p passphrases) none(what string) error {
	fix := "name a file that holds it"
	if p.env != "" {
		fix += ", set " + p.env
	}
	return &report.Error{
		Code: report.CodeKeyPassphrase, Where: what, Expected: "a passphrase", Actual: "none, and nobody at a terminal to ask",
		Fix: fix + ", or run this at a terminal",
	}
}

// ask reads a line from the terminal without showing it.
func ask(prompt string) ([]byte, error) {
	fmt.Fprint(os.Stderr, prompt)
	b, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(os.Stderr)
	if err != nil {
		return nil, fmt.Errorf("the passphrase could not be read: %w", err)
	}
	if len(b) == 0 {
		return nil, &report.Error{Code: report.CodeKeyPassphrase, Expected: "a passphrase", Actual: "an empty one"}
	}
	return b, nil
}
