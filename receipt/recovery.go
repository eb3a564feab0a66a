package receipt

// Recovery says what whoever was refused can do about it, in words of the
// closed vocabulary that the run pins (spec/vocabulary.md).
type Recovery struct {
	Class RecoveryClass
	Code  Code
	Hint  Code
}

// RecoveryClass is what kind of step leads on.
type RecoveryClass string

// The closed list of recovery classes.
const (
	RecoveryRetry   RecoveryClass = "retry"   // the same request, later
	RecoveryRefresh RecoveryClass = "refresh" // read the state anew and ask again
	RecoveryRevise  RecoveryClass = "revise"  // another request
	RecoveryAwait   RecoveryClass = "await"   // a person answers
	RecoveryStop    RecoveryClass = "stop"    // nothing; do not ask again
)

// IsZero reports whether the recovery is absent.
func (r Recovery) IsZero() bool { return r == Recovery{} }
