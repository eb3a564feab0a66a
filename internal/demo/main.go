// Command demo shows the whole path on real effects: a log in a process of its
// own, an engine session over a scratch git repository, then everything checked
// offline. It believes nothing that it says: each claim is looked up where it
// would show, and the exit status is 1 if one of them does not hold.
package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Exit statuses.
const (
	exitDone   = 0
	exitFailed = 1 // something was not as expected, or could not be done
	exitUsage  = 2
)

// patience is how long the demo waits for alice.
const patience = 1500 * time.Millisecond

// longest is how long the whole demo may take before it gives up.
const longest = 2 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

const usage = `usage: demo --bin DIR [--dir DIR] [--keep]

  --bin DIR   where logd and verify are
  --dir DIR   work in DIR, which must not exist or be empty, and keep it
  --keep      keep the temporary folder
`

// config is what the command line says.
type config struct {
	bin      string
	dir      string // empty: a temporary folder
	keep     bool
	patience time.Duration // how long alice is waited for
}

func parse(args []string) (config, error) {
	c := config{patience: patience}
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&c.bin, "bin", "", "")
	f.StringVar(&c.dir, "dir", "", "")
	f.BoolVar(&c.keep, "keep", false, "")
	err := f.Parse(args)
	switch {
	case err != nil:
	case f.NArg() > 0:
		err = fmt.Errorf("%q is no flag", f.Arg(0))
	case c.bin == "":
		err = errors.New("--bin is needed")
	}
	return c, err
}

// run is the program without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return exitDone
	}
	if err != nil {
		fmt.Fprintf(stderr, "demo: %v\n%s", err, usage)
		return exitUsage
	}
	return perform(ctx, cfg, stdout, stderr)
}

// perform plays the demo once.
func perform(ctx context.Context, cfg config, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	d, err := prepare(cfg, stdout)
	if err != nil {
		fmt.Fprintf(stderr, "demo: %v\n", err)
		return exitFailed
	}
	played := d.play(ctx)
	err = errors.Join(played, d.tidy(played == nil))
	if err != nil {
		fmt.Fprintf(stderr, "demo: %v\n", err)
		return exitFailed
	}
	if d.failed > 0 {
		fmt.Fprintf(stderr, "demo: %d of %d checks failed\n", d.failed, d.checked)
		return exitFailed
	}
	return exitDone
}

// demo is one performance.
type demo struct {
	out    io.Writer
	bin    string // absolute
	dir    string // absolute, by the name that no link leads to
	remove bool   // dir goes at the end
	began  time.Time

	patience time.Duration

	checked, failed int
	log             *logd
	key             ed25519.PrivateKey // the engine's
	receipts        []*saved           // in the order of the run
	rows            []*row             // of the table
}

// prepare finds the programs and the folder.
func prepare(cfg config, out io.Writer) (*demo, error) {
	d := &demo{out: out, remove: cfg.dir == "" && !cfg.keep, began: time.Now(), patience: cfg.patience}
	var err error
	if d.bin, err = filepath.Abs(cfg.bin); err != nil {
		return nil, err
	}
	for _, name := range []string{"logd", "verify"} {
		if _, err := os.Stat(d.program(name)); err != nil {
			return nil, fmt.Errorf("%s is not there, make build makes it: %w", name, err)
		}
	}
	if cfg.dir == "" {
		d.dir, err = os.MkdirTemp("", "obstat-demo-")
	} else {
		d.dir, err = emptyDir(cfg.dir)
	}
	if err != nil {
		return nil, err
	}
	d.dir, err = filepath.EvalSymlinks(d.dir)
	return d, err
}

func emptyDir(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty: it holds %s; remove it, or name another folder", dir, entries[0].Name())
	}
	return filepath.Abs(dir)
}

func (d *demo) program(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(d.bin, name)
}

func (d *demo) path(elem ...string) string {
	return filepath.Join(append([]string{d.dir}, elem...)...)
}

// play goes through the acts. An error is something that could not be done;
// what was done and is not as expected is counted, and the play goes on.
func (d *demo) play(ctx context.Context) (err error) {
	d.say("Obstat: effects judged, logged, then done; refusals logged too; all of it checked offline.")
	d.head("1  A log starts, in a process of its own")
	if err := d.startLog(ctx); err != nil {
		return err
	}
	stopped := false
	defer func() {
		if !stopped { // something else went wrong and is being returned
			err = errors.Join(err, d.log.stop())
		}
	}()
	if err := d.session(ctx); err != nil {
		return err
	}
	d.head("4  The log stops")
	stopped = true
	if err := d.log.stop(); err != nil {
		return err
	}
	d.say("   logd    ended, and nobody answers at %s any more", d.log.url)
	d.check(d.log.gone(ctx), "nothing is left to ask: what follows reads files")
	if err := d.offline(ctx); err != nil {
		return err
	}
	d.head("7  What happened, and what is proven of it")
	d.table()
	return nil
}

// tidy says how it ended, and removes what is not to be kept. whole is whether
// the play went to its end.
func (d *demo) tidy(whole bool) error {
	verdict := "all held"
	switch {
	case d.failed > 0:
		verdict = fmt.Sprintf("%d FAILED", d.failed)
	case !whole:
		verdict = "and then it broke off"
	}
	d.say("")
	d.say("%d checks, %s, in %.1f s.", d.checked, verdict, time.Since(d.began).Seconds())
	if d.remove {
		return os.RemoveAll(d.dir)
	}
	d.say("Kept: %s", d.dir)
	return nil
}
