package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/index"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/internal/server"
)

// fsck reads the whole log and says what it read, what is wrong, and what it did
// not read. It changes nothing.
func fsck(cfg *Config, stdout, stderr io.Writer) error {
	sc, err := load(cfg, slog.New(slog.NewTextHandler(stderr, nil)))
	if err != nil {
		return err
	}
	engine := sc.Engine()
	x, unread := index.Open(sc.IndexDir, index.Options{Origin: engine.Origin, ReadOnly: true})
	if unread == nil {
		defer x.Close() // nothing is lost with what was only read
		engine.Index = x
	}
	found, err := rlog.CheckDirectory(engine, progressTo(stderr))
	if err != nil {
		return err
	}
	if unread != nil && !errors.Is(unread, fs.ErrNotExist) {
		found.NotRead = append(found.NotRead, fmt.Sprintf("%s: %v", sc.IndexDir, unread))
	}
	if err := say(stdout, fsckText(cfg.Dir, sc.Engines.Origin, found)); err != nil {
		return err
	}
	if n := len(found.Problems); n > 0 {
		return fmt.Errorf("%d found wrong in %s, the first: %w", n, cfg.Dir, found.Problems[0])
	}
	return nil
}

// reindex makes the index again from the log.
func reindex(cfg *Config, stdout, stderr io.Writer) error {
	sc, err := load(cfg, slog.New(slog.NewTextHandler(stderr, nil)))
	if err != nil {
		return err
	}
	size, err := server.Reindex(sc)
	if err != nil {
		return atFault(cfg.Dir, err)
	}
	return say(stdout, fmt.Sprintf("The index in %s covers %s, size %d.\n", sc.IndexDir, sc.Engines.Origin, size))
}

// progressEvery is the time between two lines of progress.
const progressEvery = 5 * time.Second

// progressTo tells now and then how far the work is.
func progressTo(w io.Writer) func(done, total uint64) {
	last := time.Now()
	return func(done, total uint64) {
		if time.Since(last) >= progressEvery {
			last = time.Now()
			fmt.Fprintf(w, "%d of %d entries\n", done, total)
		}
	}
}

func fsckText(dir, origin string, f *rlog.Fsck) string {
	var b strings.Builder
	verdict := "nothing is wrong"
	if len(f.Problems) > 0 {
		verdict = fmt.Sprintf("%d WRONG", len(f.Problems))
	}
	if n := len(f.NotRead); n > 0 {
		verdict += fmt.Sprintf(" in what was read; %d not read", n)
	}
	fmt.Fprintf(&b, "%s in %s: %s\n", origin, dir, verdict)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("size", "%d, of which %d published", f.Head.Size, f.Published.Size)
	row("root", "%s", f.Head.Root)
	row("entries", "%d hashed again, %d bytes", f.Entries, f.Bytes)
	row("tiles", "%d full, %d partial tiles and bundles", f.Tiles, f.Partials)
	row("segments", "%d, up to group %d", f.Segments, f.Groups)
	row("index", "covers %d, %d statements looked up", f.Covered, f.Indexed)
	for _, p := range f.Problems {
		row("WRONG", "%v", p)
	}
	for _, n := range f.Notes {
		row("note", "%s", n)
	}
	for _, n := range f.NotRead {
		row("not read", "%s", n)
	}
	return b.String()
}
