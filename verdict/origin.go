package verdict

// Stage is one of the three words an origin is made of
// (spec/verdict.md#origin). The zero Stage is unknown, so that nothing can
// claim more than was said. Every other value than the three behaves as
// unknown does and cannot be made through [ParseStage].
type Stage uint8

// The stages, in the order in which [Combine] prefers them.
const (
	Unknown Stage = iota // nobody established how this came about
	Replay               // a deterministic replay gives the same again
	LLM                  // a language model produced it; a replay may differ
)

const stages = 3

// String returns the word that stands in a receipt.
func (s Stage) String() string {
	switch s {
	case Replay:
		return "deterministic_replay"
	case LLM:
		return "llm_originated"
	}
	return "unknown"
}

// ParseStage returns the stage with the given word; it fails with [CodeOrigin].
func ParseStage(word string) (Stage, error) {
	for s := Unknown; s < stages; s++ {
		if word == s.String() {
			return s, nil
		}
	}
	return Unknown, &Error{Code: CodeOrigin, Where: "origin", Expected: "deterministic_replay, llm_originated or unknown", Actual: quote(word)}
}

// Origin says where replay determinism stops (spec/verdict.md#origin). It has
// exactly twelve inhabitants: three whole ones, which say one word about the
// effect undivided, and nine mixed ones, which say one word about the intent
// (deciding what to do) and one about the rendering (producing the exact bytes
// to be fired).
//
// mixed{x, x} is not x. The first says that two stages were looked at, each by
// itself, and both were found to be x; the second says x of an effect that
// nobody took apart. Folding one into the other would invent an observation or
// lose one, and would give two receipts of different content one identity.
//
// The zero Origin is unknown. Origins are comparable with ==.
type Origin struct{ intent, rendering, mixed uint8 }

// Whole returns the origin that says s of the effect undivided.
func Whole(s Stage) Origin { s = known(s); return Origin{uint8(s), uint8(s), 0} }

// Mixed returns the origin that speaks of intent and rendering apart.
func Mixed(intent, rendering Stage) Origin {
	return Origin{uint8(known(intent)), uint8(known(rendering)), 1}
}

func known(s Stage) Stage {
	if s >= stages {
		return Unknown
	}
	return s
}

// Origins returns the twelve inhabitants in the order in which spec/ prints
// them. The caller owns the slice.
func Origins() []Origin {
	var all []Origin
	for s := range Stage(stages) {
		all = append(all, Whole(s))
	}
	for i := range Stage(stages) {
		for r := range Stage(stages) {
			all = append(all, Mixed(i, r))
		}
	}
	return all
}

// IsMixed reports whether o speaks of intent and rendering apart.
func (o Origin) IsMixed() bool { return o.mixed == 1 }

// Intent returns the word about the intent; of a whole origin, its one word.
func (o Origin) Intent() Stage { return Stage(o.intent) }

// Rendering returns the word about the rendering; of a whole origin, its one
// word.
func (o Origin) Rendering() Stage { return Stage(o.rendering) }

// String renders o as spec/ prints it: "llm_originated" or
// "mixed{llm_originated, deterministic_replay}".
func (o Origin) String() string {
	if o.IsMixed() {
		return "mixed{" + o.Intent().String() + ", " + o.Rendering().String() + "}"
	}
	return o.Intent().String()
}

// Combine joins what two parties established about one and the same effect
// (spec/verdict.md#combine prints all 144 cells). It goes stage by stage; a
// whole origin speaks of both stages. Of two words the later of unknown,
// deterministic_replay, llm_originated stays:
//
//   - unknown is the absence of a finding, so it never displaces one. Combining
//     therefore never mints unknown over a stage that was established.
//   - Of two findings the one with less determinism stays: once anybody saw a
//     model at work, a replay cannot be promised.
//
// The result is mixed when either operand is: a distinction once made is kept.
// Combine is a join of three total orders, hence associative, commutative and
// idempotent, with [Whole]([Unknown]) as its neutral element. It joins
// accounts of one effect; it is not for adding up different effects.
func Combine(a, b Origin) Origin {
	return Origin{max(a.intent, b.intent), max(a.rendering, b.rendering), max(a.mixed, b.mixed)}
}
