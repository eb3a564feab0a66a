// Command loadgen measures a log from outside: it starts bin/logd as a process
// of its own, loads it over raw HTTP/1.1 connections with statements that were
// signed before, and measures in the same run what the machine can do, so that
// the ratios mean something where the figures do not.
//
//	go run ./internal/loadgen --bin bin --out bench/out
//
// It prints a table and writes DIR/bench.json. No test depends on a figure.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/durable"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}

// Config is everything that a command line says.
type Config struct {
	Bin     string        // directory with logd, and verify
	Out     string        // directory for bench.json and, while it runs, the log: a real disk
	Levels  []Level       // what to load with
	Repeat  int           // runs of every level; the median is shown
	Primary time.Duration // for each primitive
}

// Level is one load: so many callers, each waiting for its answer before it
// sends the next, and so many statements in all.
type Level struct {
	Callers    int
	Statements int
}

// defaultLevels are those of the goals.
const defaultLevels = "1:3000,64:40000,256:40000"

func parse(args []string, stderr io.Writer) (*Config, error) {
	c := &Config{}
	f := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&c.Bin, "bin", "bin", "`directory` with the programs logd and verify")
	f.StringVar(&c.Out, "out", "bench/out", "`directory` for bench.json; the log is beside it while it is measured, so it should be on a real disk")
	levels := f.String("levels", defaultLevels, "loads as `callers:statements,...`")
	f.IntVar(&c.Repeat, "repeat", 3, "`runs` of every load, each on a new log; the median by rate is shown")
	f.DurationVar(&c.Primary, "primitives", time.Second, "how `long` to measure each thing that the machine can do")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag", f.Arg(0))
	}
	for item := range strings.SplitSeq(*levels, ",") {
		callers, statements, _ := strings.Cut(item, ":")
		n, err1 := strconv.Atoi(callers)
		m, err2 := strconv.Atoi(statements)
		if err1 != nil || err2 != nil || n < 1 || m < n {
			return nil, fmt.Errorf("--levels: %q is not callers:statements, with a statement for each caller", item)
		}
		c.Levels = append(c.Levels, Level{n, m})
	}
	if c.Repeat < 1 || c.Primary <= 0 {
		return nil, errors.New("--repeat and --primitives are positive")
	}
	return c, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.Out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(cfg.Out, "work-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := &Results{At: time.Now().UTC().Format(time.RFC3339), Machine: machine(work), Goals: goals()}
	fmt.Fprintln(stderr, "measuring the machine ...")
	if r.Primitives, err = primitives(ctx, work, cfg.Primary); err != nil {
		return err
	}
	for _, form := range forms() {
		for _, level := range cfg.Levels {
			fmt.Fprintf(stderr, "%d callers, %s ...\n", level.Callers, form.name)
			l, err := load(ctx, cfg, work, form, level)
			if err != nil {
				return fmt.Errorf("%d callers, %s: %w", level.Callers, form.name, err)
			}
			r.Loads = append(r.Loads, *l)
		}
	}
	fmt.Fprintln(stderr, "verifying offline ...")
	if r.Offline, err = offline(ctx, cfg, work); err != nil {
		return err
	}
	if r.WholeLog, err = wholeLog(ctx, cfg, work); err != nil {
		return err
	}
	fmt.Fprintln(stderr, "judging what does nothing ...")
	if r.Gate, err = gateCost(ctx, cfg, work); err != nil {
		return err
	}
	r.relate()
	r.print(stdout)
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	tree, err := durable.OpenDir(cfg.Out)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(tree, "bench.json", append(b, '\n')); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\nwritten to %s\n", filepath.Join(cfg.Out, "bench.json"))
	return nil
}
