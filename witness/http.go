package witness

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/obstat/obstat/report"
)

// MaxRequest is the most bytes of an add-checkpoint request: a proof, a
// checkpoint, and 16 signatures of the largest kind.
const MaxRequest = 128 << 10

// SizeType is the media type of a conflict's answer.
const SizeType = "text/x.tlog.size"

const plainText = "text/plain; charset=utf-8"

// statuses are those of C2SP tlog-witness, and those of HTTP itself; a code that
// is not here is 400.
var statuses = map[report.Code]int{
	report.CodeWitnessLogUnknown:          http.StatusNotFound,
	report.CodeCheckpointUnsigned:         http.StatusForbidden,
	report.CodeCheckpointSignatureInvalid: http.StatusForbidden,
	report.CodeNoteMalformed:              http.StatusForbidden, // a known log's, in its signature lines
	report.CodeNoteDuplicate:              http.StatusForbidden,
	report.CodeWitnessConflict:            http.StatusConflict,
	report.CodeCheckpointEmptyRoot:        http.StatusUnprocessableEntity,
	report.CodeProofLength:                http.StatusUnprocessableEntity,
	report.CodeProofInvalid:               http.StatusUnprocessableEntity,
	report.CodeLogForked:                  http.StatusUnprocessableEntity,
	report.CodeHTTPSize:                   http.StatusRequestEntityTooLarge,
	report.CodeHTTPMethod:                 http.StatusMethodNotAllowed,
	report.CodeHTTPPath:                   http.StatusNotFound,
	report.CodeWitnessRate:                http.StatusTooManyRequests,
	report.CodeWitnessStopped:             http.StatusServiceUnavailable,
}

func statusOf(code report.Code) int {
	if s, ok := statuses[code]; ok {
		return s
	}
	return http.StatusBadRequest
}

// ServeHTTP answers POST /add-checkpoint, GET /<origin hash>/checkpoint and GET
// /healthz: submission prefix and monitoring prefix are one.
func (w *Witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/add-checkpoint" {
		if r.Method != http.MethodPost {
			w.refuse(rw, r, notAllowed(rw, r, http.MethodPost))
			return
		}
		w.serveAdd(rw, r)
		return
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	hash, monitoring := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), "/checkpoint")
	switch {
	case !monitoring && r.URL.Path != "/healthz":
		w.refuse(rw, r, &report.Error{Code: report.CodeHTTPPath, Expected: "/add-checkpoint or /<hex SHA-256 of an origin>/checkpoint", Actual: fmt.Sprintf("%q", r.URL.Path)})
	case !reads:
		w.refuse(rw, r, notAllowed(rw, r, http.MethodGet))
	case monitoring:
		w.serveCheckpoint(rw, r, hash)
	case w.Err() != nil:
		w.refuse(rw, r, w.Err())
	default:
		answer(rw, http.StatusOK, "application/json", []byte(`{"status":"ok"}`+"\n"))
	}
}

func notAllowed(rw http.ResponseWriter, r *http.Request, method string) error {
	rw.Header().Set("Allow", method)
	return &report.Error{Code: report.CodeHTTPMethod, Expected: method, Actual: fmt.Sprintf("%q", r.Method)}
}

func (w *Witness) serveAdd(rw http.ResponseWriter, r *http.Request) {
	from, now := addressOf(r.RemoteAddr), w.cfg.Now()
	if !w.clients.allowed(from, now) {
		w.refuse(rw, r, &report.Error{Code: report.CodeWitnessRate, Where: "address " + from.String(), Expected: "few requests that are refused", Actual: "many"})
		return
	}
	lines, err := w.receive(rw, r)
	if err == nil {
		w.counts.add("OK")
		answer(rw, http.StatusOK, plainText, lines)
		return
	}
	switch status := statusOf(report.CodeOf(err)); status {
	case http.StatusConflict, http.StatusServiceUnavailable, http.StatusTooManyRequests:
		// of a log that is known, or our own fault
	default:
		w.clients.refused(from, now)
	}
	w.refuse(rw, r, err)
}

func (w *Witness) receive(rw http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, MaxRequest))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, &report.Error{Code: report.CodeHTTPSize, Where: "body", Expected: fmt.Sprintf("at most %d bytes", MaxRequest), Actual: "more"}
	case err != nil:
		return nil, &report.Error{Code: report.CodeHTTPBody, Expected: "the whole body", Actual: fmt.Sprintf("%q", err.Error())}
	}
	return w.Add(body)
}

// serveCheckpoint is what monitors and anchors ask (C2SP tlog-witness, monitor
// retrieval).
func (w *Witness) serveCheckpoint(rw http.ResponseWriter, r *http.Request, hash string) {
	rw.Header().Set("Access-Control-Allow-Origin", "*")
	note := w.Checkpoint(hash)
	if note == nil {
		w.refuse(rw, r, &report.Error{Code: report.CodeWitnessLogUnknown, Expected: "the hash of an origin that was cosigned", Actual: fmt.Sprintf("%q", hash)})
		return
	}
	answer(rw, http.StatusOK, plainText, note)
}

// refuse answers an error: the size for a conflict, else its text, code first.
func (w *Witness) refuse(rw http.ResponseWriter, r *http.Request, err error) {
	code := report.CodeOf(err)
	w.counts.add(code)
	status := statusOf(code)
	w.cfg.Logger.Debug("refused", "method", r.Method, "path", r.URL.Path, "status", status, "error", err.Error())
	var c *ConflictError
	if errors.As(err, &c) {
		answer(rw, status, SizeType, strconv.AppendUint(nil, c.Size, 10), '\n')
		return
	}
	text := err.Error()
	if code == report.CodeWitnessStopped {
		rw.Header().Set("Retry-After", "60")
		text = string(code) + ": this witness does not cosign now" // why names its files
	}
	if code == report.CodeWitnessRate {
		rw.Header().Set("Retry-After", "1")
	}
	answer(rw, status, plainText, []byte(text), '\n')
}

func answer(rw http.ResponseWriter, status int, mediaType string, body []byte, end ...byte) {
	body = append(body[:len(body):len(body)], end...)
	h := rw.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	rw.WriteHeader(status)
	_, _ = rw.Write(body) // a client that is gone asks again
}
