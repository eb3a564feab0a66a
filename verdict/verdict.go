// Package verdict is what a judgment can say and how several judgments of one
// request become one.
//
// A [Verdict] has three arms and no fourth: admit, deny, escalate. An
// evaluation that could not be performed is an error, a [Fault], never a
// verdict. [Meet] joins evaluations so that the order in which systems spoke
// never shows. [Origin] says where replay determinism stops.
//
// The package imports nothing of this module and stands at the bottom of the
// kernel: values in, values out, no state. All values are immutable and safe
// to share between goroutines.
//
// Specification: spec/verdict.md.
package verdict

import (
	"slices"
	"strings"
)

// Arm is one of the three things a verdict can be (spec/verdict.md#arms).
type Arm uint8

// The arms. The zero Arm belongs to the zero [Verdict], which is none.
const (
	ArmAdmit Arm = iota + 1
	ArmDeny
	ArmEscalate
)

// String returns the word that stands in a receipt: admit, deny or escalate.
func (a Arm) String() string {
	switch a {
	case ArmAdmit:
		return "admit"
	case ArmDeny:
		return "deny"
	case ArmEscalate:
		return "escalate"
	}
	return "none"
}

// Verdict is Admit(by), Deny(reasons) or Escalate(reasons)
// (spec/verdict.md#arms). Its set is never empty, strictly ascending bytewise
// and cannot be changed. The zero Verdict is no verdict; nothing in this
// package returns it without an error.
type Verdict struct {
	arm Arm
	set []string // strictly ascending; never handed out
}

// Admit returns the verdict that lets an effect pass, by the names of the rules
// that admitted it. Order and repetition of by do not matter. It fails with
// [CodeEmpty] where by is empty and [CodeName] where a name is malformed.
func Admit(by ...string) (Verdict, error) { return build(ArmAdmit, by) }

// Deny returns the verdict that stops an effect, with the codes that say why.
// Order and repetition of reasons do not matter. It fails with [CodeEmpty]
// where reasons is empty and [CodeReason] where a code is malformed.
func Deny(reasons ...string) (Verdict, error) { return build(ArmDeny, reasons) }

// Escalate returns the verdict that leaves an effect to an approver, with the
// codes that say why. It fails as [Deny] does.
func Escalate(reasons ...string) (Verdict, error) { return build(ArmEscalate, reasons) }

func build(arm Arm, in []string) (Verdict, error) {
	if len(in) == 0 {
		return Verdict{}, &Error{Code: CodeEmpty, Where: arm.String(), Expected: "at least one member", Actual: "none"}
	}
	for _, s := range in {
		if arm == ArmAdmit && !ValidName(s) {
			return Verdict{}, &Error{Code: CodeName, Where: arm.String(), Expected: nameForm, Actual: quote(s)}
		}
		if arm != ArmAdmit && !ValidCode(s) {
			return Verdict{}, &Error{Code: CodeReason, Where: arm.String(), Expected: codeForm, Actual: quote(s)}
		}
	}
	return Verdict{arm: arm, set: sorted(in)}, nil
}

// sorted returns a copy of in, strictly ascending bytewise.
func sorted(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

// Arm returns which of the three v is; 0 for the zero Verdict.
func (v Verdict) Arm() Arm { return v.arm }

// IsZero reports whether v is no verdict at all.
func (v Verdict) IsZero() bool { return v.arm == 0 }

// By returns the names of the rules that admitted, strictly ascending; nil
// unless v is an admit. The caller owns the slice.
func (v Verdict) By() []string {
	if v.arm != ArmAdmit {
		return nil
	}
	return slices.Clone(v.set)
}

// Reasons returns the codes of a deny or an escalate, strictly ascending; nil
// for an admit. The caller owns the slice.
func (v Verdict) Reasons() []string {
	if v.arm != ArmDeny && v.arm != ArmEscalate {
		return nil
	}
	return slices.Clone(v.set)
}

// Equal reports whether v and w are the same arm over the same set.
func (v Verdict) Equal(w Verdict) bool { return v.arm == w.arm && slices.Equal(v.set, w.set) }

// String renders v for a person, such as "deny [A B]".
func (v Verdict) String() string {
	if v.IsZero() {
		return "none"
	}
	return v.arm.String() + " [" + strings.Join(v.set, " ") + "]"
}
