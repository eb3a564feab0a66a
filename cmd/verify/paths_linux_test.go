package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// asked matches what strace -y writes of a call that names a file: the directory
// that the name is relative to, if one stands there, and the name.
var asked = regexp.MustCompile(`^[0-9]+ +\w+\((?:(?:AT_FDCWD|[0-9]+)<([^>]*)>, )?"([^"]*)"`)

// opened matches the file that such a call gave, whatever links led there.
var opened = regexp.MustCompile(`= [0-9]+<([^>]*)>$`)

// ofTheRuntime are files that a Go program reads before it begins.
var ofTheRuntime = regexp.MustCompile(`^(/sys/kernel/mm/transparent_hugepage/|/sys/fs/cgroup/|/proc/(self|[0-9]+)/(cgroup|mountinfo|maps|auxv)$|/dev/null$)`)

// TestAsksForNothingElse holds, by the system calls of every command, that no
// file is asked for but those that were named, and what is in a directory that
// was.
func TestAsksForNothingElse(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("there is no strace here to say which files are asked for")
	}
	at := in(t)
	program := filepath.Join(t.TempDir(), "verify")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(strace, "-f", "-o", os.DevNull, program, "version").CombinedOutput(); err != nil {
		t.Skipf("strace does not run here: %v %s", err, out)
	}
	work := t.TempDir()
	// A mirror with a way out of it, and a file beside everything that a careless
	// reader might take for its own.
	check(t, os.Remove(at("good/checkpoint")))
	check(t, os.Symlink(at("older.checkpoint"), at("good/checkpoint")))
	both := []string{"--policy", at("log.policy"), "--trust", at("engines.trust")}
	for _, args := range [][]string{
		append([]string{"receipt", at("admit.dsse.json")}, both...),
		append([]string{"bundle", "--registry", at("later.chain.json"), at("bare.receipt.json")}, both...),
		append([]string{"bundle", at("admit.tlog-proof")}, both...),
		{"consistency", "--policy", at("log.policy"), at("older.checkpoint"), at("growth.txt")},
		{"consistency", "--policy", at("log.policy"), at("older-long.checkpoint"), at("longer")},
		{"fork", "--policy", at("log.policy"), at("same.fork.json")},
		append([]string{"log", "--work", work, "--since", at("older-long.checkpoint"), at("longer")}, both...),
		append([]string{"log", at("good")}, both...),
		append([]string{"run", "--principal", "engine", "--run", "long", at("long")}, both...),
		{"inspect", at("admit.receipt.json")},
		{"corpus", at("site")},
	} {
		trace := filepath.Join(t.TempDir(), "trace")
		cmd := exec.Command(strace, append([]string{"-f", "-y", "-qq", "-e", "trace=%file", "-s", "4096", "-o", trace, program}, args...)...)
		out, err := cmd.CombinedOutput()
		if _, exited := err.(*exec.ExitError); err != nil && !exited {
			t.Fatal(err)
		}
		text, err := os.ReadFile(trace)
		check(t, err)
		seen := 0
		for line := range strings.Lines(string(text)) {
			m := asked.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			names := []string{filepath.Join(m[1], m[2])}
			if filepath.IsAbs(m[2]) {
				names[0] = m[2]
			}
			if m := opened.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				names = append(names, m[1])
			}
			for _, name := range names {
				if name == program || ofTheRuntime.MatchString(name) {
					continue
				}
				seen++
				if !slices.ContainsFunc(append(args, work), func(arg string) bool {
					return filepath.IsAbs(arg) && (name == arg || strings.HasPrefix(name, arg+"/"))
				}) {
					t.Errorf("%s asks for %s: %s\n%s", args[0], name, line, out)
				}
			}
		}
		if seen == 0 {
			t.Errorf("%s asks for no file at all:\n%s", args[0], text)
		}
	}
}
