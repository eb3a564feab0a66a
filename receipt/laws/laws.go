package laws

import (
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// Law is one of the eight.
type Law uint8

// The laws (spec/laws.md).
const (
	JudgedFirst      Law = 1
	AdmittedFirst    Law = 2
	JudgedIsExecuted Law = 3
	SettledOnce      Law = 4
	NothingMissing   Law = 5
	NothingHanging   Law = 6
	UndoneSoundly    Law = 7
	ClosedVocabulary Law = 8
)

const lawCount = 8

// All returns the laws in order.
func All() []Law {
	return []Law{JudgedFirst, AdmittedFirst, JudgedIsExecuted, SettledOnce, NothingMissing, NothingHanging, UndoneSoundly, ClosedVocabulary}
}

// String returns the law's name.
func (l Law) String() string {
	switch l {
	case JudgedFirst:
		return "judged first"
	case AdmittedFirst:
		return "admitted first"
	case JudgedIsExecuted:
		return "judged = executed"
	case SettledOnce:
		return "settled once"
	case NothingMissing:
		return "nothing missing"
	case NothingHanging:
		return "nothing hanging"
	case UndoneSoundly:
		return "undone soundly"
	case ClosedVocabulary:
		return "closed vocabulary"
	}
	return "no law"
}

// Answer is how a law ended. The zero Answer is NotChecked.
type Answer uint8

// The three answers.
const (
	NotChecked Answer = iota
	Held
	Violated
)

// String returns the answer's word.
func (a Answer) String() string {
	switch a {
	case Held:
		return "held"
	case Violated:
		return "violated"
	}
	return "not checked"
}

// Run names a run: (principal, run, seq) is one place.
type Run struct {
	Principal string // name under which the registry lists the signer
	Name      receipt.Name
}

// Entry is one leaf that carries a statement. Its signature was verified by
// whoever passes it.
type Entry struct {
	Index uint64 // of the leaf
	// Decoded is the statement; nil where its version is not known, and then
	// Frame is what is left of it.
	Decoded *receipt.Decoded
	Frame   receipt.Frame
	// Principal is who the registry says the signer is, at most 255 bytes; empty
	// where it does not say.
	Principal string
	Role      receipt.Role // of the signer's key
	// Key is the caller's number for that key; Options.Disowned is asked with it.
	Key uint32
}

// Cosigned is one verified cosignature: at Time the tree had Size leaves.
type Cosigned struct {
	Size uint64
	Time int64 // Unix ms
}

// Options is what the laws are held against.
type Options struct {
	// Origin is the log's; empty leaves unasked whether runs list it.
	Origin receipt.Name
	// Now is the time in Unix ms. 0 takes the latest of Cosigned, and without
	// any, expiry is not checked.
	Now int64
	// Cosigned are verified cosignatures on checkpoints of this log, in any
	// order.
	Cosigned []Cosigned
	// Vocabularies are those that are known, at most MaxVocabularies.
	Vocabularies []*receipt.Vocabulary
	// Disowned reports whether the registry disowns the leaf that a key signed at
	// index; nil: it disowns none. Only Finish asks, since a revocation disowns
	// leaves that stand before it.
	Disowned func(key uint32, index uint64) bool
	// Only holds one run to the laws and no other; nil holds all.
	Only *Run
	// MaxState bounds the memory for records, in bytes; 0 is DefaultMaxState.
	// Beyond it records go to a Sorter of NewSorter's, and where that is nil no
	// law is checked (STATE-LIMIT).
	MaxState  int64
	NewSorter func() (Sorter, error)
	// MaxFindings bounds the findings that are returned for each code; 0 is
	// DefaultMaxFindings. All are counted.
	MaxFindings int
}

// MaxVocabularies is how many may be known at once.
const MaxVocabularies = 64

// Defaults of Options.
const (
	DefaultMaxState    = 1 << 30
	DefaultMaxFindings = 100
)

// Finding is one reason why a law is not held.
type Finding struct {
	Law    Law
	Answer Answer // Violated or NotChecked
	Code   report.Code
	Run    Run // of whoever is responsible; Name is empty for an approver's own
	// Evidence is the indexes of the leaves that show it, the one at fault
	// first: at least one unless Code is LAW-NOTHING or STATE-LIMIT.
	Evidence []uint64
	// Disowned: a leaf of the evidence is disowned, so that the violation is
	// listed and the law is not checked.
	Disowned bool
	// Gravest is the gravest class seen in the run; only for holes and forks,
	// and empty where no judgment was seen.
	Gravest receipt.Class
	Detail  string // such as "seq 3 to 5"; may be empty
}

// Result is how one law ended over all runs.
type Result struct {
	Law        Law
	Answer     Answer
	Violated   uint64 // findings that violate it
	NotChecked uint64 // findings that leave it not checked
}

// Report is what Finish returns.
type Report struct {
	Size       uint64 // one more than the last index
	Statements uint64 // entries taken
	Runs       uint64 // runs held to the laws
	Results    [lawCount]Result
	// Findings is in the order of evidence; forks first, since nothing is graver.
	Findings []Finding
	// Outcomes counts outcomes that answer a statement of their run; Seen counts
	// those whose call has seen a checkpoint that holds it already: there the
	// judgment was logged before the outcome was signed.
	Outcomes, Seen uint64
	// Late counts decisions behind the first on their judgment: they change
	// nothing.
	Late uint64
}

// Answer is the worst of the eight: violated, then not checked, then held.
func (r *Report) Answer() Answer {
	worst := Held
	for _, res := range r.Results {
		if res.Answer == Violated {
			return Violated
		}
		if res.Answer == NotChecked {
			worst = NotChecked
		}
	}
	return worst
}

// Of returns how one law ended.
func (r *Report) Of(l Law) Result { return r.Results[l-1] }
