package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/obstat/obstat/preview"
)

// delta is the document that undoes a change set, as JSON, on this machine only.
// A receipt commits to the BLAKE3 of its bytes.
type delta struct {
	Version int           `json:"v"`
	Root    []byte        `json:"root"`
	Changes []deltaChange `json:"changes"` // in the order of ρ
}

type deltaChange struct {
	Path   []byte       `json:"path"`
	Holds  string       `json:"holds,omitempty"` // hex of what it must hold; empty: nothing
	Gets   []byte       `json:"gets"`            // what it is given back
	Delete bool         `json:"delete,omitempty"`
	Mode   preview.Mode `json:"mode,omitempty"`
}

func parseDelta(document []byte) (*delta, error) {
	var d delta
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	if d.Version != 1 {
		return nil, fmt.Errorf("version %d of an inverse", d.Version)
	}
	return &d, nil
}

// checkDelta holds a document against the change set that it is to undo: read
// back, and applied to what the set leaves behind, it gives what the set began
// from.
func checkDelta(document []byte, root string, set []preview.Change) error {
	d, err := parseDelta(document)
	if err != nil {
		return err
	}
	back, err := d.changes()
	if err != nil {
		return err
	}
	if string(d.Root) != root || len(back) != len(set) {
		return errors.New("the inverse is of another change set")
	}
	for i, c := range back {
		gives := preview.Content{}
		if !c.Delete {
			gives = preview.ContentOf(c.After)
		}
		if s := set[i]; c.Path != s.Path || c.Before != s.After || gives != s.Before {
			return fmt.Errorf("the inverse does not give %s back", s.Path)
		}
	}
	return nil
}

// changes is the change set that the document says.
func (d *delta) changes() ([]FileChange, error) {
	var all []FileChange
	for _, c := range d.Changes {
		holds, err := contentFromHex(c.Holds)
		if err != nil {
			return nil, err
		}
		all = append(all, FileChange{Path: string(c.Path), Before: holds, After: slices.Clone(c.Gets), Delete: c.Delete, Mode: c.Mode})
	}
	return all, nil
}
