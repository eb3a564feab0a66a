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
	given, err := inv.evidenceFiles()
	if err != nil {
		return 0, err
	}
	o := bundle.Options{Policy: p, Engines: e, Require: inv.require, Registry: given.registry, Successions: given.successions}
	for _, x := range inv.expect {
		key, value, _ := strings.Cut(x, "=")
		o.Expect = append(o.Expect, bundle.Expectation{Key: key, Value: value})
	}
	data, err := inv.read(inv.operand, bundle.MaxBundle)
	if err != nil {
		return 0, err
	}
	r := check(data, o)
	given.addTo(r)
	return inv.print(r)
}

// evidence is what a caller has beside the trust files: of what a log says later,
// and of the log that goes on. A file that could not be read as one is a check.
type evidence struct {
	registry    *bundle.Chain
	successions []*bundle.Succession
	checks      []report.Check
}

// evidenceFiles reads the files of --registry and --succession.
func (inv *invocation) evidenceFiles() (ev evidence, err error) {
	if inv.registry != "" {
		b, err := inv.read(inv.registry, bundle.MaxBundle)
		if err != nil {
			return ev, err
		}
		if ev.registry, err = bundle.ParseRegistryFile(b); err != nil {
			ev.checks = append(ev.checks, bundle.RegistryFileCheck(err))
		}
	}
	for _, name := range inv.succession {
		b, err := inv.read(name, bundle.MaxBundle)
		if err != nil {
			return ev, err
		}
		s, err := bundle.ParseSuccession(b)
		if err != nil {
			ev.checks = append(ev.checks, bundle.SuccessionFileCheck(err))
			continue
		}
		ev.successions = append(ev.successions, s)
	}
	return ev, nil
}

func (ev evidence) addTo(r *report.Report) {
	for _, c := range ev.checks {
		r.Add(c)
	}
}

func runInspect(inv *invocation) (int, error) {
	data, err := inv.read(inv.operand, bundle.MaxBundle)
	if err != nil {
		return 0, err
	}
	return inv.print(bundle.Inspect(data))
}
