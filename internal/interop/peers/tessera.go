package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/api/layout"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/storage/posix"
	"golang.org/x/mod/sumdb/note"
	"k8s.io/klog/v2"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
)

// What Tessera is given: the shortest interval that its POSIX driver takes, and
// otherwise what favours it.
const (
	tesseraInterval = 100 * time.Millisecond
	tesseraBatchAge = 10 * time.Millisecond
	tesseraPoll     = 10 * time.Millisecond
)

// newTessera returns Tessera's POSIX driver in this process twice: once callers
// wait for a checkpoint, once for the tree only, which is less than the others
// are asked for.
func newTessera() (published, integrated *system, err error) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	version, err := versionOf("github.com/transparency-dev/tessera")
	if err != nil {
		return nil, nil, err
	}
	both := system{
		version: version,
		command: []string{"posix.New", fmt.Sprintf("WithCheckpointInterval(%v)", tesseraInterval),
			fmt.Sprintf("WithBatching(%d, %v)", tessera.DefaultBatchMaxSize, tesseraBatchAge)},
		notes:     "in the process of its callers: no HTTP, no signature or schema checked, no dedup, no proof built",
		perCaller: 2000, most: 30000,
		body: func(env *dsse.Envelope) ([]byte, error) { return env.Leaf() },
	}
	published, integrated = new(system), new(system)
	*published, *integrated = both, both
	published.name = "tessera"
	published.waits = fmt.Sprintf("an index under a published checkpoint (PublicationAwaiter, polling each %v)", tesseraPoll)
	published.start = func(ctx context.Context, dir string) (*instance, error) { return startTessera(ctx, dir, true) }
	integrated.name = "tessera-integrated"
	integrated.waits = "an index, durable and in the tree, under no checkpoint yet: not the same job"
	integrated.perCaller, integrated.most = 4000, 90000
	integrated.start = func(ctx context.Context, dir string) (*instance, error) { return startTessera(ctx, dir, false) }
	return published, integrated, nil
}

// versionOf is the version of a module that was built in.
func versionOf(path string) (string, error) {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version, nil
			}
		}
	}
	return "", fmt.Errorf("this build does not record its version of %s", path)
}

// tesseraLog is an open log.
type tesseraLog struct {
	add     tessera.AddFn
	reader  tessera.LogReader
	awaiter *tessera.PublicationAwaiter // nil: an index will do
	key     checkpoint.VKey
}

func startTessera(ctx context.Context, dir string, published bool) (*instance, error) {
	secret, vkey, err := note.GenerateKey(nil, origin)
	if err != nil {
		return nil, err
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		return nil, err
	}
	key, err := checkpoint.ParseVKey(vkey)
	if err != nil {
		return nil, err
	}
	background, cancel := context.WithCancel(ctx)
	driver, err := posix.New(background, posix.Config{Path: filepath.Join(dir, "log")})
	if err != nil {
		cancel()
		return nil, err
	}
	appender, shutdown, reader, err := tessera.NewAppender(background, driver, tessera.NewAppendOptions().
		WithCheckpointSigner(signer).
		WithCheckpointInterval(tesseraInterval).
		WithBatching(tessera.DefaultBatchMaxSize, tesseraBatchAge))
	if err != nil {
		cancel()
		return nil, err
	}
	l := &tesseraLog{add: appender.Add, reader: reader, key: key}
	if published {
		l.awaiter = tessera.NewPublicationAwaiter(background, reader.ReadCheckpoint, tesseraPoll)
	}
	return &instance{
		connect: func() caller { return &tesseraCaller{log: l} },
		stop: func() error {
			defer cancel()
			within, done := context.WithTimeout(ctx, stopTime)
			defer done()
			return shutdown(within)
		},
	}, nil
}

// tesseraCaller adds leaves.
type tesseraCaller struct {
	log   *tesseraLog
	leaf  []byte // the last that was added
	index uint64
	note  []byte
}

func (c *tesseraCaller) submit(ctx context.Context, leaf []byte) error {
	added := c.log.add(ctx, tessera.NewEntry(leaf))
	var index tessera.Index
	var err error
	if c.log.awaiter == nil {
		index, err = added()
	} else {
		index, c.note, err = c.log.awaiter.Await(ctx, added)
	}
	c.leaf, c.index = leaf, index.Index
	return err
}

// check builds the proof that no caller was given.
func (c *tesseraCaller) check() error {
	ctx := context.Background()
	if c.log.awaiter == nil {
		return c.found(ctx)
	}
	head, err := checkpoint.Open(c.note, []checkpoint.VKey{c.log.key})
	if err != nil {
		return err
	}
	builder, err := client.NewProofBuilder(ctx, head.Size, c.log.reader.ReadTile)
	if err != nil {
		return err
	}
	raw, err := builder.InclusionProof(ctx, c.index)
	if err != nil {
		return err
	}
	proof, err := hashesOf(raw)
	if err != nil {
		return err
	}
	return proven(c.leaf, c.index, proof, c.note, c.log.key)
}

// found looks the last leaf up where it should stand.
func (c *tesseraCaller) found(ctx context.Context) error {
	size, err := c.log.reader.IntegratedSize(ctx)
	if err != nil {
		return err
	}
	if c.index >= size {
		return fmt.Errorf("index %d in a tree of %d", c.index, size)
	}
	b, err := client.GetEntryBundle(ctx, c.log.reader.ReadEntryBundle, c.index/layout.EntryBundleWidth, size)
	if err != nil {
		return err
	}
	if i := c.index % layout.EntryBundleWidth; i >= uint64(len(b.Entries)) || !bytes.Equal(b.Entries[i], c.leaf) {
		return fmt.Errorf("index %d holds another leaf", c.index)
	}
	return nil
}

func (c *tesseraCaller) close() {}
