package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/server/servertest"
)

// BenchmarkGate is a strict gate in one process with its log, for profiles; what
// counts is measured by the command.
func BenchmarkGate(b *testing.B) {
	l := servertest.New(b)
	c, err := client.New(client.Config{URL: l.URL, Policy: l.Policy, Engines: l.Engines})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	run, err := client.Create(c, client.RunConfig{Dir: filepath.Join(b.TempDir(), "run"), Name: "gate", Key: servertest.Key(servertest.Engine), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer run.Close()
	log, judge, err := newGate(b.Context(), c, run, filepath.Join(b.TempDir(), "store"))
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
