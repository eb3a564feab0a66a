package verdict

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestMeet(t *testing.T) {
	admit := func(by ...string) Evaluation { return Evaluated(must(Admit(by...)), nil) }
	deny := func(why ...string) Evaluation { return Evaluated(must(Deny(why...)), nil) }
	escalate := func(why ...string) Evaluation { return Evaluated(must(Escalate(why...)), nil) }
	fault := func(why ...string) Evaluation { return Evaluated(Verdict{}, must(NewFault(why...))) }
	tests := []struct {
		name string
		in   []Evaluation
		want string
	}{
		{"nothing", nil, "no verdict: EVALUATION-NONE"},
		{"only neutral", []Evaluation{{}, {}}, "no verdict: EVALUATION-NONE"},
		{"no verdict and no error", []Evaluation{Evaluated(Verdict{}, nil)}, "no verdict: EVALUATION-NONE"},
		{"neutral", []Evaluation{{}, admit("a"), {}}, "admit [a]"},
		{"rules unite", []Evaluation{admit("b", "a"), admit("c", "a")}, "admit [a b c]"},
		{"reasons unite", []Evaluation{deny("B"), deny("A"), deny("B")}, "deny [A B]"},
		{"escalations unite", []Evaluation{escalate("B"), escalate("A")}, "escalate [A B]"},
		{"escalate absorbs admit", []Evaluation{admit("a"), escalate("E"), admit("b")}, "escalate [E]"},
		{"deny absorbs escalate", []Evaluation{escalate("E"), deny("D"), admit("b")}, "deny [D]"},
		{"deny with an error", []Evaluation{fault("F"), deny("D"), fault("G")}, "deny [D]"},
		{"admit with an error", []Evaluation{admit("a"), fault("F")}, "no verdict: F"},
		{"escalate with an error", []Evaluation{escalate("E"), fault("F")}, "no verdict: F"},
		{"errors unite", []Evaluation{fault("G"), fault("F"), fault("G", "A")}, "no verdict: A, F, G"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Meet(tt.in...).String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEvaluatedFindsTheFault(t *testing.T) {
	f := must(NewFault("RULES-UNREADABLE"))
	tests := []struct {
		err  error
		want string
	}{
		{f, "no verdict: RULES-UNREADABLE"},
		{fmt.Errorf("reading: %w", f), "no verdict: RULES-UNREADABLE"},
		{errors.New("disc on fire at 12:04"), "no verdict: EVALUATION-FAILED"},
		{Fault{}, "no verdict: EVALUATION-FAILED"},
	}
	for _, tt := range tests {
		v, err := Evaluated(must(Admit("a")), tt.err).Result()
		if err == nil || err.Error() != tt.want || !v.IsZero() {
			t.Errorf("%v: got %v, %v", tt.err, v, err)
		}
		var back Fault
		if !errors.As(err, &back) {
			t.Errorf("%v: the result is no Fault", tt.err)
		}
	}
}

// drawEvaluation draws from every arm, faults and nothing, over alphabets small
// enough that sets overlap.
func drawEvaluation(t *rapid.T) Evaluation {
	codes := rapid.SliceOfN(rapid.SampledFrom([]string{"A", "B", "C-1", "D"}), 1, 4)
	switch rapid.IntRange(0, 4).Draw(t, "arm") {
	case 0:
		return Evaluation{}
	case 1:
		return Evaluated(must(Admit(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c/1"}), 1, 3).Draw(t, "by")...)), nil)
	case 2:
		return Evaluated(must(Escalate(codes.Draw(t, "reasons")...)), nil)
	case 3:
		return Evaluated(must(Deny(codes.Draw(t, "reasons")...)), nil)
	}
	return Evaluated(Verdict{}, must(NewFault(codes.Draw(t, "codes")...)))
}

func TestMeetLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawEvaluation(t), drawEvaluation(t), drawEvaluation(t)
		hold := func(law string, x, y Evaluation) {
			if !x.Equal(y) {
				t.Fatalf("%s: %v is not %v (a=%v b=%v c=%v)", law, x, y, a, b, c)
			}
		}
		hold("associative", Meet(Meet(a, b), c), Meet(a, Meet(b, c)))
		hold("variadic", Meet(a, b, c), Meet(Meet(a, b), c))
		hold("commutative", Meet(a, b), Meet(b, a))
		hold("idempotent", Meet(a, a), a)
		hold("neutral", Meet(a, Evaluation{}), a)
		// What left as a verdict and an error comes back as the same evaluation.
		if a.level != levelNone {
			hold("round trip", Evaluated(a.Result()), a)
		}
	})
}

// TestMeetMeaning holds Meet against the sentences of the specification, not
// against its own algebra.
func TestMeetMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(drawEvaluation), 1, 6).Draw(t, "evaluations")
		var denied, failed, escalated, spoke bool
		for _, e := range all {
			v, err := e.Result()
			denied = denied || v.Arm() == ArmDeny
			escalated = escalated || v.Arm() == ArmEscalate
			failed = failed || err != nil && e.level != levelNone
			spoke = spoke || e.level != levelNone
		}
		v, err := Meet(all...).Result()
		switch {
		case denied:
			if v.Arm() != ArmDeny || err != nil {
				t.Fatalf("a denial was lost: %v, %v", v, err)
			}
		case failed || !spoke:
			if err == nil {
				t.Fatalf("a fault became %v", v)
			}
		case escalated:
			if v.Arm() != ArmEscalate || err != nil {
				t.Fatalf("an escalation was lost: %v, %v", v, err)
			}
		default:
			if v.Arm() != ArmAdmit || err != nil {
				t.Fatalf("admitted by all became %v, %v", v, err)
			}
		}
		want := map[string]bool{}
		for _, e := range all {
			w, werr := e.Result()
			if werr == nil && err == nil && w.Arm() == v.Arm() {
				for _, s := range append(w.By(), w.Reasons()...) {
					want[s] = true
				}
			}
		}
		got := append(v.By(), v.Reasons()...)
		if len(got) != len(want) {
			t.Fatalf("sets did not unite: got %v, want %v", got, want)
		}
		for i, s := range got {
			if !want[s] || i > 0 && got[i-1] >= s {
				t.Fatalf("set is %v, want %v ascending", got, want)
			}
		}
	})
}

func BenchmarkMeet(b *testing.B) {
	all := []Evaluation{
		Evaluated(must(Admit("rules/a", "rules/b")), nil),
		Evaluated(must(Admit("rules/c")), nil),
		Evaluated(must(Escalate("NEEDS-HUMAN")), nil),
	}
	b.ReportAllocs()
	for b.Loop() {
		Meet(all...)
	}
}
