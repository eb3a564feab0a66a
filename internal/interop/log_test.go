package interop

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

func TestMain(m *testing.M) {
	// Tessera tells its progress.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// head is one size that the log had, and what was signed of it.
type head struct {
	size uint64
	root merkle.Hash
	note []byte
}

// grownLog is the real engine on a real directory behind the real server, and
// beside it what it was given, hashed by us.
type grownLog struct {
	*servertest.Log
	t      *testing.T
	dir    string // the engine's
	leaves [][]byte
	nodes  map[merkle.NodeID]merkle.Hash
	edge   merkle.Range
	heads  []head // the sizes at which it was looked at, oldest first
}

func newLog(t *testing.T) *grownLog {
	t.Helper()
	dir := t.TempDir()
	fs, err := durable.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	l := &grownLog{Log: servertest.On(t, fs), t: t, dir: dir, nodes: map[merkle.NodeID]merkle.Hash{}}
	t.Cleanup(browser.CloseIdleConnections)
	entries, err := merkle.ParseBundle(l.get("/"+merkle.EntriesPath(0, 1)), 1)
	if err != nil {
		t.Fatal(err)
	}
	l.hash(bytes.Clone(entries[0])) // the genesis registry, which nobody submitted
	return l
}

func (l *grownLog) size() uint64 { return uint64(len(l.leaves)) }

func (l *grownLog) hash(leaf []byte) {
	l.leaves = append(l.leaves, leaf)
	l.edge.Append(merkle.LeafHash(leaf), func(id merkle.NodeID, h merkle.Hash) { l.nodes[id] = h })
}

// node is a merkle.Reader of our own tree.
func (l *grownLog) node(id merkle.NodeID) (merkle.Hash, error) {
	h, ok := l.nodes[id]
	if !ok {
		return h, fmt.Errorf("no node %+v", id)
	}
	return h, nil
}

// callers is how many submit at a time.
const callers = 64

// growTo submits receipts until the log has size leaves, and reads the
// checkpoint then. The order is the log's.
func (l *grownLog) growTo(size uint64) {
	l.t.Helper()
	first := l.size()
	leaves := make([][]byte, size-first) // by index, from first on
	var next atomic.Uint64
	next.Store(first)
	var all sync.WaitGroup
	for range min(callers, len(leaves)) {
		all.Go(func() {
			for n := next.Add(1) - 1; n < size; n = next.Add(1) - 1 {
				leaf := receiptLeaf(l.t, n)
				b, ok := l.submit(leaf)
				if !ok {
					return
				}
				if i := b.Proof.Index - first; i >= uint64(len(leaves)) || leaves[i] != nil {
					l.t.Errorf("receipt %d got index %d, which is taken or beyond %d", n, b.Proof.Index, size)
				} else {
					leaves[i] = leaf
				}
			}
		})
	}
	all.Wait()
	if l.t.Failed() {
		l.t.FailNow()
	}
	for _, leaf := range leaves {
		l.hash(leaf)
	}
	note := l.get("/checkpoint")
	c, err := checkpoint.Open(note, l.Policy.Keys(servertest.Origin))
	if err != nil {
		l.t.Fatal(err)
	}
	if c.Size != size || c.Root != l.edge.Root() {
		l.t.Fatalf("the log says size %d, root %v; it was given %d leaves of root %v", c.Size, c.Root, size, l.edge.Root())
	}
	l.heads = append(l.heads, head{size, c.Root, note})
}

// receiptLeaf is the leaf of a run-open, another one for each n.
func receiptLeaf(t *testing.T, n uint64) []byte {
	key := servertest.Key(servertest.Engine)
	by := receipt.KeyID(dsse.IDOf(key.Public().(ed25519.PublicKey)))
	d := receipttest.NewRun(by, receipt.Name(fmt.Sprintf("run-%d", n))).Add(receipttest.Open(servertest.Origin))
	env, err := dsse.Sign(dsse.ReceiptType, d.Payload(), key)
	if err != nil {
		t.Error(err)
		return nil
	}
	leaf, err := env.Leaf()
	if err != nil {
		t.Error(err)
	}
	return leaf
}

// browser keeps a connection for each caller.
var browser = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: callers}}

// submit returns the answer to a leaf. It may be called from many goroutines.
func (l *grownLog) submit(leaf []byte) (*bundle.Bundle, bool) {
	resp, err := browser.Post(l.URL+"/v1/receipts", server.LeafType, bytes.NewReader(leaf))
	if err != nil {
		l.t.Error(err)
		return nil, false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Error(err)
		return nil, false
	}
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK {
		l.t.Errorf("submit: %s\n%s", resp.Status, body)
		return nil, false
	}
	b, err := bundle.Parse(body)
	if err != nil {
		l.t.Error(err)
		return nil, false
	}
	return b, true
}

func (l *grownLog) get(path string) []byte {
	l.t.Helper()
	resp, err := browser.Get(l.URL + path)
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		l.t.Fatalf("GET %s: %s, %v", path, resp.Status, err)
	}
	return body
}

// Stop stops the server at once: one waits for connections that were dialled and
// not used.
func (l *grownLog) Stop() {
	l.t.Helper()
	browser.CloseIdleConnections()
	l.Log.Stop()
}

// latest is the head that is read now, earlier those before it.
func (l *grownLog) latest() head    { return l.heads[len(l.heads)-1] }
func (l *grownLog) earlier() []head { return l.heads[:len(l.heads)-1] }

// vkey is the log's verifier key as a trust file has it.
func (l *grownLog) vkey() string { return l.Policy.Logs()[0].Key.String() }

// inclusion and consistency are our proofs, in the type that others use.
func (l *grownLog) inclusion(index, size uint64) [][]byte {
	l.t.Helper()
	return theirs(l.t)(merkle.InclusionProof(index, size, l.node))
}

func (l *grownLog) consistency(size1, size2 uint64) [][]byte {
	l.t.Helper()
	return theirs(l.t)(merkle.ConsistencyProof(size1, size2, l.node))
}

func theirs(t *testing.T) func([]merkle.Hash, error) [][]byte {
	return func(proof []merkle.Hash, err error) [][]byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return flat(proof)
	}
}

// flat lists hashes of any spelling as byte slices.
func flat[H ~[32]byte](hashes []H) [][]byte {
	all := make([][]byte, len(hashes))
	for i, h := range hashes {
		all[i] = slices.Clone(h[:])
	}
	return all
}

func equal(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// some are indexes of a tree of size: all of a small one; of a large one those
// beside every power of two and of 256, and some between.
func some(size uint64) []uint64 {
	if size <= 600 {
		return upTo(size)
	}
	indexes := few(size)
	for n := uint64(1); n < size; n *= 2 {
		indexes = append(indexes, n-1, n)
	}
	for n := uint64(0); n < size; n += 997 {
		indexes = append(indexes, n)
	}
	slices.Sort(indexes)
	return slices.Compact(indexes)
}

// few are the indexes beside the first and last tile boundary, and the ends.
func few(size uint64) []uint64 {
	last := size - size%merkle.TileWidth
	var indexes []uint64
	for _, n := range []uint64{0, 1, 254, 255, 256, 257, last - 1, last, size - 2, size - 1} {
		if n < size {
			indexes = append(indexes, n)
		}
	}
	slices.Sort(indexes)
	return slices.Compact(indexes)
}

func upTo(size uint64) []uint64 {
	all := make([]uint64, size)
	for i := range all {
		all[i] = uint64(i)
	}
	return all
}
