package verdict

import (
	"errors"
	"slices"
	"strings"
)

// Codes of faults that this package itself finds.
const (
	FaultNone   = "EVALUATION-NONE"   // nothing was evaluated, so nothing was admitted
	FaultFailed = "EVALUATION-FAILED" // an evaluation failed with an error that has no code of its own
)

// Fault is the error of evaluations that could not be performed: the set of
// codes that say why (spec/verdict.md#faults). It is not a verdict. The set is
// never empty, strictly ascending bytewise and cannot be changed; the zero
// Fault is none.
type Fault struct{ codes []string }

// NewFault returns the fault with the given codes, in any order. It fails as
// [Deny] does.
func NewFault(codes ...string) (Fault, error) {
	if len(codes) == 0 {
		return Fault{}, &Error{Code: CodeEmpty, Where: "fault", Expected: "at least one member", Actual: "none"}
	}
	for _, s := range codes {
		if !ValidCode(s) {
			return Fault{}, &Error{Code: CodeReason, Where: "fault", Expected: codeForm, Actual: quote(s)}
		}
	}
	return Fault{sorted(codes)}, nil
}

// Codes returns the codes, strictly ascending. The caller owns the slice.
func (f Fault) Codes() []string { return slices.Clone(f.codes) }

// Error renders "no verdict: A, B".
func (f Fault) Error() string { return "no verdict: " + strings.Join(f.codes, ", ") }

// Evaluation is how one system's judging ended: in a [Verdict] or in a
// [Fault]. The zero Evaluation is nothing evaluated: the neutral element of
// [Meet], and a fault when it is asked for its result.
type Evaluation struct {
	level level
	set   []string // strictly ascending; never handed out
}

// level orders the outcomes of an evaluation. Meet keeps the highest level
// that spoke and unites the sets on it, which is why it is associative,
// commutative and idempotent: it is the join of a total order, refined on each
// level by set union.
//
// A fault stands between escalate and deny. Above escalate, because what was
// not evaluated might have denied, and a human must not be asked to approve a
// request that nobody finished judging. Below deny, because a denial is sound
// whatever the missing evaluation would have said; and its reasons must be the
// same whether or not another system happened to be down.
type level uint8

const (
	levelNone level = iota
	levelAdmit
	levelEscalate
	levelFault
	levelDeny
)

// Evaluated wraps what an evaluator returned. A non-nil err wins over v: its
// codes are those of the [Fault] in its chain, or [FaultFailed] where there is
// none (the text of an error is for the evaluator's own log; it would make the
// result depend on who failed how). The zero Verdict without an error says
// nothing: it is what an evaluator returns that is not concerned, and by itself
// it admits nothing.
func Evaluated(v Verdict, err error) Evaluation {
	if err != nil {
		var f Fault
		if errors.As(err, &f) && len(f.codes) > 0 {
			return Evaluation{levelFault, f.codes}
		}
		return Evaluation{levelFault, []string{FaultFailed}}
	}
	switch v.arm {
	case ArmAdmit:
		return Evaluation{levelAdmit, v.set}
	case ArmEscalate:
		return Evaluation{levelEscalate, v.set}
	case ArmDeny:
		return Evaluation{levelDeny, v.set}
	}
	return Evaluation{}
}

// Meet is what all evaluations of one request say together
// (spec/verdict.md#meet). Deny absorbs everything, a fault everything but a
// denial, escalate absorbs admit; sets of what was not absorbed unite. It is
// associative, commutative and idempotent, so the result is the same whichever
// system spoke first. Meet of nothing is the zero Evaluation.
func Meet(evaluations ...Evaluation) Evaluation {
	var out Evaluation
	for _, e := range evaluations {
		switch {
		case e.level > out.level:
			out = e
		case e.level == out.level:
			out.set = union(out.set, e.set)
		}
	}
	return out
}

// union returns a set of its own unless one holds the other.
func union(a, b []string) []string {
	if len(a) == 0 || slices.Equal(a, b) {
		return b
	}
	return sorted(slices.Concat(a, b))
}

// Result returns the verdict, or the [Fault] as an error where there is none.
func (e Evaluation) Result() (Verdict, error) {
	switch e.level {
	case levelAdmit:
		return Verdict{ArmAdmit, e.set}, nil
	case levelEscalate:
		return Verdict{ArmEscalate, e.set}, nil
	case levelDeny:
		return Verdict{ArmDeny, e.set}, nil
	case levelFault:
		return Verdict{}, Fault{e.set}
	}
	return Verdict{}, Fault{[]string{FaultNone}}
}

// Equal reports whether e and f ended the same way over the same set.
func (e Evaluation) Equal(f Evaluation) bool {
	return e.level == f.level && slices.Equal(e.set, f.set)
}

// String renders e for a person.
func (e Evaluation) String() string {
	v, err := e.Result()
	if err != nil {
		return err.Error()
	}
	return v.String()
}
