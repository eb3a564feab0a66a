package index

import (
	"errors"
	"fmt"

	"github.com/obstat/obstat/report"
)

// refusal is a *report.Error with its cause behind it, so that a caller can ask
// for a code and for syscall.ENOSPC alike.
type refusal struct {
	said  *report.Error
	cause error
}

func (e *refusal) Error() string   { return e.said.Error() }
func (e *refusal) Unwrap() []error { return []error{e.said, e.cause} }

// errMalformed is an entry of no form that this package writes.
var errMalformed = errors.New("an entry is malformed")

// ioError is an operation that the file system refused.
func ioError(op, name string, cause error) error {
	return &refusal{&report.Error{Code: report.CodeLogIO, Where: op + " " + name, Expected: "success", Actual: cause.Error()}, cause}
}

// damaged is a store that has to be made again.
func damaged(where string, cause error) error {
	return &refusal{&report.Error{Code: report.CodeLogDamaged, Where: where, Expected: "an index of this log that can be read",
		Actual: cause.Error(), Fix: "start the log again: the index is then made again from the leaves"}, cause}
}

func locked(dir string, cause error) error {
	if refused(cause) {
		return ioError("lock", dir, cause)
	}
	return &refusal{&report.Error{Code: report.CodeLogLocked, Where: dir, Expected: "an index that nobody else has open",
		Actual: cause.Error(), Fix: "stop the other process"}, cause}
}

func errClosed() error {
	return &report.Error{Code: report.CodeLogClosed, Where: "index", Expected: "an open index", Actual: "a closed one"}
}

func errReadOnly() error {
	return &report.Error{Code: report.CodeLogConfig, Where: "index", Expected: "an index open for writing", Actual: "one open for reading only"}
}

func errQuery(expected, actual string) error {
	return &report.Error{Code: report.CodeHTTPQuery, Where: "query", Expected: expected, Actual: actual}
}

func errOrder(leaves, first, size uint64) error {
	return &report.Error{Code: report.CodeInternal, Where: "index", Expected: fmt.Sprintf("leaves from %d up to %d", first, size),
		Actual: fmt.Sprintf("%d leaves", leaves)}
}
