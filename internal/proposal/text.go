package proposal

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/trust"
)

// Text says for a person what the statement would change. All of it is worked
// out from the registry that was verified, and nothing is what the file says of
// itself. Names are of a narrow alphabet, so no terminal is misled.
func (o *Opened) Text() string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "Registry of the log %s\n", o.After.Log())
	if o.Before == nil {
		row("now", "none: this is the genesis of a new log, and its statement is what verifiers pin")
	} else {
		leaves := o.Before.Leaves()
		row("now", "version %d, statement %s, leaf %d", o.Before.Version(), o.Before.Registry.Head(), leaves[len(leaves)-1])
		row("", "%s", proven(o.Before.Head.Size, o.Before.Signed))
	}
	row("proposed", "%s, statement %s", o.what(), dagcbor.Sum(o.Payload))
	b.WriteString("\nChanges\n")
	for _, line := range o.changes() {
		b.WriteString("  " + line + "\n")
	}
	if warnings := o.warnings(); len(warnings) > 0 {
		b.WriteString("\nMind\n")
		for _, w := range warnings {
			b.WriteString("  " + w + "\n")
		}
	}
	b.WriteString("\nSignatures\n")
	b.WriteString(o.signatures())
	return b.String()
}

// what says which statement is proposed.
func (o *Opened) what() string {
	switch {
	case o.Beside():
		return "who goes on, beside a log that is frozen"
	case o.Freeze != nil:
		return "the freeze of this log"
	case o.Successor != nil:
		return "the successor statement of this log, its leaf 1"
	}
	return fmt.Sprintf("version %d", o.Statement.Version)
}

func (o *Opened) changes() []string {
	switch {
	case o.Beside():
		return append([]string{"! the log was frozen and named nobody; this names who goes on"}, freezing(o.Freeze)[1:]...)
	case o.Freeze != nil:
		return freezing(o.Freeze)
	case o.Successor != nil:
		return succeeding(o.Successor.Predecessor)
	case o.Before == nil:
		return Changes(nil, o.After, o.Statement)
	}
	return Changes(o.Before.Registry, o.After, o.Statement)
}

// freezing says what a freeze does, succeeding what a successor statement does.
func freezing(z *trust.Freeze) []string {
	lines := []string{"! the log ends: nothing stands behind this", "  " + goesOn(z)}
	if h := z.Heir; h != nil {
		lines = append(lines, fmt.Sprintf("  its checkpoints are signed by %x", h.Key), "  its genesis is "+h.Genesis.String())
	}
	return lines
}

func goesOn(z *trust.Freeze) string {
	if z.Heir == nil {
		return "nobody is named who goes on"
	}
	return "the log that goes on is " + z.Heir.Log
}

func succeeding(p trust.Predecessor) []string {
	return []string{
		fmt.Sprintf("< this log goes on from %s, which ended with %d leaves", p.Log, p.Size),
		"  root " + p.Root.String(),
		"  head of its registry " + p.Registry.String(),
	}
}

func (o *Opened) signatures() string {
	var b strings.Builder
	before, after := o.Counts()
	if o.Before != nil {
		fmt.Fprintf(&b, "  %d of the %d that version %d asks for\n", before, o.Before.Threshold(), o.Before.Version())
	}
	if o.Statement != nil {
		fmt.Fprintf(&b, "  %d of the %d that version %d asks for\n", after, o.After.Threshold(), o.After.Version())
	}
	for _, s := range o.Sigs {
		k, _ := o.After.Key(s.By)
		fmt.Fprintf(&b, "  signed by %s, key %s\n", k.Name, s.By)
	}
	return b.String()
}

// Changes says in one line each what a statement changes; before is nil for a
// genesis.
func Changes(before, after *trust.Registry, s *trust.Statement) []string {
	var lines []string
	line := func(sign string, k trust.Key, what string) {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s %-9s %-20s key %s  %s", sign, k.Role, k.Name, k.ID, what), " "))
	}
	key := func(p trust.PublicKey) trust.Key {
		k, _ := after.Key(dsse.IDOf(p[:]))
		return k
	}
	for _, a := range s.Add {
		line("+", key(a.Key), "")
	}
	for _, p := range s.Retire {
		line("-", key(p), "retired: signs nothing behind this statement; what it signed stays")
	}
	for _, r := range s.Revoke {
		what := "revoked: disowned from the leaf of this statement on"
		if r.HasFrom {
			what = fmt.Sprintf("revoked: disowned from leaf %d on", r.From)
		}
		line("x", key(r.Key), what)
	}
	was := "none"
	if before != nil {
		was = threshold(before)
	}
	if is := threshold(after); is != was {
		lines = append(lines, fmt.Sprintf("= a change is signed by %s, before: %s", is, was))
	}
	if len(lines) == 0 {
		lines = append(lines, "none: the same keys and threshold in a new version")
	}
	return lines
}

func threshold(r *trust.Registry) string {
	return fmt.Sprintf("%d of %d registrars", r.Threshold(), len(Able(r, trust.Registrar)))
}

// Able returns the keys of a role that may sign behind the last statement.
func Able(r *trust.Registry, role trust.Role) (keys []trust.Key) {
	for _, k := range r.Keys() {
		if _, ok := r.MaySign(k.ID); ok && k.Role == role {
			keys = append(keys, k)
		}
	}
	return keys
}

// warnings name what cannot be undone.
func (o *Opened) warnings() []string {
	switch {
	case o.Beside():
		return []string{"whoever has this follows the log that it names: name one log and no second"}
	case o.Freeze != nil:
		return []string{"a freeze cannot be taken back, and what engines still hold has no place here any more"}
	case o.Successor != nil:
		return nil
	}
	var w []string
	registrars := Able(o.After, trust.Registrar)
	if len(registrars) == o.After.Threshold() {
		w = append(w, "every registrar's key will be needed: when one is lost, the registry can never change again")
	}
	if len(Able(o.After, trust.Engine)) == 0 {
		w = append(w, "no engine will be left, so the log will take no receipts but decisions")
	}
	persons := map[string]bool{}
	for _, k := range registrars {
		persons[k.Name] = true
	}
	if len(persons) < o.After.Threshold() {
		w = append(w, fmt.Sprintf("the registrars' keys are in %d hands, which is less than the threshold of %d", len(persons), o.After.Threshold()))
	}
	for _, r := range o.Statement.Revoke {
		if r.HasFrom {
			w = append(w, "disowning cannot be taken back: a revocation may only be lowered")
			break
		}
	}
	return w
}
