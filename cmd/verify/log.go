package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
)

func requirableOfLog() []string {
	return append(append(audit.Required(), audit.Laws), audit.LawChecks()...)
}

// runLog audits a directory. An interrupt ends it with what was not checked.
func runLog(inv *invocation) (int, error) {
	p, e, err := inv.policyAndTrust()
	if err != nil {
		return 0, err
	}
	if inv.operand == "-" {
		return 0, errors.New("a directory is wanted, not standard input")
	}
	st, err := os.Stat(inv.operand)
	if err != nil {
		return 0, err
	}
	if !st.IsDir() {
		return 0, fmt.Errorf("%s is a file, and the directory of a log is wanted", inv.operand)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := audit.Options{Policy: p, Engines: e, Require: inv.require, Run: parallel(ctx, inv.jobs), Now: inv.now.unixMilli}
	if st, err := os.Stderr.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		o.Progress = progress(os.Stderr)
	}
	r, err := audit.Log(siteFS(inv.operand), o)
	if err != nil {
		return 0, err
	}
	return inv.print(r)
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

// parallel runs pieces on as many goroutines as there are jobs, 0 for one a
// processor, until the context ends.
func parallel(ctx context.Context, jobs int) audit.Runner {
	if jobs == 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
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
