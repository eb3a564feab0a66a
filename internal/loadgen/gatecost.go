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
	StrictP50 float64 `json:"strict_added_p50"` // beside the two submits that it makes
	StrictP99 float64 `json:"strict_added_p99"`
	SubmitP50 float64 `json:"two_submits_p50"` // kept on disk, sent, and the proof checked
	SubmitP99 float64 `json:"two_submits_p99"`
}

// gateEffects is how many effects are measured.
const gateEffects = 600

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

// gateCost measures a strict gate over a log of its own.
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
	run, err := client.Create(c, client.RunConfig{Dir: filepath.Join(work, "gate-run"), Name: "gate", Key: s.key, Now: time.Now})
	if err != nil {
		return g, err
	}
	defer run.Close()
	log, judge, err := newGate(ctx, c, run, filepath.Join(work, "gate-store"))
	if err != nil {
		return g, err
	}
	var added, submits []time.Duration
	for n := range gateEffects {
		log.spent = 0
		began := time.Now()
		if err := once(ctx, judge, n); err != nil {
			return g, err
		}
		added = append(added, time.Since(began)-log.spent)
		submits = append(submits, log.spent)
	}
	g.Effects = gateEffects
	g.StrictP50, g.StrictP99 = percentiles(added)
	g.SubmitP50, g.SubmitP99 = percentiles(submits)
	return g, nil
}

// newGate is a strict gate with Cedar policies over an opened run.
func newGate(ctx context.Context, c *client.Client, run *client.Run, dir string) (*timedLog, *gate.Gate, error) {
	kept, err := gate.OpenStore(dir)
	if err != nil {
		return nil, nil, err
	}
	rules, err := policy.Parse("bench.cedar", []byte(benchPolicy), "bench")
	if err != nil {
		return nil, nil, err
	}
	log := &timedLog{Log: run}
	g, err := gate.New(gate.Config{Log: log, Store: kept, Secret: run.Secret(), Rules: []gate.Rule{rules}, Now: time.Now, Patience: time.Second})
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
