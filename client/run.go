package client

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// RunConfig is what a Run needs; all of it is required.
type RunConfig struct {
	// Dir is a directory of the run's own: its secret, its statements, and the
	// answers to them. It must outlive the process, and nobody else may read
	// it: who has the secret can open the run's commitments.
	Dir  string
	Name receipt.Name       // unique for the principal of Key
	Key  ed25519.PrivateKey // an engine key that the log's registry lists
	Now  func() time.Time   // the engine's clock, for call.at
}

// Entry is what an engine says next.
type Entry struct {
	Receipt receipt.Receipt
	Settles receipt.CID // statement that an outcome settles; else zero
	Expires time.Time   // of a judgment that escalates, whole milliseconds; else zero
}

// Run is one run of an engine, from run-open to run-close. Its methods may be
// called from many goroutines; they take turns, because a run has one order.
type Run struct {
	client *Client
	key    ed25519.PrivateKey
	by     receipt.KeyID
	name   receipt.Name
	now    func() time.Time
	secret preview.RunSecret
	store  *store

	turn  chan struct{} // holds one token; whoever has it owns what follows
	seq   uint64        // of the next statement
	prev  receipt.CID   // the statement before it
	tally receipt.RunClose
	ended bool // the run-close has been said
	// pending is a statement that is on disk and that the log has not
	// answered: until it does, nothing else is said.
	pending *pending
	broken  error // why the run says nothing any more in this process
	closed  atomic.Bool
}

// pending is a statement on its way.
type pending struct {
	seq      uint64
	envelope *dsse.Envelope
	decoded  *receipt.Decoded
}

// Create makes a new run in cfg.Dir, which is made where it is missing and must
// not hold a run. The run's secret is on disk when it returns; nothing was
// sent. The first Record is the run-open. The caller closes the run.
func Create(c *Client, cfg RunConfig) (*Run, error) {
	r, err := newRun(c, cfg)
	if err != nil {
		return nil, err
	}
	var key [32]byte
	_, _ = rand.Read(key[:]) // crypto/rand.Read never fails
	if r.secret, err = preview.NewRunSecret(key[:]); err != nil {
		return nil, err
	}
	if r.store, err = createStore(cfg.Dir, key); err != nil {
		return nil, err
	}
	return r, nil
}

// Open takes up the run in cfg.Dir where it stopped. A statement that was
// stored and not answered is sent again, as it is, by the next Record or Flush.
// The caller closes the run.
func Open(c *Client, cfg RunConfig) (*Run, error) {
	r, err := newRun(c, cfg)
	if err != nil {
		return nil, err
	}
	if r.store, err = openStore(cfg.Dir); err != nil {
		return nil, err
	}
	if err := r.load(); err != nil {
		return nil, errors.Join(err, r.store.close())
	}
	return r, nil
}

func newRun(c *Client, cfg RunConfig) (*Run, error) {
	if c == nil || len(cfg.Key) != ed25519.PrivateKeySize || cfg.Now == nil || !verdict.ValidName(string(cfg.Name)) {
		return nil, errors.New("client: a run needs a client, a directory, a name (1 to 128 bytes from [A-Za-z0-9._/@:+-]), an Ed25519 key and a clock")
	}
	r := &Run{
		client: c, key: cfg.Key, name: cfg.Name, now: cfg.Now, turn: make(chan struct{}, 1),
		by: receipt.KeyID(dsse.IDOf(cfg.Key.Public().(ed25519.PublicKey))),
	}
	r.turn <- struct{}{}
	return r, nil
}

// load reads back what was stored, and takes nothing on trust that it can
// check: the statements are those of this run and key, in order, unbroken.
func (r *Run) load() error {
	var err error
	if r.secret, err = r.store.secret(); err != nil {
		return err
	}
	for seq := uint64(0); ; seq++ {
		leaf, err := r.store.leaf(seq)
		if err != nil {
			return err
		}
		if leaf == nil {
			return r.store.nothingFrom(seq)
		}
		p, err := r.reread(seq, leaf)
		if err != nil {
			return err
		}
		answer, err := r.store.answer(seq)
		if err != nil {
			return err
		}
		// An answer was kept for information and not synced, so a crash may
		// have left part of one. Whatever does not verify is asked for again.
		r.pending = nil
		if _, err := r.client.check(p.decoded, leaf, answer); err != nil {
			r.pending = p
		}
		r.follow(p)
	}
}

func (r *Run) reread(seq uint64, leaf []byte) (*pending, error) {
	wrong := func(expected, actual string) error {
		return &report.Error{Code: report.CodeRunStore, Where: leafName(seq), Expected: expected, Actual: actual}
	}
	if r.pending != nil {
		return nil, wrong("an answer before the next statement", "none for the one before it")
	}
	e, err := dsse.ParseLeaf(leaf)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", leafName(seq), err)
	}
	pub := r.key.Public().(ed25519.PublicKey)
	if _, err := dsse.Verify(e, func(id dsse.KeyID) (ed25519.PublicKey, bool) { return pub, id == dsse.KeyID(r.by) }); err != nil {
		return nil, fmt.Errorf("%s: %w", leafName(seq), err)
	}
	d, err := receipt.Decode(e.Payload)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", leafName(seq), err)
	}
	if c := d.Statement.Call; c.Run != r.name || c.Seq != seq || c.Prev != r.prev || c.By != r.by {
		return nil, wrong(fmt.Sprintf("run %s, seq %d, after %s", r.name, seq, r.prev),
			fmt.Sprintf("run %s, seq %d, after %s", c.Run, c.Seq, c.Prev))
	}
	return &pending{seq, e, d}, nil
}

// follow moves the run on to the place after p.
func (r *Run) follow(p *pending) {
	r.seq, r.prev = p.seq+1, p.decoded.CID
	r.tally.Count(p.decoded.Statement.Receipt)
	r.ended = p.decoded.Statement.Receipt.Kind() == receipt.KindRunClose
}

// Name is the run's name.
func (r *Run) Name() receipt.Name { return r.name }

// By is the identity of the run's key.
func (r *Run) By() receipt.KeyID { return r.by }

// Secret is what the run's blinds and salts are derived under.
func (r *Run) Secret() preview.RunSecret { return r.secret }

// Record says e: it makes the next statement of the run, keeps it on disk,
// submits it, and returns when the log has proven that it holds it.
//
// After an error the statement may be on its way (see [Client.Submit]). Calling
// Record again with an equal receipt sends the very same statement again, and
// so does Flush; with another receipt it first does that and then goes on. A
// run that could not write to its directory says nothing more: Close it, and
// Open it again.
func (r *Run) Record(ctx context.Context, e Entry) (*Recorded, error) {
	return r.record(ctx, func() Entry { return e })
}

// CloseRun records the run-close, whose tallies the run has kept. Nothing can
// be said after it.
func (r *Run) CloseRun(ctx context.Context) (*Recorded, error) {
	return r.record(ctx, func() Entry { return Entry{Receipt: r.tally} })
}

// record makes its entry in its turn, when everything before it is said.
func (r *Run) record(ctx context.Context, entry func() Entry) (*Recorded, error) {
	if err := r.take(ctx); err != nil {
		return nil, err
	}
	defer r.give()
	if p := r.pending; p != nil {
		rec, err := r.send(ctx)
		if err != nil {
			return nil, err
		}
		if p.says(entry()) {
			return rec, nil
		}
	}
	if r.ended {
		return nil, fmt.Errorf("run %s has said its run-close, and nothing follows that", r.name)
	}
	e := entry()
	call := receipt.Call{
		By: r.by, Run: r.name, Seq: r.seq, Prev: r.prev, Settles: e.Settles,
		Seen: r.client.Seen(), At: r.now().UnixMilli(),
	}
	if !e.Expires.IsZero() {
		// A patience that ended while this waited for its place has ended now.
		call.Expires = max(e.Expires.UnixMilli(), call.At)
	}
	p, err := r.sign(receipt.Statement{Call: call, Receipt: e.Receipt})
	if err != nil {
		return nil, err
	}
	leaf, err := p.envelope.Leaf()
	if err != nil {
		return nil, err
	}
	if err := r.store.putLeaf(p.seq, leaf); err != nil {
		r.broken = fmt.Errorf("run %s: statement %d could not be kept: %w", r.name, p.seq, err)
		return nil, r.broken
	}
	r.pending = p
	r.follow(p)
	return r.send(ctx)
}

// Flush sends the statement that has no answer yet, if there is one.
func (r *Run) Flush(ctx context.Context) error {
	if err := r.take(ctx); err != nil {
		return err
	}
	defer r.give()
	if r.pending == nil {
		return nil
	}
	_, err := r.send(ctx)
	return err
}

// Close gives the run's directory free. It is not the run-close.
func (r *Run) Close() error {
	if r.closed.Swap(true) {
		return nil
	}
	<-r.turn // whoever is speaking finishes; nobody comes after
	defer r.give()
	return r.store.close()
}

func (r *Run) take(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.turn:
	}
	err := r.broken
	if r.closed.Load() {
		err = fmt.Errorf("run %s is closed", r.name)
	}
	if err != nil {
		r.give()
	}
	return err
}

func (r *Run) give() { r.turn <- struct{}{} }

func (r *Run) sign(s receipt.Statement) (*pending, error) {
	payload, err := s.Encode()
	if err != nil {
		return nil, err
	}
	d, err := receipt.Decode(payload)
	if err != nil {
		return nil, err
	}
	e, err := dsse.Sign(dsse.ReceiptType, payload, r.key)
	if err != nil {
		return nil, err
	}
	return &pending{s.Call.Seq, e, d}, nil
}

// send submits the pending statement and keeps the answer beside it.
func (r *Run) send(ctx context.Context) (*Recorded, error) {
	rec, err := r.client.Submit(ctx, r.pending.envelope)
	if err != nil {
		return nil, err
	}
	if err := r.store.putAnswer(r.pending.seq, rec.JSON); err != nil {
		return nil, err // the statement stays pending: it is in the log, and can be asked for again
	}
	r.pending = nil
	return rec, nil
}

// says reports whether p is the statement that e would make: the same receipt
// in answer to the same call. Times are the statement's own.
func (p *pending) says(e Entry) bool {
	call := p.decoded.Statement.Call
	if call.Settles != e.Settles {
		return false
	}
	// Inside of p's own call a receipt gives p's bytes exactly if it is p's.
	b, err := receipt.Statement{Call: call, Receipt: e.Receipt}.Encode()
	return err == nil && bytes.Equal(b, p.decoded.Payload())
}
