package main

import (
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
)

// Colours of answers on a terminal (ECMA-48). They stress what the words say and
// carry nothing of their own.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// answerWord finds the answer of a line of the table: two spaces, a name, an
// answer, a code.
var answerWord = regexp.MustCompile(`^(  \S.*? +)(verified|held|refuted|violated|not checked)( +[A-Z0-9-]+.*)?$`)

// terminal reports whether out is one that colour is wanted on (no-color.org).
// A console of Windows obeys colours only where the newer Terminal shows it.
func terminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || runtime.GOOS == "windows" && os.Getenv("WT_SESSION") == "" {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// coloured paints the answers of a report's text.
func coloured(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		switch m := answerWord.FindStringSubmatch(body); {
		case m != nil:
			b.WriteString(m[1] + paint(m[2]) + m[2] + plain + m[3])
		case strings.HasPrefix(body, "REFUTED."), strings.HasPrefix(body, "LAW VIOLATED."):
			b.WriteString(red + body + plain)
		case strings.HasPrefix(body, "NOT CHECKED."):
			b.WriteString(yellow + body + plain)
		default:
			b.WriteString(body)
		}
		b.WriteString(line[len(body):])
	}
	return b.String()
}

func paint(answer string) string {
	switch answer {
	case "verified", "held":
		return green
	case "not checked":
		return yellow
	}
	return red
}
