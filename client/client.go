// Package client is what an engine uses to put receipts into a log.
//
// A [Client] submits signed envelopes to one log and returns nothing that it
// has not verified itself, with the same code and the same kind of trust files
// as the offline verifier: a log that answers with another leaf, a wrong proof
// or a signature that does not hold gets a [*ProofError], which carries what
// the log said as evidence. Whoever holds a [*Recorded] may act on it.
//
// A [Run] is one run of an engine: it numbers statements, links each to the
// one before, signs them, and keeps them on disk before it sends them. So a
// retry, in the same process or after a crash, is the same statement, which a
// log has exactly once; and a run never says two things in one place.
//
//	c, err := client.New(client.Config{URL: url, Policy: policy, Engines: engines})
//	run, err := client.Create(c, client.RunConfig{Dir: dir, Name: "build-7", Key: key, Now: time.Now})
//	open, err := run.Record(ctx, client.Entry{Receipt: receipt.RunOpen{…}})
//
// What it does not do yet: it does not ask witnesses, and beyond refusing two
// roots for one size it does not check that later checkpoints extend those it
// has seen; it keeps every answer, so that both can be done afterwards.
//
// Nothing here starts a goroutine that outlives the call that started it.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
	"github.com/obstat/obstat/verdict"
)

// leafType is the media type of a canonical leaf (spec/http.md#submit).
const leafType = "application/vnd.obstat.leaf.v1+cbor"

// Limits of one submission.
const (
	maxAnswer      = 16 << 20         // bytes of an answer; a bundle with its registry chain is far below
	attempts       = 6                // how often one submission is sent
	attemptTimeout = 30 * time.Second // how long one of them may take
	firstWait      = 50 * time.Millisecond
	maxWait        = 5 * time.Second // also the longest Retry-After that is obeyed
)

// Config is what a Client needs. All but Transport is required.
type Config struct {
	URL     string         // prefix of the log, "http://127.0.0.1:8080"
	Policy  *trust.Policy  // log keys, witnesses, quorum
	Engines *trust.Engines // whose receipts are believed, and in which log
	// Transport carries the requests. nil is one of the client's own, with its
	// own connections, which Close closes.
	Transport http.RoundTripper
}

// Client submits envelopes to one log. It may be used by many goroutines.
type Client struct {
	submit  string
	policy  *trust.Policy
	engines *trust.Engines
	origin  receipt.Name
	http    *http.Client
	own     *http.Transport                            // nil where the caller brought a transport
	wait    func(context.Context, time.Duration) error // between attempts

	mu    sync.Mutex
	newer receipt.Seen // the largest checkpoint that was verified; owned by mu
	note  []byte       // the signed note of newer; owned by mu
}

// New checks the configuration. It contacts nobody.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("client: log URL %q: expected http:// or https://, a host, and no query", cfg.URL)
	}
	if cfg.Policy == nil || cfg.Engines == nil {
		return nil, errors.New("client: no trust: a policy and an engine trust file are required, or no answer could be checked")
	}
	if !verdict.ValidName(cfg.Engines.Origin) {
		return nil, fmt.Errorf("client: origin %q cannot be named in a receipt: expected 1 to %d bytes from [A-Za-z0-9._/@:+-]",
			cfg.Engines.Origin, verdict.MaxName)
	}
	c := &Client{
		submit: strings.TrimSuffix(cfg.URL, "/") + "/v1/receipts?registry=chain",
		policy: cfg.Policy, engines: cfg.Engines, origin: receipt.Name(cfg.Engines.Origin), wait: sleep,
	}
	transport := cfg.Transport
	if transport == nil {
		c.own = http.DefaultTransport.(*http.Transport).Clone()
		transport = c.own
	}
	c.http = &http.Client{
		Transport: transport,
		// A signed statement goes to the log that the caller named, nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// Close closes idle connections of the client's own transport.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// Origin is the log's name, as the engine trust file gives it.
func (c *Client) Origin() receipt.Name { return c.origin }

// Seen is the largest checkpoint that an answer carried, verified; the zero
// Seen before the first answer.
func (c *Client) Seen() receipt.Seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newer
}

// Recorded is a statement that stands in the log: every required check of its
// bundle was made under the client's trust and was verified. A Client makes one
// after that and in no other case.
type Recorded struct {
	Statement *receipt.Decoded
	Index     uint64         // of its leaf
	Bundle    *bundle.Bundle // with the registry chain
	JSON      []byte         // the answer as it came: a *.receipt.json file
	Report    *report.Report // of the bundle
}

// Submit puts an envelope into the log and returns what proves it. It sends
// the same bytes again where the log is busy or does not answer, a bounded
// number of times; sending them later again is always safe.
//
// The error is a [*RefusedError] where the log said no, a [*ProofError] where
// its answer does not prove what was asked, a [*UnansweredError] where no
// answer came (the statement may or may not be in the log), or the context's.
func (c *Client) Submit(ctx context.Context, e *dsse.Envelope) (*Recorded, error) {
	leaf, err := e.Leaf()
	if err != nil {
		return nil, err
	}
	st, err := receipt.Decode(e.Payload)
	if err != nil {
		return nil, err
	}
	var last error
	for n := range attempts {
		answer, retry, err := c.post(ctx, leaf)
		if err == nil {
			return c.check(st, leaf, answer)
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("submit %s: %w", st.CID, context.Cause(ctx))
		}
		if retry < 0 {
			return nil, err
		}
		last = err
		if n == attempts-1 {
			break
		}
		if err := c.wait(ctx, max(retry, backoff(n))); err != nil {
			return nil, fmt.Errorf("submit %s: %w", st.CID, err)
		}
	}
	return nil, &UnansweredError{Statement: st.CID, Attempts: attempts, Err: last}
}

// post sends one request. Where it fails, retry is how long the log asks to be
// left alone, negative where sending again would change nothing.
func (c *Client) post(ctx context.Context, leaf []byte) (answer []byte, retry time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.submit, bytes.NewReader(leaf))
	if err != nil {
		return nil, -1, err
	}
	req.Header.Set("Content-Type", leafType)
	req.Header.Set("Accept", bundle.MediaType)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, 0, err
	}
	if len(answer) > maxAnswer {
		return nil, -1, fmt.Errorf("answer is longer than %d bytes", maxAnswer)
	}
	switch resp.StatusCode {
	case http.StatusOK, http.StatusCreated:
		return answer, 0, nil
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return nil, retryAfter(resp.Header), refused(resp.StatusCode, answer)
	}
	return nil, -1, refused(resp.StatusCode, answer)
}

// check verifies an answer: that it is about the very statement that was sent,
// and then everything that the offline verifier would check.
func (c *Client) check(st *receipt.Decoded, leaf, answer []byte) (*Recorded, error) {
	bad := func(code report.Code, err error, r *report.Report) *ProofError {
		return &ProofError{Statement: st.CID, Code: code, Err: err, Report: r, Leaf: leaf, Answer: answer}
	}
	b, err := bundle.Parse(answer)
	if err != nil {
		return nil, bad(report.CodeOf(err), err, nil)
	}
	loose, err := dsse.ParseJSON(b.Envelope)
	if err != nil {
		return nil, bad(report.CodeOf(err), err, nil)
	}
	if loose.Type != dsse.ReceiptType || !bytes.Equal(loose.Payload, st.Payload()) {
		return nil, bad(report.CodeAnswerStatement, fmt.Errorf("the answer is about another statement than %s", st.CID), nil)
	}
	r := bundle.Verify(b, bundle.Options{Policy: c.policy, Engines: c.engines})
	if r.Overall() != report.AllVerified {
		return nil, bad(firstOpen(r), fmt.Errorf("the answer's proof ends %s", r.Overall()), r)
	}
	head, err := checkpoint.Open(b.Proof.Checkpoint, c.policy.Keys(string(c.origin)))
	if err != nil {
		return nil, bad(report.CodeOf(err), err, r)
	}
	seen := receipt.Seen{Origin: c.origin, Size: head.Size, Root: head.Root}
	if prior, err := c.advance(seen, b.Proof.Checkpoint); err != nil {
		e := bad(report.CodeOf(err), err, r)
		e.Prior = prior
		return nil, e
	}
	return &Recorded{Statement: st, Index: b.Proof.Index, Bundle: b, JSON: answer, Report: r}, nil
}

// advance remembers the largest checkpoint, and refuses another root for it;
// then it returns the note that was signed before.
func (c *Client) advance(s receipt.Seen, note []byte) (prior []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.Size == c.newer.Size && s.Root != c.newer.Root {
		return c.note, &report.Error{
			Code: report.CodeLogForked, Where: fmt.Sprintf("checkpoint of size %d", s.Size),
			Expected: fmt.Sprintf("root %x, as signed before", c.newer.Root), Actual: fmt.Sprintf("root %x", s.Root),
			Fix: "keep both notes and stop trusting this log",
		}
	}
	if s.Size > c.newer.Size {
		c.newer, c.note = s, note
	}
	return nil, nil
}

// firstOpen is the code of the gravest check that was not verified.
func firstOpen(r *report.Report) report.Code {
	code := report.CodeInternal
	for _, ch := range r.Checks {
		switch {
		case ch.Answer == report.Refuted:
			return ch.Code
		case ch.Answer == report.NotChecked && ch.Required && code == report.CodeInternal:
			code = ch.Code
		}
	}
	return code
}

// backoff doubles, and spreads over half of itself so that callers who were
// turned away together do not come back together.
func backoff(n int) time.Duration {
	d := min(firstWait<<n, maxWait)
	return d/2 + rand.N(d/2+1)
}

func retryAfter(h http.Header) time.Duration {
	s, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || s < 0 {
		return 0
	}
	return min(time.Duration(s)*time.Second, maxWait)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
