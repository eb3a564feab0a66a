package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/trust"
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
	artifacts["leaf-registry-genesis"] = l.Leaves[0]
	revoked := l.Change(trust.Change{
		Add:    []trust.Addition{testlog.Add("engine-2", trust.Engine)},
		Revoke: []trust.Revocation{{Key: trust.PublicKey(testlog.Public("engine")), From: 3, HasFrom: true}},
	})
	artifacts["leaf-registry-change"] = l.Leaves[revoked]
	artifacts["vocabulary"] = receipt.StandardVocabulary().Document()
	disclosed, err := preview.NewDisclosure(preview.Salt{1}, preview.FieldPath, "0", preview.Text("docs/a.txt"))
	check(t, err)
	artifacts["disclosure.json"], err = disclosed.MarshalJSON()
	check(t, err)
	few := testlog.New(t)
	opening := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "run-1")
	few.Append(few.Sign(opening.Add(receipttest.Open(testlog.Origin)), "engine"))
	few.AppendLeaf([]byte("another log's"))
	for path, f := range few.Site(3) {
		switch {
		case strings.HasPrefix(path, "tile/entries/"):
			artifacts["entries"] = f.Data
		case strings.HasPrefix(path, "tile/0/"):
			artifacts["tile"] = f.Data
		}
	}
	for few.Size() < merkle.TileWidth {
		few.AppendLeaf([]byte{byte(few.Size())})
	}
	artifacts["tile-full"] = few.Site(merkle.TileWidth)["tile/0/000"].Data
	artifacts["leaf-cut"] = few.Leaves[0][:len(few.Leaves[0])/2]
	fixed := fixtures(t)
	for _, name := range []string{
		"disclosed.receipt.json", "admit.tlog-proof", "admit.dsse.json", "later.chain.json", "log.policy", "engines.trust", "plain.trust",
		"older.checkpoint", "growth.txt", "same.fork.json", "grown.fork.json", "empty", "garbage", "v2.receipt.json",
		"bad.policy", "bad.trust",
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
