package sinktest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/gate/sinktest"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// reports is a test that keeps what is reported to it.
type reports []string

func (*reports) Helper() {}

func (r *reports) Errorf(format string, args ...any) { *r = append(*r, fmt.Sprintf(format, args...)) }

// world is one cell of memory.
type world struct{ cell string }

// set is an effect that gives the cell another content. Its faults are what it
// does wrong.
type set struct {
	w      *world
	after  []byte
	faults fault
}

// fault is what a broken sink does.
type fault struct {
	sharesMemory, plansFromEngine, changesOnFreeze, changesOnPlan, changesOnCheck, changesOnInvert, ignoresMove, checksNothing,
	fires2, halfThenFails, wrongInverse, unknownInverse, unknownError, unknownCode, noRestored, intendsAfter, ignoresIntend,
	planMoves, leavesOut, doesNothing, closeFails bool
}

type frozen struct {
	s      *set
	before string
	after  []byte
	faults fault
	done   bool
}

func (s *set) Freeze() (gate.Frozen, error) {
	f := &frozen{s: s, before: s.w.cell, after: slices.Clone(s.after), faults: s.faults}
	if s.faults.sharesMemory {
		f.after = s.after
	}
	if s.faults.changesOnFreeze {
		s.w.cell += "!"
	}
	return f, nil
}

func (f *frozen) Plan() gate.Plan {
	after := f.after
	if f.faults.plansFromEngine {
		after = f.s.after
	}
	if f.faults.changesOnPlan {
		f.s.w.cell += "!"
	}
	if f.faults.planMoves && f.done {
		after = append(slices.Clone(after), '!')
	}
	if f.faults.leavesOut {
		after = nil
	}
	return gate.Plan{Intent: preview.Files{Root: "/", Changes: []preview.Change{{
		Path: "cell", Before: preview.ContentOf([]byte(f.before)), After: preview.ContentOf(after), Mode: preview.ModeProgram,
	}}}}
}

func (f *frozen) Invert() (gate.Inverse, error) {
	switch {
	case f.faults.changesOnInvert:
		f.s.w.cell += "!"
	case f.faults.wrongInverse:
		return gate.Inverse{Delta: []byte("x")}, nil
	case f.faults.unknownInverse:
		return gate.Inverse{None: "BECAUSE"}, nil
	}
	return gate.Inverse{Delta: []byte(f.before)}, nil
}

func (f *frozen) Check(context.Context) error {
	if f.faults.changesOnCheck {
		f.s.w.cell += "!"
	}
	if f.s.w.cell != f.before && !f.faults.checksNothing {
		return &gate.MovedError{Key: "cell", Expected: preview.ContentOf([]byte(f.before)), Seen: preview.ContentOf([]byte(f.s.w.cell))}
	}
	return nil
}

func (f *frozen) Apply(_ context.Context, c gate.Call) gate.Result {
	if f.done && !f.faults.fires2 {
		return gate.Result{Err: &gate.RefusedError{Code: "LIMIT-REACHED", Err: errors.New("again")}}
	}
	f.done = true
	if !f.faults.ignoresMove && !f.faults.fires2 && f.s.w.cell != f.before {
		switch {
		case f.faults.unknownError:
			return gate.Result{Err: errors.New("something")}
		case f.faults.unknownCode:
			return gate.Result{Err: &gate.FailedError{Code: "BECAUSE", Restored: receipt.RestoredYes, Err: errors.New("x")}}
		case f.faults.noRestored:
			return gate.Result{Err: &gate.FailedError{Code: "IO-ERROR", Err: errors.New("x")}}
		case f.faults.halfThenFails:
			f.s.w.cell = "half"
		}
		return gate.Result{Err: &gate.MovedError{Key: "cell", Expected: preview.ContentOf([]byte(f.before)), Seen: preview.ContentOf([]byte(f.s.w.cell))}}
	}
	if f.faults.intendsAfter {
		f.s.w.cell = string(f.after)
	}
	if err := c.Intend([]byte("set")); err != nil && !f.faults.ignoresIntend {
		return gate.Result{Err: &gate.FailedError{Code: "IO-ERROR", Restored: receipt.RestoredYes, Err: err}}
	}
	if f.faults.fires2 {
		f.s.w.cell += "+"
	}
	if !f.faults.doesNothing {
		f.s.w.cell = string(f.after) + f.s.w.cell[len(f.s.w.cell)-strings.Count(f.s.w.cell, "+"):]
	}
	return gate.Result{}
}

func (f *frozen) Close() error {
	if f.faults.closeFails {
		return errors.New("x")
	}
	return nil
}

func run(f fault) reports {
	var r reports
	sinktest.Test(&r, func() sinktest.World {
		w := &world{cell: "before"}
		s := &set{w: w, after: []byte("after"), faults: f}
		return sinktest.World{
			Effect: s, Look: func() string { return w.cell },
			Tamper: []func(){func() { s.after[0] = 'A' }},
			Move:   func() { w.cell = "moved" },
			Undo:   func(delta []byte) error { w.cell = string(delta); return nil },
		}
	})
	return r
}

func TestASoundSinkPasses(t *testing.T) {
	if r := run(fault{}); len(r) > 0 {
		t.Errorf("%q", []string(r))
	}
}

// Each thing that a sink can do wrong is said, in words that name it.
func TestBrokenSinksFail(t *testing.T) {
	for want, f := range map[string]fault{
		"it shares memory with the effect":                        {sharesMemory: true},
		"tampering 0 shows in the plan of what was frozen before": {plansFromEngine: true},
		"Freeze changed the world":                                {changesOnFreeze: true},
		"Plan changed the world":                                  {changesOnPlan: true},
		"Check changed the world":                                 {changesOnCheck: true},
		"Invert changed the world":                                {changesOnInvert: true},
		"Apply succeeded in a world that has moved":               {ignoresMove: true},
		"Check found nothing in a world that has moved":           {checksNothing: true},
		"a second Apply succeeded":                                {fires2: true},
		"Apply, in a world that has moved, changed the world":     {halfThenFails: true},
		"the inverse leads to":                                    {wrongInverse: true},
		"BECAUSE is no word of the vocabulary for \"inverse\"":    {unknownInverse: true},
		"an error that no receipt has a word for":                 {unknownError: true},
		"BECAUSE is no word of the vocabulary for \"failed\"":     {unknownCode: true},
		`restored ""`: {noRestored: true},
		"Apply, before it said what it intends, changed the world": {intendsAfter: true},
		"although nothing could be written down before":            {ignoresIntend: true},
		"Plan says another thing after Apply":                      {planMoves: true},
		"tampering 0 does not show in the digest":                  {leavesOut: true},
		"Apply changed nothing that Look sees":                     {doesNothing: true},
		"Close: x":                                                 {closeFails: true},
	} {
		r := run(f)
		if !slices.ContainsFunc(r, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%+v: want %q, got %q", f, want, []string(r))
		}
	}
}
