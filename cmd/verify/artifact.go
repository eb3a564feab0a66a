package main

import (
	"bytes"
	"errors"
	"strings"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/report"
)

func runReceipt(inv *invocation) (int, error) { return inv.artifact(bundle.CheckEnvelope) }

func runBundle(inv *invocation) (int, error) { return inv.artifact(bundle.Check) }

// requirable are the checks that --require may name.
func requirable(command string) []string {
	switch command {
	case "receipt":
		return bundle.RequiredOfEnvelope()
	case "log", "run":
		return requirableOfLog()
	}
	return bundle.Requirable()
}

// artifact checks one file under the flags.
func (inv *invocation) artifact(check func([]byte, bundle.Options) *report.Report) (int, error) {
	p, e, err := inv.policyAndTrust()
	if err != nil {
		return 0, err
	}
	o := bundle.Options{Policy: p, Engines: e, Require: inv.require}
	for _, x := range inv.expect {
		key, value, _ := strings.Cut(x, "=")
		o.Expect = append(o.Expect, bundle.Expectation{Key: key, Value: value})
	}
	var chainErr error
	if inv.registry != "" {
		b, err := inv.read(inv.registry, bundle.MaxBundle)
		if err != nil {
			return 0, err
		}
		o.Registry, chainErr = chainOf(b)
	}
	data, err := inv.read(inv.operand, bundle.MaxBundle)
	if err != nil {
		return 0, err
	}
	r := check(data, o)
	if chainErr != nil {
		r.Add(ofChain(chainErr))
	}
	return inv.print(r)
}

// chainOf takes the registry chain of a chain file or of a bundle.
func chainOf(b []byte) (*bundle.Chain, error) {
	c, err := bundle.ParseChain(b)
	if err == nil || report.CodeOf(err) != report.CodeProofBundleMediaType {
		return c, err
	}
	d, bundleErr := bundle.Parse(b)
	if bundleErr != nil {
		return nil, bundleErr
	}
	if d.Registry == nil {
		return nil, &report.Error{Code: report.CodeRegistryNotGiven, Expected: "a registry chain, or a bundle that has one", Actual: "a bundle without"}
	}
	return &bundle.Chain{Leaves: d.Registry, Checkpoint: bytes.Clone(d.Proof.Checkpoint)}, nil
}

// ofChain is the check of a registry file that could not be read. Its content
// is an artifact's and so never a matter of usage.
func ofChain(err error) report.Check {
	c := report.Check{Name: "registry file", Answer: report.Refuted, Code: report.CodeOf(err), Actual: err.Error(), Required: true}
	var e *report.Error
	if errors.As(err, &e) {
		c.Expected, c.Actual = e.Expected, e.Actual
	}
	switch c.Code {
	case report.CodeInputEmpty, report.CodeVersionUnknown, report.CodeRegistryNotGiven:
		c.Answer = report.NotChecked
	}
	return c
}

func runInspect(inv *invocation) (int, error) {
	data, err := inv.read(inv.operand, bundle.MaxBundle)
	if err != nil {
		return 0, err
	}
	return inv.print(bundle.Inspect(data))
}
