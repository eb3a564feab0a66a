package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/report"
)

// witnessAnchor is a witness that is asked, before the first signature of a
// start, how far it has seen this log: the monitoring GET of C2SP tlog-witness.
// It is not written to, so it protects as far as somebody has shown it the log.
type witnessAnchor struct {
	url    string // of the checkpoint
	prefix string // as the operator names it
	anchor *anchor
}

// isWitness reports whether an anchor is a witness by its monitoring prefix, and
// no file.
func isWitness(name string) bool {
	return strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://")
}

func newWitnessAnchor(prefix, origin string, key checkpoint.VKey) *witnessAnchor {
	return &witnessAnchor{
		url:    fmt.Sprintf("%s/%x/checkpoint", strings.TrimSuffix(prefix, "/"), sha256.Sum256([]byte(origin))),
		prefix: prefix,
		anchor: &anchor{origin: origin, key: key},
	}
}

// asked is the witness as the engine asks it.
func (w *witnessAnchor) asked() rlog.Anchor {
	return rlog.Anchor{Name: w.prefix, Fetch: w.fetch}
}

// fetch returns the checkpoint that the witness cosigned last; nil where it
// never cosigned one of this log.
func (w *witnessAnchor) fetch(ctx context.Context) ([]byte, error) {
	note, err := w.get(ctx)
	w.anchor.current.Store(err == nil)
	return note, err
}

func (w *witnessAnchor) get(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
	if err != nil {
		return nil, err
	}
	// Whatever is cached on the way is older than what is asked for.
	req.Header.Set("Cache-Control", "no-cache")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, nil
	default:
		return nil, fmt.Errorf("%s for %s", res.Status, w.url)
	}
	note, err := io.ReadAll(io.LimitReader(res.Body, maxNote+1))
	if err != nil {
		return nil, err
	}
	if len(note) > maxNote {
		return nil, &report.Error{Code: report.CodeNoteTooLarge, Where: w.url, Expected: fmt.Sprintf("at most %d bytes", maxNote), Actual: "more"}
	}
	if _, err := w.anchor.open(note); err != nil {
		return nil, fmt.Errorf("%s: %w", w.url, err)
	}
	return note, nil
}
