package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/receipt"
)

// refusals are effects that must not happen, and one that is let happen and
// fails. After each, the demo looks where it would show.
func (s *stage) refusals(ctx context.Context) error {
	s.head("3  Refusals, each with its receipt, and one command that fails")
	for _, scene := range []func(context.Context) error{s.denied, s.expired, s.diverged, s.stale, s.failing} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) denied(ctx context.Context) error {
	_, err := s.do(ctx, act{
		what: "git rm -rf src", effect: s.command("rm", "-rf", "src"), verdict: "deny",
	})
	s.check(s.holds("src/main.txt", "hello\n"), "src/main.txt is still there")
	return err
}

func (s *stage) expired(ctx context.Context) error {
	_, err := s.do(ctx, act{
		what: "git tag v1 (red)", effect: s.command("tag", "v1"), class: receipt.Red,
		verdict: "escalate", disposition: "expired",
		between: func() error {
			s.say("                             waiting %v for alice; silence is a denial", s.patience)
			return nil
		},
	})
	s.check(!exists(s.repo, ".git/refs/tags/v1"), "there is no tag v1")
	return err
}

func (s *stage) diverged(ctx context.Context) error {
	e := s.command("branch", "keep")
	_, err := s.do(ctx, act{
		what: "git branch keep", effect: e, verdict: "admit", disposition: "diverged",
		between: func() error {
			name := []byte(e.Argv[2])
			name[3] ^= 1 // one bit: keep, keeq
			e.Argv[2] = string(name)
			s.say("                             one bit of the request changes: git branch %s", name)
			return nil
		},
	})
	s.check(!exists(s.repo, ".git/refs/heads/keep") && !exists(s.repo, ".git/refs/heads/keeq"),
		"there is neither a branch keep nor a branch keeq")
	return err
}

func (s *stage) stale(ctx context.Context) error {
	files, err := gate.PlanFiles(s.repo,
		gate.FileChange{Path: "README", After: []byte("By the engine.\n")},
		gate.FileChange{Path: "src/more.txt", After: []byte("more\n")})
	if err != nil {
		return err
	}
	const theirs = "By somebody else.\n"
	_, err = s.do(ctx, act{
		what: "write README, src/more.txt", effect: files, verdict: "admit", disposition: "stale",
		between: func() error {
			s.say("                             somebody else writes README")
			return os.WriteFile(filepath.Join(s.repo, "README"), []byte(theirs), 0o644)
		},
	})
	s.check(s.holds("README", theirs), "README is what somebody else wrote")
	s.check(!exists(s.repo, "src/more.txt"), "src/more.txt was not made: all of the set or nothing")
	return err
}

func (s *stage) failing(ctx context.Context) error {
	head := filepath.Join(s.repo, ".git/refs/heads/main")
	before, err := os.ReadFile(head)
	if err != nil {
		return err
	}
	_, err = s.do(ctx, act{
		what: "git commit -q -m Nothing", effect: s.command("commit", "-q", "-m", "Nothing"),
		verdict: "admit", disposition: "failed",
	})
	after, _ := os.ReadFile(head) // unreadable is not equal
	s.check(bytes.Equal(before, after), "main is where it was: nothing was staged to commit")
	return err
}

// holds reports whether a file of the repository holds exactly text.
func (s *stage) holds(name, text string) bool {
	b, err := os.ReadFile(filepath.Join(s.repo, name))
	return err == nil && string(b) == text
}
