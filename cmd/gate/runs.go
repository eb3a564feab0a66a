package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/gate/policy"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

const (
	engineName    = "obstat-gate"
	engineVersion = "1"
)

// cmdRun opens and closes runs.
func cmdRun(ctx context.Context, args []string, c console) error {
	if len(args) == 0 {
		return usagef("run open NAME, or run close")
	}
	f := flags("run", helpRun, c)
	dir := f.String("dir", ".gate", "")
	var also []receipt.Name
	f.Func("also", "", func(s string) error {
		if !verdict.ValidName(s) {
			return fmt.Errorf("%q is no origin of a log", s)
		}
		also = append(also, receipt.Name(s))
		return nil
	})
	if err := parse(f, args[1:]); err != nil {
		return err
	}
	switch {
	case args[0] == "open" && f.NArg() == 1:
		return openRun(ctx, *dir, f.Arg(0), also, c)
	case args[0] == "close" && f.NArg() == 0 && also == nil:
		return closeRun(ctx, *dir, c)
	}
	return usagef("run open NAME, or run close")
}

func openRun(ctx context.Context, dir, name string, also []receipt.Name, c console) (err error) {
	if !verdict.ValidName(name) || filepath.Base(name) != name || name == "." || name == ".." {
		return usagef("%q is no name for a run: 1 to %d bytes from [A-Za-z0-9._@:+-]", name, verdict.MaxName)
	}
	s, err := begin(dir, c)
	if err != nil {
		return err
	}
	defer func() {
		s.explainEnd(ctx, err)
		err = errors.Join(err, s.close())
	}()
	held, err := lock(s.tree)
	if err != nil {
		return err
	}
	defer held.Close()
	if open, err := s.current(); err != nil || open != "" {
		return errors.Join(err, fmt.Errorf("run %s is open: gate run close", open))
	}
	cfg, err := s.runConfig(name)
	if err != nil {
		return err
	}
	begun, err := client.Exists(cfg.Dir)
	switch {
	case err != nil:
	case begun: // an open that was interrupted
		s.run, err = client.Open(s.client, cfg)
	default:
		s.run, err = client.Create(s.client, cfg)
	}
	if err != nil {
		return err
	}
	if s.rules, err = policy.Open(s.cfg.Rules, s.cfg.Agent); err != nil {
		return err
	}
	if err := s.openGate(s.rules); err != nil {
		return err
	}
	if err := s.beginRun(ctx, also); err != nil {
		return err
	}
	if err := durable.WriteFile(s.tree, currentName, []byte(name+"\n")); err != nil {
		return err
	}
	return nil
}

// beginRun says the run-open, once: a program that was killed may have said it.
func (s *session) beginRun(ctx context.Context, also []receipt.Name) error {
	was, err := s.run.Standing()
	switch {
	case err != nil:
		return err
	case was.Closed:
		return fmt.Errorf("there was a run %s, and it is closed: a name is used once", s.run.Name())
	case was.Statements > 0:
		if err := s.run.Flush(ctx); err != nil {
			return err
		}
		s.say("run %s is open, as it was begun before", s.run.Name())
		return nil
	}
	rec, err := s.gate.OpenRun(ctx, gate.Opening{Engine: engineName, Version: engineVersion, Policy: s.rules.Pin()}, append(also, s.client.Origin())...)
	if err != nil {
		return err
	}
	s.say("run %s is open, leaf %d of %s", s.run.Name(), rec.Index, s.client.Origin())
	return nil
}

func closeRun(ctx context.Context, dir string, c console) (err error) {
	s, err := begin(dir, c)
	if err != nil {
		return err
	}
	defer func() {
		s.explainEnd(ctx, err)
		err = errors.Join(err, s.close())
	}()
	if err := s.takeUp(ctx, false); err != nil {
		return err
	}
	held, err := lock(s.tree)
	if err != nil {
		return err
	}
	defer held.Close()
	if err := s.endRun(ctx); err != nil {
		return err
	}
	left, err := s.run.CheckPromises(ctx)
	var broken *client.ProofError
	switch {
	case errors.As(err, &broken):
		return err
	case err != nil:
		s.say("%d answers are the log's word alone, and it could not be held to it: %v", left, err)
	case left > 0:
		s.say("%d answers are the log's word alone until its witnesses have cosigned: gate sync", left)
	}
	return nil
}

// endRun says the run-close, once: a program that was killed may have said it.
func (s *session) endRun(ctx context.Context) error {
	was, err := s.run.Standing()
	if err != nil {
		return err
	}
	if was.Closed {
		err = s.run.Flush(ctx)
	} else {
		err = s.dropPending(ctx, (*gate.Judged).Discard)
	}
	if err != nil {
		return err
	}
	said := fmt.Sprintf("%d statements", was.Statements)
	if !was.Closed {
		rec, err := s.run.CloseRun(ctx)
		if err != nil {
			return err
		}
		tally, ok := rec.Statement.Statement.Receipt.(receipt.RunClose)
		if !ok {
			return errors.New("the run-close is none")
		}
		said = fmt.Sprintf("leaf %d: %d statements", rec.Index, tally.Statements())
	}
	if err := s.tree.Remove(currentName); err != nil {
		return err
	}
	if err := s.tree.SyncDir("."); err != nil {
		return err
	}
	s.say("run %s is closed, %s", s.run.Name(), said)
	return nil
}
