// Command peers measures this log beside Rekor and Tessera, in one run on one
// machine and one disk: callers submit signed receipts and wait for what proves
// that a signed checkpoint covers them. It builds the servers, drives each alone
// over persistent connections on the loopback interface, verifies an answer of
// every caller afterwards, prints medians and ratios, and writes them to a file.
//
// Absolute figures move from machine to machine, and with whatever else runs
// there; the ratios of one run are what counts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// config is the command line.
type config struct {
	callers []int
	rounds  int
	window  time.Duration
	out     string
}

// warmup comes before every window: Rekor's callers need a second to fall into
// step with its checkpoints.
const warmup = 1500 * time.Millisecond

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "peers: %v\n", err)
		os.Exit(1)
	}
}

func parse(args []string) (*config, error) {
	c := &config{callers: []int{1, 64, 256}}
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.Func("callers", "how many callers, as 1,64,256", func(s string) error {
		c.callers = nil
		for n := range strings.SplitSeq(s, ",") {
			v, err := strconv.Atoi(n)
			if err != nil || v < 1 || v > 4096 {
				return fmt.Errorf("%q is not 1 to 4096", n)
			}
			c.callers = append(c.callers, v)
		}
		return nil
	})
	f.IntVar(&c.rounds, "rounds", 3, "how often each is measured; medians are reported")
	f.DurationVar(&c.window, "window", 5*time.Second, "how long each is measured")
	f.StringVar(&c.out, "out", "", "folder for peers.json, and meanwhile for the logs; bench/out of the repository by default")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 || c.rounds < 1 || c.rounds > 15 || c.window < time.Second || c.window > time.Minute {
		return nil, errors.New("it takes no arguments, 1 to 15 rounds and windows of 1s to 1m")
	}
	return c, nil
}

func run(ctx context.Context) (err error) {
	c, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	repository, err := mainModule(ctx)
	if err != nil {
		return err
	}
	if c.out == "" {
		c.out = filepath.Join(repository, "bench", "out")
	}
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return err
	}
	// The logs stand on the disk of the repository: a temporary folder may be
	// in memory, where a sync costs nothing.
	dir, err := os.MkdirTemp(c.out, "peers-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	systems, err := build(ctx, repository, dir)
	if err != nil {
		return err
	}
	report, err := newReport(c, dir, systems)
	if err != nil {
		return err
	}
	for round := range c.rounds {
		for _, s := range systems {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, c.rounds, s.name)
			if err := measure(ctx, c, s, dir, round, report); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	report.print(os.Stdout)
	return report.write(filepath.Join(c.out, "peers.json"))
}

// build makes the programs and says what will be measured.
func build(ctx context.Context, repository, dir string) ([]*system, error) {
	logd, err := newLogd(ctx, repository, dir)
	if err != nil {
		return nil, err
	}
	rekor, err := newRekor(ctx, dir)
	if err != nil {
		return nil, err
	}
	published, integrated, err := newTessera()
	if err != nil {
		return nil, err
	}
	return []*system{logd, rekor, published, integrated}, nil
}

// measure runs one system, new and alone, through all numbers of callers.
func measure(ctx context.Context, c *config, s *system, dir string, round int, into *report) (err error) {
	home, err := os.MkdirTemp(dir, "log-*")
	if err != nil {
		return err
	}
	in, err := s.start(ctx, home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.stop(), os.RemoveAll(home)) }()
	for _, callers := range c.callers {
		seconds := (warmup + c.window).Seconds()
		need := min(float64(callers)*s.perCaller, s.most)
		bodies, err := makeBodies(s, fmt.Sprintf("round-%d-%d", round, callers), int(need*seconds)+callers)
		if err != nil {
			return err
		}
		m, err := drive(ctx, in, callers, bodies, warmup, c.window)
		if err != nil {
			return fmt.Errorf("%d callers: %w", callers, err)
		}
		into.add(s.name, callers, m)
	}
	return nil
}

// mainModule is the folder of the module that this one stands in.
func mainModule(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/obstat/obstat").Output()
	if err != nil {
		return "", fmt.Errorf("go list, in internal/interop: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// median of an uneven or even number of values, of which there is one at least.
func median[T float64 | time.Duration](values []T) T {
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2]
}
