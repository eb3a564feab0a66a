package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/report"
)

// successionsName is where the evidence is kept that one log goes on as another.
const successionsName = "successions"

// maxSuccession is the most that such a file may have, in bytes.
const maxSuccession = 16 << 20

// cmdFollow points a gate at the log that goes on where its log ended. Nothing is
// changed before the succession was verified under the trust in the old one.
func cmdFollow(ctx context.Context, args []string, c console) error {
	f := flags("follow", helpFollow, c)
	dir := f.String("dir", ".gate", "")
	url := f.String("log", "", "")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() != 1 || *url == "" {
		return usagef("follow needs --log URL, where the log that goes on answers, and one file, the succession")
	}
	evidence, err := os.ReadFile(f.Arg(0))
	if err != nil {
		return err
	}
	s, err := begin(*dir, c)
	if err != nil {
		return err
	}
	was := s.client.Origin()
	defer s.client.Close()
	held, err := lock(s.tree)
	if err != nil {
		return err
	}
	defer held.Close()

	next := *s.cfg
	name := fmt.Sprintf("%d.succession.json", len(next.Successions)+1)
	next.Log = *url
	next.Successions = append(next.Successions[:len(next.Successions):len(next.Successions)], filepath.Join(successionsName, name))
	more, err := bundle.ParseSuccession(evidence)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Arg(0), err)
	}
	there, err := s.cfg.client(s.trust, append(s.successions[:len(s.successions):len(s.successions)], more), *url)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Arg(0), err)
	}
	there.Close()

	if err := s.lastPromises(ctx); err != nil {
		return err
	}
	if err := s.tree.Mkdir(successionsName); err != nil {
		return err
	}
	if err := durable.WriteFile(s.tree, filepath.Join(successionsName, name), evidence); err != nil {
		return err
	}
	b, err := next.text()
	if err != nil {
		return err
	}
	if err := durable.WriteFile(s.tree, configName, b); err != nil {
		return err
	}
	c.say("%s goes on as %s, as its registrars say; now: gate sync, which sends there what waits", was, there.Origin())
	return nil
}

// lastPromises holds the log that ended to its promises while it answers: the one
// that goes on cannot keep them.
func (s *session) lastPromises(ctx context.Context) error {
	names, err := s.runs()
	if err != nil {
		return err
	}
	for _, name := range names {
		past, err := client.Look(s.runDir(name))
		if err != nil {
			return err
		}
		was := past.Standing()
		if was.Promises == 0 && was.Unanswered == 0 {
			continue
		}
		if err := s.openRun(name); err != nil {
			return err
		}
		// What it took before it ended it answers still, and what it did not take it
		// refuses.
		if err := s.run.Flush(ctx); err != nil && report.CodeOf(err) != report.CodeLogFrozen {
			s.say("run %s: %v", name, err)
		}
		left, err := s.run.CheckPromises(ctx)
		if e := s.run.Close(); e != nil {
			return errors.Join(err, e)
		}
		var broken *client.ProofError
		switch {
		case errors.As(err, &broken):
			s.say("run %s: %v", name, err) // and all the more reason to leave
		case err != nil:
			s.say("run %s: %d answers stay the word of the log that ended: %v", name, left, err)
		case left > 0:
			s.say("run %s: %d answers stay the word of the log that ended", name, left)
		}
	}
	return nil
}

// explainEnd says what to do where a log says that it ended, and whether it proves
// that.
func (s *session) explainEnd(ctx context.Context, err error) {
	if report.CodeOf(err) != report.CodeLogFrozen {
		return
	}
	z, ended, e := s.client.Frozen(ctx)
	switch {
	case e != nil:
		s.say("the log does not prove that it ended: %v", e)
	case !ended:
		s.say("the log's registry has no freeze: it did not end, and refuses all the same")
	case z.Heir == nil:
		s.say("its registrars ended the log at leaf %d and do not say there who goes on. What waits is kept here; ask them for the succession: gate help follow", z.Leaf)
	default:
		s.say("its registrars ended the log at leaf %d, and %s goes on. What waits is kept here; ask them for the succession: gate help follow", z.Leaf, z.Heir.Log)
	}
}
