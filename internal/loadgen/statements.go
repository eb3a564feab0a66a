package main

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// form is one of the two ways to submit an envelope.
type form struct {
	name, mediaType string
	body            func(*dsse.Envelope) ([]byte, error)
}

func forms() []form {
	return []form{
		{"leaf", "application/vnd.obstat.leaf.v1+cbor", (*dsse.Envelope).Leaf},
		{"DSSE JSON", "application/json", func(e *dsse.Envelope) ([]byte, error) { return e.JSON(), nil }},
	}
}

// envelopes makes n statements that differ, of about 1.4 KB as a leaf, and
// signs them on all cores.
func envelopes(key ed25519.PrivateKey, run string, n int) ([]*dsse.Envelope, error) {
	all := make([]*dsse.Envelope, n)
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				if all[i], errs[w] = envelope(key, run, uint64(i)+1); errs[w] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// hash makes a digest, commitment or salt that belongs to a label and a number.
func hash(label string, n uint64) [32]byte {
	return blake3.Sum256(binary.BigEndian.AppendUint64([]byte(label), n))
}

// envelope is an admission of an effect on three files.
func envelope(key ed25519.PrivateKey, run string, n uint64) (*dsse.Envelope, error) {
	hidden := func(label string) receipt.Value { return receipt.CommittedTo(hash(label, n)) }
	q := receipt.Request{
		Verb: "files", Digest: hash(run, n), Task: "bench", Attempt: 1,
		Inputs: []receipt.Input{{Name: "branch", Value: hidden("branch")}, {Name: "message", Value: hidden("message")}},
		Context: receipt.Context{
			Plan: receipt.PinBLAKE3([]byte("plan")),
		},
	}
	j := receipt.Judgment{
		Class: receipt.Yellow, Origin: verdict.Whole(verdict.LLM), Inverse: receipt.Escrowed{Delta: hash("delta", n)},
	}
	for i := range 3 {
		path := fmt.Sprintf("path %d", i)
		q.Changes = append(q.Changes, receipt.Change{
			Path: hidden(path), Edit: receipt.Replace{Before: hash("before "+path, n), After: hash("after "+path, n)},
		})
		q.Effects = append(q.Effects, receipt.Effect{On: receipt.OnWrites, Target: hidden(path)})
		j.Reads = append(j.Reads, receipt.Read{Key: hidden(path), Seen: hash("before "+path, n)})
	}
	receipt.SortSet(q.Changes)
	receipt.SortSet(q.Effects)
	receipt.SortSet(j.Reads)
	j.Request = q
	admit, err := verdict.Admit("files/inside-root")
	if err != nil {
		return nil, err
	}
	if j.Ruling, err = receipt.Rule(admit, receipt.Recovery{}); err != nil {
		return nil, err
	}
	prev := receipt.CID{0x01, 0x71, 0x1e, 0x20}
	h := hash(run, n-1)
	copy(prev[4:], h[:])
	payload, err := receipt.Statement{
		Call: receipt.Call{
			By: receipt.KeyID(dsse.IDOf(key.Public().(ed25519.PublicKey))), Run: receipt.Name(run),
			Seq: n, Prev: prev, At: 1_767_225_600_000 + int64(n),
		},
		Receipt: j,
	}.Encode()
	if err != nil {
		return nil, err
	}
	return dsse.Sign(dsse.ReceiptType, payload, key)
}
