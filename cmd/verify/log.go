package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/report"
)

// Bounds of what is kept in memory for laws and repeated statements: without a
// work directory, over which they are not checked, and with one, over which they
// are sorted there.
const (
	stateInMemory    = 256 << 20
	stateBesideWork  = 8 << 20
	leavesBesideWork = 1 << 16
	maxVocabulary    = 1 << 20 // bytes of a file
	maxJobs          = 1024    // each holds some leaves in memory
)

func requirableOfLog() []string {
	return append(append(audit.Required(), audit.Laws), audit.LawChecks()...)
}

// runLog audits a directory. An interrupt ends it with what was not checked.
func runLog(inv *invocation) (int, error) { return inv.audit(nil) }

// runRun holds one run of a log to the laws.
func runRun(inv *invocation) (int, error) {
	return inv.audit(&laws.Run{Principal: inv.principal, Name: receipt.Name(inv.run)})
}

func (inv *invocation) audit(only *laws.Run) (int, error) {
	p, e, err := inv.policyAndTrust()
	if err != nil {
		return 0, err
	}
	given, err := inv.evidenceFiles()
	if err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	jobs := inv.jobs
	if jobs == 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	o := audit.Options{
		Policy: p, Engines: e, Require: inv.require, Run: parallel(ctx, jobs), Jobs: jobs, Only: only,
		Now: inv.now.unixMilli, MaxState: stateInMemory, HashesOnly: inv.hashes,
		Registry: given.registry, Successions: given.successions,
	}
	for _, name := range inv.vocabulary {
		b, err := inv.read(name, maxVocabulary)
		if err != nil {
			return 0, err
		}
		v, err := receipt.ParseVocabulary(b)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		o.Vocabularies = append(o.Vocabularies, v)
	}
	if inv.work != "" {
		if err := directory(inv.work); err != nil {
			return 0, err
		}
		o.MaxState, o.MaxStatements = stateBesideWork, leavesBesideWork
		o.NewSorter = func() (laws.Sorter, error) { return newSorter(ctx, inv.work) }
	}
	if st, err := os.Stderr.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		o.Progress = progress(os.Stderr)
	}
	if inv.since != "" {
		if o.Since, err = inv.read(inv.since, bundle.MaxBundle); err != nil {
			return 0, err
		}
	}
	site, err := inv.site()
	if report.CodeOf(err) == report.CodeArchive || report.CodeOf(err) == report.CodeArchiveEntry || report.CodeOf(err) == report.CodeInputEmpty {
		r := audit.NoArchive(err, o)
		given.addTo(r)
		return inv.print(r)
	}
	if err != nil {
		return 0, err
	}
	var state *stateFile
	if inv.state != "" {
		if state, o.Resume, err = openState(inv.state); err != nil {
			return 0, err
		}
		o.Keep = state.keep
	}
	r, err := audit.Log(site, o)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", inv.operand, err)
	}
	if state != nil {
		if err := state.write(); err != nil {
			return 0, err
		}
	}
	given.addTo(r)
	return inv.print(r)
}

// site opens what the operand names: a directory, or a tar archive.
func (inv *invocation) site() (fs.FS, error) {
	var f *os.File
	if inv.operand == "-" {
		var err error
		if f, err = spool(inv.stdin, inv.work); err != nil {
			return nil, err
		}
	} else {
		st, err := os.Stat(inv.operand)
		if err != nil {
			return nil, err
		}
		if st.IsDir() {
			return inv.openSite(inv.operand)
		}
		if !st.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is neither a directory nor a regular file", inv.operand)
		}
		if f, err = os.Open(inv.operand); err != nil {
			return nil, err
		}
	}
	inv.opened = append(inv.opened, f)
	return openTar(f)
}

// openSite opens a directory until the command ends.
func (inv *invocation) openSite(name string) (fs.FS, error) {
	site, err := openSite(name)
	if err != nil {
		return nil, err
	}
	inv.opened = append(inv.opened, site)
	return site, nil
}

func directory(name string) error {
	if name == "-" {
		return errors.New("a directory is wanted, not standard input")
	}
	st, err := os.Stat(name)
	if err == nil && !st.IsDir() {
		err = fmt.Errorf("%s is a file, and a directory is wanted", name)
	}
	return err
}

// progress overwrites one line of a terminal.
func progress(w io.Writer) func(done, total uint64) {
	return func(done, total uint64) {
		end := "\r"
		if done == total {
			end = "\r\x1b[K"
		}
		fmt.Fprintf(w, "\r%d of %d leaves%s", done, total, end)
	}
}

// parallel runs pieces on as many goroutines as there are jobs, until the context
// ends.
func parallel(ctx context.Context, jobs int) audit.Runner {
	return func(n int, fn func(i int)) error {
		var next atomic.Int64
		var wg sync.WaitGroup
		for range min(jobs, n) {
			wg.Go(func() {
				for ctx.Err() == nil {
					i := int(next.Add(1)) - 1
					if i >= n {
						return
					}
					fn(i)
				}
			})
		}
		wg.Wait()
		return ctx.Err()
	}
}

// moment is a flag's point in time, RFC 3339 or Unix seconds; 0 is none.
type moment struct{ unixMilli int64 }

func (m *moment) String() string { return "" }

func (m *moment) Set(s string) error {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 && n <= math.MaxInt64/1000 {
		m.unixMilli = n * 1000
		return nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.UnixMilli() <= 0 {
		return errors.New("want a time such as 2026-11-30T12:00:00Z, or Unix seconds")
	}
	m.unixMilli = t.UnixMilli()
	return nil
}
