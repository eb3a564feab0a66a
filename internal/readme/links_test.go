package readme

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// walk calls do for every file of the module with the given ending.
func walk(t *testing.T, ending string, do func(rel string, content string)) {
	t.Helper()
	top := root(t)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ending) {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		do(filepath.ToSlash(rel), string(b))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// anchors returns the anchors that the headings of a Markdown text make.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	fence := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fence = !fence
		}
		if fence || !strings.HasPrefix(line, "#") {
			continue
		}
		title := strings.TrimSpace(strings.TrimLeft(line, "#"))
		var b strings.Builder
		for _, r := range strings.ToLower(title) {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				b.WriteRune(r)
			case r == ' ':
				b.WriteByte('-')
			}
		}
		found[b.String()] = true
	}
	return found
}

var (
	cited    = regexp.MustCompile(`\b(spec/[a-z0-9-]+\.[a-z0-9.]*[a-z0-9]|docs/[a-z0-9-]+\.md)(?:#([a-z0-9_-]+))?`)
	mdLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	external = regexp.MustCompile(`^[a-z]+:`)
)

// TestCitationsExist: a section that code cites can be opened and read.
func TestCitationsExist(t *testing.T) {
	n := 0
	walk(t, ".go", func(rel, content string) {
		if strings.HasPrefix(rel, "internal/readme/") {
			return
		}
		for _, m := range cited.FindAllStringSubmatch(content, -1) {
			n++
			checkTarget(t, rel, m[1], m[2])
		}
	})
	if n == 0 {
		t.Error("no code cites a section: the pattern is wrong")
	}
}

func TestLinksResolve(t *testing.T) {
	n := 0
	walk(t, ".md", func(rel, content string) {
		for _, m := range mdLink.FindAllStringSubmatch(content, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if external.MatchString(target) {
				continue
			}
			n++
			if target == "" {
				target = rel
			} else {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(rel), target))
			}
			checkTarget(t, rel, target, anchor)
		}
	})
	if n == 0 {
		t.Error("no document links to another: the pattern is wrong")
	}
}

func checkTarget(t *testing.T, from, target, anchor string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(target)))
	if err != nil {
		if st, serr := os.Stat(filepath.Join(root(t), filepath.FromSlash(target))); serr == nil && st.IsDir() {
			return
		}
		t.Errorf("%s names %s, which does not exist", from, target)
		return
	}
	if anchor != "" && !anchors(string(b))[anchor] {
		t.Errorf("%s names %s#%s; there is no such heading", from, target, anchor)
	}
}
