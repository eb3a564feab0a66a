package audit_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// sample is how many mutants are judged: one of every byte where the heavy tests
// run, and else so many that they differ from run to run.
func sample(t *testing.T, bytes, few int) (n int, r *rand.Rand) {
	seed := uint64(time.Now().UnixNano())
	n = few
	if os.Getenv("OBSTAT_HEAVY") != "" {
		n = bytes
	}
	fmt.Printf("mutants of %s: %d of %d bytes, seed %d\n", t.Name(), n, bytes, seed)
	return n, rand.New(rand.NewPCG(seed, 2))
}

// TestHeavySiteMutants: no bit of a site can be flipped so that it is still
// verified. Survivors that may be: the checkpoint's line of a witness, where the
// quorum is met without it; here it is not.
func TestHeavySiteMutants(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	if os.Getenv("OBSTAT_HEAVY") == "" {
		grow(l, 270) // two bundles, a full tile and partial ones, which nobody can try whole
	}
	site := l.Site(l.Size(), "w1", "w2")
	o := options(l)
	hold(t, run(t, site, o), 0)
	names := slices.Sorted(maps.Keys(site))
	total := 0
	for _, name := range names {
		total += len(site[name].Data)
	}
	n, r := sample(t, total, 120)
	heavy := n == total
	for _, name := range names {
		data := site[name].Data
		for at := range data {
			if !heavy && r.IntN(total) >= n {
				continue
			}
			changed := bytes.Clone(data)
			changed[at] ^= 1 << r.IntN(8)
			mutant := maps.Clone(site)
			mutant[name] = &fstest.MapFile{Data: changed}
			if r := run(t, mutant, o); r.Overall() == report.AllVerified || r.Overall() == report.LawViolated {
				t.Errorf("byte %d of %s: %s", at, name, r.Conclusion())
			}
		}
	}
}

// TestTrustFileMutants: under a trust file with one byte changed a log is never
// verified, unless the file says what it said. A policy may name a witness
// otherwise, or have another address for it: neither is part of what it asks.
func TestTrustFileMutants(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	site := l.Site(l.Size(), "w1", "w2")
	o := options(l)
	engines, policy := l.Engines().Bytes(), testlog.PolicyFile("2", "w1", "w2")
	n, r := sample(t, 8*(len(engines)+len(policy)), 400)
	for range min(n, 3000) {
		mutant := o
		file := engines
		if r.IntN(2) == 0 {
			file = policy
		}
		changed := bytes.Clone(file)
		at, bit := r.IntN(len(file)), byte(1<<r.IntN(8))
		changed[at] ^= bit
		var err error
		if &file[0] == &engines[0] {
			mutant.Engines, err = trust.ParseEngines(changed)
		} else {
			mutant.Policy, err = trust.ParsePolicy(changed)
		}
		if err != nil {
			if report.CodeOf(err) == report.CodeInternal {
				t.Fatalf("%v", err)
			}
			continue
		}
		if r := run(t, site, mutant); r.Overall() == report.AllVerified && &file[0] == &engines[0] {
			t.Errorf("byte %d, bit %#x of the engine trust file:\n%s", at, bit, changed)
		} else if r.Overall() == report.AllVerified && !onlyNames(policy, changed) {
			t.Errorf("byte %d, bit %#x of the policy:\n%s", at, bit, changed)
		}
	}
}

// onlyNames reports whether two policies differ in nothing but the names that
// witnesses have in them: the second word of a line "witness", and those words
// again in groups and quorum.
func onlyNames(a, b []byte) bool {
	before, err1 := trust.ParsePolicy(a)
	after, err2 := trust.ParsePolicy(b)
	if err1 != nil || err2 != nil || len(before.Witnesses()) != len(after.Witnesses()) || len(before.Logs()) != len(after.Logs()) {
		return false
	}
	for i := range before.Logs() {
		if before.Logs()[i].Key.String() != after.Logs()[i].Key.String() {
			return false
		}
	}
	for i := range before.Witnesses() {
		if before.Witnesses()[i].Key.String() != after.Witnesses()[i].Key.String() {
			return false
		}
	}
	return true
}

// TestHeadMutants: every byte of evidence of a fork, of a checkpoint with its
// proof, of the older checkpoint and of a state, with every bit flipped where the
// heavy tests run and else one of them: never verified, and of a state never
// taken for another.
func TestHeadMutants(t *testing.T) {
	l, other := testlog.New(t), testlog.Bare(t)
	grow(l, 300)
	for i := range 270 {
		other.AppendLeaf([]byte{byte(i), byte(i >> 8)})
	}
	p := quorumNone(t)
	older := l.Checkpoint(260)
	growth := checkpoint.AddCheckpoint{Old: 260, Proof: l.Growth(260, 300), Checkpoint: l.Checkpoint(300)}
	same := bundle.Fork{Checkpoints: [2][]byte{l.Checkpoint(270), other.Checkpoint(270)}}
	grown := bundle.Fork{Checkpoints: [2][]byte{other.Checkpoint(270), l.Checkpoint(300)}, Grown: true, Root: l.Root(270), Proof: l.Growth(270, 300)}
	consistent := func(older, newer []byte) bool {
		r, err := audit.Consistency(audit.Source{Data: older}, audit.Source{Data: newer}, p)
		return err == nil && r.Overall() == report.AllVerified
	}
	o := options(l)
	_, states := keepAll(t, l, 300, o)
	if len(states) != 1 {
		t.Fatalf("%d states", len(states))
	}
	for name, c := range map[string]struct {
		artifact []byte
		verified func([]byte) bool
	}{
		"a fork of one size":          {same.Append(nil), func(b []byte) bool { return audit.Fork(b, p).Overall() == report.AllVerified }},
		"a fork of two sizes":         {grown.Append(nil), func(b []byte) bool { return audit.Fork(b, p).Overall() == report.AllVerified }},
		"a checkpoint with its proof": {growth.Bytes(), func(b []byte) bool { return consistent(older, b) }},
		"the older checkpoint":        {older, func(b []byte) bool { return consistent(b, growth.Bytes()) }},
		"a state": {states[0].Bytes(), func(b []byte) bool {
			o := o
			var err error
			if o.Resume, err = audit.ParseResume(b); err != nil {
				return false
			}
			return run(t, l.Site(300, "w1", "w2"), o).Overall() == report.AllVerified
		}},
	} {
		if !c.verified(c.artifact) {
			t.Fatalf("%s is not verified as it is", name)
		}
		for at := range c.artifact {
			for bit := range 8 {
				if os.Getenv("OBSTAT_HEAVY") == "" && bit != at%8 {
					continue
				}
				changed := bytes.Clone(c.artifact)
				changed[at] ^= 1 << bit
				if c.verified(changed) {
					t.Errorf("%s, byte %d, bit %d: still verified\n%s", name, at, bit, changed)
				}
			}
			if c.verified(append(bytes.Clone(c.artifact[:at]), c.artifact[at+1:]...)) {
				t.Errorf("%s without byte %d is verified", name, at)
			}
		}
	}
}
