package preview

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
)

// VerbFiles is the verb that changes files below one directory.
const VerbFiles = "files"

// Files is the intent to create, replace and delete files below one directory
// (spec/preview.md#files). Fill it from the plan to judge, and from what was
// found and is about to be written to fire. In ρ it is {"root": bytes} beside
// the changes.
type Files struct {
	Root    string   // directory that the engine was let into: absolute, clean
	Changes []Change // at least one, in any order
}

// Change is what happens to one file (spec/preview.md#changes). In ρ it is
//
//	{"after": {"b3": …} or null, "before": {"b3": …} or null, "mode": "644", "755" or null, "path": bytes}
//
// Paths are distinct, and none is below another: the outcome would depend on
// the order in which they are applied.
type Change struct {
	Path   string  // relative, clean, inside the root
	Before Content // what the file must hold; absent: it must not exist
	After  Content // what it holds afterwards; absent: it is deleted
	Mode   Mode
}

// Mode is the permission that a change leaves a file with.
type Mode string

// The modes. A new file is made with 644 unless its mode says 755, so for a
// new file ModePlain is spelled ModeKept; for a deleted one there is no other.
const (
	ModeKept    Mode = ""    // as it is; a new file is not executable
	ModePlain   Mode = "644" // not executable any more
	ModeProgram Mode = "755" // executable
)

// Verb returns "files".
func (Files) Verb() string { return VerbFiles }

func (f Files) changes() []Change { return f.Changes }

func (f Files) members() jcs.Object {
	return jcs.Object{{Name: "root", Value: Text(f.Root).json()}}
}

func (f Files) normal() (Intent, error) {
	if err := checkAbsolute("intent.root", f.Root); err != nil {
		return nil, err
	}
	if len(f.Changes) == 0 {
		return nil, bad(report.CodePreviewIntent, "intent.changes", "at least one change", "none")
	}
	var err error
	f.Changes, err = normalChanges(f.Changes)
	return f, err
}

func normalChanges(in []Change) ([]Change, error) {
	all, err := set(in, "intent.changes", func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	if err != nil {
		return nil, err
	}
	for i, c := range all {
		if err := c.check("intent.changes[" + strconv.Itoa(i) + "]"); err != nil {
			return nil, err
		}
	}
	return all, noneBelow(all)
}

// noneBelow refuses a path that lies below another. With "/" as the least byte
// (NUL, which no path holds) what is below a directory follows right after it.
func noneBelow(all []Change) error {
	keys := make([]string, len(all))
	for i, c := range all {
		keys[i] = strings.ReplaceAll(c.Path, "/", "\x00")
	}
	slices.Sort(keys)
	for i := 1; i < len(keys); i++ {
		if strings.HasPrefix(keys[i], keys[i-1]+"\x00") {
			path := strings.ReplaceAll(keys[i], "\x00", "/")
			return bad(report.CodePreviewPath, "intent.changes", "no path below another", quote(path))
		}
	}
	return nil
}

func (c Change) check(where string) error {
	if err := checkRelative(where+".path", c.Path); err != nil {
		return err
	}
	kept := c.Mode == ModeKept
	switch {
	case !kept && c.Mode != ModePlain && c.Mode != ModeProgram:
		return bad(report.CodePreviewIntent, where+".mode", "644, 755 or null", quote(string(c.Mode)))
	case c.Before == c.After && (c.Before.IsAbsent() || kept):
		return bad(report.CodePreviewIntent, where, "a change", "before and after alike")
	case c.After.IsAbsent() && !kept:
		return bad(report.CodePreviewIntent, where+".mode", "null for a file that is deleted", quote(string(c.Mode)))
	case c.Before.IsAbsent() && c.Mode == ModePlain:
		return bad(report.CodePreviewIntent, where+".mode", "null for a new file that is not executable", quote(string(c.Mode)))
	}
	return nil
}

func (c Change) object() jcs.Object {
	mode := jcs.Value(jcs.Null{})
	if c.Mode != ModeKept {
		mode = jcs.String(c.Mode)
	}
	return jcs.Object{
		{Name: "after", Value: c.After.Value().json()},
		{Name: "before", Value: c.Before.Value().json()},
		{Name: "mode", Value: mode},
		{Name: "path", Value: Text(c.Path).json()},
	}
}

func readFiles(m *members, changes []Change) (Intent, error) {
	root, err := m.bytes("root")
	if err != nil {
		return nil, err
	}
	return Files{Root: root, Changes: changes}, m.done()
}

// readChanges reads the member "changes" of an intent, nil where there is none.
func readChanges(m *members) ([]Change, error) {
	if !m.has(memberChanges) {
		return nil, nil
	}
	list, err := m.array(memberChanges)
	if err != nil {
		return nil, err
	}
	all := make([]Change, len(list))
	for i, v := range list {
		e, err := openObject("intent.changes["+strconv.Itoa(i)+"]", v)
		if err != nil {
			return nil, err
		}
		if err := all[i].read(e); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (c *Change) read(m *members) (err error) {
	if c.Path, err = m.bytes("path"); err != nil {
		return err
	}
	if c.Before, err = m.content("before"); err != nil {
		return err
	}
	if c.After, err = m.content("after"); err != nil {
		return err
	}
	mode, err := m.take("mode")
	if err != nil {
		return err
	}
	switch v := mode.(type) {
	case jcs.Null:
	case jcs.String:
		if c.Mode = Mode(v); c.Mode == ModeKept {
			return bad(report.CodePreviewIntent, m.at("mode"), "644, 755 or null", `""`)
		}
	default:
		return bad(report.CodePreviewIntent, m.at("mode"), "644, 755 or null", kind(v))
	}
	return m.done()
}
