package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/proposal"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// keysSubmit puts the signatures of one or more copies of a proposal together
// and submits the statement.
func keysSubmit(ctx context.Context, args []string, stdout io.Writer) error {
	f := newFlags("keys submit")
	var files trustFiles
	var base, out string
	files.flags(f)
	once(f, "url", &base)
	once(f, "out", &out)
	names, err := operands(f, args, stdout)
	if err != nil {
		return err
	}
	switch {
	case len(names) == 0:
		return usagef("keys submit: at least one PROPOSAL is wanted")
	case base == "":
		return usagef("keys submit: --url is needed: the log")
	case files.trust == "":
		return usagef("keys submit: --trust is needed")
	}
	t, err := files.read()
	if err != nil {
		return err
	}
	o, err := merged(names, t)
	if err != nil {
		return err
	}
	if o.Before == nil {
		return usagef("keys submit: this is the genesis of a new log, which logd init --genesis makes of it")
	}
	if o.Beside() {
		return usagef("keys submit: the log is frozen and takes nothing: this names who goes on beside it, for logd succession --freeze")
	}
	env, err := o.Envelope()
	if err != nil {
		return err
	}
	leaf, err := env.Leaf()
	if err != nil {
		return err
	}
	chain, repeat, err := sendStatement(ctx, base, leaf)
	if err != nil {
		return err
	}
	// A log that answers success has promised; it is held to what it answers.
	r, err := proposal.Fold(chain, t)
	if err != nil {
		return fmt.Errorf("the registry that the log answers with: %w", err)
	}
	at, ok := r.Leaf(dagcbor.Sum(o.Payload))
	if !ok {
		return &report.Error{Code: report.CodeAnswerStatement, Where: base, Expected: "a registry that holds the statement", Actual: "one that does not"}
	}
	if out != "" {
		if err := replaceFile(out, append(chain.Append(nil), '\n')); err != nil {
			return err
		}
	}
	how := "It stands"
	if repeat {
		how = "It stood before"
	}
	return say(stdout, fmt.Sprintf("%s in the log: %s at leaf %d, statement %s.\n", how, r.What(at), at, dagcbor.Sum(o.Payload)))
}

// merged reads copies of one proposal and adds their signatures up.
func merged(names []string, t proposal.Trust) (*proposal.Opened, error) {
	o, err := readProposal(names[0], t)
	if err != nil {
		return nil, err
	}
	for _, name := range names[1:] {
		other, err := readProposal(name, t)
		if err != nil {
			return nil, err
		}
		if err := o.Merge(other.Proposal); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return o, nil
}

// keysExport writes the registry chain into a file.
func keysExport(ctx context.Context, args []string, stdout io.Writer) error {
	f := newFlags("keys export")
	var src source
	var out string
	src.flags(f)
	once(f, "out", &out)
	if _, err := operandsN(f, args, stdout); err != nil {
		return err
	}
	if out == "" {
		return usagef("keys export: --out is needed: the file for the chain")
	}
	if err := src.check("keys export"); err != nil {
		return err
	}
	chain, t, err := src.chain(ctx)
	if err != nil {
		return err
	}
	r, err := proposal.Fold(chain, t)
	if err != nil {
		return err
	}
	if err := replaceFile(out, append(chain.Append(nil), '\n')); err != nil {
		return err
	}
	return say(stdout, fmt.Sprintf("The registry of %s, version %d, proven in a tree of %d leaves, is in %s.\n", r.Log(), r.Version(), r.Head.Size, out))
}

// keysList prints every key that was ever listed.
func keysList(ctx context.Context, args []string, stdout io.Writer) error {
	f := newFlags("keys list")
	var src source
	var at leafFlag
	src.flags(f)
	f.Var(&at, "at", "")
	if _, err := operandsN(f, args, stdout); err != nil {
		return err
	}
	if err := src.check("keys list"); err != nil {
		return err
	}
	chain, t, err := src.chain(ctx)
	if err != nil {
		return err
	}
	r, err := proposal.Fold(chain, t)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(r.Text())
	for _, k := range r.Keys() {
		what := status(r.Registry, k)
		if at.given {
			what = statusAt(r.Registry, k, at.leaf)
		}
		fmt.Fprintf(&b, "%-9s %-20s key %s  %s\n", k.Role, k.Name, k.ID, what)
	}
	return say(stdout, b.String())
}

// status says what became of a key.
func status(r *trust.Registry, k trust.Key) string {
	s := fmt.Sprintf("listed by leaf %d", r.Leaves()[k.Added])
	if k.Retired > 0 {
		s += fmt.Sprintf(", retired by leaf %d", r.Leaves()[k.Retired])
	}
	if k.Revoked > 0 {
		s += fmt.Sprintf(", revoked by leaf %d", r.Leaves()[k.Revoked])
	}
	if from, ok := r.DisownedFrom(k.ID); ok {
		s += fmt.Sprintf(", disowned from leaf %d on", from)
	}
	return s
}

// statusAt says whether a key could sign a leaf.
func statusAt(r *trust.Registry, k trust.Key, leaf uint64) string {
	if _, ok := r.ListedAt(k.ID, leaf); !ok {
		return fmt.Sprintf("not listed at leaf %d", leaf)
	}
	if from, ok := r.DisownedFrom(k.ID); ok && from <= leaf {
		return fmt.Sprintf("listed at leaf %d, and disowned", leaf)
	}
	return fmt.Sprintf("listed at leaf %d", leaf)
}

// keysHistory prints what changed at which leaf.
func keysHistory(ctx context.Context, args []string, stdout io.Writer) error {
	f := newFlags("keys history")
	var src source
	src.flags(f)
	if _, err := operandsN(f, args, stdout); err != nil {
		return err
	}
	if err := src.check("keys history"); err != nil {
		return err
	}
	chain, t, err := src.chain(ctx)
	if err != nil {
		return err
	}
	r, err := proposal.Fold(chain, t)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(r.Text())
	for _, v := range r.Versions {
		fmt.Fprintf(&b, "leaf %d  %s, statement %s\n", v.Leaf, v.What, v.Statement)
		for _, line := range v.Changes {
			b.WriteString("  " + line + "\n")
		}
		for _, by := range v.Signers {
			k, _ := r.Key(by)
			fmt.Fprintf(&b, "  signed by %s, key %s\n", k.Name, by)
		}
	}
	return say(stdout, b.String())
}

// leafFlag is a leaf index.
type leafFlag struct {
	leaf  uint64
	given bool
}

func (l *leafFlag) String() string { return "" }

func (l *leafFlag) Set(s string) (err error) {
	l.given = true
	if l.leaf, err = strconv.ParseUint(s, 10, 53); err != nil || strconv.FormatUint(l.leaf, 10) != s {
		return errors.New("it is the index of a leaf")
	}
	return nil
}
