package index

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

// benchLeaves makes n leaves of about 1,000 bytes, of 40 runs.
func benchLeaves(b *testing.B, n int) [][]byte {
	runs := make([]*receipttest.Run, 40)
	out := make([][]byte, 0, n)
	for i := range n {
		r := i % len(runs)
		if runs[r] == nil {
			runs[r] = receipttest.NewRun(receipttest.EngineKey(), receipt.Name("run-"+rand.Text()))
			out = append(out, leafOf(b, dsse.ReceiptType, runs[r].Add(receipttest.Open(origin)).Payload()))
			continue
		}
		j := receipttest.Judgment(rand.Text(), receipttest.Deny("OUTSIDE-ROOT"))
		j.Request.Changes = []receipt.Change{{Path: receipttest.Hidden("path"), Edit: receipt.Replace{Before: receipttest.Commitment("b"), After: receipttest.Commitment("a")}}}
		j.Request.Effects = []receipt.Effect{{On: receipt.OnWrites, Target: receipttest.Hidden("path")}}
		j.Reads = []receipt.Read{{Key: receipttest.Hidden("path"), Seen: receipttest.Commitment("b")}}
		out = append(out, leafOf(b, dsse.ReceiptType, runs[r].Add(j).Payload()))
	}
	return out
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkAbsorb absorbs OBSTAT_INDEX_LEAVES leaves (200,000 by default) and
// prints CPU a leaf, background work included, and the same for look-ups of
// statements that are not there.
func BenchmarkAbsorb(b *testing.B) {
	n := 200_000
	if s := os.Getenv("OBSTAT_INDEX_LEAVES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		dir, err := os.MkdirTemp(b.TempDir(), "index")
		if err != nil {
			b.Fatal(err)
		}
		x := openIndex(b, filepath.Join(dir, "index"))
		const batch = 4096
		var used time.Duration
		size := 0
		for size < n {
			leaves := benchLeaves(b, batch)
			before := cpuTime()
			size += batch
			if err := x.Absorb(leaves, nil, uint64(size), merkle.Hash{}); err != nil {
				b.Fatal(err)
			}
			used += cpuTime() - before
		}
		b.ReportMetric(float64(used.Nanoseconds())/float64(size)/1000, "absorb-cpu-µs/leaf")
		const looks = 20_000
		cs := make([]dagcbor.CID, looks)
		for i := range cs {
			cs[i] = dagcbor.Sum(fmt.Appendf(nil, "%d", i))
		}
		before := cpuTime()
		for _, c := range cs {
			if _, ok, err := x.Lookup(c); ok || err != nil {
				b.Fatal(ok, err)
			}
		}
		b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/looks/1000, "miss-cpu-µs")
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
