// Command monitor watches logs for everybody: as a witness that cosigns their
// growth.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
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
	fmt.Fprintf(stderr, "monitor: %v\n", err)
	var usage *usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(stderr, helpMain)
		return usagef("a command is needed: witness, version or help")
	}
	switch command, rest := args[0], args[1:]; command {
	case "witness":
		return witnessCommand(ctx, rest, stdout, stderr)
	case "version", "--version", "-version":
		if len(rest) > 0 {
			return usagef("version takes no arguments")
		}
		return say(stdout, version()+"\n")
	case "help", "--help", "-help", "-h":
		return help(rest, stdout)
	default:
		return usagef("no command %q; monitor help names them", command)
	}
}

// say prints what a command is asked for. Output that is lost is work not done.
func say(stdout io.Writer, text string) error {
	if _, err := io.WriteString(stdout, text); err != nil {
		return fileError(report.CodeFileUnwritable, "standard output", err)
	}
	return nil
}

// version says what was built, from what the toolchain recorded.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "monitor, of an unknown build"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	return "monitor " + v + " " + info.GoVersion
}

// flags begins a flag set.
func flags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return f
}

// once defines a flag that may stand once: of two, one would be obeyed and the
// other not.
func once(f *flag.FlagSet, name string, value *string) {
	given := false
	f.Func(name, "", func(s string) error {
		switch {
		case given:
			return errors.New("it stands twice")
		case s == "":
			return errors.New("it is empty")
		}
		given, *value = true, s
		return nil
	})
}

// parse reads args into the variables of f, and takes as many operands as most.
func parse(f *flag.FlagSet, args []string, page string, stdout io.Writer, most int) error {
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		if err := say(stdout, page); err != nil {
			return err
		}
		return flag.ErrHelp
	} else if err != nil {
		return usagef("%s: %v; monitor help %s says more", f.Name(), err, f.Name())
	}
	if f.NArg() > most {
		return usagef("%s: %q is one argument too many", f.Name(), f.Arg(most))
	}
	return nil
}
