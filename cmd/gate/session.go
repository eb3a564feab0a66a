package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/gate/policy"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
	"github.com/obstat/obstat/verdict"
)

// A gate's directory:
//
//	gate.toml   settings
//	current     name of the open run
//	lock        held while a run is opened or closed, or the log is changed
//	keys/       the engine's key, where init made it
//	successions/  evidence that one log goes on as another
//	runs/NAME/  its secret, its statements, the log's answers, and evidence
//	store/      what the gate keeps (docs/gate.md#the-store)
//	pending     a proposal that waits for consent

const (
	lockName    = "lock"
	currentName = "current"
	pendingName = "pending"
	keysName    = "keys"
	runsName    = "runs"
	storeName   = "store"
)

// session is the open run of a gate's directory, taken up where it stopped.
type session struct {
	console
	cfg   *Config
	tree  durable.FS // the gate's directory
	trust logTrust
	// successions lead from the log of trust to that of client.
	successions []*bundle.Succession
	client      *client.Client
	run         *client.Run
	gate        *gate.Gate
	store       *gate.Store
	rules       *policy.File // nil where nothing is judged
	pin         receipt.Pin  // of the policy that the run began with
}

// begin reads the settings and makes a client; the caller closes the session.
func begin(dir string, c console) (*session, error) {
	cfg, err := readConfig(dir)
	if err != nil {
		return nil, err
	}
	s := &session{console: c, cfg: cfg}
	if s.tree, err = durable.OpenDir(dir); err != nil {
		return nil, err
	}
	if s.trust, err = cfg.readTrust(); err != nil {
		return nil, err
	}
	for _, name := range cfg.Successions {
		b, err := durable.ReadFile(s.tree, filepath.ToSlash(name), maxSuccession)
		if err != nil {
			return nil, err
		}
		next, err := bundle.ParseSuccession(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.successions = append(s.successions, next)
	}
	s.client, err = cfg.client(s.trust, s.successions, cfg.Log)
	return s, err
}

// logTrust is what the files of the settings say about the log.
type logTrust struct {
	policy  *trust.Policy
	engines *trust.Engines
}

func (c *Config) readTrust() (t logTrust, err error) {
	p, err := os.ReadFile(c.Policy)
	if err != nil {
		return t, err
	}
	e, err := os.ReadFile(c.Trust)
	if err != nil {
		return t, err
	}
	if t.policy, err = trust.ParsePolicy(p); err != nil {
		return t, fmt.Errorf("%s: %w", c.Policy, err)
	}
	if t.engines, err = trust.ParseEngines(e); err != nil {
		return t, fmt.Errorf("%s: %w", c.Trust, err)
	}
	return t, nil
}

func (c *Config) client(t logTrust, s []*bundle.Succession, url string) (*client.Client, error) {
	return client.New(client.Config{URL: url, Policy: t.policy, Engines: t.engines, Successions: s, Witnessed: c.Mode == modeWitnessed})
}

func (s *session) close() error {
	var err error
	if s.run != nil {
		err = s.run.Close()
	}
	if s.client != nil {
		s.client.Close()
	}
	return err
}

// end is close, after a try to pass on what a relaxed gate kept. That the log does
// not answer is no failure of what was done.
func (s *session) end(ctx context.Context) error {
	if s.cfg.Mode != modeRelaxed || s.run == nil {
		return s.close()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTime)
	defer cancel()
	if err := s.run.Flush(ctx); err != nil {
		s.explainEnd(ctx, err)
		if now, e := s.run.Standing(); e == nil && now.Unanswered > 0 {
			s.say("%d statements are kept here and not in the log yet: gate sync", now.Unanswered)
		}
		var broken *client.ProofError
		if errors.As(err, &broken) {
			return errors.Join(err, s.close())
		}
	}
	return s.close()
}

func (s *session) runConfig(name string) (client.RunConfig, error) {
	key, err := readKey(s.cfg.Key)
	return client.RunConfig{Dir: s.runDir(name), Name: receipt.Name(name), Key: key, Now: time.Now}, err
}

// openGate puts a gate over the run, which judges by rule.
func (s *session) openGate(rule gate.Rule) (err error) {
	if s.store, err = gate.OpenStore(filepath.Join(s.tree.String(), storeName)); err != nil {
		return err
	}
	patience, err := time.ParseDuration(s.cfg.Patience)
	if err != nil {
		return err
	}
	cfg := gate.Config{
		Log: s.run, Store: s.store, Secret: s.run.Secret(), Rules: []gate.Rule{rule},
		Now: time.Now, Patience: patience, FailOpen: s.cfg.FailOpen,
	}
	if s.cfg.Mode == modeRelaxed {
		cfg.Spool = s.run
	}
	s.gate, err = gate.New(cfg)
	return err
}

// judgesNothing is the rule of commands that only settle what others began, so
// that a run ends well whatever has become of its policy file.
var judgesNothing = gate.RuleFunc(func(context.Context, gate.Proposal) (verdict.Verdict, error) {
	return verdict.Verdict{}, errors.New("this command judges nothing")
})

// readRules reads the policy file, which has to be the one that the run began with.
func (s *session) readRules() (err error) {
	if s.rules, err = policy.Open(s.cfg.Rules, s.cfg.Agent); err == nil && s.rules.Pin() != s.pin {
		err = fmt.Errorf("%s is not the policy that run %s began with: close the run and open another", s.cfg.Rules, s.run.Name())
	}
	return err
}

// take opens the current run to judge in it, sends what has no answer yet, and settles what a
// crash left open. The caller closes the session.
func take(ctx context.Context, dir string, c console) (*session, error) {
	s, err := begin(dir, c)
	if err != nil {
		return nil, err
	}
	if err := s.takeUp(ctx, true); err != nil {
		s.explainEnd(ctx, err)
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *session) takeUp(ctx context.Context, judges bool) error {
	name, err := s.current()
	if err != nil {
		return err
	}
	if name == "" {
		return errors.New("no run is open: gate run open NAME")
	}
	if err := s.openRun(name); err != nil {
		return err
	}
	if s.pin, err = s.runsPolicy(ctx); err != nil {
		return err
	}
	rule := gate.Rule(judgesNothing)
	if judges {
		was, err := s.run.Standing()
		if err == nil && was.Closed {
			err = fmt.Errorf("run %s has said its run-close: gate run close ends it here too", name)
		}
		if err == nil {
			err = s.readRules()
		}
		if err != nil {
			return err
		}
		rule = s.rules
	}
	if err := s.openGate(rule); err != nil {
		return err
	}
	if s.cfg.Mode != modeRelaxed {
		if err := s.run.Flush(ctx); err != nil {
			return err
		}
	}
	p, err := s.pending()
	if err != nil {
		return err
	}
	if p != nil && s.settled(ctx, p.judgment) { // and the end came before that was written down
		p = nil
		if err := s.forget(); err != nil {
			return err
		}
	}
	var stay []receipt.CID
	if p != nil {
		stay = append(stay, p.judgment)
	}
	recovered, err := s.gate.Recover(ctx, s.run.Statements(ctx), stay...)
	for _, r := range recovered {
		s.say("a call that was left open, %s, is %s", r.Call.CID, r.Disposition.Word())
		if r.Err != nil {
			s.say("  %v", r.Err)
		}
	}
	return err
}

// lock keeps others from changing which run is open, or what the settings are.
func lock(tree durable.FS) (durable.Lock, error) {
	l, err := tree.Lock(lockName)
	var held *durable.LockedError
	if errors.As(err, &held) {
		err = &report.Error{
			Code: report.CodeRunLocked, Where: held.Name, Expected: "a gate's directory that nobody else changes", Actual: held.Error(),
			Fix: "wait until that process has ended",
		}
	}
	return l, err
}

// openRun takes a run up where it stopped.
func (s *session) openRun(name string) error {
	cfg, err := s.runConfig(name)
	if err != nil {
		return err
	}
	s.run, err = client.Open(s.client, cfg)
	return err
}

// settled says whether a statement of the run settles another.
func (s *session) settled(ctx context.Context, judgment receipt.CID) bool {
	for st, err := range s.run.Statements(ctx) {
		if err == nil && st.Statement.Call.Settles == judgment {
			return true
		}
	}
	return false
}

// runsPolicy is the pin of the policy file that the run began with.
func (s *session) runsPolicy(ctx context.Context) (receipt.Pin, error) {
	for st, err := range s.run.Statements(ctx) {
		if err != nil {
			return receipt.Pin{}, err
		}
		if open, ok := st.Statement.Receipt.(receipt.RunOpen); ok {
			return open.Policy, nil
		}
		break
	}
	return receipt.Pin{}, fmt.Errorf("run %s has no run-open", s.run.Name())
}

// current is the name of the open run, empty where there is none.
func (s *session) current() (string, error) {
	b, err := durable.ReadFile(s.tree, currentName, verdict.MaxName+1)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), err
}

// request is an effect as this program asks for it.
func (s *session) request(e gate.Effect, class receipt.Class, origin verdict.Origin) gate.Request {
	return gate.Request{
		Effect: e, Class: class, Origin: origin, Context: preview.Context{Policy: preview.Pin(s.pin)},
	}
}

// judge asks the gate, and says what it says. A request that is not admitted ends
// the program.
func (s *session) judge(ctx context.Context, req gate.Request) (*gate.Judged, error) {
	j, err := s.gate.Judge(ctx, req)
	if err != nil {
		s.explainEnd(ctx, err)
		return nil, err
	}
	switch {
	case j.Unjudged() != nil:
		s.say("NOT JUDGED, and let through as configured: %v", j.Unjudged())
	case j.Verdict().Arm() == verdict.ArmAdmit:
		s.say("admitted by %s", strings.Join(j.Verdict().By(), ", "))
	default:
		s.say("%s", j.Refusal())
	}
	s.say("judgment %s", j.Statement().CID)
	if j.Verdict().Arm() == verdict.ArmDeny {
		return nil, &exitError{exitRefused}
	}
	return j, nil
}

// commit lets it happen, and says what became of it. What did not happen as it
// was asked for ends the program, with the status of the command where one ran.
func (s *session) commit(ctx context.Context, j *gate.Judged) (*gate.Outcome, error) {
	out, err := j.Commit(ctx)
	if err != nil {
		return nil, err
	}
	return out, s.tell(out)
}

func (s *session) tell(out *gate.Outcome) error {
	word := out.Disposition.Word()
	if refusal := out.Refusal(); refusal != "" {
		s.say("%s", refusal)
	} else {
		s.say("%s", word)
	}
	if out.Err != nil {
		s.say("%v", out.Err)
	}
	s.say("outcome %s", out.Statement.CID)
	switch {
	case word == "committed":
		return nil
	case out.Result != nil && out.Result.Process != nil && out.Result.Process.Exit > 0:
		return &exitError{out.Result.Process.Exit}
	case receipt.Attempted(out.Disposition):
		return &exitError{exitFailed}
	}
	return &exitError{exitRefused}
}
