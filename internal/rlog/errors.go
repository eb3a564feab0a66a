package rlog

import (
	"errors"
	"fmt"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/report"
)

// refusal is a *report.Error with the file system's error behind it, so that a
// caller can ask for a code and for syscall.ENOSPC alike.
type refusal struct {
	said  *report.Error
	cause error
}

func (e *refusal) Error() string        { return e.said.Error() }
func (e *refusal) Unwrap() error        { return e.said }
func (e *refusal) Is(target error) bool { return errors.Is(e.cause, target) }

// As finds what the refusal says before anything that its cause says: a stopped
// log is LOG-STOPPED, whichever code the failed operation had.
func (e *refusal) As(target any) bool {
	if said, ok := target.(**report.Error); ok {
		*said = e.said
		return true
	}
	return errors.As(e.cause, target)
}

// ioError is an operation on a file that failed while the log was read or made.
func ioError(op, name string, cause error) error {
	return &refusal{&report.Error{Code: report.CodeLogIO, Where: op + " " + name,
		Expected: "success", Actual: cause.Error()}, cause}
}

// stopped is the reason of a fail-stop.
func stopped(op, name string, cause error) error {
	return &refusal{&report.Error{Code: report.CodeLogStopped, Where: op + " " + name,
		Expected: "success", Actual: cause.Error(),
		Fix: "mend the cause and start the log again; nothing that was not answered is promised"}, cause}
}

// stoppedBy makes an error of the publisher the reason of a fail-stop.
func stoppedBy(err error) error {
	var e *report.Error
	if !errors.As(err, &e) {
		e = &report.Error{Code: report.CodeInternal, Actual: err.Error()}
	}
	said := *e
	said.Code = report.CodeLogStopped
	if said.Fix == "" {
		said.Fix = "mend the cause and start the log again; nothing that was not answered is promised"
	}
	return &refusal{&said, err}
}

func lockError(name string, cause error) error {
	var held *durable.LockedError
	if !errors.As(cause, &held) {
		return ioError("lock", name, cause)
	}
	return &refusal{&report.Error{Code: report.CodeLogLocked, Where: name, Expected: "no other writer",
		Actual: held.Error(), Fix: "stop the other process, or use its HTTP interface"}, cause}
}

func beyond(what string, asked, size uint64) error {
	return &report.Error{Code: report.CodeBeyondSize, Where: what, Expected: fmt.Sprintf("within tree size %d", size),
		Actual: fmt.Sprintf("%d", asked)}
}

func configError(where, expected, actual string) error {
	return &report.Error{Code: report.CodeLogConfig, Where: where, Expected: expected, Actual: actual}
}

// lost is a part of the log that must exist and does not.
func lost(where, expected, fix string) error {
	return &report.Error{Code: report.CodeLogLost, Where: where, Expected: expected, Actual: "none", Fix: fix}
}

func lostFile(name string) *report.Error {
	return &report.Error{Code: report.CodeLogLost, Where: name, Expected: "a file that the published checkpoint covers",
		Actual: "none", Fix: "restore it; `logd fsck` says what else is missing"}
}
