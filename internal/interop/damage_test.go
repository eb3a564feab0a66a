package interop

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/transparency-dev/tessera/client"

	"github.com/obstat/obstat/internal/server/servertest"
)

// TestDamageIsSeen: the readers that pass our log are readers that would not
// pass it if a bit were wrong, in whichever file; and our own audit is one.
func TestDamageIsSeen(t *testing.T) {
	l := newLog(t)
	l.growTo(259)
	l.Stop()
	agreeOnDamage(t, filepath.Join(l.dir, "site"), l.vkey(), func() error { return check(t, l, l.directory()) })
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
