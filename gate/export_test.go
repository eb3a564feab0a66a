package gate

import (
	"context"
	"testing"
)

// ApplyDelta applies an inverse as an undo would, without a gate.
func ApplyDelta(document []byte) error {
	d, err := parseDelta(document)
	if err != nil {
		return err
	}
	changes, err := d.changes()
	if err != nil {
		return err
	}
	f, err := (&Files{Root: string(d.Root), Changes: changes}).Freeze()
	if err != nil {
		return err
	}
	r := f.Apply(context.Background(), Call{Intend: func([]byte) error { return nil }})
	if r.Err == nil {
		r.Err = r.Done()
	}
	return r.Err
}

// UndoneOnce commits a change set, and returns its undo.
func UndoneOnce(t *testing.T, root string, changes ...FileChange) (*Undo, error) {
	g, _ := gated(t, says(admits, nil))
	f, err := PlanFiles(root, changes...)
	if err != nil {
		return nil, err
	}
	return g.cfg.Store.PlanUndo(commit(t, judged(t, g, f)).Statement.CID)
}

// Lawful is lawful.
var Lawful = lawful

// Silence is an address where requests are read and never answered.
func Silence(t *testing.T) string {
	_, at := listen(t, "")
	return at
}
