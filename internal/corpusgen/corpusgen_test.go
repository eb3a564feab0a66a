package corpusgen

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/report"
)

var update = flag.Bool("update", false, "write corpus/v1")

// home is where the corpus that Build makes is kept.
var home = filepath.Join("..", "..", "corpus", "v1")

var once sync.Once
var builtManifest *corpus.Manifest
var builtFiles map[string][]byte

// built is what Build makes, made once for all tests that only look at it.
func built(t *testing.T) (*corpus.Manifest, map[string][]byte) {
	t.Helper()
	once.Do(func() { builtManifest, builtFiles = Build(t) })
	if builtManifest == nil {
		t.Fatal("nothing was built")
	}
	return builtManifest, builtFiles
}

func mapFS(files map[string][]byte) fstest.MapFS {
	out := fstest.MapFS{}
	for path, data := range files {
		out[path] = &fstest.MapFile{Data: data}
	}
	return out
}

// TestEveryCase: every case gets the answer that its source states.
func TestEveryCase(t *testing.T) {
	m, files := built(t)
	fsys := mapFS(files)
	for i := range m.Cases {
		c := &m.Cases[i]
		r, err := c.Report(fsys)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}

		if answer, found := corpus.Of(r); !c.Right(answer, found) {
			t.Errorf("%s: %s %v, want %s %v: %s\n%s", c.Name, answer, found, c.Answer, c.Found, c.Why, r.Text())
		}
	}
	if t.Failed() {
		return
	}
	r, err := corpus.Check(fsys, corpus.Options{})
	if err != nil || r.Overall() != report.AllVerified {
		t.Fatalf("%v\n%s", err, r.Text())
	}
	t.Logf("\n%s", r.Text())
}

// TestTwiceTheSame: the generator gives the same bytes again, and those that are
// kept in corpus/v1.
func TestTwiceTheSame(t *testing.T) {
	_, one := built(t)
	_, two := Build(t)
	same(t, "the second time", one, two)
	if *update {
		write(t, one)
	}
	kept := map[string][]byte{}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		kept[filepath.ToSlash(strings.TrimPrefix(path, home+string(filepath.Separator)))], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "in corpus/v1 (-update writes it)", one, kept)
}

func same(t *testing.T, where string, want, got map[string][]byte) {
	t.Helper()
	bad := 0
	for path := range want {
		if b, ok := got[path]; !ok || !bytes.Equal(b, want[path]) {
			bad++
			t.Errorf("%s is another file %s", path, where)
		}
		if bad == 10 {
			t.Fatal("and more")
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s is there %s, and was not made", path, where)
		}
	}
}

func write(t *testing.T, files map[string][]byte) {
	t.Helper()
	if err := os.RemoveAll(home); err != nil {
		t.Fatal(err)
	}
	for path, data := range files {
		at := filepath.Join(home, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

const countsBegin, countsEnd = "<!-- begin generated: counts -->\n", "<!-- end generated: counts -->"

// TestCounts: the table of corpus/README.md counts what is there.
func TestCounts(t *testing.T) {
	m, _ := built(t)
	var b strings.Builder
	row := func(name string, c corpus.Count) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", name, c.Total(), c.Verified, c.Refuted, c.NotChecked, c.Violated)
	}
	b.WriteString("\n| area | cases | verified | refuted | not checked | violated |\n|---|---|---|---|---|---|\n")
	var all corpus.Count
	for _, c := range m.Counts() {
		row("`"+c.Area+"`", c)
		all.Verified, all.Refuted = all.Verified+c.Verified, all.Refuted+c.Refuted
		all.NotChecked, all.Violated = all.NotChecked+c.NotChecked, all.Violated+c.Violated
	}
	row("**all**", all)
	b.WriteByte('\n')

	path := filepath.Join(home, "..", "README.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), countsBegin)
	have, after, ok2 := strings.Cut(rest, countsEnd)
	if !ok || !ok2 {
		t.Fatal("README.md has no place for the counts")
	}
	if have == b.String() {
		return
	}
	if !*update {
		t.Fatalf("corpus/README.md counts something else (-update writes it):\n%s", b.String())
	}
	if err := os.WriteFile(path, []byte(before+countsBegin+b.String()+countsEnd+after), 0o666); err != nil {
		t.Fatal(err)
	}
}
