package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/internal/index"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/report"
)

// runOf lists a run by the index in dir, which no server has open.
func runOf(t *testing.T, dir, principal, run string) index.RunPage {
	t.Helper()
	x, err := index.Open(dir, index.Options{Origin: servertest.Origin, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	page, err := x.Run(principal, run, index.Position{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// TestIndex: the index finds repeats and the registry at a start, names
// principals, and is made again where it is gone.
func TestIndex(t *testing.T) {
	files := faultfs.New()
	old := signed(t, opening(servertest.Engine2, "old"), servertest.Engine2)
	l := servertest.Serve(t, files, retireEngine2(t, files, old))
	l.Stop()
	dir := filepath.Join(t.TempDir(), "index")
	l.IndexDir = dir
	again := func(what string) {
		t.Helper()
		if a := submit(t, l, old); a.status != 200 {
			t.Errorf("%s: a repeat: %d %s", what, a.status, a.code())
		}
		if a := submit(t, l, signed(t, opening(servertest.Engine2, "new"), servertest.Engine2)); a.code() != "KEY-ENDED" {
			t.Errorf("%s: by a retired key: %d %s", what, a.status, a.code())
		}
	}
	l.Start() // makes it
	again("made")
	record(t, l, "one")
	l.Stop()
	l.Start() // uses it, the registry too
	again("used")
	if a := submit(t, l, signed(t, opening(servertest.Engine, "one"), servertest.Engine)); a.status != 200 {
		t.Errorf("a repeat: %d", a.status)
	}
	l.Stop()
	for _, principal := range []string{servertest.Engine, servertest.Engine2} {
		run := map[string]string{servertest.Engine: "one", servertest.Engine2: "old"}[principal]
		if page := runOf(t, dir, principal, run); page.Covered != 4 || len(page.Statements) != 1 {
			t.Errorf("run %s of %s: %+v", run, principal, page)
		}
	}

	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if size, err := server.Reindex(l.Config()); size != 4 || err != nil {
		t.Errorf("reindex: %d, %v", size, err)
	}
	if page := runOf(t, dir, servertest.Engine, "one"); page.Covered != 4 || len(page.Statements) != 1 {
		t.Errorf("after reindex: %+v", page)
	}
	l.Start()
	again("made again")
	if _, err := server.Reindex(l.Config()); report.CodeOf(err) != "LOG-LOCKED" {
		t.Errorf("reindex of an open log: %v", err)
	}
	if _, err := server.Open(l.Config()); report.CodeOf(err) != "LOG-LOCKED" {
		t.Errorf("a second server: %v", err)
	}
}
