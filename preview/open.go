package preview

import (
	"slices"

	"github.com/obstat/obstat/report"
)

// Opened is every commitment that a receipt makes to a request, with what opens
// it, in the shape of the receipt (spec/preview.md#commitments).
type Opened struct {
	Inputs  []Disclosure // ascending by name, which is Item().Name
	Changes []OpenedChange
	Slots   []OpenedSlot
	Effects []OpenedEffect
	// Reads is what must be compared before the effect: the path and the old
	// content of every change, then the reads of ρ. nil where there are no
	// changes and ρ records no reads.
	Reads []OpenedRead
}

// OpenedChange is one change. A file that is created has an absent value in
// Before, one that is deleted in After (Item().Value.IsAbsent()).
type OpenedChange struct{ Path, Before, After Disclosure }

// OpenedSlot is one slot; its name is Value.Item().Name.
type OpenedSlot struct {
	Source string
	Value  Disclosure
}

// OpenedEffect is one expected effect.
type OpenedEffect struct {
	On     On
	Target Disclosure
}

// OpenedRead is one value to compare.
type OpenedRead struct{ Key, Seen Disclosure }

// Items returns every value of ρ that a receipt commits to, in the order of the
// table in the package comment. The caller owns the slice.
func (r Rho) Items() []Item {
	var all []Item
	for _, in := range r.p.Inputs {
		all = append(all, Item{FieldInput, in.Name, Text(in.Value)})
	}
	for i, c := range r.changes() {
		all = append(all,
			Item{FieldPath, Index(i), Text(c.Path)},
			Item{FieldBefore, Index(i), c.Before.Value()},
			Item{FieldAfter, Index(i), c.After.Value()})
	}
	for _, s := range r.p.Slots {
		all = append(all, Item{FieldSlot, s.Name, Text(s.Value)})
	}
	for i, e := range r.p.Effects {
		all = append(all, Item{FieldTarget, Index(i), Text(e.Target)})
	}
	for i, read := range r.p.Reads {
		all = append(all,
			Item{FieldKey, Index(i), Text(read.Key)},
			Item{FieldSeen, Index(i), read.Seen.Value()})
	}
	return all
}

func (r Rho) changes() []Change {
	if r.p.Intent == nil {
		return nil
	}
	return r.p.Intent.changes()
}

// Open returns every commitment to ρ under the secret that sealed it; another
// secret is refused with PREVIEW-SECRET.
func (r Rho) Open(secret RunSecret) (Opened, error) {
	var o Opened
	if r.p.Intent == nil {
		return o, bad(report.CodePreviewSchema, "ρ", "a sealed preview", "none")
	}
	own, err := blindOf(r.p.object(), secret)
	if err != nil {
		return o, err
	}
	if own != r.blind {
		return o, bad(report.CodePreviewSecret, "ctx.blind", "the secret of the run that sealed this preview", "another")
	}
	opener, err := secret.opener(r.digest)
	if err != nil {
		return o, err
	}
	items := r.Items()
	all := make([]Disclosure, len(items))
	for i, item := range items {
		if all[i], err = opener.disclose(item); err != nil {
			return o, err
		}
	}
	return r.shape(all), nil
}

// shape puts the disclosures of r.Items() into the form of a receipt.
func (r Rho) shape(all []Disclosure) Opened {
	next := func() Disclosure {
		d := all[0]
		all = all[1:]
		return d
	}
	var o Opened
	for range r.p.Inputs {
		o.Inputs = append(o.Inputs, next())
	}
	for range r.changes() {
		c := OpenedChange{Path: next(), Before: next(), After: next()}
		o.Changes = append(o.Changes, c)
		o.Reads = append(o.Reads, OpenedRead{c.Path, c.Before})
	}
	for _, s := range r.p.Slots {
		o.Slots = append(o.Slots, OpenedSlot{s.Source, next()})
	}
	for _, e := range r.p.Effects {
		o.Effects = append(o.Effects, OpenedEffect{e.On, next()})
	}
	if r.p.Reads != nil && o.Reads == nil {
		o.Reads = []OpenedRead{}
	}
	for range r.p.Reads {
		o.Reads = append(o.Reads, OpenedRead{Key: next(), Seen: next()})
	}
	return o
}

// Recomputed is what a full disclosure says: ρ, every commitment that a receipt
// about it can hold, and what besides was disclosed.
type Recomputed struct {
	Rho   Rho
	Items []RecomputedItem // one for each of Rho.Items(), in that order
	// Observed are the disclosures whose value ρ does not hold at their place:
	// what was found or left behind, and what belongs to other requests.
	Observed []Disclosure
}

// RecomputedItem is one value of ρ and the commitments to it under every salt
// disclosed for its place, each once. Without any, nobody can tell what a
// receipt says at this place: it is not checked. With some, a commitment in a
// receipt that is none of them is not to this value.
type RecomputedItem struct {
	Item        Item
	Commitments []Commitment
}

// Recompute reads ρ, recomputes its digest, and commits to every value in ρ
// under the salts of the disclosures (spec/preview.md#full-disclosure). What a
// disclosure says about the value is not relied on: values are those of ρ. It
// needs no secret, and fails only as [ParseRho] does.
//
// The caller compares: Rho.Digest() with the receipt's request.digest; verb,
// task, attempt and context with the request; and each commitment of the
// request with those here. (Whether ctx.blind was derived as it should be, only
// the run's secret could tell.)
func Recompute(rho []byte, disclosures []Disclosure) (Recomputed, error) {
	r, err := ParseRho(rho)
	if err != nil {
		return Recomputed{}, err
	}
	out := Recomputed{Rho: r}
	type place struct{ field, name string }
	at := map[place]int{}
	for i, item := range r.Items() {
		at[place{string(item.Field), item.Name}] = i
		out.Items = append(out.Items, RecomputedItem{Item: item})
	}
	for _, d := range disclosures {
		i, in := at[place{string(d.item.Field), d.item.Name}]
		if !in {
			out.Observed = append(out.Observed, d)
			continue
		}
		item := &out.Items[i]
		if d.item.Value != item.Item.Value {
			out.Observed = append(out.Observed, d)
			if d, err = d.With(item.Item.Value); err != nil {
				return Recomputed{}, err
			}
		}
		if !slices.Contains(item.Commitments, d.opens) {
			item.Commitments = append(item.Commitments, d.opens)
		}
	}
	return out, nil
}
