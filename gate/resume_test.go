package gate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
)

// A request that waits for consent outlives its process; it is taken up as it was
// judged, or not at all.
func TestResume(t *testing.T) {
	l := servertest.New(t)
	run, g := newRun(t, l, "resume", filepath.Join(t.TempDir(), "run"), nil)
	dir := realDir(t)
	plan := func(text string) *Files {
		f, err := PlanFiles(dir, FileChange{Path: "a", After: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	ctx := t.Context()
	first, second := judged(t, g, plan("one")), judged(t, g, plan("two"))
	if got, err := g.Recover(ctx, run.Statements(ctx), first.Statement().CID, second.Statement().CID); err != nil || len(got) != 0 {
		t.Fatalf("%v, %v", got, err)
	}
	// Another process, which has nothing but the statement and the request.
	again, err := New(g.cfg)
	if err != nil {
		t.Fatal(err)
	}
	j, err := again.Resume(ctx, first.Statement().CID, request(plan("one")), run.Statements(ctx))
	if err != nil {
		t.Fatal(err)
	}
	if out := commit(t, j); out.Disposition.Word() != "committed" || out.Record == nil {
		t.Errorf("%+v, %v", out.Disposition, out.Err)
	}
	j, err = again.Resume(ctx, second.Statement().CID, request(plan("three")), run.Statements(ctx))
	if err != nil {
		t.Fatal(err)
	}
	if out := commit(t, j); out.Disposition.Word() != "diverged" {
		t.Errorf("another request was taken for the judged one: %+v", out.Disposition)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(b) != "one" {
		t.Errorf("%q, %v", b, err)
	}
	for _, cid := range []receipt.CID{first.Statement().CID, {}, j.outcome.Statement.CID} {
		if j, err := again.Resume(ctx, cid, request(plan("one")), run.Statements(ctx)); err == nil {
			t.Errorf("%s was taken up: %v", cid, j.Digest())
		}
	}
	third := judged(t, g, plan("three"))
	if got, err := g.Recover(ctx, run.Statements(ctx)); err != nil || len(got) != 1 || got[0].Call.CID != third.Statement().CID || got[0].Disposition.Word() != "cancelled" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := run.CloseRun(ctx); err != nil {
		t.Fatal(err)
	}
	lawful(t, "resume", run.Statements(ctx))
}
