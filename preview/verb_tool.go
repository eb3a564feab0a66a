package preview

import (
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// VerbTool is the verb that calls a tool of a server.
const VerbTool = "tool"

// Tool is the intent to call one tool (spec/preview.md#tool). In ρ it is
//
//	{"arguments": object, "server": name, "tool": bytes}
//
// The arguments stand there as a JSON value, so two documents that say the same
// are one call. What the server does with them is its own; pin the tool's
// definition as Context.Tool.
type Tool struct {
	Server    string // name of the server
	Tool      string // what the server calls it; not empty
	Arguments []byte // a JSON object, as package jcs reads it; empty: {}
}

// Verb returns "tool".
func (Tool) Verb() string { return VerbTool }

func (Tool) changes() []Change { return nil }

func (t Tool) normal() (Intent, error) {
	if !verdict.ValidName(t.Server) {
		return nil, bad(report.CodePreviewIntent, "intent.server", "a name", quote(t.Server))
	}
	if t.Tool == "" {
		return nil, bad(report.CodePreviewIntent, "intent.tool", "what the server calls it", `""`)
	}
	if len(t.Arguments) == 0 {
		t.Arguments = []byte("{}")
	}
	v, err := jcs.Parse(t.Arguments)
	if err != nil {
		return nil, err
	}
	if _, ok := v.(jcs.Object); !ok {
		return nil, bad(report.CodePreviewIntent, "intent.arguments", "an object", kind(v))
	}
	t.Arguments, err = jcs.Append(nil, v)
	return t, err
}

func (t Tool) members() jcs.Object {
	arguments, err := jcs.Parse(t.Arguments)
	if err != nil { // a normal intent holds what jcs.Append wrote
		arguments = jcs.Null{}
	}
	return jcs.Object{
		{Name: "arguments", Value: arguments},
		{Name: "server", Value: jcs.String(t.Server)},
		{Name: "tool", Value: Text(t.Tool).json()},
	}
}

func readTool(m *members, changes []Change) (Intent, error) {
	if changes != nil {
		return nil, bad(report.CodePreviewIntent, "intent.changes", "no changes under tool", "some")
	}
	var t Tool
	var err error
	if t.Server, err = m.text("server"); err != nil {
		return nil, err
	}
	if t.Tool, err = m.bytes("tool"); err != nil {
		return nil, err
	}
	arguments, err := m.object("arguments")
	if err != nil {
		return nil, err
	}
	if t.Arguments, err = jcs.Append(nil, arguments); err != nil {
		return nil, err
	}
	return t, m.done()
}
