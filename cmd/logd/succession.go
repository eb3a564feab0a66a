package main

import (
	"context"
	"fmt"
	"io"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/proposal"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// freeze proposes the end of a log.
func freeze(ctx context.Context, args []string, stdout io.Writer) error {
	f := newFlags("freeze")
	var src source
	var heir trustFiles
	var out string
	src.flags(f)
	once(f, "successor-trust", &heir.trust)
	once(f, "successor-policy", &heir.policy)
	once(f, "out", &out)
	if _, err := operandsN(f, args, stdout); err != nil {
		return err
	}
	switch {
	case out == "":
		return usagef("freeze: --out is needed: the file that goes from registrar to registrar")
	case (heir.trust == "") != (heir.policy == ""):
		return usagef("freeze: --successor-trust and --successor-policy go together: the files that logd init made for the log that goes on")
	}
	if err := src.check("freeze"); err != nil {
		return err
	}
	named, err := heirOf(heir)
	if err != nil {
		return err
	}
	chain, t, err := src.chain(ctx)
	if err != nil {
		return err
	}
	p, err := proposal.NewFreeze(chain, t, named)
	if err != nil {
		return err
	}
	return proposed(p, t, out, stdout)
}

// proposed writes a proposal and says what it would change.
func proposed(p *proposal.Proposal, t proposal.Trust, out string, stdout io.Writer) error {
	o, err := p.Open(t)
	if err != nil {
		return err
	}
	if err := createFile(out, p.Bytes()); err != nil {
		return err
	}
	return say(stdout, o.Text()+fmt.Sprintf("\nThe proposal is in %s. Next: logd keys sign, by each registrar.\n", out))
}

// heirOf reads which log goes on off its two trust files; nil where none are named.
func heirOf(files trustFiles) (*trust.Heir, error) {
	if files.trust == "" {
		return nil, nil
	}
	t, err := files.read()
	if err != nil {
		return nil, err
	}
	if t.Engines.PlainMode() {
		return nil, fmt.Errorf("%s: %w", files.trust, &report.Error{Code: report.CodeTrustMode, Expected: "a trust file that pins a genesis", Actual: "one that lists keys"})
	}
	heir := &trust.Heir{Log: t.Engines.Origin, Genesis: t.Engines.Genesis}
	keys := 0
	for _, k := range t.Policy.Keys(heir.Log) {
		if k.Name == heir.Log && k.Type == checkpoint.TypeEd25519 {
			heir.Key = trust.PublicKey(k.Public)
			keys++
		}
	}
	if keys != 1 {
		return nil, fmt.Errorf("%s: %w", files.policy, &report.Error{Code: report.CodeLogUnknown, Expected: "one log line of " + heir.Log, Actual: fmt.Sprint(keys)})
	}
	return heir, nil
}

// succeed proposes leaf 1 of a new log: which one it goes on from.
func succeed(ctx context.Context, args []string, stdout io.Writer) error {
	f := newFlags("succeed")
	var src source
	var of trustFiles
	var predecessor, out string
	src.flags(f)
	once(f, "predecessor", &predecessor)
	once(f, "predecessor-trust", &of.trust)
	once(f, "predecessor-policy", &of.policy)
	once(f, "out", &out)
	if _, err := operandsN(f, args, stdout); err != nil {
		return err
	}
	switch {
	case out == "":
		return usagef("succeed: --out is needed: the file that goes from registrar to registrar")
	case predecessor == "" || of.trust == "" || of.policy == "":
		return usagef("succeed: --predecessor, --predecessor-trust and --predecessor-policy are needed: the registry chain under the final tree, and whom to believe about it")
	}
	if err := src.check("succeed"); err != nil {
		return err
	}
	trusted, err := of.read()
	if err != nil {
		return err
	}
	was, err := readChain(predecessor)
	if err != nil {
		return err
	}
	chain, t, err := src.chain(ctx)
	if err != nil {
		return err
	}
	p, err := proposal.NewSuccessor(chain, t, was, trusted)
	if err != nil {
		return err
	}
	return proposed(p, t, out, stdout)
}

// succession writes the evidence that one log goes on as another, once it holds.
func succession(args []string, stdout io.Writer) error {
	f := newFlags("succession")
	var files trustFiles
	var predecessor, successor, out string
	var beside []string // copies of one proposal
	files.flags(f)
	once(f, "predecessor", &predecessor)
	once(f, "successor", &successor)
	f.Func("freeze", "", func(name string) error {
		beside = append(beside, name)
		return nil
	})
	once(f, "out", &out)
	if _, err := operandsN(f, args, stdout); err != nil {
		return err
	}
	switch {
	case out == "":
		return usagef("succession: --out is needed: the file for the evidence")
	case predecessor == "" || successor == "":
		return usagef("succession: --predecessor and --successor are needed: a registry chain of each log")
	case files.trust == "" || files.policy == "":
		return usagef("succession: --trust and --policy are needed, those of the predecessor: evidence is written once it holds")
	}
	t, err := files.read()
	if err != nil {
		return err
	}
	s := &bundle.Succession{}
	if s.Predecessor, err = readChain(predecessor); err != nil {
		return err
	}
	if s.Successor, err = readChain(successor); err != nil {
		return err
	}
	if len(beside) > 0 {
		o, err := merged(beside, t)
		if err != nil {
			return err
		}
		env, err := o.Envelope()
		if err != nil {
			return err
		}
		s.Freeze = env.JSON()
	}
	followed, c := s.Follow(t.Policy, t.Engines)
	if c.Answer != report.Verified {
		return &report.Error{Code: c.Code, Where: "the succession", Expected: c.Expected, Actual: c.Actual, Fix: c.Note}
	}
	b := append(s.Append(nil), '\n')
	// What nobody could read back would be no evidence.
	if _, err := bundle.ParseSuccession(b); err != nil {
		return err
	}
	if err := replaceFile(out, b); err != nil {
		return err
	}
	return say(stdout, fmt.Sprintf("%s was %s with %d leaves, and %s goes on. The evidence is in %s, for verify --succession.\n",
		followed.From.Log, followed.State, followed.From.Size, followed.Engines.Origin, out))
}
