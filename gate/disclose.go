package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// Disclosures returns what opens the commitments of a statement, a judgment, a
// fault or an outcome, as far as the store has the values: those of its request,
// and the escrowed inverse. What an outcome found instead of what was expected
// stands in no store. secret is that of the run. No value is disclosed before
// somebody hands one of these on.
func (s *Store) Disclosures(st *receipt.Decoded, secret preview.RunSecret) ([]preview.Disclosure, error) {
	digest, ok := digestOf(st)
	if !ok {
		return nil, fmt.Errorf("statement %s is about no request, and commits to nothing", st.CID)
	}
	rho, err := s.Rho(digest)
	if err != nil {
		return nil, err
	}
	opened, err := rho.Open(secret)
	if err != nil {
		return nil, err
	}
	all := flat(opened)
	delta, err := durable.ReadFile(s.fs, inverseName(digest), maxDelta)
	if err == nil {
		d, err := secret.Disclose(digest, preview.FieldDelta, preview.Index(0), preview.ContentOf(delta).Value())
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return committedIn(all, st.Payload()), nil
}

func digestOf(st *receipt.Decoded) (receipt.Digest, bool) {
	if out, ok := st.Statement.Receipt.(receipt.Outcome); ok {
		return out.Request, true
	}
	req, ok := requestOf(st)
	return req.Digest, ok
}

// flat is every disclosure of a request.
func flat(o preview.Opened) []preview.Disclosure {
	all := append([]preview.Disclosure(nil), o.Inputs...)
	for _, c := range o.Changes {
		all = append(all, c.Path, c.Before, c.After)
	}
	for _, s := range o.Slots {
		all = append(all, s.Value)
	}
	for _, e := range o.Effects {
		all = append(all, e.Target)
	}
	for _, r := range o.Reads {
		all = append(all, r.Key, r.Seen)
	}
	return all
}

// committedIn are those whose commitments the statement holds, each once.
func committedIn(all []preview.Disclosure, payload []byte) []preview.Disclosure {
	var out []preview.Disclosure
	seen := map[preview.Commitment]bool{}
	for _, d := range all {
		if c := d.Commitment(); !seen[c] && bytes.Contains(payload, c[:]) {
			seen[c] = true
			out = append(out, d)
		}
	}
	return out
}
