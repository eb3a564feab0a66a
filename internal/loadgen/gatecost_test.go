package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/server/servertest"
)

// BenchmarkGate is a gate in one process with its log, for profiles; what counts is
// measured by the command.
func BenchmarkGate(b *testing.B) {
	b.Run("strict", func(b *testing.B) { benchmarkGate(b, false) })
	b.Run("relaxed", func(b *testing.B) { benchmarkGate(b, true) })
}

func benchmarkGate(b *testing.B, relaxed bool) {
	l := servertest.New(b)
	c, err := client.New(client.Config{URL: l.URL, Policy: l.Policy, Engines: l.Engines})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	run, err := client.Create(c, client.RunConfig{
		Dir: filepath.Join(b.TempDir(), "run"), Name: "gate", Key: servertest.Key(servertest.Engine), Now: time.Now, Spool: 1 << 40,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer run.Close()
	var spool gate.Spool
	if relaxed {
		spool = run
	}
	log, judge, err := newGate(b.Context(), c, run, spool, filepath.Join(b.TempDir(), "store"))
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		if err := once(b.Context(), judge, n); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64((b.Elapsed()-log.spent).Microseconds())/float64(n), "added-us/op")
}
