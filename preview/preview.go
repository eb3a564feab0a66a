package preview

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// MaxAttempt is the greatest attempt, 2^53-1.
const MaxAttempt = 1<<53 - 1

// Preview is one request in Go values, before it has a digest
// (spec/preview.md#rho). Lists may be in any order; [Preview.Seal] sorts copies.
type Preview struct {
	Task    string // name; empty: no task
	Attempt uint64 // from 1 to MaxAttempt; 0: no attempt
	Intent  Intent
	Inputs  []Input
	Slots   []Slot
	Effects []Effect
	// Reads is what the request rests on beside the files it changes. nil says
	// that nothing was recorded, an empty list that nothing was compared.
	Reads   []Read
	Context Context
}

// Input is one named value that the effect is made from.
type Input struct {
	Name  string // name, once in a request
	Value string // any bytes
}

// Slot is a hole of a template and what filled it.
type Slot struct {
	Name   string // name, once in a request
	Value  string // any bytes
	Source string // name of where the value came from
}

// Effect is one thing that the engine's own audit expects the call to touch.
type Effect struct {
	On     On
	Target string // any bytes
}

// On is what an effect touches.
type On string

// The closed list.
const (
	OnReads   On = "reads"
	OnWrites  On = "writes"
	OnExec    On = "exec"
	OnNetwork On = "network"
	OnSecrets On = "secrets"
	OnModels  On = "models"
	OnSpend   On = "spend"
	OnHuman   On = "human"
)

func (o On) known() bool {
	switch o {
	case OnReads, OnWrites, OnExec, OnNetwork, OnSecrets, OnModels, OnSpend, OnHuman:
		return true
	}
	return false
}

// Read is one value that the request rests on: what a key held when the request
// was judged. A key that is no file has the digest of whatever bytes the engine
// compares.
type Read struct {
	Key  string // any bytes, once in a request
	Seen Content
}

// normal returns a checked copy with every list in the order of ρ.
func (p Preview) normal() (Preview, error) {
	if p.Task != "" && !verdict.ValidName(p.Task) {
		return p, bad(report.CodePreviewSchema, "task_id", "a name", quote(p.Task))
	}
	if p.Attempt > MaxAttempt {
		return p, bad(report.CodePreviewSchema, "attempt", "at most 2^53-1", strconv.FormatUint(p.Attempt, 10))
	}
	if p.Intent == nil {
		return p, bad(report.CodePreviewSchema, "intent", "an intent", "none")
	}
	if !verdict.ValidName(p.Intent.Verb()) {
		return p, bad(report.CodePreviewSchema, "verb", "a name", quote(p.Intent.Verb()))
	}
	if err := p.Context.check(); err != nil {
		return p, err
	}
	var err error
	if p.Intent, err = p.Intent.normal(); err != nil {
		return p, err
	}
	if p.Inputs, err = set(p.Inputs, "inputs", func(a, b Input) int { return cmp.Compare(a.Name, b.Name) }); err != nil {
		return p, err
	}
	if p.Slots, err = set(p.Slots, "intent.slots", func(a, b Slot) int { return cmp.Compare(a.Name, b.Name) }); err != nil {
		return p, err
	}
	if p.Effects, err = set(p.Effects, "intent.effects", func(a, b Effect) int {
		return cmp.Or(cmp.Compare(a.On, b.On), cmp.Compare(a.Target, b.Target))
	}); err != nil {
		return p, err
	}
	if p.Reads, err = set(p.Reads, "intent.reads", func(a, b Read) int { return cmp.Compare(a.Key, b.Key) }); err != nil {
		return p, err
	}
	return p, p.checkWords()
}

// set returns a sorted copy of in, nil exactly if in is, and refuses two
// members with one key.
func set[T any](in []T, where string, compare func(a, b T) int) ([]T, error) {
	out := slices.Clone(in)
	slices.SortFunc(out, compare)
	for i := 1; i < len(out); i++ {
		if compare(out[i-1], out[i]) == 0 {
			return nil, bad(report.CodePreviewTwice, where+"["+strconv.Itoa(i)+"]", "each key once", "a key for the second time")
		}
	}
	return out, nil
}

func (p Preview) checkWords() error {
	for _, in := range p.Inputs {
		if !verdict.ValidName(in.Name) {
			return bad(report.CodePreviewSchema, "inputs", "names", quote(in.Name))
		}
	}
	for _, s := range p.Slots {
		if !verdict.ValidName(s.Name) || !verdict.ValidName(s.Source) {
			return bad(report.CodePreviewSchema, "intent.slots", "names of slot and source", quote(s.Name)+" from "+quote(s.Source))
		}
	}
	for _, e := range p.Effects {
		if !e.On.known() {
			return bad(report.CodePreviewSchema, "intent.effects", "one of the eight words for what an effect touches", quote(string(e.On)))
		}
	}
	return nil
}

// Members of an intent that mean the same under every verb.
const (
	memberChanges = "changes"
	memberEffects = "effects"
	memberReads   = "reads"
	memberSlots   = "slots"
)

const memberCtx = "ctx"

// object returns ρ of a normal preview without ctx.blind.
func (p Preview) object() jcs.Object {
	task, attempt := jcs.Value(jcs.Null{}), jcs.Value(jcs.Null{})
	if p.Task != "" {
		task = jcs.String(p.Task)
	}
	if p.Attempt != 0 {
		attempt = jcs.Number(p.Attempt)
	}
	inputs := make(jcs.Object, len(p.Inputs))
	for i, in := range p.Inputs {
		inputs[i] = jcs.Member{Name: in.Name, Value: Text(in.Value).json()}
	}
	return jcs.Object{
		{Name: "attempt", Value: attempt},
		{Name: memberCtx, Value: p.Context.object()},
		{Name: "inputs", Value: inputs},
		{Name: "intent", Value: p.intent()},
		{Name: "task_id", Value: task},
		{Name: "verb", Value: jcs.String(p.Intent.Verb())},
	}
}

// intent returns the intent: the verb's own members and the common ones.
func (p Preview) intent() jcs.Object {
	o := p.Intent.members()
	if all := p.Intent.changes(); len(all) > 0 {
		list := make(jcs.Array, len(all))
		for i, c := range all {
			list[i] = c.object()
		}
		o = append(o, jcs.Member{Name: memberChanges, Value: list})
	}
	if len(p.Effects) > 0 {
		list := make(jcs.Array, len(p.Effects))
		for i, e := range p.Effects {
			list[i] = jcs.Object{{Name: "on", Value: jcs.String(e.On)}, {Name: "target", Value: Text(e.Target).json()}}
		}
		o = append(o, jcs.Member{Name: memberEffects, Value: list})
	}
	if p.Reads != nil {
		list := make(jcs.Array, len(p.Reads))
		for i, r := range p.Reads {
			list[i] = jcs.Object{{Name: "key", Value: Text(r.Key).json()}, {Name: "seen", Value: r.Seen.Value().json()}}
		}
		o = append(o, jcs.Member{Name: memberReads, Value: list})
	}
	if len(p.Slots) > 0 {
		slots := make(jcs.Object, len(p.Slots))
		for i, s := range p.Slots {
			slots[i] = jcs.Member{Name: s.Name, Value: jcs.Object{
				{Name: "source", Value: jcs.String(s.Source)}, {Name: "value", Value: Text(s.Value).json()},
			}}
		}
		o = append(o, jcs.Member{Name: memberSlots, Value: slots})
	}
	return o
}
