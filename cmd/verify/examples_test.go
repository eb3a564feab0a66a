//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/trust"
)

// What a person has beside the program, in the words of the examples. Paths of
// the examples that begin at the root are made to begin here.
var shims = map[string]string{
	"fetch-it": "cat judgment.dsse.json",
	"apply":    "echo applied",
	"ssh":      "shift; exec \"$@\"",
}

// examplesOf returns the commands of a help text: what is indented by four and
// more in its last section, lines that end in a backslash joined.
func examplesOf(help string) (commands []string) {
	_, section, _ := strings.Cut(help, "\nEXAMPLES\n")
	section = strings.ReplaceAll(strings.ReplaceAll(section, "\\\n", ""), "&&\n", "&&")
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "  verify ") {
			commands = append(commands, strings.Join(strings.Fields(line), " "))
		}
	}
	return commands
}

// TestExamplesOfHelp runs every example of every help text as it stands there.
func TestExamplesOfHelp(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	check(t, os.Mkdir(bin, 0o777))
	self, err := os.Executable()
	check(t, err)
	check(t, os.Symlink(self, filepath.Join(bin, "verify")))
	for name, line := range shims {
		check(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+line+"\n"), 0o777))
	}
	if _, err := exec.LookPath("jq"); err != nil { // that it prints is not the point
		check(t, os.WriteFile(filepath.Join(bin, "jq"), []byte("#!/bin/sh\nexec cat\n"), 0o777))
	}
	for name, data := range ofTheExamples(t) {
		path := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o777))
		check(t, os.WriteFile(path, data, 0o666))
	}
	frozen, err := filepath.Abs("../../corpus/v1")
	check(t, err)
	manifest, err := os.ReadFile(filepath.Join(frozen, corpus.ManifestName))
	check(t, err)
	m, err := corpus.Parse(manifest)
	check(t, err)
	for _, name := range []string{"corpus", "var/tmp"} {
		check(t, os.MkdirAll(filepath.Join(dir, name), 0o777))
	}
	check(t, os.Symlink(frozen, filepath.Join(dir, "corpus/v1")))
	place := strings.NewReplacer(" /srv/", " srv/", " /var/", " var/", "5f0c...", m.Digest.String())

	helps := map[string]string{"verify": helpMain()}
	for _, c := range commands() {
		helps[c.name] = c.help
	}
	// Examples that ask a question to which the answer is no.
	noes := map[string]int{"--registry today.json": 1}
	for name, help := range helps {
		examples := examplesOf(help)
		if len(examples) == 0 {
			t.Errorf("help of %s has no example", name)
		}
		for _, example := range examples {
			want := 0
			for part, status := range noes {
				if strings.Contains(example, part) {
					want = status
				}
			}
			cmd := exec.Command("sh", "-c", place.Replace(example))
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != want {
				t.Errorf("%s: status %d, want %d:\n%s", example, got, want, out)
			}
		}
	}
}

// ofTheExamples are the files that the examples name: of a log with one run of
// deploy-bot, begun and closed.
func ofTheExamples(t *testing.T) map[string][]byte {
	t.Helper()
	const bot = "deploy-bot"
	l, other := testlog.New(t, testlog.Add(bot, trust.Engine)), testlog.New(t)
	run := receipttest.NewRun(receipt.KeyID(testlog.ID(bot)), "2026-11-30-7")
	l.Append(l.Sign(run.Add(receipttest.Open(testlog.Origin)), bot))
	d := run.Add(receipttest.Judgment("request", receipttest.Admit("rule-1")))
	judgment := l.Append(l.Sign(d, bot))
	kept := l.Size()
	l.Append(l.Sign(run.Settle(d, receipt.Committed{Fired: receipttest.RequestOf(d)}), bot))
	l.Append(l.Sign(run.Close(), bot))
	now := l.Size()
	for other.Size() < now {
		other.AppendLeaf([]byte{byte(other.Size())})
	}
	b := l.Bundle(judgment, now, "w1", "w2")
	env, err := dsse.ParseLeaf(l.Leaves[judgment])
	check(t, err)
	plain := trust.Engines{Origin: testlog.Origin, Keys: []trust.PlainKey{{Principal: bot, Role: trust.Engine, Public: testlog.Public(bot), ID: testlog.ID(bot)}}}
	growth := checkpoint.AddCheckpoint{Old: kept, Proof: l.Growth(kept, now), Checkpoint: l.Checkpoint(now, "w1", "w2")}
	files := map[string][]byte{
		"log.policy":         testlog.PolicyFile("2", "w1", "w2", "w3"),
		"engines.trust":      l.Engines().Bytes(),
		"engine.trust":       plain.Bytes(),
		"judgment.dsse.json": env.JSON(),
		"x.receipt.json":     b.Append(nil),
		"checkpoint":         l.Checkpoint(now, "w1", "w2"),
		"last.checkpoint":    l.Checkpoint(kept, "w1", "w2"),
		"kept.checkpoint":    l.Checkpoint(kept, "w1", "w2"),
		"old.receipt.json":   l.Bundle(judgment, kept, "w1", "w2").Append(nil),
		"growth.txt":         growth.Bytes(),
		"a.receipt.json":     b.Append(nil),
	}
	b.Proof.Checkpoint = other.Checkpoint(now, "w1", "w2")
	files["b.receipt.json"] = b.Append(nil)
	files["caught.fork.json"] = (&bundle.Fork{Checkpoints: [2][]byte{l.Checkpoint(now), other.Checkpoint(now)}}).Append(nil)
	site("srv/mirror", l, now, files)
	site("srv/log/log/site", l, now, files)
	for _, name := range []string{"log.policy", "engines.trust"} {
		files["cases/"+name] = files[name]
	}
	files["cases/bundles/x.receipt.json"] = files["x.receipt.json"]
	l.Change(trust.Change{Revoke: []trust.Revocation{{Key: trust.PublicKey(testlog.Public(bot)), From: 1, HasFrom: true}}})
	files["today.json"] = (&bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size(), "w1", "w2")}).Append(nil)
	return files
}
