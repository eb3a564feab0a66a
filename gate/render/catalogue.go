package render

import (
	"slices"

	"github.com/obstat/obstat/internal/jcs"
)

// template is one entry of the catalogue: a request whose every byte is either
// here or in a slot. The catalogue is closed; there is no way to add to it but in
// this file.
type template struct {
	name   string // with its version: what it says is never changed
	method string
	path   []segment
	title  string // member of the body that is the title, filled from the slot of that name; empty: none
	body   string // member of the body that the parts make up
	parts  []part
}

// segment is one element of a path: a literal, a variable that whoever sends the
// request binds, or a slot.
type segment struct {
	literal, unbound, slot string
}

// part is a piece of the text with what stands above it.
type part struct {
	heading string
	slot    string
}

var (
	repository = []segment{{literal: "repos"}, {unbound: "owner"}, {unbound: "repo"}}

	catalogue = []template{
		{
			name: "github/issue@1", method: "POST", path: slices.Concat(repository, []segment{{literal: "issues"}}),
			title: "title", body: "body", parts: []part{{"Summary", "summary"}, {"Details", "details"}},
		},
		{
			name: "github/comment@1", method: "POST",
			path: slices.Concat(repository, []segment{{literal: "issues"}, {slot: "issue"}, {literal: "comments"}}),
			body: "body", parts: []part{{"Comment", "text"}},
		},
	}

	// labels say who speaks, by the role of a source.
	labels = map[Role]string{
		Person: "A person wrote this:",
		Agent:  "A language model wrote this:",
		Tool:   "A tool put this out:",
	}
)

// Templates are the names of the catalogue.
func Templates() []string {
	var all []string
	for _, t := range catalogue {
		all = append(all, t.name)
	}
	return all
}

func find(name string) (template, bool) {
	for _, t := range catalogue {
		if t.name == name {
			return t, true
		}
	}
	return template{}, false
}

// slots are the names of all slots, in the order in which they stand.
func (t template) slots() []string {
	var all []string
	for _, s := range t.path {
		if s.slot != "" {
			all = append(all, s.slot)
		}
	}
	if t.title != "" {
		all = append(all, t.title)
	}
	for _, p := range t.parts {
		all = append(all, p.slot)
	}
	return all
}

// scaffolding is everything that the template adds to its slots, as one
// document: what a preview pins.
func (t template) scaffolding() ([]byte, error) {
	texts := func(o jcs.Object, name, value string) jcs.Object {
		return append(o, jcs.Member{Name: name, Value: jcs.String(value)})
	}
	var path, parts jcs.Array
	for _, s := range t.path {
		path = append(path, texts(texts(texts(nil, "literal", s.literal), "unbound", s.unbound), "slot", s.slot))
	}
	for _, p := range t.parts {
		parts = append(parts, texts(texts(nil, "heading", p.heading), "slot", p.slot))
	}
	var roles jcs.Object
	for role, label := range labels {
		roles = texts(roles, string(role), label)
	}
	o := jcs.Object{
		{Name: "path", Value: path}, {Name: "parts", Value: parts}, {Name: "labels", Value: roles},
	}
	o = texts(texts(texts(texts(o, "name", t.name), "method", t.method), "title", t.title), "body", t.body)
	return jcs.Append(nil, o)
}
