package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// Statements yields every statement of the run so far, in order, out of its
// directory: those that the log has not answered yet are among them. It ends with
// an error where one cannot be read.
func (r *Run) Statements(ctx context.Context) iter.Seq2[*receipt.Decoded, error] {
	return func(yield func(*receipt.Decoded, error) bool) {
		r.mu.Lock()
		places := slices.Clip(r.ledger.places)
		closed := r.closed
		r.mu.Unlock()
		if closed {
			yield(nil, fmt.Errorf("run %s is closed", r.name))
			return
		}
		readStatements(ctx, r.journal.file, places, yield)
	}
}

func readStatements(ctx context.Context, f durable.Reader, places []place, yield func(*receipt.Decoded, error) bool) {
	for _, at := range places {
		d, err := readStatement(f, at)
		if ctx.Err() != nil {
			d, err = nil, context.Cause(ctx)
		}
		if !yield(d, err) || err != nil {
			return
		}
	}
}

func readStatement(f durable.Reader, at place) (*receipt.Decoded, error) {
	leaf, err := readBody(f, at.off, at.n)
	if err != nil {
		return nil, err
	}
	e, err := dsse.ParseLeaf(leaf)
	if err != nil {
		return nil, fmt.Errorf("statement %d: %w", at.seq, err)
	}
	return receipt.Decode(e.Payload)
}

// Past is a run as its directory shows it, for looking at and not for speaking.
type Past struct {
	store    *store
	ledger   ledger
	evidence []string
}

// Look reads the run in dir, which another process may be writing to. It writes
// nothing and asks nobody.
func Look(dir string) (*Past, error) {
	tree, err := durable.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	p := &Past{store: &store{fs: tree}}
	if _, err := readJournal(tree, p.ledger.replay); err != nil {
		return nil, err
	}
	p.evidence, err = p.store.evidence()
	return p, err
}

// Standing says how the run stands.
func (p *Past) Standing() Standing {
	s := p.ledger.standing()
	s.Evidence = p.evidence
	return s
}

// Statements yields every statement of the run, as [Run.Statements] does.
func (p *Past) Statements(ctx context.Context) iter.Seq2[*receipt.Decoded, error] {
	return func(yield func(*receipt.Decoded, error) bool) {
		f, err := p.store.fs.Open(journalName)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		readStatements(ctx, f, p.ledger.places, yield)
	}
}

// Secret is what the run's blinds and salts are derived under.
func (p *Past) Secret() (preview.RunSecret, error) { return p.store.secret() }

// Bundle returns what proves that a statement of the run stands in the log: the
// answer as it was kept, checked again under c's trust. Where it is gone (answers
// are not synced) or proves nothing any more, the log that gave it is asked again
// with the very same bytes. Nothing is sent that has no answer yet, or had it of
// another log than c's: a run's statements go to a log in their order.
func (p *Past) Bundle(ctx context.Context, c *Client, statement receipt.CID) (*Recorded, error) {
	f, err := p.store.fs.Open(journalName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, at := range p.ledger.places {
		leaf, err := readBody(f, at.off, at.n)
		if err != nil {
			return nil, err
		}
		e, err := dsse.ParseLeaf(leaf)
		if err != nil {
			return nil, fmt.Errorf("statement %d: %w", at.seq, err)
		}
		st, err := receipt.Decode(e.Payload)
		if err != nil {
			return nil, err
		}
		if st.CID != statement {
			continue
		}
		answer, err := p.store.answer(at.seq)
		if err != nil {
			return nil, err
		}
		rec, err := c.prove(st, leaf, answer, c.known)
		switch {
		case err == nil:
			return rec, nil
		case at.log == "":
			return nil, fmt.Errorf("statement %s is not in the log yet: what was said before it goes first", statement)
		case at.log != string(c.origin):
			return nil, fmt.Errorf("the answer of %s is gone, or proves nothing any more: %w", at.log, err)
		}
		return c.Submit(ctx, e)
	}
	return nil, fmt.Errorf("run %s has no statement %s", p.ledger.name, statement)
}

// Exists reports whether dir holds a run.
func Exists(dir string) (bool, error) {
	tree, err := durable.OpenDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return (&store{fs: tree}).begun()
}
