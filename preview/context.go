package preview

import (
	"encoding/hex"

	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// Pin is an opaque digest handed in from outside, a multihash of 34 bytes:
// BLAKE3 (1e 20) or SHA-256 (12 20) and 32 bytes (spec/receipt.md#pins). In ρ
// it is lowercase hex. The zero Pin is absent.
type Pin [34]byte

// Context is what a request is judged under (spec/preview.md#context). Every
// member is optional.
type Context struct {
	Plan     Pin
	Policy   Pin
	Permits  Pin
	Lock     Pin
	Tool     Pin
	Sandbox  Pin
	Approval string // name of the approval class
}

const (
	memberBlind    = "blind"
	memberApproval = "approval"
)

// pins lists the members of c that are pins, by their names in ρ.
func (c *Context) pins() []namedPin {
	return []namedPin{
		{"lock", &c.Lock}, {"permits", &c.Permits}, {"plan", &c.Plan},
		{"policy", &c.Policy}, {"sandbox", &c.Sandbox}, {"tool", &c.Tool},
	}
}

type namedPin struct {
	name string
	pin  *Pin
}

func (c *Context) check() error {
	for _, p := range c.pins() {
		if *p.pin != (Pin{}) && !multihash(p.pin[:]) {
			return bad(report.CodePreviewContext, "ctx."+p.name, "a multihash of BLAKE3 (1e20) or SHA-256 (1220)", hex.EncodeToString(p.pin[:2])+"…")
		}
	}
	if c.Approval != "" && !verdict.ValidName(c.Approval) {
		return bad(report.CodePreviewContext, "ctx.approval", "a name", quote(c.Approval))
	}
	return nil
}

func multihash(b []byte) bool {
	return len(b) == 34 && (b[0] == 0x1e || b[0] == 0x12) && b[1] == 0x20
}

// Join returns what c and d say together. They must not say two things
// (PREVIEW-CONTEXT).
func (c Context) Join(d Context) (Context, error) {
	others := d.pins()
	for i, p := range c.pins() {
		other := *others[i].pin
		if *p.pin != (Pin{}) && other != (Pin{}) && *p.pin != other {
			return c, bad(report.CodePreviewContext, "ctx."+p.name, "one pin", "two that differ")
		}
		if *p.pin == (Pin{}) {
			*p.pin = other
		}
	}
	if c.Approval != "" && d.Approval != "" && c.Approval != d.Approval {
		return c, bad(report.CodePreviewContext, "ctx.approval", "one class", "two that differ")
	}
	if c.Approval == "" {
		c.Approval = d.Approval
	}
	return c, nil
}

// object returns ctx without its blind.
func (c *Context) object() jcs.Object {
	o := make(jcs.Object, 0, 8)
	if c.Approval != "" {
		o = append(o, jcs.Member{Name: memberApproval, Value: jcs.String(c.Approval)})
	}
	for _, p := range c.pins() {
		if *p.pin != (Pin{}) {
			o = append(o, jcs.Member{Name: p.name, Value: jcs.String(hex.EncodeToString(p.pin[:]))})
		}
	}
	return o
}

// readContext reads ctx and its blind.
func readContext(v jcs.Value) (c Context, blind [32]byte, err error) {
	m, err := openObject("ctx", v)
	if err != nil {
		return c, blind, err
	}
	text, err := m.text(memberBlind)
	if err != nil {
		return c, blind, err
	}
	b, ok := readHex(text)
	if !ok {
		return c, blind, bad(report.CodePreviewContext, "ctx.blind", "64 lowercase hex digits", quote(text))
	}
	blind = [32]byte(b)
	for _, p := range c.pins() {
		if !m.has(p.name) {
			continue
		}
		if text, err = m.text(p.name); err != nil {
			return c, blind, err
		}
		b, err := hex.DecodeString(text)
		if err != nil || !multihash(b) {
			return c, blind, bad(report.CodePreviewContext, "ctx."+p.name, "the hex of a multihash of BLAKE3 (1e20) or SHA-256 (1220)", quote(text))
		}
		*p.pin = Pin(b)
	}
	if m.has(memberApproval) {
		if c.Approval, err = m.text(memberApproval); err != nil {
			return c, blind, err
		}
		if c.Approval == "" {
			return c, blind, bad(report.CodePreviewContext, "ctx.approval", "a name", `""`)
		}
	}
	return c, blind, m.done()
}
