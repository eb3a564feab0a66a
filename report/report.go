// Package report holds the three answers every check ends in, the closed list
// of codes, and the error type that carries one.
package report

// Answer is one of three; "could not check" is never folded into the others.
type Answer uint8

const (
	NotChecked Answer = iota
	Verified
	Refuted
)

// Check is one named check and how it ended.
type Check struct {
	Name     string
	Answer   Answer
	Code     Code
	Expected string
	Actual   string
	Note     string
}

// Report is what a command answers about one artifact.
type Report struct {
	Command string
	Says    string
	Checks  []Check
}
