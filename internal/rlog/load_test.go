//go:build load

package rlog_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/index"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

const loadOrigin = "log.example/load"

// TestLoad fills a log with OBSTAT_LOAD leaves of 1.4 KB through 256 callers,
// index and all, in a process of its own that ends without closing; prints what
// a leaf costs as the log grows, the memory and the bytes on disk; then starts
// the log again and prints how long that takes. OBSTAT_LOAD_DIR names where.
func TestLoad(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("OBSTAT_LOAD"))
	if err != nil {
		t.Skip("OBSTAT_LOAD is not a number of leaves")
	}
	dir := os.Getenv("OBSTAT_LOAD_CHILD")
	if dir != "" {
		if p := os.Getenv("OBSTAT_LOAD_PROFILE"); p != "" {
			f, _ := os.Create(p)
			_ = pprof.StartCPUProfile(f)
			defer f.Close()
		}
		fill(t, dir, n)
		pprof.StopCPUProfile()
		os.Exit(0) // as a kill: nothing is closed
	}
	dir, err = os.MkdirTemp(os.Getenv("OBSTAT_LOAD_DIR"), "obstat-load")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(os.Args[0], "-test.run=^TestLoad$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), "OBSTAT_LOAD_CHILD="+dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		begin, cpu := time.Now(), cpuTime()
		l, x := openLoad(t, dir)
		fmt.Printf("load: start at %d leaves: %v, CPU %v, anonymous memory %d MiB\n", l.Size(),
			time.Since(begin).Round(time.Millisecond), (cpuTime() - cpu).Round(time.Millisecond), anonymous(t))
		if l.Size() != uint64(n)+1 {
			t.Errorf("size %d", l.Size())
		}
		begin = time.Now()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		fmt.Printf("load: close %v\n", time.Since(begin).Round(time.Millisecond))
	}
}

func loadConfig(t *testing.T, dir string) (rlog.Config, *index.Index) {
	fs, err := durable.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.Open(filepath.Join(dir, "index"), index.Options{Origin: loadOrigin})
	if err != nil {
		t.Fatal(err)
	}
	signer, err := checkpoint.NewSigner(loadOrigin, checkpoint.TypeEd25519, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{5}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return rlog.Config{Origin: loadOrigin, Signer: signer, FS: fs, Index: x, Statement: statementOf}, x
}

func statementOf(leaf []byte) (dagcbor.CID, error) {
	env, err := dsse.ParseLeaf(leaf)
	if err != nil {
		return dagcbor.CID{}, err
	}
	return dagcbor.Sum(env.Payload), nil
}

func openLoad(t *testing.T, dir string) (*rlog.Log, *index.Index) {
	cfg, x := loadConfig(t, dir)
	l, err := rlog.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l, x
}

// template makes leaves that differ where it matters, without signing or
// encoding each: the request digest is patched into a leaf.
type template struct {
	leaf           []byte
	payloadAt      int
	payload, patch int
}

func newTemplate(t *testing.T) template {
	run := receipttest.NewRun(receipttest.EngineKey(), "run-1")
	run.Add(receipttest.Open(loadOrigin))
	j := receipttest.Judgment("load", receipttest.Deny("OUTSIDE-ROOT"))
	j.Request.Digest = [32]byte(bytes.Repeat([]byte{0xd7}, 32))
	for i := range 8 {
		j.Request.Inputs = append(j.Request.Inputs, receipt.Input{Name: receipt.Name(fmt.Sprint("input-", i)), Value: receipttest.Hidden(fmt.Sprint(i))})
	}
	j.Reads = []receipt.Read{{Key: receipttest.Hidden("path"), Seen: receipttest.Commitment("b")}}
	for i := range 3 {
		j.Reads = append(j.Reads, receipt.Read{Key: receipttest.Hidden(fmt.Sprint("path", i)), Seen: receipttest.Commitment("b")})
	}
	receipt.SortSet(j.Reads)
	d := run.Add(j)
	leaf, err := (&dsse.Envelope{Type: dsse.ReceiptType, Payload: d.Payload(), Sigs: []dsse.Signature{{}}}).Leaf()
	if err != nil {
		t.Fatal(err)
	}
	return template{leaf: leaf, payloadAt: bytes.Index(leaf, d.Payload()), payload: len(d.Payload()), patch: bytes.Index(leaf, bytes.Repeat([]byte{0xd7}, 32))}
}

func (m template) item(r *rand.Rand) rlog.Item {
	leaf := bytes.Clone(m.leaf)
	for i := range 4 {
		for j, v := 0, r.Uint64(); j < 8; j++ {
			leaf[m.patch+8*i+j] = byte(v >> (8 * j))
		}
	}
	return rlog.Item{Leaf: leaf, Statement: dagcbor.Sum(leaf[m.payloadAt : m.payloadAt+m.payload])}
}

func fill(t *testing.T, dir string, n int) {
	cfg, x := loadConfig(t, dir)
	m := newTemplate(t)
	first := m.item(rand.New(rand.NewPCG(0, 0)))
	if err := rlog.Create(cfg, first.Leaf); err != nil {
		t.Fatal(err)
	}
	l, err := rlog.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("load: %d leaves of %d bytes\n", n, len(first.Leaf))
	const callers, steps = 256, 10
	done := 0
	for step := range steps {
		begin, cpu := time.Now(), cpuTime()
		upTo := n * (step + 1) / steps
		var next atomic.Int64
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(step+1), uint64(c)))
				for next.Add(1) <= int64(upTo-done) {
					if _, err := l.Submit(context.Background(), m.item(r)); err != nil {
						panic(err)
					}
				}
			})
		}
		wg.Wait()
		count := upTo - done
		done = upTo
		s := l.Stats()
		fmt.Printf("load: at %d: %.0f leaves/s, CPU %.1f µs a leaf, anonymous memory %d MiB, %d segments, on disk %d, unabsorbed %d, %.0f bytes a leaf\n",
			done, float64(count)/time.Since(begin).Seconds(), float64((cpuTime()-cpu).Microseconds())/float64(count),
			anonymous(t), s.Segments, s.OnDisk, s.Unabsorbed, float64(size(t, dir))/float64(done))
	}
	_ = x
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// anonymous is the anonymous memory of this process in MiB; 0 where the system
// does not say.
func anonymous(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range bytes.Split(b, []byte("\n")) {
		var kb int
		if _, err := fmt.Sscanf(string(line), "RssAnon: %d kB", &kb); err == nil {
			return kb >> 10
		}
	}
	return 0
}

func size(t *testing.T, dir string) (n int64) {
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // files come and go
		}
		if i, err := d.Info(); err == nil {
			n += i.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
