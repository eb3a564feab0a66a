package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/report"
)

// small returns a sorter that has to use files.
func small(t testing.TB, ctx context.Context, memory, files int) *sorter {
	t.Helper()
	s, err := newSorter(ctx, t.TempDir())
	check(t, err)
	s.memory, s.files = memory, files
	return s
}

func sorted(s *sorter) (out [][]byte, err error) {
	for r, err := range s.Sorted() {
		if err != nil {
			return nil, err
		}
		out = append(out, bytes.Clone(r))
	}
	return out, nil
}

// Whatever is added comes back in order, from memory, from one run, and from
// runs of runs.
func TestSorterProperty(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s, err := newSorter(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		s.memory, s.files = rapid.SampledFrom([]int{1, 200, 1 << 20}).Draw(t, "memory"), rapid.IntRange(2, 5).Draw(t, "files")
		all := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 60), 0, 120).Draw(t, "records")
		used := make([]byte, 0, 60) // again and again, as the laws do
		for _, r := range all {
			used = append(used[:0], r...)
			if err := s.Add(used); err != nil {
				t.Fatal(err)
			}
		}
		got, err := sorted(s)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(all, bytes.Compare)
		if !slices.EqualFunc(got, all, bytes.Equal) {
			t.Fatalf("%x, want %x", got, all)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Files that are read at once are bounded, whatever is added.
func TestSorterMergesRuns(t *testing.T) {
	s := small(t, t.Context(), 1, 4)
	for i := range 200 {
		check(t, s.Add([]byte{byte(i * 7)}))
		for level, names := range s.runs {
			if len(names) >= 4 {
				t.Fatalf("%d runs of level %d", len(names), level)
			}
		}
	}
	files, err := os.ReadDir(s.dir)
	if err != nil || len(files) > 3*4 {
		t.Errorf("%d files, %v", len(files), err)
	}
	if got, err := sorted(s); err != nil || len(got) != 200 {
		t.Errorf("%d, %v", len(got), err)
	}
}

// A file that is not what was written is an error and never an answer.
func TestSorterDamage(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"cut":          func(b []byte) []byte { return b[:len(b)-1] },
		"cut at a run": func(b []byte) []byte { return b[:0] },
		"length":       func(b []byte) []byte { return append([]byte{0xff, 0xff, 0xff, 0x7f}, b...) },
		"gone":         nil,
	} {
		s := small(t, t.Context(), 1, 64)
		for _, r := range []string{"one", "two", "three"} {
			check(t, s.Add([]byte(r)))
		}
		path := filepath.Join(s.dir, "1")
		b, err := os.ReadFile(path)
		check(t, err)
		if damage == nil {
			check(t, os.Remove(path))
		} else {
			check(t, os.WriteFile(path, damage(b), 0o600))
		}
		if got, err := sorted(s); err == nil {
			t.Errorf("%s: %q", name, got)
		}
		check(t, s.Close())
	}
	s := small(t, t.Context(), 1, 64)
	check(t, s.Close()) // and with it the directory
	if err := errorOf(s.Add([]byte("one")), s.Add([]byte("two"))); err == nil {
		t.Error("nowhere to write, and no error")
	}
	if err := s.Add(make([]byte, sorterRecord+1)); err == nil {
		t.Error("a record of any size")
	}
	if _, err := newSorter(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no directory, and no error")
	}
}

func errorOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestSorterIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := small(t, ctx, 1, 64)
	check(t, s.Add([]byte("one")))
	cancel()
	if _, err := sorted(s); report.CodeOf(err) != report.CodeInterrupted {
		t.Error(err)
	}
}
