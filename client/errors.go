package client

import (
	"encoding/json"
	"fmt"
	"net/http"

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
	Statement receipt.CID
	Code      report.Code    // of the check that was not verified
	Err       error          // what was found
	Report    *report.Report // nil where the answer was no bundle for this statement
	Leaf      []byte         // canonical leaf that was sent
	Answer    []byte         // body as it came
	Prior     []byte         // where the log forked: the signed note that contradicts this answer's
}

func (e *ProofError) Error() string {
	return fmt.Sprintf("log's answer to %s proves nothing: %s: %v", e.Statement, e.Code, e.Err)
}

func (e *ProofError) Unwrap() error { return e.Err }

// UnansweredError says that no attempt was answered, so the statement may or
// may not be in the log. Sending it again settles that.
type UnansweredError struct {
	Statement receipt.CID
	Attempts  int
	Err       error // of the last attempt
}

func (e *UnansweredError) Error() string {
	return fmt.Sprintf("submit %s: no answer in %d attempts, so it may or may not be in the log: %v", e.Statement, e.Attempts, e.Err)
}

func (e *UnansweredError) Unwrap() error { return e.Err }

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
