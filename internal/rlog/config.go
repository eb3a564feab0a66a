package rlog

import (
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/merkle"
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

	// Index keeps what is derived from the leaves and makes look-ups of old
	// statements; nil keeps every statement in memory, read again at start.
	Index Index

	// Begin, if not nil, is called once by Open and by Reindex, when the log is
	// read and before any leaf of it is handed to Index, so that whoever makes
	// the index can read first what it rests on. An error of it ends the start
	// and is returned as it is.
	Begin func(Reading) error

	// PublishEvery is how often tiles and checkpoint are written behind the log;
	// 0 means a second. Negative: only at Close.
	PublishEvery time.Duration

	// Anchors know checkpoints of this log from outside its directory. Each is
	// asked before the first signature after a start; see Anchor.
	Anchors []Anchor
	// AnchorTimeout bounds each; 0 means ten seconds.
	AnchorTimeout time.Duration
	// UnreachableAnchors lets the log start although an anchor could not be
	// asked. It is the operator's word for one start, and log and Stats show it.
	UnreachableAnchors bool

	// ScrubEvery is the pause between two bundles that are read back from disk
	// and hashed again, over and over; 0 means a tenth of a second, negative
	// never.
	ScrubEvery time.Duration

	// Observe, if not nil, is told of every group that became durable, on the
	// sequencer's goroutine.
	Observe func(Group)

	room int64 // bytes that a segment is made longer by at once; tests make it small

	Rand   io.Reader    // keys of record checksums; nil means crypto/rand
	Logger *slog.Logger // nil means silence
}

// complete returns cfg with its defaults filled in, or LOG-CONFIG.
func (cfg Config) complete() (*Config, error) {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&cfg.QueueItems, DefaultQueueItems)
	def(&cfg.QueueBytes, DefaultQueueBytes)
	def(&cfg.GroupItems, DefaultGroupItems)
	def(&cfg.GroupBytes, DefaultGroupBytes)
	if cfg.SegmentBytes == 0 {
		cfg.SegmentBytes = DefaultSegmentBytes
	}
	if cfg.room == 0 {
		cfg.room = 256 << 10
	}
	if cfg.PublishEvery == 0 {
		cfg.PublishEvery = time.Second
	}
	if cfg.AnchorTimeout == 0 {
		cfg.AnchorTimeout = 10 * time.Second
	}
	if cfg.ScrubEvery == 0 {
		cfg.ScrubEvery = 100 * time.Millisecond
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case len(cfg.Origin) == 0 || len(cfg.Origin) > 255:
		return nil, configError("Origin", "1 to 255 bytes", fmt.Sprintf("%d", len(cfg.Origin)))
	case cfg.FS == nil || cfg.Signer == nil || cfg.Statement == nil:
		return nil, configError("Config", "FS, Signer and Statement", "one of them nil")
	case cfg.Signer.Key.Type != checkpoint.TypeEd25519 || cfg.Signer.Key.Name != cfg.Origin:
		return nil, configError("Signer", "an Ed25519 log key named as the origin", cfg.Signer.Key.String())
	case cfg.QueueItems < 1 || cfg.QueueBytes < merkle.MaxEntry || cfg.GroupItems < 1 || cfg.GroupBytes < merkle.MaxEntry:
		return nil, configError("limits", fmt.Sprintf("at least 1 item and %d bytes", merkle.MaxEntry), "less")
	case cfg.GroupItems > maxRecord/8 || cfg.GroupBytes > maxRecord/2:
		return nil, configError("GroupItems, GroupBytes", fmt.Sprintf("at most %d items and %d bytes", maxRecord/8, maxRecord/2), "more")
	case cfg.SegmentBytes < 1 || cfg.SegmentBytes > 1<<31:
		return nil, configError("SegmentBytes", "1 to 2^31", fmt.Sprintf("%d", cfg.SegmentBytes))
	}
	return &cfg, nil
}

// forCreate is complete where nothing is read and so no statement named.
func (cfg Config) forCreate() (*Config, error) {
	if cfg.Statement == nil {
		cfg.Statement = func([]byte) (dagcbor.CID, error) { return dagcbor.CID{}, nil }
	}
	return cfg.complete()
}
