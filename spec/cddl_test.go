package spec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/obstat/obstat/internal/dagcbor"
)

// A reader for the part of CDDL (RFC 8610) that obstat.cddl uses: type and group
// rules, maps, arrays, choices, occurrence, ranges, tag 42, and the controls
// .size, .regexp, .cbor and .and. Whatever it does not know it refuses, so the
// file cannot say what nobody checks. There is no CDDL library for Go that is
// kept well enough to take instead.

type cddl struct {
	types  map[string]*cddlType
	groups map[string][]cddlEntry
	used   map[string]bool
}

// cddlType is a choice; a value matches if one of them does.
type cddlType []cddlChoice

type cddlChoice struct {
	base    cddlBase
	ctl     string // "", ".." or a control
	arg     cddlBase
	pattern *regexp.Regexp // of .regexp
}

type cddlBase struct {
	text   *string
	number *int64
	name   string
	paren  *cddlType
	entsOf byte // '{' or '[' for a map or an array
	ents   []cddlEntry
	tag    *cddlType // of tag 42
}

// cddlEntry is one entry of a group: a key and a type, a type alone, or the
// name of a group.
type cddlEntry struct {
	least, most int
	key         string
	group       string
	value       *cddlType
}

type cddlParser struct {
	tokens []string
	at     int
}

var cddlToken = regexp.MustCompile(`\s+|;[^\n]*|"[^"]*"|#6\.42\(|\.\.|\.[a-z]+|[0-9]+\*[0-9]+|[0-9]+|[A-Za-z][A-Za-z0-9_-]*|[=/{}\[\](),:?*+]`)

func parseCDDL(src string) (c *cddl, err error) {
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("%v", r)
		}
	}()
	p := &cddlParser{}
	for src != "" {
		m := cddlToken.FindStringIndex(src)
		if m == nil || m[0] != 0 {
			return nil, fmt.Errorf("no token at %.20q", src)
		}
		if t := src[:m[1]]; t[0] != ';' && strings.TrimSpace(t) != "" {
			p.tokens = append(p.tokens, t)
		}
		src = src[m[1]:]
	}
	c = &cddl{types: map[string]*cddlType{}, groups: map[string][]cddlEntry{}, used: map[string]bool{}}
	for p.at < len(p.tokens) {
		name := p.next()
		p.want("=")
		if c.types[name] != nil || c.groups[name] != nil {
			panic(name + " is defined twice")
		}
		if p.peek() == "(" && p.isGroup() {
			p.next()
			c.groups[name] = p.entries(")")
			continue
		}
		t := p.typ()
		c.types[name] = &t
	}
	for _, t := range c.types {
		c.resolve(*t)
	}
	for _, g := range c.groups {
		c.resolveEntries(g)
	}
	return c, nil
}

// resolve puts the entries of named groups in place of their names.
func (c *cddl) resolve(t cddlType) {
	for i := range t {
		for _, b := range []*cddlBase{&t[i].base, &t[i].arg} {
			switch {
			case b.paren != nil:
				c.resolve(*b.paren)
			case b.tag != nil:
				c.resolve(*b.tag)
			case b.entsOf != 0:
				b.ents = c.flat(b.ents)
				c.resolveEntries(b.ents)
			}
		}
	}
}

func (c *cddl) resolveEntries(ents []cddlEntry) {
	for _, e := range ents {
		c.resolve(*e.value)
	}
}

func (p *cddlParser) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

func (p *cddlParser) next() string { p.at++; return p.tokens[p.at-1] }

func (p *cddlParser) want(t string) {
	if got := p.next(); got != t {
		panic(fmt.Sprintf("want %s, got %s", t, got))
	}
}

// isGroup tells ( key: … from ( type ).
func (p *cddlParser) isGroup() bool { return p.at+2 < len(p.tokens) && p.tokens[p.at+2] == ":" }

func (p *cddlParser) typ() cddlType {
	t := cddlType{p.choice()}
	for p.peek() == "/" {
		p.next()
		t = append(t, p.choice())
	}
	return t
}

func (p *cddlParser) choice() cddlChoice {
	c := cddlChoice{base: p.base()}
	switch t := p.peek(); t {
	case "..", ".size", ".regexp", ".cbor", ".and":
		c.ctl = p.next()
		c.arg = p.base()
		if c.ctl == ".regexp" {
			c.pattern = regexp.MustCompile(`^(?:` + *c.arg.text + `)$`)
		}
	default:
		if strings.HasPrefix(t, ".") {
			panic("control " + t)
		}
	}
	return c
}

func (p *cddlParser) base() cddlBase {
	t := p.next()
	switch {
	case t[0] == '"':
		s := t[1 : len(t)-1]
		return cddlBase{text: &s}
	case t[0] >= '0' && t[0] <= '9':
		n := must(strconv.ParseInt(t, 10, 64))
		return cddlBase{number: &n}
	case t == "(":
		inner := p.typ()
		p.want(")")
		return cddlBase{paren: &inner}
	case t == "{":
		return cddlBase{entsOf: '{', ents: p.entries("}")}
	case t == "[":
		return cddlBase{entsOf: '[', ents: p.entries("]")}
	case t == "#6.42(":
		inner := p.typ()
		p.want(")")
		return cddlBase{tag: &inner}
	case t[0] >= 'A' && t[0] <= 'Z', t[0] >= 'a' && t[0] <= 'z':
		return cddlBase{name: t}
	}
	panic("type " + t)
}

func (p *cddlParser) entries(end string) []cddlEntry {
	out := []cddlEntry{}
	for p.peek() != end {
		e := cddlEntry{least: 1, most: 1}
		switch t := p.peek(); {
		case t == "?":
			e.least = 0
			p.next()
		case t == "*":
			e.least, e.most = 0, 1<<30
			p.next()
		case t == "+":
			e.most = 1 << 30
			p.next()
		case strings.Contains(t, "*"):
			least, most, _ := strings.Cut(p.next(), "*")
			e.least, e.most = must(strconv.Atoi(least)), must(strconv.Atoi(most))
		}
		if p.at+1 < len(p.tokens) && p.tokens[p.at+1] == ":" {
			e.key = p.next()
			p.next()
			t := p.typ()
			e.value = &t
		} else {
			t := p.typ()
			e.value = &t
			if len(t) == 1 && t[0].ctl == "" {
				e.group = t[0].base.name // if it names a group; resolved later
			}
		}
		out = append(out, e)
		if p.peek() == "," {
			p.next()
		}
	}
	p.next()
	return out
}

// match says why a canonical block is not of a rule; empty where it is.
func (c *cddl) match(rule string, block []byte) string {
	n, err := dagcbor.Parse(block)
	if err != nil {
		return err.Error()
	}
	return c.ref(rule, n)
}

func (c *cddl) ref(name string, n dagcbor.Node) string {
	c.used[name] = true
	kind := n.Kind()
	switch name {
	case "tstr":
		return unless(kind == dagcbor.KindText, "no text")
	case "bstr":
		return unless(kind == dagcbor.KindBytes, "no byte string")
	case "false":
		return unless(kind == dagcbor.KindBool && !n.Bool(), "not false")
	}
	t := c.types[name]
	if t == nil {
		panic("obstat.cddl has no type " + name)
	}
	if why := c.typ(*t, n); why != "" {
		return name + ": " + why
	}
	return ""
}

func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}

func (c *cddl) typ(t cddlType, n dagcbor.Node) string {
	var all []string
	for _, ch := range t {
		why := c.choice(ch, n)
		if why == "" {
			return ""
		}
		all = append(all, why)
	}
	return strings.Join(all, " / ")
}

func (c *cddl) choice(ch cddlChoice, n dagcbor.Node) string {
	if ch.ctl == ".." {
		return unless(n.Kind() == dagcbor.KindInt && n.Int() >= *ch.base.number && n.Int() <= *ch.arg.number, "not in range")
	}
	if why := c.base(ch.base, n); why != "" {
		return why
	}
	switch ch.ctl {
	case ".size":
		return unless(c.size(ch.arg, n), "wrong size")
	case ".regexp":
		return unless(ch.pattern.MatchString(n.Text()), "does not match")
	case ".cbor":
		return c.match(ch.arg.name, n.Bytes())
	case ".and":
		return c.base(ch.arg, n)
	}
	return ""
}

// size holds the bytes of a string against a number or a range.
func (c *cddl) size(arg cddlBase, n dagcbor.Node) bool {
	var length int64
	if n.Kind() == dagcbor.KindText {
		length = int64(len(n.Text()))
	} else {
		length = int64(len(n.Bytes()))
	}
	if arg.number != nil {
		return length == *arg.number
	}
	r := (*arg.paren)[0]
	return length >= *r.base.number && length <= *r.arg.number
}

func (c *cddl) base(b cddlBase, n dagcbor.Node) string {
	switch {
	case b.text != nil:
		return unless(n.Kind() == dagcbor.KindText && n.Text() == *b.text, "not "+*b.text)
	case b.number != nil:
		return unless(n.Kind() == dagcbor.KindInt && n.Int() == *b.number, "another number")
	case b.paren != nil:
		return c.typ(*b.paren, n)
	case b.tag != nil:
		if n.Kind() != dagcbor.KindLink {
			return "no link"
		}
		return c.typ(*b.tag, must(dagcbor.Parse(must(dagcbor.Encode(dagcbor.Bytes(append([]byte{0}, n.Link()...)))))))
	case b.entsOf == '{':
		return c.object(b.ents, n)
	case b.entsOf == '[':
		return c.array(b.ents, n)
	}
	return c.ref(b.name, n)
}

func (c *cddl) flat(ents []cddlEntry) []cddlEntry {
	var out []cddlEntry
	for _, e := range ents {
		if g, ok := c.groups[e.group]; ok && e.group != "" {
			c.used[e.group] = true
			out = append(out, c.flat(g)...)
			continue
		}
		out = append(out, e)
	}
	return out
}

func (c *cddl) object(ents []cddlEntry, n dagcbor.Node) string {
	if n.Kind() != dagcbor.KindMap {
		return "no map"
	}
	found := 0
	for _, e := range ents {
		if e.key == "" {
			panic("a map entry without a key")
		}
		v, ok := n.Lookup(e.key)
		switch {
		case !ok && e.least > 0:
			return "no " + e.key
		case !ok:
			continue
		}
		found++
		if why := c.typ(*e.value, v); why != "" {
			return e.key + ": " + why
		}
	}
	return unless(found == n.Len(), "an unknown key")
}

// array matches entries from left to right, each as often as it can.
func (c *cddl) array(ents []cddlEntry, n dagcbor.Node) string {
	if n.Kind() != dagcbor.KindList {
		return "no list"
	}
	var items []dagcbor.Node
	for _, v := range n.Items() {
		items = append(items, v)
	}
	for _, e := range ents {
		count := 0
		for len(items) > 0 && count < e.most {
			if why := c.typ(*e.value, items[0]); why != "" {
				if count >= e.least {
					break
				}
				return why
			}
			items = items[1:]
			count++
		}
		if count < e.least {
			return "too few items"
		}
	}
	return unless(len(items) == 0, "too many items, or one that does not match")
}
