package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// each gives an artifact to every command that reads one from standard input.
func each(at func(string) string, do func(command string, args []string)) {
	policy := []string{"--policy", at("log.policy")}
	both := append(policy, "--trust", at("engines.trust"))
	do("receipt", append([]string{"receipt"}, both...))
	do("bundle", append([]string{"bundle"}, both...))
	do("fork", append([]string{"fork"}, policy...))
	do("inspect", []string{"inspect"})
	do("older", append(append([]string{"consistency"}, policy...), at("growth.txt")))
	do("registry", append(append([]string{"bundle"}, both...), "--registry", "-", at("bare.receipt.json")))
	do("since", append(append([]string{"log"}, both...), "--since", "-", at("good")))
	do("archive", append(append([]string{"log"}, both...), "--work", os.TempDir()))
}

// answer runs a command with the artifact on standard input.
func answer(t testing.TB, command string, args []string, data []byte) (status int, text string) {
	t.Helper()
	if command != "registry" && command != "since" {
		args = append(args[:len(args):len(args)], "-")
	}
	var stdout, stderr bytes.Buffer
	status = run(args, bytes.NewReader(data), &stdout, &stderr)
	if status == statusUsage || stderr.Len() > 0 {
		t.Fatalf("%s: status %d: %s", command, status, &stderr)
	}
	return status, stdout.String()
}

// Every artifact, to every command, cut or with a byte changed: an answer of the
// table and never usage, since the content of what can be read is never a matter
// of it. At every length and in every byte where the heavy tests run, and else in
// a few that differ from run to run.
func TestHeavyCutAndChanged(t *testing.T) {
	at := in(t)
	files := fixtures(t)
	whole := os.Getenv("OBSTAT_HEAVY") != ""
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for name, data := range files {
		if strings.Contains(name, "/") || len(data) > 8<<10 {
			continue
		}
		each(at, func(command string, args []string) {
			places := []int{0, len(data)}
			for range 4 {
				places = append(places, r.IntN(len(data)+1))
			}
			switch {
			case command == "since" && r.IntN(4) > 0: // audits a whole log each time
				return
			case whole && command != "since":
				places = places[:0]
				for n := range len(data) + 1 {
					places = append(places, n)
				}
			}
			for _, n := range places {
				answer(t, command, args, data[:n])
				if n < len(data) {
					changed := bytes.Clone(data)
					changed[n] ^= byte(1 + r.IntN(255))
					answer(t, command, args, changed)
				}
			}
		})
	}
}

// What claims more than it has is refused with a code, at once and in little
// memory; so is what nests without end.
func TestClaims(t *testing.T) {
	at := in(t)
	artifacts := map[string]string{
		"a string of 4 GiB":        "\xa3\x64sigs\x9b\x00\x00\x00\x01\x00\x00\x00\x00",
		"a byte string of 4 GiB":   "\x5b\x00\x00\x00\x01\x00\x00\x00\x00x",
		"a map of 2^62":            "\xbb\x40\x00\x00\x00\x00\x00\x00\x00",
		"nested arrays":            strings.Repeat("\x81", 100_000),
		"nested JSON":              strings.Repeat("[", 1<<20),
		"nested objects":           strings.Repeat(`{"a":`, 1<<18),
		"a number of 1 MiB":        `{"mediaType":` + strings.Repeat("9", 1<<20) + "}",
		"a line without end":       strings.Repeat("a", 1<<20),
		"an index without end":     "c2sp.org/tlog-proof@v1\nindex " + strings.Repeat("9", 1<<16) + "\n\n",
		"hashes without end":       "old 1\n" + strings.Repeat("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n", 1<<15),
		"signatures without end":   "a\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n" + strings.Repeat("— a AAAAAQI=\n", 1<<16),
		"a bundle of 17 MiB":       `{"mediaType":"application/vnd.obstat.bundle.v1+json","level":"` + strings.Repeat("x", 17<<20) + `"}`,
		"ten thousand disclosures": `{"mediaType":"application/vnd.obstat.bundle.v1+json","disclosures":[` + strings.Repeat("{},", 9999) + "{}]}",
	}
	for name, text := range artifacts {
		each(at, func(command string, args []string) {
			began := time.Now()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			status, out := answer(t, command, args, []byte(text))
			runtime.ReadMemStats(&after)
			// All that was ever asked for, which is more than is held at once.
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 16<<20+12*uint64(len(text)) {
				t.Errorf("%s to %s: %d bytes of memory for %d", name, command, bytes, len(text))
			}
			if status != 1 && status != 3 {
				t.Errorf("%s to %s: status %d\n%s", name, command, status, out)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("%s to %s took %v", name, command, took)
			}
		})
	}
}

// endless has no end, as a device or a pipe that somebody keeps writing to.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.read += int64(len(p)); e.read > 256<<20 {
		return 0, io.ErrNoProgress
	}
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// Of standard input no more is read than an artifact may have.
func TestEndlessInput(t *testing.T) {
	at := in(t)
	each(at, func(command string, args []string) {
		if command == "archive" {
			return // which is kept in a file, as large as it is
		}
		if command != "registry" && command != "since" {
			args = append(args[:len(args):len(args)], "-")
		}
		in := &endless{}
		var stdout, stderr bytes.Buffer
		if status := run(args, in, &stdout, &stderr); status != 1 && status != 3 {
			t.Errorf("%s: status %d after %d bytes: %s", command, status, in.read, &stderr)
		}
	})
}

// What cannot be read is a matter of the call: a file that is not there, a
// directory, a file of which reading fails; as the operand and under every flag
// that names a file. No report is printed, and the message names it.
func TestUnreadable(t *testing.T) {
	at := in(t)
	places := map[string]string{"directory": at("good/tile"), "missing": at("nowhere")}
	if _, err := os.Stat("/proc/self/mem"); err == nil {
		places["failing"] = "/proc/self/mem"
	}
	policy, trust := []string{"--policy", at("log.policy")}, []string{"--trust", at("engines.trust")}
	both := slices.Concat(policy, trust)
	for what, bad := range places {
		calls := [][]string{
			append([]string{"receipt", bad}, both...),
			append([]string{"bundle", bad}, both...),
			append([]string{"fork", bad}, policy...),
			{"inspect", bad},
			append([]string{"receipt", at("admit.dsse.json"), "--policy", bad}, trust...),
			append([]string{"receipt", at("admit.dsse.json"), "--trust", bad}, policy...),
			append([]string{"receipt", at("admit.dsse.json"), "--registry", bad}, both...),
			append([]string{"bundle", at("bare.receipt.json"), "--policy", bad}, trust...),
			append([]string{"bundle", at("bare.receipt.json"), "--trust", bad}, policy...),
			append([]string{"bundle", at("bare.receipt.json"), "--registry", bad}, both...),
			{"consistency", "--policy", bad, at("older.checkpoint"), at("growth.txt")},
			{"fork", "--policy", bad, at("same.fork.json")},
			append([]string{"log", at("good"), "--since", bad}, both...),
			append([]string{"log", at("good"), "--state", bad}, both...),
			append([]string{"log", at("good"), "--vocabulary", bad}, both...),
			append([]string{"log", at("good"), "--work", at("older.checkpoint")}, both...),
			append([]string{"run", at("good"), "--principal", "engine", "--run", "run-1", "--trust", bad}, policy...),
		}
		if what != "directory" { // of which these take one
			calls = append(calls,
				append([]string{"consistency", bad, at("growth.txt")}, policy...),
				append([]string{"consistency", at("older.checkpoint"), bad}, policy...),
				append([]string{"fork", at("older.checkpoint"), bad}, policy...))
		}
		if what == "missing" { // and there is nothing yet where a state will be
			calls = slices.DeleteFunc(calls, func(args []string) bool { return slices.Contains(args, "--state") })
		}
		for _, args := range calls {
			var stdout, stderr bytes.Buffer
			if status := run(args, nil, &stdout, &stderr); status != statusUsage || stdout.Len() > 0 {
				t.Errorf("%s: %v: status %d\n%s", what, args, status, &stdout)
			}
			if !strings.Contains(stderr.String(), bad) && !strings.Contains(stderr.String(), at("older.checkpoint")) {
				t.Errorf("%s: %v: %q does not say which", what, args, stderr.String())
			}
		}
	}
}
