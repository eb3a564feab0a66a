package main

import (
	"io"
	"log/slog"
)

// Formats of the structured log on standard error.
const (
	formatText = "text" // key=value
	formatJSON = "json" // one object a line
)

var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func (c *Config) validateLogging() error {
	if c.LogFormat != formatText && c.LogFormat != formatJSON {
		return usagef("%s %s is neither %s nor %s", c.said("log.format"), c.LogFormat, formatText, formatJSON)
	}
	if _, ok := levels[c.LogLevel]; !ok {
		return usagef("%s %s is none of debug, info, warn and error", c.said("log.level"), c.LogLevel)
	}
	return nil
}

// logger writes the log that was asked for.
func (c *Config) logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: levels[c.LogLevel]}
	if c.LogFormat == formatJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
