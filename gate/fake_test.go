package gate

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/verdict"
)

// fakeLog is a log in this process: it takes what a real one would take, in
// order, and can be told to fail.
type fakeLog struct {
	mu      sync.Mutex
	entries []*client.Recorded
	fail    func(e client.Entry) error
}

func (l *fakeLog) Record(ctx context.Context, e client.Entry) (*client.Recorded, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.fail != nil {
		if err := l.fail(e); err != nil {
			return nil, err
		}
	}
	s := receipt.Statement{Receipt: e.Receipt, Call: receipt.Call{
		By: receipt.KeyID{1}, Run: "test", Seq: uint64(len(l.entries)), At: time.Now().UnixMilli(), Settles: e.Settles,
	}}
	if n := len(l.entries); n > 0 {
		s.Call.Prev = l.entries[n-1].Statement.CID
	}
	if !e.Expires.IsZero() {
		s.Call.Expires = e.Expires.UnixMilli()
	}
	payload, err := s.Encode()
	if err != nil {
		return nil, err
	}
	d, err := receipt.Decode(payload)
	if err != nil {
		return nil, err
	}
	rec := &client.Recorded{Statement: d, Index: s.Call.Seq + 1}
	l.entries = append(l.entries, rec)
	return rec, nil
}

// said is the last n receipts, by kind and word: "judgment admit".
func (l *fakeLog) said(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, e := range l.entries[max(0, len(l.entries)-n):] {
		all = append(all, words(e))
	}
	return all
}

func words(rec *client.Recorded) string {
	switch r := rec.Statement.Statement.Receipt.(type) {
	case receipt.Judgment:
		return "judgment " + r.Ruling.Verdict().Arm().String()
	case receipt.Outcome:
		return "outcome " + r.Disposition.Word()
	default:
		return string(r.Kind())
	}
}

// probe is an effect that counts how often it fires, and looks at the log when
// it does.
type probe struct {
	data    []byte
	result  Result
	onFire  func()
	fired   int
	closed  int
	frozen  int
	noFire  error // Freeze fails with it
	noCheck error // Check fails with it
	inverse Inverse
}

type frozenProbe struct {
	p    *probe
	data []byte
}

func (p *probe) Freeze() (Frozen, error) {
	if p.noFire != nil {
		return nil, p.noFire
	}
	p.frozen++
	return &frozenProbe{p, bytes.Clone(p.data)}, nil
}

func (f *frozenProbe) Plan() Plan {
	return Plan{Intent: preview.Exec{
		Root: "/root", Dir: "/root", Program: "/bin/probe", File: preview.ContentOf([]byte("probe")),
		Argv: []string{"probe"}, Stdin: preview.ContentOf(f.data),
	}}
}

func (f *frozenProbe) Invert() (Inverse, error) { return f.p.inverse, nil }

func (f *frozenProbe) Check(context.Context) error { return f.p.noCheck }

func (f *frozenProbe) Apply(context.Context, Call) Result {
	f.p.fired++
	if f.p.onFire != nil {
		f.p.onFire()
	}
	return f.p.result
}

func (f *frozenProbe) Close() error { f.p.closed++; return nil }

func says(v verdict.Verdict, err error) Rule {
	return RuleFunc(func(context.Context, Proposal) (verdict.Verdict, error) { return v, err })
}

func must(v verdict.Verdict, err error) verdict.Verdict {
	if err != nil {
		panic(err)
	}
	return v
}

var (
	admits    = must(verdict.Admit("test-rule"))
	denies    = must(verdict.Deny("COMMAND-NOT-ALLOWED"))
	escalates = must(verdict.Escalate("CLASS-RED"))
)

func secret(t testing.TB) preview.RunSecret {
	t.Helper()
	s, err := preview.NewRunSecret(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func store(t testing.TB) *Store {
	t.Helper()
	s, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// gated returns a gate over a log in which the run is open.
func gated(t testing.TB, rules ...Rule) (*Gate, *fakeLog) {
	t.Helper()
	l := &fakeLog{}
	g, err := New(Config{Log: l, Store: store(t), Secret: secret(t), Rules: rules, Now: time.Now, Patience: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	open := receipt.RunOpen{
		Engine:     receipt.Engine{Name: "e", Version: "1"},
		Vocabulary: receipt.StandardVocabulary().Digest(), Logs: []receipt.Name{"log"},
	}
	if _, err := l.Record(t.Context(), client.Entry{Receipt: open}); err != nil {
		t.Fatal(err)
	}
	return g, l
}

func request(e Effect) Request {
	return Request{
		Effect: e, Task: "task", Attempt: 1, Class: receipt.Green, Origin: verdict.Whole(verdict.Replay),
		Effects: []preview.Effect{{On: preview.OnExec, Target: "probe"}},
		Inputs:  []preview.Input{{Name: "in", Value: "put"}},
		Slots:   []preview.Slot{{Name: "slot", Value: "filled", Source: "test"}},
	}
}

func judged(t *testing.T, g *Gate, e Effect) *Judged {
	t.Helper()
	j, err := g.Judge(t.Context(), request(e))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func commit(t *testing.T, j *Judged) *Outcome {
	t.Helper()
	out, err := j.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wants(t *testing.T, l *fakeLog, want ...string) {
	t.Helper()
	if got := l.said(len(l.entries) - 1); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the log says %q after the run-open, want %q", got, want)
	}
}

// settles holds an outcome against the judgment that it answers.
func settles(t *testing.T, j *Judged, out *Outcome) {
	t.Helper()
	o := out.Record.Statement.Statement.Receipt.(receipt.Outcome)
	if o.Of != j.Record().Statement.ReceiptCID || o.Request != j.Digest() || out.Record.Statement.Statement.Call.Settles != j.Record().Statement.CID {
		t.Errorf("the outcome answers another call: %+v", o)
	}
	if out.Record.Index <= j.Record().Index {
		t.Errorf("the outcome stands at %d, the judgment at %d", out.Record.Index, j.Record().Index)
	}
}

// lawful holds a whole run to the laws.
func lawful(t *testing.T, what string, run iter.Seq2[*receipt.Decoded, error]) {
	t.Helper()
	c, err := laws.New(laws.Options{
		Origin: servertest.Origin, Now: time.Now().UnixMilli(), Vocabularies: []*receipt.Vocabulary{receipt.StandardVocabulary()},
	})
	if err != nil {
		t.Fatal(err)
	}
	for st, err := range run {
		if err == nil {
			err = c.Add(laws.Entry{Index: st.Statement.Call.Seq, Decoded: st, Principal: servertest.Engine, Role: receipt.RoleEngine})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	report, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		t.Errorf("%s: law %d is %s: %s %s, leaves %v", what, f.Law, f.Answer, f.Code, f.Detail, f.Evidence)
	}
}
