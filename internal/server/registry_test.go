package server_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

func adding(name string, role trust.Role) trust.Addition {
	return trust.Addition{Key: servertest.Public(name), Name: name, Role: role}
}

// change posts a registry statement as DSSE JSON.
func change(t testing.TB, l *servertest.Log, env *dsse.Envelope) answer {
	t.Helper()
	return do(t, "POST", l.URL+"/v1/registry", map[string]string{"Content-Type": server.DSSEType}, env.JSON())
}

// outcome is how a submission ended.
func outcome(a answer) string {
	switch {
	case a.status == 201:
		return "taken"
	case a.status == 200 && a.header.Get(server.RepeatHeader) == "true":
		return "repeat"
	}
	return fmt.Sprintf("%d %s", a.status, a.code())
}

func wantOutcome(t testing.TB, what string, a answer, want string) {
	t.Helper()
	if got := outcome(a); got != want {
		t.Errorf("%s: %s, want %s\n%s", what, got, want, a.body)
	}
}

// TestRegistryChange: a key signs behind the leaf that lists it, and not before;
// behind the leaf that retires it nothing new; across a restart, with an index
// and without.
func TestRegistryChange(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		l := servertest.New(t)
		l.Stop()
		l.IndexDir = dir
		l.Start()
		early := signed(t, opening("engine-3", "early"), "engine-3")
		wantOutcome(t, "before it is listed", submit(t, l, early), "403 KEY-UNKNOWN")
		r, leaf := l.Change(trust.Change{Add: []trust.Addition{adding("engine-3", trust.Engine)}})
		if r.Version() != 1 || leaf != 1 {
			t.Fatalf("version %d at leaf %d", r.Version(), leaf)
		}
		wantOutcome(t, "after it", submit(t, l, early), "taken")
		l.Stop()
		l.Start()
		wantOutcome(t, "after a restart", submit(t, l, signed(t, opening("engine-3", "restarted"), "engine-3")), "taken")
		l.Change(trust.Change{Retire: []trust.PublicKey{servertest.Public("engine-3")}})
		late := signed(t, opening("engine-3", "late"), "engine-3")
		wantOutcome(t, "retired", submit(t, l, late), "403 KEY-ENDED")
		wantOutcome(t, "what it signed before", submit(t, l, early), "repeat")
		for leaf, version := range map[string]string{"/v1/leaves/2": "2", "/v1/leaves/3?registry=chain": "2"} {
			if got := get(t, l, leaf).header.Get(server.RegistryHeader); got != version {
				t.Errorf("%s: registry version %q, want %s", leaf, got, version)
			}
		}
		a := do(t, "POST", l.URL+"/v1/receipts?registry=chain", map[string]string{"Content-Type": server.JSONType}, early.JSON())
		if b := bundle.Check(a.body, bundle.Options{Policy: l.Policy, Engines: l.Engines}); b.ExitCode() != 0 {
			t.Errorf("an honest past is not kept:\n%s", b.Text())
		}
		l.Stop()
		l.Start()
		wantOutcome(t, "retired, after a restart", submit(t, l, late), "403 KEY-ENDED")
		if r := l.Registry(); r.Version() != 2 || !slices.Equal(r.Leaves(), []uint64{0, 1, 4}) {
			t.Errorf("version %d, leaves %v", r.Version(), r.Leaves())
		}
	}
}

// TestRegistryForms: a statement may come as leaf or as DSSE JSON, and is
// answered with the chain that ends in it; a second time it is a repeat,
// whatever was logged meanwhile.
func TestRegistryForms(t *testing.T) {
	l := servertest.New(t)
	first := l.Statement(trust.Change{Add: []trust.Addition{adding("a", trust.Engine)}})
	a := do(t, "POST", l.URL+"/v1/registry", map[string]string{"Content-Type": server.LeafType}, leafOf(t, first))
	golden(t, "registered.txt", []byte(show(a)))
	l.Change(trust.Change{Add: []trust.Addition{adding("b", trust.Engine)}})
	for _, again := range []answer{
		change(t, l, first),
		do(t, "POST", l.URL+"/v1/registry", map[string]string{"Content-Type": server.LeafType}, leafOf(t, first)),
	} {
		wantOutcome(t, "again", again, "repeat")
		c, err := bundle.ParseChain(again.body)
		if err != nil || len(c.Leaves) != 3 {
			t.Errorf("the answer has no chain of 3: %v\n%s", err, again.body)
		}
	}
	if size := l.Server.Head().Size; size != 3 {
		t.Errorf("size %d, want 3", size)
	}
}

// TestThreshold: the old threshold signs and the new one, up and down.
func TestThreshold(t *testing.T) {
	l := servertest.New(t)
	two := trust.Change{Threshold: 2, Add: []trust.Addition{adding("r2", trust.Registrar), adding("r3", trust.Registrar)}}
	wantOutcome(t, "raised by the old threshold alone", change(t, l, l.Statement(two)), "403 REGISTRY-QUORUM")
	wantOutcome(t, "raised by the new one alone", change(t, l, l.Statement(two, "r2", "r3")), "403 REGISTRY-QUORUM")
	wantOutcome(t, "raised", change(t, l, l.Statement(two, servertest.Registrar, "r2")), "taken")
	more := trust.Change{Add: []trust.Addition{adding("x", trust.Engine)}}
	wantOutcome(t, "one of two", change(t, l, l.Statement(more, "r3")), "403 REGISTRY-QUORUM")
	wantOutcome(t, "two of three", change(t, l, l.Statement(more, "r3", "r2")), "taken")
	wantOutcome(t, "lowered by the new one alone", change(t, l, l.Statement(trust.Change{Threshold: 1}, "r2")), "403 REGISTRY-QUORUM")
	lost := trust.Change{Threshold: 1, Revoke: []trust.Revocation{{Key: servertest.Public(servertest.Registrar)}}}
	wantOutcome(t, "lowered, and a registrar's key revoked", change(t, l, l.Statement(lost, "r2", "r3")), "taken")
	by := l.Statement(trust.Change{Add: []trust.Addition{adding("y", trust.Engine)}})
	wantOutcome(t, "by the revoked registrar", change(t, l, by), "403 REGISTRY-QUORUM")
	a := do(t, "POST", l.URL+"/v1/registry", map[string]string{"Content-Type": server.LeafType}, leafOf(t, by))
	wantOutcome(t, "by the revoked registrar, as a leaf", a, "403 REGISTRY-SIGNER")
	wantOutcome(t, "by one of those left", change(t, l, l.Statement(trust.Change{Add: []trust.Addition{adding("y", trust.Engine)}}, "r3")), "taken")
}

// changed is a log in which two keys ended.
func changed(t testing.TB) *servertest.Log {
	l := servertest.New(t)
	l.Change(trust.Change{Add: []trust.Addition{adding("old", trust.Engine), adding("gone", trust.Engine)}})
	l.Change(trust.Change{Revoke: []trust.Revocation{{Key: servertest.Public("old"), From: 1, HasFrom: true}}, Retire: []trust.PublicKey{servertest.Public("gone")}})
	return l
}

// TestRegistryRefusals: what is void is refused with its code and leaves no
// trace.
func TestRegistryRefusals(t *testing.T) {
	l := changed(t)
	before := get(t, l, "/checkpoint").body
	seen := map[report.Code]bool{}
	for _, r := range registryRefusals(t, l) {
		path, header := r.path, r.header
		if path == "" {
			path = "/v1/registry"
		}
		a := do(t, "POST", l.URL+path, header, r.body)
		if a.status != r.status || report.Code(a.code()) != r.code {
			t.Errorf("%s: %d %s, want %d %s\n%s", r.name, a.status, a.code(), r.status, r.code, a.body)
		}
		seen[r.code] = true
	}
	for code := range server.Statuses {
		if strings.HasPrefix(string(code), "REGISTRY-") && code != report.CodeRegistryElsewhere && code != report.CodeRegistryLimit && !seen[code] {
			t.Errorf("no case is refused with %s", code)
		}
	}
	if after := get(t, l, "/checkpoint").body; !bytes.Equal(before, after) {
		t.Errorf("the log changed from\n%s to\n%s", before, after)
	}
}

func registryRefusals(t *testing.T, l *servertest.Log) []refusal {
	key := servertest.Public
	registry := l.Registry()
	// edited is the next statement with a field that Next would not make.
	edited := func(c trust.Change, edit func(*trust.Statement), signers ...string) *dsse.Envelope {
		s, err := registry.Next(c)
		if err != nil {
			t.Fatal(err)
		}
		edit(s)
		env, err := trust.SignStatement(s, servertest.Keys(signers...)...)
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	one := trust.Change{Add: []trust.Addition{adding("x", trust.Engine)}}
	void := func(name string, status int, code report.Code, edit func(*trust.Statement), signers ...string) refusal {
		if signers == nil {
			signers = []string{servertest.Registrar}
		}
		return asJSON(name, edited(one, edit, signers...).JSON(), status, code)
	}
	nothing := func(*trust.Statement) {}
	genesis := l.Registry().Statements()[0]
	foreign, err := trust.NewGenesis("test.example/other", 1, []trust.Addition{adding(servertest.Registrar, trust.Registrar)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := trust.SignStatement(foreign, servertest.Key(servertest.Registrar))
	if err != nil {
		t.Fatal(err)
	}
	forked := edited(one, nothing, servertest.Registrar)
	forged := edited(one, nothing, servertest.Registrar)
	forged.Sigs[0].Sig[9] ^= 1
	small := trust.PublicKey{1}
	notCanonical := trust.PublicKey(bytes.Repeat([]byte{0xff}, 32))
	return []refusal{
		asJSON("a receipt", signed(t, opening(servertest.Engine, "x"), servertest.Engine).JSON(), 422, "RECEIPT-ELSEWHERE"),
		asLeaf("a receipt, as a leaf", leafOf(t, signed(t, opening(servertest.Engine, "x"), servertest.Engine)), 422, "RECEIPT-ELSEWHERE"),
		asJSON("another type", sign(t, "application/vnd.obstat.registry.v2+cbor", forked.Payload, servertest.Registrar).JSON(), 422, "PAYLOAD-TYPE"),
		asJSON("no statement", sign(t, dsse.RegistryType, []byte("\xa0"), servertest.Registrar).JSON(), 422, "REGISTRY-SCHEMA"),
		asJSON("not canonical", sign(t, dsse.RegistryType, []byte("\xbf\xff"), servertest.Registrar).JSON(), 400, "CBOR-INDEFINITE"),
		{name: "type of the body", header: map[string]string{"Content-Type": "text/plain"}, body: forked.JSON(), status: 415, code: "HTTP-TYPE"},
		{name: "query", path: "/v1/registry?x=1", header: map[string]string{"Content-Type": server.DSSEType}, body: forked.JSON(), status: 400, code: "HTTP-QUERY"},

		void("fork: behind the genesis a second time", 409, "REGISTRY-PREV", func(s *trust.Statement) { s.Prev, s.Version = genesis, 1 }),
		void("a predecessor that nobody knows", 409, "REGISTRY-PREV", func(s *trust.Statement) { s.Prev = dagcbor.Sum([]byte{0xa0}) }),
		asJSON("genesis of another log replayed", other.JSON(), 422, "REGISTRY-LOG"),
		void("another log", 422, "REGISTRY-LOG", func(s *trust.Statement) { s.Log = "test.example/other" }),
		void("a version skipped", 422, "REGISTRY-VERSION", func(s *trust.Statement) { s.Version++ }),
		void("another state", 422, "REGISTRY-STATE", func(s *trust.Statement) { s.State[0] ^= 1 }),
		void("a threshold that nobody can meet", 422, "REGISTRY-THRESHOLD", func(s *trust.Statement) { s.Threshold = 2 }),
		void("a key a second time, under a second name", 422, "REGISTRY-KEY-REUSED", func(s *trust.Statement) {
			s.Add = []trust.Addition{{Key: key(servertest.Engine), Name: "somebody", Role: trust.Engine}}
		}),
		void("a retired key again", 422, "REGISTRY-KEY-REUSED", func(s *trust.Statement) { s.Add = []trust.Addition{adding("gone", trust.Engine)} }),
		void("engine and approver in one principal", 422, "REGISTRY-ROLE", func(s *trust.Statement) {
			s.Add = []trust.Addition{{Key: key("x"), Name: servertest.Approver, Role: trust.Engine}}
		}),
		void("a key of small order", 422, "REGISTRY-KEY-WEAK", func(s *trust.Statement) {
			s.Add = []trust.Addition{{Key: small, Name: "weak", Role: trust.Engine}}
		}),
		void("a key that is not canonical", 422, "REGISTRY-KEY-WEAK", func(s *trust.Statement) {
			s.Add = []trust.Addition{{Key: notCanonical, Name: "weak", Role: trust.Engine}}
		}),
		void("the log's own key", 422, "REGISTRY-KEY-FOREIGN", func(s *trust.Statement) { s.Add = []trust.Addition{adding(servertest.Origin, trust.Engine)} }),
		void("a key retired twice", 422, "REGISTRY-STATUS", func(s *trust.Statement) { s.Retire = []trust.PublicKey{key("gone")} }),
		void("a revocation raised", 422, "REGISTRY-STATUS", func(s *trust.Statement) {
			s.Revoke = []trust.Revocation{{Key: key("old"), From: 2, HasFrom: true}}
		}),
		void("a registrar revoked retroactively", 422, "REGISTRY-STATUS", func(s *trust.Statement) {
			s.Revoke = []trust.Revocation{{Key: key(servertest.Registrar), From: 1, HasFrom: true}}
		}),
		void("by an engine", 403, "REGISTRY-QUORUM", nothing, servertest.Engine),
		void("by a registrar and an engine", 403, "SIGNATURE-NO-KEY", nothing, servertest.Registrar, servertest.Engine),
		asLeaf("by an engine, as a leaf", leafOf(t, edited(one, nothing, servertest.Engine)), 403, "REGISTRY-SIGNER"),
		asLeaf("a broken signature", leafOf(t, forged), 403, "SIGNATURE-INVALID"),
		asJSON("a broken signature, as JSON", forged.JSON(), 403, "REGISTRY-QUORUM"),
		asJSON("a predecessor named behind leaf 1", succeeding(t).JSON(), 409, "REGISTRY-PLACE"),
	}
}

// TestRegistryLimit: what would list more keys than a registry ever lists is
// refused, and the log goes on.
func TestRegistryLimit(t *testing.T) {
	l := servertest.New(t)
	named := 0
	keys := func(n int) (add []trust.Addition) {
		for range n {
			named++
			add = append(add, adding(fmt.Sprintf("e%d", named), trust.Engine))
		}
		return add
	}
	const page = 680 // short names
	for have := len(l.Registry().Keys()); have < trust.MaxKeys-page; have += page {
		l.Change(trust.Change{Add: keys(page)})
	}
	room := trust.MaxKeys - len(l.Registry().Keys())
	s, err := l.Registry().Next(trust.Change{Add: keys(room)})
	if err != nil {
		t.Fatal(err)
	}
	over := *s
	over.Add = append(slices.Clone(s.Add), keys(1)...)
	slices.SortFunc(over.Add, func(a, b trust.Addition) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	env, err := trust.SignStatement(&over, servertest.Key(servertest.Registrar))
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, "one key too many", change(t, l, env), "413 REGISTRY-LIMIT")
	if env, err = trust.SignStatement(s, servertest.Key(servertest.Registrar)); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, "up to the limit", change(t, l, env), "taken")
	last := signed(t, opening(fmt.Sprintf("e%d", named-1), "run"), fmt.Sprintf("e%d", named-1))
	wantOutcome(t, "the last key", submit(t, l, last), "taken")
}

// TestRevocationRace: what waits behind a revocation is asked about again, in
// the group of the revocation too, so that no leaf of the key stands behind it,
// whoever came first; and what stood before is kept and counted.
func TestRevocationRace(t *testing.T) {
	fs := faultfs.New()
	l := servertest.On(t, fs)
	revoke := l.Statement(trust.Change{Revoke: []trust.Revocation{{Key: servertest.Public(servertest.Engine2)}}})
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	fs.SetHook(g.hook)
	var wg sync.WaitGroup
	// The first submission holds the disk; all others gather behind it.
	wg.Go(func() { submit(t, l, signed(t, opening(servertest.Engine, "holds"), servertest.Engine)) })
	<-g.reached
	queued := func(n int) {
		for l.Server.Stats().QueueItems != n {
			time.Sleep(time.Millisecond)
		}
	}
	const each = 24
	var answers [2 * each]answer
	send := func(i int, key string) {
		wg.Go(func() {
			answers[i] = submit(t, l, signed(t, opening(key, receipt.Name(fmt.Sprintf("run-%d", i))), key))
		})
	}
	for i := range each {
		send(i, servertest.Engine2)
	}
	queued(each)
	var revoked answer
	wg.Go(func() { revoked = change(t, l, revoke) })
	queued(each + 1)
	for i := range each {
		key := servertest.Engine2
		if i%3 == 0 {
			key = servertest.Engine
		}
		send(each+i, key)
	}
	queued(2*each + 1)
	close(g.open)
	wg.Wait()
	fs.SetHook(nil)
	wantOutcome(t, "the revocation", revoked, "taken")
	r := l.Registry()
	at := r.Leaves()[1]
	if want := uint64(2 + each); at != want {
		t.Errorf("the revocation stands at leaf %d, want %d", at, want)
	}
	if groups := l.Server.Stats().Groups; groups != 2 {
		t.Errorf("%d groups: the revocation did not share one with what it ends", groups)
	}
	for i, a := range answers {
		want := "taken"
		if i >= each && i%3 != 0 {
			want = "403 KEY-ENDED"
		}
		wantOutcome(t, fmt.Sprintf("submission %d", i), a, want)
		if a.status != 201 {
			continue
		}
		if index, _ := proven(t, l, a.body); (index < at) != (i < each) {
			t.Errorf("submission %d stands at leaf %d, the revocation at %d", i, index, at)
		}
	}
	if from, ok := r.DisownedFrom(dsse.KeyID(keyID(servertest.Engine2))); !ok || from != at {
		t.Errorf("disowned from %d %v, want %d", from, ok, at)
	}
}

// TestRegistryNeedsNoRoomOfReceipts: a log that is full of receipts still takes
// the revocation of the key that floods it.
func TestRegistryNeedsNoRoomOfReceipts(t *testing.T) {
	l := servertest.New(t)
	l.Stop()
	l.Start(func(s *server.Server) { s.Narrow(0) })
	env := signed(t, opening(servertest.Engine2, "flood"), servertest.Engine2)
	wantOutcome(t, "a receipt", submit(t, l, env), "503 BUSY")
	l.Change(trust.Change{Revoke: []trust.Revocation{{Key: servertest.Public(servertest.Engine2)}}})
}

// TestRegistryNotDurable: nothing follows from a statement before it is on disk,
// and nothing at all if it never comes there.
func TestRegistryNotDurable(t *testing.T) {
	fs := faultfs.New()
	l := servertest.On(t, fs)
	first := l.Statement(trust.Change{Add: []trust.Addition{adding("engine-3", trust.Engine)}})
	r, err := l.Registry().Apply(first, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Next(trust.Change{Add: []trust.Addition{adding("engine-4", trust.Engine)}})
	if err != nil {
		t.Fatal(err)
	}
	second, err := trust.SignStatement(s, servertest.Key(servertest.Registrar))
	if err != nil {
		t.Fatal(err)
	}
	reached, end := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fs.SetHook(func(op faultfs.Op) *faultfs.Fault {
		if op.Kind != faultfs.SyncData {
			return nil
		}
		once.Do(func() { close(reached) })
		<-end
		return &faultfs.Fault{Err: syscall.EIO}
	})
	answered := make(chan answer, 1)
	go func() { answered <- change(t, l, first) }()
	<-reached
	early := signed(t, opening("engine-3", "early"), "engine-3")
	holds := func(when string) {
		wantOutcome(t, when+": the key it adds", submit(t, l, early), "403 KEY-UNKNOWN")
		wantOutcome(t, when+": what follows it", change(t, l, second), "409 REGISTRY-PREV")
		if r := l.Registry(); r.Version() != 0 {
			t.Errorf("%s: version %d", when, r.Version())
		}
	}
	holds("before it is durable")
	close(end)
	wantOutcome(t, "the statement", <-answered, "503 LOG-STOPPED")
	holds("after the disk failed")
	fs.SetHook(nil)
	l.StopFailed("LOG-STOPPED")
}
