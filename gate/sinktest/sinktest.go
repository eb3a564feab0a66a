// Package sinktest holds sinks to what the gate relies on: the contract of
// gate.Frozen, as a test. Every sink of this module passes it; an engine with
// sinks of its own runs it over them.
//
//	func TestMySink(t *testing.T) {
//		sinktest.Test(t, func() sinktest.World { … })
//	}
package sinktest

import (
	"context"
	"errors"
	"fmt"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// T is what a test reports to; *testing.T is one.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// World is a world of its own with one effect in it that has not happened.
type World struct {
	Effect gate.Effect
	// Look is all that the effect may touch, in one text.
	Look func() string
	// Tamper are changes to what the engine still holds, each to one thing that
	// the effect is made of. At least one.
	Tamper []func()
	// Move makes the world another one than the plan rests on; nil where the plan
	// rests on nothing that can move.
	Move func()
	// Undo does what the document says that the sink gave as its inverse; nil for
	// a sink that never gives one.
	Undo func(delta []byte) error
}

// Test runs a sink through everything. make returns a new world with the same
// effect every time; so does what the effect makes of it.
func Test(t T, make func() World) {
	t.Helper()
	c := check{t, make}
	c.planning()
	c.copies()
	c.applying()
	c.moving()
	c.intending()
	c.inverting()
}

type check struct {
	t    T
	make func() World
}

var secret = func() preview.RunSecret {
	s, err := preview.NewRunSecret([]byte("sinktest, 32 bytes of any value."))
	if err != nil {
		panic(err)
	}
	return s
}()

// freeze returns the frozen effect, nil where it cannot be had.
func (c check) freeze(w World) gate.Frozen {
	c.t.Helper()
	f, err := w.Effect.Freeze()
	if err != nil || f == nil {
		c.t.Errorf("Freeze: %v", err)
		return nil
	}
	return f
}

// digest is the preview digest of a plan, empty where it makes no preview.
func (c check) digest(f gate.Frozen) string {
	c.t.Helper()
	p := f.Plan()
	rho, err := preview.Preview{
		Intent: p.Intent, Effects: p.Effects, Slots: p.Slots, Reads: p.Reads, Context: p.Context,
	}.Seal(secret)
	if err != nil {
		c.t.Errorf("the plan makes no preview: %v", err)
		return ""
	}
	return rho.Digest().String()
}

func (c check) close(f gate.Frozen) {
	c.t.Helper()
	if err := f.Close(); err != nil {
		c.t.Errorf("Close: %v", err)
	}
}

func (c check) unchanged(w World, was, by string) {
	c.t.Helper()
	if now := w.Look(); now != was {
		c.t.Errorf("%s changed the world from\n%s\nto\n%s", by, was, now)
	}
}

// planning: nothing but Apply changes the world, and a plan is a fact.
func (c check) planning() {
	c.t.Helper()
	w := c.make()
	was := w.Look()
	f := c.freeze(w)
	if f == nil {
		return
	}
	c.unchanged(w, was, "Freeze")
	d := c.digest(f)
	if again := c.digest(f); again != d {
		c.t.Errorf("Plan says one thing, and then another")
	}
	c.unchanged(w, was, "Plan")
	if _, err := f.Invert(); err != nil {
		c.t.Errorf("Invert: %v", err)
	}
	c.unchanged(w, was, "Invert")
	if err := f.Check(context.Background()); err != nil {
		c.t.Errorf("Check, where nothing has moved: %v", err)
	}
	c.unchanged(w, was, "Check")
	if c.digest(f) != d {
		c.t.Errorf("Plan says another thing after Check")
	}
	if g := c.freeze(w); g != nil {
		if c.digest(g) != d {
			c.t.Errorf("the same effect frozen twice has two plans")
		}
		c.close(g)
	}
	c.close(f)
	c.unchanged(w, was, "Close")
}

// want is what the world looks like when the effect has happened as it was
// planned.
func (c check) want() (string, bool) {
	c.t.Helper()
	w := c.make()
	f := c.freeze(w)
	if f == nil {
		return "", false
	}
	defer c.close(f)
	was := w.Look()
	r := c.apply(f)
	if r.Err != nil {
		c.t.Errorf("Apply, where nothing has moved: %v", r.Err)
		return "", false
	}
	if r.Done != nil {
		if err := r.Done(); err != nil {
			c.t.Errorf("Done: %v", err)
		}
	}
	now := w.Look()
	if now == was && !r.Rendered {
		c.t.Errorf("Apply changed nothing that Look sees")
	}
	return now, true
}

func (c check) apply(f gate.Frozen) gate.Result {
	return f.Apply(context.Background(), gate.Call{Intend: func([]byte) error { return nil }})
}

// copies: what fires is what was frozen, whatever the engine does to what it
// holds; and whatever the engine changes shows in the digest.
func (c check) copies() {
	c.t.Helper()
	want, ok := c.want()
	if !ok {
		return
	}
	n := len(c.make().Tamper)
	if n == 0 {
		c.t.Errorf("a world needs something to tamper with")
	}
	for i := range n {
		w := c.make()
		f := c.freeze(w)
		if f == nil {
			return
		}
		d := c.digest(f)
		w.Tamper[i]()
		if c.digest(f) != d {
			c.t.Errorf("tampering %d shows in the plan of what was frozen before: it shares memory with the effect", i)
		}
		if g, err := w.Effect.Freeze(); err == nil { // what cannot be frozen does not happen
			if c.digest(g) == d {
				c.t.Errorf("tampering %d does not show in the digest", i)
			}
			c.close(g)
		}
		if r := c.apply(f); r.Err != nil {
			c.t.Errorf("tampering %d: what was frozen before is not applied: %v", i, r.Err)
		} else if r.Done != nil {
			if err := r.Done(); err != nil {
				c.t.Errorf("Done: %v", err)
			}
		}
		if now := w.Look(); now != want {
			c.t.Errorf("tampering %d: what was applied is not what was frozen:\n%s\nwant\n%s", i, now, want)
		}
		c.close(f)
	}
}

// applying: once, as the plan says, and the plan stays what it was.
func (c check) applying() {
	c.t.Helper()
	w := c.make()
	f := c.freeze(w)
	if f == nil {
		return
	}
	defer c.close(f)
	d := c.digest(f)
	r := c.apply(f)
	c.known(r.Err)
	if c.digest(f) != d {
		c.t.Errorf("Plan says another thing after Apply")
	}
	now := w.Look()
	again := c.apply(f)
	if again.Err == nil {
		c.t.Errorf("a second Apply succeeded")
	}
	c.known(again.Err)
	c.unchanged(w, now, "a second Apply")
}

// moving: what rests on a world that has moved does not happen.
func (c check) moving() {
	c.t.Helper()
	if c.make().Move == nil {
		return
	}
	for _, apply := range []bool{false, true} {
		w := c.make()
		f := c.freeze(w)
		if f == nil {
			return
		}
		w.Move()
		was := w.Look()
		if apply {
			r := c.apply(f)
			if r.Err == nil {
				c.t.Errorf("Apply succeeded in a world that has moved")
			}
			c.known(r.Err)
			c.unchanged(w, was, "Apply, in a world that has moved,")
		} else {
			err := f.Check(context.Background())
			if err == nil {
				c.t.Errorf("Check found nothing in a world that has moved")
			}
			c.known(err)
			c.unchanged(w, was, "Check, in a world that has moved,")
		}
		c.close(f)
	}
}

// intending: a record of what is about to happen comes before it happens, and
// nothing happens without it.
func (c check) intending() {
	c.t.Helper()
	w := c.make()
	f := c.freeze(w)
	if f == nil {
		return
	}
	defer c.close(f)
	was := w.Look()
	asked := 0
	r := f.Apply(context.Background(), gate.Call{Intend: func(record []byte) error {
		asked++
		c.unchanged(w, was, "Apply, before it said what it intends,")
		if len(record) == 0 {
			c.t.Errorf("an empty record of what is intended")
		}
		return errors.New("the disk is full")
	}})
	switch {
	case asked == 0:
		return // a sink that promises nothing about a crash
	case asked > 1:
		c.t.Errorf("Intend was called %d times", asked)
	case r.Err == nil:
		c.t.Errorf("Apply succeeded although nothing could be written down before")
	}
	c.known(r.Err)
	c.unchanged(w, was, "Apply, although nothing could be written down before,")
}

// inverting: an inverse leads back, or there is a reason why there is none.
func (c check) inverting() {
	c.t.Helper()
	w := c.make()
	f := c.freeze(w)
	if f == nil {
		return
	}
	defer c.close(f)
	was := w.Look()
	inv, err := f.Invert()
	switch {
	case err != nil:
		c.t.Errorf("Invert: %v", err)
		return
	case inv.Delta == nil && inv.None == "":
		return // nothing to undo
	case inv.Delta == nil:
		c.word(receipt.PlaceInverse, inv.None)
		return
	case inv.None != "":
		c.t.Errorf("there is an inverse, and %s says why there is none", inv.None)
	case w.Undo == nil:
		c.t.Errorf("there is an inverse, and the world has no Undo to try it with")
		return
	}
	if r := c.apply(f); r.Err != nil {
		c.t.Errorf("Apply: %v", r.Err)
		return
	} else if r.Done != nil {
		if err := r.Done(); err != nil {
			c.t.Errorf("Done: %v", err)
		}
	}
	if err := w.Undo(inv.Delta); err != nil {
		c.t.Errorf("the inverse cannot be applied: %v", err)
	}
	if now := w.Look(); now != was {
		c.t.Errorf("the inverse leads to\n%s\nand not back to\n%s", now, was)
	}
}

// known holds an error to the family that receipts have words for.
func (c check) known(err error) {
	c.t.Helper()
	var (
		moved      *gate.MovedError
		refused    *gate.RefusedError
		withheld   *gate.WithheldError
		failed     *gate.FailedError
		unobserved *gate.UnobservedError
	)
	switch {
	case err == nil:
	case errors.As(err, &moved):
		if moved.Expected == moved.Seen {
			c.t.Errorf("%s has moved from %v to the same", moved.Key, moved.Seen.Value())
		}
	case errors.As(err, &refused):
		c.word(receipt.PlaceRefused, refused.Code)
	case errors.As(err, &withheld):
		c.word(receipt.PlaceWithheld, withheld.Code)
	case errors.As(err, &failed):
		c.word(receipt.PlaceFailed, failed.Code)
		switch failed.Restored {
		case receipt.RestoredYes, receipt.RestoredNo, receipt.RestoredUnknown:
		default:
			c.t.Errorf("restored %q", failed.Restored)
		}
	case errors.As(err, &unobserved):
		c.word(receipt.PlaceUnobserved, unobserved.Code)
	default:
		c.t.Errorf("an error that no receipt has a word for: %v", fmt.Sprintf("%T: %v", err, err))
	}
}

func (c check) word(place receipt.Place, code receipt.Code) {
	c.t.Helper()
	if !receipt.StandardVocabulary().Knows(place, code) {
		c.t.Errorf("%s is no word of the vocabulary for %q", code, place)
	}
}
