// Package gate lets effects happen only as they were judged, and only once the
// judgment stands in a log.
//
//	plan     an [Effect]: a command, a change set; values that the engine holds
//	preview  the effect is frozen, and one digest is made of what it will do
//	judge    the rules meet; [Gate.Judge] records the judgment and returns when
//	         the log has proven that it holds it, refusals as well as permits
//	commit   [Judged.Commit] freezes the effect again, makes the digest again,
//	         from the very bytes that it will apply, and compares
//	apply    only then, and only what was frozen
//	outcome  what became of it is recorded: committed, or why not
//
// The one call of [Frozen.Apply] in this package stands behind all of that, so
// what follows holds for every sink. What was denied, what nobody answered,
// what changed by a bit since it was judged, and what rests on files that have
// moved since, does not happen; and a receipt says so.
//
// Everything fails closed. A rule that cannot judge, a log that does not
// answer, an answer that does not prove: nothing happens. What else is wanted
// has to be said ([Config.FailOpen], [Config.Spool]), and then receipts say it.
//
// What it does not do: nobody can answer an escalation yet, so every one of them
// expires; a command is not confined, so what it does beyond its own start is not
// the gate's to promise. After a crash [Gate.Recover] settles every call that the
// run left open, by what the sinks wrote down before they acted.
package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// Log is where statements become durable; a *client.Run is one. Whether it
// waits for the log alone or for witnesses is its own setting.
type Log interface {
	// Record MUST return without an error only when the statement stands in
	// the log, proven. Calling it again with an equal entry after an error MUST
	// record the same statement and not a second one.
	Record(ctx context.Context, e client.Entry) (*client.Recorded, error)
}

// Spool keeps statements on this machine and passes them on to the log later, in
// order.
type Spool interface {
	// Keep MUST return without an error only when the statement survives the end
	// of the process, and takes its place in the run that Log writes.
	Keep(ctx context.Context, e client.Entry) (*receipt.Decoded, error)
}

// Config is what a Gate needs. What is not said to be optional is required.
type Config struct {
	Log    Log
	Store  *Store
	Secret preview.RunSecret // of the run that Log writes
	Rules  []Rule
	Now    func() time.Time // the engine's clock
	// Patience is how long an escalation waits for an answer, in whole
	// milliseconds. Then silence is a denial.
	Patience time.Duration
	// Spool makes the gate relaxed: admitted effects wait until their judgment is
	// kept on this machine, and not for the log. Every such judgment says so, by
	// the name [Relaxed] among those that admitted. Escalations and open faults
	// wait for the log all the same. nil: strict.
	Spool Spool
	// FailOpen lists faults of rules over which an effect happens although it
	// was not judged; the fault, which then stands in the log before it, says so.
	// It never opens what a rule denied, or wanted a person to decide. Empty:
	// nothing happens without a verdict.
	FailOpen []receipt.Code
}

// Relaxed is the name among those that admitted which says that the effect did
// not wait for the log (spec/verdict.md#names).
const Relaxed = ReservedName + "relaxed"

// Gate judges effects. Its methods may be called from many goroutines.
type Gate struct {
	cfg        Config
	vocabulary *receipt.Vocabulary
}

// New checks the configuration.
func New(cfg Config) (*Gate, error) {
	if cfg.Log == nil || cfg.Store == nil || cfg.Now == nil || len(cfg.Rules) == 0 {
		return nil, errors.New("gate: a log, a store, a clock and at least one rule are needed; without a rule nothing could be judged")
	}
	if cfg.Patience < time.Millisecond || cfg.Patience%time.Millisecond != 0 {
		return nil, fmt.Errorf("gate: patience %v is not a number of whole milliseconds, at least one", cfg.Patience)
	}
	g := &Gate{cfg, receipt.StandardVocabulary()}
	for _, c := range cfg.FailOpen {
		if !g.vocabulary.Knows(receipt.PlaceFault, c) {
			return nil, fmt.Errorf("gate: %s is no word for a fault (spec/vocabulary.md#fault)", c)
		}
	}
	return g, nil
}

// Request is an effect with what the engine says about it.
type Request struct {
	Effect  Effect
	Task    receipt.Name // optional
	Attempt uint64       // from 1; 0: none
	Inputs  []preview.Input
	Slots   []preview.Slot   // beside those of the effect
	Effects []preview.Effect // what the engine's own audit expects, beside what the effect shows
	Context preview.Context  // beside the pins that the effect knows
	Class   receipt.Class
	Origin  verdict.Origin
	// Inverse is what the engine knows about effects that the gate cannot undo:
	// NoInverse or Unneeded. nil: what the sink says.
	Inverse receipt.Inverse
}

// FaultError says that no verdict was reached, so nothing happens. The fault
// stands in the log, unless recording it failed, which is then in Err too.
type FaultError struct {
	Fault     receipt.Fault
	Statement *receipt.Decoded // nil where it could not be recorded
	Recorded  *client.Recorded // nil also where it was spooled
	Err       error
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("no verdict (%s, %s): %v", e.Fault.Stage, e.Fault.Code, e.Err)
}

func (e *FaultError) Unwrap() error { return e.Err }

// Judge freezes the effect, asks the rules, and records what they say. When it
// returns a Judged, the judgment stands in the log, or in the spool of a gate
// that is relaxed.
//
// The error is a [*FaultError] where no verdict was reached, and the log's
// where the judgment could not be recorded; judging the same request again then
// records the same judgment. If that is not done, and only the log's answer was
// lost, a judgment stays in the log without an outcome, until Recover.
func (g *Gate) Judge(ctx context.Context, req Request) (*Judged, error) {
	s, inverse, err := g.seal(req)
	if err != nil {
		return nil, g.fault(ctx, receipt.StagePreview, codePreview, nil, err)
	}
	request := s.request()
	if err := g.cfg.Store.putRho(s.rho); err != nil {
		return nil, g.fault(ctx, receipt.StageRecord, codeExhausted, &request, err)
	}
	v, rest, err := judge(ctx, g.cfg.Rules, Proposal{
		Preview: s.rho.Preview(), Class: req.Class, Origin: req.Origin, Reversible: inverse.Delta != nil,
	})
	if err != nil {
		return g.unjudged(ctx, req, s, rest, err)
	}
	for _, name := range v.By() {
		if strings.HasPrefix(name, ReservedName) {
			return nil, g.fault(ctx, receipt.StageEvaluate, codeRuleFailed, &request, fmt.Errorf("a rule is called %s, and %s… is the gate's own", name, ReservedName))
		}
	}
	if g.cfg.Spool != nil && v.Arm() == verdict.ArmAdmit {
		if v, err = verdict.Admit(append(v.By(), Relaxed)...); err != nil {
			return nil, err
		}
	}
	jd, err := g.judgment(req, s, v, inverse)
	if err != nil {
		return nil, g.fault(ctx, receipt.StageEvaluate, codeEvaluation, &request, err)
	}
	if v.Arm() != verdict.ArmDeny && inverse.Delta != nil {
		if err := g.cfg.Store.escrow(request.Digest, inverse.Delta); err != nil {
			return nil, g.fault(ctx, receipt.StageRecord, codeExhausted, &request, err)
		}
	}
	entry := client.Entry{Receipt: jd}
	if v.Arm() == verdict.ArmEscalate {
		entry.Expires = g.cfg.Now().Truncate(time.Millisecond).Add(g.cfg.Patience)
	}
	j := &Judged{gate: g, request: req, sealed: s, verdict: v}
	j.spooled = g.cfg.Spool != nil && v.Arm() != verdict.ArmEscalate
	if j.statement, j.record, err = g.record(ctx, entry, j.spooled); err != nil {
		return nil, fmt.Errorf("the judgment could not be recorded, so nothing happens: %w", err)
	}
	return j, nil
}

// seal freezes the effect and makes its one preview.
func (g *Gate) seal(req Request) (*sealed, Inverse, error) {
	frozen, err := req.Effect.Freeze()
	if err != nil {
		return nil, Inverse{}, err
	}
	p, err := req.preview(frozen.Plan())
	if err != nil {
		return nil, Inverse{}, errors.Join(err, frozen.Close())
	}
	inverse, err := frozen.Invert()
	if err != nil { // what has moved by now, the commit shows
		inverse = Inverse{None: codeUnknown}
	}
	if err := frozen.Close(); err != nil {
		return nil, Inverse{}, err
	}
	s, err := seal(p, g.cfg.Secret)
	return s, inverse, err
}

// judgment is what v says about a request.
func (g *Gate) judgment(req Request, s *sealed, v verdict.Verdict, inverse Inverse) (receipt.Judgment, error) {
	ruling, err := receipt.Rule(v, recoveryOf(v))
	if err != nil {
		return receipt.Judgment{}, err
	}
	jd := receipt.Judgment{Request: s.request(), Class: req.Class, Ruling: ruling, Origin: req.Origin, Reads: s.reads()}
	switch {
	case v.Arm() == verdict.ArmDeny:
		jd.Inverse = receipt.Unneeded{} // nothing will have happened
	case inverse.Delta != nil:
		d, err := g.cfg.Secret.Disclose(s.rho.Digest(), preview.FieldDelta, preview.Index(0), preview.ContentOf(inverse.Delta).Value())
		if err != nil {
			return receipt.Judgment{}, err
		}
		jd.Inverse = receipt.Escrowed{Delta: d.Commitment()}
	case req.Inverse != nil:
		if _, held := req.Inverse.(receipt.Escrowed); held {
			return receipt.Judgment{}, errors.New("only the gate says that it holds an inverse")
		}
		jd.Inverse = req.Inverse
	case inverse.None == "":
		jd.Inverse = receipt.Unneeded{}
	default:
		jd.Inverse = receipt.NoInverse{Code: inverse.None}
	}
	if where, word := g.vocabulary.Unknown(jd); where != "" {
		return receipt.Judgment{}, fmt.Errorf("%s says %s, which is no word of the run's vocabulary", where, word)
	}
	return jd, nil
}

// record puts a statement into the log, or, where that will do, into the spool.
func (g *Gate) record(ctx context.Context, e client.Entry, spool bool) (*receipt.Decoded, *client.Recorded, error) {
	if g.cfg.Spool != nil && spool {
		st, err := g.cfg.Spool.Keep(ctx, e)
		return st, nil, err
	}
	rec, err := g.cfg.Log.Record(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	return rec.Statement, rec, nil
}

// preview is what has the digest: the plan of what was frozen, and a copy of
// what the engine says beside it, whose slices may change meanwhile.
func (r *Request) preview(p Plan) (preview.Preview, error) {
	ctx, err := p.Context.Join(r.Context)
	effects := slices.Concat(p.Effects, r.Effects)
	slices.SortFunc(effects, func(a, b preview.Effect) int {
		return cmp.Or(cmp.Compare(a.On, b.On), cmp.Compare(a.Target, b.Target))
	})
	return preview.Preview{
		Task: string(r.Task), Attempt: r.Attempt, Intent: p.Intent, Inputs: slices.Clone(r.Inputs),
		Slots: slices.Concat(p.Slots, r.Slots), Effects: slices.Compact(effects), Reads: slices.Clone(p.Reads), Context: ctx,
	}, err
}

// unjudged is what becomes of a request on which no verdict was reached; rest
// is what the rules that could judge say together.
func (g *Gate) unjudged(ctx context.Context, req Request, s *sealed, rest verdict.Evaluation, cause error) (*Judged, error) {
	request, code := s.request(), g.codeOfFault(cause)
	v, _ := rest.Result()
	if !slices.Contains(g.cfg.FailOpen, code) || v.Arm() == verdict.ArmEscalate {
		return nil, g.fault(ctx, receipt.StageEvaluate, code, &request, cause)
	}
	f := receipt.Fault{Stage: receipt.StageEvaluate, Code: code, Posture: receipt.FailOpen{Request: request}}
	j := &Judged{gate: g, request: req, sealed: s, unjudged: cause}
	var err error
	if j.statement, j.record, err = g.record(ctx, client.Entry{Receipt: f}, false); err != nil {
		return nil, fmt.Errorf("the fault could not be recorded, so nothing happens: %w", errors.Join(cause, err))
	}
	return j, nil
}

// fault records that there was no verdict, and that nothing happens.
func (g *Gate) fault(ctx context.Context, stage receipt.Stage, code receipt.Code, req *receipt.Request, cause error) error {
	f := receipt.Fault{Stage: stage, Code: code, Posture: receipt.FailClosed{Request: req}}
	st, rec, err := g.record(ctx, client.Entry{Receipt: f}, true)
	return &FaultError{Fault: f, Statement: st, Recorded: rec, Err: errors.Join(cause, err)}
}

// codeOfFault is the first code of a fault that the vocabulary knows.
func (g *Gate) codeOfFault(err error) receipt.Code {
	var f verdict.Fault
	if errors.As(err, &f) {
		for _, c := range f.Codes() {
			if g.vocabulary.Knows(receipt.PlaceFault, receipt.Code(c)) {
				return receipt.Code(c)
			}
		}
	}
	return codeEvaluation
}
