package main

import (
	"errors"
	"os"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/trust"
)

// runConsistency holds two checkpoints of one log against each other.
func runConsistency(inv *invocation) (int, error) {
	p, one, two, err := inv.twoHeads()
	if err != nil {
		return 0, err
	}
	r, err := audit.Consistency(one, two, p)
	if err != nil {
		return 0, err
	}
	return inv.print(r)
}

// runFork judges evidence that a log signed two histories: a file that says so,
// or two checkpoints.
func runFork(inv *invocation) (int, error) {
	if len(inv.operands) == 2 {
		p, one, two, err := inv.twoHeads()
		if err != nil {
			return 0, err
		}
		if inv.evidence {
			return inv.writeEvidence(one, two, p)
		}
		r, err := audit.ForkOf(one, two, p)
		if err != nil {
			return 0, err
		}
		return inv.print(r)
	}
	p, _, err := inv.policyAndTrust()
	if err != nil {
		return 0, err
	}
	data, err := inv.read(inv.operand, bundle.MaxBundle)
	if err != nil {
		return 0, err
	}
	return inv.print(audit.Fork(data, p))
}

// writeEvidence writes the evidence file to standard output.
func (inv *invocation) writeEvidence(one, two audit.Source, p *trust.Policy) (int, error) {
	f, err := audit.FindFork(one, two, p)
	if err != nil {
		return 0, err
	}
	if f == nil {
		return 0, errors.New("nothing is proven: without --evidence the answer says why")
	}
	_, err = inv.stdout.Write(append(f.Append(nil), '\n'))
	return 0, err
}

// twoHeads reads the policy and what the two operands name: files, standard
// input, or directories that are sites.
func (inv *invocation) twoHeads() (p *trust.Policy, one, two audit.Source, err error) {
	if p, _, err = inv.policyAndTrust(); err != nil {
		return
	}
	if one, err = inv.source(inv.operands[0]); err != nil {
		return
	}
	two, err = inv.source(inv.operands[1])
	return
}

func (inv *invocation) source(name string) (audit.Source, error) {
	if name != "-" {
		if st, err := os.Stat(name); err == nil && st.IsDir() {
			site, err := inv.openSite(name)
			return audit.Source{Site: site}, err
		}
	}
	data, err := inv.read(name, bundle.MaxBundle)
	return audit.Source{Data: data}, err
}
