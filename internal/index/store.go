package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/merkle"
)

// Sizes of the store's memory, in bytes.
const (
	cacheBytes    = 48 << 20 // blocks and filters; filters of ten million statements take 12 MiB
	memTableBytes = 16 << 20
)

// version is of the keys and values below; another one is begun again.
const version = 1

// The first byte of a key.
const (
	keyMeta      = 'm' // → version, size, root, origin
	keyCounter   = 'n' // term → count
	keyReceipt   = 'r' // digest, index → nothing
	keyStatement = 's' // digest → index
	keyTerm      = 't' // term, 0, first index → indexes
	keyRun       = 'u' // principal, 0, run, 0, first index → indexes and seqs
)

// Options of Open.
type Options struct {
	Origin string
	// Principal names the principal of a key, as the log's registry lists it.
	Principal func(dsse.KeyID) (name string, ok bool)
	Logger    *slog.Logger // nil means silence
	// ReadOnly opens what there is and changes none of it: nothing is made, and
	// what cannot be read is an error.
	ReadOnly bool
}

// Index is an open index. One goroutine absorbs; any may read.
type Index struct {
	opts Options
	db   *pebble.DB
	lock *pebble.Lock

	mu      sync.RWMutex // write: Close, Reset
	closed  bool         // guarded by mu
	covered cover        // written with mu and absorb held, read with either
	absorb  sync.Mutex

	probes probes
}

// cover is how far an index goes.
type cover struct {
	size uint64
	root merkle.Hash
}

// Open opens the index in the directory dir, or makes one. A store that cannot
// be read, or is of another origin or version, is removed and begun again: all
// of it can be made from the log. Another process that has it open is an error.
func Open(dir string, opts Options) (*Index, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	x, err := open(dir, opts)
	if err == nil {
		return x, nil
	}
	if opts.ReadOnly || errors.Is(err, errHeld) || errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	opts.Logger.Warn("the index cannot be read and is made again", "error", err.Error())
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("remove the index: %w", err)
	}
	return open(dir, opts)
}

var errHeld = errors.New("the index is open in another process")

func open(dir string, opts Options) (*Index, error) {
	cache := pebble.NewCache(cacheBytes)
	defer cache.Unref()
	o := &pebble.Options{
		Cache: cache, MemTableSize: memTableBytes, FormatMajorVersion: pebble.FormatNewest,
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
		Logger:                     quiet{opts.Logger},
		ReadOnly:                   opts.ReadOnly,
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	if opts.ReadOnly {
		if _, err := os.Stat(dir); err != nil {
			return nil, err
		}
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := pebble.LockDirectory(dir, vfs.Default)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errHeld, err)
	}
	o.Lock = lock
	db, err := pebble.Open(dir, o)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	x := &Index{opts: opts, db: db, lock: lock}
	if err := x.load(); err != nil {
		return nil, errors.Join(err, db.Close(), lock.Close())
	}
	return x, nil
}

// load reads what the store covers.
func (x *Index) load() error {
	b, closer, err := x.db.Get([]byte{keyMeta})
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	c, ok := parseMeta(b, x.opts.Origin)
	if !ok {
		return errors.New("it is of another origin or version")
	}
	x.covered = c
	return nil
}

func (c cover) meta(origin string) []byte {
	b := binary.BigEndian.AppendUint32(nil, version)
	b = binary.BigEndian.AppendUint64(b, c.size)
	b = append(b, c.root[:]...)
	return append(b, origin...)
}

func parseMeta(b []byte, origin string) (cover, bool) {
	const fixed = 4 + 8 + merkle.HashSize
	if len(b) < fixed || binary.BigEndian.Uint32(b) != version || string(b[fixed:]) != origin {
		return cover{}, false
	}
	return cover{binary.BigEndian.Uint64(b[4:]), merkle.Hash(b[12:])}, true
}

// Covered returns the tree size that the index has absorbed, and its root.
func (x *Index) Covered() (size uint64, root merkle.Hash, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.covered.size, x.covered.root, nil
}

// Reset forgets everything.
func (x *Index) Reset() error {
	x.absorb.Lock()
	defer x.absorb.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.probes.drop()
	if err := x.db.DeleteRange([]byte{0}, []byte{0xff}, pebble.Sync); err != nil {
		return err
	}
	x.covered = cover{}
	return nil
}

// Close closes the store. No other call may run or follow.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil
	}
	x.closed = true
	x.probes.drop()
	return errors.Join(x.db.Close(), x.lock.Close())
}

// quiet passes only what Pebble calls an error.
type quiet struct{ log *slog.Logger }

func (q quiet) Infof(string, ...any) {}
func (q quiet) Errorf(format string, args ...any) {
	q.log.Error("index store", "error", fmt.Sprintf(format, args...))
}

// Fatalf must not return; Pebble calls it where it cannot go on.
func (q quiet) Fatalf(format string, args ...any) {
	panic("index store: " + fmt.Sprintf(format, args...))
}
