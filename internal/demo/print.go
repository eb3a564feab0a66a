package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// width is the widest line that is printed, in columns.
const width = 100

// say prints one line. A line that is too wide is cut: it goes on a screen that
// somebody reads.
func (d *demo) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if utf8.RuneCountInString(line) > width {
		line = string([]rune(line)[:width-3]) + "..."
	}
	fmt.Fprintln(d.out, strings.TrimRight(line, " "))
}

func (d *demo) head(title string) {
	d.say("")
	d.say("%s", title)
}

// check prints what was looked up, and remembers if it does not hold.
func (d *demo) check(held bool, format string, args ...any) {
	d.checked++
	mark := "ok"
	if !held {
		d.failed++
		mark = "FAILED"
	}
	d.say("           %-6s %s", mark, fmt.Sprintf(format, args...))
}

// row is one line of the table: a call, from its judgment to its outcome.
type row struct {
	verb, what string
	verdict    string
	outcome    string
	statements []*saved
}

// table prints the rows.
func (d *demo) table() {
	format := "   %-7s %-7s %-6s %-34s %-9s %-11s %s"
	d.say(format, "seq", "leaf", "verb", "what", "verdict", "disposition", "verified")
	d.say(format, "-------", "-------", "------", strings.Repeat("-", 34), "---------", "-----------", "--------")
	for _, r := range d.rows {
		var seqs, leaves, checks []string
		for _, s := range r.statements {
			seqs = append(seqs, fmt.Sprint(s.seq()))
			leaves = append(leaves, fmt.Sprint(s.recorded.Index))
			checks = append(checks, s.verified)
		}
		d.say(format, strings.Join(seqs, ", "), strings.Join(leaves, ", "), dash(r.verb), clip(r.what, 34),
			dash(r.verdict), dash(r.outcome), strings.Join(checks, ", "))
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-3]) + "..."
}
