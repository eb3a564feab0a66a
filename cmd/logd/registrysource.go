package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/proposal"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// trustFiles name what whoever runs a command believes.
type trustFiles struct {
	trust, policy string
}

func (t *trustFiles) flags(f *flag.FlagSet) {
	once(f, "trust", &t.trust)
	once(f, "policy", &t.policy)
}

func (t *trustFiles) read() (proposal.Trust, error) {
	var out proposal.Trust
	if t.trust != "" {
		b, err := readSmall(t.trust)
		if err != nil {
			return out, err
		}
		if out.Engines, err = trust.ParseEngines(b); err != nil {
			return out, fmt.Errorf("%s: %w", t.trust, err)
		}
	}
	if t.policy != "" {
		b, err := readSmall(t.policy)
		if err != nil {
			return out, err
		}
		if out.Policy, err = trust.ParsePolicy(b); err != nil {
			return out, fmt.Errorf("%s: %w", t.policy, err)
		}
	}
	return out, nil
}

// source is where a registry chain comes from. Whatever it is, the chain is held
// against the trust files.
type source struct {
	dir      string // of a log on this machine
	url      string // of a log that is served
	site     string // a tlog-tiles directory
	registry string // a chain file, or a bundle that carries one
	files    trustFiles
}

func (s *source) flags(f *flag.FlagSet) {
	once(f, "dir", &s.dir)
	once(f, "url", &s.url)
	once(f, "site", &s.site)
	once(f, "registry", &s.registry)
	s.files.flags(f)
}

// check refuses a command line that names no source or two, or no trust.
func (s *source) check(command string) error {
	given := 0
	for _, v := range []string{s.dir, s.url, s.site, s.registry} {
		if v != "" {
			given++
		}
	}
	if given != 1 {
		return usagef("%s: one of --url, --registry, --site and --dir is needed: where the registry is", command)
	}
	if s.dir != "" {
		if s.files.trust == "" {
			s.files.trust = filepath.Join(s.dir, enginesFile)
		}
		if s.files.policy == "" {
			s.files.policy = filepath.Join(s.dir, policyFile)
		}
	}
	if s.files.trust == "" {
		return usagef("%s: --trust is needed: without the file that pins the genesis nobody knows whose registry this is", command)
	}
	return nil
}

// chain reads the registry and holds it against the trust files.
func (s *source) chain(ctx context.Context) (*bundle.Chain, proposal.Trust, error) {
	t, err := s.files.read()
	if err != nil {
		return nil, t, err
	}
	var c *bundle.Chain
	switch {
	case s.url != "":
		c, err = fetchChain(ctx, s.url)
	case s.registry != "":
		c, err = readChain(s.registry)
	case s.site != "":
		c, err = chainOfSite(s.site)
	default:
		c, err = chainOfSite(filepath.Join(s.dir, logDir, "site"))
	}
	return c, t, err
}

// readChain reads a chain file, or the chain of a bundle.
func readChain(name string) (*bundle.Chain, error) {
	b, err := readUpTo(name, bundle.MaxBundle)
	if err != nil {
		return nil, err
	}
	c, err := bundle.ParseRegistryFile(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// readUpTo reads a file of at most so many bytes.
func readUpTo(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fileError(report.CodeFileUnreadable, name, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("longer than %d bytes", limit)
	}
	if err != nil {
		return nil, fileError(report.CodeFileUnreadable, name, err)
	}
	return b, nil
}

// chainOfSite collects the registry leaves of a site of tiles.
func chainOfSite(dir string) (*bundle.Chain, error) {
	c, err := audit.Chain(os.DirFS(dir))
	var missing *fs.PathError
	switch {
	case errors.As(err, &missing):
		return nil, fileError(report.CodeFileUnreadable, filepath.Join(dir, filepath.FromSlash(missing.Path)), missing.Err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return c, nil
}

// registryTimeout is how long one exchange with a log may take.
const registryTimeout = 30 * time.Second

// registryURL is where a log answers about its registry.
func registryURL(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", usagef("--url %s is not http://HOST[:PORT] or https://HOST", base)
	}
	return strings.TrimSuffix(base, "/") + "/v1/registry", nil
}

// fetchChain asks a log for its registry.
func fetchChain(ctx context.Context, base string) (*bundle.Chain, error) {
	at, err := registryURL(base)
	if err != nil {
		return nil, err
	}
	_, b, err := exchange(ctx, http.MethodGet, at, "", nil)
	if err != nil {
		return nil, err
	}
	return answered(at, b)
}

// sendStatement submits a registry leaf and returns the chain that the log
// answers with.
func sendStatement(ctx context.Context, base string, leaf []byte) (c *bundle.Chain, repeat bool, err error) {
	at, err := registryURL(base)
	if err != nil {
		return nil, false, err
	}
	h, b, err := exchange(ctx, http.MethodPost, at, server.LeafType, leaf)
	if err != nil {
		return nil, false, err
	}
	c, err = answered(at, b)
	return c, h.Get(server.RepeatHeader) == "true", err
}

func answered(at string, b []byte) (*bundle.Chain, error) {
	c, err := bundle.ParseChain(b)
	if err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", at, err)
	}
	return c, nil
}

// exchange makes one request and returns the body of a success.
func exchange(ctx context.Context, method, at, mediaType string, body []byte) (http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, registryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	c := &http.Client{
		// What the registrars signed goes to the log that was named, nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	if err != nil {
		cause := err
		var in *url.Error
		if errors.As(err, &in) {
			cause = in.Err
		}
		return nil, nil, &report.Error{Code: report.CodeLogUnreachable, Where: at, Expected: "an answer", Actual: cause.Error()}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, bundle.MaxBundle+1))
	if err != nil {
		return nil, nil, &report.Error{Code: report.CodeLogUnreachable, Where: at, Expected: "a whole answer", Actual: err.Error()}
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusCreated {
		return resp.Header, b, nil
	}
	return nil, nil, problemOf(at, resp.StatusCode, b)
}

// problemOf turns a problem of the log into the error that it is.
func problemOf(at string, status int, body []byte) error {
	var p struct {
		Code                         report.Code
		Where, Expected, Actual, Fix string
	}
	if json.Unmarshal(body, &p) != nil || p.Code == "" {
		return &report.Error{Code: report.CodeLogUnreachable, Where: at, Expected: "an answer of a log", Actual: fmt.Sprintf("status %d", status)}
	}
	where := "the log at " + at
	if p.Where != "" {
		where += ", " + p.Where
	}
	return &report.Error{Code: p.Code, Where: where, Expected: p.Expected, Actual: p.Actual, Fix: p.Fix}
}
