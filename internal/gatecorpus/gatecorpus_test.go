package gatecorpus

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/gate/policy"
	"github.com/obstat/obstat/gate/render"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/verdict"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is one engine over a real log, files and programs, until its run is
// verified.
type world struct {
	t     *testing.T
	log   *servertest.Log
	run   *client.Run
	gate  *gate.Gate
	store *gate.Store
	dir   string // of the store
	root  string
	shell string
	open  bool // the run stays open
	broke error
}

const cedar = `
@id("all") @allow("shell") permit (principal, action, resource);
@reason("PATH-NOT-ALLOWED") forbid (principal, action in Action::"files", resource in Directory::"locked");
@reason("COMMAND-NOT-ALLOWED") forbid (principal, action == Action::"exec", resource) when { context.args.contains("forbidden") };
`

func newWorld(t *testing.T, open ...bool) *world {
	t.Helper()
	w := &world{t: t, log: servertest.New(t)}
	c, err := client.New(client.Config{URL: w.log.URL, Policy: w.log.Policy, Engines: w.log.Engines})
	w.must(err)
	t.Cleanup(c.Close)
	w.run, err = client.Create(c, client.RunConfig{Dir: filepath.Join(t.TempDir(), "run"), Name: "run-1", Key: servertest.Key(servertest.Engine), Now: time.Now})
	w.must(err)
	t.Cleanup(func() { w.run.Close() })
	w.dir = filepath.Join(t.TempDir(), "store")
	w.store, err = gate.OpenStore(w.dir)
	w.must(err)
	rules, err := policy.Parse("corpus.cedar", []byte(cedar), "engine")
	w.must(err)
	broken := gate.RuleFunc(func(context.Context, gate.Proposal) (verdict.Verdict, error) { return verdict.Verdict{}, w.broke })
	cfg := gate.Config{Log: w.run, Store: w.store, Secret: w.run.Secret(), Rules: []gate.Rule{rules, broken}, Now: time.Now, Patience: time.Second}
	if len(open) > 0 {
		cfg.FailOpen = append(cfg.FailOpen, "EVALUATION-FAILED")
	}
	w.gate, err = gate.New(cfg)
	w.must(err)
	_, err = w.gate.OpenRun(t.Context(), gate.Opening{Engine: "gate", Version: "1", Policy: rules.Pin()}, c.Origin())
	w.must(err)
	w.root, err = filepath.EvalSymlinks(t.TempDir())
	w.must(err)
	w.shell, err = filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Skip("no sh on this system")
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) sh(script string, args ...string) *gate.Exec {
	return &gate.Exec{Root: w.root, Dir: w.root, Program: w.shell, Argv: append([]string{"sh", "-c", script, "sh"}, args...)}
}

func (w *world) put(name, text string) {
	w.t.Helper()
	w.must(os.WriteFile(filepath.Join(w.root, name), []byte(text), 0o644))
}

func (w *world) write(name, text string) *gate.Files {
	w.t.Helper()
	f, err := gate.PlanFiles(w.root, gate.FileChange{Path: name, After: []byte(text)})
	w.must(err)
	return f
}

func (w *world) undo(of *gate.Outcome) *gate.Undo {
	w.t.Helper()
	u, err := w.store.PlanUndo(of.Statement.CID)
	w.must(err)
	return u
}

func (w *world) judge(e gate.Effect) *gate.Judged {
	w.t.Helper()
	j, err := w.gate.Judge(w.t.Context(), gate.Request{Effect: e, Class: "green", Origin: verdict.Whole(verdict.LLM)})
	w.must(err)
	return j
}

// do judges and commits, and holds what became of it.
func (w *world) do(want string, e gate.Effect, meanwhile ...func()) *gate.Outcome {
	w.t.Helper()
	j := w.judge(e)
	for _, f := range meanwhile {
		f()
	}
	out, err := j.Commit(w.t.Context())
	w.must(err)
	word := ""
	if out.Disposition != nil {
		word = out.Disposition.Word()
	}
	if word != want {
		w.t.Fatalf("it was %q, want %q: %v", word, want, out.Err)
	}
	return out
}

// holds looks at a file of the root.
func (w *world) holds(name, text string) {
	w.t.Helper()
	if b, err := os.ReadFile(filepath.Join(w.root, name)); string(b) != text || text != "" && err != nil {
		w.t.Errorf("%s holds %q (%v), want %q", name, b, err, text)
	}
}

// verify closes the run, unless it stays open, and asks of it what the case asks.
func (w *world) verify(c corpus.Case) {
	w.t.Helper()
	if !w.open {
		_, err := w.run.CloseRun(w.t.Context())
		w.must(err)
	}
	w.log.Stop()
	dir := w.t.TempDir()
	w.must(os.Mkdir(filepath.Join(dir, "log"), 0o755))
	site, err := durable.OpenDir(filepath.Join(dir, "log"))
	w.must(err)
	sc := w.log.Config()
	_, err = rlog.Export(sc.Engine(), site)
	w.must(err)
	w.must(os.WriteFile(filepath.Join(dir, "policy"), w.log.PolicyFile, 0o644))
	w.must(os.WriteFile(filepath.Join(dir, "trust"), w.log.EnginesFile, 0o644))
	c.Files = map[corpus.Part]string{corpus.Log: "log", corpus.Policy: "policy", corpus.Trust: "trust"}
	c.Ask.Now, c.Ask.Principal, c.Ask.Run = time.Now().UnixMilli(), servertest.Engine, "run-1"
	r, err := c.Report(os.DirFS(dir))
	w.must(err)
	if answer, found := corpus.Of(r); !c.Right(answer, found) {
		w.t.Errorf("the verifier answers %s %v, and the case says %s %v\n%s", answer, found, c.Answer, c.Found, r.Text())
	}
}

// scenarios are what the gate does where the corpus has receipts of it.
var scenarios = map[string]func(t *testing.T) *world{
	"a-preview-commit/fired-as-judged": func(t *testing.T) *world {
		w := newWorld(t)
		w.do("committed", w.sh("echo made > made"))
		w.holds("made", "made\n")
		return w
	},
	"a-preview-commit/diverged-by-one-bit": func(t *testing.T) *world {
		w := newWorld(t)
		e := w.sh("echo made > made")
		e.Stdin = []byte{1}
		w.do("diverged", e, func() { e.Stdin[0] ^= 1 })
		w.holds("made", "")
		return w
	},
	"a-preview-commit/tool-whose-definition-changed": func(t *testing.T) *world {
		w := newWorld(t)
		definition, calls := "v1", 0
		w.do("diverged", &gate.Tool{
			Server: "notes", Name: "now", Definition: func() ([]byte, error) { return []byte(definition), nil },
			Call: func(context.Context, []byte) ([]byte, error) { calls++; return nil, nil },
		}, func() { definition = "v2" })
		if calls != 0 {
			t.Error("it was called")
		}
		return w
	},
	"a-preview-commit/two-sources-of-one-plan": func(t *testing.T) *world {
		w := newWorld(t)
		tool := func(arguments string) *gate.Tool {
			return &gate.Tool{
				Server: "notes", Name: "add", Arguments: []byte(arguments), Definition: func() ([]byte, error) { return nil, nil },
				Call: func(context.Context, []byte) ([]byte, error) { return nil, nil },
			}
		}
		a, b := w.judge(tool(`{"b": 1, "a": "\u00e4"}`)), w.judge(tool("{\"a\":\"ä\",\n\"b\":1}"))
		if a.Statement().ReceiptCID != b.Statement().ReceiptCID || a.Statement().CID == b.Statement().CID {
			t.Error("they are not one receipt and two calls")
		}
		for _, j := range []*gate.Judged{a, b} {
			_, err := j.Commit(t.Context())
			w.must(err)
		}
		return w
	},
	"a-preview-commit/recovery-template": func(t *testing.T) *world {
		w := newWorld(t)
		j := w.judge(w.sh("true", "forbidden"))
		if got := j.Refusal(); got != "denied: the program may not be run. Next: ask for another command." {
			t.Error(got)
		}
		return w
	},
	"b-change-sets/applied-as-previewed": func(t *testing.T) *world {
		w := newWorld(t)
		w.put("a", "one")
		w.do("committed", w.write("a", "two"))
		w.holds("a", "two")
		return w
	},
	"b-change-sets/stale-witness": func(t *testing.T) *world {
		w := newWorld(t)
		w.put("a", "one")
		w.do("stale", w.write("a", "two"), func() { w.put("a", "theirs") })
		w.holds("a", "theirs")
		return w
	},
	"b-change-sets/replaced": func(t *testing.T) *world {
		w := newWorld(t)
		first := w.judge(w.write("a", "one"))
		second := w.write("a", "two")
		_, err := first.Replace(t.Context())
		w.must(err)
		w.do("committed", second)
		w.holds("a", "two")
		return w
	},
	"b-change-sets/check-failed-after-apply": func(t *testing.T) *world {
		w := newWorld(t)
		w.put("a", "one")
		out := w.do("committed", w.write("a", "two"))
		w.do("failed", w.sh("exit 1"))
		w.do("committed", w.undo(out))
		w.holds("a", "one")
		return w
	},
	"b-change-sets/check-failed-and-nobody-knows": func(t *testing.T) *world {
		w := newWorld(t)
		out := w.do("failed", w.sh("exit 1"))
		_, err := w.gate.Resolve(t.Context(), out.Statement, false)
		w.must(err)
		return w
	},
	"b-change-sets/outside-the-root-is-denied": func(t *testing.T) *world {
		w := newWorld(t)
		w.must(os.Mkdir(filepath.Join(w.root, "locked"), 0o755))
		w.do("", w.write("locked/a", "x"))
		w.holds("locked/a", "")
		if _, err := gate.PlanFiles(w.root, gate.FileChange{Path: "../a"}); err == nil {
			t.Error("a path out of the root was planned")
		}
		return w
	},
	"d-reversible/escrowed-inverse": func(t *testing.T) *world {
		w := newWorld(t)
		w.put("a", "one")
		w.do("committed", w.write("a", "two"))
		return w
	},
	"d-reversible/undo-attested": func(t *testing.T) *world {
		w := newWorld(t)
		w.put("a", "one")
		w.do("committed", w.undo(w.do("committed", w.write("a", "two"))))
		w.holds("a", "one")
		return w
	},
	"d-reversible/undo-refused-as-stale": func(t *testing.T) *world {
		w := newWorld(t)
		u := w.undo(w.do("committed", w.write("a", "two")))
		w.put("a", "theirs")
		w.do("stale", u)
		w.holds("a", "theirs")
		return w
	},
	"d-reversible/undo-repeated": func(t *testing.T) *world {
		w := newWorld(t)
		out := w.do("committed", w.write("a", "two"))
		w.do("committed", w.undo(out))
		w.do("refused", w.undo(out))
		return w
	},
	"d-reversible/undo-unobservable": func(t *testing.T) *world {
		w := newWorld(t)
		out := w.do("committed", w.write("a", "two"))
		u := w.undo(out)
		w.must(os.Rename(filepath.Join(w.root, "a"), filepath.Join(w.root, "b")))
		w.must(os.Symlink("b", filepath.Join(w.root, "a"))) // which the gate does not look behind
		j, err := w.gate.Judge(t.Context(), gate.Request{Effect: late{u, func() {}}, Class: "green", Origin: verdict.Whole(verdict.LLM)})
		if err == nil {
			t.Fatalf("judged %v over a link", j.Digest())
		}
		w.must(os.Remove(filepath.Join(w.root, "a")))
		w.must(os.Rename(filepath.Join(w.root, "b"), filepath.Join(w.root, "a")))
		w.do("failed", late{u, func() {
			w.must(os.Rename(filepath.Join(w.root, "a"), filepath.Join(w.root, "b")))
			w.must(os.Symlink("b", filepath.Join(w.root, "a")))
		}})
		return w
	},
	"d-reversible/planned-and-never-settled": func(t *testing.T) *world {
		w := newWorld(t)
		w.judge(w.write("a", "two"))
		w.open = true
		return w
	},
	"d-reversible/fault-closed": func(t *testing.T) *world {
		w := newWorld(t)
		w.broke = errors.New("the policy is gone")
		_, err := w.gate.Judge(t.Context(), gate.Request{Effect: w.write("a", "x"), Class: "green", Origin: verdict.Whole(verdict.LLM)})
		if !errors.As(err, new(*gate.FaultError)) {
			t.Error(err)
		}
		w.holds("a", "")
		return w
	},
	"d-reversible/fault-open": func(t *testing.T) *world {
		w := newWorld(t, true)
		w.broke = errors.New("the policy is gone")
		w.do("committed", w.write("a", "x"))
		w.holds("a", "x")
		return w
	},
	"e-rendered/rendered-and-not-sent": func(t *testing.T) *world {
		w := newWorld(t)
		out := w.do("rendered", issue(nil))
		if !strings.Contains(string(out.Result.Output), `"title":"It broke"`) {
			t.Errorf("%s", out.Result.Output)
		}
		return w
	},
	"e-rendered/withheld-for-an-ungrounded-slot": withheld("SLOT-UNGROUNDED", func(r *render.Rendering) { r.Slots[1].Value = "It never broke" }),
	"e-rendered/withheld-for-a-missing-title":    withheld("TITLE-MISSING", func(r *render.Rendering) { r.Slots = r.Slots[1:] }),
	"e-rendered/withheld-for-an-unlabelled-role": withheld("ROLE-UNLABELLED", func(r *render.Rendering) { r.Sources[0].Role = "" }),
}

func issue(change func(*render.Rendering)) *render.Rendering {
	r := &render.Rendering{
		Template: "github/issue@1",
		Slots:    []render.Slot{{Name: "title", Value: "It broke", Source: "mail"}, {Name: "summary", Value: "It broke twice", Source: "mail"}, {Name: "details", Value: "twice", Source: "mail"}},
		Sources:  []render.Source{{Name: "mail", Role: render.Person, Text: []byte("It broke twice.")}},
	}
	if change != nil {
		change(r)
	}
	return r
}

func withheld(code string, change func(*render.Rendering)) func(*testing.T) *world {
	return func(t *testing.T) *world {
		w := newWorld(t)
		out := w.do("withheld", issue(change))
		if !strings.Contains(out.Err.Error(), code) || out.Result != nil {
			t.Errorf("%v", out.Err)
		}
		return w
	}
}

// bundles are receipts of the gate, with what opens their commitments out of its
// store, where the corpus has them.
var bundles = map[string]func(t *testing.T) (*world, *client.Recorded, []preview.Disclosure){
	"b-change-sets/applied-and-disclosed": func(t *testing.T) (*world, *client.Recorded, []preview.Disclosure) {
		w := newWorld(t)
		w.put("a", "one")
		j := w.judge(w.write("a", "two"))
		out, err := j.Commit(t.Context())
		w.must(err)
		ch := w.opened(j).Changes[0]
		return w, out.Record, []preview.Disclosure{ch.Path, ch.After}
	},
	"d-reversible/inverse-disclosed": func(t *testing.T) (*world, *client.Recorded, []preview.Disclosure) {
		w := newWorld(t)
		w.put("a", "one")
		j := w.judge(w.write("a", "two"))
		delta, err := os.ReadFile(filepath.Join(w.dir, "inverse", j.Digest().String()))
		w.must(err)
		d, err := w.run.Secret().Disclose(j.Digest(), preview.FieldDelta, preview.Index(0), preview.ContentOf(delta).Value())
		w.must(err)
		return w, j.Record(), []preview.Disclosure{d}
	},
	"e-rendered/slots-disclosed": func(t *testing.T) (*world, *client.Recorded, []preview.Disclosure) {
		w := newWorld(t)
		j := w.judge(issue(nil))
		var all []preview.Disclosure
		for _, s := range w.opened(j).Slots {
			all = append(all, s.Value)
		}
		return w, j.Record(), all
	},
	"e-rendered/rendered": func(t *testing.T) (*world, *client.Recorded, []preview.Disclosure) {
		w := newWorld(t)
		return w, w.do("rendered", issue(nil)).Record, nil
	},
	"e-rendered/rendered-is-not-committed": func(t *testing.T) (*world, *client.Recorded, []preview.Disclosure) {
		w := newWorld(t)
		return w, w.do("rendered", issue(nil)).Record, nil
	},
	"e-rendered/withheld": func(t *testing.T) (*world, *client.Recorded, []preview.Disclosure) {
		w := newWorld(t)
		return w, w.do("withheld", issue(func(r *render.Rendering) { r.Slots = r.Slots[1:] })).Record, nil
	},
}

// digest is that of the one request that was judged.
func (w *world) digest() (string, error) {
	files, err := filepath.Glob(filepath.Join(w.dir, "rho", "*.jsonl"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("%d files, %w", len(files), err)
	}
	b, err := os.ReadFile(files[0])
	digest, _, _ := strings.Cut(string(b), " ")
	if n := strings.Count(string(b), "\n"); err == nil && n != 1 {
		err = fmt.Errorf("%d requests", n)
	}
	return digest, err
}

// opened is what the store and the run's secret open of a request.
func (w *world) opened(j *gate.Judged) preview.Opened {
	w.t.Helper()
	rho, err := w.store.Rho(j.Digest())
	w.must(err)
	opened, err := rho.Open(w.run.Secret())
	w.must(err)
	return opened
}

// verifyBundle asks of a receipt what the case asks of its own.
func (w *world) verifyBundle(c corpus.Case, rec *client.Recorded, opened []preview.Disclosure, digest string) {
	w.t.Helper()
	dir := w.t.TempDir()
	b := *rec.Bundle
	b.Disclosures = opened
	w.must(os.WriteFile(filepath.Join(dir, "x.receipt.json"), b.Append(nil), 0o644))
	w.must(os.WriteFile(filepath.Join(dir, "policy"), w.log.PolicyFile, 0o644))
	w.must(os.WriteFile(filepath.Join(dir, "trust"), w.log.EnginesFile, 0o644))
	c.Files = map[corpus.Part]string{corpus.Artifact: "x.receipt.json", corpus.Policy: "policy", corpus.Trust: "trust"}
	c.Ask.Expect = slices.Clone(c.Ask.Expect)
	for i, e := range c.Ask.Expect {
		if strings.HasPrefix(e, "request=") { // the digest is this run's
			c.Ask.Expect[i] = "request=" + digest
		}
	}
	r, err := c.Report(os.DirFS(dir))
	w.must(err)
	if answer, found := corpus.Of(r); !c.Right(answer, found) {
		w.t.Errorf("the verifier answers %s %v, and the case says %s %v\n%s", answer, found, c.Answer, c.Found, r.Text())
	}
}

// late is an undo before whose check something happens.
type late struct {
	*gate.Undo
	before func()
}

type frozenLate struct {
	gate.Frozen
	before func()
}

func (l late) Freeze() (gate.Frozen, error) {
	f, err := l.Undo.Freeze()
	if err != nil {
		return nil, err
	}
	return &struct {
		frozenLate
		gate.Compensator
	}{frozenLate{f, l.before}, f.(gate.Compensator)}, nil
}

func (f frozenLate) Check(ctx context.Context) error {
	f.before()
	return f.Frozen.Check(ctx)
}

// other says of every other case of the four designs why the gate has no run for
// it.
var other = map[string]string{
	"a-preview-commit/fired-although-diverged":             never,
	"a-preview-commit/tool-fired-under-another-definition": never,
	"a-preview-commit/recovery-code-that-is-none":          never,
	"a-preview-commit/recovery-hint-of-another":            never,
	"a-preview-commit/recovery-class-of-another":           never,
	"b-change-sets/applied-although-stale":                 never,
	"b-change-sets/consent-given":                          approver,
	"b-change-sets/consent-refused":                        approver,
	"b-change-sets/applied-although-refused":               approver,
	"b-change-sets/consent-for-what-was-replaced":          approver,
	"d-reversible/undo-over-somebody-elses-change":         never,
	"d-reversible/undo-from-what-was-not-recorded":         never,
	"d-reversible/undo-fired-as-something-else":            never,
	"d-reversible/planned-and-closed-over":                 never,
	"d-reversible/fault-closed-and-fired":                  never,
	"e-rendered/rendered-and-then-sent":                    never,
	"e-rendered/withheld-for-no-published-reason":          never,
	"e-rendered/withheld-and-sent":                         never,
}

const (
	never    = "the gate does not do that: the case beside it, where it is tempted, ends otherwise"
	approver = "an approver answers, which comes with escrow"
)

// Every run of the designs is reproduced by running the gate, with the same
// answer and the same codes; or it is said here why not.
func TestDesigns(t *testing.T) {
	b, err := os.ReadFile("../../corpus/v1/" + corpus.ManifestName)
	if err != nil {
		t.Fatal(err)
	}
	m, err := corpus.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{}
	for _, c := range m.Cases {
		name, design := strings.CutPrefix(c.Name, "design-")
		if !design || strings.HasPrefix(name, "c-") {
			continue
		}
		if make, ok := bundles[name]; ok {
			done[name] = true
			t.Run(name, func(t *testing.T) {
				w, rec, opened := make(t)
				out, err := w.digest()
				w.must(err)
				w.verifyBundle(c, rec, opened, out)
			})
			continue
		}
		if c.Command != corpus.AskRun {
			if c.Command == corpus.AskBundle {
				t.Errorf("%s: the gate makes no such receipt", name)
			}
			continue // previews and leaves by themselves, which are no work of a gate
		}
		done[name] = true
		run, mine := scenarios[name]
		if _, said := other[name]; mine == said {
			t.Errorf("%s: the gate has a run for it: %v, and it is said why not: %v", name, mine, said)
			continue
		}
		if mine {
			t.Run(name, func(t *testing.T) { run(t).verify(c) })
		} else if other[name] == never && c.Answer != corpus.Violated {
			t.Errorf("%s is %s, and nothing that a gate must not do", name, c.Answer)
		}
	}
	for _, names := range []map[string]bool{keys(scenarios), keys(other), keys(bundles)} {
		for name := range names {
			if !done[name] {
				t.Errorf("%s is no case of the corpus", name)
			}
		}
	}
	if len(done) < 30 {
		t.Errorf("only %d cases", len(done))
	}
}

func keys[V any](m map[string]V) map[string]bool {
	all := map[string]bool{}
	for k := range m {
		all[k] = true
	}
	return all
}

// What is verified here was said by the gate: these tests make no receipt.
func TestNoReceiptIsMadeHere(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if path := strings.Trim(i.Path.Value, `"`); slices.Contains(strings.Split(path, "/"), "receipt") || strings.Contains(path, "receipttest") {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
