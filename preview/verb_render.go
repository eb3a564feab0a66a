package preview

import (
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// VerbRender is the verb that makes a payload and does not send it.
const VerbRender = "render"

// Render is the intent to make one payload from a template and the slots of the
// preview (spec/preview.md#render). In ρ it is
//
//	{"payload": {"b3": …} or null, "scaffolding": {"b3": …}, "template": name}
type Render struct {
	Template    string  // name in the catalogue
	Scaffolding Content // of what the template adds to the slots; never absent
	Payload     Content // absent: the slots make none, and it will be withheld
}

// Verb returns "render".
func (Render) Verb() string { return VerbRender }

func (Render) changes() []Change { return nil }

func (r Render) normal() (Intent, error) {
	if !verdict.ValidName(r.Template) {
		return nil, bad(report.CodePreviewIntent, "intent.template", "a name", quote(r.Template))
	}
	if r.Scaffolding.IsAbsent() {
		return nil, bad(report.CodePreviewIntent, "intent.scaffolding", "a content", "none")
	}
	return r, nil
}

func (r Render) members() jcs.Object {
	return jcs.Object{
		{Name: "payload", Value: r.Payload.Value().json()},
		{Name: "scaffolding", Value: r.Scaffolding.Value().json()},
		{Name: "template", Value: jcs.String(r.Template)},
	}
}

func readRender(m *members, changes []Change) (Intent, error) {
	if changes != nil {
		return nil, bad(report.CodePreviewIntent, "intent.changes", "no changes under render", "some")
	}
	var r Render
	var err error
	if r.Template, err = m.text("template"); err != nil {
		return nil, err
	}
	if r.Scaffolding, err = m.content("scaffolding"); err != nil {
		return nil, err
	}
	if r.Payload, err = m.content("payload"); err != nil {
		return nil, err
	}
	return r, m.done()
}
