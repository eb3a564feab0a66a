package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/gate/policy"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/trust"
	"github.com/obstat/obstat/verdict"
)

// GateCost is what a gate adds to an effect that does nothing, in seconds:
// judgment and outcome, with Cedar policies, one caller.
type GateCost struct {
	Effects   int     `json:"effects"`
	StrictP50 float64 `json:"strict_added_p50"` // beside keeping, sending and checking two statements
	StrictP99 float64 `json:"strict_added_p99"`
	SubmitP50 float64 `json:"two_submits_p50"` // kept on disk, sent, and the proof checked
	SubmitP99 float64 `json:"two_submits_p99"`

	// A statement of that size by the client alone: sent, and the proof checked.
	BareP50 float64 `json:"one_bare_submit_p50"`
	BareP99 float64 `json:"one_bare_submit_p99"`
	// The whole of a strict effect beside two of those: what keeping statements on
	// disk before they are sent costs is in it.
	OverBareP50 float64 `json:"strict_over_two_bare_submits_p50"`

	// The whole of a relaxed effect, while the spool is drained into the log: one
	// after the other, and one every few milliseconds.
	RelaxedP50 float64 `json:"relaxed_added_p50"`
	RelaxedP99 float64 `json:"relaxed_added_p99"`
	PacedP50   float64 `json:"relaxed_paced_added_p50"`
	PacedP99   float64 `json:"relaxed_paced_added_p99"`
	Drained    float64 `json:"drained_statements_a_second"` // while effects come one after the other
}

const (
	gateEffects = 600                  // how many are measured
	gatePace    = 8 * time.Millisecond // between effects that are paced
)

// nothing is an effect that does nothing.
type nothing struct{ n int }

func (e nothing) Freeze() (gate.Frozen, error) { return e, nil }
func (e nothing) Plan() gate.Plan {
	return gate.Plan{Intent: preview.Tool{Server: "bench", Tool: "nothing", Arguments: fmt.Appendf(nil, `{"n":%d}`, e.n)}}
}
func (nothing) Invert() (gate.Inverse, error)                { return gate.Inverse{}, nil }
func (nothing) Check(context.Context) error                  { return nil }
func (nothing) Apply(context.Context, gate.Call) gate.Result { return gate.Result{} }
func (nothing) Close() error                                 { return nil }

// timedLog counts the time that is spent in the log.
type timedLog struct {
	gate.Log
	spent time.Duration
}

func (l *timedLog) Record(ctx context.Context, e client.Entry) (*client.Recorded, error) {
	began := time.Now()
	rec, err := l.Log.Record(ctx, e)
	l.spent += time.Since(began)
	return rec, err
}

const benchPolicy = `
@id("bench") permit (principal, action == Action::"tool", resource in Server::"bench");
@reason("ARGUMENT-NOT-ALLOWED") forbid (principal, action, resource) when { context.arguments has n && context.arguments.n < 0 };
@escalate("CLASS-RED") forbid (principal, action, resource) when { context.class == "red" };
`

// gateCost measures gates over a log of their own.
func gateCost(ctx context.Context, cfg *Config, work string) (g GateCost, err error) {
	s, err := serve(ctx, cfg.Bin, filepath.Join(work, "log-gate"))
	if err != nil {
		return g, err
	}
	defer func() {
		_, e := s.stop()
		err = errors.Join(err, e)
	}()
	c, err := s.client()
	if err != nil {
		return g, err
	}
	defer c.Close()
	g.Effects = gateEffects
	if err := g.bare(ctx, s, c); err != nil {
		return g, err
	}
	if err := g.strict(ctx, s, c, work); err != nil {
		return g, err
	}
	return g, g.relaxed(ctx, s, c, work)
}

// bare measures a client that submits and keeps nothing.
func (g *GateCost) bare(ctx context.Context, s *server, c *client.Client) error {
	all, err := envelopes(s.key, "bare", gateEffects)
	if err != nil {
		return err
	}
	var took []time.Duration
	for _, e := range all {
		began := time.Now()
		if _, err := c.Submit(ctx, e); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	g.BareP50, g.BareP99 = percentiles(took)
	return nil
}

func (g *GateCost) strict(ctx context.Context, s *server, c *client.Client, work string) error {
	run, err := client.Create(c, client.RunConfig{Dir: filepath.Join(work, "gate-run"), Name: "gate", Key: s.key, Now: time.Now})
	if err != nil {
		return err
	}
	defer run.Close()
	log, judge, err := newGate(ctx, c, run, nil, filepath.Join(work, "gate-store"))
	if err != nil {
		return err
	}
	var added, submits, whole []time.Duration
	for n := range gateEffects {
		log.spent = 0
		began := time.Now()
		if err := once(ctx, judge, n); err != nil {
			return err
		}
		took := time.Since(began)
		added, submits, whole = append(added, took-log.spent), append(submits, log.spent), append(whole, took)
	}
	g.StrictP50, g.StrictP99 = percentiles(added)
	g.SubmitP50, g.SubmitP99 = percentiles(submits)
	total, _ := percentiles(whole)
	g.OverBareP50 = total - 2*g.BareP50
	return nil
}

func (g *GateCost) relaxed(ctx context.Context, s *server, c *client.Client, work string) (err error) {
	run, err := client.Create(c, client.RunConfig{Dir: filepath.Join(work, "relaxed-run"), Name: "relaxed", Key: s.key, Now: time.Now})
	if err != nil {
		return err
	}
	defer run.Close()
	_, judge, err := newGate(ctx, c, run, run, filepath.Join(work, "relaxed-store"))
	if err != nil {
		return err
	}
	draining, stop := context.WithCancel(ctx)
	drained := make(chan error, 1)
	go func() { drained <- run.Drain(draining) }()
	defer func() {
		stop()
		err = errors.Join(err, <-drained)
	}()
	measure := func(from int, pace time.Duration) (p50, p99 float64, err error) {
		var took []time.Duration
		for n := range gateEffects {
			time.Sleep(pace)
			began := time.Now()
			if err := once(ctx, judge, from+n); err != nil {
				return 0, 0, err
			}
			took = append(took, time.Since(began))
		}
		p50, p99 = percentiles(took)
		return p50, p99, nil
	}
	began := time.Now()
	if g.RelaxedP50, g.RelaxedP99, err = measure(0, 0); err != nil {
		return err
	}
	if err := run.Flush(ctx); err != nil {
		return err
	}
	g.Drained = 2 * gateEffects / time.Since(began).Seconds()
	g.PacedP50, g.PacedP99, err = measure(gateEffects, gatePace)
	return err
}

// newGate is a gate with Cedar policies over an opened run; strict where spool is
// nil.
func newGate(ctx context.Context, c *client.Client, run *client.Run, spool gate.Spool, dir string) (*timedLog, *gate.Gate, error) {
	kept, err := gate.OpenStore(dir)
	if err != nil {
		return nil, nil, err
	}
	rules, err := policy.Parse("bench.cedar", []byte(benchPolicy), "bench")
	if err != nil {
		return nil, nil, err
	}
	log := &timedLog{Log: run}
	g, err := gate.New(gate.Config{Log: log, Spool: spool, Store: kept, Secret: run.Secret(), Rules: []gate.Rule{rules}, Now: time.Now, Patience: time.Second})
	if err != nil {
		return nil, nil, err
	}
	_, err = g.OpenRun(ctx, gate.Opening{Engine: "bench", Version: "1", Policy: rules.Pin()}, c.Origin())
	return log, g, err
}

func once(ctx context.Context, g *gate.Gate, n int) error {
	j, err := g.Judge(ctx, gate.Request{Effect: nothing{n}, Class: receipt.Green, Origin: verdict.Whole(verdict.Replay)})
	if err != nil {
		return err
	}
	out, err := j.Commit(ctx)
	if err == nil && out.Disposition.Word() != "committed" {
		err = fmt.Errorf("an effect that does nothing was %s: %w", out.Disposition.Word(), out.Err)
	}
	return err
}

func percentiles(all []time.Duration) (p50, p99 float64) {
	slices.Sort(all)
	return all[len(all)/2].Seconds(), all[len(all)*99/100].Seconds()
}

// client is one that trusts the log by its own files.
func (s *server) client() (*client.Client, error) {
	read := func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(s.dir, name)) }
	p, err := read("log.policy")
	if err != nil {
		return nil, err
	}
	e, err := read("trust")
	if err != nil {
		return nil, err
	}
	logs, err := trust.ParsePolicy(p)
	if err != nil {
		return nil, err
	}
	engines, err := trust.ParseEngines(e)
	if err != nil {
		return nil, err
	}
	return client.New(client.Config{URL: "http://" + s.addr, Policy: logs, Engines: engines})
}
