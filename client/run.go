package client

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// Bounds of a spool, in bytes of leaves that the log has not answered.
const (
	MinSpool     = 256 << 10
	DefaultSpool = 16 << 20
)

// RunConfig is what a Run needs; all but Spool is required.
type RunConfig struct {
	// Dir is a directory of the run's own: its secret, its statements, and the
	// answers to them. It must outlive the process, and nobody else may read
	// it: who has the secret can open the run's commitments.
	Dir  string
	Name receipt.Name       // unique for the principal of Key
	Key  ed25519.PrivateKey // an engine key that the log's registry lists
	Now  func() time.Time   // the engine's clock, for call.at
	// Spool is how many bytes of statements may wait for the log, at least
	// MinSpool; 0 is DefaultSpool. Outcomes have as much again, so that what was
	// begun can be told.
	Spool int64
}

// Entry is what an engine says next.
type Entry struct {
	Receipt receipt.Receipt
	Settles receipt.CID // statement that an outcome settles; else zero
	Expires time.Time   // of a judgment that escalates, whole milliseconds; else zero
}

// Run is one run of an engine, from run-open to run-close. Its methods may be
// called from many goroutines; statements get their places in the order in which
// they are said, and go to the log in that order.
type Run struct {
	client *Client
	key    ed25519.PrivateKey
	by     receipt.KeyID
	name   receipt.Name
	now    func() time.Time
	spool  int64
	secret preview.RunSecret
	store  *store

	turn chan struct{} // holds one token; whoever has it may send
	more chan struct{} // holds one token where something may wait to be sent

	pause time.Duration // of a Drain, after the log did not answer; doubles

	mu      sync.Mutex // owns what follows; nobody waits for the log or a sync with it
	ledger  ledger
	journal *journal
	broken  error // why the run says nothing any more in this process
	closed  bool
}

// Create makes a new run in cfg.Dir, which is made where it is missing and must
// not hold a run. The run's secret is on disk when it returns; nothing was
// sent. The first statement is the run-open. The caller closes the run.
func Create(c *Client, cfg RunConfig) (*Run, error) {
	if err := makeDir(cfg.Dir); err != nil {
		return nil, err
	}
	tree, err := durable.OpenDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	return createIn(tree, c, cfg)
}

func createIn(tree durable.FS, c *Client, cfg RunConfig) (*Run, error) {
	r, err := newRun(c, cfg)
	if err != nil {
		return nil, err
	}
	var key [32]byte
	_, _ = rand.Read(key[:]) // crypto/rand.Read never fails
	if r.secret, err = preview.NewRunSecret(key[:]); err != nil {
		return nil, err
	}
	if r.store, err = createStore(tree, key); err != nil {
		return nil, err
	}
	r.ledger.name, r.ledger.by = r.name, r.by
	n := int64(len(journalMagic))
	if r.journal, err = openJournal(tree, read{n, n, false}, 0); err != nil {
		return nil, errors.Join(err, r.store.close())
	}
	return r, nil
}

// Open takes up the run in cfg.Dir where it stopped. Statements that were kept
// and not answered are sent again, as they are, by the next Record, Flush or
// Drain. The caller closes the run.
func Open(c *Client, cfg RunConfig) (*Run, error) {
	tree, err := durable.OpenDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	return openIn(tree, c, cfg)
}

func openIn(tree durable.FS, c *Client, cfg RunConfig) (*Run, error) {
	r, err := newRun(c, cfg)
	if err != nil {
		return nil, err
	}
	if r.store, err = openStore(tree); err != nil {
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
	if cfg.Spool == 0 {
		cfg.Spool = DefaultSpool
	}
	if cfg.Spool < MinSpool {
		return nil, fmt.Errorf("client: a spool of %d bytes; at least %d are needed", cfg.Spool, MinSpool)
	}
	r := &Run{
		client: c, key: cfg.Key, name: cfg.Name, now: cfg.Now, spool: cfg.Spool,
		by:   receipt.KeyID(dsse.IDOf(cfg.Key.Public().(ed25519.PublicKey))),
		turn: make(chan struct{}, 1), more: make(chan struct{}, 1), pause: firstPause,
	}
	r.turn <- struct{}{}
	return r, nil
}

// load reads back what was kept, and takes nothing on trust that it can check:
// the statements are those of this run and key, in order, unbroken.
func (r *Run) load() error {
	var err error
	if r.secret, err = r.store.secret(); err != nil {
		return err
	}
	was, err := readJournal(r.store.fs, r.ledger.replay)
	if err != nil {
		return err
	}
	l := &r.ledger
	if len(l.places) == 0 {
		l.name, l.by = r.name, r.by
		// Create may have failed at this, its last step.
		if err := r.store.fs.SyncDir("."); err != nil {
			return err
		}
	}
	if l.name != r.name || l.by != r.by {
		return wrongRun(fmt.Sprintf("run %s of key %x", r.name, r.by), fmt.Sprintf("run %s of key %x", l.name, l.by))
	}
	pub := r.key.Public().(ed25519.PublicKey)
	for _, p := range l.queue {
		if _, err := dsse.Verify(p.envelope, func(id dsse.KeyID) (ed25519.PublicKey, bool) { return pub, id == dsse.KeyID(r.by) }); err != nil {
			return fmt.Errorf("statement %d: %w", p.seq, err)
		}
	}
	if l.newest != nil {
		// A policy that does not know the log's key any more opens nothing, and
		// the next answer will say so.
		if err := r.client.remember(l.newest); err != nil {
			return err
		}
	}
	r.journal, err = openJournal(r.store.fs, was, l.need())
	if err == nil && len(l.queue) > 0 {
		r.wake()
	}
	return err
}

// Name is the run's name.
func (r *Run) Name() receipt.Name { return r.name }

// By is the identity of the run's key.
func (r *Run) By() receipt.KeyID { return r.by }

// Secret is what the run's blinds and salts are derived under.
func (r *Run) Secret() preview.RunSecret { return r.secret }

// Standing says how the run stands.
func (r *Run) Standing() (Standing, error) {
	r.mu.Lock()
	s := r.ledger.standing()
	r.mu.Unlock()
	var err error
	s.Evidence, err = r.store.evidence()
	return s, err
}

// Record says e: it makes the next statement of the run, has it on disk, submits
// it, and returns when the log has proven that it holds it. What was said before
// goes first.
//
// After an error the statement may be on its way (see [Client.Submit]). Calling
// Record again with an equal receipt sends the very same statement again, and
// so do Flush and Drain; with another receipt it first does that and then goes
// on. A run that could not write to its directory says nothing more: Close it,
// and Open it again.
func (r *Run) Record(ctx context.Context, e Entry) (*Recorded, error) {
	return r.record(ctx, func() Entry { return e })
}

// CloseRun records the run-close, whose tallies the run has kept. Nothing can
// be said after it.
func (r *Run) CloseRun(ctx context.Context) (*Recorded, error) {
	return r.record(ctx, func() Entry { return Entry{Receipt: r.ledger.tally} })
}

// record makes its entry in its turn, when everything before it is said. entry
// is called with r.mu.
func (r *Run) record(ctx context.Context, entry func() Entry) (*Recorded, error) {
	if err := r.take(ctx); err != nil {
		return nil, err
	}
	defer r.give()
	p, err := r.orphan(entry)
	if err != nil {
		return nil, err
	}
	if p == nil {
		if err := r.sendAll(ctx); err != nil {
			return nil, err
		}
		r.mu.Lock()
		p, err = r.say(kindRecorded, entry)
		r.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	if err := r.sendThrough(ctx, p); err != nil {
		return nil, err
	}
	return p.answer, nil
}

// orphan is the statement on its way which says what entry says, and whose
// caller was told that it has no answer. Whoever records holds the turn until
// the answer is there, so the others of their kind have lost theirs.
func (r *Run) orphan(entry func() Entry) (*pending, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.ledger.queue {
		if !p.kept && p.says(entry()) {
			return p, nil
		}
	}
	return nil, nil
}

// say makes the next statement and writes it down. r.mu is held. It is not synced.
func (r *Run) say(kind byte, entry func() Entry) (*pending, error) {
	if err := r.speaks(); err != nil {
		return nil, err
	}
	bounded := kind == kindKept
	if r.ledger.lost > 0 { // the gap comes first, and only if something can follow it
		if bounded {
			if err := r.roomBehindGap(entry().Receipt); err != nil {
				return nil, err
			}
		}
		if err := r.putGap(); err != nil {
			return nil, err
		}
	}
	return r.put(kind, entry(), bounded)
}

// speaks says why nothing can be said.
func (r *Run) speaks() error {
	switch {
	case r.closed:
		return fmt.Errorf("run %s is closed", r.name)
	case r.broken != nil:
		return r.broken
	case r.ledger.ended:
		return fmt.Errorf("run %s has said its run-close, and nothing follows that", r.name)
	}
	return nil
}

// put signs the next statement and appends it to the journal; where it is
// bounded, it has to fit into the spool.
func (r *Run) put(kind byte, e Entry, bounded bool) (*pending, error) {
	l := &r.ledger
	call := receipt.Call{
		By: r.by, Run: r.name, Seq: l.seq, Prev: l.prev, Settles: e.Settles,
		Seen: r.client.Seen(), At: r.now().UnixMilli(),
	}
	if !e.Expires.IsZero() {
		// A patience that ended while this waited for its place has ended now.
		call.Expires = max(e.Expires.UnixMilli(), call.At)
	}
	p, leaf, err := r.sign(receipt.Statement{Call: call, Receipt: e.Receipt})
	if err != nil {
		return nil, err
	}
	if limit := r.room(e.Receipt); bounded && l.queued+p.size > limit {
		return nil, &FullError{Waiting: l.queued, Limit: limit}
	}
	off, err := r.journal.append(kind, leaf)
	if err != nil {
		r.broken = fmt.Errorf("run %s: statement %d could not be kept: %w", r.name, p.seq, err)
		return nil, r.broken
	}
	p.kept, p.end = kind == kindKept, r.journal.end
	l.said(p, off)
	r.wake()
	return p, nil
}

func (r *Run) sign(s receipt.Statement) (*pending, []byte, error) {
	payload, err := s.Encode()
	if err != nil {
		return nil, nil, err
	}
	d, err := receipt.Decode(payload)
	if err != nil {
		return nil, nil, err
	}
	e, err := dsse.Sign(dsse.ReceiptType, payload, r.key)
	if err != nil {
		return nil, nil, err
	}
	leaf, err := e.Leaf()
	return &pending{seq: s.Call.Seq, envelope: e, decoded: d, size: int64(len(leaf))}, leaf, err
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

// Close gives the run's directory free, with everything in it on disk. It is not
// the run-close. It waits for whoever is sending.
func (r *Run) Close() error {
	<-r.turn // and nobody sends after this
	defer r.give()
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	end, broken := r.journal.end, r.broken
	r.mu.Unlock()
	r.wake() // a Drain finds out
	var err error
	if broken == nil && end > r.journal.synced {
		if err = r.sync(end); err == nil && len(r.ledger.queue) > 0 {
			_, err = r.journal.append(kindSynced, nil)
		}
	}
	return errors.Join(err, r.journal.file.Close(), r.store.close())
}

func (r *Run) take(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.turn:
	}
	r.mu.Lock()
	err := r.broken
	if r.closed {
		err = fmt.Errorf("run %s is closed", r.name)
	}
	r.mu.Unlock()
	if err != nil {
		r.give()
	}
	return err
}

func (r *Run) give() { r.turn <- struct{}{} }

func (r *Run) wake() {
	select {
	case r.more <- struct{}{}:
	default:
	}
}
