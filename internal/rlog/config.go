package rlog

import (
	"io"
	"log/slog"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable"
)

// Defaults of Config. Bytes are bytes of leaves.
const (
	DefaultQueueItems   = 16384
	DefaultQueueBytes   = 64 << 20
	DefaultGroupItems   = 4096
	DefaultGroupBytes   = 4 << 20
	DefaultSegmentBytes = 64 << 20
)

// Config says what a log is and how much it may hold. Origin, Signer, FS and
// Statement are needed; zero values of the rest mean the defaults.
type Config struct {
	Origin string             // the checkpoint origin, 1..255 bytes
	Signer *checkpoint.Signer // the log's own key, TypeEd25519, named Origin
	FS     durable.FS         // the log's directory; nobody else writes there

	// Statement names the statement that a stored leaf carries (CID of the DSSE
	// payload). It is called while the log is read at start, and must be a pure
	// function of the leaf.
	Statement func(leaf []byte) (dagcbor.CID, error)

	// Recheck is asked by the sequencer, on its goroutine, about a new
	// statement that may no longer be what its caller checked: every registry
	// statement (Item.Registry), and every item that was checked under an older
	// registry version than the last registry statement sequenced before it, in
	// the same group too. index is where the leaf would stand. An error is
	// returned to that item's caller alone and the item is not sequenced. For a
	// registry statement nil means that from now on, still before it is
	// durable, the hook answers under the registry that it makes. Nil where the
	// log has no registry.
	Recheck func(it Item, index uint64) error

	QueueItems   int   // items that may wait
	QueueBytes   int   // bytes of leaves that may wait
	GroupItems   int   // items in one group
	GroupBytes   int   // bytes of leaves in one group
	SegmentBytes int64 // a segment longer than this is followed by another

	Rand   io.Reader    // keys of record checksums; nil means crypto/rand
	Logger *slog.Logger // nil means silence
}
