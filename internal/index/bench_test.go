//go:build unix

package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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

// mould makes leaves of one run that differ in digest and seq, by writing over
// the two in a leaf.
type mould struct {
	leaf        []byte
	digest, seq int // where they stand
	next        uint32
}

func newMould(b *testing.B, run receipt.Name) *mould {
	r := receipttest.NewRun(receipt.KeyID(keyID("engine-a")), run)
	open := r.Add(receipttest.Open(origin))
	j := receipttest.Judgment("bench", receipttest.Deny("OUTSIDE-ROOT", "SPEND-LIMIT"))
	j.Request.Digest = [32]byte(bytes.Repeat([]byte{0xd7}, 32))
	j.Request.Changes = []receipt.Change{{Path: receipttest.Hidden("path"), Edit: receipt.Replace{Before: receipttest.Commitment("b"), After: receipttest.Commitment("a")}}}
	j.Request.Effects = []receipt.Effect{{On: receipt.OnWrites, Target: receipttest.Hidden("path")}}
	j.Reads = []receipt.Read{{Key: receipttest.Hidden("path"), Seen: receipttest.Commitment("b")}}
	for i := range 7 {
		j.Request.Inputs = append(j.Request.Inputs, receipt.Input{Name: receipt.Name(fmt.Sprint("input-", i)), Value: receipttest.Hidden(fmt.Sprint(i))})
	}
	d := receipttest.Build(receipt.Call{By: open.Statement.Call.By, Run: run, Seq: 0xd7d7d7d7, Prev: open.CID, At: receipttest.Start}, j)
	m := &mould{leaf: leafOf(b, dsse.ReceiptType, d.Payload())}
	m.digest = bytes.Index(m.leaf, j.Request.Digest[:])
	m.seq = bytes.Index(m.leaf, []byte{0x1a, 0xd7, 0xd7, 0xd7, 0xd7}) + 1
	if m.digest < 0 || m.seq < 1 {
		b.Fatal("the mould has no holes")
	}
	return m
}

func (m *mould) cast(r *rand.Rand) []byte {
	leaf := bytes.Clone(m.leaf)
	for i := range 4 {
		binary.BigEndian.PutUint64(leaf[m.digest+8*i:], r.Uint64())
	}
	m.next++
	binary.BigEndian.PutUint32(leaf[m.seq:], 1<<16+m.next)
	return leaf
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func fromEnv(b *testing.B, name string, otherwise int) int {
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkIndex absorbs OBSTAT_INDEX_LEAVES leaves of about 1,300 bytes
// (200,000 by default) of 64 runs in batches of OBSTAT_INDEX_BATCH (1024), and
// prints what the process spends on a leaf, all of it, compaction and the making
// of the leaves included; then the bytes on disk, look-ups of statements that
// are there and that are not, and a SHA-256 to compare with.
func BenchmarkIndex(b *testing.B) {
	n, batch := fromEnv(b, "OBSTAT_INDEX_LEAVES", 200_000), fromEnv(b, "OBSTAT_INDEX_BATCH", 1024)
	r := rand.New(rand.NewPCG(1, 2))
	var moulds []*mould
	for i := range 64 {
		moulds = append(moulds, newMould(b, receipt.Name(fmt.Sprintf("2026-03-01/%08x-%04x", r.Uint32(), i))))
	}
	for b.Loop() {
		dir := filepath.Join(b.TempDir(), "index")
		x, err := Open(dir, Options{Origin: origin})
		if err != nil {
			b.Fatal(err)
		}
		leaves := [][]byte{listing(b, "engine-a")}
		var sample []dagcbor.CID
		begin, cpu := time.Now(), cpuTime()
		for size := 0; size < n; leaves = leaves[:0] {
			for len(leaves) < min(batch, n-size) {
				leaves = append(leaves, moulds[r.IntN(len(moulds))].cast(r))
			}
			size += len(leaves)
			if err := x.Absorb(leaves, nil, uint64(size), merkle.Hash{}); err != nil {
				b.Fatal(err)
			}
			sample = append(sample, statementOf(b, leaves[len(leaves)-1]))
		}
		per := func(d time.Duration, n int) float64 { return float64(d.Nanoseconds()) / float64(n) / 1000 }
		b.ReportMetric(per(cpuTime()-cpu, n), "cpu-µs/leaf")
		b.ReportMetric(per(time.Since(begin), n), "µs/leaf")
		b.ReportMetric(float64(diskUse(b, dir))/float64(n), "disk-B/leaf")
		b.ReportMetric(0, "ns/op")
		cpu = cpuTime()
		for range 100_000 { // says how busy the machine is: 0.76 µs on an idle one
			sha256.Sum256(leaves[:cap(leaves)][0][:1200])
		}
		b.ReportMetric(per(cpuTime()-cpu, 100_000), "sha256-1200B-cpu-µs")
		look := func(what string, want bool, c func(i int) dagcbor.CID) {
			const looks = 20_000
			took := make([]time.Duration, looks)
			for i := range took {
				c, begin := c(i), time.Now()
				_, ok, err := x.Lookup(c)
				if took[i] = time.Since(begin); ok != want || err != nil {
					b.Fatal(ok, err)
				}
			}
			slices.Sort(took)
			b.ReportMetric(per(took[looks/2], 1), what+"-p50-µs")
			b.ReportMetric(per(took[looks*99/100], 1), what+"-p99-µs")
		}
		look("absent", false, func(i int) dagcbor.CID { return dagcbor.Sum(fmt.Appendf(nil, "%d", i)) })
		look("present", true, func(int) dagcbor.CID { return sample[r.IntN(len(sample))] })
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func diskUse(b *testing.B, dir string) (n int64) {
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if i, err := d.Info(); err == nil {
				n += i.Size()
			}
		}
		return nil // files come and go
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkEntryOf is the part of it that is no store.
func BenchmarkEntryOf(b *testing.B) {
	leaf := newMould(b, "run-1").cast(rand.New(rand.NewPCG(1, 2)))
	st := statementOf(b, leaf)
	name := func(dsse.KeyID) string { return "engine-a" }
	for _, known := range []dagcbor.CID{{}, st} {
		b.Run(map[bool]string{true: "all", false: "statement known"}[known.IsZero()], func(b *testing.B) {
			b.SetBytes(int64(len(leaf)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := EntryOf(1, leaf, known, name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
