package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/obstat/obstat/report"
)

// ProblemType is the media type of every error body (RFC 9457).
const ProblemType = "application/problem+json"

// problemBase and a code make the type member of a problem.
const problemBase = "https://github.com/obstat/obstat/blob/main/spec/codes.md#"

// problem is the body of every answer that is not a success
// (spec/http.md#errors). Code is stable; the texts are for people.
type problem struct {
	Type     string      `json:"type"`
	Title    string      `json:"title"`
	Status   int         `json:"status"`
	Code     report.Code `json:"code"`
	Where    string      `json:"where,omitempty"`
	Expected string      `json:"expected,omitempty"`
	Actual   string      `json:"actual,omitempty"`
	Fix      string      `json:"fix,omitempty"`
}

// retryAfter is what a client is asked to wait, in seconds, where coming again
// may help: a queue is short, a restart takes a moment, a disk takes a person.
var retryAfter = map[report.Code]string{
	report.CodeBusy:       "1",
	report.CodeLogClosed:  "5",
	report.CodeLogIO:      "5",
	report.CodeLogStopped: "60",
}

// said is err as a client is told it.
func (s *Server) said(r *http.Request, err error) (e *report.Error, status int) {
	if !errors.As(err, &e) {
		e = &report.Error{Code: report.CodeInternal}
	}
	status = statusOf(e.Code)
	if status >= http.StatusInternalServerError && e.Code != report.CodeBusy {
		e = s.ownFault(r, e.Code, err)
	}
	return e, status
}

func problemOf(e *report.Error, status int) problem {
	return problem{
		Type: problemBase + string(e.Code), Title: report.Meaning[e.Code], Status: status,
		Code: e.Code, Where: e.Where, Expected: e.Expected, Actual: e.Actual, Fix: e.Fix,
	}
}

// refuse answers err with the status of its code.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) {
		// The caller went away; there is nobody to answer, and an empty 200
		// must not reach a proxy in between.
		panic(http.ErrAbortHandler)
	}
	e, status := s.said(r, err)
	s.logger.Debug("refused", "method", r.Method, "path", r.URL.Path, "status", status, "code", e.Code, "where", e.Where, "trace", traceOf(r))
	s.drain(w, r)
	body, err := json.Marshal(problemOf(e, status))
	if err != nil {
		s.logger.Error("internal error", "path", r.URL.Path, "error", err)
		panic(http.ErrAbortHandler)
	}
	body = append(body, '\n')
	h := w.Header()
	h.Set("Content-Type", ProblemType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	// A tile that is not there may be there in a moment.
	h.Set("Cache-Control", "no-store")
	if seconds, ok := retryAfter[e.Code]; ok {
		h.Set("Retry-After", seconds)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone is its own loss
}

// ownFault is what a client is told of a fault that is not its own: the code,
// and what to do. Where it happened and why names files of this machine, and
// goes to the operator.
func (s *Server) ownFault(r *http.Request, code report.Code, err error) *report.Error {
	switch code {
	case report.CodeLogStopped:
		// The operator was told why when it happened.
		return &report.Error{Code: code, Fix: "what stands in the log can be read and asked for again; submit later"}
	case report.CodeLogClosed:
		return &report.Error{Code: code, Fix: "the server is ending; submit the same envelope again later"}
	}
	s.logger.Error("a request failed", "method", r.Method, "path", r.URL.Path, "code", code, "error", err, "trace", traceOf(r))
	return &report.Error{Code: code, Fix: "tell the operator of the log; the server's own log says more"}
}
