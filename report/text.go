package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// notClaimed is the fixed block that ends every report that checked something.
var notClaimed = [...]string{
	"that no key was revoked later than the registry leaves seen here",
	"that the log shows everybody the same tree, beyond the witnesses whose cosignatures were verified",
	"that nothing happened which was never submitted to the log",
	"the wall time of anything: engine clocks are claims, the log gives order",
	"that the policy which judged was right",
}

// NotClaimed returns what no report claims, in a fixed order.
func NotClaimed() []string { return append([]string(nil), notClaimed[:]...) }

// Headline is the first line: what the artifact says, and that it only claims
// so where not everything required was verified.
func (r *Report) Headline() string {
	says := r.Says
	if says == "" {
		says = "nothing that could be read"
	}
	switch {
	case r.ShowOnly:
		return "Unchecked, it reads: " + says
	case r.Overall() == AllVerified:
		return "It says: " + says
	case r.Overall() == AnyRefuted:
		return "REFUTED. It claims: " + says
	case r.Overall() == LawViolated:
		return "LAW VIOLATED. It says: " + says
	}
	return "NOT CHECKED. It claims: " + says
}

// Conclusion is the sentence that names the overall answer and what decided it.
func (r *Report) Conclusion() string {
	if r.ShowOnly && r.Overall() == AllNotChecked {
		return "not checked: inspect shows and checks nothing"
	}
	o := r.Overall()
	var by, waiting []string
	for _, c := range r.Checks {
		switch {
		case o == AllNotChecked && c.Code == CodeNotReached && c.Required:
			waiting = append(waiting, c.Name)
		case o == AnyRefuted && c.Answer == Refuted && !c.Law,
			o == LawViolated && c.Answer == Refuted,
			o == AllNotChecked && c.Answer == NotChecked && c.Required:
			by = append(by, c.Name+" "+string(c.Code))
		}
	}
	if len(waiting) > 0 {
		by = append(by, "and so not reached: "+strings.Join(waiting, " "))
	}
	switch {
	case o == AllVerified:
		return "verified: every required check" + r.openLaws()
	case len(by) == 0:
		return o.String() + ": no check was required"
	}
	return o.String() + ": " + strings.Join(by, ", ")
}

// openLaws names the laws that were not checked although all is verified, since
// none of them was required: a reader must not take them for held.
func (r *Report) openLaws() string {
	laws, open := 0, 0
	var names, codes []string
	for _, c := range r.Checks {
		if !c.Law {
			continue
		}
		laws++
		if c.Answer != NotChecked {
			continue
		}
		open++
		names = append(names, c.Name+" "+string(c.Code))
		if !slices.Contains(codes, string(c.Code)) {
			codes = append(codes, string(c.Code))
		}
	}
	switch open {
	case 0:
		return ""
	case laws:
		return "; no law was checked: " + strings.Join(codes, " ")
	}
	return "; laws not checked: " + strings.Join(names, ", ")
}

// Text renders the report for a terminal: one headline, the facts, a table of
// checks, the overall answer, and what is not claimed. Characters that a
// terminal would obey are escaped.
func (r *Report) Text() string {
	var b strings.Builder
	line := func(s string) {
		b.WriteString(printable(s))
		b.WriteByte('\n')
	}
	line(r.Headline())
	wide := 0
	for _, f := range r.Facts {
		wide = max(wide, len(f.Name))
	}
	if len(r.Facts) > 0 {
		b.WriteByte('\n')
		if r.Overall() == AnyRefuted { // a reader may look no further than here
			line("What it claims, of which a refuted artifact proves nothing:")
		}
	}
	for _, f := range r.Facts {
		line(fmt.Sprintf("  %-*s  %s", wide, f.Name, f.Value))
	}
	if len(r.Checks) > 0 {
		b.WriteByte('\n')
	}
	r.table(line)
	b.WriteByte('\n')
	line(fmt.Sprintf("Overall: %s (exit %d)", r.Conclusion(), r.ExitCode()))
	for _, s := range r.Ignored {
		line("Ignored: " + s)
	}
	if !r.ShowOnly {
		line("Not claimed:")
		for _, s := range notClaimed {
			line("  - " + s)
		}
	}
	return b.String()
}

// table prints one line a check, and under it what it expected and got where
// there is something to say.
func (r *Report) table(line func(string)) {
	wide, code := 0, 0
	for _, c := range r.Checks {
		wide, code = max(wide, len(c.Name)), max(code, len(c.Code))
	}
	for _, c := range r.Checks {
		answer := c.Answer.String()
		switch {
		case c.Law && c.Answer == Refuted:
			answer = "violated"
		case c.Law && c.Answer == Verified:
			answer = "held"
		}
		s := fmt.Sprintf("  %-*s  %-11s  %-*s", wide, c.Name, answer, code, c.Code)
		if !c.Required && c.Answer == NotChecked {
			s += "  (not required)"
		}
		short := c.Code == CodeNotReached // what it waits for stands on the same line
		if short {
			s += "  " + c.Expected
		}
		line(strings.TrimRight(s, " "))
		indent := strings.Repeat(" ", wide+4)
		if c.Expected != "" && !short {
			line(indent + "expected " + c.Expected)
		}
		if c.Actual != "" {
			line(indent + "got      " + c.Actual)
		}
		if c.Note != "" {
			line(indent + c.Note)
		}
	}
}

// printable escapes control characters, direction overrides and bytes that
// are not UTF-8, so that no artifact can draw on the reader's terminal.
func printable(s string) string {
	clean := true
	for _, c := range s {
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		c, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case c == utf8.RuneError && n == 1:
			b.WriteString(`\x` + hex2(s[i]))
		case unicode.IsPrint(c):
			b.WriteRune(c)
		default:
			q := strconv.QuoteRuneToASCII(c)
			b.WriteString(q[1 : len(q)-1])
		}
		i += n
	}
	return b.String()
}

func hex2(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}
