package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// RefusedError says that the log answered and did not take the statement.
type RefusedError struct {
	Status int           // HTTP status
	Err    *report.Error // of the problem document; nil where the answer was none
}

func (e *RefusedError) Error() string {
	s := fmt.Sprintf("log answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the *report.Error, if any.
func (e *RefusedError) Unwrap() error {
	if e.Err == nil {
		return nil // and not a nil *report.Error in a non-nil error
	}
	return e.Err
}

// ProofError says that an answer does not prove that the statement stands in
// the log. It is evidence: Answer is what the log said, Leaf what it was asked.
type ProofError struct {
	Statement receipt.CID    // that was submitted; zero where promises were looked after
	Code      report.Code    // of the check that was not verified
	Err       error          // what was found
	Report    *report.Report // nil where the answer was no bundle for this statement
	Leaf      []byte         // canonical leaf that was sent
	Answer    []byte         // body as it came
	Prior     []byte         // where the log forked: the signed note that contradicts this answer's

	fork *bundle.Fork // what proves a fork, where it takes more than the two notes
}

func (e *ProofError) Error() string {
	what := "checkpoint"
	if e.Statement != (receipt.CID{}) {
		what = "answer to " + e.Statement.String()
	}
	return fmt.Sprintf("the log's %s proves nothing: %v", what, e.Err)
}

func (e *ProofError) Unwrap() error { return e.Err }

// Fork is the evidence that the log signed two histories, for `verify fork`; nil
// where nothing of that kind is proven.
func (e *ProofError) Fork() *bundle.Fork {
	if e.fork != nil || e.Prior == nil || e.Code != report.CodeLogForked {
		return e.fork
	}
	head, err := bundle.ParseHead(e.Answer)
	if err != nil {
		return nil
	}
	return &bundle.Fork{Checkpoints: [2][]byte{e.Prior, head.Checkpoint}} // of one size
}

// UnansweredError says that no attempt was answered, so the statement may or
// may not be in the log. Sending it again settles that.
type UnansweredError struct {
	Statement receipt.CID
	Attempts  int
	After     time.Duration // how long the log asks to be left alone; 0 where it did not say
	Err       error         // of the last attempt
}

func (e *UnansweredError) Error() string {
	return fmt.Sprintf("submit %s: no answer in %d attempts, so it may or may not be in the log: %v", e.Statement, e.Attempts, e.Err)
}

func (e *UnansweredError) Unwrap() error { return e.Err }

// UnwitnessedError says that the log holds the statement, and that the quorum of
// witnesses which the client waits for has not cosigned it in time. Asking again
// settles that.
type UnwitnessedError struct {
	Promise *Recorded // what the log has promised
}

func (e *UnwitnessedError) Error() string {
	return fmt.Sprintf("submit %s: leaf %d by the log's word, and not cosigned by a quorum of witnesses yet", e.Promise.Statement.CID, e.Promise.Index)
}

// Unwrap returns a *report.Error, QUORUM-UNMET.
func (e *UnwitnessedError) Unwrap() error {
	return &report.Error{Code: report.CodeQuorumUnmet, Expected: "a quorum of witnesses", Actual: "the log's word", Fix: "ask again, or rely on the promise"}
}

// FullError says that a statement was not kept, because too much waits for the
// log already. Nothing was said, and nothing is lost yet.
type FullError struct {
	Waiting, Limit int64 // bytes
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the spool is full: %d bytes wait for the log, and %d may", e.Waiting, e.Limit)
}

// Unwrap returns a *report.Error, SPOOL-FULL.
func (e *FullError) Unwrap() error {
	return &report.Error{
		Code: report.CodeSpoolFull, Expected: fmt.Sprintf("room for the statement in %d bytes", e.Limit), Actual: fmt.Sprintf("%d bytes wait", e.Waiting),
		Fix: "wait until the log has caught up, or allow more",
	}
}

// refused reads an RFC 9457 problem document, as far as there is one
// (spec/http.md#errors).
func refused(status int, body []byte) *RefusedError {
	var p struct {
		Code     string `json:"code"`
		Where    string `json:"where"`
		Expected string `json:"expected"`
		Actual   string `json:"actual"`
		Fix      string `json:"fix"`
	}
	if json.Unmarshal(body, &p) != nil || !verdict.ValidCode(p.Code) {
		return &RefusedError{Status: status}
	}
	return &RefusedError{status, &report.Error{
		Code: report.Code(p.Code), Where: p.Where, Expected: p.Expected, Actual: p.Actual, Fix: p.Fix,
	}}
}
