package trust

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
)

// lines cuts a file as C2SP tlog-policy says: lines end in a newline (the last
// one may lack it), items are separated by spaces and tabs, and lines without
// items or beginning with "#" are left out. It yields the line number, counted
// from 1 and also stored in at, with the items. An octet that the format does
// not allow is yielded once, under line -1, and ends the sequence.
func lines(b []byte, at *int) iter.Seq2[int, []string] {
	return func(yield func(int, []string) bool) {
		for n := 1; len(b) > 0; n++ {
			var line []byte
			line, b, _ = bytes.Cut(b, []byte("\n"))
			*at = n
			for _, c := range line {
				if (c < 0x20 && c != '\t') || c == 0x7f {
					said := fmt.Sprintf("0x%02X", c)
					if c == '\r' {
						said += ", since the lines end in CR LF; save the file with LF alone"
					}
					yield(-1, []string{said})
					return
				}
			}
			items := strings.FieldsFunc(string(line), func(c rune) bool { return c == ' ' || c == '\t' })
			if len(items) == 0 || items[0][0] == '#' {
				continue
			}
			if !yield(n, items) {
				return
			}
		}
	}
}
