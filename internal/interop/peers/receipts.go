package main

import (
	"crypto/ed25519"
	"fmt"
	"runtime"
	"sync"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// origin names the log that receipts are written to; engineKey signs them.
const origin = "peers.example/log"

var (
	enginePublic, engineKey = generate()
	engineID                = receipt.KeyID(dsse.IDOf(enginePublic))
)

func generate() (ed25519.PublicKey, ed25519.PrivateKey) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err) // crypto/rand never fails
	}
	return public, private
}

// makeBodies signs count receipts of a run, each another one, and makes of each
// what the system is sent.
func makeBodies(s *system, run string, count int) ([][]byte, error) {
	bodies := make([][]byte, count)
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < count && errs[w] == nil; i += workers {
				bodies[i], errs[w] = makeBody(s, run, uint64(i))
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return bodies, nil
}

func makeBody(s *system, run string, n uint64) ([]byte, error) {
	d, err := judgment(run, n).Build()
	if err != nil {
		return nil, err
	}
	env, err := dsse.Sign(dsse.ReceiptType, d.Payload(), engineKey)
	if err != nil {
		return nil, err
	}
	return s.body(env)
}

// judgment is a receipt as a gate writes it for a change of two files. Its
// envelope is 1.4 KB of DSSE JSON. What it commits to is nothing.
func judgment(run string, n uint64) receipt.Statement {
	digest := func(what string) [32]byte { return blake3.Sum256(fmt.Appendf(nil, "%s %s %d", what, run, n)) }
	hidden := func(what string) receipt.Value { return receipt.CommittedTo(digest(what)) }
	v, err := verdict.Admit("files/inside-root")
	if err != nil {
		panic(err) // it is a constant
	}
	ruling, err := receipt.Rule(v, receipt.Recovery{})
	if err != nil {
		panic(err) // the same
	}
	j := receipt.Judgment{
		Request: receipt.Request{
			Verb: "files", Digest: digest("request"), Task: "task-1", Attempt: 1,
			Changes: []receipt.Change{
				{Path: hidden("path 0"), Edit: receipt.Replace{Before: digest("before"), After: digest("after 0")}},
				{Path: hidden("path 1"), Edit: receipt.Create{After: digest("after 1")}},
			},
			Effects: []receipt.Effect{
				{On: receipt.OnReads, Target: hidden("path 0")},
				{On: receipt.OnWrites, Target: hidden("path 0")},
				{On: receipt.OnWrites, Target: hidden("path 1")},
			},
		},
		Class: receipt.Yellow, Ruling: ruling, Origin: verdict.Whole(verdict.LLM),
		Reads:   []receipt.Read{{Key: hidden("path 0"), Seen: digest("before")}},
		Inverse: receipt.Escrowed{Delta: digest("delta")},
	}
	receipt.SortSet(j.Request.Changes)
	receipt.SortSet(j.Request.Effects)
	call := receipt.Call{
		By: engineID, Run: receipt.Name(run), Seq: n + 1, Prev: dagcbor.Sum(fmt.Appendf(nil, "previous %s %d", run, n)), At: 1_767_225_600_000,
	}
	return receipt.Statement{Call: call, Receipt: j}
}
