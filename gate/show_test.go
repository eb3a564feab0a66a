package gate

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/preview"
)

func TestShow(t *testing.T) {
	dir := realDir(t)
	for name, text := range map[string]string{"a": "1\n2\n3\n4\n5\n6\n", "gone": "bye", "bin": "\x00\xff", "x": "#!"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := PlanFiles(dir,
		FileChange{Path: "new\nline", After: []byte("no end")}, FileChange{Path: "new/b", After: []byte("whole\n\x1b[31m\n"), Mode: preview.ModeProgram},
		FileChange{Path: "a", After: []byte("1\n2\n3\n4\n5\nsix")}, FileChange{Path: "gone", Delete: true}, FileChange{Path: "bin", After: []byte("\x01")},
		FileChange{Path: "x", After: []byte("#!"), Mode: preview.ModeProgram})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Show(&b); err != nil {
		t.Fatal(err)
	}
	want := `replace a:
--- a/a
+++ b/a
@@ -3,4 +3,4 @@
 3
 4
 5
-6
+six
\ No newline at end of file
replace bin, no text: 2 bytes, ` + preview.ContentOf([]byte("\x00\xff")).Value().String() + `, by 1 bytes, ` + preview.ContentOf([]byte("\x01")).Value().String() + `
delete gone, 3 bytes, ` + preview.ContentOf([]byte("bye")).Value().String() + `
create "new\nline", 6 bytes:
no end
\ No newline at end of file
create new/b, 12 bytes, mode 755:
whole
` + "\x1b[31m" + `
replace x, mode 755, content as it is
effect: writes a
effect: writes bin
effect: writes gone
effect: writes "new\nline"
effect: writes new/b
effect: writes x
`
	if got := b.String(); got != want {
		t.Errorf("it shows\n%s\nwant\n%s", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("moved"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := f.Show(&b); !errors.As(err, new(*MovedError)) || b.Len() > 0 {
		t.Errorf("a change set that has moved shows %q, %v", b.String(), err)
	}
}

// What is shown is what lands, byte for byte: a diff that somebody else's tool
// applies gives the file that the gate writes, and so does the text of a create.
func TestShownEqualsLandedProperty(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git, which applies the diffs")
	}
	g, _ := gated(t, says(admits, nil))
	line := rapid.SampledFrom([]string{"", "a", "b", "ä", "\ttab", "c\r", " ", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "\\ No newline at end of file", "-", "+"})
	text := rapid.Custom(func(rt *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(line, 0, 12).Draw(rt, "lines"), "\n")
		if rapid.Bool().Draw(rt, "end") {
			s += "\n"
		}
		return s
	})
	rapid.Check(t, func(rt *rapid.T) {
		dir, other := realDir(t), t.TempDir()
		before, after, made := text.Draw(rt, "before"), text.Draw(rt, "after"), text.Draw(rt, "made")
		if before == after {
			return
		}
		for _, d := range []string{dir, other} {
			if err := os.WriteFile(filepath.Join(d, "a"), []byte(before), 0o644); err != nil {
				rt.Fatal(err)
			}
		}
		f, err := PlanFiles(dir, FileChange{Path: "a", After: []byte(after)}, FileChange{Path: "b", After: []byte(made)})
		if err != nil {
			rt.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Show(&b); err != nil {
			rt.Fatal(err)
		}
		shown := b.String()
		create := strings.LastIndex(shown, "create b, ")
		diff := strings.TrimPrefix(shown[:create], "replace a:\n")
		cmd := exec.Command(git, "apply", "--whitespace=nowarn", "--unidiff-zero", "-")
		cmd.Dir, cmd.Stdin = other, strings.NewReader(diff)
		if out, err := cmd.CombinedOutput(); err != nil {
			rt.Fatalf("git: %v\n%s\n%q", err, out, diff)
		}
		if again, err := udiff.ApplyUnified(diff, before); err != nil || again != after {
			rt.Logf("the library itself applies it to %q, %v", again, err)
		}
		commit(t, judged(t, g, f))
		landed, err := os.ReadFile(filepath.Join(dir, "a"))
		if err != nil {
			rt.Fatal(err)
		}
		theirs, err := os.ReadFile(filepath.Join(other, "a"))
		if err != nil || string(landed) != after || string(theirs) != after {
			rt.Fatalf("%q landed, %q was shown, want %q (%v)", landed, theirs, after, err)
		}
		_, body, _ := strings.Cut(shown[create:], ":\n")
		b2, err := os.ReadFile(filepath.Join(dir, "b"))
		if err != nil || !strings.HasPrefix(body, string(b2)) || string(b2) != made {
			rt.Fatalf("%q landed, %q was shown", b2, body)
		}
	})
}
