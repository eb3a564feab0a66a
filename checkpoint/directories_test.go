package checkpoint

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/vectors"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

var vkeyText = regexp.MustCompile("[^ +`\"\n]+\\+[0-9a-f]{8}\\+[A-Za-z0-9+/]{44,}={0,2}")

// directoryKeys collects the verifier keys that stand in README files under
// tiles and beside the notes.
func directoryKeys(t *testing.T, dir fs.FS) []VKey {
	t.Helper()
	known := map[string]VKey{}
	add := func(text string) {
		if k, err := ParseVKey(text); err == nil {
			known[k.String()] = k
		}
	}
	err := fs.WalkDir(dir, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(p, ".md") {
			return err
		}
		b, err := fs.ReadFile(dir, p)
		for _, text := range vkeyText.FindAllString(string(b), -1) {
			add(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Lines[noteCase](t, "note/notes.jsonl") {
		for _, text := range c.VKeys {
			add(text)
		}
	}
	var keys []VKey
	for _, k := range known {
		keys = append(keys, k)
	}
	return keys
}

// TestVectorsDirectories opens every checkpoint in the log directories under
// tiles, such as "tiles/tessera", and rebuilds its root from the tiles beside it.
func TestVectorsDirectories(t *testing.T) {
	dir := os.DirFS(vectors.Path(t, "tiles"))
	keys := directoryKeys(t, dir)
	type count struct{ cases, good int }
	counts := map[string]*count{}
	err := fs.WalkDir(dir, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasPrefix(path.Base(p), "checkpoint") {
			return err
		}
		b, err := fs.ReadFile(dir, p)
		if err != nil {
			return err
		}
		log, err := fs.Sub(dir, path.Dir(p))
		if err != nil {
			return err
		}
		c := counts[path.Dir(p)]
		if c == nil {
			c = &count{}
			counts[path.Dir(p)] = c
		}
		c.cases++
		if checkHead(t, p, b, log, keys) {
			c.good++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(counts) == 0 {
		t.Log("no checkpoints among the log directories")
	}
	for name, c := range counts {
		fmt.Printf("vectors: tiles/%s: checkpoints: %d cases, %d as expected\n", name, c.cases, c.good)
	}
}

// checkHead reports whether a checkpoint opens and its root is that of its
// tiles. One whose keys or tiles are nowhere here is only read, and said to be.
func checkHead(t *testing.T, p string, b []byte, log fs.FS, keys []VKey) bool {
	t.Helper()
	n, err := ParseNote(b)
	if err != nil || string(n.Bytes()) != string(b) {
		t.Errorf("%s: %v", p, err)
		return false
	}
	c, err := ParseBody(n.Text)
	if err != nil {
		t.Errorf("%s: %v", p, err)
		return false
	}
	switch o, err := Open(b, keys); {
	case report.CodeOf(err) == report.CodeCheckpointUnsigned:
		t.Logf("%s: signatures not checked: none of its keys is known", p)
	case err != nil:
		t.Errorf("%s: %v", p, err)
		return false
	default:
		c = o.Checkpoint
	}
	root, err := merkle.Root(c.Size, merkle.TileReader(c.Size, func(tile merkle.Tile) ([]byte, error) {
		data, err := fs.ReadFile(log, tile.Path())
		if err != nil { // full by now, or not here at all
			tile.Width = merkle.TileWidth
			data, err = fs.ReadFile(log, tile.Path())
		}
		return data, err
	}))
	switch {
	case os.IsNotExist(err):
		t.Logf("%s: root not checked: %v", p, err)
	case err != nil || root != c.Root:
		t.Errorf("%s: root %v, the tiles give %v, %v", p, c.Root, root, err)
		return false
	}
	return true
}
