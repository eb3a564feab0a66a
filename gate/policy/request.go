package policy

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cedar-policy/cedar-go"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/preview"
)

// request is one question to Cedar with the entities it speaks of.
type request struct {
	cedar.Request
	entities      cedar.EntityMap
	shell, loader bool // it is a command that looks like one, or has such an environment
}

type record = cedar.RecordMap

// requests are the parts of a proposal (docs/gate.md#what-a-policy-sees).
func (p *Policy) requests(proposal gate.Proposal) ([]request, error) {
	common := commonContext(proposal)
	one := func(resource cedar.EntityUID, own record, entities cedar.EntityMap) []request {
		for k, v := range common {
			own[k] = v
		}
		return []request{{Request: cedar.Request{
			Principal: p.principal, Action: action(proposal.Intent.Verb()), Resource: resource, Context: cedar.NewRecord(own),
		}, entities: entities}}
	}
	switch in := proposal.Intent.(type) {
	case preview.Exec:
		all := one(entity("Program", in.Program), execContext(in), nil)
		all[0].shell, all[0].loader = gate.LooksLikeShell(in), gate.LoadsUnnamed(in)
		return all, nil
	case preview.HTTP:
		return one(entity("Host", in.Authority()), httpContext(in), nil), nil
	case preview.Tool:
		own, err := toolContext(in)
		if err != nil {
			return nil, err
		}
		server := entity("Server", in.Server)
		tool := entity("Tool", in.Server+"/"+in.Tool)
		return one(tool, own, cedar.EntityMap{tool: child(tool, server), server: child(server)}), nil
	case preview.Render:
		return one(entity("Template", in.Template), record{"rendered": cedar.Boolean(!in.Payload.IsAbsent())}, nil), nil
	case preview.Files:
		return p.changes(common, in.Root, in.Changes, ""), nil
	case preview.Undo:
		return p.changes(common, in.Root, in.Changes, in.Outcome.String()), nil
	}
	return nil, fmt.Errorf("policies know no effect of the verb %q", proposal.Intent.Verb())
}

// changes asks for each change by itself.
func (p *Policy) changes(common record, root string, all []preview.Change, undoes string) []request {
	var out []request
	for _, c := range all {
		own := record{
			"root": text(root), "path": text(c.Path), "mode": cedar.String(c.Mode), "changes": cedar.Long(len(all)),
		}
		word := "replace"
		switch {
		case c.Before.IsAbsent():
			word = "create"
		case c.After.IsAbsent():
			word = "delete"
		}
		own["change"] = cedar.String(word)
		if !c.Before.IsAbsent() {
			own["before"] = content(c.Before)
		}
		if !c.After.IsAbsent() {
			own["after"] = content(c.After)
		}
		verb := word
		if undoes != "" {
			verb = preview.VerbUndo
			own["undoes"] = cedar.String(undoes)
		}
		for k, v := range common {
			own[k] = v
		}
		file, entities := below(c.Path)
		act, files := action(verb), action(preview.VerbFiles)
		if undoes == "" {
			entities[act], entities[files] = child(act, files), child(files)
		}
		out = append(out, request{Request: cedar.Request{Principal: p.principal, Action: act, Resource: file, Context: cedar.NewRecord(own)}, entities: entities})
	}
	return out
}

// below is a file in its directories: "in Directory::"src"" is everything below
// src, and "in Directory::"."" everything below the root.
func below(name string) (cedar.EntityUID, cedar.EntityMap) {
	all := cedar.EntityMap{}
	file := entity("File", name)
	at := file
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		up := entity("Directory", dir)
		all[at] = child(at, up)
		if at = up; dir == "." {
			all[up] = child(up)
			return file, all
		}
	}
}

func entity(kind cedar.EntityType, id string) cedar.EntityUID {
	if !utf8.ValidString(id) { // no policy can name it, and none names it by chance
		id = "\x00b64:" + base64.StdEncoding.EncodeToString([]byte(id))
	}
	return cedar.NewEntityUID(kind, cedar.String(id))
}

func action(verb string) cedar.EntityUID { return entity("Action", verb) }

func child(of cedar.EntityUID, parents ...cedar.EntityUID) cedar.Entity {
	return cedar.Entity{UID: of, Parents: cedar.NewEntityUIDSet(parents...)}
}

func commonContext(p gate.Proposal) record {
	slots := record{}
	for _, s := range p.Slots {
		slots[cedar.String(s.Name)] = cedar.NewRecord(record{"value": text(s.Value), "source": cedar.String(s.Source)})
	}
	inputs := record{}
	for _, in := range p.Inputs {
		inputs[cedar.String(in.Name)] = text(in.Value)
	}
	var effects, touches []cedar.Value
	for _, e := range p.Effects {
		effects = append(effects, cedar.NewRecord(record{"on": cedar.String(e.On), "target": text(e.Target)}))
		touches = append(touches, cedar.String(e.On))
	}
	ctx := record{
		"reversible": cedar.Boolean(p.Reversible),
		"class":      cedar.String(p.Class), "inputs": cedar.NewRecord(inputs), "slots": cedar.NewRecord(slots),
		"effects": cedar.NewSet(effects...), "touches": cedar.NewSet(touches...),
		"origin": cedar.NewRecord(record{"intent": cedar.String(p.Origin.Intent().String()), "rendering": cedar.String(p.Origin.Rendering().String())}),
		"pins":   cedar.NewRecord(pins(p.Context)),
	}
	if p.Task != "" {
		ctx["task"] = cedar.String(p.Task)
	}
	if p.Attempt != 0 {
		ctx["attempt"] = cedar.Long(p.Attempt)
	}
	if p.Context.Approval != "" {
		ctx["approval"] = cedar.String(p.Context.Approval)
	}
	return ctx
}

func pins(c preview.Context) record {
	all := record{}
	for name, pin := range map[cedar.String]preview.Pin{
		"plan": c.Plan, "policy": c.Policy, "permits": c.Permits, "lock": c.Lock, "tool": c.Tool, "sandbox": c.Sandbox,
	} {
		if pin != (preview.Pin{}) {
			all[name] = cedar.String(hex.EncodeToString(pin[:]))
		}
	}
	return all
}

func execContext(e preview.Exec) record {
	argv, env := record{}, record{}
	var args []cedar.Value
	for i, a := range e.Argv {
		argv[cedar.String(strconv.Itoa(i))] = text(a)
		if i > 0 {
			args = append(args, text(a))
		}
	}
	for _, kv := range e.Env {
		name, value, _ := strings.Cut(kv, "=")
		env[cedar.String(name)] = text(value)
	}
	return record{
		"root": text(e.Root), "dir": text(e.Dir), "program": text(e.Program), "content": content(e.File),
		"argv": cedar.NewRecord(argv), "args": cedar.NewSet(args...), "argc": cedar.Long(len(e.Argv)),
		"env": cedar.NewRecord(env), "stdin": cedar.Boolean(e.Stdin != preview.Content{} && e.Stdin != preview.ContentOf(nil)),
		"shell": cedar.Boolean(gate.LooksLikeShell(e)), "loader": cedar.Boolean(gate.LoadsUnnamed(e)),
	}
}

func httpContext(h preview.HTTP) record {
	lines := map[string][]cedar.Value{}
	for _, l := range h.Headers {
		name := strings.ToLower(l.Name)
		lines[name] = append(lines[name], text(l.Value))
	}
	headers := record{}
	for name, values := range lines {
		headers[cedar.String(name)] = cedar.NewSet(values...)
	}
	scheme, rest, _ := strings.Cut(h.URL, "://")
	_, target, _ := strings.Cut(rest, "/")
	p, query, _ := strings.Cut("/"+target, "?")
	ctx := record{
		"method": cedar.String(h.Method), "url": cedar.String(h.URL), "scheme": cedar.String(scheme),
		"host": cedar.String(h.Authority()), "path": cedar.String(p), "query": cedar.String(query),
		"headers": cedar.NewRecord(headers), "address": cedar.String(h.Address),
	}
	if !h.Body.IsAbsent() {
		ctx["body"] = content(h.Body)
	}
	return ctx
}

func toolContext(t preview.Tool) (record, error) {
	v, err := jcs.Parse(t.Arguments)
	if err != nil {
		return nil, err
	}
	return record{"server": cedar.String(t.Server), "tool": text(t.Tool), "arguments": value(v)}, nil
}

// value is JSON in Cedar's types. A list is a set there, so order and repetition
// are lost; null and numbers that are no integers have no counterpart and are
// records that no comparison takes for something else.
func value(v jcs.Value) cedar.Value {
	switch v := v.(type) {
	case jcs.Bool:
		return cedar.Boolean(v)
	case jcs.Number:
		if f := float64(v); f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return cedar.Long(f)
		}
		return cedar.NewRecord(record{"number": cedar.String(strconv.FormatFloat(float64(v), 'g', -1, 64))})
	case jcs.String:
		return cedar.String(v)
	case jcs.Array:
		var all []cedar.Value
		for _, e := range v {
			all = append(all, value(e))
		}
		return cedar.NewSet(all...)
	case jcs.Object:
		all := record{}
		for _, m := range v {
			all[cedar.String(m.Name)] = value(m.Value)
		}
		return cedar.NewRecord(all)
	}
	return cedar.NewRecord(record{"null": cedar.True})
}

// text is a byte string; bytes that are no UTF-8 are a record, as in ρ.
func text(s string) cedar.Value {
	if utf8.ValidString(s) {
		return cedar.String(s)
	}
	return cedar.NewRecord(record{"b64": cedar.String(base64.StdEncoding.EncodeToString([]byte(s)))})
}

// content is "b3:" and 64 hex digits.
func content(c preview.Content) cedar.Value { return cedar.String(c.Value().String()) }
