package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// maxAnswer is how much of a line is read; a longer one is no yes.
const maxAnswer = 64

// answer reads one line, byte by byte so that what follows is left for others.
func answer(r io.Reader) (yes bool, err error) {
	var line []byte
	for b := make([]byte, 1); len(line) < maxAnswer; {
		n, err := r.Read(b)
		if n == 1 {
			if b[0] == '\n' {
				break
			}
			line = append(line, b[0])
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
	}
	return strings.TrimSuffix(string(line), "\r") == "yes", nil
}

// shower is an effect that a person can look at before it happens.
type shower interface{ Show(io.Writer) error }

// show prints the preview. What a terminal would obey is escaped, so that nothing
// in a file changes what a person sees of it; where that was needed, a line says
// so.
func (s *session) show(e shower) error {
	var b bytes.Buffer
	if err := e.Show(&b); err != nil {
		return err
	}
	text, escaped := visible(b.String())
	if escaped {
		text += "(what a terminal would obey is shown as \\x.., and is written as it is)\n"
	}
	_, err := io.WriteString(s.out, text)
	return err
}

// visible escapes control characters but line ends and tabs, bytes that are no
// text, and characters that turn the direction of others or are not seen.
func visible(text string) (string, bool) {
	var b strings.Builder
	escaped := false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		piece := text[i : i+size]
		i += size
		switch {
		case r == '\n', r == '\t':
			b.WriteString(piece)
		case r == utf8.RuneError && size == 1, unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			for j := range len(piece) {
				fmt.Fprintf(&b, `\x%02x`, piece[j])
			}
			escaped = true
		default:
			b.WriteString(piece)
		}
	}
	return b.String(), escaped
}

// check runs the configured check on what landed, as an effect of its own.
func (s *session) check(ctx context.Context, class receipt.Class) error {
	if len(s.cfg.Check) == 0 {
		return nil
	}
	command, err := s.command(s.cfg.Check)
	if err != nil {
		return err
	}
	command.Dir = s.cfg.Root
	s.say("checking: %s", strings.Join(s.cfg.Check, " "))
	return s.exec(ctx, command, class, verdict.Whole(verdict.Replay))
}

// cmdUndo undoes what an outcome did.
func cmdUndo(ctx context.Context, args []string, c console) (err error) {
	f := flags("undo", helpUndo, c)
	dir := f.String("dir", ".gate", "")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return usagef("undo needs the outcome that is undone, or last")
	}
	s, err := take(ctx, *dir, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(ctx)) }()
	outcome, err := s.outcome(ctx, f.Arg(0))
	if err != nil {
		return err
	}
	u, err := s.store.PlanUndo(outcome)
	if err != nil {
		return err
	}
	j, err := s.judge(ctx, s.request(u, receipt.Green, verdict.Whole(verdict.Replay)))
	if err != nil {
		return err
	}
	var moved *gate.MovedError
	if err := s.show(u); errors.As(err, &moved) {
		s.say("%s is not as it was left", moved.Key) // and the commit says what follows
	} else if err != nil {
		return err
	} else if err := s.consent(ctx, j); err != nil {
		return err
	}
	_, err = s.commit(ctx, j)
	return err
}

// outcome is the statement that an argument names: by its CID, or the last one of
// the run that can be undone.
func (s *session) outcome(ctx context.Context, arg string) (receipt.CID, error) {
	if arg != "last" {
		return parseCID(arg)
	}
	var last receipt.CID
	for st, err := range s.run.Statements(ctx) {
		if err != nil {
			return last, err
		}
		if out, ok := st.Statement.Receipt.(receipt.Outcome); ok && out.Compensates == nil {
			if _, ok := out.Disposition.(receipt.Committed); ok && s.store.CanUndo(st.CID) {
				last = st.CID
			}
		}
	}
	if last == (receipt.CID{}) {
		return last, errors.New("nothing in this run can be undone")
	}
	return last, nil
}

func parseCID(text string) (receipt.CID, error) { return dagcbor.ParseCID(text) }
