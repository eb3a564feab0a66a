// Command logd is the log server and its tools.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/obstat/obstat/report"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the work could not be done, or not be told, and why was printed
	exitUsage  = 2 // the command line says nothing that could be done
	// exitUnknown: nobody knows whether it was done, and doing it again is safe.
	exitUnknown = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// usageError is a command line that cannot be obeyed.
type usageError struct{ text string }

func (e *usageError) Error() string { return string(report.CodeUsage) + ": " + e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// run is the whole program. ctx ends when the process is asked to stop.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	fmt.Fprintf(stderr, "logd: %v\n", err)
	var usage *usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	var unknown *unknownError
	if errors.As(err, &unknown) {
		return exitUnknown
	}
	return exitFailed
}

// say prints what a command is asked for. Output that is lost is work not done.
func say(stdout io.Writer, text string) error {
	if _, err := io.WriteString(stdout, text); err != nil {
		return fileError(report.CodeFileUnwritable, "standard output", err)
	}
	return nil
}

// fileError is a file, a directory or an output that cannot be used, and which.
func fileError(code report.Code, where string, cause error) error {
	var at *fs.PathError
	if errors.As(cause, &at) {
		cause = at.Err // where says it
	}
	expected := "a file to read"
	if code == report.CodeFileUnwritable {
		expected = "a place to write"
	}
	return &report.Error{Code: code, Where: where, Expected: expected, Actual: cause.Error()}
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(stderr, helpMain)
		return usagef("a command is needed: dev, init, serve, config, submit, follow, fsck, reindex, export, keys, freeze, succeed, succession, version or help")
	}
	switch command, rest := args[0], args[1:]; command {
	case "init":
		cfg, err := parseInit(rest, stdout)
		if err != nil {
			return err
		}
		return initialise(cfg, stdout)
	case "serve":
		cfg, err := parseServe(rest, os.Environ(), stdout)
		if err != nil {
			return err
		}
		return serve(ctx, cfg, stdout, stderr)
	case "dev":
		cfg, err := parseDev(rest, stdout)
		if err != nil {
			return err
		}
		return dev(ctx, cfg, stdout, stderr)
	case "config":
		return config(rest, os.Environ(), stdout)
	case "submit":
		return submit(ctx, rest, os.Stdin, stdout)
	case "follow":
		return follow(ctx, rest, stdout, stderr)
	case "fsck":
		cfg, err := parseDir(command, helpFsck, rest, stdout)
		if err != nil {
			return err
		}
		return fsck(cfg, stdout, stderr)
	case "reindex":
		cfg, err := parseDir(command, helpReindex, rest, stdout)
		if err != nil {
			return err
		}
		return reindex(cfg, stdout, stderr)
	case "export":
		cfg, err := parseExport(rest, stdout)
		if err != nil {
			return err
		}
		return export(cfg, stdout, stderr)
	case "keys":
		return keys(ctx, rest, stdout)
	case "freeze":
		return freeze(ctx, rest, stdout)
	case "succeed":
		return succeed(ctx, rest, stdout)
	case "succession":
		return succession(rest, stdout)
	case "version", "--version", "-version":
		if len(rest) > 0 {
			return usagef("version takes no arguments")
		}
		return say(stdout, version()+"\n")
	case "help", "--help", "-help", "-h":
		return help(rest, stdout)
	default:
		return usagef("no command %q; logd help names them", command)
	}
}

// version says what was built, from what the toolchain recorded.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "logd, of an unknown build"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	return "logd " + v + " " + info.GoVersion
}
