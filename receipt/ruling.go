package receipt

import (
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// Ruling is the verdict of a judgment with what stands beside it: a refusal
// (deny or escalate) has a recovery, an admission has none
// (spec/receipt.md#verdict). Rule and Decode make one; the zero Ruling is none,
// and Encode refuses it.
type Ruling struct {
	verdict  verdict.Verdict
	recovery Recovery
}

// Rule joins v and r; r is the zero Recovery exactly if v admits. It fails with
// CodeSchemaRecovery, or CodeSchemaMissing where v is no verdict.
func Rule(v verdict.Verdict, r Recovery) (Ruling, error) {
	if v.IsZero() {
		return Ruling{}, refuse(report.CodeSchemaMissing, "admit, deny or escalate", "no verdict")
	}
	if err := checkRuling(v.Arm(), !r.IsZero()); err != nil {
		return Ruling{}, err
	}
	return Ruling{v, r}, nil
}

func checkRuling(arm verdict.Arm, recovery bool) *report.Error {
	switch {
	case arm == verdict.ArmAdmit && recovery:
		return refuse(report.CodeSchemaRecovery, "no recovery beside an admit", "one")
	case arm != verdict.ArmAdmit && !recovery:
		return refuse(report.CodeSchemaRecovery, "a recovery beside "+arm.String(), "none")
	}
	return nil
}

// Verdict returns the verdict.
func (r Ruling) Verdict() verdict.Verdict { return r.verdict }

// Recovery returns what stands beside a refusal, and whether this is one.
func (r Ruling) Recovery() (Recovery, bool) {
	return r.recovery, !r.verdict.IsZero() && r.verdict.Arm() != verdict.ArmAdmit
}

// Equal reports whether r and s say the same.
func (r Ruling) Equal(s Ruling) bool {
	return r.verdict.Equal(s.verdict) && r.recovery == s.recovery
}
