package gate

import (
	"context"
	"fmt"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// Effect is something that an engine wants to happen: [*Exec], [*Files], or a
// type of the engine's own. The engine may still hold it, and change it, while
// the gate judges; so the gate fires nothing but what it froze.
type Effect interface {
	// Freeze returns a copy of everything that decides what will happen, down
	// to the bytes: it opens and hashes files, copies contents, and MUST share
	// no memory with the effect that somebody else could still change. It MUST
	// NOT change the world. The caller closes the copy.
	Freeze() (Frozen, error)
}

// Frozen is an effect that nobody can change any more. What Intent says and
// what Fire does MUST be made from the same bytes: the gate compares the digest
// of one and then lets the other happen.
type Frozen interface {
	// Intent is the effect as its preview has it.
	Intent() preview.Intent
	// Fire makes it happen, at most once. It is called only after the judgment
	// that admitted this very intent stands in the log.
	Fire(ctx context.Context) Result
	// Close frees what the copy holds. Fire or not, it is called once.
	Close() error
}

// Result is how firing ended.
type Result struct {
	// Err is nil where the effect happened. A *MovedError says that nothing
	// happened because a witness failed, a *FailedError that it was attempted
	// and failed; any other error is a failure about which nothing is known.
	Err error
	// Wrote is what each file of the intent's changes was found to hold
	// afterwards, in the order of ρ; nil where nobody looked.
	Wrote []preview.Content
	// Process is what a command that ran left behind; nil where none did.
	Process *Process
}

// Process is what is left of a command that ran. It is for the engine and
// stands in no receipt.
type Process struct {
	Exit           int    // status; -1 where a signal ended it
	Stdout, Stderr []byte // the first MaxOutput bytes of each
	Dropped        int    // bytes of both that came after those
}

// MovedError says that a file no longer held what its change had been made
// from, so that nothing was applied.
type MovedError struct {
	Change         int // in the order of ρ
	Path           string
	Expected, Seen preview.Content
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("%s holds %s, and the change was made from %s; nothing was applied",
		e.Path, e.Seen.Value(), e.Expected.Value())
}

// FailedError says that an effect was attempted and failed.
type FailedError struct {
	Code     receipt.Code     // a word of the vocabulary for this place
	Restored receipt.Restored // whether the world is as it was
	Err      error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("%s (restored: %s): %v", e.Code, e.Restored, e.Err)
}

func (e *FailedError) Unwrap() error { return e.Err }
