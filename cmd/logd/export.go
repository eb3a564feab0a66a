package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/report"
)

// export makes a static site of the log, which any file server can serve. A site
// that is not whole has no checkpoint.
func export(cfg *Config, stdout, stderr io.Writer) error {
	sc, err := load(cfg, slog.New(slog.NewTextHandler(stderr, nil)))
	if err != nil {
		return err
	}
	made := os.Mkdir(cfg.To, 0o755)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return fileError(report.CodeFileUnwritable, cfg.To, made)
	}
	site, err := durable.OpenDir(cfg.To)
	if err != nil {
		return fileError(report.CodeFileUnwritable, cfg.To, err)
	}
	head, err := rlog.Export(sc.Engine(), site)
	if err != nil {
		if made == nil {
			_ = os.Remove(cfg.To) // where nothing was written into it
		}
		return err
	}
	return say(stdout, fmt.Sprintf(`The log %s, size %d, is a tlog-tiles site in %s.
Serve it with any file server, or check it:
  verify log --policy %s --trust %s %s
`, sc.Engines.Origin, head.Size, cfg.To, policyFile, enginesFile, cfg.To))
}
