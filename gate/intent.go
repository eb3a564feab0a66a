package gate

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// intentRecord is what the files sink writes down before the first change: as
// JSON, on this machine only.
type intentRecord struct {
	Version int          `json:"v"`
	Request string       `json:"request"` // hex
	Root    []byte       `json:"root"`
	Made    [][]byte     `json:"made,omitempty"`
	Items   []intentItem `json:"items"`
}

type intentItem struct {
	Path    []byte      `json:"path"`
	Aside   []byte      `json:"aside"`
	Before  string      `json:"before,omitempty"` // hex; empty: none
	After   string      `json:"after,omitempty"`
	Mode    fs.FileMode `json:"mode"`
	OldMode fs.FileMode `json:"oldMode"`
}

func (c *changeset) encode(root string, request receipt.Digest) ([]byte, error) {
	r := intentRecord{Version: 1, Request: hex.EncodeToString(request[:]), Root: []byte(root)}
	for _, d := range c.made {
		r.Made = append(r.Made, []byte(d))
	}
	for _, it := range c.items {
		r.Items = append(r.Items, intentItem{
			Path: []byte(it.path), Aside: []byte(it.aside), Before: hexOf(it.before), After: hexOf(it.after),
			Mode: it.mode, OldMode: it.oldMode,
		})
	}
	return json.Marshal(r)
}

func hexOf(c preview.Content) string {
	sum, ok := c.Sum()
	if !ok {
		return ""
	}
	return hex.EncodeToString(sum[:])
}

func contentFromHex(s string) (preview.Content, error) {
	if s == "" {
		return preview.Content{}, nil
	}
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 32 {
		return preview.Content{}, errors.New("a digest is not 64 hex digits")
	}
	return preview.ContentSum([32]byte(b)), nil
}

// resume reads an intent record back and opens its tree. The caller closes the
// tree of the set.
func resume(record []byte) (c *changeset, request receipt.Digest, err error) {
	var r intentRecord
	if err := json.Unmarshal(record, &r); err != nil {
		return nil, request, err
	}
	b, err := hex.DecodeString(r.Request)
	if err != nil || len(b) != len(request) || r.Version != 1 {
		return nil, request, fmt.Errorf("version %d of an intent record, about request %q", r.Version, r.Request)
	}
	copy(request[:], b)
	c = &changeset{}
	for _, d := range r.Made {
		if !fs.ValidPath(string(d)) || string(d) == "." {
			return nil, request, fmt.Errorf("%q is no directory that was made", d)
		}
		c.made = append(c.made, string(d))
	}
	for _, it := range r.Items {
		x := item{path: string(it.Path), aside: string(it.Aside), mode: it.Mode, oldMode: it.OldMode}
		if x.before, err = contentFromHex(it.Before); err == nil {
			x.after, err = contentFromHex(it.After)
		}
		if err == nil && (!fs.ValidPath(x.path) || !fs.ValidPath(x.aside) || path.Dir(x.aside) != path.Dir(x.path) || !strings.HasPrefix(path.Base(x.aside), ".obstat-")) {
			err = fmt.Errorf("%q is no name beside %q", x.aside, x.path)
		}
		if err != nil {
			return nil, request, err
		}
		c.items = append(c.items, x)
	}
	c.tree, err = openTree(string(r.Root))
	return c, request, err
}

// where is where one change of an interrupted set stands.
type where int

const (
	unplaced  where = iota // the target is as it was
	placed                 // the target holds the new content
	elsewhere              // neither: somebody else has written it since
)

// recover settles a set that a crash has interrupted. Where everything is in
// place, it stays; where every file is as one of the two, all are put back. Else
// nothing is touched, and nobody can say any more what this effect did.
func (c *changeset) recover() Result {
	unsure := func(err error) Result { return Result{Err: &UnobservedError{codeCrashed, err}} }
	states := make([]where, len(c.items))
	all := true
	var lost []error
	for i := range c.items {
		var err error
		if states[i], err = c.whereIs(&c.items[i]); err != nil {
			return unsure(err)
		}
		all = all && states[i] == placed
		if states[i] == elsewhere {
			it := c.items[i]
			lost = append(lost, fmt.Errorf("%s is neither as it was nor as it was to be; what it held, if it was there, is %s", it.path, it.aside))
		}
	}
	switch {
	case all:
		if err := c.syncDirs(); err != nil {
			return unsure(err)
		}
		return Result{Wrote: c.found(), Done: c.done}
	case len(lost) > 0:
		return unsure(errors.Join(lost...))
	}
	var errs []error
	for i := len(c.items) - 1; i >= 0; i-- {
		it := &c.items[i]
		if states[i] == placed {
			errs = append(errs, c.takeBack(it))
		} else {
			errs = append(errs, c.drop(it.aside))
		}
	}
	for i := len(c.made) - 1; i >= 0; i-- {
		c.removeDir(c.made[i])
	}
	errs = append(errs, c.syncDirs())
	interrupted := errors.New("the engine ended while it changed the files")
	if err := errors.Join(errs...); err != nil {
		return Result{Err: &FailedError{codeInterrupted, receipt.RestoredNo, errors.Join(interrupted, err)}}
	}
	return Result{Err: &FailedError{codeInterrupted, receipt.RestoredYes, interrupted}}
}

// whereIs looks at target and aside, and first takes an exchange in steps to the
// one or the other side of it.
func (c *changeset) whereIs(it *item) (where, error) {
	dir, err := c.tree.dir(path.Dir(it.path), false)
	if errors.Is(err, fs.ErrNotExist) {
		if it.before.IsAbsent() {
			return unplaced, nil // its directory was not even made
		}
		return elsewhere, nil
	}
	if err != nil {
		return 0, err
	}
	seen, st, err := c.tree.look(it.path)
	if err != nil {
		return 0, err
	}
	aside := path.Base(it.aside)
	if _, err := dir.Lstat(aside + oldSuffix); err == nil {
		if _, err := dir.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			err = dir.Rename(aside+oldSuffix, aside)
			if err != nil {
				return 0, err
			}
		} else if err := dir.Remove(aside + oldSuffix); err != nil {
			return 0, err
		}
	}
	switch {
	case it.before == it.after: // only the mode changes
		if seen != it.after {
			return elsewhere, nil
		}
		if st.Mode().Perm() == it.mode && it.mode != it.oldMode {
			return placed, nil
		}
		return unplaced, nil
	case seen == it.after:
		return placed, nil
	case seen == it.before:
		return unplaced, nil
	}
	return elsewhere, nil
}
