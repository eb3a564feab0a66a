package gate

import (
	"context"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// Effect is something that an engine wants to happen: [*Exec], [*Files],
// [*HTTP], [*Tool], [*Undo], a rendering of package render, or a type of the
// engine's own, which package sinktest holds to what follows. The engine may
// still hold it, and change it, while the gate judges; so the gate fires nothing
// but what it froze.
type Effect interface {
	// Freeze returns a copy of everything that decides what will happen, down
	// to the bytes: it opens and hashes files, copies contents, and MUST share
	// no memory with the effect that somebody else could still change. It MUST
	// NOT change the world. The caller closes the copy.
	Freeze() (Frozen, error)
}

// Frozen is an effect that nobody can change any more. What Plan says and what
// Apply does MUST be made from the same bytes: the gate compares the digest of
// one and then lets the other happen.
type Frozen interface {
	// Plan is the effect as its preview has it. Asked again it says the same.
	Plan() Plan
	// Invert returns what would undo the effect in the world as it is now. It
	// MUST NOT change anything, and fails where it cannot tell.
	Invert() (Inverse, error)
	// Check is the precondition: it looks whether the world is still as the
	// plan has it, and MUST NOT change it. Its error is one of those below; any
	// other means that the effect could not be attempted.
	Check(ctx context.Context) error
	// Apply makes it happen, at most once, and compares again what only holds
	// at that moment. It is called only after the judgment that admitted this
	// very plan stands in the log, and after Check.
	Apply(ctx context.Context, call Call) Result
	// Close frees what the copy holds. Applied or not, it is called once.
	Close() error
}

// Compensator is a Frozen that undoes another effect.
type Compensator interface {
	// Compensates says which, and what was seen before it acted; nil where it has
	// not looked. It is asked after Check and Apply.
	Compensates() *receipt.Compensates
}

// Plan is what a frozen effect says about itself. The lists are its own.
type Plan struct {
	Intent  preview.Intent
	Effects []preview.Effect // what the bytes themselves show that it will touch
	Slots   []preview.Slot   // holes of a template, filled
	Reads   []preview.Read   // what it rests on, beside the files that it changes
	Context preview.Context  // pins that the sink itself can see, such as a tool's definition
}

// Call is what a sink is told about the call that it makes happen.
type Call struct {
	Judgment receipt.CID    // statement of the judgment, or of the open fault
	Request  receipt.Digest // preview digest that was judged
	// Intend keeps record, durably, until the outcome stands in the log; a sink
	// that can finish or restore after a crash says there what it is about to
	// do, before it does. It is called at most once.
	Intend func(record []byte) error

	step func(string) // as Store.step
}

// Inverse is what would undo an effect.
type Inverse struct {
	// Delta is the document that undoes it, which the gate escrows before the
	// effect; nil where there is none.
	Delta []byte
	// None says why there is no delta: a word of the vocabulary for this place.
	// Without either there is nothing to undo.
	None receipt.Code
}

// Result is how applying ended.
type Result struct {
	// Err is nil where the effect happened, or one of the errors below. Any
	// other error is a failure about which nothing is known.
	Err error
	// Wrote is what each file of the intent's changes was found to hold
	// afterwards, in the order of ρ; nil where nobody looked.
	Wrote []preview.Content
	// Rendered says that nothing happened but that a payload was made.
	Rendered bool
	// Done is called when the outcome stands in the log; nil where there is
	// nothing to tidy up.
	Done func() error

	// What the effect gave back. It is for the engine and stands in no receipt.
	Process  *Process
	Response *Response
	Output   []byte // of a tool; the payload of a rendering
}

// Process is what is left of a command that ran.
type Process struct {
	Exit           int    // status; -1 where a signal ended it
	Stdout, Stderr []byte // the first MaxOutput bytes of each
	Dropped        int    // bytes of both that came after those
}
