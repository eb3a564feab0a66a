package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/merkle"
)

// primitives measures what the machine can do, in this very run.
func primitives(ctx context.Context, work string, each time.Duration) (Primitives, error) {
	var p Primitives
	var err error
	for _, m := range []struct {
		size int
		p50  *float64
	}{{4 << 10, &p.AppendSync4K}, {256 << 10, &p.AppendSync256K}} {
		if *m.p50, err = appendSync(work, m.size, each); err != nil {
			return p, err
		}
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return p, err
	}
	public := key.Public().(ed25519.PublicKey)
	message := make([]byte, 1200)
	sig := ed25519.Sign(key, message)
	verify := func() bool { return ed25519.Verify(public, message, sig) }
	if !verify() {
		return p, fmt.Errorf("a good signature does not verify")
	}
	p.Verify1 = rate(1, each, func() { verify() })
	p.Verify2 = rate(2, each, func() { verify() })
	p.Sign = rate(1, each, func() { ed25519.Sign(key, message) })
	p.SHA256 = 1 / rate(1, each/4, func() { sha256.Sum256(message) })
	p.Node = 1 / rate(1, each/4, func() { merkle.NodeHash(merkle.Hash{1}, merkle.Hash{2}) })
	p.BLAKE3 = 1 / rate(1, each/4, func() { blake3.Sum256(message[:1024]) })
	return p, ctx.Err()
}

// appendSync returns the median time of one append of size bytes and the
// fdatasync behind it, in seconds.
func appendSync(work string, size int, each time.Duration) (float64, error) {
	tree, err := durable.OpenDir(work)
	if err != nil {
		return 0, err
	}
	name := filepath.Base(fmt.Sprintf("append-%d", size))
	f, err := tree.Create(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	data := bytes.Repeat([]byte{0xa5}, size)
	var took []time.Duration
	for began := time.Now(); time.Since(began) < each || len(took) < 3; {
		at := time.Now()
		if err := f.Append(data); err != nil {
			return 0, err
		}
		if err := f.SyncData(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	return took[len(took)/2].Seconds(), tree.Remove(name)
}

// rate is how often a second n goroutines together can do f.
func rate(n int, each time.Duration, f func()) float64 {
	counts := make([]int, n)
	var wg sync.WaitGroup
	began := time.Now()
	for w := range n {
		wg.Go(func() {
			for time.Since(began) < each {
				for range 32 {
					f()
				}
				counts[w] += 32
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(began).Seconds()
	total := 0
	for _, c := range counts {
		total += c
	}
	return float64(total) / elapsed
}
