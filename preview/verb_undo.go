package preview

import (
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
)

// VerbUndo is the verb that undoes what another effect did to files.
const VerbUndo = "undo"

// Undo is the intent to put files back (spec/preview.md#undo): a change set
// whose witnesses are what the undone effect left behind. In ρ it is
// {"outcome": the text of a CID, "root": bytes} beside the changes.
type Undo struct {
	Outcome dagcbor.CID // statement of the outcome that is undone
	Root    string      // as Files.Root
	Changes []Change    // as Files.Changes
}

// Verb returns "undo".
func (Undo) Verb() string { return VerbUndo }

func (u Undo) changes() []Change { return u.Changes }

func (u Undo) members() jcs.Object {
	return jcs.Object{
		{Name: "outcome", Value: jcs.String(u.Outcome.String())},
		{Name: "root", Value: Text(u.Root).json()},
	}
}

func (u Undo) normal() (Intent, error) {
	if u.Outcome == (dagcbor.CID{}) {
		return nil, bad(report.CodePreviewIntent, "intent.outcome", "the outcome that is undone", "none")
	}
	f, err := Files{Root: u.Root, Changes: u.Changes}.normal()
	if err != nil {
		return nil, err
	}
	u.Changes = f.changes()
	return u, nil
}

func readUndo(m *members, changes []Change) (Intent, error) {
	u := Undo{Changes: changes}
	var err error
	if u.Root, err = m.bytes("root"); err != nil {
		return nil, err
	}
	text, err := m.text("outcome")
	if err != nil {
		return nil, err
	}
	if u.Outcome, err = dagcbor.ParseCID(text); err != nil {
		return nil, bad(report.CodePreviewIntent, "intent.outcome", "the text of a CID", quote(text))
	}
	return u, m.done()
}
