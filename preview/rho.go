package preview

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
)

// MaxRho is the most bytes that the RFC 8785 form of ρ may have, and the most
// that [ParseRho] reads.
const MaxRho = 1 << 20

// Rho is ρ: a checked preview with its blind, its bytes and its digest
// (spec/preview.md#rho). It is immutable. The zero Rho is none; its digest is
// the zero Digest.
type Rho struct {
	tagged []byte // digestTag ‖ JCS(ρ)
	digest Digest
	p      Preview // normal
	blind  [32]byte
}

// Seal checks p and returns ρ with the blind that the secret gives it. It does
// not change p. The same p under the same secret gives the same ρ, whatever the
// order of its lists. The error is a *report.Error with a code PREVIEW-… and
// the member in Where.
func (p Preview) Seal(secret RunSecret) (Rho, error) {
	n, err := p.normal()
	if err != nil {
		return Rho{}, err
	}
	o := n.object()
	blind, err := blindOf(o, secret)
	if err != nil {
		return Rho{}, err
	}
	return n.seal(o, blind)
}

// blindOf returns the blind of ρ, given without one.
func blindOf(o jcs.Object, secret RunSecret) ([32]byte, error) {
	h, err := secret.hasher()
	if err != nil {
		return [32]byte{}, err
	}
	open, err := jcs.Append(make([]byte, 0, 1024), o)
	if err != nil {
		return [32]byte{}, err
	}
	return sumOf(h, blindTag, open), nil
}

// seal gives a normal preview, whose ρ without a blind is o, its blind. It
// takes o over.
func (p Preview) seal(o jcs.Object, blind [32]byte) (Rho, error) {
	for i := range o {
		if o[i].Name == memberCtx {
			o[i].Value = append(o[i].Value.(jcs.Object), jcs.Member{Name: memberBlind, Value: jcs.String(hex.EncodeToString(blind[:]))})
		}
	}
	tagged := append(make([]byte, 0, 1024), digestTag...)
	tagged, err := jcs.Append(tagged, o)
	if err != nil {
		return Rho{}, err
	}
	if n := len(tagged) - len(digestTag); n > MaxRho {
		return Rho{}, tooLarge(n)
	}
	return Rho{tagged: tagged, digest: sum(tagged), p: p, blind: blind}, nil
}

func tooLarge(n int) error {
	return bad(report.CodePreviewSize, "ρ", "at most 1,048,576 bytes", strconv.Itoa(n))
}

// ParseRho reads ρ from JSON. It binds the JSON value: spacing, member order
// and escapes of doc do not matter, and everything else does; what is not the
// one spelling of a preview is refused. The error is a *report.Error with a
// code JSON-… or PREVIEW-….
//
// Under a verb that this version does not know, the verb's own members are
// taken as they are, and [Rho.Known] says so.
func ParseRho(doc []byte) (Rho, error) {
	if len(doc) > MaxRho {
		return Rho{}, tooLarge(len(doc))
	}
	v, err := jcs.Parse(doc)
	if err != nil {
		return Rho{}, err
	}
	p, blind, err := readRho(v)
	if err != nil {
		return Rho{}, err
	}
	if p, err = p.normal(); err != nil {
		return Rho{}, err
	}
	rho, err := p.seal(p.object(), blind)
	if err != nil {
		return Rho{}, err
	}
	// What a preview leaves only one way to write, and the checks above take in
	// another, shows here: the order of lists, and members that say nothing.
	canonical, err := jcs.Append(make([]byte, 0, len(rho.tagged)), v)
	if err != nil {
		return Rho{}, err
	}
	if err := sameSpelling(rho.JSON(), canonical); err != nil {
		return Rho{}, err
	}
	return rho, nil
}

func sameSpelling(want, got []byte) error {
	if bytes.Equal(want, got) {
		return nil
	}
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	return bad(report.CodePreviewSpelling, "byte "+strconv.Itoa(i)+" of the RFC 8785 form",
		quote(string(want[i:])), quote(string(got[i:])))
}

func readRho(v jcs.Value) (p Preview, blind [32]byte, err error) {
	m, err := openObject("", v)
	if err != nil {
		return p, blind, err
	}
	ctx, err := m.take(memberCtx)
	if err != nil {
		return p, blind, err
	}
	if p.Context, blind, err = readContext(ctx); err != nil {
		return p, blind, err
	}
	inputs, err := m.object("inputs")
	if err != nil {
		return p, blind, err
	}
	for _, in := range inputs {
		value, err := readBytes("inputs."+in.Name, in.Value)
		if err != nil {
			return p, blind, err
		}
		p.Inputs = append(p.Inputs, Input{in.Name, value})
	}
	if err := p.readTask(m); err != nil {
		return p, blind, err
	}
	verb, err := m.text("verb")
	if err != nil {
		return p, blind, err
	}
	intent, err := m.take("intent")
	if err != nil {
		return p, blind, err
	}
	if err := p.readIntent(verb, intent); err != nil {
		return p, blind, err
	}
	return p, blind, m.done()
}

// readTask reads task_id and attempt, null where there is none.
func (p *Preview) readTask(m *members) error {
	task, err := m.take("task_id")
	if err != nil {
		return err
	}
	switch v := task.(type) {
	case jcs.Null:
	case jcs.String:
		if p.Task = string(v); p.Task == "" {
			return bad(report.CodePreviewSchema, "task_id", "a name or null", `""`)
		}
	default:
		return bad(report.CodePreviewSchema, "task_id", "a name or null", kind(v))
	}
	attempt, err := m.take("attempt")
	if err != nil {
		return err
	}
	switch v := attempt.(type) {
	case jcs.Null:
	case jcs.Number:
		if v < 1 || v > MaxAttempt || v != jcs.Number(uint64(v)) {
			return bad(report.CodePreviewSchema, "attempt", "an integer from 1 to 2^53-1, or null", strconv.FormatFloat(float64(v), 'g', -1, 64))
		}
		p.Attempt = uint64(v)
	default:
		return bad(report.CodePreviewSchema, "attempt", "an integer from 1 to 2^53-1, or null", kind(v))
	}
	return nil
}

// readIntent reads the common members of an intent, then those of the verb.
func (p *Preview) readIntent(verb string, v jcs.Value) error {
	m, err := openObject("intent", v)
	if err != nil {
		return err
	}
	changes, err := readChanges(m)
	if err != nil {
		return err
	}
	if m.has(memberEffects) {
		if err := p.readEffects(m); err != nil {
			return err
		}
	}
	if m.has(memberReads) {
		if err := p.readReads(m); err != nil {
			return err
		}
	}
	if m.has(memberSlots) {
		if err := p.readSlots(m); err != nil {
			return err
		}
	}
	p.Intent, err = readIntent(verb, m, changes)
	return err
}

func (p *Preview) readEffects(m *members) error {
	list, err := m.array(memberEffects)
	if err != nil {
		return err
	}
	for i, v := range list {
		e, err := openObject("intent.effects["+strconv.Itoa(i)+"]", v)
		if err != nil {
			return err
		}
		on, err := e.text("on")
		if err != nil {
			return err
		}
		target, err := e.bytes("target")
		if err != nil {
			return err
		}
		if err := e.done(); err != nil {
			return err
		}
		p.Effects = append(p.Effects, Effect{On(on), target})
	}
	return nil
}

func (p *Preview) readReads(m *members) error {
	list, err := m.array(memberReads)
	if err != nil {
		return err
	}
	p.Reads = make([]Read, len(list))
	for i, v := range list {
		e, err := openObject("intent.reads["+strconv.Itoa(i)+"]", v)
		if err != nil {
			return err
		}
		if p.Reads[i].Key, err = e.bytes("key"); err != nil {
			return err
		}
		if p.Reads[i].Seen, err = e.content("seen"); err != nil {
			return err
		}
		if err := e.done(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Preview) readSlots(m *members) error {
	slots, err := m.object(memberSlots)
	if err != nil {
		return err
	}
	for _, s := range slots {
		e, err := openObject("intent.slots."+s.Name, s.Value)
		if err != nil {
			return err
		}
		source, err := e.text("source")
		if err != nil {
			return err
		}
		value, err := e.bytes("value")
		if err != nil {
			return err
		}
		if err := e.done(); err != nil {
			return err
		}
		p.Slots = append(p.Slots, Slot{s.Name, value, source})
	}
	return nil
}

// Digest returns the preview digest.
func (r Rho) Digest() Digest { return r.digest }

// JSON returns the RFC 8785 form of ρ. The caller owns the slice.
func (r Rho) JSON() []byte {
	if len(r.tagged) == 0 {
		return nil
	}
	return slices.Clone(r.tagged[len(digestTag):])
}

// Verb returns the verb.
func (r Rho) Verb() string {
	if r.p.Intent == nil {
		return ""
	}
	return r.p.Intent.Verb()
}

// Task returns the name of the task, empty where there is none.
func (r Rho) Task() string { return r.p.Task }

// Attempt returns the attempt, from 1; 0 where there is none.
func (r Rho) Attempt() uint64 { return r.p.Attempt }

// Context returns what the request is judged under.
func (r Rho) Context() Context { return r.p.Context }

// Preview returns what was sealed, as ρ has it: checked, and every list in its
// order. The caller does not change the lists.
func (r Rho) Preview() Preview { return r.p }

// Known reports whether this version knows the verb. If it does not, digest and
// commitments are as good as ever, and whether the intent is one of that verb
// is not checked.
func (r Rho) Known() bool {
	_, other := r.p.Intent.(foreign)
	return r.p.Intent != nil && !other
}
