package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/trust"
)

func heir() *trust.Heir {
	return &trust.Heir{Log: "test.example/heir", Key: servertest.Public("test.example/heir"), Genesis: dagcbor.Sum([]byte{0xa0})}
}

// freezing is the freeze of a log as its registry stands.
func freezing(t testing.TB, l *servertest.Log, h *trust.Heir, signers ...string) *dsse.Envelope {
	t.Helper()
	z, err := l.Registry().Freeze(h)
	if err != nil {
		t.Fatal(err)
	}
	return signFreeze(t, z, signers...)
}

func signFreeze(t testing.TB, z *trust.Freeze, signers ...string) *dsse.Envelope {
	t.Helper()
	if signers == nil {
		signers = []string{servertest.Registrar}
	}
	env, err := dsse.SignMany(dsse.FreezeType, mustEncode(t, z), servertest.Keys(signers...)...)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func mustEncode(t testing.TB, s interface{ Encode() ([]byte, error) }) []byte {
	t.Helper()
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFreeze: the freeze is the last leaf; what stood before is answered as
// always; across a restart, with an index and without.
func TestFreeze(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		l := servertest.New(t)
		l.Stop()
		l.IndexDir = dir
		l.Start()
		early := signed(t, opening(servertest.Engine, "early"), servertest.Engine)
		wantOutcome(t, "before it", submit(t, l, early), "taken")
		stale := freezing(t, l, nil)
		l.Change(trust.Change{Add: []trust.Addition{adding("engine-3", trust.Engine)}})

		wantOutcome(t, "of an older registry", change(t, l, stale), "409 REGISTRY-PREV")
		wantOutcome(t, "by an engine", change(t, l, freezing(t, l, heir(), servertest.Engine)), "403 SIGNATURE-NO-KEY")
		wantOutcome(t, "of another log", change(t, l, signFreeze(t, &trust.Freeze{Log: "test.example/other", Registry: l.Registry().Head()})), "422 REGISTRY-LOG")
		weak := heir()
		weak.Key = trust.PublicKey{1}
		wantOutcome(t, "for a key of small order", change(t, l, signFreeze(t, &trust.Freeze{Log: servertest.Origin, Registry: l.Registry().Head(), Heir: weak})), "422 REGISTRY-KEY-WEAK")
		listed := heir()
		listed.Key = servertest.Public(servertest.Engine)
		wantOutcome(t, "for an engine's key", change(t, l, signFreeze(t, &trust.Freeze{Log: servertest.Origin, Registry: l.Registry().Head(), Heir: listed})), "422 REGISTRY-KEY-FOREIGN")
		freeze := freezing(t, l, heir())
		next := l.Statement(trust.Change{Add: []trust.Addition{adding("x", trust.Engine)}})
		wantOutcome(t, "as a receipt", submit(t, l, freeze), "422 REGISTRY-ELSEWHERE")
		wantOutcome(t, "the freeze", change(t, l, freeze), "taken")

		late := signed(t, opening("engine-3", "late"), "engine-3")
		holds := func(when string) {
			a := submit(t, l, late)
			wantOutcome(t, when+": a receipt", a, "410 LOG-FROZEN")
			if !strings.Contains(string(a.body), "test.example/heir") {
				t.Errorf("%s: the refusal does not name who goes on: %s", when, a.body)
			}
			wantOutcome(t, when+": a registry statement", change(t, l, next), "410 LOG-FROZEN")
			wantOutcome(t, when+": a second freeze", change(t, l, signFreeze(t, &trust.Freeze{Log: servertest.Origin, Registry: l.Registry().Head()})), "410 LOG-FROZEN")
			wantOutcome(t, when+": the freeze again", change(t, l, freeze), "repeat")
			wantOutcome(t, when+": what stood before", submit(t, l, early), "repeat")
			if z, ok := l.Registry().Frozen(); !ok || z.Leaf != 3 || z.Heir.Log != "test.example/heir" {
				t.Errorf("%s: frozen %+v %v", when, z, ok)
			}
			if size := l.Server.Head().Size; size != 4 {
				t.Errorf("%s: size %d, want 4", when, size)
			}
			if a := get(t, l, "/readyz"); a.status != 200 || !strings.HasPrefix(string(a.body), `{"status":"frozen","size":4,`) {
				t.Errorf("%s: /readyz: %d %s", when, a.status, a.body)
			}
			a = get(t, l, "/v1/leaves/1?registry=chain")
			if b := bundle.Check(a.body, bundle.Options{Policy: l.Policy, Engines: l.Engines}); b.ExitCode() != 0 {
				t.Errorf("%s: an honest past is not kept:\n%s", when, b.Text())
			}
		}
		holds("frozen")
		l.Stop()
		l.Start()
		holds("after a restart")
	}
}

// TestFreezeRace: what waits behind the freeze is refused, in its own group too.
func TestFreezeRace(t *testing.T) {
	fs := faultfs.New()
	l := servertest.On(t, fs)
	freeze := freezing(t, l, nil)
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	fs.SetHook(g.hook)
	var wg sync.WaitGroup
	wg.Go(func() { submit(t, l, signed(t, opening(servertest.Engine, "holds"), servertest.Engine)) })
	<-g.reached
	queued := func(n int) {
		for l.Server.Stats().QueueItems != n {
			time.Sleep(time.Millisecond)
		}
	}
	const each = 8
	var answers [2 * each]answer
	send := func(from int) {
		for i := range each {
			wg.Go(func() {
				run := receipt.Name(fmt.Sprintf("run-%d", from+i))
				answers[from+i] = submit(t, l, signed(t, opening(servertest.Engine, run), servertest.Engine))
			})
		}
	}
	send(0)
	queued(each)
	var frozen answer
	wg.Go(func() { frozen = change(t, l, freeze) })
	queued(each + 1)
	send(each)
	queued(2*each + 1)
	close(g.open)
	wg.Wait()
	fs.SetHook(nil)
	wantOutcome(t, "the freeze", frozen, "taken")
	if groups := l.Server.Stats().Groups; groups != 2 {
		t.Errorf("%d groups: the freeze did not share one with what it ends", groups)
	}
	for i, a := range answers {
		want := "taken"
		if i >= each {
			want = "410 LOG-FROZEN"
		}
		wantOutcome(t, fmt.Sprintf("submission %d", i), a, want)
	}
	if size := l.Server.Head().Size; size != each+3 {
		t.Errorf("size %d, want %d", size, each+3)
	}
}

// succeeding is the successor statement of l, of a tree that nobody has.
func succeeding(t testing.TB) *dsse.Envelope {
	t.Helper()
	const old = "test.example/old"
	root := merkle.Hash{7}
	signer, err := checkpoint.NewSigner(old, checkpoint.TypeEd25519, servertest.Key(old))
	if err != nil {
		t.Fatal(err)
	}
	note, err := signer.SignBody(checkpoint.Checkpoint{Origin: old, Size: 3, Root: root}.Body(), 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &trust.Successor{
		Log: servertest.Origin, Checkpoint: note,
		Predecessor: trust.Predecessor{Log: old, Size: 3, Root: root, Registry: dagcbor.Sum([]byte{0xa0})},
	}
	env, err := dsse.SignMany(dsse.SuccessorType, mustEncode(t, s), servertest.Key(servertest.Registrar))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// TestSucceed: a log takes the statement that names its predecessor at leaf 1,
// and nowhere else.
func TestSucceed(t *testing.T) {
	l := servertest.New(t)
	env := succeeding(t)
	wantOutcome(t, "at leaf 1", change(t, l, env), "taken")
	wantOutcome(t, "again", change(t, l, env), "repeat")
	wantOutcome(t, "a receipt behind it", submit(t, l, signed(t, opening(servertest.Engine, "x"), servertest.Engine)), "taken")
	l.Change(trust.Change{Add: []trust.Addition{adding("engine-3", trust.Engine)}})
	l.Stop()
	l.Start()
	if p, ok := l.Registry().Predecessor(); !ok || p.Log != "test.example/old" || p.Size != 3 {
		t.Errorf("predecessor %+v %v", p, ok)
	}
}
