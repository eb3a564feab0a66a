package rlog

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// leafBytes is the size of a typical receipt's leaf.
const leafBytes = 1400

// BenchmarkAppendSync is the primitive that Submit is measured against.
func BenchmarkAppendSync(b *testing.B) {
	for _, size := range []int{4 << 10, 360 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			f, err := dirFS(b).Create("file")
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			buf := make([]byte, size)
			var took durations
			for b.Loop() {
				begin := time.Now()
				if err := f.Append(buf); err != nil {
					b.Fatal(err)
				}
				if err := f.SyncData(); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begin))
			}
			took.report(b)
		})
	}
}

type durations []time.Duration

func (d durations) report(b *testing.B) {
	slices.Sort(d)
	b.ReportMetric(float64(d[len(d)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(d[len(d)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkSubmit(b *testing.B) {
	for _, callers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { benchmarkSubmit(b, callers) })
	}
}

func benchmarkSubmit(b *testing.B, callers int) {
	cfg := testConfig(b, dirFS(b))
	cfg.room, cfg.PublishEvery, cfg.ScrubEvery = 0, 0, 0
	create(b, cfg, "genesis")
	l := open(b, cfg)
	items := make([]Item, b.N)
	pad := make([]byte, leafBytes)
	for i := range items {
		leaf := append(fmt.Appendf(nil, "statement %d|", i), pad...)[:leafBytes]
		items[i] = Item{Leaf: leaf, Statement: mustStatement(leaf)}
	}
	took := make([]durations, callers)
	var next atomic.Int64
	b.ResetTimer()
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.N {
					return
				}
				begin := time.Now()
				if _, err := l.Submit(context.Background(), items[i]); err != nil {
					b.Error(err)
					return
				}
				took[c] = append(took[c], time.Since(begin))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	slices.Concat(took...).report(b)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "leaves/s")
	if s := l.Stats(); s.Groups > 0 {
		b.ReportMetric(float64(s.Leaves)/float64(s.Groups), "leaves/group")
	}
}
