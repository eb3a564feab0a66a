package main

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/trust"
)

const (
	killRounds      = 50
	killRoundsHeavy = 200
	killWriters     = 24
)

// TestKill kills a server that is a process of its own, with SIGKILL and while
// requests are outstanding, again and again on one directory. After each kill:
//
//   - every receipt that was answered is at the index that was answered;
//   - every checkpoint that was handed out is of a tree that the present one
//     extends;
//   - what is submitted again finds its index, and no statement has two.
//
// A receipt that was not answered may be there or not.
func TestKill(t *testing.T) {
	rounds := killRounds
	switch {
	case testing.Short():
		rounds = 5
	case os.Getenv("OBSTAT_HEAVY") != "":
		rounds = killRoundsHeavy
	}
	k := newKiller(t)
	for round := range rounds {
		if round%5 == 4 {
			k.killEarly()
		}
		p := k.start()
		k.check(p.url)
		k.resubmit(p.url)
		k.write(p)
	}
	p := k.start()
	k.check(p.url)
	k.resubmit(p.url)
	clear(k.proven) // once more from every one of them
	k.check(p.url)
	if err := p.end(os.Interrupt); err != nil {
		t.Errorf("the last server: %v\n%s", err, p.stderr)
	}
	fmt.Printf("kill: %d rounds, %d writers: %d answered, %d not answered (in %d rounds) of which %d were in the log; %d checkpoints handed out; %d leaves\n",
		rounds, killWriters, k.answeredCount, k.unansweredCount, k.roundsWithUnanswered, k.unansweredFound, len(k.heads), k.last)
	if k.roundsWithUnanswered == 0 {
		t.Error("no round had a request that was not answered: nothing was killed in the middle")
	}
}

// killer holds what the servers of one directory have promised.
type killer struct {
	t       *testing.T
	dir     string
	key     ed25519.PrivateKey
	policy  *trust.Policy
	engines *trust.Engines
	client  *http.Client
	serial  atomic.Uint64 // of statements

	mu       sync.Mutex
	answered map[uint64]merkle.Hash // leaf hash by answered index; guarded by mu
	envelope map[uint64]*dsse.Envelope
	lost     []*dsse.Envelope       // submitted in this round and not answered; guarded by mu
	heads    map[uint64]merkle.Hash // root by size of every checkpoint that was handed out; guarded by mu
	proven   map[uint64]bool        // sizes of heads that an earlier present tree was proven to extend

	last                                            uint64 // size of the tree that was checked last
	answeredCount, unansweredCount, unansweredFound int
	roundsWithUnanswered                            int
}

func newKiller(t *testing.T) *killer {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	cfg, err := parseInit([]string{"--dir", dir, "--origin", "example.com/log", "--make-engine", "ci"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := initialise(cfg, io.Discard); err != nil {
		t.Fatal(err)
	}
	key, err := keyfile.Read(filepath.Join(dir, keysDir, "engine-ci.key"), nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: killWriters + 1, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	k := &killer{
		t: t, dir: dir, key: key, client: &http.Client{Transport: transport, Timeout: 20 * time.Second},
		answered: map[uint64]merkle.Hash{}, envelope: map[uint64]*dsse.Envelope{}, heads: map[uint64]merkle.Hash{}, proven: map[uint64]bool{},
	}
	b, err := os.ReadFile(filepath.Join(dir, policyFile))
	if err != nil {
		t.Fatal(err)
	}
	if k.policy, err = trust.ParsePolicy(b); err != nil {
		t.Fatal(err)
	}
	if b, err = os.ReadFile(filepath.Join(dir, enginesFile)); err != nil {
		t.Fatal(err)
	}
	if k.engines, err = trust.ParseEngines(b); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *killer) start() *process {
	k.t.Helper()
	p, err := launch(k.dir)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.end(os.Kill)
		}
	})
	return p
}

// killEarly kills a server that is still recovering the log.
func (k *killer) killEarly() {
	k.t.Helper()
	self, err := os.Executable()
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--dir", k.dir, "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), beLogd+"=1")
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
	if err := cmd.Process.Kill(); err != nil {
		k.t.Fatal(err)
	}
	_ = cmd.Wait() // killed, as it says
}

// write lets all writers submit until the server is killed among them.
func (k *killer) write(p *process) {
	k.t.Helper()
	target := int64(1 + rand.IntN(200))
	var answers, outstanding atomic.Int64
	reached := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	for range killWriters {
		wg.Go(func() {
			for {
				env := k.next()
				outstanding.Add(1)
				a, err := k.submit(p.url, env)
				outstanding.Add(-1)
				if err != nil {
					k.mu.Lock()
					k.lost = append(k.lost, env)
					k.mu.Unlock()
					return
				}
				k.keep(env, a)
				if answers.Add(1) >= target {
					once.Do(func() { close(reached) })
				}
			}
		})
	}
	wg.Go(func() { // readers are handed checkpoints, too
		for {
			note, err := k.get(p.url + "/checkpoint")
			if err != nil {
				return
			}
			k.keepHead(note)
		}
	})
	<-reached
	for outstanding.Load() == 0 {
		time.Sleep(10 * time.Microsecond)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		k.t.Fatal(err)
	}
	_ = p.cmd.Wait() // killed, as it says
	wg.Wait()
	k.answeredCount += int(answers.Load())
	k.unansweredCount += len(k.lost)
	if len(k.lost) > 0 {
		k.roundsWithUnanswered++
	}
}

// next makes a statement that was never made before.
func (k *killer) next() *dsse.Envelope {
	env, err := opening(fmt.Sprintf("run-%d", k.serial.Add(1)), k.key)
	if err != nil {
		panic(err) // a statement of this test's own making
	}
	return env
}

// answer is a bundle that came back.
type answer struct {
	body   []byte
	index  uint64
	repeat bool
}

// submit returns an error where no whole answer came.
func (k *killer) submit(url string, env *dsse.Envelope) (*answer, error) {
	resp, err := k.client.Post(url+"/v1/receipts", server.DSSEType, bytes.NewReader(env.JSON()))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK {
		k.t.Errorf("a good submission was answered %d %s", resp.StatusCode, body)
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	b, err := bundle.Parse(body)
	if err != nil {
		k.t.Errorf("the answer is no bundle: %v", err)
		return nil, err
	}
	return &answer{body, b.Proof.Index, resp.Header.Get(server.RepeatHeader) == "true"}, nil
}

// keep holds the server to its answer from now on.
func (k *killer) keep(env *dsse.Envelope, a *answer) {
	b, err := bundle.Parse(a.body)
	if err != nil {
		k.t.Error(err)
		return
	}
	head := k.keepHead(b.Proof.Checkpoint)
	leaf, err := env.Leaf()
	if err != nil {
		k.t.Error(err)
		return
	}
	hash := merkle.LeafHash(leaf)
	if err := merkle.VerifyInclusion(a.index, head.Size, hash, b.Proof.Hashes, head.Root); err != nil {
		k.t.Errorf("the proof of leaf %d: %v", a.index, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if before, ok := k.answered[a.index]; ok && before != hash {
		k.t.Errorf("leaf %d was promised to two statements", a.index)
	}
	k.answered[a.index], k.envelope[a.index] = hash, env
}

// keepHead holds the server to a checkpoint from now on.
func (k *killer) keepHead(note []byte) checkpoint.Checkpoint {
	o, err := checkpoint.Open(note, k.policy.Keys(k.engines.Origin))
	if err != nil {
		k.t.Errorf("a checkpoint that was handed out: %v\n%s", err, note)
		return checkpoint.Checkpoint{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if root, ok := k.heads[o.Size]; ok && root != o.Root {
		k.t.Errorf("two roots for size %d", o.Size)
	}
	k.heads[o.Size] = o.Root
	return o.Checkpoint
}

func (k *killer) get(url string) ([]byte, error) {
	resp, err := k.client.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", url, resp.Status, body)
	}
	return body, err
}

// check reads the whole log over HTTP and holds it against every promise.
func (k *killer) check(url string) {
	k.t.Helper()
	note, err := k.get(url + "/checkpoint")
	if err != nil {
		k.t.Fatal(err)
	}
	head := k.keepHead(note)

	// The entries: what was promised is there, nothing is there twice, and
	// they make the roots of every checkpoint.
	var tree merkle.Range
	places := map[dagcbor.CID]uint64{}
	for n := uint64(0); n*merkle.TileWidth < head.Size; n++ {
		width := merkle.TileWidthAt(0, n, head.Size)
		b, err := k.get(url + "/" + merkle.EntriesPath(n, width))
		if err != nil {
			k.t.Fatal(err)
		}
		entries, err := merkle.ParseBundle(b, width)
		if err != nil {
			k.t.Fatal(err)
		}
		for _, entry := range entries {
			index := tree.Size()
			hash := merkle.LeafHash(entry)
			if promised, ok := k.answered[index]; ok && promised != hash {
				k.t.Errorf("leaf %d is not the receipt that was answered", index)
			}
			env, err := dsse.ParseLeaf(entry)
			if err != nil {
				k.t.Fatal(err)
			}
			cid := dagcbor.Sum(env.Payload)
			if first, ok := places[cid]; ok {
				k.t.Errorf("leaf %d is the statement of leaf %d", index, first)
			}
			places[cid] = index
			tree.Append(hash, nil)
			if root, ok := k.heads[tree.Size()]; ok && root != tree.Root() {
				k.t.Errorf("the entries do not make the checkpoint of size %d that was handed out", tree.Size())
			}
		}
	}
	for index := range k.answered {
		if index >= head.Size {
			k.t.Errorf("leaf %d was answered, and the log ends at %d", index, head.Size)
		}
	}
	k.checkTiles(url, head)
	found := 0
	for _, env := range k.lost {
		if _, ok := places[dagcbor.Sum(env.Payload)]; ok {
			found++
		}
	}
	k.unansweredFound += found
}

// checkTiles proves from the tiles that the present tree extends every
// checkpoint that was handed out since the last time, and the one of that time,
// which extends those before it.
func (k *killer) checkTiles(url string, head checkpoint.Checkpoint) {
	k.t.Helper()
	cache := map[merkle.Tile][]byte{}
	reader := merkle.TileReader(head.Size, func(tile merkle.Tile) ([]byte, error) {
		if b, ok := cache[tile]; ok {
			return b, nil
		}
		b, err := k.get(url + "/" + tile.Path())
		cache[tile] = b
		return b, err
	})
	for size, root := range k.heads {
		if k.proven[size] && size != k.last {
			continue
		}
		if size > head.Size {
			k.t.Errorf("a checkpoint of size %d was handed out, and the log is at %d", size, head.Size)
			continue
		}
		proof, err := merkle.ConsistencyProof(size, head.Size, reader)
		if err == nil {
			err = merkle.VerifyConsistency(size, head.Size, root, head.Root, proof)
		}
		if err != nil {
			k.t.Errorf("from the checkpoint of size %d to %d: %v", size, head.Size, err)
		}
		k.proven[size] = true
	}
	k.last = head.Size
}

// resubmit sends some answered receipts again, which must find their index, and
// all that were not answered, which must get one.
func (k *killer) resubmit(url string) {
	k.t.Helper()
	sample := 0
	for index, env := range k.envelope {
		if sample++; sample > 20 {
			break
		}
		a, err := k.submit(url, env)
		if err != nil {
			k.t.Fatal(err)
		}
		if !a.repeat || a.index != index {
			k.t.Errorf("what was answered at %d is at %d when it is submitted again, as a repeat: %v", index, a.index, a.repeat)
		}
	}
	lost := k.lost
	k.lost = nil
	for _, env := range lost {
		a, err := k.submit(url, env)
		if err != nil {
			k.t.Fatal(err)
		}
		k.keep(env, a)
	}
}
