package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/index"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// Pace of a follower.
const (
	followEvery = 500 * time.Millisecond // between two looks at the checkpoint
	followRaces = 5                      // how often --once looks again for what a newer checkpoint replaced
)

// follower prints the entries of a log as they come.
type follower struct {
	where  string
	read   func(ctx context.Context, path string) ([]byte, error) // a file of the tlog-tiles layout
	next   uint64                                                 // the first leaf that was not printed
	origin string                                                 // of the first checkpoint
	stdout io.Writer
}

// follow prints what a log holds, one line an entry, and goes on as it grows.
func follow(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := newFlags("follow")
	var dir, site, base, format string
	var from leafFlag
	once(f, "dir", &dir)
	once(f, "site", &site)
	once(f, "url", &base)
	once(f, "format", &format)
	f.Var(&from, "from", "")
	only := f.Bool("once", false, "")
	if _, err := operandsN(f, args, stdout); err != nil {
		return err
	}
	given := 0
	for _, v := range []string{dir, site, base} {
		if v != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return usagef("follow: one of --url, --dir and --site is needed: the log")
	case format != "" && format != "jsonl":
		return usagef("follow: --format is jsonl")
	}
	fw := &follower{next: from.leaf, stdout: stdout}
	switch {
	case base != "":
		if _, err := registryURL(base); err != nil {
			return err
		}
		fw.where = strings.TrimSuffix(base, "/")
		fw.read = func(ctx context.Context, path string) ([]byte, error) {
			_, b, err := exchange(ctx, http.MethodGet, fw.where+"/"+path, "", nil)
			return b, err
		}
	default:
		fw.where = site
		if dir != "" {
			fw.where = filepath.Join(dir, logDir, "site")
		}
		fw.read = func(_ context.Context, path string) ([]byte, error) {
			return readUpTo(filepath.Join(fw.where, filepath.FromSlash(path)), merkle.TileWidth*(merkle.MaxEntry+2))
		}
	}
	if *only {
		return fw.whole(ctx)
	}
	return fw.on(ctx, stderr)
}

// whole prints what there is.
func (fw *follower) whole(ctx context.Context) error {
	for n := 1; ; n++ {
		err := fw.look(ctx)
		if !absent(err) || n == followRaces {
			return err
		}
	}
}

// on prints what there is and what comes, until ctx ends. A log that answered
// once may go away and come again.
func (fw *follower) on(ctx context.Context, stderr io.Writer) error {
	away := false
	for {
		err := fw.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			away = false
		case fw.origin == "" || !absent(err):
			return err
		case !away:
			away = true
			fmt.Fprintf(stderr, "logd: waiting at leaf %d: %v\n", fw.next, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

// absent reports whether what is not there may be there later.
func absent(err error) bool {
	switch report.CodeOf(err) {
	case report.CodeLogUnreachable, report.CodeFileUnreadable, report.CodeBeyondSize, report.CodeLogClosed:
		return true
	}
	return false
}

// look prints the entries up to the newest checkpoint.
func (fw *follower) look(ctx context.Context) error {
	note, err := fw.read(ctx, "checkpoint")
	if err != nil {
		return err
	}
	text, ok := checkpoint.NoteText(note)
	if !ok {
		return &report.Error{Code: report.CodeNoteMalformed, Where: fw.where + "/checkpoint", Expected: "a signed note", Actual: "none"}
	}
	head, err := checkpoint.ParseBody(text)
	if err != nil {
		return fmt.Errorf("%s/checkpoint: %w", fw.where, err)
	}
	if fw.origin == "" {
		fw.origin = head.Origin
	}
	if head.Origin != fw.origin {
		return &report.Error{Code: report.CodeLogOther, Where: fw.where + "/checkpoint", Expected: fw.origin, Actual: head.Origin}
	}
	for fw.next < head.Size {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fw.print(ctx, head.Size); err != nil {
			return err
		}
	}
	return nil
}

// print prints the rest of the entry bundle that holds the next leaf.
func (fw *follower) print(ctx context.Context, size uint64) error {
	at := fw.next / merkle.TileWidth
	width := merkle.TileWidthAt(0, at, size)
	path := merkle.EntriesPath(at, width)
	b, err := fw.read(ctx, path)
	if err != nil {
		return err
	}
	entries, err := merkle.ParseBundle(b, width)
	if err != nil {
		return fmt.Errorf("%s/%s: %w", fw.where, path, err)
	}
	for _, leaf := range entries[fw.next%merkle.TileWidth:] {
		line, err := lineOf(fw.next, leaf)
		if err != nil {
			return fmt.Errorf("%s, leaf %d: %w", fw.where, fw.next, err)
		}
		if err := say(fw.stdout, string(line)+"\n"); err != nil {
			return err
		}
		fw.next++
	}
	return nil
}

// followed is one line. What a kind does not have is left out.
type followed struct {
	Leaf        uint64          `json:"leaf"`
	Statement   string          `json:"statement"`
	Receipt     string          `json:"receipt,omitempty"`
	Kind        string          `json:"kind"`
	Run         string          `json:"run,omitempty"`
	Verdict     string          `json:"verdict,omitempty"`
	Disposition string          `json:"disposition,omitempty"`
	Codes       []string        `json:"codes,omitempty"`
	View        json.RawMessage `json:"view,omitempty"`
}

// lineOf reads a leaf. A receipt of a later version has no view.
func lineOf(at uint64, leaf []byte) ([]byte, error) {
	e, err := index.EntryOf(at, leaf, receipt.CID{}, func(dsse.KeyID) string { return "" })
	if err != nil {
		return nil, err
	}
	line := followed{Leaf: at, Statement: e.Statement.String(), Kind: e.Kind, Run: e.Run,
		Verdict: e.Verdict, Disposition: e.Disposition, Codes: e.Codes}
	if !e.Receipt.IsZero() {
		line.Receipt = e.Receipt.String()
		env, err := dsse.ParseLeaf(leaf)
		if err != nil {
			return nil, err
		}
		if d, err := receipt.Decode(env.Payload); err == nil {
			if line.View, err = receipt.ToJSON(d); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(line)
}
