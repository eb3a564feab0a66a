package gate

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/obstat/obstat/preview"
)

// maxShown is how large a replaced file may be for its difference to be shown.
const maxShown = 16 << 20

// Show writes what the change set will do, for a person: the exact bytes of
// every file that is created, a unified diff of every one that is replaced, and
// what will be touched. It is made of the very bytes that will be written, and
// of what the files hold now, which must be what the changes were made from: a
// file that has moved is a *MovedError. Nothing else is asked.
//
// The contents of files are written as they are. Whoever shows them on a
// terminal escapes what a terminal would obey.
func (f *Files) Show(w io.Writer) error {
	frozen, err := f.Freeze()
	if err != nil {
		return err
	}
	defer frozen.Close()
	return frozen.(*frozenFiles).show(w)
}

// Show writes what the undo will do, as [Files.Show] does.
func (u *Undo) Show(w io.Writer) error { return u.files.Show(w) }

func (f *frozenFiles) show(w io.Writer) error {
	t, err := openTree(f.root)
	if err != nil {
		return err
	}
	defer t.close()
	var b bytes.Buffer
	for _, c := range f.set {
		if err := c.show(&b, t); err != nil {
			return err
		}
	}
	for _, e := range f.effects() {
		fmt.Fprintf(&b, "effect: %s %s\n", e.On, printable(e.Target))
	}
	_, err = w.Write(b.Bytes())
	return err
}

func (c *write) show(b *bytes.Buffer, t *tree) error {
	before, _, err := t.read(c.Path, c.Before, maxShown)
	if err != nil {
		return err
	}
	name, mode := printable(c.Path), ""
	if c.Mode != preview.ModeKept {
		mode = ", mode " + string(c.Mode)
	}
	switch {
	case c.Before.IsAbsent():
		fmt.Fprintf(b, "create %s, %d bytes%s:\n", name, len(c.after), mode)
		b.Write(c.after)
		if !bytes.HasSuffix(c.after, []byte("\n")) {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	case c.After.IsAbsent():
		fmt.Fprintf(b, "delete %s, %d bytes, %s\n", name, len(before), c.Before.Value())
	case c.Before == c.After:
		fmt.Fprintf(b, "replace %s%s, content as it is\n", name, mode)
	case binary(before) || binary(c.after):
		fmt.Fprintf(b, "replace %s%s, no text: %d bytes, %s, by %d bytes, %s\n",
			name, mode, len(before), c.Before.Value(), len(c.after), c.After.Value())
	default:
		fmt.Fprintf(b, "replace %s%s:\n", name, mode)
		diff, err := udiff.ToUnified(printable("a/"+c.Path), printable("b/"+c.Path), string(before), udiff.Lines(string(before), string(c.after)), udiff.DefaultContextLines)
		if err != nil {
			return err
		}
		b.WriteString(diff)
	}
	return nil
}

func binary(b []byte) bool { return !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 }

// printable is a name as it is, or quoted where it holds anything that is not
// seen, or begins like a quoted one.
func printable(name string) string {
	if q := strconv.Quote(name); q[1:len(q)-1] != name || strings.HasPrefix(name, `"`) {
		return q
	}
	return name
}
