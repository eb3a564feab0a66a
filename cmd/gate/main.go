// Command gate is the engine's side: it lets effects happen only as a policy
// judged them, and once a log holds the judgment.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/obstat/obstat/report"
)

// Exit codes. A command that ran under exec gives its own.
const (
	exitOK       = 0
	exitPromises = 3   // sync: the log's word stands alone for something
	exitFailed   = 125 // the gate could not do its work, and why was printed
	exitRefused  = 126 // nothing happened: denied, discarded, stale, …
	exitUsage    = 2   // the command line says nothing that could be done
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], console{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// console is where a command reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// say tells a person how things stand. What a command is asked for goes to out.
func (c console) say(format string, args ...any) { fmt.Fprintf(c.err, "gate: "+format+"\n", args...) }

// usageError is a command line that cannot be obeyed.
type usageError struct{ text string }

func (e *usageError) Error() string { return string(report.CodeUsage) + ": " + e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// exitError ends the program with a code and says nothing more.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// run is the whole program. ctx ends when the process is asked to stop.
func run(ctx context.Context, args []string, c console) int {
	err := dispatch(ctx, args, c)
	var exit *exitError
	var usage *usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	}
	c.say("%v", err)
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func dispatch(ctx context.Context, args []string, c console) error {
	if len(args) == 0 {
		fmt.Fprint(c.err, helpMain)
		return usagef("a command is needed: init, run, exec, apply, undo, status, sync, disclose, follow or help")
	}
	switch command, rest := args[0], args[1:]; command {
	case "init":
		return cmdInit(rest, c)
	case "run":
		return cmdRun(ctx, rest, c)
	case "exec":
		return cmdExec(ctx, rest, c)
	case "apply":
		return cmdApply(ctx, rest, c)
	case "undo":
		return cmdUndo(ctx, rest, c)
	case "status":
		return cmdStatus(ctx, rest, c)
	case "sync":
		return cmdSync(ctx, rest, c)
	case "disclose":
		return cmdDisclose(ctx, rest, c)
	case "follow":
		return cmdFollow(ctx, rest, c)
	case "help", "--help", "-help", "-h":
		return help(rest, c)
	default:
		return usagef("%q is no command: init, run, exec, apply, undo, status, sync, disclose, follow or help", command)
	}
}

// flags begins a flag set whose help is a page.
func flags(name, page string, c console) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() { fmt.Fprint(c.out, page) }
	return f
}

// parse reads flags; what is wrong with them is a usage error.
func parse(f *flag.FlagSet, args []string) error {
	err := f.Parse(args)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		return usagef("%v", err)
	}
	return err
}
