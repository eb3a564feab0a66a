package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// leafType is the media type of a canonical leaf (spec/http.md#submit).
const leafType = "application/vnd.obstat.leaf.v1+cbor"

// Limits of one submission.
const (
	maxAnswer      = 16 << 20         // bytes of an answer; a bundle with its registry chain is far below
	attempts       = 6                // how often one submission is sent
	attemptTimeout = 30 * time.Second // how long one of them may take
	firstWait      = 50 * time.Millisecond
	maxWait        = 5 * time.Second // a log that asks to be left alone for longer is
	maxAfter       = time.Hour       // the longest that anybody is believed to ask for
)

// Recorded is a statement that stands in the log: every required check of its
// bundle was made under the client's trust and was verified, but for the
// policy's quorum of witnesses where the Level is a promise. A Client makes one
// after that and in no other case.
type Recorded struct {
	Statement *receipt.Decoded
	Index     uint64         // of its leaf
	Bundle    *bundle.Bundle // with the registry chain
	JSON      []byte         // the answer as it came: a *.receipt.json file
	Report    *report.Report // of the bundle
	Level     bundle.Level   // whose word it is: the log's, or a quorum's
}

// Submit puts an envelope into the log and returns what proves it. It sends
// the same bytes again where the log is busy or does not answer, a bounded
// number of times; sending them later again is always safe.
//
// The error is a [*RefusedError] where the log said no, a [*ProofError] where
// its answer does not prove what was asked, a [*UnansweredError] where no
// answer came (the statement may or may not be in the log), a
// [*UnwitnessedError] where it is in the log and its witnesses were asked for
// and have not come, or the context's.
func (c *Client) Submit(ctx context.Context, e *dsse.Envelope) (*Recorded, error) {
	leaf, err := e.Leaf()
	if err != nil {
		return nil, err
	}
	st, err := receipt.Decode(e.Payload)
	if err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		rec, again, err := c.try(ctx, st, leaf)
		switch {
		case err == nil:
			return rec, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("submit %s: %w", st.CID, context.Cause(ctx))
		case again < 0:
			return nil, err
		}
		if n == attempts-1 || again > maxWait {
			var late *UnwitnessedError
			if errors.As(err, &late) {
				return nil, err
			}
			return nil, &UnansweredError{Statement: st.CID, Attempts: n + 1, After: again, Err: err}
		}
		if err := c.wait(ctx, max(again, backoff(n))); err != nil {
			return nil, fmt.Errorf("submit %s: %w", st.CID, err)
		}
	}
}

// try submits once. Where that fails, again is how long the log asks to be left
// alone, negative where sending again would change nothing.
func (c *Client) try(ctx context.Context, st *receipt.Decoded, leaf []byte) (rec *Recorded, again time.Duration, err error) {
	answer, again, err := c.post(ctx, leaf)
	if err != nil {
		return nil, again, err
	}
	if rec, err = c.check(st, leaf, answer); err != nil {
		return nil, -1, err
	}
	if c.witnessed && rec.Level != bundle.Witnessed {
		return nil, again, &UnwitnessedError{Promise: rec}
	}
	return rec, 0, nil
}

// post sends one request; again is as in try.
func (c *Client) post(ctx context.Context, leaf []byte) (answer []byte, again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.prefix+c.submit, bytes.NewReader(leaf))
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
	case http.StatusOK, http.StatusCreated, http.StatusAccepted:
		return answer, retryAfter(resp.Header), nil
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return nil, retryAfter(resp.Header), refused(resp.StatusCode, answer)
	}
	return nil, -1, refused(resp.StatusCode, answer)
}

// check verifies an answer: that it is about the very statement that was sent,
// and then everything that the offline verifier would check.
func (c *Client) check(st *receipt.Decoded, leaf, answer []byte) (*Recorded, error) {
	rec, err := c.prove(st, leaf, answer, bundle.Options{Policy: c.policy, Engines: c.engines})
	if err != nil {
		return nil, err
	}
	if prior, err := c.show(rec.Bundle.Proof.Checkpoint); err != nil {
		return nil, &ProofError{Statement: st.CID, Code: report.CodeOf(err), Err: err, Report: rec.Report, Leaf: leaf, Answer: answer, Prior: prior}
	}
	return rec, nil
}

// prove verifies an answer by itself. The error is a [*ProofError].
func (c *Client) prove(st *receipt.Decoded, leaf, answer []byte, trusted bundle.Options) (*Recorded, error) {
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
		return nil, bad(report.CodeAnswerStatement, &report.Error{
			Code: report.CodeAnswerStatement, Expected: "an answer about statement " + st.CID.String(), Actual: "one about another",
		}, nil)
	}
	r := bundle.Verify(b, trusted)
	level, code := levelOf(r)
	if code != report.CodeOK {
		return nil, bad(code, &report.Error{Code: code, Expected: "a proof that is verified", Actual: "one that ends " + r.Overall().String()}, r)
	}
	return &Recorded{Statement: st, Index: b.Proof.Index, Bundle: b, JSON: answer, Report: r, Level: level}, nil
}

// levelOf is whose word a bundle is, with OK; or the code of the gravest check
// that was not verified. A quorum that is not there yet is no fault.
func levelOf(r *report.Report) (level bundle.Level, code report.Code) {
	code = report.CodeOK
	for _, ch := range r.Checks {
		switch {
		case ch.Answer == report.Refuted:
			return level, ch.Code
		case ch.Answer == report.NotChecked && ch.Required && !(ch.Name == bundle.CheckPolicy && ch.Code == report.CodeQuorumUnmet) && code == report.CodeOK:
			code = ch.Code
		}
	}
	if code == report.CodeOK && slices.Contains(r.Facts, report.Fact{Name: "checkpoint", Value: bundle.Witnessed.String()}) {
		level = bundle.Witnessed
	}
	return level, code
}

// backoff doubles, and spreads over half of itself so that callers who were
// turned away together do not come back together.
func backoff(n int) time.Duration {
	d := min(firstWait<<n, maxWait)
	return d/2 + rand.N(d/2+1)
}

// retryAfter is how long a log asks to be left alone, in either form of RFC 9110.
func retryAfter(h http.Header) time.Duration {
	said := h.Get("Retry-After")
	if s, err := strconv.ParseUint(said, 10, 31); err == nil {
		return min(time.Duration(s)*time.Second, maxAfter)
	}
	if t, err := http.ParseTime(said); err == nil {
		return min(max(time.Until(t), 0), maxAfter)
	}
	return 0
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
