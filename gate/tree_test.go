package gate

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/preview"
)

func sum(s string) preview.Content { return preview.ContentOf([]byte(s)) }

// create, replace and remove are changes with their bytes.
func create(path, after string) write {
	return write{preview.Change{Path: path, After: sum(after)}, []byte(after)}
}

func replace(path, before, after string) write {
	return write{preview.Change{Path: path, Before: sum(before), After: sum(after)}, []byte(after)}
}

func remove(path, before string) write {
	return write{preview.Change{Path: path, Before: sum(before)}, nil}
}

func scratch(t *testing.T, files map[string]string) (string, *tree) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := openTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.close() })
	return dir, tr
}

// listing is every name below dir, with contents; links with their target.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		switch {
		case d.IsDir():
			got[rel] = "(dir)"
		case d.Type()&os.ModeSymlink != 0:
			to, err := os.Readlink(p)
			got[rel] = "-> " + to
			return err
		default:
			b, err := os.ReadFile(p)
			got[rel] = string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			return false
		}
	}
	return true
}

func TestApplyCreatesReplacesAndDeletes(t *testing.T) {
	dir, tr := scratch(t, map[string]string{"a": "one", "old": "gone", "prog": "p"})
	prog := replace("prog", "p", "p") // its mode is all that changes
	prog.Mode = preview.ModeProgram
	n, err := tr.apply([]write{
		replace("a", "one", "two"),
		create("new/deep/b", "three"),
		remove("old", "gone"),
		prog,
	})
	if n != appliedAll || err != nil {
		t.Fatalf("apply: %v, %v", n, err)
	}
	want := map[string]string{"a": "two", "new": "(dir)", "new/deep": "(dir)", "new/deep/b": "three", "prog": "p"}
	if got := listing(t, dir); !equal(got, want) {
		t.Errorf("tree is %v, want %v", got, want)
	}
	for name, mode := range map[string]os.FileMode{"a": 0o600, "prog": 0o755} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s has mode %v (%v), want %v", name, st.Mode().Perm(), err, mode)
		}
	}
}

func TestApplyStaleWritesNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		set  []write
		at   string
		seen preview.Content
	}{
		{"replaced meanwhile", []write{create("new", "x"), replace("a", "was", "y")}, "a", sum("one")},
		{"appeared meanwhile", []write{create("new", "x"), create("a", "y")}, "a", sum("one")},
		{"gone meanwhile", []write{create("new", "x"), replace("z", "was", "y")}, "z", preview.Content{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, tr := scratch(t, map[string]string{"a": "one"})
			n, err := tr.apply(c.set)
			var mv *MovedError
			if n != appliedNothing || !errors.As(err, &mv) {
				t.Fatalf("apply: %v, %v", n, err)
			}
			if mv.Path != c.at || c.set[mv.Change].Path != c.at || mv.Seen != c.seen {
				t.Errorf("moved at %s (%d), saw %s", mv.Path, mv.Change, mv.Seen.Value())
			}
			if got := listing(t, dir); !equal(got, map[string]string{"a": "one"}) {
				t.Errorf("something was written: %v", got)
			}
		})
	}
}

func TestApplyStaysInsideTheRoot(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "f"), []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path string }{
		{"parent", "../f"}, {"absolute", filepath.Join(outside, "f")}, {"unclean", "d/../a"},
		{"link to a directory outside", "out/f"}, {"link to a file outside", "file"},
		{"link to a directory inside", "in/a"}, {"link to a file inside", "alias"},
		{"link that leads nowhere", "dangling"}, {"directory", "d"}, {"below a file", "a/b"},
		{"empty", ""}, {"root", "."}, {"backslash", `d\a`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, tr := scratch(t, map[string]string{"a": "one", "d/a": "two"})
			for name, to := range map[string]string{
				"out": outside, "file": filepath.Join(outside, "f"), "in": "d", "alias": "a", "dangling": "nowhere",
			} {
				if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			was := listing(t, dir)
			n, err := tr.apply([]write{create("new", "x"), create(c.path, "x")})
			if n != appliedNothing || err == nil {
				t.Fatalf("apply: %v, %v; want an error", n, err)
			}
			if got := listing(t, dir); !equal(got, was) {
				t.Errorf("something was written: %v", got)
			}
			if b, err := os.ReadFile(filepath.Join(outside, "f")); err != nil || string(b) != "keep" {
				t.Errorf("the file outside holds %q, %v", b, err)
			}
		})
	}
}

// Two names of one file: each change would undo the other.
func TestApplyRefusesOneFileUnderTwoNames(t *testing.T) {
	dir, tr := scratch(t, map[string]string{"a": "one"})
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Skip(err)
	}
	n, err := tr.apply([]write{replace("a", "one", "two"), replace("b", "one", "three")})
	if n != appliedNothing || err == nil {
		t.Fatalf("apply: %v, %v; want an error", n, err)
	}
	if got := listing(t, dir); !equal(got, map[string]string{"a": "one", "b": "one"}) {
		t.Errorf("something was written: %v", got)
	}
}

// A target that appears between comparison and write is not overwritten.
func TestPlaceDoesNotOverwriteACreate(t *testing.T) {
	dir, tr := scratch(t, nil)
	w := create("a", "ours")
	temp, err := tr.writeTemp(w, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if placed, err := tr.place(stage{w, temp}); placed || err == nil {
		t.Fatalf("place: %v, %v; want a refusal", placed, err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "a")); string(b) != "theirs" {
		t.Errorf("the file holds %q", b)
	}
}

// A failure before the first file is in place leaves nothing behind; one after
// it says that a part is there.
func TestApplyFailure(t *testing.T) {
	// Nothing exists at x, nor at x/y, and both cannot be.
	file, below := create("x", "file"), create("x/y", "below")
	for _, c := range []struct {
		name string
		set  []write
		want applied
		left map[string]string
	}{
		{"at the first", []write{file, create("sub/new", "z"), below},
			appliedNothing, map[string]string{"a": "one"}},
		{"at the second", []write{replace("a", "one", "two"), file, below},
			appliedPart, map[string]string{"a": "two"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, tr := scratch(t, map[string]string{"a": "one"})
			n, err := tr.apply(c.set)
			if n != c.want || err == nil {
				t.Fatalf("apply: %v, %v; want %v and an error", n, err, c.want)
			}
			if got := listing(t, dir); !equal(got, c.left) {
				t.Errorf("left behind: %v, want %v", got, c.left)
			}
		})
	}
}
