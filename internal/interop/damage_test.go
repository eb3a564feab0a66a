package interop

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/transparency-dev/tessera/client"

	"github.com/obstat/obstat/internal/server/servertest"
)

// TestDamageIsSeen: the readers that pass our log are readers that would not
// pass it if a bit were wrong, in whichever file.
func TestDamageIsSeen(t *testing.T) {
	l := newLog(t)
	l.growTo(259)
	l.Stop()
	files := 0
	site := filepath.Join(l.dir, "site")
	err := filepath.WalkDir(site, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		whole, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		bad := append([]byte(nil), whole...)
		bad[len(bad)-2] ^= 1
		if err := os.WriteFile(file, bad, 0o644); err != nil {
			return err
		}
		if check(t, l, l.directory()) == nil {
			t.Errorf("fsck passes with a wrong bit in %s", file)
		}
		return os.WriteFile(file, whole, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	// The checkpoint; two tiles and two bundles of entries; the tile above.
	if files != 6 {
		t.Errorf("%d files, want 6", files)
	}
	if err := check(t, l, l.directory()); err != nil {
		t.Errorf("with every bit right again: %v", err)
	}
	l.Start()
}

// TestAnotherHistory: a client that knows a checkpoint of another log under
// the same key does not follow ours.
func TestAnotherHistory(t *testing.T) {
	l, other := newLog(t), newLog(t)
	other.growTo(2)
	l.hash(receiptLeaf(t, 1<<20)) // the two part at leaf 1
	if _, ok := l.submit(l.leaves[1]); !ok {
		return
	}
	l.growTo(300)
	src := l.overHTTP(t)
	lst, err := client.NewLogStateTracker(t.Context(), src.ReadTile, other.latest().note, l.verifier(t),
		servertest.Origin, client.UnilateralConsensus(src.ReadCheckpoint))
	if err != nil {
		t.Fatal(err)
	}
	var inconsistent client.ErrInconsistency
	if _, _, _, err := lst.Update(t.Context()); !errors.As(err, &inconsistent) {
		t.Errorf("it follows a fork: %v", err)
	}
}
