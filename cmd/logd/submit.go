package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// maxSubmit is how many bytes of envelopes one file may have.
const maxSubmit = 64 << 20

// unknownError is work of which nobody knows whether it was done.
type unknownError struct{ err error }

func (e *unknownError) Error() string { return e.err.Error() }
func (e *unknownError) Unwrap() error { return e.err }

// submit puts signed envelopes into a log, in their order, and ends at the first
// that is not recorded: the next ones of a run follow from it.
func submit(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	f := newFlags("submit")
	var files trustFiles
	var base, out string
	files.flags(f)
	once(f, "url", &base)
	once(f, "out", &out)
	witnessed := f.Bool("witnessed", false, "")
	names, err := operands(f, args, stdout)
	if err != nil {
		return err
	}
	switch {
	case len(names) == 0:
		return usagef("submit: at least one FILE of envelopes is wanted, or -")
	case base == "":
		return usagef("submit: --url is needed: the log")
	case files.trust == "" || files.policy == "":
		return usagef("submit: --trust and --policy are needed: no answer could be checked without them")
	}
	if _, err := registryURL(base); err != nil {
		return err
	}
	t, err := files.read()
	if err != nil {
		return err
	}
	// All of it is read first: a file that cannot be read leaves nothing half done.
	var envs []*dsse.Envelope
	for _, name := range names {
		more, err := readEnvelopes(name, stdin)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		envs = append(envs, more...)
	}
	if out != "" {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return fileError(report.CodeFileUnwritable, out, err)
		}
	}
	c, err := client.New(client.Config{URL: base, Policy: t.Policy, Engines: t.Engines, Witnessed: *witnessed})
	if err != nil {
		return err
	}
	defer c.Close()
	for i, env := range envs {
		rec, err := c.Submit(ctx, env)
		if err != nil {
			return notRecorded(base, i, len(envs), err)
		}
		if err := recorded(rec, out, stdout); err != nil {
			return fmt.Errorf("envelope %d of %d stands in the log: %w", i+1, len(envs), err)
		}
	}
	return nil
}

// recorded saves a bundle and says where, or prints it.
func recorded(rec *client.Recorded, out string, stdout io.Writer) error {
	line := append(bytes.TrimRight(rec.JSON, "\n"), '\n')
	if out == "" {
		return say(stdout, string(line))
	}
	name := filepath.Join(out, rec.Statement.CID.String()+".receipt.json")
	if err := replaceFile(name, line); err != nil {
		return err
	}
	return say(stdout, fmt.Sprintf("%d %s %s\n", rec.Index, rec.Statement.CID, name))
}

// notRecorded says which envelope is not recorded, and keeps a refusal apart from
// not knowing.
func notRecorded(base string, at, of int, err error) error {
	var silent *client.UnansweredError
	var late *client.UnwitnessedError
	unknown := errors.As(err, &silent) || errors.As(err, &late) || errors.Is(err, context.Canceled)
	var coded *report.Error
	if !errors.As(err, &coded) {
		err = &report.Error{Code: report.CodeLogUnreachable, Where: base, Expected: "an answer", Actual: err.Error(), Fix: "submit the same again: a log has a statement once"}
	}
	err = fmt.Errorf("envelope %d of %d: %w", at+1, of, err)
	if unknown {
		return &unknownError{err}
	}
	return err
}

// readEnvelopes reads one file: a canonical leaf, or DSSE JSON envelopes one
// behind the other.
func readEnvelopes(name string, stdin io.Reader) ([]*dsse.Envelope, error) {
	b, err := readSubmitted(name, stdin)
	if err != nil {
		return nil, err
	}
	if text := bytes.TrimLeft(b, " \t\r\n"); len(text) == 0 || text[0] != '{' {
		env, err := dsse.ParseLeaf(b)
		if err != nil {
			return nil, err
		}
		return []*dsse.Envelope{env}, nil
	}
	var envs []*dsse.Envelope
	for in := json.NewDecoder(bytes.NewReader(b)); ; {
		var doc json.RawMessage
		err := in.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return envs, nil
		}
		if err != nil {
			return nil, &report.Error{Code: report.CodeJSONSyntax, Where: fmt.Sprintf("envelope %d", len(envs)+1), Expected: "JSON", Actual: err.Error()}
		}
		env, err := parseEnvelope(doc)
		if err != nil {
			return nil, fmt.Errorf("envelope %d: %w", len(envs)+1, err)
		}
		envs = append(envs, env)
	}
}

// parseEnvelope binds the signature to the key that the statement names.
func parseEnvelope(doc []byte) (*dsse.Envelope, error) {
	loose, err := dsse.ParseJSON(doc)
	if err != nil {
		return nil, err
	}
	st, err := receipt.Decode(loose.Payload)
	if err != nil {
		return nil, err
	}
	return loose.BindOne(dsse.KeyID(st.Statement.Call.By))
}

func readSubmitted(name string, stdin io.Reader) ([]byte, error) {
	if name != "-" {
		return readUpTo(name, maxSubmit)
	}
	b, err := io.ReadAll(io.LimitReader(stdin, maxSubmit+1))
	if err == nil && len(b) > maxSubmit {
		err = fmt.Errorf("longer than %d bytes", maxSubmit)
	}
	if err != nil {
		return nil, fileError(report.CodeFileUnreadable, "standard input", err)
	}
	return b, nil
}
