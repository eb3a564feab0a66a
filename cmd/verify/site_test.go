//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What stands where a file of the site belongs and is none is an answer about
// the site: never a hang, and never taken for a fault of the call.
func TestSiteOfOtherThings(t *testing.T) {
	at := in(t)
	files := []string{"checkpoint"}
	outside := filepath.Join(t.TempDir(), "outside")
	check(t, os.WriteFile(outside, []byte("a secret\n"), 0o666))
	check(t, filepath.WalkDir(at("good/tile"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(at("good"), path)
			files = append(files, rel)
		}
		return err
	}))
	for what, put := range map[string]func(string) error{
		"fifo":      func(p string) error { return syscall.Mkfifo(p, 0o666) },
		"directory": func(p string) error { return os.Mkdir(p, 0o777) },
		"loop":      func(p string) error { return os.Symlink(filepath.Base(p), p) },
		"dangling":  func(p string) error { return os.Symlink("nowhere", p) },
		"device":    func(p string) error { return os.Symlink("/dev/zero", p) },
		"way out":   func(p string) error { return os.Symlink(outside, p) },
	} {
		for _, name := range files {
			t.Run(what+" "+strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
				path := at("good/" + name)
				data, err := os.ReadFile(path)
				check(t, err)
				check(t, os.Remove(path))
				check(t, put(path))
				defer func() {
					check(t, os.Remove(path))
					check(t, os.WriteFile(path, data, 0o666))
				}()
				var stdout, stderr bytes.Buffer
				status := make(chan int, 1)
				go func() {
					status <- run([]string{"log", "--policy", at("log.policy"), "--trust", at("engines.trust"), at("good")}, nil, &stdout, &stderr)
				}()
				select {
				case got := <-status:
					if got != 3 || !strings.Contains(stdout.String(), "TILE-MISSING") {
						t.Errorf("%d %s\n%s", got, stderr.String(), stdout.String())
					}
				case <-time.After(time.Minute):
					if what == "fifo" { // let the reader go
						if f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
							f.Close()
						}
					}
					t.Fatal("it hangs")
				}
			})
		}
	}
	// Links that stay inside are as good as files; a link to the directory is the
	// caller's own.
	check(t, os.Rename(at("good/checkpoint"), at("good/signed")))
	check(t, os.Symlink("signed", at("good/checkpoint")))
	check(t, os.Symlink("good", at("mirror")))
	if got := run([]string{"log", "--policy", at("log.policy"), "--trust", at("engines.trust"), at("mirror")}, nil, io.Discard, io.Discard); got != 0 {
		t.Errorf("behind links inside: %d", got)
	}
	// A directory that cannot be one: a file stands where "tile" belongs.
	check(t, os.RemoveAll(at("good/tile")))
	check(t, os.WriteFile(at("good/tile"), nil, 0o666))
	var stdout, stderr bytes.Buffer
	if got := run([]string{"log", "--policy", at("log.policy"), "--trust", at("engines.trust"), at("good")}, nil, &stdout, &stderr); got != 3 {
		t.Errorf("%d %s", got, stderr.String())
	}
}
