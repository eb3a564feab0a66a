package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
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
	if err := parse(f, args[1:]); err != nil {
		return err
	}
	switch {
	case args[0] == "open" && f.NArg() == 1:
		return openRun(ctx, *dir, f.Arg(0), c)
	case args[0] == "close" && f.NArg() == 0:
		return closeRun(ctx, *dir, c)
	}
	return usagef("run open NAME, or run close")
}

func openRun(ctx context.Context, dir, name string, c console) (err error) {
	if !verdict.ValidName(name) || filepath.Base(name) != name || name == "." || name == ".." {
		return usagef("%q is no name for a run: 1 to %d bytes from [A-Za-z0-9._@:+-]", name, verdict.MaxName)
	}
	s, err := begin(dir, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if open, err := s.current(); err != nil || open != "" {
		return errors.Join(err, fmt.Errorf("run %s is open: gate run close", open))
	}
	cfg, err := s.runConfig(name)
	if err != nil {
		return err
	}
	if _, statErr := os.Stat(filepath.Join(cfg.Dir, "secret")); statErr == nil {
		s.run, err = client.Open(s.client, cfg) // an open that was interrupted
	} else {
		s.run, err = client.Create(s.client, cfg)
	}
	if err != nil {
		return err
	}
	if err := s.openGate(); err != nil {
		return err
	}
	rec, err := s.gate.OpenRun(ctx, gate.Opening{Engine: engineName, Version: engineVersion, Policy: s.rules.Pin()}, s.client.Origin())
	if err != nil {
		return err
	}
	if err := durable.WriteFile(s.tree, currentName, []byte(name+"\n")); err != nil {
		return err
	}
	s.say("run %s is open, leaf %d of %s", name, rec.Index, s.client.Origin())
	return nil
}

func closeRun(ctx context.Context, dir string, c console) (err error) {
	s, err := take(ctx, dir, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.dropPending(ctx, (*gate.Judged).Discard); err != nil {
		return err
	}
	rec, err := s.run.CloseRun(ctx)
	if err != nil {
		return err
	}
	if err := s.tree.Remove(currentName); err != nil {
		return err
	}
	if err := s.tree.SyncDir("."); err != nil {
		return err
	}
	tally, ok := rec.Statement.Statement.Receipt.(receipt.RunClose)
	if !ok {
		return errors.New("the run-close is none")
	}
	s.say("run %s is closed, leaf %d: %d statements", s.run.Name(), rec.Index, tally.Statements())
	return nil
}

// cmdStatus says how the run stands.
func cmdStatus(ctx context.Context, args []string, c console) (err error) {
	f := flags("status", helpStatus, c)
	dir := f.String("dir", ".gate", "")
	if err := parse(f, args); err != nil {
		return err
	}
	s, err := take(ctx, *dir, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	statements := 0
	for _, err := range s.run.Statements(ctx) {
		if err != nil {
			return err
		}
		statements++
	}
	share, err := gate.Reversible(s.run.Statements(ctx))
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "run        %s\nstatements %d\n", s.run.Name(), statements)
	fmt.Fprintf(c.out, "committed  %d effects: %d can be undone, %d need no undoing, %d cannot be undone", share.Committed, share.Escrowed, share.Unneeded,
		share.Committed-share.Escrowed-share.Unneeded)
	if share.Committed > 0 {
		fmt.Fprintf(c.out, " (with an inverse: %d%%)", 100*share.Escrowed/share.Committed)
	}
	fmt.Fprintln(c.out)
	for _, code := range sortedCodes(share.None) {
		fmt.Fprintf(c.out, "           %d because %s\n", share.None[code], code)
	}
	p, err := s.pending()
	if err != nil {
		return err
	}
	if p != nil {
		fmt.Fprintf(c.out, "pending    %s waits for consent: gate apply\n", p.judgment)
	}
	return nil
}
