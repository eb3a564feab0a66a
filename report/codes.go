package report

// Code names one refusal or one outcome of a check. Codes are
// [A-Z0-9]+(-[A-Z0-9]+)*, never renamed and never reused (spec/codes.md).
type Code string

// The closed list. One constant, one line of the table below.
const (
	CodeOK       Code = "OK"
	CodeInternal Code = "INTERNAL"
)

// Meaning is what a code says, in one sentence; a test holds that every code
// has one and that spec/codes.md prints exactly these.
var Meaning = map[Code]string{
	CodeOK:       "the check was made and holds",
	CodeInternal: "a fault of this program, not of the input",
}
