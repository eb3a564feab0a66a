package rlog

import (
	"context"
	"fmt"
	"strings"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// Anchor is somebody outside the log's directory who keeps its newest
// checkpoint: a witness, or a file on another volume. A restored snapshot or a
// copied directory looks healthy from inside; only an anchor shows that the log
// had gone further.
type Anchor struct {
	Name string
	// Fetch returns the newest signed checkpoint of this log that the anchor
	// knows, and nil where it knows none. It need not be verified: the engine
	// believes only its own signature.
	Fetch func(ctx context.Context) (note []byte, err error)
}

// askAnchors holds the log against every anchor and says how far it is
// protected against rollback. It refuses with LOG-ROLLBACK if one is ahead or
// of another history, and with ANCHOR-UNREACHABLE.
func (r *replay) askAnchors() (protection string, err error) {
	if len(r.cfg.Anchors) == 0 {
		return "none", nil
	}
	var said []string
	for _, a := range r.cfg.Anchors {
		head, err := r.ask(a)
		if err != nil {
			if !r.cfg.UnreachableAnchors {
				return "", &refusal{&report.Error{Code: report.CodeAnchorUnreachable, Where: a.Name,
					Expected: "the newest checkpoint that the anchor knows", Actual: err.Error(),
					Fix: "make it reachable, or start once without it if nothing was rolled back"}, err}
			}
			r.cfg.Logger.Warn("an anchor was not asked, by the operator's word", "anchor", a.Name, "error", err.Error())
			said = append(said, a.Name+" (not asked)")
			continue
		}
		if err := r.holdAgainst(a.Name, head); err != nil {
			return "", err
		}
		said = append(said, fmt.Sprintf("%s (%d)", a.Name, head.Size))
	}
	return strings.Join(said, ", "), nil
}

func (r *replay) ask(a Anchor) (Head, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.cfg.AnchorTimeout)
	defer cancel()
	note, err := a.Fetch(ctx)
	if err != nil || note == nil {
		return Head{Root: merkle.EmptyRoot}, err
	}
	o, err := checkpoint.Open(note, []checkpoint.VKey{r.cfg.Signer.Key})
	if err != nil {
		return Head{}, err
	}
	if o.Origin != r.cfg.Origin {
		return Head{}, fmt.Errorf("it knows the log %q", o.Origin)
	}
	return Head{Size: o.Size, Root: o.Root, Note: note}, nil
}

func (r *replay) holdAgainst(name string, head Head) error {
	const fix = "this directory is older than what was published, or another history: it must not be written to; " +
		"the way on is a successor log"
	if head.Size > r.last.size {
		return &report.Error{Code: report.CodeLogRollback, Where: name, Expected: fmt.Sprintf("at most size %d", r.last.size),
			Actual: fmt.Sprintf("%d, signed by this log", head.Size), Fix: fix}
	}
	root, err := merkle.Root(head.Size, r.tree.node)
	if err != nil {
		return err
	}
	if root != head.Root {
		return &report.Error{Code: report.CodeLogRollback, Where: name,
			Expected: fmt.Sprintf("root %s at size %d", root, head.Size), Actual: head.Root.String(), Fix: fix}
	}
	return nil
}
