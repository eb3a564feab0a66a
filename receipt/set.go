package receipt

import (
	"slices"
	"strings"
)

// Element is an item of a set: of all items of one set no two have the same
// key, and their order is that of their keys. The types are Name, Code, Input,
// Change, Slot, Effect, Read, Wrote and Comparison.
type Element[T any] interface{ order(T) int }

// SortSet sorts set in place into the one order in which it stands in a receipt
// (spec/encoding.md#sets). It does not remove items of the same key, which the
// encoder refuses.
func SortSet[T Element[T]](set []T) {
	slices.SortFunc(set, T.order)
}

func (n Name) order(m Name) int             { return strings.Compare(string(n), string(m)) }
func (c Code) order(d Code) int             { return strings.Compare(string(c), string(d)) }
func (i Input) order(j Input) int           { return i.Name.order(j.Name) }
func (c Change) order(d Change) int         { return c.Path.compare(d.Path) }
func (s Slot) order(t Slot) int             { return s.Name.order(t.Name) }
func (r Read) order(s Read) int             { return r.Key.compare(s.Key) }
func (w Wrote) order(x Wrote) int           { return w.Key.compare(x.Key) }
func (c Comparison) order(d Comparison) int { return c.Key.compare(d.Key) }

// Effects are ordered by what they are on, then by target.
func (e Effect) order(f Effect) int {
	if c := strings.Compare(string(e.On), string(f.On)); c != 0 {
		return c
	}
	return e.Target.compare(f.Target)
}
