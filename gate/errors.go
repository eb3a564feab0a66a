package gate

import (
	"errors"
	"fmt"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// MovedError says that something no longer is what the request rests on, so
// that nothing was applied: the effect is stale.
type MovedError struct {
	Key            string // path of a change, or key of a read, as ρ has it
	Expected, Seen preview.Content
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("%s holds %s, and the request rests on %s; nothing was applied",
		e.Key, e.Seen.Value(), e.Expected.Value())
}

// RefusedError says that the engine refused at commit for a reason of its own;
// nothing was applied.
type RefusedError struct {
	Code receipt.Code // a word of the vocabulary for this place
	Err  error
}

func (e *RefusedError) Error() string { return fmt.Sprintf("refused, %s: %v", e.Code, e.Err) }
func (e *RefusedError) Unwrap() error { return e.Err }

// WithheldError says that no payload was rendered.
type WithheldError struct {
	Code receipt.Code // a word of the vocabulary for this place
	Err  error
}

func (e *WithheldError) Error() string { return fmt.Sprintf("withheld, %s: %v", e.Code, e.Err) }
func (e *WithheldError) Unwrap() error { return e.Err }

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

// UnobservedError says that an effect may or may not have happened.
type UnobservedError struct {
	Code receipt.Code // a word of the vocabulary for this place
	Err  error
}

func (e *UnobservedError) Error() string { return fmt.Sprintf("unobserved, %s: %v", e.Code, e.Err) }
func (e *UnobservedError) Unwrap() error { return e.Err }

// once is what a frozen effect of this package is applied at most.
type once struct{ applied bool }

// take fails from the second time on.
func (o *once) take() error {
	if o.applied {
		return &RefusedError{"LIMIT-REACHED", errors.New("it was applied before")}
	}
	o.applied = true
	return nil
}
