package interop

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/internal/server/servertest"
)

// source is where somebody else reads the log, and the sizes that can be read
// there.
type source struct {
	fsck.Fetcher // one of Tessera's
	heads        []head
}

// TestBoundaries grows one log through the sizes beside every boundary of the
// first two tiles of entries, and has everybody read it at each of them: from
// the server, and, while it is stopped, from the directory that it leaves and
// from an export.
func TestBoundaries(t *testing.T) {
	readAt(t, newLog(t), 1, 2, 255, 256, 257, 511, 512, 513)
}

// TestHeavyBoundaries goes on to where the third level of tiles begins.
func TestHeavyBoundaries(t *testing.T) {
	if os.Getenv("OBSTAT_HEAVY") == "" {
		t.Skip("OBSTAT_HEAVY=1 runs it")
	}
	readAt(t, newLog(t), 257, 65535, 65536, 65537)
}

func readAt(t *testing.T, l *grownLog, sizes ...uint64) {
	for _, size := range sizes {
		l.growTo(size)
		t.Run(fmt.Sprintf("size=%d/server", size), func(t *testing.T) { readAll(t, l, l.overHTTP(t)) })
		t.Run(fmt.Sprintf("size=%d/answers", size), func(t *testing.T) { answersAgree(t, l) })
		l.Stop()
		t.Run(fmt.Sprintf("size=%d/directory", size), func(t *testing.T) { readAll(t, l, l.directory()) })
		t.Run(fmt.Sprintf("size=%d/export", size), func(t *testing.T) { readAll(t, l, l.export(t)) })
		l.Start()
	}
}

// readAll is every reader on one source.
func readAll(t *testing.T, l *grownLog, src source) {
	t.Run("formats", func(t *testing.T) { formatsRead(t, l, src) })
	t.Run("tessera-tracker", func(t *testing.T) { trackerFollows(t, l, src) })
	t.Run("tessera-proofs", func(t *testing.T) { builderAgrees(t, l, src) })
	t.Run("tessera-entries", func(t *testing.T) { entriesDecode(t, l, src) })
	t.Run("tessera-fsck", func(t *testing.T) { fsckPasses(t, l, src) })
	t.Run("sumdb", func(t *testing.T) { sumdbAgrees(t, l, src) })
}

func (l *grownLog) overHTTP(t *testing.T) source {
	t.Helper()
	u, err := url.Parse(l.URL)
	if err != nil {
		t.Fatal(err)
	}
	f, err := client.NewHTTPFetcher(u, browser)
	if err != nil {
		t.Fatal(err)
	}
	return source{f, l.heads}
}

// directory is what any file server could serve.
func (l *grownLog) directory() source {
	return source{client.FileFetcher{Root: filepath.Join(l.dir, "site")}, l.heads}
}

// export is a site that was written in one go, without the partial tiles of
// earlier sizes.
func (l *grownLog) export(t *testing.T) source {
	t.Helper()
	signer, err := checkpoint.NewSigner(servertest.Origin, checkpoint.TypeEd25519, servertest.Key(servertest.Origin))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	dst, err := durable.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	cfg := rlog.Config{Origin: servertest.Origin, Signer: signer, FS: l.FS, Statement: statementOf}
	if _, err := rlog.Export(cfg, dst); err != nil {
		t.Fatal(err)
	}
	return source{client.FileFetcher{Root: dir}, []head{l.latest()}}
}

func statementOf(leaf []byte) (dagcbor.CID, error) {
	env, err := dsse.ParseLeaf(leaf)
	if err != nil {
		return dagcbor.CID{}, err
	}
	return dagcbor.Sum(env.Payload), nil
}
