package index

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/merkle"
)

// Sizes of the store's memory, in bytes. A memtable holds about 20,000 leaves,
// which is what a process that dies loses, or twice that. Pebble takes two
// memtables out of the cache; the rest holds the filters of ten million
// statements, 12 MiB, and the blocks that were read last.
const (
	memTableBytes = 8 << 20
	cacheBytes    = 2*memTableBytes + 32<<20
)

// version is of the keys and values below; another one is begun again.
const version = 2

// The first byte of a key. Numbers are eight bytes, big-endian.
const (
	keyName      = 'k' // key id → principal
	keyMeta      = 'm' // → version, size, root, origin
	keyCounter   = 'n' // term → count; behind keyMeta, so that one iterator reads both
	keyReceipt   = 'r' // digest, leaf → nothing
	keyStatement = 's' // digest → leaf
	keyTerm      = 't' // term, 0, first leaf of the list → the others
	keyRun       = 'u' // principal, 0, run, 0, seq, leaf → statement CID
)

// spoiledName is a file beside the store that says that it is to be made again.
const spoiledName = "SPOILED"

// Options of Open.
type Options struct {
	Origin string       // of the log
	Logger *slog.Logger // nil means silence
	// ReadOnly opens what there is and changes none of it: what would be made, or
	// made again, is an error, and so are Absorb and Reset.
	ReadOnly bool
}

// Index is an open index. One goroutine absorbs; any may read.
type Index struct {
	origin   string
	logger   *slog.Logger
	dir      string
	fs       vfs.FS
	tune     func(*pebble.Options) // for tests; may be nil
	readOnly bool
	lock     *pebble.Lock

	absorb sync.Mutex            // held by Absorb, Reset, Close
	names  map[dsse.KeyID]string // guarded by absorb; principals of the keys that the covered leaves list

	mu      sync.RWMutex // write: Reset, Close
	store   *store       // guarded by mu; nil when closed
	probes  probes
	covered atomic.Pointer[cover] // stored with absorb held, when the entries can be read
}

// cover is how far an index goes.
type cover struct {
	size uint64
	root merkle.Hash
}

// Open opens the index in the directory dir, or makes one. A store that cannot
// be read, or is of another origin or format, is removed and begun again. What
// a new beginning would not mend is an error: LOG-LOCKED where another process
// has it open, LOG-IO where the file system refuses, and LOG-DAMAGED for one
// that is only to be read.
func Open(dir string, o Options) (*Index, error) { return open(vfs.Default, dir, o, nil) }

func open(f vfs.FS, dir string, o Options, tune func(*pebble.Options)) (*Index, error) {
	x := &Index{origin: o.Origin, logger: o.Logger, dir: dir, fs: f, tune: tune, readOnly: o.ReadOnly}
	if x.logger == nil {
		x.logger = slog.New(slog.DiscardHandler)
	}
	if err := x.exist(); err != nil {
		return nil, err
	}
	if err := x.take(); err != nil {
		return nil, err
	}
	spoiled, err := x.start()
	switch {
	case spoiled != nil && x.readOnly:
		err = damaged(dir, spoiled)
	case spoiled != nil:
		x.logger.Warn("the index is made again from the leaves", "reason", spoiled.Error())
		err = x.again()
	}
	if err != nil {
		_ = x.lock.Close() // err is the one to tell
		return nil, err
	}
	return x, nil
}

// exist makes the directory, if it may.
func (x *Index) exist() error {
	if x.readOnly {
		if _, err := x.fs.Stat(x.dir); err != nil {
			return ioError("open", x.dir, err)
		}
		return nil
	}
	if err := x.fs.MkdirAll(x.dir, 0o755); err != nil {
		return ioError("make", x.dir, err)
	}
	return nil
}

// take takes the lock of the directory. Pebble is handed it, so that nobody
// else comes in between while the store is removed and made again.
func (x *Index) take() (err error) {
	x.lock, err = pebble.LockDirectory(x.dir, x.fs)
	if err != nil {
		return locked(x.dir, err)
	}
	return nil
}

// start opens the store and reads what it covers. spoiled says why it has to be
// begun again; then it is closed.
func (x *Index) start() (spoiled, err error) {
	if _, err := x.fs.Stat(x.fs.PathJoin(x.dir, spoiledName)); err == nil {
		return errors.New("it was found damaged before"), nil
	}
	s, err := x.openStore()
	if err != nil {
		if refused(err) || errors.As(err, new(abandoned)) {
			return nil, ioError("open", x.dir, err)
		}
		return err, nil
	}
	c, names, err := s.load(x.origin)
	if err != nil {
		_ = s.close(true)
		if refused(err) {
			return nil, ioError("read", x.dir, err)
		}
		return err, nil
	}
	x.store, x.names = s, names
	x.covered.Store(c)
	return nil, nil
}

// again removes a closed store and begins a new one.
func (x *Index) again() error {
	x.store = nil
	if err := x.remove(); err != nil {
		return err
	}
	spoiled, err := x.start()
	if spoiled != nil {
		return damaged(x.dir, spoiled)
	}
	return err
}

// remove removes the files of the store. The lock file stays, and so does the mark
// of a spoiled store until all else is gone.
func (x *Index) remove() error {
	names, err := x.fs.List(x.dir)
	if err != nil {
		return ioError("list", x.dir, err)
	}
	spoiled := false
	for _, name := range names {
		switch {
		case name == "LOCK":
		case name == spoiledName:
			spoiled = true
		default:
			if err := x.fs.RemoveAll(x.fs.PathJoin(x.dir, name)); err != nil {
				return ioError("remove", name, err)
			}
		}
	}
	if spoiled {
		if err := x.fs.Remove(x.fs.PathJoin(x.dir, spoiledName)); err != nil {
			return ioError("remove", spoiledName, err)
		}
	}
	return nil
}

// refused says that the system would not let the store be opened, whatever it
// holds, so that beginning again would lose it for nothing.
func refused(err error) bool {
	for _, no := range []error{fs.ErrPermission, syscall.ENOSPC, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// store is Pebble and how it is doing. A new one is made by every opening.
type store struct {
	db     *pebble.DB
	health *health
}

func (x *Index) openStore() (*store, error) {
	h := newHealth(x.logger, func() {
		if f, err := x.fs.Create(x.fs.PathJoin(x.dir, spoiledName), vfs.WriteCategoryUnspecified); err == nil {
			_ = f.Close() // without the mark the damage is met again
		}
	})
	cache := pebble.NewCache(cacheBytes)
	defer cache.Unref()
	o := &pebble.Options{
		FS: throttled{x.fs, h}, Lock: x.lock, ReadOnly: x.readOnly,
		Logger: h, EventListener: h.listener(),
		Cache: cache, MemTableSize: memTableBytes, FormatMajorVersion: pebble.FormatNewest, Merger: sum,
		// The log is the index's write-ahead log. One of its own would buy little,
		// and Pebble ends the process where it cannot write it.
		DisableWAL:            true,
		L0CompactionThreshold: 4, L0StopWritesThreshold: 20, LBaseMaxBytes: 256 << 20,
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
		DisableTableStats:          true, // they serve deletions, and there are none
	}
	for i := range o.Levels {
		l := &o.Levels[i]
		l.FilterPolicy = statementFilter{bloom.FilterPolicy(10)}
		l.Compression = func() *block.CompressionProfile { return block.NoCompression } // digests do not compress
		o.TargetFileSizes[i] = 8 << 20
	}
	if x.tune != nil {
		x.tune(o)
	}
	opened := make(chan *pebble.DB, 1)
	err := h.wait(func() (err error) {
		defer caught(&err, everything)
		db, err := pebble.Open(x.dir, o)
		opened <- db
		return err
	})
	if err != nil {
		return nil, err
	}
	return &store{<-opened, h}, nil
}

// close writes what is in memory and closes the database. After a failure
// Pebble may hold its own locks for ever; then it is left alone.
func (s *store) close(readOnly bool) error {
	var err error
	if !readOnly && s.health.failure() == nil {
		err = s.health.wait(s.db.Flush)
	}
	return errors.Join(err, s.health.wait(s.db.Close))
}

// load reads what the store covers, and the principals.
func (s *store) load(origin string) (c *cover, names map[dsse.KeyID]string, err error) {
	defer caught(&err, fatalOnly)
	it, err := s.db.NewIter(&pebble.IterOptions{UpperBound: []byte{keyMeta + 1}})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	c, names = &cover{root: merkle.EmptyRoot}, make(map[dsse.KeyID]string)
	met := false
	for ok := it.First(); ok; ok = it.Next() {
		k := it.Key()
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, nil, err
		}
		switch {
		case k[0] == keyName && len(k) == 1+len(dsse.KeyID{}):
			names[dsse.KeyID(k[1:])] = string(v)
		case k[0] == keyMeta && len(k) == 1:
			if err := c.parse(v, origin); err != nil {
				return nil, nil, err
			}
			met = true
		default:
			return nil, nil, errMalformed
		}
	}
	if err := it.Error(); err != nil {
		return nil, nil, err
	}
	if !met {
		// Every batch covers something, so this is a new store or a foreign one.
		return c, names, s.empty()
	}
	return c, names, nil
}

func (s *store) empty() error {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return err
	}
	any := it.First()
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return err
	}
	if any {
		return errors.New("it does not say what it covers")
	}
	return nil
}

func (c cover) meta(origin string) []byte {
	b := binary.BigEndian.AppendUint32(nil, version)
	b = binary.BigEndian.AppendUint64(b, c.size)
	b = append(b, c.root[:]...)
	return append(b, origin...)
}

func (c *cover) parse(b []byte, origin string) error {
	const fixed = 4 + 8 + merkle.HashSize
	switch {
	case len(b) < fixed:
		return errMalformed
	case binary.BigEndian.Uint32(b) != version:
		return errors.New("it is of another format")
	case string(b[fixed:]) != origin:
		return errors.New("it is of another log")
	}
	c.size, c.root = binary.BigEndian.Uint64(b[4:]), merkle.Hash(b[12:])
	return nil
}

// Covered returns the tree size that the index has absorbed, and its root.
func (x *Index) Covered() (size uint64, root merkle.Hash, err error) {
	c := x.covered.Load()
	return c.size, c.root, nil
}

// Reset forgets everything. An index whose covered root is not the log's is of
// another history, and is to be reset before anything is asked of it.
func (x *Index) Reset() error {
	x.absorb.Lock()
	defer x.absorb.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.store == nil:
		return errClosed()
	case x.readOnly:
		return errReadOnly()
	}
	x.probes.drop()
	if err := x.store.close(true); err != nil { // what is in memory is not wanted
		return ioError("close", x.dir, err)
	}
	return x.again()
}

// Close closes the index. Calls that follow are LOG-CLOSED.
func (x *Index) Close() error {
	x.absorb.Lock()
	defer x.absorb.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	var err error
	if x.store != nil { // nil behind a Reset that failed
		x.probes.drop()
		err = x.store.close(x.readOnly)
		x.store = nil
	}
	if x.lock != nil {
		err = errors.Join(err, x.lock.Close())
		x.lock = nil
	}
	if err != nil {
		return ioError("close", x.dir, err)
	}
	return nil
}
