package report

import (
	"errors"
	"fmt"
)

// Error is bad input, named: every parser and check of this module that
// refuses something returns one, so that the code a server answers, a report
// prints and a corpus fixes is the same code everywhere.
type Error struct {
	Code     Code   // stable, from the closed list in codes.go
	Where    string // path, byte offset or line; empty where the whole input is meant
	Expected string // what would have been accepted
	Actual   string // what came
	Fix      string // what to do about it; empty where Expected says it
}

// Error renders "CODE at WHERE: expected X, got Y; FIX".
func (e *Error) Error() string {
	s := string(e.Code)
	if e.Where != "" {
		s += " at " + e.Where
	}
	if e.Expected != "" || e.Actual != "" {
		s += fmt.Sprintf(": expected %s, got %s", e.Expected, e.Actual)
	}
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

// CodeOf returns the code of the first *Error in err's tree, or CodeInternal
// where there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
