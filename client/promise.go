package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"time"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/report"
)

// An answer that only the log has signed is a promise: its tree must be part of
// every later one, and whoever else asks must be shown the same. So the signed
// checkpoint of every answer is kept until the log shows one that meets the
// whole policy, witnesses included, and whose tiles have the promised root at the
// promised size. A log that cannot do that has signed two histories.

// CheckPromises holds every promise that is not fulfilled against the newest
// checkpoint that the log publishes, and returns how many are left: the log's
// word still stands alone for these. It reads tiles of the log, a handful for any
// number of promises. Those of a log that ended are not looked after and not
// counted: only that log could keep them, so look before you follow it.
//
// A promise that the log broke is a [*ProofError] with the code LOG-FORKED. What
// proves it is kept in the run's directory, for `verify fork`, and nothing is
// said in this run any more. Any other error says that promises could not be
// looked after: they stand as they did.
func (r *Run) CheckPromises(ctx context.Context) (left int, err error) {
	r.mu.Lock()
	promises := r.ledger.promisesOf(string(r.client.origin))
	r.mu.Unlock()
	left = len(promises)
	if left == 0 {
		return 0, nil
	}
	slices.SortStableFunc(promises, func(a, b promise) int { return cmp.Compare(a.size, b.size) })
	site := r.client.site(ctx)
	newest, err := site.ReadFile("checkpoint")
	if err != nil {
		return left, fmt.Errorf("promises: %w", err)
	}
	if prior, err := r.client.show(newest); err != nil {
		return left, r.refute(promises[0], &ProofError{Code: report.CodeOf(err), Err: err, Answer: newest, Prior: prior})
	}
	fulfilled := uint64(0)
	for _, p := range promises {
		note, err := readBody(r.journal.file, p.off, p.n)
		if err != nil {
			return left, err
		}
		kept, err := r.client.kept(p, note, newest, site)
		if broken := (*ProofError)(nil); errors.As(err, &broken) {
			return left, r.refute(p, broken)
		}
		if err != nil {
			return left, fmt.Errorf("promises: %w", err)
		}
		if !kept {
			break // not cosigned yet, or behind what was promised
		}
		fulfilled = p.size
	}
	return r.fulfil(fulfilled, newest)
}

// kept reports whether the newest checkpoint fulfils a promise, whose signed
// checkpoint is note. A [*ProofError] says that it contradicts it, or that the
// tiles are not those of the checkpoint.
func (c *Client) kept(p promise, note, newest []byte, site fs.FS) (bool, error) {
	one, two := audit.Source{Data: note}, audit.Source{Site: site}
	rep, err := audit.Consistency(one, two, c.policy)
	if err != nil {
		return false, err
	}
	if found, _ := rep.Find(audit.CheckConsistency); found.Answer == report.Refuted {
		e := &ProofError{Code: found.Code, Answer: newest, Prior: note, Err: &report.Error{
			Code: found.Code, Where: fmt.Sprintf("promise about leaf %d", p.index), Expected: found.Expected, Actual: found.Actual,
			Fix: "keep the evidence, show it to others who rely on this log, and stop trusting it",
		}}
		e.fork, err = audit.FindFork(one, two, c.policy)
		return false, errors.Join(err, e)
	}
	return rep.Overall() == report.AllVerified, nil
}

// fulfil writes down that promises up to a size are fulfilled by a checkpoint.
func (r *Run) fulfil(size uint64, note []byte) (left int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if size > 0 && !r.closed && r.broken == nil {
		if _, err := r.journal.append(kindWitness, append(binary.BigEndian.AppendUint64(nil, size), note...)); err != nil {
			r.broken = fmt.Errorf("run %s: what the log has shown could not be kept: %w", r.name, err)
			return len(r.ledger.promisesOf(string(r.client.origin))), r.broken
		}
		if err := r.ledger.fulfil(size, note); err != nil {
			return len(r.ledger.promisesOf(string(r.client.origin))), err
		}
	}
	return len(r.ledger.promisesOf(string(r.client.origin))), nil
}

// refute keeps what the log has shown as evidence. Where it contradicts what it
// had promised, the run says nothing more in this process.
func (r *Run) refute(p promise, e *ProofError) error {
	if e.Code == report.CodeLogForked {
		r.mu.Lock()
		r.broken = fmt.Errorf("run %s: %w", r.name, e)
		r.mu.Unlock()
	}
	return errors.Join(e, r.store.putEvidence(p.seq, e))
}

// site reads the log as a directory of tiles, each file once, for as long as ctx
// lasts.
func (c *Client) site(ctx context.Context) *site {
	return &site{ctx: ctx, client: c, read: map[string][]byte{}}
}

// site is an fs.FS over HTTP. It is for one goroutine.
type site struct {
	ctx    context.Context
	client *Client
	read   map[string][]byte
}

// maxSiteFile is above every file of a site but entry bundles, which nobody asks
// for, in bytes.
const maxSiteFile = maxNote

// ReadFile implements fs.ReadFileFS.
func (s *site) ReadFile(name string) ([]byte, error) {
	if b, ok := s.read[name]; ok {
		return b, nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.client.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.client.prefix+"/"+name, nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxSiteFile+1))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusNotFound:
		return nil, &fs.PathError{Op: "get", Path: name, Err: fs.ErrNotExist}
	case resp.StatusCode != http.StatusOK:
		return nil, &fs.PathError{Op: "get", Path: name, Err: refused(resp.StatusCode, b)}
	case len(b) > maxSiteFile:
		return nil, &fs.PathError{Op: "get", Path: name, Err: fmt.Errorf("more than %d bytes", maxSiteFile)}
	}
	s.read[name] = b
	return b, nil
}

// Open implements fs.FS.
func (s *site) Open(name string) (fs.File, error) {
	b, err := s.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &siteFile{bytes.NewReader(b), name}, nil
}

// siteFile is a file that was fetched.
type siteFile struct {
	*bytes.Reader
	name string
}

func (f *siteFile) Close() error               { return nil }
func (f *siteFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *siteFile) Name() string               { return f.name }
func (f *siteFile) Mode() fs.FileMode          { return 0o444 }
func (f *siteFile) ModTime() time.Time         { return time.Time{} }
func (f *siteFile) IsDir() bool                { return false }
func (f *siteFile) Sys() any                   { return nil }
