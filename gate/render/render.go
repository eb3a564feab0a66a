// Package render makes requests that are never sent: an effect for a gate whose
// outcome is a payload, which whoever asked may send or not.
//
// A payload is put together of a template out of a closed catalogue and of
// slots. Every byte of it is either in the template or in a slot, and every slot
// stands word for word in a source that the engine names; otherwise the payload
// is withheld. A second piece of code, which shares nothing with the first, reads
// each payload back as whoever receives it will, and finds the template and the
// slots and nothing else (docs/gate.md#renderings).
package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// Role is who speaks in a source.
type Role string

// The closed list. A source without one of these roles has no label, and what is
// taken from it is withheld.
const (
	Person Role = "person"
	Agent  Role = "agent"
	Tool   Role = "tool"
)

// Source is something that was said.
type Source struct {
	Name string // name, once in a rendering
	Role Role
	Text []byte
}

// Slot is a hole of the template and what fills it.
type Slot struct {
	Name   string
	Value  string // word for word in the source
	Source string // name of the source
}

// Rendering is the effect of making one payload. It is never sent.
type Rendering struct {
	Template string // one of [Templates]
	Slots    []Slot
	Sources  []Source
	// Segments are the values that a slot in a path may have.
	Segments []string
}

// Freeze copies slots and sources, and makes the payload, or finds why there is
// none.
func (r *Rendering) Freeze() (gate.Frozen, error) {
	t, ok := find(r.Template)
	if !ok {
		return nil, fmt.Errorf("there is no template %q; there are %s", r.Template, strings.Join(Templates(), ", "))
	}
	scaffolding, err := t.scaffolding()
	if err != nil {
		return nil, err
	}
	f := &frozen{template: t, scaffolding: preview.ContentOf(scaffolding), slots: slices.Clone(r.Slots)}
	allowed := slices.Clone(r.Segments)
	for _, s := range r.Sources {
		f.sources = append(f.sources, Source{s.Name, s.Role, bytes.Clone(s.Text)})
	}
	f.payload, f.withheld = f.make(allowed)
	return f, nil
}

type frozen struct {
	template    template
	scaffolding preview.Content
	slots       []Slot
	sources     []Source
	payload     []byte // nil where it is withheld
	withheld    *gate.WithheldError
	applied     bool
}

func withhold(code receipt.Code, format string, args ...any) *gate.WithheldError {
	return &gate.WithheldError{Code: code, Err: fmt.Errorf(format, args...)}
}

// make puts the payload together.
func (f *frozen) make(allowed []string) ([]byte, *gate.WithheldError) {
	filled, w := f.fill(allowed)
	if w != nil {
		return nil, w
	}
	var path strings.Builder
	for _, s := range f.template.path {
		path.WriteByte('/')
		switch {
		case s.unbound != "":
			path.WriteString("{" + s.unbound + "}")
		case s.slot != "":
			path.WriteString(filled[s.slot].Value)
		default:
			path.WriteString(s.literal)
		}
	}
	var text strings.Builder
	for i, p := range f.template.parts {
		if i > 0 {
			text.WriteByte('\n')
		}
		value := filled[p.slot]
		fence := fence(value.Value)
		fmt.Fprintf(&text, "### %s\n\n%s\n\n%stext\n%s\n%s\n", p.heading, labels[f.source(value.Source).Role], fence, value.Value, fence)
	}
	body := jcs.Object{{Name: f.template.body, Value: jcs.String(text.String())}}
	if f.template.title != "" {
		body = append(body, jcs.Member{Name: f.template.title, Value: jcs.String(filled[f.template.title].Value)})
	}
	payload, err := jcs.Append(nil, jcs.Object{
		{Name: "method", Value: jcs.String(f.template.method)}, {Name: "path", Value: jcs.String(path.String())}, {Name: "body", Value: body},
	})
	if err != nil {
		return nil, withhold("RENDERING-FAILED", "%w", err)
	}
	return payload, nil
}

// fence is longer than any run of its own inside, so that nothing inside ends it.
func fence(inside string) string {
	longest, run := 2, 0
	for _, c := range inside {
		if c != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

// fill finds the value of every slot of the template, and whatever stands
// against it.
func (f *frozen) fill(allowed []string) (map[string]Slot, *gate.WithheldError) {
	filled := map[string]Slot{}
	names := f.template.slots()
	for _, s := range f.slots {
		if !slices.Contains(names, s.Name) {
			return nil, withhold("SLOT-REFUSED", "the template has no slot %q", s.Name)
		}
		if _, twice := filled[s.Name]; twice {
			return nil, withhold("SLOT-REFUSED", "the slot %q is filled twice", s.Name)
		}
		filled[s.Name] = s
	}
	for _, name := range names {
		s, ok := filled[name]
		if empty := strings.TrimSpace(s.Value) == ""; !ok || empty {
			if name == f.template.title {
				return nil, withhold("TITLE-MISSING", "there is no title")
			}
			return nil, withhold("SLOT-UNFILLED", "the slot %q has no value", name)
		}
		if w := f.ground(s); w != nil {
			return nil, w
		}
	}
	if title, ok := filled[f.template.title]; ok && breaks(title.Value) {
		return nil, withhold("LINE-BREAK", "the title has several lines")
	}
	for _, s := range f.template.path {
		if s.slot != "" && (!slices.Contains(allowed, filled[s.slot].Value) || !plainSegment(filled[s.slot].Value)) {
			return nil, withhold("SEGMENT-NOT-ALLOWED", "the slot %q has a value that is not in the list", s.slot)
		}
	}
	return filled, nil
}

// ground finds the value in its source.
func (f *frozen) ground(s Slot) *gate.WithheldError {
	for _, c := range s.Value {
		if c == utf8.RuneError || c != '\n' && c != '\t' && unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) {
			return withhold("SLOT-REFUSED", "the slot %q holds %U", s.Name, c)
		}
	}
	src := f.source(s.Source)
	switch {
	case src == nil:
		return withhold("SLOT-UNGROUNDED", "the slot %q names a source that is not there", s.Name)
	case !bytes.Contains(src.Text, []byte(s.Value)):
		return withhold("SLOT-UNGROUNDED", "the source of the slot %q does not hold its value", s.Name)
	case labels[src.Role] == "":
		return withhold("ROLE-UNLABELLED", "nothing says who speaks in the source of the slot %q", s.Name)
	}
	return nil
}

// source returns the one source of a name, nil where there is none or two.
func (f *frozen) source(name string) *Source {
	var found *Source
	for i := range f.sources {
		if f.sources[i].Name == name {
			if found != nil {
				return nil
			}
			found = &f.sources[i]
		}
	}
	return found
}

// breaks says whether some reader would see a second line.
func breaks(s string) bool { return strings.ContainsAny(s, "\n\r\v\f\u0085\u2028\u2029") }

// plainSegment says whether a value is one element of a path, whatever reads it.
func plainSegment(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_')
	})
}

func (f *frozen) Plan() gate.Plan {
	in := preview.Render{Template: f.template.name, Scaffolding: f.scaffolding}
	if f.withheld == nil {
		in.Payload = preview.ContentOf(f.payload)
	}
	p := gate.Plan{Intent: in, Reads: []preview.Read{}}
	for _, s := range f.slots {
		p.Slots = append(p.Slots, preview.Slot{Name: s.Name, Value: s.Value, Source: s.Source})
	}
	for _, s := range f.sources {
		p.Reads = append(p.Reads, preview.Read{Key: s.Name, Seen: preview.ContentOf(s.Text)})
	}
	return p
}

// Invert says that there is nothing to undo.
func (f *frozen) Invert() (gate.Inverse, error) { return gate.Inverse{}, nil }

// Check withholds what could not be made, and what does not read back as what it
// was made of.
func (f *frozen) Check(context.Context) error {
	if f.withheld != nil {
		return f.withheld
	}
	if err := readBack(f.payload, f.template, f.slots, f.sources); err != nil {
		return withhold("RENDERING-FAILED", "the payload says something else than its slots: %w", err)
	}
	return nil
}

// Apply hands the payload over.
func (f *frozen) Apply(ctx context.Context, _ gate.Call) gate.Result {
	if f.applied {
		return gate.Result{Err: &gate.RefusedError{Code: "LIMIT-REACHED", Err: errors.New("it was rendered before")}}
	}
	f.applied = true
	if err := f.Check(ctx); err != nil {
		return gate.Result{Err: err}
	}
	return gate.Result{Rendered: true, Output: bytes.Clone(f.payload)}
}

func (f *frozen) Close() error { return nil }
