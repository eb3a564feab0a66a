package audit_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/internal/vectors"
	"github.com/obstat/obstat/trust"
)

// TestVectorsOfTessera audits the hashes of the log that Tessera keeps for its
// tests, at every size of which it has the checkpoint, and its growth from every
// smaller one, from its tiles.
func TestVectorsOfTessera(t *testing.T) {
	const dir, vkey = "tiles/tessera", "example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx"
	policy, err := trust.ParsePolicy([]byte("log " + vkey + "\nquorum none\n"))
	if err != nil {
		t.Fatal(err)
	}
	root := os.DirFS(vectors.Path(t, dir))
	names, err := fs.Glob(root, "checkpoint.*")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d checkpoints, %v", len(names), err)
	}
	cases := 0
	o := audit.Options{Policy: policy, HashesOnly: true}
	for _, name := range names {
		site := at(t, root, name)
		for _, older := range append(names, "") {
			o.Since = nil
			if older != "" {
				o.Since, err = fs.ReadFile(root, older)
				if err != nil {
					t.Fatal(err)
				}
			}
			r := run(t, site, o)
			want := 0
			if sizeIn(t, older) > sizeIn(t, name) { // it is the newer one
				want = 3
			}
			if cases++; r.ExitCode() != want {
				t.Errorf("%s since %q: status %d, want %d\n%s", name, older, r.ExitCode(), want, r.Text())
			}
		}
	}
	fmt.Printf("vectors: %s: audits: %d cases, all as expected\n", dir, cases)
}

// sizeIn is the tree size that the name of a checkpoint ends in; 0 for none.
func sizeIn(t *testing.T, name string) (n int) {
	t.Helper()
	if name != "" {
		if _, err := fmt.Sscanf(name, "checkpoint.%d", &n); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// at is the log as it was under a checkpoint of another name.
func at(t *testing.T, root fs.FS, checkpoint string) fs.FS {
	t.Helper()
	site := fstest.MapFS{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(root, name)
		switch {
		case name == checkpoint:
			site["checkpoint"] = &fstest.MapFile{Data: b}
		case !strings.HasPrefix(path.Base(name), "checkpoint"):
			site[name] = &fstest.MapFile{Data: b}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return site
}
