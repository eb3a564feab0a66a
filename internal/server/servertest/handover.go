package servertest

import (
	"net/http"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/trust"
)

// HeirOrigin is the name of the log that goes on after HandOver.
const HeirOrigin = "test.example/heir"

// HandOver ends the log: its registrar freezes it and names another, which is
// made with the same keys, says so in its leaf 1, and is served until the test
// ends. The evidence is verified.
func (l *Log) HandOver() (heir *Log, evidence *bundle.Succession) {
	l.t.Helper()
	heir = named(l.t, faultfs.New(), HeirOrigin)
	freeze, err := l.Registry().Freeze(&trust.Heir{Log: HeirOrigin, Key: Public(HeirOrigin), Genesis: heir.Engines.Genesis})
	if err != nil {
		l.t.Fatal(err)
	}
	final := l.post(dsse.FreezeType, freeze.Encode)
	head, err := checkpoint.Open(final.Checkpoint, l.Policy.Keys(l.Engines.Origin))
	if err != nil {
		l.t.Fatal(err)
	}
	first := heir.post(dsse.SuccessorType, (&trust.Successor{
		Log: HeirOrigin, Checkpoint: final.Checkpoint,
		Predecessor: trust.Predecessor{Log: l.Engines.Origin, Size: head.Size, Root: head.Root, Registry: freeze.Registry},
	}).Encode)
	evidence = &bundle.Succession{Predecessor: final, Successor: first}
	if f, c := evidence.Follow(l.Policy, l.Engines); f == nil {
		l.t.Fatalf("%+v", c)
	}
	return heir, evidence
}

// post submits a statement of the registrar and returns the chain that ends in it.
func (l *Log) post(kind string, encode func() ([]byte, error)) *bundle.Chain {
	l.t.Helper()
	payload, err := encode()
	if err != nil {
		l.t.Fatal(err)
	}
	env, err := dsse.SignMany(kind, payload, Key(Registrar))
	if err != nil {
		l.t.Fatal(err)
	}
	chain, err := bundle.ParseChain(l.ask(http.MethodPost, server.DSSEType, env.JSON(), http.StatusCreated))
	if err != nil {
		l.t.Fatal(err)
	}
	return chain
}
