package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
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

// retryAfter is what a busy log asks a client to wait, in seconds.
const retryAfter = 1

// refuse answers err with the status of its code.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) {
		// The caller went away; there is nobody to answer, and an empty 200
		// must not reach a proxy in between.
		panic(http.ErrAbortHandler)
	}
	var e *report.Error
	if !errors.As(err, &e) {
		// The cause goes to the operator; it may name files of this machine.
		s.logger.Error("internal error", "method", r.Method, "path", r.URL.Path, "error", err)
		e = &report.Error{Code: report.CodeInternal}
	}
	if e.Code == report.CodeLogStopped {
		// The operator was told where and why; a stranger is told what it means.
		e = &report.Error{Code: e.Code, Fix: "what stands in the log can be read and asked for again; submit later"}
	}
	status := statusOf(e.Code)
	s.logger.Debug("refused", "method", r.Method, "path", r.URL.Path, "status", status, "code", e.Code, "where", e.Where)
	drain(w, r)
	body, err := json.Marshal(problem{
		Type: problemBase + string(e.Code), Title: report.Meaning[e.Code], Status: status,
		Code: e.Code, Where: e.Where, Expected: e.Expected, Actual: e.Actual, Fix: e.Fix,
	})
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
	if e.Code == report.CodeBusy {
		h.Set("Retry-After", strconv.Itoa(retryAfter))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone is its own loss
}

// maxDrain is how much of a refused body is still read, in bytes.
const maxDrain = 256 << 10

// drain reads the body of a request that is refused. A connection that is
// closed over unread bytes is reset, and then a client that is still sending
// never sees why.
func drain(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" {
		return // it asked before it sends, and the answer is no
	}
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxDrain)) // what fails to come needs no reading
}
