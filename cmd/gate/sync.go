package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
)

// sendTime is how long a relaxed gate that ends tries to pass on what it kept.
const sendTime = 500 * time.Millisecond

// cmdSync sends what no log has answered yet, settles what a crash left open, and
// holds the log to its promises: in every run.
func cmdSync(ctx context.Context, args []string, c console) error {
	f := flags("sync", helpSync, c)
	dir := f.String("dir", ".gate", "")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("sync takes no arguments: %q", f.Arg(0))
	}
	s, err := begin(*dir, c)
	if err != nil {
		return err
	}
	open, err := s.current()
	names, e := s.runs()
	if err := errors.Join(err, e, s.close()); err != nil {
		return err
	}
	left := 0
	for _, name := range names {
		n, err := syncRun(ctx, *dir, name, name == open, c)
		if err != nil {
			return fmt.Errorf("run %s: %w", name, err)
		}
		left += n
	}
	if left > 0 {
		c.say("the log's word stands alone for %d answers: ask again when its witnesses have cosigned", left)
		return &exitError{exitPromises}
	}
	c.say("everything is in the log, and every promise is kept")
	return nil
}

// syncRun returns how many promises are left.
func syncRun(ctx context.Context, dir, name string, open bool, c console) (left int, err error) {
	s, err := begin(dir, c)
	if err != nil {
		return 0, err
	}
	defer func() {
		s.explainEnd(ctx, err)
		err = errors.Join(err, s.close())
	}()
	if open {
		err = s.takeUp(ctx, false)
	} else {
		past, e := client.Look(s.runDir(name))
		if e != nil {
			return 0, e
		}
		if was := past.Standing(); was.Unanswered == 0 && was.Promises == was.Bygone {
			return 0, nil
		}
		err = s.openRun(name)
	}
	if err == nil {
		err = s.run.Flush(ctx)
	}
	if err != nil {
		return 0, err
	}
	return s.run.CheckPromises(ctx)
}

// cmdStatus says how a run stands, and changes nothing: it asks no log and takes
// no lock.
func cmdStatus(ctx context.Context, args []string, c console) error {
	f := flags("status", helpStatus, c)
	dir := f.String("dir", ".gate", "")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 1 {
		return usagef("status takes one run at most: %q", f.Args())
	}
	s, err := begin(*dir, c)
	if err != nil {
		return err
	}
	defer s.client.Close()
	name := f.Arg(0)
	if name == "" {
		if name, err = s.current(); err != nil {
			return err
		}
	}
	if name == "" {
		return errors.New("no run is open: gate run open NAME, or name one that was closed")
	}
	past, err := client.Look(s.runDir(name))
	if err != nil {
		return err
	}
	return s.status(ctx, past)
}

// status prints a table: what it is about, and how it stands.
func (s *session) status(ctx context.Context, past *client.Past) error {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(s.out, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	now := past.Standing()
	row("run", "%s", now.Run)
	closed := ""
	if now.Closed {
		closed = ", closed"
	}
	row("statements", "%d%s", now.Statements, closed)
	if now.Unanswered > 0 {
		row("waiting", "%d statements, %d bytes, are not in the log yet: gate sync", now.Unanswered, now.Spooled)
	}
	if now.Lost > 0 {
		row("lost", "%d statements found no room and are not disclosed yet", now.Lost)
	}
	answered := now.Fulfilled + now.Promises
	row("witnessed", "%d of %d answers stand under the whole policy%s", now.Fulfilled, answered, percent(now.Fulfilled, answered))
	if now.Promises > now.Bygone {
		row("promises", "%d, the oldest about leaf %d: gate sync", now.Promises, now.Oldest)
	}
	if now.Bygone > 0 {
		row("bygone", "%d promises of a log that ended: its word is all that there is", now.Bygone)
	}
	for _, e := range now.Evidence {
		row("evidence", "%s", filepath.Join(s.runDir(string(now.Run)), "evidence", e+".*"))
	}
	share, err := gate.Reversible(past.Statements(ctx))
	if err != nil {
		return err
	}
	row("committed", "%d effects: %d can be undone, %d need no undoing, %d cannot be undone%s", share.Committed, share.Escrowed, share.Unneeded,
		share.Committed-share.Escrowed-share.Unneeded, inverses(share))
	for _, code := range sortedCodes(share.None) {
		row("", "%d because %s", share.None[code], code)
	}
	p, err := s.pending()
	if err != nil {
		return err
	}
	hanging, err := gate.Hanging(past.Statements(ctx))
	if err != nil {
		return err
	}
	for _, st := range hanging {
		if p != nil && p.judgment == st.CID {
			row("pending", "%s waits for consent: gate apply", st.CID)
			continue
		}
		row("hanging", "%s has no outcome: a command is at it, or gate sync settles it", st.CID)
	}
	return nil
}

func percent(n, of uint64) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d%%)", 100*n/of)
}

func inverses(s gate.Share) string {
	if s.Committed == 0 {
		return ""
	}
	return fmt.Sprintf(" (with an inverse: %d%%)", 100*s.Escrowed/s.Committed)
}
