package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/internal/proposal"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
	"github.com/obstat/obstat/verdict"
)

// selected is how a command line names a listed key: its principal, or its key
// ID or the beginning of it. from is the leaf that a revocation states.
type selected struct {
	key  string
	from uint64
	has  bool
}

// changing is what the command line of propose would change.
type changing struct {
	add       []Registered
	retire    []selected
	revoke    []selected
	threshold string
}

func (c *changing) flags(f *flag.FlagSet) {
	for _, role := range []trust.Role{trust.Engine, trust.Approver, trust.Registrar} {
		f.Func(string(role), "", func(s string) error {
			name, file, ok := strings.Cut(s, "=")
			if !ok || file == "" || !verdict.ValidName(name) {
				return errors.New("it is NAME=FILE, FILE holding the public key")
			}
			c.add = append(c.add, Registered{Role: role, Name: name, File: file})
			return nil
		})
	}
	f.Func("retire", "", func(s string) error {
		c.retire = append(c.retire, selected{key: s})
		return nil
	})
	f.Func("revoke", "", func(s string) error {
		// A name may hold an "@"; a leaf is a decimal.
		k := selected{key: s}
		if at := strings.LastIndexByte(s, '@'); at >= 0 {
			if n, err := strconv.ParseUint(s[at+1:], 10, 53); err == nil {
				k = selected{s[:at], n, true}
			}
		}
		c.revoke = append(c.revoke, k)
		return nil
	})
	once(f, "threshold", &c.threshold)
}

// additions reads the public keys.
func (c *changing) additions() (add []trust.Addition, err error) {
	for _, k := range c.add {
		key, err := readPublicKey(k.File)
		if err != nil {
			return nil, err
		}
		add = append(add, trust.Addition{Key: trust.PublicKey(key), Name: k.Name, Role: k.Role})
	}
	return add, nil
}

func (c *changing) thresholdOr(otherwise int) (int, error) {
	if c.threshold == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(c.threshold)
	if err != nil || n < 1 || strconv.Itoa(n) != c.threshold {
		return 0, usagef("--threshold %s is not a number of registrars", c.threshold)
	}
	return n, nil
}

// change turns the command line into a change of r.
func (c *changing) change(r *trust.Registry) (out trust.Change, err error) {
	if out.Threshold, err = c.thresholdOr(0); err != nil {
		return out, err
	}
	if out.Add, err = c.additions(); err != nil {
		return out, err
	}
	for _, s := range c.retire {
		k, err := find(r, s.key, "--retire")
		if err != nil {
			return out, err
		}
		out.Retire = append(out.Retire, trust.PublicKey(k.Public))
	}
	for _, s := range c.revoke {
		k, err := find(r, s.key, "--revoke")
		if err != nil {
			return out, err
		}
		out.Revoke = append(out.Revoke, trust.Revocation{Key: trust.PublicKey(k.Public), From: s.from, HasFrom: s.has})
	}
	return out, nil
}

// find returns the one listed key that a command line names: by the whole key ID
// or at least eight digits of its beginning, or by a principal who has one key
// that is not revoked.
func find(r *trust.Registry, name, flag string) (trust.Key, error) {
	var found []trust.Key
	for _, k := range r.Keys() {
		id := k.ID.String()
		byID := len(name) >= 8 && strings.HasPrefix(id, name)
		if byID || k.Name == name && k.Revoked == 0 {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return trust.Key{}, usagef("%s %s: no listed key has this principal or key ID; logd keys list names them", flag, name)
	}
	var ids []string
	for _, k := range found {
		ids = append(ids, fmt.Sprintf("%s %s", k.Role, k.ID))
	}
	return trust.Key{}, usagef("%s %s: several keys are meant, name one by its key ID:\n  %s", flag, name, strings.Join(ids, "\n  "))
}

// keysPropose makes a proposal, which registrars sign.
func keysPropose(ctx context.Context, args []string, stdout io.Writer) error {
	f := newFlags("keys propose")
	var src source
	var c changing
	var genesis bool
	var origin, out string
	src.flags(f)
	c.flags(f)
	f.BoolVar(&genesis, "genesis", false, "")
	once(f, "origin", &origin)
	once(f, "out", &out)
	if _, err := operandsN(f, args, stdout); err != nil {
		return err
	}
	if out == "" {
		return usagef("keys propose: --out is needed: the file that goes from registrar to registrar")
	}
	var p *proposal.Proposal
	var t proposal.Trust
	var err error
	if genesis {
		p, err = c.genesis(origin, src)
	} else {
		if origin != "" {
			return usagef("keys propose: --origin goes with --genesis: a registry that is there has its log")
		}
		p, t, err = c.next(ctx, src)
	}
	if err != nil {
		return err
	}
	return proposed(p, t, out, stdout)
}

// genesis proposes the registry of a new log.
func (c *changing) genesis(origin string, src source) (*proposal.Proposal, error) {
	if src != (source{}) || len(c.retire)+len(c.revoke) > 0 {
		return nil, usagef("keys propose: --genesis begins a registry: there is none to read, and nothing to retire or revoke")
	}
	if err := validOrigin(origin); err != nil {
		return nil, err
	}
	n, err := c.thresholdOr(0)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, usagef("keys propose: --threshold is needed: how many registrars sign a change")
	}
	add, err := c.additions()
	if err != nil {
		return nil, err
	}
	return proposal.NewGenesis(origin, n, add)
}

// next proposes the statement that follows.
func (c *changing) next(ctx context.Context, src source) (*proposal.Proposal, proposal.Trust, error) {
	if err := src.check("keys propose"); err != nil {
		return nil, proposal.Trust{}, err
	}
	chain, t, err := src.chain(ctx)
	if err != nil {
		return nil, t, err
	}
	r, err := proposal.Fold(chain, t)
	if err != nil {
		return nil, t, err
	}
	change, err := c.change(r.Registry)
	if err != nil {
		return nil, t, err
	}
	p, err := proposal.New(chain, t, change)
	return p, t, err
}

// readProposal reads a proposal and holds it against the trust files.
func readProposal(name string, t proposal.Trust) (*proposal.Opened, error) {
	b, err := readUpTo(name, proposal.MaxFile)
	if err != nil {
		return nil, err
	}
	p, err := proposal.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	o, err := p.Open(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return o, nil
}

// keysShow says what a proposal would change.
func keysShow(args []string, stdout io.Writer) error {
	f := newFlags("keys show")
	var files trustFiles
	files.flags(f)
	names, err := operandsN(f, args, stdout, "PROPOSAL")
	if err != nil {
		return err
	}
	t, err := files.read()
	if err != nil {
		return err
	}
	o, err := readProposal(names[0], t)
	if err != nil {
		return err
	}
	return say(stdout, o.Text())
}

// keysSign shows a proposal, asks, and adds a signature to it.
func keysSign(args []string, stdout io.Writer) error {
	f := newFlags("keys sign")
	var files trustFiles
	var keyFile string
	var yes bool
	phrase := passphrases{env: passphraseEnv}
	files.flags(f)
	once(f, "key", &keyFile)
	once(f, "passphrase-file", &phrase.file)
	f.BoolVar(&yes, "yes", false, "")
	names, err := operandsN(f, args, stdout, "PROPOSAL")
	if err != nil {
		return err
	}
	if keyFile == "" {
		return usagef("keys sign: --key is needed: a registrar's private key")
	}
	t, err := files.read()
	if err != nil {
		return err
	}
	o, err := readProposal(names[0], t)
	if err != nil {
		return err
	}
	if err := say(stdout, o.Text()); err != nil {
		return err
	}
	if !yes {
		if err := consent(); err != nil {
			return err
		}
	}
	key, err := keyfile.Read(keyFile, phrase.opening(keyFile))
	if err != nil {
		return err
	}
	if err := o.Sign(key); err != nil {
		return err
	}
	if err := replaceFile(names[0], o.Bytes()); err != nil {
		return err
	}
	before, after := o.Counts()
	state := fmt.Sprintf("It has %d of %d signatures", after, o.After.Threshold())
	if o.Before != nil && o.Statement != nil {
		state = fmt.Sprintf("It has %d of the %d signatures of the registry before, and %d of the %d of the one after", before, o.Before.Threshold(), after, o.After.Threshold())
	}
	next := "the next registrar signs it"
	switch {
	case o.Complete() && o.Before == nil:
		next = "logd init --genesis"
	case o.Complete() && o.Beside():
		next = "logd succession --freeze"
	case o.Complete():
		next = "logd keys submit"
	}
	return say(stdout, fmt.Sprintf("\nSigned, in %s. %s. Next: %s.\n", names[0], state, next))
}

// consent asks whoever sits at the terminal.
func consent() error {
	refused := &report.Error{Code: report.CodeConsent, Expected: "yes", Actual: "something else", Fix: "nothing was signed"}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		refused.Actual, refused.Fix = "nobody at a terminal to ask", "say --yes where somebody has read what it changes; nothing was signed"
		return refused
	}
	fmt.Fprint(os.Stderr, "\nSign it? Type yes: ")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "yes" {
		return refused
	}
	return nil
}

// createFile makes a file, and never overwrites.
func createFile(name string, b []byte) error {
	if _, err := os.Lstat(name); err == nil {
		return &report.Error{Code: report.CodeFileUnwritable, Where: name, Expected: "a name that is free", Actual: "a file that is there"}
	}
	return replaceFile(name, b)
}

// replaceFile makes name hold b, whole or, at a crash, what it held before.
func replaceFile(name string, b []byte) error {
	dir, err := durable.OpenDir(filepath.Dir(name))
	if err == nil {
		err = durable.WriteFile(dir, filepath.Base(name), b)
	}
	if err != nil {
		return fileError(report.CodeFileUnwritable, name, err)
	}
	return nil
}
