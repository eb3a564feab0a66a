package receipt

// Fault says that no verdict was reached. It is not a verdict and is counted
// apart (spec/receipt.md#fault).
type Fault struct {
	Stage   Stage
	Code    Code
	Posture Posture
}

// Stage is where the evaluation broke.
type Stage string

// The closed list of stages.
const (
	StageIntake   Stage = "intake"   // the request could not be understood
	StagePreview  Stage = "preview"  // the preview could not be made
	StageEvaluate Stage = "evaluate" // a rule could not be evaluated
	StageEscalate Stage = "escalate" // the question could not be put to a person
	StageRecord   Stage = "record"   // the judgment could not be made durable
)

// Posture is FailClosed or FailOpen: what an engine does when it cannot judge.
type Posture interface {
	Word() string // "closed" or "open", as in the receipt
	isPosture()
}

// FailClosed lets nothing happen.
type FailClosed struct {
	Request *Request // nil where the fault came before there was one
}

// FailOpen lets the effect happen unjudged, and so says which.
type FailOpen struct {
	Request Request
}

const (
	wordClosed = "closed"
	wordOpen   = "open"
)

func (FailClosed) Word() string { return wordClosed }
func (FailOpen) Word() string   { return wordOpen }
func (FailClosed) isPosture()   {}
func (FailOpen) isPosture()     {}

// Request returns the request of a fault, and whether it has one.
func (t Fault) Request() (Request, bool) {
	switch p := t.Posture.(type) {
	case FailOpen:
		return p.Request, true
	case FailClosed:
		if p.Request != nil {
			return *p.Request, true
		}
	}
	return Request{}, false
}
