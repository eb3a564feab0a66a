package interop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"github.com/transparency-dev/tessera/storage/posix"
	"golang.org/x/mod/sumdb/note"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// audited is our audit of the hashes of a site, grown from an older checkpoint
// where one is given.
func audited(t *testing.T, dir, vkey string, since []byte) *report.Report {
	t.Helper()
	policy, err := trust.ParsePolicy([]byte("log " + vkey + "\nquorum none\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := audit.Log(os.DirFS(dir), audit.Options{Policy: policy, HashesOnly: true, Since: since})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAuditOfTessera: a log that Tessera writes is verified by our audit at the
// sizes beside every boundary, and grows from each to the next. Of a site with one
// wrong bit our audit and Tessera's fsck say no alike.
func TestAuditOfTessera(t *testing.T) {
	const origin = "example.com/tessera"
	secret, vkey, err := note.GenerateKey(nil, origin)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	driver, err := posix.New(ctx, posix.Config{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	appender, shutdown, reader, err := tessera.NewAppender(ctx, driver, tessera.NewAppendOptions().
		WithCheckpointSigner(signer).WithCheckpointInterval(100*time.Millisecond).WithBatching(256, 10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	awaiter := tessera.NewPublicationAwaiter(ctx, reader.ReadCheckpoint, 10*time.Millisecond)
	var since []byte
	for size, next := 0, 0; next < 6; next++ {
		var last tessera.IndexFuture
		for to := []int{1, 255, 256, 257, 513, 700}[next]; size < to; size++ {
			last = appender.Add(ctx, tessera.NewEntry(fmt.Appendf(nil, "entry %d", size)))
		}
		_, checkpoint, err := awaiter.Await(ctx, last)
		if err != nil {
			t.Fatal(err)
		}
		if r := audited(t, dir, vkey, since); r.Overall() != report.AllVerified {
			t.Fatalf("at %d:\n%s", size, r.Text())
		}
		since = checkpoint
	}
	if err := shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	fetcher := client.FileFetcher{Root: dir}
	theirs := func() error {
		leafHashes := func(raw []byte) ([][]byte, error) {
			entries, err := unbundle(raw)
			for i, e := range entries {
				entries[i] = rfc6962.DefaultHasher.HashLeaf(e)
			}
			return entries, err
		}
		return fsck.New(origin, verifier, fetcher, leafHashes, fsck.Opts{N: 2}).Check(t.Context())
	}
	agreeOnDamage(t, dir, vkey, theirs)
}

// agreeOnDamage flips a bit in every file of a site, one at a time, and holds our
// answer against another's.
func agreeOnDamage(t *testing.T, dir, vkey string, theirs func() error) {
	t.Helper()
	if err := theirs(); err != nil {
		t.Fatalf("as it is: %v", err)
	}
	seen := 0
	for _, top := range []string{"checkpoint", "tile"} {
		err := filepath.WalkDir(filepath.Join(dir, top), func(file string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			whole, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			bad := append([]byte(nil), whole...)
			bad[len(bad)-2] ^= 1
			if err := os.WriteFile(file, bad, 0o644); err != nil {
				return err
			}
			ours := error(nil)
			if r := audited(t, dir, vkey, nil); r.Overall() != report.AllVerified {
				ours = errors.New(r.Conclusion())
			}
			other := theirs()
			if (ours == nil) != (other == nil) {
				t.Errorf("with a wrong bit in %s: ours %v, theirs %v", file, ours, other)
			}
			if ours != nil {
				seen++
			}
			return os.WriteFile(file, whole, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 6 { // the checkpoint, two tiles and two bundles of entries, the tile above
		t.Errorf("the wrong bit was seen in %d files", seen)
	}
	if r := audited(t, dir, vkey, nil); r.Overall() != report.AllVerified {
		t.Errorf("with every bit right again:\n%s", r.Text())
	}
}
