package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/gate/policy"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// policyText is what judges the session, with the place of git left open; its
// digest is pinned in the run-open and in every preview.
const policyText = `@id("demo/git")
permit (principal, action == Action::"exec", resource == Program::"%[1]s");

@reason("COMMAND-NOT-ALLOWED")
forbid (principal, action == Action::"exec", resource) unless { resource == Program::"%[1]s" };

@reason("ARGUMENT-NOT-ALLOWED")
forbid (principal, action == Action::"exec", resource == Program::"%[1]s")
unless {
  context.argv has "1" && ["init", "add", "commit", "ls-files", "branch", "tag"].contains(context.argv["1"])
};

@id("demo/files")
permit (principal, action in Action::"files", resource);

@escalate("CLASS-RED")
forbid (principal, action, resource) when { context.class == "red" };
`

// saved is a statement that the log has proven, and the file that proves it.
type saved struct {
	recorded *client.Recorded
	file     string // *.receipt.json
	verified string // exit status of verify, in the end
}

func (s *saved) seq() uint64 { return s.recorded.Statement.Statement.Call.Seq }

// save keeps the answer of the log as it came.
func (d *demo) save(rec *client.Recorded, word string) (*saved, error) {
	s := &saved{recorded: rec, file: d.path("receipts", fmt.Sprintf("%02d-%s.receipt.json", rec.Statement.Statement.Call.Seq, word))}
	d.receipts = append(d.receipts, s)
	return s, os.WriteFile(s.file, rec.JSON, 0o644)
}

// stage is what the acts of a session share.
type stage struct {
	*demo
	run   *client.Run
	gate  *gate.Gate
	rules *policy.Policy
	repo  string
	git   string   // the program file
	env   []string // of every command
}

// session runs the engine.
func (d *demo) session(ctx context.Context) (err error) {
	s := &stage{demo: d, repo: d.path("repo")}
	for _, dir := range []string{"receipts", "repo", "home"} {
		if err := os.Mkdir(d.path(dir), 0o755); err != nil {
			return err
		}
	}
	if err := s.findGit(); err != nil {
		return err
	}
	c, err := client.New(client.Config{URL: d.log.url, Policy: d.log.policy, Engines: d.log.engines})
	if err != nil {
		return err
	}
	defer c.Close()
	s.run, err = client.Create(c, client.RunConfig{Dir: d.path("run"), Name: "demo-run", Key: d.key, Now: time.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.run.Close()) }()
	if s.rules, err = policy.Parse("demo.cedar", fmt.Appendf(nil, policyText, s.git), engineName); err != nil {
		return err
	}
	kept, err := gate.OpenStore(d.path("gate"))
	if err != nil {
		return err
	}
	s.gate, err = gate.New(gate.Config{
		Log: s.run, Store: kept, Secret: s.run.Secret(), Rules: []gate.Rule{s.rules}, Now: time.Now, Patience: s.patience,
	})
	if err != nil {
		return err
	}
	if err := s.open(ctx, c.Origin()); err != nil {
		return err
	}
	if err := s.work(ctx); err != nil {
		return err
	}
	if err := s.refusals(ctx); err != nil {
		return err
	}
	return s.close(ctx)
}

// findGit finds the program and gives it an environment in which nothing of
// the person's own configuration is read.
func (s *stage) findGit() error {
	found, err := exec.LookPath("git")
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err == nil {
		s.git, err = filepath.EvalSymlinks(found)
	}
	if err != nil {
		return fmt.Errorf("the demo needs git: %w", err)
	}
	s.env = []string{
		"PATH=" + filepath.Dir(found), "HOME=" + s.path("home"), "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Demo Engine", "GIT_AUTHOR_EMAIL=demo@demo.example",
		"GIT_COMMITTER_NAME=Demo Engine", "GIT_COMMITTER_EMAIL=demo@demo.example",
	}
	return nil
}

func (s *stage) command(args ...string) *gate.Exec {
	return &gate.Exec{Root: s.repo, Dir: s.repo, Program: s.git, Argv: append([]string{"git"}, args...), Env: s.env}
}

func (s *stage) open(ctx context.Context, log receipt.Name) error {
	s.head("2  A session: judge, have the log prove it, fire, tell the log")
	rec, err := s.gate.OpenRun(ctx, gate.Opening{Engine: engineName, Version: "1", Policy: s.rules.Pin()}, log)
	if err != nil {
		return err
	}
	sv, err := s.save(rec, "run-open")
	s.rows = append(s.rows, &row{what: "run-open", statements: []*saved{sv}})
	s.say("   leaf %2d  run-open   before the first effect, so a run that vanishes leaves an open run", rec.Index)
	s.check(!exists(s.repo, ".git"), "nothing has happened yet: the repository is an empty folder")
	return err
}

// work is what is admitted.
func (s *stage) work(ctx context.Context) error {
	if _, err := s.do(ctx, act{
		what: "git init", effect: s.command("init", "-q", "--initial-branch=main", "--template="),
		verdict: "admit", disposition: "committed",
	}); err != nil {
		return err
	}
	files, err := gate.PlanFiles(s.repo,
		gate.FileChange{Path: "README", After: []byte("A scratch repository.\n")},
		gate.FileChange{Path: "src/main.txt", After: []byte("hello\n")})
	if err != nil {
		return err
	}
	if _, err := s.do(ctx, act{
		what: "write README, src/main.txt", effect: files, verdict: "admit", disposition: "committed",
	}); err != nil {
		return err
	}
	for _, args := range [][]string{{"add", "README", "src"}, {"commit", "-q", "-m", "First"}} {
		if _, err := s.do(ctx, act{
			what: "git " + strings.Join(args, " "), effect: s.command(args...), verdict: "admit", disposition: "committed",
		}); err != nil {
			return err
		}
	}
	out, err := s.do(ctx, act{
		what: "git ls-files", effect: s.command("ls-files"), verdict: "admit", disposition: "committed", harmless: true,
	})
	if err != nil {
		return err
	}
	listed := string(out.Result.Process.Stdout)
	s.check(listed == "README\nsrc/main.txt\n", "git lists %s", strings.Join(strings.Fields(listed), " and "))
	s.check(exists(s.repo, ".git/refs/heads/main"), "there is a commit on main")
	return nil
}

func (s *stage) close(ctx context.Context) error {
	rec, err := s.run.CloseRun(ctx)
	if err != nil {
		return err
	}
	sv, err := s.save(rec, "run-close")
	if err != nil {
		return err
	}
	s.rows = append(s.rows, &row{what: "run-close", statements: []*saved{sv}})
	tally, ok := rec.Statement.Statement.Receipt.(receipt.RunClose)
	s.say("   leaf %2d  run-close  %d statements: %d admit, %d deny, %d escalate;", rec.Index,
		tally.Statements(), tally.Judgments.Admit, tally.Judgments.Deny, tally.Judgments.Escalate)
	o := tally.Outcomes
	s.say("                      %d committed, %d diverged, %d expired, %d stale, %d failed",
		o.Committed, o.Diverged, o.Expired, o.Stale, o.Failed)
	s.check(ok && tally.Statements() == uint64(len(s.receipts)) && o.Total() == o.Committed+o.Diverged+o.Expired+o.Stale+o.Failed,
		"the tallies count exactly the %d statements of this session", len(s.receipts))
	s.checkOrder(ctx)
	return nil
}

// checkOrder holds every outcome against its judgment, by the log's own order
// and by what the engine had seen when it signed.
func (s *stage) checkOrder(ctx context.Context) {
	later, younger := true, true
	for _, r := range s.rows {
		if len(r.statements) < 2 {
			continue
		}
		judgment, outcome := r.statements[0].recorded, r.statements[1].recorded
		later = later && judgment.Index < outcome.Index
		younger = younger && outcome.Statement.Statement.Call.Seen.Size > judgment.Index
	}
	s.check(later, "in the log every judgment stands before its outcome")
	s.check(younger, "every outcome is signed over a checkpoint that already held its judgment")
	size, _, err := s.log.head(ctx)
	s.check(err == nil && size == uint64(len(s.receipts))+1, "the log has %d leaves: these %d, and its registry", size, len(s.receipts))
}

func exists(elem ...string) bool {
	_, err := os.Lstat(filepath.Join(elem...))
	return err == nil
}

// act is one effect and what is expected to become of it.
type act struct {
	what        string
	effect      gate.Effect
	class       receipt.Class // green where it is empty
	harmless    bool          // it changes nothing, so nothing need be undone
	between     func() error  // what happens between judgment and commit
	verdict     string
	disposition string // empty after a denial
}

// do judges an act, commits it, saves both answers, and holds what came of
// it against what was expected.
func (s *stage) do(ctx context.Context, a act) (*gate.Outcome, error) {
	w := &watched{Effect: a.effect, log: s.log}
	req := gate.Request{
		Effect: w, Class: receipt.Green, Origin: verdict.Whole(verdict.Replay),
		Context: preview.Context{Policy: preview.Pin(s.rules.Pin())},
	}
	if a.class != "" {
		req.Class = a.class
	}
	if a.harmless {
		req.Inverse = receipt.Unneeded{}
	}
	judged, err := s.gate.Judge(ctx, req)
	if err != nil {
		return nil, err
	}
	w.judged = judged
	word := judged.Verdict().Arm().String()
	first, err := s.save(judged.Record(), "judgment-"+word)
	if err != nil {
		return nil, err
	}
	r := &row{verb: verbOf(a.effect), what: a.what, verdict: word, statements: []*saved{first}}
	s.rows = append(s.rows, r)
	s.say("   leaf %2d  %-10s %-5s  %s%s", judged.Record().Index, word, r.verb, a.what, reasons(judged))
	if a.between != nil {
		if err := a.between(); err != nil {
			return nil, err
		}
	}
	out, err := judged.Commit(ctx)
	if err != nil {
		return nil, err
	}
	if out.Record != nil {
		r.outcome = out.Disposition.Word()
		second, err := s.save(out.Record, "outcome-"+r.outcome)
		if err != nil {
			return nil, err
		}
		r.statements = append(r.statements, second)
		s.say("   leaf %2d  %-10s        %s", out.Record.Index, r.outcome, remark(out))
	}
	if word != a.verdict || r.outcome != a.disposition {
		s.check(false, "expected %s, %s", a.verdict, dash(a.disposition))
		return nil, errors.Join(fmt.Errorf("%s: the session went another way", a.what), out.Err)
	}
	s.checkFiring(w, out)
	return out, nil
}

// checkFiring holds whether the effect fired, and what the log held by then.
func (s *stage) checkFiring(w *watched, out *gate.Outcome) {
	should := out.Disposition != nil && (out.Disposition.Word() == "stale" || receipt.Attempted(out.Disposition))
	switch {
	case !should:
		s.check(!w.fired, "the sink was never called")
	case w.err != nil:
		s.check(false, "looking into the log at the moment of firing: %v", w.err)
	default:
		index := w.judged.Record().Index
		s.check(w.fired && w.size == index+1, "when the sink was called, the public log ended with leaf %d: this judgment", index)
	}
}

func verbOf(e gate.Effect) string {
	if _, ok := e.(*gate.Files); ok {
		return preview.VerbFiles
	}
	return preview.VerbExec
}

func reasons(j *gate.Judged) string {
	r, refused := j.Recovery()
	if !refused {
		return ""
	}
	return fmt.Sprintf(": %s; then %s %s", strings.Join(j.Verdict().Reasons(), ", "), r.Class, r.Hint)
}

// digests finds digests, of which a line on a screen shows the beginning.
var digests = regexp.MustCompile(`\b([0-9a-f]{8})[0-9a-f]{56}\b`)

func remark(out *gate.Outcome) string {
	var moved *gate.MovedError
	if errors.As(out.Err, &moved) {
		return moved.Key + " is not what the change was made from; nothing was applied"
	}
	if f, ok := out.Disposition.(receipt.Failed); ok {
		return fmt.Sprintf("%s %d, restored: %s", f.Code, out.Result.Process.Exit, f.Restored)
	}
	if out.Err != nil {
		return digests.ReplaceAllString(out.Err.Error(), "$1..")
	}
	if out.Result != nil && out.Result.Process != nil {
		return fmt.Sprintf("exit %d", out.Result.Process.Exit)
	}
	return "witnesses held; every file is as judged"
}

// watched fires an effect as it is, and at that very moment reads the log from
// outside, as anybody could: not through the engine's client.
type watched struct {
	gate.Effect
	log    *logd
	judged *gate.Judged // set before the commit

	fired bool
	size  uint64 // of the log when it fired
	err   error
}

func (w *watched) Freeze() (gate.Frozen, error) {
	f, err := w.Effect.Freeze()
	if err != nil {
		return nil, err
	}
	return &watchedFrozen{f, w}, nil
}

type watchedFrozen struct {
	gate.Frozen
	w *watched
}

func (f *watchedFrozen) Check(ctx context.Context) error {
	f.w.fired = true
	f.w.err = f.w.look(ctx)
	return f.Frozen.Check(ctx)
}

// look finds the judgment as the last leaf of the public log.
func (w *watched) look(ctx context.Context) (err error) {
	if w.size, _, err = w.log.head(ctx); err != nil {
		return err
	}
	got, err := w.log.statementAt(ctx, w.size-1, w.size)
	if err == nil && !bytes.Equal(got, w.judged.Record().Statement.Payload()) {
		err = fmt.Errorf("leaf %d is another statement", w.size-1)
	}
	return err
}
