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
// An engine that may not wait for the log says [Run.Keep] instead of Record and
// runs [Run.Drain] beside itself. An answer that only the log has signed is a
// promise, and [Run.CheckPromises] holds the log to it.
//
// Nothing here starts a goroutine that outlives the call that started it.
package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
	"github.com/obstat/obstat/verdict"
)

// Config is what a Client needs: URL, Policy and Engines.
type Config struct {
	URL     string         // prefix of the log, "http://127.0.0.1:8080"
	Policy  *trust.Policy  // log keys, witnesses, quorum
	Engines *trust.Engines // whose receipts are believed, and in which log
	// Successions lead from the log of Policy and Engines to the one at URL, each
	// from the log that the one before leads to: logs that ended, and who goes on
	// (spec/trust.md#how-a-log-ends).
	Successions []*bundle.Succession
	// Witnessed asks for answers that the witnesses of the policy have cosigned.
	// Without it the log's promise will do, and whether it keeps that is found
	// out later (Run.CheckPromises).
	Witnessed bool
	// Transport carries the requests. nil is one of the client's own, with its
	// own connections, which Close closes.
	Transport http.RoundTripper
}

// Client submits envelopes to one log. It may be used by many goroutines.
type Client struct {
	prefix    string
	submit    string         // the path and query to submit to
	policy    *trust.Policy  // of the log at prefix, as
	engines   *trust.Engines // the trust of the caller leads to it
	known     bundle.Options // the caller's trust, which reaches the logs before it too
	origin    receipt.Name
	witnessed bool
	http      *http.Client
	timeout   time.Duration                              // of one request
	own       *http.Transport                            // nil where the caller brought a transport
	wait      func(context.Context, time.Duration) error // between attempts

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
	known := bundle.Options{Policy: cfg.Policy, Engines: cfg.Engines, Successions: cfg.Successions}
	for _, s := range cfg.Successions {
		if cfg.Policy, cfg.Engines, err = follow(s, cfg.Policy, cfg.Engines); err != nil {
			return nil, err
		}
	}
	if !verdict.ValidName(cfg.Engines.Origin) {
		return nil, fmt.Errorf("client: origin %q cannot be named in a receipt: expected 1 to %d bytes from [A-Za-z0-9._/@:+-]",
			cfg.Engines.Origin, verdict.MaxName)
	}
	c := &Client{
		prefix: strings.TrimSuffix(cfg.URL, "/"), submit: "/v1/receipts?registry=chain",
		policy: cfg.Policy, engines: cfg.Engines, known: known, origin: receipt.Name(cfg.Engines.Origin), witnessed: cfg.Witnessed,
		timeout: attemptTimeout, wait: sleep,
	}
	if cfg.Witnessed {
		c.submit += "&wait=witnessed"
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

// Origin is the log's name, as the engine trust file gives it, or the succession
// that leads to it.
func (c *Client) Origin() receipt.Name { return c.origin }

// Seen is the largest checkpoint that an answer carried, verified; the zero
// Seen before the first answer.
func (c *Client) Seen() receipt.Seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newer
}

// show takes in a signed checkpoint that the log has shown: verified, or an error
// says why not. It returns the note that contradicts it where there is one.
func (c *Client) show(note []byte) (prior []byte, err error) {
	head, found := bundle.OpenHead(note, string(c.origin), c.policy)
	if head == nil {
		return nil, &report.Error{Code: found.Code, Where: "checkpoint", Expected: found.Expected, Actual: found.Actual, Fix: found.Note}
	}
	if head.Origin != string(c.origin) {
		return nil, &report.Error{Code: report.CodeLogOther, Where: "checkpoint", Expected: string(c.origin), Actual: head.Origin}
	}
	return c.advance(receipt.Seen{Origin: c.origin, Size: head.Size, Root: head.Root}, note)
}

// remember takes in a checkpoint that was verified by an earlier process. One
// that the policy does not open any more says nothing.
func (c *Client) remember(note []byte) error {
	head, err := checkpoint.Open(note, c.policy.Keys(string(c.origin)))
	if err != nil || head.Origin != string(c.origin) {
		return nil
	}
	_, err = c.advance(receipt.Seen{Origin: c.origin, Size: head.Size, Root: head.Root}, note)
	return err
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
