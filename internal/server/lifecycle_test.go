package server_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// TestOwnAnswers: the verifier's own function verifies what the server
// answers, with the trust files that it was made with.
func TestOwnAnswers(t *testing.T) {
	l := servertest.New(t)
	for i, d := range everyKind() {
		signer := servertest.Engine
		if d.Statement.Receipt.Kind() == receipt.KindDecision {
			signer = servertest.Approver
		}
		a := do(t, "POST", l.URL+"/v1/receipts?registry=chain", map[string]string{"Content-Type": server.JSONType}, signed(t, d, signer).JSON())
		r := bundle.Check(a.body, bundle.Options{Policy: l.Policy, Engines: l.Engines})
		if r.ExitCode() != 0 {
			t.Errorf("answer %d is not verified:\n%s", i, r.Text())
		}
	}
}

// TestKeyEnded: a retired key signs nothing new, and what it signed is still
// found. The chain then has two statements.
func TestKeyEnded(t *testing.T) {
	fs := faultfs.New()
	old := signed(t, opening(servertest.Engine2, "old"), servertest.Engine2)
	l := servertest.Serve(t, fs, retireEngine2(t, fs, old))

	a := submit(t, l, old)
	if index, _ := proven(t, l, a.body); a.status != 200 || index != 1 {
		t.Errorf("a repeat by a retired key: %d at %d, want 200 at 1", a.status, index)
	}
	a = submit(t, l, signed(t, opening(servertest.Engine2, "new"), servertest.Engine2))
	if a.status != 403 || a.code() != "KEY-ENDED" {
		t.Errorf("a new statement by a retired key: %d %s, want 403 KEY-ENDED", a.status, a.code())
	}
	if size := l.Server.Head().Size; size != 3 {
		t.Errorf("size %d, want 3", size)
	}
	env := signed(t, opening(servertest.Engine, "new"), servertest.Engine)
	a = do(t, "POST", l.URL+"/v1/receipts?registry=chain", map[string]string{"Content-Type": server.JSONType}, env.JSON())
	b, err := bundle.Parse(a.body)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Registry) != 2 || b.Registry[1].Index != 2 {
		t.Errorf("registry chain %+v, want leaves 0 and 2", b.Registry)
	}
	if r := bundle.Check(a.body, bundle.Options{Policy: l.Policy, Engines: l.Engines}); r.ExitCode() != 0 {
		t.Errorf("not verified:\n%s", r.Text())
	}
}

// retireEngine2 makes a log whose leaves are the genesis, old, and a registry
// statement that retires Engine2.
func retireEngine2(t *testing.T, fs *faultfs.FS, old *dsse.Envelope) server.TrustFiles {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	signer, err := checkpoint.NewSigner(servertest.Origin, checkpoint.TypeEd25519, servertest.Key(servertest.Origin))
	must(err)
	public := func(name string) trust.PublicKey {
		return trust.PublicKey(servertest.Key(name).Public().(ed25519.PublicKey))
	}
	genesis, err := trust.NewGenesis(servertest.Origin, 1, []trust.Addition{
		{Key: public(servertest.Registrar), Name: servertest.Registrar, Role: trust.Registrar},
		{Key: public(servertest.Engine), Name: servertest.Engine, Role: trust.Engine},
		{Key: public(servertest.Engine2), Name: servertest.Engine2, Role: trust.Engine},
	}, []ed25519.PublicKey{signer.Key.Public})
	must(err)
	first, err := trust.SignStatement(genesis, servertest.Key(servertest.Registrar))
	must(err)
	registry, err := trust.Genesis(first, 0, trust.Pin{Origin: servertest.Origin, Genesis: dagcbor.Sum(first.Payload)})
	must(err)
	change, err := registry.Next(trust.Change{Retire: []trust.PublicKey{public(servertest.Engine2)}})
	must(err)
	second, err := trust.SignStatement(change, servertest.Key(servertest.Registrar))
	must(err)
	must(rlog.Create(rlog.Config{Origin: servertest.Origin, Signer: signer, FS: fs, Statement: func(leaf []byte) (dagcbor.CID, error) {
		env, err := dsse.ParseLeaf(leaf)
		if err != nil {
			return dagcbor.CID{}, err
		}
		return dagcbor.Sum(env.Payload), nil
	}}, leafOf(t, first), leafOf(t, old), leafOf(t, second)))
	engines := trust.Engines{Origin: servertest.Origin, Genesis: dagcbor.Sum(first.Payload)}
	return server.TrustFiles{Policy: []byte("log " + signer.Key.String() + "\nquorum none\n"), Engines: engines.Bytes()}
}

// TestOpenRefuses: a server does not start where its own trust files would
// refute what it answers.
func TestOpenRefuses(t *testing.T) {
	l := servertest.New(t)
	l.Stop()
	signer := func(origin, key string) *checkpoint.Signer {
		s, err := checkpoint.NewSigner(origin, checkpoint.TypeEd25519, servertest.Key(key))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	policy := func(s *checkpoint.Signer) *trust.Policy {
		p, err := trust.ParsePolicy([]byte("log " + s.Key.String() + "\nquorum none\n"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	own := signer(servertest.Origin, servertest.Origin)
	plain, err := trust.ParseEngines(fmt.Appendf(nil, "obstat trust v1\norigin %s\nkey engine engine iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=\n", servertest.Origin))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		cfg  server.Config
		code report.Code
	}{
		"plain keys":          {server.Config{Signer: own, Policy: l.Policy, Engines: plain}, "TRUST-MODE"},
		"another genesis":     {server.Config{Signer: own, Policy: l.Policy, Engines: &trust.Engines{Origin: servertest.Origin, Genesis: dagcbor.Sum(nil)}}, "REGISTRY-PIN"},
		"another log's key":   {server.Config{Signer: signer(servertest.Origin, "x"), Policy: l.Policy, Engines: l.Engines}, "LOG-FOREIGN"},
		"another policy":      {server.Config{Signer: own, Policy: policy(signer(servertest.Origin, "x")), Engines: l.Engines}, "CHECKPOINT-UNSIGNED"},
		"a policy of another": {server.Config{Signer: own, Policy: policy(signer("other.example/log", "x")), Engines: l.Engines}, "CHECKPOINT-UNSIGNED"},
	} {
		test.cfg.FS = l.FS
		s, err := server.Open(test.cfg)
		if err == nil {
			t.Errorf("%s: it starts", name)
			s.Close()
			continue
		}
		if report.CodeOf(err) != test.code {
			t.Errorf("%s: %v, want %s", name, err, test.code)
		}
	}
	l.Start() // no refusal above kept the lock
}

// gate holds back the syncs of a file system.
type gate struct {
	mu      sync.Mutex
	reached chan struct{} // closed at the first sync that is held back
	open    chan struct{} // closed to let all go on
}

func (g *gate) hook(op faultfs.Op) *faultfs.Fault {
	if op.Kind != faultfs.SyncData {
		return nil
	}
	g.mu.Lock()
	select {
	case <-g.reached:
	default:
		close(g.reached)
	}
	g.mu.Unlock()
	<-g.open
	return nil
}

// TestShutdown: a server that is told to end answers what it has accepted.
func TestShutdown(t *testing.T) {
	fs := faultfs.New()
	l := servertest.On(t, fs)
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	fs.SetHook(g.hook)
	env := signed(t, opening(servertest.Engine, "last"), servertest.Engine)
	answered := make(chan answer, 1)
	go func() { answered <- submit(t, l, env) }()
	<-g.reached

	stopped := make(chan struct{})
	go func() { l.Stop(); close(stopped) }()
	// The listener closes while the answer is due.
	for refused := false; !refused; {
		conn, err := net.Dial("tcp", strings.TrimPrefix(l.URL, "http://"))
		if refused = errors.Is(err, syscall.ECONNREFUSED); err == nil {
			conn.Close()
		}
	}
	select {
	case <-stopped:
		t.Fatal("the server ended and owes an answer")
	default:
	}
	close(g.open)
	<-stopped
	a := <-answered
	if index, _ := proven(t, l, a.body); a.status != 201 || index != 1 {
		t.Errorf("%d at %d, want 201 at 1", a.status, index)
	}
	fs.SetHook(nil)
	l.Start()
	if size := l.Server.Head().Size; size != 2 {
		t.Errorf("size %d, want 2", size)
	}
}

// TestClosed: a server whose log is closed says so.
func TestClosed(t *testing.T) {
	l := servertest.New(t)
	if err := l.Server.Close(); err != nil {
		t.Fatal(err)
	}
	a := submit(t, l, signed(t, opening(servertest.Engine, "late"), servertest.Engine))
	if a.status != 503 || a.code() != "LOG-CLOSED" {
		t.Errorf("%d %s, want 503 LOG-CLOSED", a.status, a.code())
	}
}

// TestFailStop: after a failed sync nothing new is taken, what was answered is
// still read and found, and the reason is not told to strangers.
func TestFailStop(t *testing.T) {
	fs := faultfs.New()
	l := servertest.On(t, fs)
	stored := signed(t, opening(servertest.Engine, "before"), servertest.Engine)
	if a := submit(t, l, stored); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	before := get(t, l, "/checkpoint").body
	fs.SetHook(func(op faultfs.Op) *faultfs.Fault {
		if op.Kind == faultfs.SyncData {
			return &faultfs.Fault{Err: syscall.EIO}
		}
		return nil
	})
	for _, run := range []receipt.Name{"during", "after"} {
		a := submit(t, l, signed(t, opening(servertest.Engine, run), servertest.Engine))
		if a.status != 503 || a.code() != "LOG-STOPPED" {
			t.Fatalf("%d %s, want 503 LOG-STOPPED", a.status, a.code())
		}
		golden(t, "stopped.txt", []byte(show(a)))
	}
	if a := get(t, l, "/readyz"); a.status != 503 || a.code() != "LOG-STOPPED" {
		t.Errorf("/readyz: %d %s", a.status, a.body)
	}
	if a := get(t, l, "/healthz"); a.status != 200 {
		t.Errorf("/healthz: %d %s", a.status, a.body)
	}
	if a := get(t, l, "/checkpoint"); a.status != 200 || string(a.body) != string(before) {
		t.Errorf("/checkpoint: %d\n%s", a.status, a.body)
	}
	if a := submit(t, l, stored); a.status != 200 || a.header.Get(server.RepeatHeader) != "true" {
		t.Errorf("a repeat: %d %s", a.status, a.body)
	}
	fs.SetHook(nil)
	l.StopFailed("LOG-STOPPED")
}

// TestBusy: over the bound of bytes that are held, a submission is told to come
// again; when room is made it is taken.
func TestBusy(t *testing.T) {
	fs := faultfs.New()
	l := servertest.On(t, fs)
	l.Stop()
	first := signed(t, opening(servertest.Engine, "first"), servertest.Engine)
	second := signed(t, opening(servertest.Engine, "other"), servertest.Engine)
	l.Start(func(s *server.Server) { s.Narrow(int64(len(first.JSON()) * 3 / 2)) })
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	fs.SetHook(g.hook)
	answered := make(chan answer, 1)
	go func() { answered <- submit(t, l, first) }()
	<-g.reached
	a := submit(t, l, second)
	if a.status != 503 || a.code() != "BUSY" || a.header.Get("Retry-After") != "1" {
		t.Errorf("%d %s, Retry-After %q, want 503 BUSY, 1", a.status, a.code(), a.header.Get("Retry-After"))
	}
	close(g.open)
	if a := <-answered; a.status != 201 {
		t.Errorf("the first: %d %s", a.status, a.body)
	}
	if a := submit(t, l, second); a.status != 201 {
		t.Errorf("the second, later: %d %s", a.status, a.body)
	}
}

// TestGone: a caller that leaves before its answer costs nothing, and finds its
// statement when it asks again.
func TestGone(t *testing.T) {
	fs := faultfs.New()
	l := servertest.On(t, fs)
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	fs.SetHook(g.hook)
	env := signed(t, opening(servertest.Engine, "gone"), servertest.Engine)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", l.URL+"/v1/receipts", strings.NewReader(string(env.JSON())))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", server.JSONType)
	left := make(chan error, 1)
	go func() {
		resp, err := browser.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		left <- err
	}()
	<-g.reached
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Fatalf("left with %v", err)
	}
	close(g.open)
	a := submit(t, l, env)
	if index, _ := proven(t, l, a.body); index != 1 {
		t.Errorf("index %d, want 1", index)
	}
}
