package servertest

import (
	"bytes"
	"crypto/ed25519"
	"io"
	"net/http"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/trust"
)

// Public returns the public half of Key(name) as registry statements have it.
func Public(name string) trust.PublicKey {
	return trust.PublicKey(Key(name).Public().(ed25519.PublicKey))
}

// Keys returns the private keys of names.
func Keys(names ...string) []ed25519.PrivateKey {
	var keys []ed25519.PrivateKey
	for _, name := range names {
		keys = append(keys, Key(name))
	}
	return keys
}

// Registry asks the log for its registry and folds what it says under the trust
// files.
func (l *Log) Registry() *trust.Registry {
	l.t.Helper()
	return l.folded(l.ask(http.MethodGet, "", nil, http.StatusOK))
}

// Statement makes the next registry statement, signed by the keys of signers,
// Registrar where none is named. Nothing is submitted.
func (l *Log) Statement(c trust.Change, signers ...string) *dsse.Envelope {
	l.t.Helper()
	s, err := l.Registry().Next(c)
	if err != nil {
		l.t.Fatal(err)
	}
	if signers == nil {
		signers = []string{Registrar}
	}
	env, err := trust.SignStatement(s, Keys(signers...)...)
	if err != nil {
		l.t.Fatal(err)
	}
	return env
}

// Change makes the next registry statement, as Statement does, submits it, and
// returns the registry that it makes and the leaf where it stands.
func (l *Log) Change(c trust.Change, signers ...string) (*trust.Registry, uint64) {
	l.t.Helper()
	env := l.Statement(c, signers...)
	r := l.folded(l.ask(http.MethodPost, server.DSSEType, env.JSON(), http.StatusCreated))
	return r, r.Leaves()[len(r.Leaves())-1]
}

// ask sends one request to /v1/registry and returns the body of its answer.
func (l *Log) ask(method, mediaType string, body []byte, status int) []byte {
	l.t.Helper()
	req, err := http.NewRequest(method, l.URL+"/v1/registry", bytes.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	c := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	if resp.StatusCode != status {
		l.t.Fatalf("%s /v1/registry: %d, want %d\n%s", method, resp.StatusCode, status, b)
	}
	return b
}

// folded verifies a chain as a verifier with the log's trust files does.
func (l *Log) folded(doc []byte) *trust.Registry {
	l.t.Helper()
	chain, err := bundle.ParseChain(doc)
	if err != nil {
		l.t.Fatalf("%v\n%s", err, doc)
	}
	head, err := checkpoint.Open(chain.Checkpoint, l.Policy.Keys(l.Engines.Origin))
	if err != nil {
		l.t.Fatal(err)
	}
	r, err := bundle.FoldChain(chain.Leaves, head.Checkpoint, trust.Pin{Origin: l.Engines.Origin, Genesis: l.Engines.Genesis, Foreign: l.Policy.Foreign()})
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}
