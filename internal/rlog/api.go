package rlog

import (
	"context"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
)

// Item is one leaf to sequence. The engine does not look into it.
type Item struct {
	Leaf            []byte      // canonical spelling, 1..65,535 bytes; not changed after Submit
	Statement       dagcbor.CID // the idempotency key, = Config.Statement(Leaf)
	RegistryVersion uint64      // the registry version the caller checked it under
	Registry        bool        // the leaf is a registry statement: version RegistryVersion+1 begins behind it
}

// Result is the promise that answers a Submit.
type Result struct {
	Index  uint64
	Leaf   []byte // the stored leaf: for a repeat not the one handed in
	Repeat bool   // the statement stood in the log before this item
	Head   Head   // a signed checkpoint that covers Index
	Proof  []merkle.Hash
}

// Head is a signed checkpoint of this log and what it says.
type Head struct {
	Size uint64
	Root merkle.Hash
	Note []byte // the signed note; shared, not to be changed
}

// Create makes a new log in an existing, empty directory, with leaves as its
// first entries (the genesis registry), and signs its first checkpoint.
// LOG-EXISTS where there is a log already, even a damaged one.
func Create(cfg Config, leaves ...[]byte) error { panic("stub") }

// Open recovers the log in cfg.FS and starts its sequencer. Errors: LOG-ABSENT,
// LOG-LOCKED, LOG-DAMAGED, LOG-HISTORY-LOST, LOG-FOREIGN, LOG-ROLLBACK, LOG-IO.
func Open(cfg Config) (*Log, error) { panic("stub") }

// Log is an open log.
type Log struct{}

// Submit waits until the item is durable and in the tree. An item over the
// bounds is BUSY and leaves nothing behind; after a failed write LOG-STOPPED;
// after Close LOG-CLOSED; too long LEAF-TOO-LARGE; an error of Config.Recheck is
// returned as it is. If ctx ends first, ctx.Err() comes back and the item may
// be in the log or not: submitting it again tells.
func (l *Log) Submit(ctx context.Context, it Item) (Result, error) { panic("stub") }

// Lookup returns the index of a durable statement.
func (l *Log) Lookup(statement dagcbor.CID) (index uint64, ok bool, err error) { panic("stub") }

// Prove returns the stored leaf at index with a proof against the current head.
func (l *Log) Prove(index uint64) (Result, error) { panic("stub") }

// Leaf returns the stored leaf at index; BEYOND-SIZE where there is none.
func (l *Log) Leaf(index uint64) ([]byte, error) { panic("stub") }

// Head is the newest durable signed checkpoint, Size its size.
func (l *Log) Head() Head   { panic("stub") }
func (l *Log) Size() uint64 { panic("stub") }

// InclusionProof and ConsistencyProof answer for any sizes up to Size.
func (l *Log) InclusionProof(index, size uint64) ([]merkle.Hash, error)    { panic("stub") }
func (l *Log) ConsistencyProof(size1, size2 uint64) ([]merkle.Hash, error) { panic("stub") }

// Tile returns the bytes of a hash tile, of any width that the current tree
// has (a partial one is a prefix); BEYOND-SIZE for any other.
func (l *Log) Tile(t merkle.Tile) ([]byte, error) { panic("stub") }

// Entries returns the bytes of an entry bundle, of any width that the current
// tree has; BEYOND-SIZE for any other.
func (l *Log) Entries(index uint64, width int) ([]byte, error) { panic("stub") }

// Err is nil while the log accepts submissions; then the reason why not, for
// ever: LOG-STOPPED with the failed operation, or LOG-CLOSED. Readers go on
// until Close. Stopped is closed when Err turns non-nil.
func (l *Log) Err() error               { panic("stub") }
func (l *Log) Stopped() <-chan struct{} { panic("stub") }

// Stats is a reading for metrics. Counters start at 0 with Open.
type Stats struct {
	Size               uint64
	Groups             uint64 // group records written
	Leaves             uint64 // leaves written
	Repeats            uint64 // submissions answered with a leaf that stood already
	Busy               uint64 // submissions refused over the bounds
	QueueItems         int
	QueueBytes         int
	SyncSeconds        float64 // spent in write and fdatasync of group records
	RollbackProtection string  // "none" or the anchors that were asked
}

func (l *Log) Stats() Stats { panic("stub") }

// Close stops accepting, answers everything that was accepted, releases the
// lock, and returns the reason of a fail-stop, if there was one.
func (l *Log) Close() error { panic("stub") }
