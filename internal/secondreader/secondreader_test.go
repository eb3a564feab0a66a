package secondreader

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSecondReader: this reader gives every case of corpus v1 that it has a
// command for the answer of its manifest, and skips no other.
func TestSecondReader(t *testing.T) {
	fsys := os.DirFS(filepath.Join("..", "..", "corpus", "v1"))
	cases, err := Cases(fsys)
	if err != nil {
		t.Fatal(err)
	}
	right, skipped := map[string]int{}, map[string]int{}
	for _, c := range cases {
		if Skipped()[c.Command] != "" {
			skipped[c.Command]++
			continue
		}
		answer, found, err := answered(c)
		wantAnswer, wantFound := c.Want()
		if err != nil || answer != wantAnswer || !slices.Equal(found, wantFound) {
			t.Errorf("%s: %s %q (%v), want %s %q: %s, %s", c.Name, answer, found, err, wantAnswer, wantFound, c.Why, c.Spec)
			continue
		}
		right[c.Command]++
	}
	t.Logf("right %v, skipped %v", right, skipped)
	for command := range Skipped() {
		if skipped[command] == 0 {
			t.Errorf("%s is said to be skipped, and no case asks it", command)
		}
	}
}

// TestAlone: the reader shares nothing with what it judges.
func TestAlone(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			if path != "github.com/zeebo/blake3" && strings.Contains(path, ".") {
				t.Errorf("%s imports %s: this reader has the standard library and BLAKE3", file, path)
			}
		}
	}
}

// answered answers a case; a panic is an answer that nobody survived.
func answered(c Case) (answer string, found []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return c.Got(os.DirFS(filepath.Join("..", "..", "corpus", "v1")))
}
