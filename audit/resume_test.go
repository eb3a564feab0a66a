package audit_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// keepAll audits a site and returns every state that was handed out.
func keepAll(t *testing.T, l *testlog.Log, size uint64, o audit.Options) (*report.Report, []audit.Resume) {
	t.Helper()
	var states []audit.Resume
	o.Keep = func(r audit.Resume) error { states = append(states, r); return nil }
	return run(t, l.Site(size, "w1", "w2"), o), states
}

func read(r *report.Report) string {
	for _, f := range r.Facts {
		if f.Name == "read" {
			return f.Value
		}
	}
	return ""
}

// An audit that goes on answers what one from the beginning does, and checks the
// signatures behind the state only.
func TestResume(t *testing.T) {
	l := testlog.New(t)
	grow(l, 1100)
	o := options(l)
	whole, states := keepAll(t, l, 1100, o)
	hold(t, whole, 0)
	if len(states) != 4 || states[3].Size != 1024 {
		t.Fatalf("%d states", len(states))
	}
	if !strings.Contains(read(whole), "1099 signatures") {
		t.Error(read(whole))
	}
	for _, s := range states {
		again, err := audit.ParseResume(s.Bytes())
		if err != nil || *again != s {
			t.Fatalf("%v, %+v", err, again)
		}
		// Under the tree that it was made in and under one that grew from it.
		for _, size := range []uint64{s.Size, 1100} {
			o.Resume = again
			r := run(t, l.Site(size, "w1", "w2"), o)
			hold(t, r, 0, want{audit.CheckResume, ok, report.CodeOK}, want{audit.CheckSignatures, ok, report.CodeOK})
			words := map[bool]string{true: "1 signatures; ", false: " signatures; "}[size == s.Size+1]
			if !strings.Contains(read(r), words) {
				t.Error(read(r))
			}
		}
	}
}

// Interrupted at any window, the audit goes on from there.
func TestResumeAfterInterrupt(t *testing.T) {
	l := testlog.New(t)
	grow(l, 2*256+300)
	o := options(l)
	o.Window(2)
	var last *audit.Resume
	o.Keep = func(r audit.Resume) error { last = &r; return nil }
	calls := 0
	o.Run = func(n int, fn func(int)) error {
		if calls++; calls > 3 {
			return errors.New("interrupted")
		}
		return audit.Serial(n, fn)
	}
	site := l.Site(l.Size(), "w1", "w2")
	hold(t, run(t, site, o), 3, want{audit.CheckRoot, nc, report.CodeInterrupted})
	if last == nil || last.Size != 2*256 {
		t.Fatalf("%+v", last)
	}
	o.Run, o.Resume = nil, last
	r := run(t, site, o)
	hold(t, r, 0, want{audit.CheckResume, ok, report.CodeOK})
	if !strings.Contains(read(r), " 300 signatures; 511 ") {
		t.Error(read(r))
	}
}

// A state is no way to have anything else than signatures skipped, nor those of
// other leaves than it was made of.
func TestResumeOfOthers(t *testing.T) {
	l := testlog.New(t)
	grow(l, 600)
	o := options(l)
	_, states := keepAll(t, l, 600, o)
	state := states[1]

	// The log was rewritten before it: a signature that does not hold in a leaf
	// that hashes to a tree of its own.
	lying := testlog.Bare(t)
	for i, leaf := range l.Leaves {
		if i == 7 {
			env, err := dsse.ParseLeaf(leaf)
			if err != nil {
				t.Fatal(err)
			}
			env.Sigs[0].Sig[3] ^= 1
			if leaf, err = env.Leaf(); err != nil {
				t.Fatal(err)
			}
		}
		lying.AppendLeaf(leaf)
	}
	o.Resume = &state
	r := run(t, lying.Site(600, "w1", "w2"), o)
	hold(t, r, 1, want{audit.CheckResume, no, report.CodeRootMismatch}, want{audit.CheckSignatures, nc, report.CodeNotReached},
		want{"law-1-judged-first", nc, report.CodeNotReached})
	o.Resume = nil
	hold(t, run(t, lying.Site(600, "w1", "w2"), o), 1, want{audit.CheckSignatures, no, report.CodeSignatureInvalid})

	for name, change := range map[string]func(*audit.Resume){
		"another log":   func(s *audit.Resume) { s.Origin = "example.com/other" },
		"another trust": func(s *audit.Resume) { s.Trust[0] ^= 1 },
		"a larger tree": func(s *audit.Resume) { s.Size = 1024 },
	} {
		s := state
		change(&s)
		o.Resume = &s
		r := run(t, l.Site(600, "w1", "w2"), o)
		hold(t, r, 3, want{audit.CheckResume, nc, report.CodeResumeOther}, want{audit.CheckSignatures, ok, report.CodeOK})
		if !strings.Contains(read(r), "599 signatures") || strings.Contains(read(r), "before") {
			t.Errorf("%s: %s", name, read(r))
		}
	}

	// Nothing is kept of an audit that did not check, or that refuted.
	for name, o := range map[string]audit.Options{
		"no trust": {Policy: l.Policy("2", "w1", "w2")}, "no policy": {Engines: l.Engines()},
	} {
		if _, states := keepAll(t, l, 600, o); len(states) > 0 {
			t.Errorf("%s: %d states", name, len(states))
		}
	}
	if _, states := keepAll(t, lying, 600, options(l)); len(states) > 0 {
		t.Errorf("a bad signature: %d states", len(states))
	}
	failed := errors.New("disk full")
	o = options(l)
	o.Keep = func(audit.Resume) error { return failed }
	if _, err := audit.Log(l.Site(600), o); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}

func TestParseResume(t *testing.T) {
	good := (&audit.Resume{Origin: "example.com/log", Size: 512, Root: merkle.Hash{1}}).Bytes()
	if _, err := audit.ParseResume(good); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		if s, err := audit.ParseResume(good[:i]); err == nil {
			t.Errorf("%d bytes: %+v", i, s)
		}
	}
	for _, change := range [][2]string{
		{"v1", "v2"}, {"size 512", "size 0512"}, {"size 512", "size 0"}, {"size 512", "size 500"}, {"size 512", "size 9223372036854775808"},
		{"\n", "\r\n"}, {"root AQ", "root AR"}, {"trust 00", "trust 0"}, {"trust", "trusts"},
	} {
		b := bytes.Replace(good, []byte(change[0]), []byte(change[1]), 1)
		if change[0] == "root AQ" {
			b = bytes.Replace(good, []byte("AAAA="), []byte("AAAB="), 1)
		}
		if s, err := audit.ParseResume(b); report.CodeOf(err) != report.CodeResumeMalformed {
			t.Errorf("%q: %+v, %v", b, s, err)
		}
	}
	if _, err := audit.ParseResume(bytes.Repeat([]byte("a"), 5000)); err == nil {
		t.Error("no bound")
	}
}

// The log grew from an older checkpoint, or it did not.
func TestSince(t *testing.T) {
	l := testlog.New(t)
	grow(l, 600)
	o := options(l)
	site := l.Site(600, "w1", "w2")
	for _, size := range []uint64{1, 255, 256, 300, 600} {
		o.Since = l.Checkpoint(size)
		hold(t, run(t, site, o), 0, want{audit.CheckGrowth, ok, report.CodeOK})
	}
	o.Since = l.Checkpoint(600)
	hold(t, run(t, l.Site(300, "w1", "w2"), o), 3, want{audit.CheckGrowth, nc, report.CodeProofRange})
	other := testlog.New(t)
	grow(other, 300)
	other.AppendLeaf([]byte("x"))
	o.Since = other.Checkpoint(301)
	hold(t, run(t, site, o), 1, want{audit.CheckGrowth, no, report.CodeLogForked})
	o.Since = []byte{}
	hold(t, run(t, site, o), 3, want{audit.CheckGrowth, nc, report.CodeInputEmpty})
	o.Since = []byte("garbage")
	hold(t, run(t, site, o), 1, want{audit.CheckGrowth, no, report.CodeNoteMalformed})
	delete(site, "checkpoint")
	o.Since = l.Checkpoint(5)
	hold(t, run(t, site, o), 3, want{audit.CheckGrowth, nc, report.CodeNotReached})
}
