package server_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

// TestSubmit puts one statement of every kind into a log, in turns as DSSE
// JSON and as leaf, and proves every answer.
func TestSubmit(t *testing.T) {
	l := servertest.New(t)
	for i, d := range everyKind() {
		signer := servertest.Engine
		if d.Statement.Receipt.Kind() == receipt.KindDecision {
			signer = servertest.Approver
		}
		env := signed(t, d, signer)
		mediaType, body := server.DSSEType, env.JSON()
		if i%2 == 1 {
			mediaType, body = server.LeafType, leafOf(t, env)
		}
		a := do(t, "POST", l.URL+"/v1/receipts", map[string]string{"Content-Type": mediaType}, body)
		if a.status != 201 {
			t.Fatalf("%s: %d %s", d.Statement.Receipt.Kind(), a.status, a.body)
		}
		if a.header.Get("Content-Type") != bundle.MediaType || a.header.Get(server.RepeatHeader) != "" {
			t.Errorf("%s: header %v", d.Statement.Receipt.Kind(), a.header)
		}
		index, got := proven(t, l, a.body)
		if index != uint64(i)+1 {
			t.Errorf("%s: index %d, want %d", d.Statement.Receipt.Kind(), index, i+1)
		}
		if !bytes.Equal(leafOf(t, got), leafOf(t, env)) {
			t.Errorf("%s: another envelope came back", d.Statement.Receipt.Kind())
		}
	}
}

// everyKind is a run with a statement of every kind, and the decision.
func everyKind() []*receipt.Decoded {
	run := receipttest.NewRun(keyID(servertest.Engine), "run-1")
	open := run.Add(receipttest.Open(servertest.Origin))
	admitted := run.Add(receipttest.Judgment("a", receipttest.Admit("rule-1")))
	done := run.Settle(admitted, receipttest.Commit(admitted))
	denied := run.Add(receipttest.Judgment("b", receipttest.Deny("NOT-ALLOWED")))
	asked := run.Add(receipttest.Judgment("c", receipttest.Escalate("HUMAN-DECIDES")))
	decision := receipttest.Decide(keyID(servertest.Approver), asked, receipt.Approve)
	fired := run.Settle(asked, receipttest.Commit(asked))
	gap := run.Lose(1)
	fault := run.Add(receipt.Fault{Stage: receipt.StageEvaluate, Code: "ENGINE-DOWN", Posture: receipt.FailClosed{}})
	return []*receipt.Decoded{open, admitted, done, denied, asked, decision, fired, gap, fault, run.Close()}
}

// TestSubmitGolden holds the bytes of an answer, with the registry chain.
func TestSubmitGolden(t *testing.T) {
	l := servertest.New(t)
	env := signed(t, opening(servertest.Engine, "golden"), servertest.Engine)
	a := do(t, "POST", l.URL+"/v1/receipts?registry=chain", map[string]string{"Content-Type": server.JSONType}, env.JSON())
	golden(t, "created.txt", []byte(show(a)))
	b, err := bundle.Parse(a.body)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Registry) != 1 || b.Registry[0].Index != 0 {
		t.Errorf("registry chain %+v, want the genesis", b.Registry)
	}
	if plain := submit(t, l, env); bytes.Contains(plain.body, []byte(dsse.RegistryType)) {
		t.Error("the registry chain came unasked")
	}
}

// TestMediaTypes: what a Content-Type may look like.
func TestMediaTypes(t *testing.T) {
	l := servertest.New(t)
	env := signed(t, opening(servertest.Engine, "types"), servertest.Engine)
	for _, test := range []struct {
		mediaType string
		body      []byte
	}{
		{"application/json", env.JSON()},
		{"application/json; charset=utf-8", env.JSON()},
		{"Application/JSON;charset=UTF-8", env.JSON()},
		{"application/vnd.dsse.envelope.v1+json", env.JSON()},
		{"application/vnd.obstat.leaf.v1+cbor", leafOf(t, env)},
		{"application/vnd.obstat.leaf.v1+CBOR", leafOf(t, env)},
	} {
		a := do(t, "POST", l.URL+"/v1/receipts", map[string]string{"Content-Type": test.mediaType}, test.body)
		if a.status != 201 && a.status != 200 {
			t.Errorf("%s: %d %s", test.mediaType, a.status, a.body)
		}
	}
}

// TestOnce: one statement has one leaf, whoever sends it, how often, in which
// spelling, across a restart, and with whatever valid signature.
func TestOnce(t *testing.T) {
	l := servertest.New(t)
	d := opening(servertest.Engine, "once")
	env := signed(t, d, servertest.Engine)
	again := resign(t, env, servertest.Engine)
	if again.Sigs[0] == env.Sigs[0] {
		t.Fatal("the second signature is the first")
	}

	const callers = 32
	answers := make([]answer, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			e := env
			if i%2 == 1 {
				e = again
			}
			answers[i] = submit(t, l, e)
		})
	}
	wg.Wait()
	created := 0
	_, stored := proven(t, l, answers[0].body)
	for _, a := range answers {
		switch repeat := a.header.Get(server.RepeatHeader); {
		case a.status == 201 && repeat == "":
			created++
		case a.status == 200 && repeat == "true":
		default:
			t.Errorf("status %d, %s %q", a.status, server.RepeatHeader, repeat)
		}
		index, got := proven(t, l, a.body)
		if index != 1 {
			t.Errorf("index %d, want 1", index)
		}
		if got.Sigs[0] != stored.Sigs[0] {
			t.Error("two envelopes of one statement were handed out")
		}
	}
	if created != 1 {
		t.Errorf("%d of %d callers were told that it is new, want 1", created, callers)
	}

	submit(t, l, signed(t, opening(servertest.Engine2, "other"), servertest.Engine2))
	l.Stop()
	l.Start()
	for _, e := range []*dsse.Envelope{env, again} {
		a := do(t, "POST", l.URL+"/v1/receipts", map[string]string{"Content-Type": server.LeafType}, leafOf(t, e))
		if a.status != 200 || a.header.Get(server.RepeatHeader) != "true" {
			t.Errorf("after a restart: %d %v", a.status, a.header)
		}
		if index, got := proven(t, l, a.body); index != 1 || got.Sigs[0] != stored.Sigs[0] {
			t.Errorf("after a restart: index %d, stored signature %v", index, got.Sigs[0] == stored.Sigs[0])
		}
	}
	if size := l.Server.Head().Size; size != 3 {
		t.Errorf("size %d, want 3", size)
	}
}

// TestMany: what many callers are answered is what stands in the log.
func TestMany(t *testing.T) {
	l := servertest.New(t)
	const callers, each = 16, 20
	var mu sync.Mutex
	leaves := map[uint64][]byte{}
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := range each {
				env := signed(t, opening(servertest.Engine, receipt.Name(fmt.Sprintf("many-%d-%d", i, n))), servertest.Engine)
				index, got := proven(t, l, submit(t, l, env).body)
				mu.Lock()
				leaves[index] = leafOf(t, got)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(leaves) != callers*each || l.Server.Head().Size != callers*each+1 {
		t.Fatalf("%d indexes in a log of size %d, want %d and %d", len(leaves), l.Server.Head().Size, callers*each, callers*each+1)
	}
	for i, entry := range entriesOf(t, l, callers*each+1) {
		if i > 0 && !bytes.Equal(entry, leaves[uint64(i)]) {
			t.Errorf("entry %d is not what its submitter was told", i)
		}
	}
}

// TestLargest: the largest envelope that can be is taken, in its widest JSON.
func TestLargest(t *testing.T) {
	l := servertest.New(t)
	run := receipttest.NewRun(keyID(servertest.Engine), "large")
	open := receipttest.Open(servertest.Origin)
	for i := range 450 {
		open.Logs = append(open.Logs, receipt.Name(fmt.Sprintf("log-%03d%s", i, strings.Repeat("x", 120))))
	}
	receipt.SortSet(open.Logs)
	env := signed(t, run.Add(open), servertest.Engine)
	if n := len(env.Payload); n < 50_000 {
		t.Fatalf("the payload is only %d bytes", n)
	}
	if a := submit(t, l, env); a.status != 201 {
		t.Errorf("%d %s", a.status, a.body)
	}
}
