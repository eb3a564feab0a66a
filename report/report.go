// Package report holds the three answers every check ends in, the closed list
// of codes, and the error type that carries one. It is the bottom of the
// kernel: parsers return its Error, and bundle and audit answer with a Report,
// which says the same as text and as JSON (spec/report.md).
package report

// Answer is one of three; "could not check" is never folded into the others.
type Answer uint8

// The zero Answer is NotChecked: a check that was forgotten never passes.
const (
	NotChecked Answer = iota
	Verified
	Refuted
)

// String returns the words that reports print.
func (a Answer) String() string {
	switch a {
	case Verified:
		return "verified"
	case Refuted:
		return "refuted"
	}
	return "not checked"
}

// Check is one named check and how it ended.
type Check struct {
	Name     string // from the published list of the command
	Answer   Answer
	Code     Code
	Expected string
	Actual   string
	Note     string // one sentence for a person; empty where the code says it
	Required bool   // it must be verified for the whole to be verified
	Law      bool   // a law between receipts: refuted means violated
}

// Fact is one thing that the artifact says or that was computed from it.
type Fact struct{ Name, Value string }

// Report is what a command answers about one artifact.
type Report struct {
	Command string // receipt, bundle, log, inspect
	// Says is what the artifact says, in one line. A perfectly genuine denial
	// must not read as a go-ahead, so this comes first.
	Says   string
	Facts  []Fact
	Checks []Check
	// Ignored names what the artifact carried and no check used.
	Ignored []string
	// ShowOnly marks a report that was asked to check nothing (inspect).
	ShowOnly bool
}

// Add appends a check.
func (r *Report) Add(c Check) { r.Checks = append(r.Checks, c) }

// AddFact appends a fact; empty values are left out.
func (r *Report) AddFact(name, value string) {
	if value != "" {
		r.Facts = append(r.Facts, Fact{name, value})
	}
}

// Find returns the first check of that name.
func (r *Report) Find(name string) (Check, bool) {
	for _, c := range r.Checks {
		if c.Name == name {
			return c, true
		}
	}
	return Check{}, false
}

// Require makes the named check required, and reports whether there is one.
func (r *Report) Require(name string) bool {
	found := false
	for i := range r.Checks {
		if r.Checks[i].Name == name {
			r.Checks[i].Required, found = true, true
		}
	}
	return found
}

// Overall is the answer of a whole report.
type Overall uint8

// In order of gravity. The zero Overall is AllNotChecked.
const (
	AllNotChecked Overall = iota
	AllVerified
	LawViolated
	AnyRefuted
)

// String returns the words that reports print.
func (o Overall) String() string {
	switch o {
	case AllVerified:
		return "verified"
	case LawViolated:
		return "law violated"
	case AnyRefuted:
		return "refuted"
	}
	return "not checked"
}

// Exit statuses of cmd/verify (spec/report.md#exit-status).
const (
	ExitVerified    = 0
	ExitRefuted     = 1
	ExitUsage       = 2 // usage, unreadable input or output, malformed trust file, internal error
	ExitNotChecked  = 3
	ExitLawViolated = 4
)

// ExitCode maps an overall answer to the exit status of cmd/verify.
func (o Overall) ExitCode() int {
	switch o {
	case AllVerified:
		return ExitVerified
	case LawViolated:
		return ExitLawViolated
	case AnyRefuted:
		return ExitRefuted
	}
	return ExitNotChecked
}

// Overall returns the worst answer: refuted, then law violated, then not
// checked, then verified. A refuted check and a violated law count whether
// they were required or not; a check that was not made counts where it is
// required. A report without a required check is not checked.
func (r *Report) Overall() Overall {
	worst, required := AllVerified, false
	for _, c := range r.Checks {
		required = required || c.Required
		switch {
		case c.Answer == Refuted && !c.Law:
			return AnyRefuted
		case c.Answer == Refuted:
			worst = LawViolated
		case c.Answer != Verified && c.Required && worst == AllVerified:
			worst = AllNotChecked
		}
	}
	if !required && worst == AllVerified {
		return AllNotChecked
	}
	return worst
}

// ExitCode returns the exit status of a whole report. A report that was asked
// to check nothing has shown what it was asked for.
func (r *Report) ExitCode() int {
	if r.ShowOnly && r.Overall() == AllNotChecked {
		return ExitVerified
	}
	return r.Overall().ExitCode()
}
