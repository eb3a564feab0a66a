package verdict

import "strconv"

// Codes of an [Error]. They are listed with all others in package report,
// which this package does not import; a test holds the two together.
const (
	CodeEmpty  = "VERDICT-EMPTY"  // a set without a member
	CodeReason = "VERDICT-REASON" // a reason or fault code outside the alphabet of codes
	CodeName   = "VERDICT-NAME"   // a rule name outside the alphabet of names
	CodeOrigin = "ORIGIN-WORD"    // a stage that is none of the three words
)

// Error is a verdict, fault or origin that cannot be built. It is the
// counterpart of report.Error for a package that imports nothing.
type Error struct {
	Code     string // one of the constants above
	Where    string // the arm or field
	Expected string
	Actual   string
}

// Error renders "CODE at WHERE: expected X, got Y".
func (e *Error) Error() string {
	return e.Code + " at " + e.Where + ": expected " + e.Expected + ", got " + e.Actual
}

// quote shows at most 32 bytes of bad input, escaped.
func quote(s string) string {
	const most = 32
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:most]) + " and " + strconv.Itoa(len(s)-most) + " bytes more"
}
