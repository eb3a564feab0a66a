package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat/internal/testlog"
)

var update = flag.Bool("update", false, "write the golden files of inspect")

// TestInspectShows holds what a person is shown of a receipt of every kind and
// disposition, and of every other artifact. go test ./cmd/verify -update
func TestInspectShows(t *testing.T) {
	l := testlog.New(t)
	artifacts := map[string][]byte{}
	for name, index := range l.Examples() {
		artifacts["leaf-"+name] = l.Leaves[index]
	}
	fixed := fixtures(t)
	for _, name := range []string{
		"disclosed.receipt.json", "admit.tlog-proof", "admit.dsse.json", "later.chain.json", "log.policy", "engines.trust", "plain.trust",
		"older.checkpoint", "growth.txt", "same.fork.json", "grown.fork.json", "empty", "garbage", "v2.receipt.json",
	} {
		artifacts[name] = fixed[name]
	}
	golden := map[string]bool{}
	for name, data := range artifacts {
		var stdout, stderr bytes.Buffer
		run([]string{"inspect", "-"}, bytes.NewReader(data), &stdout, &stderr)
		if stderr.Len() > 0 {
			t.Errorf("%s: %s", name, &stderr)
		}
		file := filepath.Join("testdata", "inspect", name+".txt")
		golden[file] = true
		if *update {
			check(t, os.MkdirAll(filepath.Dir(file), 0o777))
			check(t, os.WriteFile(file, stdout.Bytes(), 0o666))
			continue
		}
		want, err := os.ReadFile(file)
		check(t, err)
		if diff := cmp.Diff(string(want), stdout.String()); diff != "" {
			t.Errorf("%s (-golden +shown):\n%s", name, diff)
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "inspect", "*.txt"))
	check(t, err)
	for _, file := range files {
		if !golden[file] {
			t.Errorf("%s is of no artifact", file)
		}
	}
}
