package main

import (
	"strings"

	"github.com/obstat/obstat/audit"
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
	case "consistency":
		return audit.RequiredOfConsistency()
	case "fork":
		return audit.RequiredOfFork()
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
		o.Registry, chainErr = bundle.ParseRegistryFile(b)
	}
	data, err := inv.read(inv.operand, bundle.MaxBundle)
	if err != nil {
		return 0, err
	}
	r := check(data, o)
	if chainErr != nil {
		r.Add(bundle.RegistryFileCheck(chainErr))
	}
	return inv.print(r)
}

func runInspect(inv *invocation) (int, error) {
	data, err := inv.read(inv.operand, bundle.MaxBundle)
	if err != nil {
		return 0, err
	}
	return inv.print(bundle.Inspect(data))
}
