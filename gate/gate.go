// Package gate lets effects happen only as they were judged, and only once the
// judgment stands in a log.
//
//	plan     an [Effect]: a command, a change set; values that the engine holds
//	preview  the effect is frozen, and one digest is made of what it will do
//	judge    the rules meet; [Gate.Judge] records the judgment and returns when
//	         the log has proven that it holds it, refusals as well as permits
//	commit   [Judged.Commit] freezes the effect again, makes the digest again,
//	         from the very bytes that it will fire, and compares
//	fire     only then, and only what was frozen
//	outcome  what became of it is recorded: committed, or why not
//
// The one call of [Frozen.Fire] in this package stands behind all of that, so
// what follows holds for every sink. What was denied, what nobody answered,
// what changed by a bit since it was judged, and what rests on files that have
// moved since, does not happen; and a receipt says so.
//
// Everything fails closed. A rule that cannot judge, a log that does not
// answer, an answer that does not prove: nothing is fired.
//
// What this version does not do: nobody can answer an escalation yet, so every
// one of them expires; a change set is not atomic across a crash; nothing is
// kept to undo an effect with; a command is not confined, so what it does
// beyond its own start is not the gate's to promise. An engine that stops
// between firing and recording leaves a judgment without an outcome, which an
// audit of the log shows.
package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// Log is where statements become durable; a *client.Run is one.
type Log interface {
	// Record MUST return without an error only when the statement stands in
	// the log, proven. Calling it again with an equal entry after an error MUST
	// record the same statement and not a second one.
	Record(ctx context.Context, e client.Entry) (*client.Recorded, error)
}

// Config is what a Gate needs; all of it is required.
type Config struct {
	Log    Log
	Secret preview.RunSecret // of the run that Log writes
	Rules  []Rule
	Now    func() time.Time // the engine's clock
	// Patience is how long an escalation waits for an answer, in whole
	// milliseconds. Then silence is a denial.
	Patience time.Duration
}

// Gate judges effects. Its methods may be called from many goroutines.
type Gate struct {
	cfg        Config
	vocabulary *receipt.Vocabulary
}

// New checks the configuration.
func New(cfg Config) (*Gate, error) {
	if cfg.Log == nil || cfg.Now == nil || len(cfg.Rules) == 0 {
		return nil, errors.New("gate: a log, a clock and at least one rule are needed; without a rule nothing could be judged")
	}
	if cfg.Patience < time.Millisecond || cfg.Patience%time.Millisecond != 0 {
		return nil, fmt.Errorf("gate: patience %v is not a number of whole milliseconds, at least one", cfg.Patience)
	}
	return &Gate{cfg, receipt.StandardVocabulary()}, nil
}

// Request is an effect with what the engine says about it.
type Request struct {
	Effect  Effect
	Task    receipt.Name // optional
	Attempt uint64       // from 1; 0: none
	Inputs  []preview.Input
	Slots   []preview.Slot
	Effects []preview.Effect // what the engine's own audit expects it to touch
	Context preview.Context
	Class   receipt.Class
	Origin  verdict.Origin
	Inverse receipt.Inverse
}

// FaultError says that no verdict was reached, so nothing happens. The fault
// stands in the log, unless Record failed, which is then in Err too.
type FaultError struct {
	Fault    receipt.Fault
	Recorded *client.Recorded // nil where it could not be recorded
	Err      error
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("no verdict (%s, %s): %v", e.Fault.Stage, e.Fault.Code, e.Err)
}

func (e *FaultError) Unwrap() error { return e.Err }

// Judge freezes the effect, asks the rules, and records what they say. When it
// returns a Judged, the judgment stands in the log.
//
// The error is a [*FaultError] where no verdict was reached, and the log's
// where the judgment could not be recorded; judging the same request again then
// records the same judgment. If that is not done, and only the log's answer was
// lost, a judgment stays in the log without an outcome.
func (g *Gate) Judge(ctx context.Context, req Request) (*Judged, error) {
	frozen, err := req.Effect.Freeze()
	if err != nil {
		return nil, g.fault(ctx, receipt.StagePreview, codePreview, nil, err)
	}
	p := req.preview(frozen.Intent())
	if err := frozen.Close(); err != nil {
		return nil, g.fault(ctx, receipt.StagePreview, codePreview, nil, err)
	}
	s, err := seal(p, g.cfg.Secret)
	if err != nil {
		return nil, g.fault(ctx, receipt.StagePreview, codePreview, nil, err)
	}
	request := s.request()
	v, err := judge(ctx, g.cfg.Rules, Proposal{Preview: s.rho.Preview(), Class: req.Class, Origin: req.Origin})
	if err != nil {
		return nil, g.fault(ctx, receipt.StageEvaluate, g.codeOfFault(err), &request, err)
	}
	ruling, err := receipt.Rule(v, recoveryOf(v))
	if err != nil {
		return nil, g.fault(ctx, receipt.StageEvaluate, codeEvaluation, &request, err)
	}
	entry := client.Entry{Receipt: receipt.Judgment{
		Request: request, Class: req.Class, Ruling: ruling, Origin: req.Origin, Reads: s.reads(), Inverse: req.Inverse,
	}}
	if where, word := g.vocabulary.Unknown(entry.Receipt); where != "" {
		err := fmt.Errorf("%s says %s, which is no word of the run's vocabulary", where, word)
		return nil, g.fault(ctx, receipt.StageEvaluate, codeEvaluation, &request, err)
	}
	if v.Arm() == verdict.ArmEscalate {
		entry.Expires = g.cfg.Now().Truncate(time.Millisecond).Add(g.cfg.Patience)
	}
	rec, err := g.cfg.Log.Record(ctx, entry)
	if err != nil {
		return nil, fmt.Errorf("the judgment could not be recorded, so nothing happens: %w", err)
	}
	return &Judged{gate: g, request: req, sealed: s, verdict: v, record: rec}, nil
}

// preview is what has the digest: the intent of what was frozen, and a copy of
// what the engine says beside it, whose slices may change meanwhile.
func (r *Request) preview(intent preview.Intent) preview.Preview {
	return preview.Preview{
		Task: string(r.Task), Attempt: r.Attempt, Intent: intent, Inputs: slices.Clone(r.Inputs), Slots: slices.Clone(r.Slots),
		Effects: slices.Clone(r.Effects), Context: r.Context,
	}
}

// fault records that there was no verdict.
func (g *Gate) fault(ctx context.Context, stage receipt.Stage, code receipt.Code, req *receipt.Request, cause error) error {
	f := receipt.Fault{Stage: stage, Code: code, Posture: receipt.FailClosed{Request: req}}
	rec, err := g.cfg.Log.Record(ctx, client.Entry{Receipt: f})
	return &FaultError{Fault: f, Recorded: rec, Err: errors.Join(cause, err)}
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
