package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
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

// applySet does what the files sink does.
func applySet(tr *tree, set []write) error {
	slices.SortFunc(set, func(a, b write) int { return strings.Compare(a.Path, b.Path) })
	c, err := tr.begin(set)
	if err != nil {
		return err
	}
	if err := c.apply(set, func([]byte) error { return nil }, "/", receipt.Digest{}); err != nil {
		return err
	}
	return c.done()
}

func TestApplyCreatesReplacesAndDeletes(t *testing.T) {
	dir, tr := scratch(t, map[string]string{"a": "one", "old": "gone", "prog": "p"})
	prog := replace("prog", "p", "p") // its mode is all that changes
	prog.Mode = preview.ModeProgram
	if err := applySet(tr, []write{
		replace("a", "one", "two"),
		create("new/deep/b", "three"),
		remove("old", "gone"),
		prog,
	}); err != nil {
		t.Fatal(err)
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
			var mv *MovedError
			if err := applySet(tr, c.set); !errors.As(err, &mv) {
				t.Fatalf("apply: %v", err)
			}
			if mv.Key != c.at || mv.Seen != c.seen {
				t.Errorf("moved at %s, saw %s", mv.Key, mv.Seen.Value())
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
			if err := applySet(tr, []write{create("new", "x"), create(c.path, "x")}); err == nil {
				t.Fatal("it was applied")
			}
			// Refused before there is a preview, too.
			f := &Files{Root: dir, Changes: []FileChange{{Path: c.path, After: []byte("x")}}}
			if _, err := f.Freeze(); err == nil {
				t.Error("it was frozen")
			}
			if _, err := PlanFiles(dir, f.Changes...); err == nil {
				t.Error("it was planned")
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
	if err := applySet(tr, []write{replace("a", "one", "two"), replace("b", "one", "three")}); err == nil {
		t.Fatal("it was applied")
	}
	if got := listing(t, dir); !equal(got, map[string]string{"a": "one", "b": "one"}) {
		t.Errorf("something was written: %v", got)
	}
}

// set is one change of every sort, over files that hold what before says.
func mixedSet() (before map[string]string, set []write, after map[string]string) {
	return map[string]string{"a": "one", "b": "two", "d": "(dir)", "d/c": "three"},
		[]write{replace("a", "one", "uno"), remove("b", "two"), replace("d/c", "three", "tre"), create("e/f/new", "quattro")},
		map[string]string{"a": "uno", "d": "(dir)", "d/c": "tre", "e": "(dir)", "e/f": "(dir)", "e/f/new": "quattro"}
}

func fileOnly(m map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		if v != "(dir)" {
			out[k] = v
		}
	}
	return out
}

// Somebody writes to one of the files at every step on the way. Nothing of theirs
// is lost, and the set is in place as a whole or not at all.
func TestSomebodyWritesMeanwhile(t *testing.T) {
	t.Parallel()
	before, set, after := mixedSet()
	attacks := map[string]func(t *testing.T, path string) string{ // what the file holds then, empty: nothing
		"in place": func(t *testing.T, path string) string {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
			if err != nil {
				return "skip"
			}
			defer f.Close()
			if _, err := f.WriteString("theirs"); err != nil {
				t.Fatal(err)
			}
			return "theirs"
		},
		"another file": func(t *testing.T, path string) string {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.WriteFile(path+"~", []byte("theirs"), 0o600), os.Rename(path+"~", path)); err != nil {
				t.Fatal(err)
			}
			return "theirs"
		},
		"nothing": func(t *testing.T, path string) string {
			if os.Remove(path) != nil {
				return "skip"
			}
			return ""
		},
		"a link": func(t *testing.T, path string) string {
			if os.Remove(path) != nil || os.Symlink("/etc/hostname", path) != nil {
				return "skip"
			}
			return "-> /etc/hostname"
		},
	}
	tried, applied, kept := 0, 0, 0
	for name, attack := range attacks {
		for i, target := range []string{"a", "b", "d/c", "e/f/new"} {
			stride := 3 // a third of the steps, others for every file, or all
			if os.Getenv("OBSTAT_HEAVY") != "" {
				i, stride = 0, 1
			}
			for at := i % stride; ; at += stride {
				dir, tr := scratch(t, fileOnly(before))
				n, theirs, was := 0, "skip", ""
				tr.step = func(string) {
					if n == at {
						if b, err := os.ReadFile(filepath.Join(dir, target)); err == nil {
							was = string(b)
						}
						theirs = attack(t, filepath.Join(dir, target))
					}
					n++
				}
				err := applySet(tr, slices.Clone(set))
				if n <= at {
					break
				}
				if theirs == "skip" {
					continue
				}
				tried++
				got := fileOnly(listing(t, dir))
				where := fmt.Sprintf("%s at %s, step %d (it held %q): %v", name, target, at, was, err)
				if there, ok := got[target]; there != theirs || ok != (theirs != "") {
					// A create or replacement that was in place already was theirs to
					// change; one that was not must not have covered it.
					t.Errorf("%s: what they wrote is gone: %q", where, there)
				}
				delete(got, target)
				for path := range got { // old contents that an error names stay
					if strings.HasPrefix(filepath.Base(path), ".obstat-") {
						if err == nil || !strings.Contains(err.Error(), path) {
							t.Errorf("%s: %s is left behind", where, path)
						}
						delete(got, path)
					}
				}
				all, none := maps.Clone(fileOnly(after)), maps.Clone(fileOnly(before))
				delete(all, target)
				delete(none, target)
				switch {
				case err == nil && equal(got, all):
					applied++
				case err != nil && equal(got, none):
					kept++
				default:
					t.Errorf("%s: tree is %v", where, got)
				}
			}
		}
	}
	if applied == 0 || kept == 0 {
		t.Errorf("%d applied, %d not", applied, kept)
	}
	t.Logf("%d attacks: %d sets applied, %d not", tried, applied, kept)
}

func TestExchange(t *testing.T) {
	for name, swap := range map[string]func(*os.Root, string, string, func(string)) error{"one step": exchange, "in steps": exchangeInSteps} {
		dir, tr := scratch(t, map[string]string{"a": "one", "b": "two"})
		if err := swap(tr.root, "a", "b", func(string) {}); err != nil {
			t.Fatal(err)
		}
		if got := listing(t, dir); !equal(got, map[string]string{"a": "two", "b": "one"}) {
			t.Errorf("%s: %v", name, got)
		}
		if err := swap(tr.root, "a", "c", func(string) {}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s with nothing: %v", name, err)
		}
		if got := listing(t, dir); !equal(got, map[string]string{"a": "two", "b": "one"}) {
			t.Errorf("%s with nothing: %v", name, got)
		}
	}
}
