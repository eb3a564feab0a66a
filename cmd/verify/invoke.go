package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
	"github.com/obstat/obstat/verdict"
)

// invocation is one call of a command: its flags, its operands, its streams.
type invocation struct {
	command  string
	operand  string // the first
	operands []string
	stdin    io.Reader
	stdout   io.Writer
	opened   []io.Closer // until the command ends

	policy, policySum string
	trust, trustSum   string
	registry          string
	succession        list
	json              bool
	jobs              int
	now               moment
	principal, run    string
	work              string
	since, state      string
	hashes            bool
	expect, require   list
	digest, only      string // of a corpus
	name              string // of a new one
	release           bool
	evidence          bool // of a fork: write it
	vocabulary        list
}

// maxSuccessions is how many logs, one after the other, trust follows.
const maxSuccessions = 16

// list is a flag that may be repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

// invoke parses flags, which may stand before and behind the operand, and runs
// the command.
func (c command) invoke(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	inv := &invocation{command: c.name, stdin: stdin, stdout: stdout}
	fs := onlyOnce(inv.flags())
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return write(c.help, stdout, stderr)
			}
			return usage(c, err, stderr)
		}
		rest := fs.Args()
		if len(rest) == 0 {
			break
		}
		if consumed := len(args) - len(rest); consumed > 0 && args[consumed-1] == "--" {
			inv.operands = append(inv.operands, rest...)
			break
		}
		inv.operands, args = append(inv.operands, rest[0]), rest[1:]
	}
	switch n := len(inv.operands); {
	case c.name == "consistency" && n != 2:
		return usage(c, fmt.Errorf("two checkpoints are wanted, got %d", n), stderr)
	case n == 0 || n > c.most:
		return usage(c, fmt.Errorf("%s wanted, got %d", [...]string{1: "one FILE is", 2: "one FILE or two are"}[c.most], n), stderr)
	}
	inv.operand = inv.operands[0]
	// A name or a digest that is empty is a variable that nobody set, and what it
	// was to pin would not be pinned.
	var empty error
	fs.Visit(func(f *flag.Flag) {
		if f.Value.String() == "" && f.Name != "now" {
			empty = fmt.Errorf("--%s is empty", f.Name)
		}
	})
	if empty != nil {
		return usage(c, empty, stderr)
	}
	if err := inv.check(); err != nil {
		return usage(c, err, stderr)
	}
	status, err := c.run(inv)
	for _, f := range inv.opened { // which were read only
		_ = f.Close()
	}
	if err != nil {
		fmt.Fprintf(stderr, "verify %s: %v\n", c.name, err)
		return statusUsage
	}
	return status
}

func usage(c command, err error, stderr io.Writer) int {
	fmt.Fprintf(stderr, "verify %s: %v\n%s\n'verify help %s' says more.\n", c.name, err, synopsis(c.help), c.name)
	return statusUsage
}

// flags are those that the command has.
func (inv *invocation) flags() *flag.FlagSet {
	fs := flag.NewFlagSet(inv.command, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	if inv.command == "corpus new" {
		fs.StringVar(&inv.name, "name", "", "")
		fs.StringVar(&inv.policy, "policy", "", "")
		fs.StringVar(&inv.trust, "trust", "", "")
		fs.BoolVar(&inv.release, "release", false, "")
		return fs
	}
	fs.BoolVar(&inv.json, "json", false, "")
	switch inv.command {
	case "inspect":
		return fs
	case "corpus":
		fs.StringVar(&inv.digest, "digest", "", "")
		fs.StringVar(&inv.only, "case", "", "")
		return fs
	}
	fs.StringVar(&inv.policy, "policy", "", "")
	fs.StringVar(&inv.policySum, "policy-sha256", "", "")
	switch inv.command {
	case "consistency": // of which every check is required
		return fs
	case "fork":
		fs.BoolVar(&inv.evidence, "evidence", false, "")
		return fs
	}
	fs.StringVar(&inv.trust, "trust", "", "")
	fs.StringVar(&inv.trustSum, "trust-sha256", "", "")
	fs.StringVar(&inv.registry, "registry", "", "")
	fs.Var(&inv.succession, "succession", "")
	if inv.command != "receipt" { // of which every check is required
		fs.Var(&inv.require, "require", "")
	}
	switch inv.command {
	case "run":
		fs.StringVar(&inv.principal, "principal", "", "")
		fs.StringVar(&inv.run, "run", "", "")
		fallthrough
	case "log":
		if inv.command == "log" {
			fs.BoolVar(&inv.hashes, "hashes", false, "")
		}
		fs.IntVar(&inv.jobs, "jobs", 0, "")
		fs.Var(&inv.now, "now", "")
		fs.Var(&inv.vocabulary, "vocabulary", "")
		fs.StringVar(&inv.work, "work", "", "")
		fs.StringVar(&inv.since, "since", "", "")
		fs.StringVar(&inv.state, "state", "", "")
		return fs
	}
	fs.Var(&inv.expect, "expect", "")
	return fs
}

// check holds what the flags say against each other.
func (inv *invocation) check() error {
	stdin := 0
	for _, name := range slices.Concat(inv.operands, []string{inv.policy, inv.trust, inv.registry, inv.since}, inv.vocabulary, inv.succession) {
		if name == "-" {
			stdin++
		}
	}
	switch {
	case stdin > 1:
		return errors.New("standard input can be one file only")
	case inv.policySum != "" && inv.policy == "":
		return errors.New("--policy-sha256 without --policy")
	case inv.trustSum != "" && inv.trust == "":
		return errors.New("--trust-sha256 without --trust")
	case inv.evidence && len(inv.operands) != 2:
		return errors.New("--evidence makes a file of two checkpoints")
	case inv.evidence && inv.json:
		return errors.New("--evidence writes evidence, and --json a report")
	case len(inv.succession) > maxSuccessions:
		return fmt.Errorf("--succession is given %d times, and %d is the most", len(inv.succession), maxSuccessions)
	case inv.hashes && inv.state != "":
		return errors.New("--hashes checks no signature, and --state says which were")
	case inv.state == "-":
		return errors.New("--state is a file that is written anew, not standard input")
	case inv.jobs < 0 || inv.jobs > maxJobs:
		return fmt.Errorf("--jobs is a number up to %d", maxJobs)
	case len(inv.vocabulary) >= laws.MaxVocabularies:
		return fmt.Errorf("--vocabulary is given %d times, and %d is the most", len(inv.vocabulary), laws.MaxVocabularies-1)
	case inv.command == "run" && (!verdict.ValidName(inv.principal) || !verdict.ValidName(inv.run)):
		return errors.New("--principal and --run are wanted, a name each")
	}
	for _, sum := range []string{inv.policySum, inv.trustSum} {
		if b, err := hex.DecodeString(sum); err != nil || sum != "" && len(b) != sha256.Size {
			return fmt.Errorf("%q is no SHA-256 in hex", sum)
		}
	}
	wanted := map[string]string{}
	for _, e := range inv.expect {
		key, value, ok := strings.Cut(e, "=")
		if !ok || !slices.Contains(bundle.ExpectKeys(), key) {
			return fmt.Errorf("--expect %q: want KEY=VALUE, where KEY is one of %s", e, strings.Join(bundle.ExpectKeys(), " "))
		}
		if had, twice := wanted[key]; twice && had != value {
			return fmt.Errorf("--expect %s is given twice: %q and %q", key, had, value)
		}
		wanted[key] = value
		if err := possible(key, value); err != nil {
			return err
		}
	}
	for _, name := range inv.require {
		if !slices.Contains(requirable(inv.command), name) {
			return fmt.Errorf("--require %q: want one of %s", name, strings.Join(requirable(inv.command), " "))
		}
	}
	return nil
}

// read returns at most limit+1 bytes of a file or of standard input.
func (inv *invocation) read(name string, limit int64) ([]byte, error) {
	if name == "-" {
		b, err := io.ReadAll(io.LimitReader(inv.stdin, limit+1))
		if err != nil {
			return nil, fmt.Errorf("cannot read standard input: %w", err)
		}
		return b, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if st.IsDir() {
		return nil, fmt.Errorf("%s is a directory, and a file is wanted", name)
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	return b, nil
}

// pinned reads a trust file and holds it against its digest.
func (inv *invocation) pinned(name, sum string, limit int64) ([]byte, error) {
	b, err := inv.read(name, limit)
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(b); sum != "" && !strings.EqualFold(hex.EncodeToString(got[:]), sum) {
		return nil, fmt.Errorf("%s: %w", name, &report.Error{Code: report.CodeTrustDigest, Expected: strings.ToLower(sum), Actual: hex.EncodeToString(got[:])})
	}
	return b, nil
}

// policyAndTrust reads the trust files that were given.
func (inv *invocation) policyAndTrust() (p *trust.Policy, e *trust.Engines, err error) {
	if inv.policy != "" {
		b, err := inv.pinned(inv.policy, inv.policySum, trust.MaxPolicy)
		if err != nil {
			return nil, nil, err
		}
		if p, err = trust.ParsePolicy(b); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", inv.policy, err)
		}
	}
	if inv.trust != "" {
		b, err := inv.pinned(inv.trust, inv.trustSum, trust.MaxEngines)
		if err != nil {
			return nil, nil, err
		}
		if e, err = trust.ParseEngines(b); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", inv.trust, err)
		}
	}
	return p, e, nil
}

// print writes a report and returns its exit status.
func (inv *invocation) print(r *report.Report) (int, error) {
	out := []byte(r.Text())
	switch {
	case inv.json:
		out = r.JSON()
	case terminal(inv.stdout):
		out = []byte(coloured(r.Text()))
	}
	if _, err := inv.stdout.Write(out); err != nil {
		return 0, fmt.Errorf("cannot write the report: %w", err)
	}
	return r.ExitCode(), nil
}
