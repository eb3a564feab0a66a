package audit_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

const (
	nc = report.NotChecked
	ok = report.Verified
	no = report.Refuted
)

type want struct {
	name   string
	answer report.Answer
	code   report.Code
}

func hold(t *testing.T, r *report.Report, exit int, wants ...want) {
	t.Helper()
	if r.ExitCode() != exit {
		t.Errorf("exit %d, want %d", r.ExitCode(), exit)
	}
	for _, w := range wants {
		if c, found := r.Find(w.name); !found || c.Answer != w.answer || c.Code != w.code {
			t.Errorf("%s: %s %s, want %s %s", w.name, c.Answer, c.Code, w.answer, w.code)
		}
	}
	if t.Failed() {
		t.Logf("\n%s", r.Text())
		t.FailNow()
	}
}

func run(t *testing.T, site fs.FS, o audit.Options) *report.Report {
	t.Helper()
	r, err := audit.Log(site, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func options(l *testlog.Log) audit.Options {
	return audit.Options{Policy: l.Policy("2", "w1", "w2"), Engines: l.Engines()}
}

// grow appends judgments until the log has size leaves.
func grow(l *testlog.Log, size uint64) {
	r := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "grown")
	l.Append(l.Sign(r.Add(receipttest.Open(testlog.Origin)), "engine"))
	for l.Size() < size {
		l.Append(l.Sign(r.Add(receipttest.Judgment(fmt.Sprint(l.Size()), receipttest.Admit("rule-1"))), "engine"))
	}
}

// parallel runs pieces at the same time, whatever the number of processors.
func parallel(n int, fn func(int)) error {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
	return nil
}

func TestWholeLog(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	r := run(t, l.Site(l.Size(), "w1", "w2"), options(l))
	hold(t, r, 0)
	for _, name := range audit.Required() {
		hold(t, r, 0, want{name, ok, report.CodeOK})
	}
	if len(r.Checks) != len(audit.Required())+len(audit.LawChecks()) {
		t.Errorf("%d checks", len(r.Checks))
	}
	// The examples hold a gap, and an undo that compared nothing.
	hold(t, r, 0, want{"law-1-judged-first", ok, report.CodeOK}, want{"law-2-admitted-first", ok, report.CodeOK},
		want{"law-5-nothing-missing", nc, report.CodeLaw5Gap}, want{"law-7-undone-soundly", nc, report.CodeLaw7Unobservable})
	for _, words := range []string{fmt.Sprintf("It says: a log of %d leaves; laws not checked: 5 7\n", l.Size()), "judgment deny 1", "outcome committed", "registry 1", "run-close 1"} {
		if !strings.Contains(r.Text(), words) {
			t.Errorf("no %q in\n%s", words, r.Text())
		}
	}
}

// Sizes around the widths of tiles on both levels, one after another and at
// the same time.
func TestSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a log of many leaves")
	}
	l := testlog.New(t)
	grow(l, 520)
	o := options(l)
	for _, size := range []uint64{1, 2, 255, 256, 257, 511, 512, 513, 520} {
		site := l.Site(size, "w1", "w2")
		o.Run = nil
		one := run(t, site, o)
		hold(t, one, 0)
		o.Run = parallel
		if two := run(t, site, o); two.Text() != one.Text() {
			t.Errorf("size %d: in parallel\n%s", size, two.Text())
		}
	}
	// A log that has gone on keeps full tiles only.
	site := l.Site(512, "w1", "w2")
	site["checkpoint"] = &fstest.MapFile{Data: l.Checkpoint(300, "w1", "w2")}
	delete(site, "tile/1/000.p/2")
	site["tile/1/000.p/1"] = &fstest.MapFile{Data: l.Site(300)["tile/1/000.p/1"].Data}
	hold(t, run(t, site, o), 0)
}

func TestEmptyLog(t *testing.T) {
	l := testlog.New(t)
	site := fstest.MapFS{"checkpoint": {Data: l.SignHead(checkpoint.Checkpoint{Origin: testlog.Origin, Root: merkle.EmptyRoot}, "w1", "w2")}}
	hold(t, run(t, site, options(l)), 3, want{"root", ok, report.CodeOK}, want{"registry", nc, report.CodeLogEmpty})
}

func TestNoCheckpoint(t *testing.T) {
	l := testlog.New(t)
	hold(t, run(t, fstest.MapFS{}, options(l)), 3, want{"checkpoint", nc, report.CodeTileMissing}, want{"root", nc, report.CodeNotReached})
	hold(t, run(t, fstest.MapFS{"checkpoint": {}}, options(l)), 3, want{"checkpoint", nc, report.CodeInputEmpty})
	hold(t, run(t, fstest.MapFS{"checkpoint": {Data: []byte("x")}}, options(l)), 1, want{"checkpoint", no, report.CodeNoteMalformed})
}

func TestTrustNotGiven(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	site := l.Site(l.Size(), "w1", "w2")
	hold(t, run(t, site, audit.Options{}), 3,
		want{"checkpoint", nc, report.CodePolicyNotGiven}, want{"policy", nc, report.CodePolicyNotGiven},
		want{"entries", ok, report.CodeOK}, want{"tiles", ok, report.CodeOK}, want{"root", ok, report.CodeOK}, want{"form", ok, report.CodeOK},
		want{"schema", ok, report.CodeOK}, want{"once", ok, report.CodeOK},
		want{"signatures", nc, report.CodeTrustNotGiven}, want{"keys", nc, report.CodeTrustNotGiven}, want{"registry", nc, report.CodeTrustNotGiven})

	o := options(l)
	o.Engines = &trust.Engines{Origin: "example.com/other", Genesis: l.Genesis}
	hold(t, run(t, site, o), 3, want{"signatures", nc, report.CodeLogOther}, want{"registry", nc, report.CodeLogOther})
	o = options(l)
	hold(t, run(t, l.Site(l.Size(), "w1"), o), 3, want{"checkpoint", ok, report.CodeOK}, want{"policy", nc, report.CodeQuorumUnmet})
	p, err := trust.ParsePolicy([]byte("quorum none\n"))
	if err != nil {
		t.Fatal(err)
	}
	o.Policy = p
	hold(t, run(t, site, o), 3, want{"checkpoint", nc, report.CodeLogUnknown})
}

func TestPlainKeys(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	o := options(l)
	o.Engines = l.PlainEngines()
	site := l.Site(l.Size(), "w1", "w2")
	hold(t, run(t, site, o), 0, want{"registry", nc, report.CodeTrustNotGiven}, want{"signatures", ok, report.CodeOK})
	o.Require = []string{"registry"}
	hold(t, run(t, site, o), 3)
	o.Require = nil
	o.Engines.Keys[0].From = 3
	hold(t, run(t, site, o), 3, want{"keys", nc, report.CodeKeyOutOfRange}, want{"signatures", ok, report.CodeOK})
	o.Engines.Keys = o.Engines.Keys[1:]
	hold(t, run(t, site, o), 3, want{"keys", nc, report.CodeKeyUnknown}, want{"signatures", nc, report.CodeNotReached})
}

// Every file of a site: with one bit flipped it is refuted, and by the check
// that looks at it; without it the log is not checked.
func TestEveryFile(t *testing.T) {
	l := testlog.New(t)
	grow(l, 300)
	o := options(l)
	good := l.Site(l.Size(), "w1", "w2")
	for path, file := range good {
		for _, at := range []int{0, 1, len(file.Data) / 2, len(file.Data) - 1} {
			site := fstest.MapFS{}
			for p, f := range good {
				site[p] = f
			}
			data := append([]byte(nil), file.Data...)
			data[at] ^= 1
			site[path] = &fstest.MapFile{Data: data}
			r := run(t, site, o)
			check := map[bool]string{true: "tiles", false: "entries"}[strings.HasPrefix(path, "tile/1/")]
			if path == "checkpoint" {
				check = "checkpoint"
			}
			if c, _ := r.Find(check); r.ExitCode() == 0 || c.Answer == ok || path != "checkpoint" && r.ExitCode() != 1 {
				t.Errorf("%s, byte %d: exit %d, %s %s\n%s", path, at, r.ExitCode(), check, c.Answer, r.Text())
			}
		}
		site := fstest.MapFS{}
		for p, f := range good {
			if p != path {
				site[p] = f
			}
		}
		hold(t, run(t, site, o), 3)
		site[path] = &fstest.MapFile{Data: append(append([]byte(nil), file.Data...), 0)}
		if r := run(t, site, o); r.ExitCode() != 1 {
			t.Errorf("%s with a byte more: exit %d\n%s", path, r.ExitCode(), r.Text())
		}
	}
}

// lie replaces leaves in a log that is consistent in itself.
func TestLogsOwnFaults(t *testing.T) {
	engine := func(l *testlog.Log) *receipt.Decoded {
		return receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "run-1").Add(receipttest.Open(testlog.Origin))
	}
	for _, c := range []struct {
		name  string
		lie   func(*testlog.Log)
		check string
		code  report.Code
	}{
		{"a leaf that is no envelope", func(l *testlog.Log) { l.AppendLeaf([]byte("x")) }, "form", report.CodeCBORTruncated},
		{"an empty leaf", func(l *testlog.Log) { l.AppendLeaf(nil) }, "form", report.CodeCBORTruncated},
		{"another type", func(l *testlog.Log) {
			env, err := dsse.Sign("text/plain", []byte("x"), testlog.Key("engine"))
			if err != nil {
				t.Fatal(err)
			}
			l.Append(env)
		}, "form", report.CodePayloadType},
		{"a payload of no schema", func(l *testlog.Log) {
			env, err := dsse.Sign(dsse.ReceiptType, []byte{0xa0}, testlog.Key("engine"))
			if err != nil {
				t.Fatal(err)
			}
			l.Append(env)
		}, "schema", report.CodeSchemaMissing},
		{"a bad signature", func(l *testlog.Log) {
			env := l.Sign(engine(l), "engine")
			env.Sigs[0].Sig[5] ^= 1
			l.Append(env)
		}, "signatures", report.CodeSignatureInvalid},
		{"bound to another key", func(l *testlog.Log) {
			env := l.Sign(engine(l), "engine")
			env.Sigs[0].By[5] ^= 1
			l.Append(env)
		}, "form", report.CodeSignerMismatch},
		{"two signatures", func(l *testlog.Log) {
			s := engine(l).Statement
			payload, err := s.Encode()
			if err != nil {
				t.Fatal(err)
			}
			env, err := dsse.SignMany(dsse.ReceiptType, payload, testlog.Key("engine"), testlog.Key("approver"))
			if err != nil {
				t.Fatal(err)
			}
			l.Append(env)
		}, "form", report.CodeDSSESigCount},
		{"an approver opens a run", func(l *testlog.Log) { l.Append(l.Sign(engine(l), "approver")) }, "keys", report.CodeKeyRole},
		{"a stranger", func(l *testlog.Log) { l.Append(l.Sign(engine(l), "stranger")) }, "keys", report.CodeKeyNotListed},
		{"a key before it is listed", func(l *testlog.Log) {
			l.Append(l.Sign(engine(l), "engine-2"))
			l.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}})
		}, "keys", report.CodeKeyNotListed},
		{"a key after it was retired", func(l *testlog.Log) {
			l.Change(trust.Change{Retire: []trust.PublicKey{trust.PublicKey(testlog.Public("engine"))}})
			l.Append(l.Sign(engine(l), "engine"))
		}, "keys", report.CodeKeyNotListed},
		{"one statement twice", func(l *testlog.Log) { l.Append(l.Sign(engine(l), "engine")); l.Append(l.Sign(engine(l), "engine")) }, "once", report.CodeStatementTwice},
		{"genesis twice", func(l *testlog.Log) { l.AppendLeaf(l.Leaves[0]) }, "registry", report.CodeRegistryPrev},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := testlog.New(t)
			c.lie(l)
			r := run(t, l.Site(l.Size(), "w1", "w2"), options(l))
			hold(t, r, 1, want{c.check, no, c.code}, want{"root", ok, report.CodeOK}, want{"entries", ok, report.CodeOK})
		})
	}
}

func TestRegistryFaults(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	site := l.Site(l.Size(), "w1", "w2")
	o := options(l)
	o.Engines.Genesis[5] ^= 1
	hold(t, run(t, site, o), 1, want{"registry", no, report.CodeRegistryPin}, want{"signatures", nc, report.CodeNotReached}, want{"keys", nc, report.CodeNotReached})

	bare := testlog.Bare(t)
	bare.Examples()
	hold(t, run(t, bare.Site(bare.Size(), "w1", "w2"), options(l)), 1, want{"registry", no, report.CodeRegistryPlace}, want{"keys", nc, report.CodeNotReached})
	o = options(l)
	o.Policy = l.Policy("2", "w1", "w2", "engine")
	hold(t, run(t, site, o), 1, want{"registry", no, report.CodeRegistryKeyForeign})
	// Behind a statement that does not hold nobody knows who is listed.
	broken := testlog.New(t)
	broken.AppendLeaf(broken.Leaves[0])
	broken.Examples()
	hold(t, run(t, broken.Site(broken.Size(), "w1", "w2"), options(broken)), 1, want{"registry", no, report.CodeRegistryPrev}, want{"keys", nc, report.CodeNotReached}, want{"signatures", nc, report.CodeNotReached})
	// The as-of line is held in a whole-log audit too.
	l.Change(trust.Change{Add: []trust.Addition{testlog.Add("engine-2", trust.Engine)}})
	o = options(l)
	o.Engines.AsOf, o.Engines.HasAsOf = l.Size(), true
	hold(t, run(t, l.Site(l.Size(), "w1", "w2"), o), 1, want{"registry", no, report.CodeRegistryHead})
	o.Engines.Head = l.Registry.Head()
	hold(t, run(t, l.Site(l.Size(), "w1", "w2"), o), 0)
}

// A cosigner's word is not the log's.
func TestUnsignedByLog(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	site := l.Site(l.Size(), "w1", "w2")
	n, err := checkpoint.ParseNote(site["checkpoint"].Data)
	if err != nil {
		t.Fatal(err)
	}
	n.Sigs = n.Sigs[1:]
	site["checkpoint"] = &fstest.MapFile{Data: n.Bytes()}
	hold(t, run(t, site, options(l)), 1, want{"checkpoint", no, report.CodeLogUnsigned}, want{"policy", nc, report.CodeNotReached})
}

// A tile of level 1 is full at 65,536 leaves. They are no envelopes here, which
// is found too and says nothing about tiles.
func TestFullTileAbove(t *testing.T) {
	l := testlog.Bare(t)
	for i := range 65537 {
		l.AppendLeaf(fmt.Append(nil, i))
	}
	site := l.Site(l.Size(), "w1", "w2")
	o := audit.Options{Policy: l.Policy("2", "w1", "w2"), Run: parallel}
	hold(t, run(t, site, o), 1, want{"tiles", ok, report.CodeOK}, want{"root", ok, report.CodeOK}, want{"form", no, report.CodeLeafForm})
	for _, path := range []string{"tile/1/000", "tile/2/000.p/1"} {
		file := site[path]
		bad := append([]byte(nil), file.Data...)
		bad[len(bad)-1] ^= 1
		site[path] = &fstest.MapFile{Data: bad}
		hold(t, run(t, site, o), 1, want{"tiles", no, report.CodeTileMismatch}, want{"root", ok, report.CodeOK})
		site[path] = file
	}
}

// Disowned leaves stay: they are named and refute nothing.
func TestDisowned(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	l.Change(trust.Change{Revoke: []trust.Revocation{{Key: trust.PublicKey(testlog.Public("engine")), From: 7, HasFrom: true}}})
	r := run(t, l.Site(l.Size(), "w1", "w2"), options(l))
	hold(t, r, 0)
	if !strings.Contains(r.Text(), "engine engine, key "+testlog.ID("engine").String()+", from leaf 7 on") {
		t.Error(r.Text())
	}
}

func TestRootMismatch(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	site := l.Site(l.Size(), "w1", "w2")
	site["checkpoint"] = &fstest.MapFile{Data: l.SignHead(checkpoint.Checkpoint{Origin: testlog.Origin, Size: l.Size(), Root: merkle.Hash{1}}, "w1", "w2")}
	hold(t, run(t, site, options(l)), 1, want{"root", no, report.CodeRootMismatch}, want{"checkpoint", ok, report.CodeOK})
	// A size that costs nothing to claim costs nothing to refuse.
	site["checkpoint"] = &fstest.MapFile{Data: l.SignHead(checkpoint.Checkpoint{Origin: testlog.Origin, Size: 1 << 60, Root: merkle.Hash{1}}, "w1", "w2")}
	hold(t, run(t, site, options(l)), 3, want{"entries", nc, report.CodeTileMissing}, want{"root", nc, report.CodeNotReached})
}

func TestLaterVersions(t *testing.T) {
	l := testlog.New(t)
	at := l.Examples()
	env, err := dsse.ParseLeaf(l.Leaves[at["judgment-admit"]])
	if err != nil {
		t.Fatal(err)
	}
	later, err := dsse.Sign("application/vnd.obstat.receipt.v2+cbor", append([]byte(nil), env.Payload...), testlog.Key("engine"))
	if err != nil {
		t.Fatal(err)
	}
	l2 := testlog.New(t)
	l2.Append(later)
	// Its frame is known, and says that places before it are missing.
	hold(t, run(t, l2.Site(l2.Size(), "w1", "w2"), options(l2)), 4, want{"schema", nc, report.CodeVersionUnknown}, want{"signatures", ok, report.CodeOK}, want{"keys", ok, report.CodeOK},
		want{"law-1-judged-first", nc, report.CodeLawVersion}, want{"law-5-nothing-missing", no, report.CodeLaw5Hole})
	registry, err := dsse.Sign("application/vnd.obstat.registry.v2+cbor", []byte{0xa0}, testlog.Key("registrar-1"))
	if err != nil {
		t.Fatal(err)
	}
	l2.Append(registry)
	hold(t, run(t, l2.Site(l2.Size(), "w1", "w2"), options(l2)), 3, want{"registry", nc, report.CodeVersionUnknown})
}

func TestStateLimit(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	o := options(l)
	o.MaxStatements = int(l.Size()) - 1
	hold(t, run(t, l.Site(l.Size(), "w1", "w2"), o), 3, want{"once", nc, report.CodeLawStateLimit}, want{"root", ok, report.CodeOK})
	o.MaxStatements++
	hold(t, run(t, l.Site(l.Size(), "w1", "w2"), o), 0)
}

func TestInterrupted(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	o := options(l)
	for _, after := range []int{0, 1} {
		calls := 0
		o.Run = func(n int, fn func(int)) error {
			if calls++; calls > after {
				return errors.New("stop")
			}
			return audit.Serial(n, fn)
		}
		r := run(t, l.Site(l.Size(), "w1", "w2"), o)
		hold(t, r, 3, want{"root", nc, report.CodeInterrupted}, want{"once", nc, report.CodeInterrupted}, want{"checkpoint", ok, report.CodeOK}, want{"signatures", nc, report.CodeInterrupted})
	}
}

// brokenFS fails to read one file.
type brokenFS struct {
	fs.FS
	path string
}

func (b brokenFS) Open(name string) (fs.File, error) {
	if name == b.path {
		return nil, &fs.PathError{Op: "open", Path: name, Err: os.ErrPermission}
	}
	return b.FS.Open(name)
}

// A file that cannot be read says nothing about the log.
func TestUnreadable(t *testing.T) {
	l := testlog.New(t)
	grow(l, 300)
	site := l.Site(l.Size(), "w1", "w2")
	for path := range site {
		r, err := audit.Log(brokenFS{site, path}, options(l))
		if r != nil || !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: %v, %v", path, r, err)
		}
	}
}

func TestProgress(t *testing.T) {
	l := testlog.New(t)
	l.Examples()
	o := options(l)
	var done, total uint64
	o.Progress = func(d, n uint64) { done, total = d, n }
	run(t, l.Site(l.Size(), "w1", "w2"), o)
	if done != l.Size() || total != l.Size() {
		t.Errorf("%d of %d", done, total)
	}
}

// BenchmarkEd25519 is the primitive that the audit's rate is a share of.
func BenchmarkEd25519(b *testing.B) {
	message := make([]byte, 500)
	sig, pub := ed25519.Sign(testlog.Key("engine"), message), testlog.Public("engine")
	for b.Loop() {
		if !ed25519.Verify(pub, message, sig) {
			b.Fatal("refused")
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "signatures/s")
}

func BenchmarkLog(b *testing.B) {
	l := testlog.New(b)
	grow(l, 4096)
	site := l.Site(l.Size(), "w1", "w2")
	for name, o := range map[string]audit.Options{
		"hashes":     {Policy: l.Policy("none"), HashesOnly: true},
		"no trust":   {Policy: l.Policy("none")},
		"signatures": {Policy: l.Policy("none"), Engines: l.Engines()},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := audit.Log(site, o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*float64(l.Size())/b.Elapsed().Seconds(), "leaves/s")
		})
	}
}

// A forked run is a violated law, whoever else may be honest; a log that is
// still written is not held to have ended.
func TestLawsOverALog(t *testing.T) {
	add := func(l *testlog.Log, ds ...*receipt.Decoded) {
		for _, d := range ds {
			l.Append(l.Sign(d, "engine"))
		}
	}
	open := func(l *testlog.Log, label string) *receipttest.Run {
		r := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "fork")
		add(l, r.Add(receipt.RunOpen{
			Engine:     receipt.Engine{Name: "engine", Version: receipt.Name(label)},
			Vocabulary: receipt.StandardVocabulary().Digest(), Logs: []receipt.Name{testlog.Origin},
		}))
		return r
	}
	l := testlog.New(t)
	first := open(l, "1")
	o := options(l)
	hold(t, run(t, l.Site(l.Size(), "w1", "w2"), o), 0, want{"law-5-nothing-missing", nc, report.CodeLaw5Open})
	o.Require = []string{audit.Laws}
	hold(t, run(t, l.Site(l.Size(), "w1", "w2"), o), 3)
	add(l, first.Close())
	hold(t, run(t, l.Site(l.Size(), "w1", "w2"), o), 0, want{"law-5-nothing-missing", ok, report.CodeOK})
	open(l, "2")
	o.Require = nil
	r := run(t, l.Site(l.Size(), "w1", "w2"), o)
	hold(t, r, 4, want{"law-5-nothing-missing", no, report.CodeLaw5Fork})
	if !strings.Contains(r.Text(), "LAW VIOLATED. It says: a log of 4 leaves; laws violated: 5") {
		t.Error(r.Text())
	}
}
