package server_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
)

// filled is a log of size leaves.
func filled(t *testing.T, size int) *servertest.Log {
	t.Helper()
	l := servertest.New(t)
	for i := 1; i < size; i++ {
		env := signed(t, opening(servertest.Engine, receipt.Name(fmt.Sprintf("run-%d", i))), servertest.Engine)
		if a := submit(t, l, env); a.status != 201 {
			t.Fatalf("leaf %d: %d %s", i, a.status, a.body)
		}
	}
	return l
}

// entriesOf reads all entries by their bundles.
func entriesOf(t *testing.T, l *servertest.Log, size uint64) [][]byte {
	t.Helper()
	var all [][]byte
	for n := uint64(0); n*merkle.TileWidth < size; n++ {
		width := merkle.TileWidthAt(0, n, size)
		a := get(t, l, "/"+merkle.EntriesPath(n, width))
		if a.status != 200 {
			t.Fatalf("bundle %d: %d %s", n, a.status, a.body)
		}
		entries, err := merkle.ParseBundle(a.body, width)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entries...)
	}
	return all
}

// TestCheckpoint: /checkpoint opens with Go's own note package.
func TestCheckpoint(t *testing.T) {
	l := filled(t, 3)
	a := get(t, l, "/checkpoint")
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	verifier, err := note.NewVerifier(l.Policy.Logs()[0].Key.String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.Open(a.body, note.VerifierList(verifier)); err != nil {
		t.Error(err)
	}
	head, err := checkpoint.Open(a.body, l.Policy.Keys(servertest.Origin))
	if err != nil {
		t.Fatal(err)
	}
	if head.Size != 3 {
		t.Errorf("size %d, want 3", head.Size)
	}
	wantHeader(t, a, map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store",
	})
}

func wantHeader(t *testing.T, a answer, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := a.header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
}

// tiles reads our tiles for Go's sumdb, which is somebody else's idea of them.
type tiles struct {
	t *testing.T
	l *servertest.Log
}

func (r tiles) Height() int                             { return 8 }
func (r tiles) SaveTiles(tiles []tlog.Tile, _ [][]byte) {}
func (r tiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range tiles {
		a := get(r.t, r.l, "/"+strings.Replace(tile.Path(), "tile/8/", "tile/", 1))
		if a.status != 200 {
			return nil, fmt.Errorf("%s: %d %s", tile.Path(), a.status, a.body)
		}
		all = append(all, a.body)
	}
	return all, nil
}

// TestTiles: Go's sumdb client proves every entry, and growth from every size,
// from what the server hands out.
func TestTiles(t *testing.T) {
	const size = 300
	l := filled(t, size)
	head, err := checkpoint.Open(get(t, l, "/checkpoint").body, l.Policy.Keys(servertest.Origin))
	if err != nil {
		t.Fatal(err)
	}
	root := tlog.Hash(head.Root)
	reader := tlog.TileHashReader(tlog.Tree{N: size, Hash: root}, tiles{t, l})
	for i, entry := range entriesOf(t, l, size) {
		if i%17 != 0 && i < 250 {
			continue
		}
		proof, err := tlog.ProveRecord(size, int64(i), reader)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckRecord(proof, size, root, int64(i), tlog.RecordHash(entry)); err != nil {
			t.Errorf("entry %d: %v", i, err)
		}
	}
	for _, old := range []int64{1, 2, 255, 256, 257, 299} {
		oldRoot, err := tlog.TreeHash(old, reader)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := tlog.ProveTree(size, old, reader)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckTree(proof, size, root, old, oldRoot); err != nil {
			t.Errorf("from size %d: %v", old, err)
		}
	}
}

// TestWidths: every width that the tree has had is served, as a prefix of the
// widest; nothing beyond is, and a miss is not to be cached.
func TestWidths(t *testing.T) {
	l := filled(t, 260)
	for _, test := range []struct {
		path  string
		count int // hashes; 0: not there
	}{
		{"/tile/0/000", 256}, {"/tile/0/000.p/1", 1}, {"/tile/0/000.p/255", 255},
		{"/tile/0/001.p/4", 4}, {"/tile/0/001.p/1", 1}, {"/tile/0/001.p/5", 0}, {"/tile/0/001", 0},
		{"/tile/1/000.p/1", 1}, {"/tile/1/000.p/2", 0}, {"/tile/1/000", 0}, {"/tile/2/000.p/1", 0},
		{"/tile/0/002.p/1", 0}, {"/tile/63/000.p/1", 0},
	} {
		a := get(t, l, test.path)
		if test.count == 0 {
			if a.status != 404 {
				t.Errorf("%s: %d, want 404", test.path, a.status)
			}
			wantHeader(t, a, map[string]string{"Cache-Control": "no-store"})
			continue
		}
		if a.status != 200 || len(a.body) != test.count*32 {
			t.Errorf("%s: %d with %d bytes, want %d hashes", test.path, a.status, len(a.body), test.count)
		}
		wantHeader(t, a, map[string]string{
			"Content-Type": "application/octet-stream", "Cache-Control": "public, max-age=604800, immutable",
		})
	}
	full := get(t, l, "/tile/entries/000").body
	for _, width := range []int{1, 2, 100, 255} {
		part := get(t, l, fmt.Sprintf("/tile/entries/000.p/%d", width)).body
		if _, err := merkle.ParseBundle(part, width); err != nil {
			t.Errorf("width %d: %v", width, err)
		}
		if !bytes.HasPrefix(full, part) {
			t.Errorf("the bundle of width %d is no prefix of the full one", width)
		}
	}
	if a := get(t, l, "/tile/entries/001.p/5"); a.status != 404 {
		t.Errorf("a bundle wider than the tree: %d, want 404", a.status)
	}
}

// TestPaths: a tile has one path, and nothing is redirected to it.
func TestPaths(t *testing.T) {
	l := filled(t, 2)
	for _, path := range []string{
		"/tile/0/0", "/tile/0/0000", "/tile/00/000", "/tile/0/000.p/0", "/tile/0/000.p/01", "/tile/0/000.p/256",
		"/tile/0/x000/000", "/tile/0/%30%30%30.p/1", "/tile//0/000.p/1", "/tile/./0/000.p/1", "/tile/0/000.p/1/",
		"//tile/0/000.p/1", "/tile/64/000.p/1", "/tile/data/000.p/1", "/tile/", "/checkpoint/", "/Checkpoint", "/",
	} {
		a := get(t, l, path)
		if a.status != 404 || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s, want 404 that is not cached", path, a.status, a.header.Get("Cache-Control"))
		}
		if code := a.code(); code != "TILE-PATH" && code != "HTTP-PATH" {
			t.Errorf("%s: code %s", path, code)
		}
	}
}

// TestGzip: entry bundles are compressed for whoever says it can read that.
func TestGzip(t *testing.T) {
	l := filled(t, 40)
	plain := get(t, l, "/tile/entries/000.p/40")
	for accept, want := range map[string]bool{
		"": false, "gzip": true, "br, gzip;q=0.5": true, "*": true, "GZIP": true,
		"identity": false, "gzip;q=0": false, "gzip; q=0.0, br": false, "x-gzip-not": false,
	} {
		a := do(t, "GET", l.URL+"/tile/entries/000.p/40", map[string]string{"Accept-Encoding": accept}, nil)
		body := a.body
		if got := a.header.Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("Accept-Encoding %q: compressed %v, want %v", accept, got, want)
			continue
		}
		if want {
			z, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
			if len(a.body) >= len(body) {
				t.Errorf("%d bytes compressed to %d", len(body), len(a.body))
			}
		}
		if !bytes.Equal(body, plain.body) {
			t.Errorf("Accept-Encoding %q: other bytes", accept)
		}
		wantHeader(t, a, map[string]string{"Vary": "Accept-Encoding", "Content-Type": "application/octet-stream"})
	}
	if a := do(t, "GET", l.URL+"/tile/0/000.p/40", map[string]string{"Accept-Encoding": "gzip"}, nil); a.header.Get("Content-Encoding") != "" {
		t.Error("hashes were compressed")
	}
}

// TestHead: HEAD says what GET would.
func TestHead(t *testing.T) {
	l := filled(t, 2)
	for _, path := range []string{"/checkpoint", "/tile/0/000.p/2", "/tile/entries/000.p/2", "/healthz", "/readyz", "/tile/0/007"} {
		head, full := do(t, "HEAD", l.URL+path, nil, nil), get(t, l, path)
		if head.status != full.status || len(head.body) != 0 || head.header.Get("Content-Length") != fmt.Sprint(len(full.body)) {
			t.Errorf("%s: %d with length %s, want %d with %d", path, head.status, head.header.Get("Content-Length"), full.status, len(full.body))
		}
	}
}

// TestHealth holds the two probes.
func TestHealth(t *testing.T) {
	l := filled(t, 2)
	for path, want := range map[string]string{
		"/healthz": "{\"status\":\"ok\"}\n",
		"/readyz":  "{\"status\":\"ready\",\"size\":2,\"rollback_protection\":\"none\"}\n",
	} {
		a := get(t, l, path)
		if a.status != http.StatusOK || string(a.body) != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		wantHeader(t, a, map[string]string{"Cache-Control": "no-store", "Content-Type": "application/json"})
	}
}

// TestCrossOrigin: web pages may read a log that is public and no other, and
// they may submit to neither.
func TestCrossOrigin(t *testing.T) {
	l := filled(t, 2)
	for _, public := range []bool{false, true} {
		l.Stop()
		l.Public = public
		l.Start()
		for _, path := range []string{"/checkpoint", "/tile/0/000.p/2", "/tile/entries/000.p/2", "/tile/0/007", "/healthz", "/readyz", "/v1/receipts", "/v1/registry", "/v1/leaves/1", "/v1/limits"} {
			want := ""
			if public && path != "/v1/receipts" && !strings.HasSuffix(path, "z") {
				want = "*"
			}
			a := do(t, "GET", l.URL+path, map[string]string{"Origin": "https://page.example"}, nil)
			if got := a.header.Get("Access-Control-Allow-Origin"); got != want {
				t.Errorf("public %v: %s says Access-Control-Allow-Origin %q, want %q", public, path, got, want)
			}
		}
		preflight := map[string]string{"Origin": "https://page.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
		if a := do(t, "OPTIONS", l.URL+"/v1/receipts", preflight, nil); a.status != 405 || a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("public %v: a preflight of a submission: %d, Access-Control-Allow-Origin %q", public, a.status, a.header.Get("Access-Control-Allow-Origin"))
		}
	}
}
