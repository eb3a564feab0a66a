package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// A log that its registrars have ended takes nothing new: it answers LOG-FROZEN,
// which a caller finds with report.CodeOf, and a run stops there and keeps what it
// holds. Nobody follows the name in that answer. A caller who has the succession
// makes a client of the log that goes on, with Config.Successions, and opens the
// run with that (docs/client.md#a-log-that-ends, spec/trust.md#how-a-log-ends).

// follow verifies a succession under the trust in the log that ended, and returns
// the trust in the one that goes on.
func follow(s *bundle.Succession, p *trust.Policy, e *trust.Engines) (*trust.Policy, *trust.Engines, error) {
	f, c := s.Follow(p, e)
	if f == nil {
		return nil, nil, &report.Error{
			Code: c.Code, Where: "succession of " + e.Origin, Expected: c.Expected, Actual: c.Actual,
			Fix: "ask the registrars of that log for the succession; do not follow who else names another log",
		}
	}
	return f.Policy, f.Engines, nil
}

// Frozen asks the log for its registry, verifies it, and returns the freeze with
// which its registrars have ended it; false where there is none. A log that
// refuses with LOG-FROZEN and has none is not ended: it refuses.
func (c *Client) Frozen(ctx context.Context) (trust.Frozen, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.prefix+"/v1/registry", nil)
	if err != nil {
		return trust.Frozen{}, false, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return trust.Frozen{}, false, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return trust.Frozen{}, false, err
	case resp.StatusCode != http.StatusOK:
		return trust.Frozen{}, false, refused(resp.StatusCode, b)
	case len(b) > maxAnswer:
		return trust.Frozen{}, false, fmt.Errorf("registry is longer than %d bytes", maxAnswer)
	}
	chain, err := bundle.ParseChain(b)
	if err != nil {
		return trust.Frozen{}, false, fmt.Errorf("registry: %w", err)
	}
	head, err := checkpoint.Open(chain.Checkpoint, c.policy.Keys(string(c.origin)))
	if err != nil {
		return trust.Frozen{}, false, fmt.Errorf("registry: %w", err)
	}
	r, err := bundle.FoldChain(chain.Leaves, head.Checkpoint, trust.Pin{Origin: c.engines.Origin, Genesis: c.engines.Genesis, Foreign: c.policy.Foreign()})
	if err != nil {
		return trust.Frozen{}, false, fmt.Errorf("registry: %w", err)
	}
	z, ok := r.Frozen()
	return z, ok, nil
}
