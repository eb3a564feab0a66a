package witness

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

const testOrigin = "example.com/log"

func key(label string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("obstat witness test key " + label))
	return ed25519.NewKeyFromSeed(seed[:])
}

func signer(t testing.TB, name string) *checkpoint.Signer {
	t.Helper()
	s, err := checkpoint.NewSigner(name, checkpoint.TypeCosignature, key(name))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// open opens a witness of the defaults that cfg leaves out, until the test ends.
func open(t testing.TB, fs durable.FS, cfg Config) *Witness {
	t.Helper()
	w, err := tryOpen(t, fs, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func tryOpen(t testing.TB, fs durable.FS, cfg Config) (*Witness, error) {
	t.Helper()
	cfg.FS = fs
	if cfg.Signers == nil {
		cfg.Signers = []*checkpoint.Signer{signer(t, "witness.example")}
	}
	if cfg.Logs == nil {
		cfg.Logs = []Log{{Origin: testOrigin, Keys: []checkpoint.VKey{newLog(t, "a").signer.Key}}}
	}
	return Open(cfg)
}

// testLog is a tree of leaves that all begin alike; two with different names
// differ from the leaf fork on.
type testLog struct {
	t      testing.TB
	signer *checkpoint.Signer
	nodes  map[merkle.NodeID]merkle.Hash
	tree   merkle.Range
	name   string
	fork   uint64
}

func newLog(t testing.TB, name string) *testLog {
	t.Helper()
	s, err := checkpoint.NewSigner(testOrigin, checkpoint.TypeEd25519, key("log"))
	if err != nil {
		t.Fatal(err)
	}
	return &testLog{t: t, signer: s, nodes: map[merkle.NodeID]merkle.Hash{}, name: name, fork: 3}
}

func (l *testLog) grow(size uint64) {
	for i := l.tree.Size(); i < size; i++ {
		leaf := fmt.Sprintf("leaf %d", i)
		if i >= l.fork {
			leaf += " of " + l.name
		}
		l.tree.Append(merkle.LeafHash([]byte(leaf)), func(id merkle.NodeID, h merkle.Hash) { l.nodes[id] = h })
	}
}

func (l *testLog) read(id merkle.NodeID) (merkle.Hash, error) { return l.nodes[id], nil }

func (l *testLog) head(size uint64) checkpoint.Checkpoint {
	l.t.Helper()
	l.grow(size)
	root, err := merkle.Root(size, l.read)
	if err != nil {
		l.t.Fatal(err)
	}
	return checkpoint.Checkpoint{Origin: testOrigin, Size: size, Root: root}
}

func (l *testLog) note(c checkpoint.Checkpoint) []byte {
	l.t.Helper()
	note, err := l.signer.SignBody(c.Body(), 0)
	if err != nil {
		l.t.Fatal(err)
	}
	return note
}

// add is the request for a checkpoint of size.
func (l *testLog) add(old, size uint64) *checkpoint.AddCheckpoint {
	l.t.Helper()
	a := &checkpoint.AddCheckpoint{Old: old, Checkpoint: l.note(l.head(size))}
	if old > 0 && old < size {
		var err error
		if a.Proof, err = merkle.ConsistencyProof(old, size, l.read); err != nil {
			l.t.Fatal(err)
		}
	}
	return a
}

func post(w *Witness, body []byte) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/add-checkpoint", strings.NewReader(string(body))))
	return rec
}

func get(w *Witness, path string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
	return rec
}

var monitoring = fmt.Sprintf("/%x/checkpoint", sha256.Sum256([]byte(testOrigin)))

// TestAnswers holds every status of C2SP tlog-witness, in the order in which a
// request meets it.
func TestAnswers(t *testing.T) {
	a, b := newLog(t, "a"), newLog(t, "b")
	stranger := newLog(t, "a")
	stranger.signer, _ = checkpoint.NewSigner(testOrigin, checkpoint.TypeEd25519, key("stranger"))
	badLine := func(note []byte) []byte {
		n, err := checkpoint.ParseNote(note)
		if err != nil {
			t.Fatal(err)
		}
		n.Sigs[0].Sig[5] ^= 1
		return n.Bytes()
	}
	edit := func(x *checkpoint.AddCheckpoint, f func(*checkpoint.AddCheckpoint)) []byte { f(x); return x.Bytes() }
	rootless := a.note(checkpoint.Checkpoint{Origin: testOrigin, Size: 5, Root: merkle.Hash{1}})
	noEmptyRoot := func(l *testLog) []byte {
		// The parser refuses to make one.
		text := testOrigin + "\n0\n" + merkle.Hash{1}.String() + "\n"
		k := key("log")
		if l == stranger {
			k = key("stranger")
		}
		n := checkpoint.Note{Text: text, Sigs: []checkpoint.NoteSignature{{Name: testOrigin, ID: l.signer.Key.ID, Sig: ed25519.Sign(k, []byte(text))}}}
		return n.Bytes()
	}
	other := &checkpoint.AddCheckpoint{Checkpoint: []byte(strings.Replace(string(a.note(a.head(5))), testOrigin+"\n", "example.com/other\n", 1))}
	for _, c := range []struct {
		name   string
		body   []byte
		status int
		code   report.Code
	}{
		{"nothing", nil, 400, report.CodeAddCheckpointMalformed},
		{"no old line", []byte("alt 0\n\nx\n"), 400, report.CodeAddCheckpointMalformed},
		{"leading zero", []byte("old 00\n\nx\n"), 400, report.CodeAddCheckpointMalformed},
		{"64 hashes", edit(a.add(5, 5), func(x *checkpoint.AddCheckpoint) { x.Proof = make([]merkle.Hash, 64) }), 400, report.CodeAddCheckpointMalformed},
		{"no signatures", []byte("old 0\n\n" + testOrigin + "\n"), 400, report.CodeCheckpointMalformed},
		{"text is no checkpoint", []byte("old 0\n\n" + testOrigin + "\nfive\n\n— x y\n"), 400, report.CodeCheckpointMalformed},
		{"unknown origin", other.Bytes(), 404, report.CodeWitnessLogUnknown},
		{"unknown key", stranger.add(5, 6).Bytes(), 403, report.CodeCheckpointUnsigned},
		{"unknown key, and every other fault", edit(stranger.add(9, 9), func(x *checkpoint.AddCheckpoint) { x.Old = 77 }), 403, report.CodeCheckpointUnsigned},
		{"bad signature", edit(a.add(5, 6), func(x *checkpoint.AddCheckpoint) { x.Checkpoint = badLine(x.Checkpoint) }), 403, report.CodeCheckpointSignatureInvalid},
		{"no line that is one", edit(a.add(5, 6), func(x *checkpoint.AddCheckpoint) { x.Checkpoint = append(x.Checkpoint, "- x AAAAAAA=\n"...) }), 403, report.CodeNoteMalformed},
		{"a line twice", edit(a.add(5, 6), func(x *checkpoint.AddCheckpoint) {
			_, line, _ := strings.Cut(string(x.Checkpoint), "\n\n")
			x.Checkpoint = append(x.Checkpoint, line...)
		}), 403, report.CodeNoteDuplicate},
		{"old above size", edit(a.add(5, 5), func(x *checkpoint.AddCheckpoint) { x.Old = 6 }), 400, report.CodeWitnessOldSize},
		{"old is not last", a.add(4, 6).Bytes(), 409, report.CodeWitnessConflict},
		{"old is not last, and the proof is bad", edit(a.add(3, 6), func(x *checkpoint.AddCheckpoint) { x.Proof = nil }), 409, report.CodeWitnessConflict},
		{"size 0 with a root", edit(&checkpoint.AddCheckpoint{}, func(x *checkpoint.AddCheckpoint) { x.Checkpoint = noEmptyRoot(a) }), 422, report.CodeCheckpointEmptyRoot},
		{"size 0 with a root, unknown key", edit(&checkpoint.AddCheckpoint{}, func(x *checkpoint.AddCheckpoint) { x.Checkpoint = noEmptyRoot(stranger) }), 403, report.CodeCheckpointUnsigned},
		{"no proof", edit(a.add(5, 6), func(x *checkpoint.AddCheckpoint) { x.Proof = nil }), 422, report.CodeProofLength},
		{"a proof of another", edit(a.add(5, 6), func(x *checkpoint.AddCheckpoint) { x.Proof[0][0] ^= 1 }), 422, report.CodeProofInvalid},
		{"a proof where none belongs", edit(a.add(5, 5), func(x *checkpoint.AddCheckpoint) { x.Proof = make([]merkle.Hash, 1) }), 422, report.CodeProofLength},
		{"one size, two roots", edit(a.add(5, 5), func(x *checkpoint.AddCheckpoint) { x.Checkpoint = rootless }), 422, report.CodeLogForked},
		{"another history", b.add(5, 9).Bytes(), 422, report.CodeLogForked},
		{"the same again", a.add(5, 5).Bytes(), 200, ""},
		{"growth", a.add(5, 300).Bytes(), 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := faultfs.New()
			w := open(t, fs, Config{})
			if rec := post(w, a.add(0, 5).Bytes()); rec.Code != 200 {
				t.Fatalf("%d %s", rec.Code, rec.Body)
			}
			before := get(w, monitoring).Body.String()
			rec := post(w, c.body)
			if rec.Code != c.status || !strings.HasPrefix(rec.Body.String(), string(c.code)) && c.status != 409 {
				t.Errorf("%d %s, want %d %s", rec.Code, rec.Body, c.status, c.code)
			}
			if c.status == 409 && (rec.Body.String() != "5\n" || rec.Header().Get("Content-Type") != "text/x.tlog.size") {
				t.Errorf("a conflict is answered %q as %s", rec.Body, rec.Header().Get("Content-Type"))
			}
			if after := get(w, monitoring).Body.String(); c.status != 200 && after != before {
				t.Errorf("a refused request changed the checkpoint to %q", after)
			}
			evidence, err := fs.ReadDir(forksDir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range evidence {
				holdEvidence(t, fs, e.Name())
			}
			if (c.code == report.CodeLogForked || c.code == report.CodeProofInvalid) != (len(evidence) == 1) {
				t.Errorf("%d files of evidence", len(evidence))
			}
		})
	}
}

// holdEvidence asks the verifier's own judgement of a file against a log.
func holdEvidence(t *testing.T, fs durable.FS, name string) {
	t.Helper()
	b, err := durable.ReadFile(fs, forksDir+"/"+name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(name, forkExt) {
		if _, err := checkpoint.ParseAddCheckpoint(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	policy, err := trust.ParsePolicy([]byte("log " + newLog(t, "a").signer.Key.String() + "\nquorum none\n"))
	if err != nil {
		t.Fatal(err)
	}
	if r := audit.Fork(b, policy); r.Overall() != report.AllVerified {
		t.Errorf("%s does not prove a fork: %+v", name, r)
	}
}

// TestCosignature: the lines open the checkpoint, and what is served has them and
// the log's own, and no other.
func TestCosignature(t *testing.T) {
	a := newLog(t, "a")
	now := time.Unix(1_800_000_000, 0)
	one, two := signer(t, "witness.example/1"), signer(t, "witness.example/2")
	w := open(t, faultfs.New(), Config{Signers: []*checkpoint.Signer{one, two}, Now: func() time.Time { return now }})
	if rec := get(w, monitoring); rec.Code != 404 {
		t.Errorf("before anything was cosigned: %d", rec.Code)
	}
	x := a.add(0, 5)
	stranger, err := signer(t, "stranger").Sign(a.head(5).Body(), 1)
	if err != nil {
		t.Fatal(err)
	}
	plain := string(x.Checkpoint)
	x.Checkpoint = append(x.Checkpoint, stranger.Line()...)
	rec := post(w, x.Bytes())
	note := plain + rec.Body.String()
	o, err := checkpoint.Open([]byte(note), []checkpoint.VKey{a.signer.Key, one.Key, two.Key})
	if err != nil || len(o.Verified) != 3 || o.Verified[1].Time != uint64(now.Unix()) {
		t.Fatalf("%v: %d %s", err, rec.Code, note)
	}
	if got := get(w, monitoring).Body.String(); got != note {
		t.Errorf("served\n%s\nwant\n%s", got, note)
	}
	now = now.Add(time.Hour)
	if again := post(w, a.add(5, 5).Bytes()).Body.String(); again == rec.Body.String() {
		t.Error("the same checkpoint an hour later has no fresh time")
	}
	now = now.Add(-2 * time.Hour) // the clock is put back
	o, err = checkpoint.Open([]byte(string(a.note(a.head(6)))+post(w, a.add(5, 6).Bytes()).Body.String()), []checkpoint.VKey{one.Key, two.Key})
	if err != nil || o.Verified[0].Time != uint64(now.Add(2*time.Hour).Unix()) {
		t.Errorf("%v: a cosignature of a larger tree is older than that of a smaller one", err)
	}
}

// TestRestart: a witness knows what it cosigned, under a new key too, and one
// whose file is not what was written does not start.
func TestRestart(t *testing.T) {
	a := newLog(t, "a")
	fs := faultfs.New()
	w := open(t, fs, Config{})
	for size := uint64(1); size < 20; size++ {
		if rec := post(w, a.add(size-1, size).Bytes()); rec.Code != 200 {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	if _, err := tryOpen(t, fs, Config{}); report.CodeOf(err) != report.CodeWitnessLocked {
		t.Errorf("a second witness: %v", err)
	}
	before := get(w, monitoring).Body.String()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if rec := post(w, a.add(19, 20).Bytes()); rec.Code != 503 {
		t.Errorf("after Close: %d", rec.Code)
	}
	w = open(t, fs, Config{Signers: []*checkpoint.Signer{signer(t, "witness.example/new")}})
	if after := get(w, monitoring).Body.String(); after != before {
		t.Errorf("served %q, before the restart %q", after, before)
	}
	if rec := post(w, a.add(0, 20).Bytes()); rec.Body.String() != "19\n" {
		t.Errorf("it says %q, want 19", rec.Body)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%x%s", sha256.Sum256([]byte(testOrigin)), stateExt)
	for what, edit := range map[string]func([]byte) []byte{
		"another size": func(b []byte) []byte { return []byte(strings.Replace(string(b), "\n19\n", "\n18\n", 1)) },
		"empty":        func([]byte) []byte { return nil },
		"cut":          func(b []byte) []byte { return b[:len(b)/2] },
	} {
		copied := fs.Clone()
		if err := copied.Edit(name, edit); err != nil {
			t.Fatal(err)
		}
		if w, err := tryOpen(t, copied, Config{}); report.CodeOf(err) != report.CodeWitnessState {
			t.Errorf("%s: %v", what, err)
			_ = w.Close()
		}
	}
}

// TestListChanges: a log that is taken off the list is not cosigned and not
// forgotten.
func TestListChanges(t *testing.T) {
	a := newLog(t, "a")
	on := []Log{{Origin: testOrigin, Keys: []checkpoint.VKey{a.signer.Key}}}
	fs := faultfs.New()
	w := open(t, fs, Config{})
	post(w, a.add(0, 5).Bytes())
	if err := w.SetLogs(nil); err != nil {
		t.Fatal(err)
	}
	if rec := post(w, a.add(5, 6).Bytes()); rec.Code != 404 {
		t.Errorf("off the list: %d", rec.Code)
	}
	if rec := get(w, monitoring); rec.Code != 200 {
		t.Errorf("off the list, read: %d", rec.Code)
	}
	if err := w.SetLogs(on); err != nil {
		t.Fatal(err)
	}
	if rec := post(w, a.add(0, 6).Bytes()); rec.Body.String() != "5\n" {
		t.Errorf("on the list again: %q", rec.Body)
	}
	own := []Log{{Origin: "own", Keys: []checkpoint.VKey{signer(t, "witness.example").Key}}}
	for what, list := range map[string][]Log{"twice": append(on, on...), "no key": {{Origin: "x"}}, "own key": own} {
		if err := w.SetLogs(list); report.CodeOf(err) != report.CodeWitnessConfig {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestRates: a log has its rate, and an address that is refused often is not
// looked at, while those that are cosigned go on.
func TestRates(t *testing.T) {
	a := newLog(t, "a")
	now := time.Unix(1_800_000_000, 0)
	w := open(t, faultfs.New(), Config{
		Now:  func() time.Time { return now },
		Logs: []Log{{Origin: testOrigin, Keys: []checkpoint.VKey{a.signer.Key}, PerDay: 240}},
	})
	for size := uint64(1); size <= 10; size++ {
		if rec := post(w, a.add(size-1, size).Bytes()); rec.Code != 200 {
			t.Fatalf("%d: %d", size, rec.Code)
		}
	}
	if rec := post(w, a.add(10, 11).Bytes()); rec.Code != 429 || rec.Header().Get("Retry-After") == "" {
		t.Errorf("the eleventh at once: %d", rec.Code)
	}
	now = now.Add(10 * time.Minute)
	if rec := post(w, a.add(10, 11).Bytes()); rec.Code != 200 {
		t.Errorf("ten minutes later: %d", rec.Code)
	}
	last := 0
	for range 30 {
		last = post(w, []byte("nonsense")).Code
	}
	if last != 429 {
		t.Errorf("nonsense at once, the thirtieth time: %d", last)
	}
	now = now.Add(10 * time.Minute)
	if rec := post(w, a.add(11, 12).Bytes()); rec.Code != 200 {
		t.Errorf("after nonsense: %d %s", rec.Code, rec.Body)
	}
	for i := range 2 * maxClients {
		w.clients.refused(addressOf(fmt.Sprintf("[2001:db8:%x:%x::1]:1", i>>12, i&4095)), now)
	}
	if n := len(w.clients.seen); n > maxClients {
		t.Errorf("%d addresses are remembered", n)
	}
}

// TestTwoAtOnce: of requests that race, one is cosigned, and none takes the
// witness back.
func TestTwoAtOnce(t *testing.T) {
	a, b := newLog(t, "a"), newLog(t, "b")
	var bodies [][]byte
	for _, l := range []*testLog{a, b} {
		for size := uint64(4); size < 12; size++ {
			bodies = append(bodies, l.add(3, size).Bytes())
		}
	}
	for range 20 {
		w := open(t, faultfs.New(), Config{})
		post(w, a.add(0, 3).Bytes())
		var wg sync.WaitGroup
		codes := make([]int, len(bodies))
		for i, body := range bodies {
			wg.Go(func() { codes[i] = post(w, body).Code })
		}
		wg.Wait()
		cosigned := 0
		for _, code := range codes {
			if code == 200 {
				cosigned++
			} else if code != 409 {
				t.Errorf("answered %d", code)
			}
		}
		if cosigned != 1 {
			t.Errorf("%d of %d were cosigned", cosigned, len(codes))
		}
	}
}

func TestHTTP(t *testing.T) {
	w := open(t, faultfs.New(), Config{Refusals: -1})
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/add-checkpoint", 405}, {"PUT", "/add-checkpoint", 405}, {"POST", "/", 404}, {"GET", "/", 404},
		{"POST", monitoring, 405}, {"HEAD", monitoring, 404}, {"GET", "/healthz", 200}, {"GET", "/x/checkpoint", 404},
	} {
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, httptest.NewRequest(c.method, c.path, nil))
		if rec.Code != c.status || c.status == 405 && rec.Header().Get("Allow") == "" {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, rec.Code, c.status)
		}
	}
	if rec := post(w, make([]byte, MaxRequest+1)); rec.Code != 413 {
		t.Errorf("a long body: %d", rec.Code)
	}
	if n := w.Stats().Answers[report.CodeHTTPSize]; n != 1 {
		t.Errorf("%d counted", n)
	}
}

func FuzzAdd(f *testing.F) {
	a := newLog(f, "a")
	f.Add(a.add(0, 5).Bytes())
	f.Add(a.add(5, 9).Bytes())
	f.Add([]byte("old 5\n\n" + testOrigin + "\n5\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		fs := faultfs.New()
		w := open(t, fs, Config{Refusals: -1})
		lines, err := w.Add(body)
		if (err == nil) == (len(lines) == 0) {
			t.Errorf("%q, %v", lines, err)
		}
		if err != nil && report.CodeOf(err) == report.CodeInternal {
			t.Errorf("no code: %v", err)
		}
		if _, err := tryOpen(t, fs.Kill(), Config{}); err != nil {
			t.Errorf("it does not start again: %v", err)
		}
	})
}
