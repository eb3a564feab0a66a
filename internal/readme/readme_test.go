package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// session is one command that README.md shows and what it shows of the answer.
type session struct {
	line    int
	command string
	shown   []string // lines; "..." stands for any number of lines
}

// sessions reads the console blocks of a Markdown text.
func sessions(text string) []session {
	var out []session
	in := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			in = line == "```console"
		case !in:
		case strings.HasPrefix(line, "$ "):
			out = append(out, session{line: i + 1, command: line[2:]})
		case strings.HasPrefix(line, "> ") && len(out) > 0: // a command goes on
			out[len(out)-1].command += "\n" + line[2:]
		case len(out) > 0:
			last := &out[len(out)-1]
			last.shown = append(last.shown, line)
		}
	}
	return out
}

// matches reports whether output is what is shown.
func matches(output string, shown []string) bool {
	var pattern strings.Builder
	pattern.WriteString("^")
	for _, line := range shown {
		if line == "..." {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		// Within a line "..." is what differs from run to run.
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`) + `\n`)
	}
	pattern.WriteString("$")
	return regexp.MustCompile(pattern.String()).MatchString(output)
}

// pages are the texts whose commands are run, and how many each shows at least.
var pages = []struct {
	name  string
	least int
}{{"README.md", 3}, {"docs/keys.md", 20}}

// TestCommands runs every command of the pages' console blocks, in order, in a
// folder that has this module's programs where a clone has them. make builds
// them there: the clone's own Makefile is used.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs programs; not in short mode")
	}
	dir := clone(t)
	for _, p := range pages {
		page := p.name
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(page)))
			if err != nil {
				t.Fatal(err)
			}
			all := sessions(string(text))
			if len(all) < p.least {
				t.Fatalf("%s shows %d commands in console blocks; the reader of blocks is wrong", page, len(all))
			}
			for _, s := range all {
				cmd := exec.Command("sh", "-c", s.command)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if _, exited := err.(*exec.ExitError); err != nil && !exited {
					t.Fatalf("%s:%d: %s: %v", page, s.line, s.command, err)
				}
				if !matches(string(out), s.shown) {
					t.Errorf("%s:%d: %s\nshows:\n%s\nprinted:\n%s", page, s.line, s.command, strings.Join(s.shown, "\n"), out)
				}
			}
		})
	}
}

// TestReadmeNamesTheTwoCommands: the two are run elsewhere, make demo here and
// as a test of its own, make test by whoever runs this.
func TestReadmeNamesTheTwoCommands(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nmake demo ", "\nmake test "} {
		if !strings.Contains(string(text), want) {
			t.Errorf("README.md does not show %q", strings.TrimSpace(want))
		}
	}
}

// clone makes a folder whose entries are links to the module's own, so that
// commands which write beside them do not write into the module.
func clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	entries, err := os.ReadDir(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.Name() == "bin" || e.Name() == "demo-out" {
			continue
		}
		if err := os.Symlink(filepath.Join(root(t), e.Name()), filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
