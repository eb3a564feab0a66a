package bundle

import (
	"bytes"

	"github.com/obstat/obstat/report"
)

// ParseRegistryFile takes the registry chain of a chain file or of a bundle: a
// caller names either (spec/bundle.md#chain).
func ParseRegistryFile(b []byte) (*Chain, error) {
	c, err := ParseChain(b)
	if err == nil || report.CodeOf(err) != report.CodeProofBundleMediaType {
		return c, err
	}
	d, bundleErr := Parse(b)
	if bundleErr != nil {
		return nil, bundleErr
	}
	if d.Registry == nil {
		return nil, &report.Error{Code: report.CodeRegistryNotGiven, Expected: "a registry chain, or a bundle that has one", Actual: "a bundle without"}
	}
	return &Chain{Leaves: d.Registry, Checkpoint: bytes.Clone(d.Proof.Checkpoint)}, nil
}

// RegistryFileCheck is the check of a registry file that ParseRegistryFile did
// not read. Its content is an artifact's and so never a matter of usage.
func RegistryFileCheck(err error) report.Check { return fileCheck("registry file", err) }

// SuccessionFileCheck is the same of a file that ParseSuccession did not read.
func SuccessionFileCheck(err error) report.Check { return fileCheck("succession file", err) }

func fileCheck(name string, err error) report.Check {
	c := refuted(err)
	c.Name, c.Required = name, true
	switch c.Code {
	case report.CodeInputEmpty, report.CodeVersionUnknown, report.CodeRegistryNotGiven:
		c.Answer = report.NotChecked
	}
	return c
}
