package checkpoint

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// MaxName is the most bytes of an origin or a key name. tlog-checkpoint sets
// no limit; 255 is what the one length byte of an ML-DSA cosignature can say.
const MaxName = 255

// Checkpoint is the body of a tree head (C2SP tlog-checkpoint).
type Checkpoint struct {
	Origin     string // 1..255 bytes of UTF-8 without control characters
	Size       uint64 // leaves, at most 2^63-1
	Root       merkle.Hash
	Extensions []string // non-empty lines, signed by some, understood by none
}

// strict64 is standard base64 with padding whose spare bits are zero, so that
// bytes have one spelling.
var strict64 = base64.StdEncoding.Strict()

// ParseBody reads the text of a note as a checkpoint. Body returns the same
// text again. Errors: CHECKPOINT-MALFORMED, and CHECKPOINT-EMPTY-ROOT for a
// size of 0 with another root than that of the empty tree.
func ParseBody(text string) (Checkpoint, error) {
	if err := checkText(text); err != nil {
		return Checkpoint{}, err
	}
	lines := strings.Split(text, "\n")
	lines = lines[:len(lines)-1]
	if len(lines) < 3 {
		return Checkpoint{}, badBody("body", "at least 3 lines: origin, size, root", strconv.Itoa(len(lines)))
	}
	for i, line := range lines {
		if line == "" {
			return Checkpoint{}, badBody("line "+strconv.Itoa(i+1), "a line that is not empty", "an empty one")
		}
	}
	c := Checkpoint{Origin: lines[0]}
	if len(c.Origin) > MaxName {
		return Checkpoint{}, badBody("origin", "at most 255 bytes", strconv.Itoa(len(c.Origin)))
	}
	size, ok := parseDecimal(lines[1])
	if !ok {
		return Checkpoint{}, badBody("size", "a decimal of at most 2^63-1 without leading zeros", quote(lines[1]))
	}
	c.Size = size
	root, ok := parseHash(lines[2])
	if !ok {
		return Checkpoint{}, badBody("root", "the base64 of 32 bytes", quote(lines[2]))
	}
	c.Root = root
	if c.Size == 0 && c.Root != merkle.EmptyRoot {
		return Checkpoint{}, malformed(report.CodeCheckpointEmptyRoot, "root", merkle.EmptyRoot.String(), c.Root.String())
	}
	if len(lines) > 3 {
		c.Extensions = lines[3:]
	}
	return c, nil
}

// Body returns the text that is signed; it ends in a newline.
func (c Checkpoint) Body() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d\n%s\n", c.Origin, c.Size, c.Root)
	for _, x := range c.Extensions {
		b.WriteString(x)
		b.WriteByte('\n')
	}
	return b.String()
}

// checkText holds what signed-note asks of a whole note for the text alone.
func checkText(text string) error {
	switch {
	case !strings.HasSuffix(text, "\n"):
		return badBody("body", "a newline at the end", quote(text))
	case !utf8.ValidString(text):
		return badBody("body", "valid UTF-8", quote(text))
	}
	if i := strings.IndexFunc(text, isControl); i >= 0 {
		return badBody("byte "+strconv.Itoa(i), "no control character but newline", quote(text[i:i+1]))
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 && r != '\n' }

// parseDecimal reads an ASCII decimal of at most 63 bits in its one spelling.
func parseDecimal(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || strconv.FormatUint(n, 10) != s {
		return 0, false
	}
	return n, true
}

// parseHash reads the base64 of 32 bytes in its one spelling. The length is
// asked first because the decoder skips line breaks.
func parseHash(s string) (merkle.Hash, bool) {
	if len(s) != base64.StdEncoding.EncodedLen(merkle.HashSize) {
		return merkle.Hash{}, false
	}
	b, err := strict64.DecodeString(s)
	if err != nil || len(b) != merkle.HashSize {
		return merkle.Hash{}, false
	}
	return merkle.Hash(b), true
}

func badBody(where, expected, actual string) error {
	return malformed(report.CodeCheckpointMalformed, where, expected, actual)
}
