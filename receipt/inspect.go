package receipt

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat/verdict"
)

// Describe returns the lines that show a statement to a person. The first says
// what the receipt says, so that a genuine denial is not read as a go-ahead; the
// others are "name: value". Nothing is checked, and every text is of an
// alphabet that cannot do a terminal harm.
func Describe(s Statement) []string {
	var t lines
	switch r := s.Receipt.(type) {
	case RunOpen:
		t.runOpen(s.Call, r)
	case Judgment:
		t.judgment(s.Call, r)
	case Decision:
		t.decision(r)
	case Outcome:
		t.outcome(r)
	case Fault:
		t.fault(r)
	case Gap:
		t.add("LOST: %d receipts before seq %d of run %s, says the engine: %s", r.Count, s.Call.Seq, s.Call.Run, r.Code)
	case RunClose:
		t.runClose(s.Call, r)
	default:
		t.add("NOTHING: no receipt")
	}
	t.call(s.Call)
	return t
}

type lines []string

func (t *lines) add(format string, args ...any) { *t = append(*t, fmt.Sprintf(format, args...)) }

func (t *lines) field(name string, value any) { t.add("  %-12s %v", name+":", value) }

func (t *lines) runOpen(c Call, r RunOpen) {
	t.add("RUN OPENED: %s by %s %s", c.Run, r.Engine.Name, r.Engine.Version)
	t.field("logs", join(r.Logs, ", "))
	t.pin("plan", r.Plan)
	t.pin("lock", r.Lock)
	t.pin("permits", r.Permits)
	t.pin("policy", r.Policy)
	t.field("vocabulary", fmt.Sprintf("%x", r.Vocabulary))
	t.link("parent", r.Parent)
}

func (t *lines) pin(name string, p Pin) {
	if !p.IsZero() {
		t.field(name, p)
	}
}

func (t *lines) link(name string, c CID) {
	if !c.IsZero() {
		t.field(name, c)
	}
}

func (t *lines) judgment(c Call, j Judgment) {
	v := j.Ruling.verdict
	switch v.Arm() {
	case verdict.ArmAdmit:
		t.add("ADMITTED: %s (%s), by %s", j.Request.Verb, j.Class, strings.Join(v.By(), ", "))
	case verdict.ArmDeny:
		t.add("DENIED: %s (%s), because %s", j.Request.Verb, j.Class, strings.Join(v.Reasons(), ", "))
	case verdict.ArmEscalate:
		t.add("ESCALATED, not admitted: %s (%s), because %s; denied if nobody approves by %s",
			j.Request.Verb, j.Class, strings.Join(v.Reasons(), ", "), dateOf(c.Expires))
	default:
		t.add("NOTHING: no verdict on %s", j.Request.Verb)
	}
	if rec, refuses := j.Ruling.Recovery(); refuses {
		t.recovery(rec)
	}
	t.request(j.Request)
	t.field("origin", j.Origin)
	switch {
	case j.Reads == nil:
		t.field("reads", "not recorded")
	case len(j.Reads) == 0:
		t.field("reads", "none compared")
	}
	for _, r := range j.Reads {
		t.field("read", fmt.Sprintf("%v, seen %v", r.Key, r.Seen))
	}
	switch i := j.Inverse.(type) {
	case Escrowed:
		t.field("undo", fmt.Sprintf("held by the engine, %v", i.Delta))
	case NoInverse:
		t.field("undo", fmt.Sprintf("impossible, %s", i.Code))
	case Unneeded:
		t.field("undo", "nothing to undo")
	}
}

func (t *lines) recovery(r Recovery) {
	t.field("way on", fmt.Sprintf("%s, %s, %s", r.Class, r.Code, r.Hint))
}

func (t *lines) request(q Request) {
	t.field("request", q.Digest)
	if q.Task != "" {
		t.field("task", q.Task)
	}
	if q.Attempt != 0 {
		t.field("attempt", q.Attempt)
	}
	for _, i := range q.Inputs {
		t.field("input", fmt.Sprintf("%s = %v", i.Name, i.Value))
	}
	for _, c := range q.Changes {
		switch e := c.Edit.(type) {
		case Create:
			t.field("create", fmt.Sprintf("%v, content %v", c.Path, e.After))
		case Replace:
			t.field("replace", fmt.Sprintf("%v, content %v by %v", c.Path, e.Before, e.After))
		case Delete:
			t.field("delete", fmt.Sprintf("%v, content %v", c.Path, e.Before))
		}
	}
	for _, s := range q.Slots {
		t.field("slot", fmt.Sprintf("%s = %v, from %s", s.Name, s.Value, s.Source))
	}
	for _, e := range q.Effects {
		t.field("effect", fmt.Sprintf("%s %v", e.On, e.Target))
	}
	t.pin("plan", q.Context.Plan)
	t.pin("lock", q.Context.Lock)
	t.pin("permits", q.Context.Permits)
	t.pin("tool", q.Context.Tool)
	t.pin("sandbox", q.Context.Sandbox)
	if q.Context.Approval != "" {
		t.field("approval", q.Context.Approval)
	}
}

func (t *lines) decision(d Decision) {
	if d.Answer == Approve {
		t.add("APPROVED by a person: request %v", d.Request)
	} else {
		t.add("REJECTED by a person: request %v", d.Request)
	}
	t.field("judgment", d.Judgment)
	t.field("ticket", d.Ticket)
}

func (t *lines) outcome(o Outcome) {
	switch d := o.Disposition.(type) {
	case Committed:
		if d.Fired == o.Request {
			t.add("COMMITTED: request %v, fired as judged", o.Request)
		} else {
			t.add("COMMITTED, NOT AS JUDGED: request %v, but fired %v", o.Request, d.Fired)
		}
		for _, w := range d.Wrote {
			t.field("wrote", fmt.Sprintf("%v, now %v", w.Key, w.Value))
		}
		t.link("approval", d.Approval)
	case Diverged:
		t.add("NOT FIRED, DIVERGED: request %v, but about to fire %v", o.Request, d.Fired)
	case Refused:
		t.add("NOT FIRED, REFUSED at commit: request %v, because %s", o.Request, d.Code)
	case Rejected:
		t.add("NOT FIRED, REJECTED by a person: request %v", o.Request)
		t.link("decision", d.Decision)
	case Expired:
		t.add("NOT FIRED, EXPIRED: request %v, nobody answered in time", o.Request)
	case Cancelled:
		t.add("NOT FIRED, CANCELLED: request %v, because %s", o.Request, d.Code)
	case Stale:
		t.add("NOT FIRED, STALE: request %v, what it rests on had moved", o.Request)
		t.field("moved", fmt.Sprintf("%v, expected %v, seen %v", d.Key, d.Expected, d.Seen))
	case Withheld:
		t.add("NOT FIRED, WITHHELD: request %v, no payload was rendered, because %s", o.Request, d.Code)
	case Rendered:
		t.add("NOT FIRED HERE, RENDERED: request %v, a payload was rendered and not sent", o.Request)
		t.field("rendered", d.Digest)
	case Failed:
		t.add("FAILED: request %v was attempted, %s, restored: %s", o.Request, d.Code, d.Restored)
		t.link("approval", d.Approval)
	case Unobserved:
		t.add("UNOBSERVED: request %v may or may not have happened, %s", o.Request, d.Code)
		t.link("approval", d.Approval)
	default:
		t.add("NOTHING: no disposition of request %v", o.Request)
	}
	if rec, refuses := RecoveryOf(o.Disposition); refuses {
		t.recovery(rec)
	}
	t.field("of", o.Of)
	t.compensates(o.Compensates)
}

func (t *lines) compensates(c *Compensates) {
	if c == nil {
		return
	}
	t.field("to undo", c.Outcome)
	switch o := c.Observation.(type) {
	case Attested:
		for _, k := range o.Compared {
			word := "unchanged"
			if k.Expected != k.Seen {
				word = "CHANGED since"
			}
			t.field("compared", fmt.Sprintf("%v, %s: expected %v, seen %v", k.Key, word, k.Expected, k.Seen))
		}
	case Unobservable:
		t.field("compared", fmt.Sprintf("nothing, %s", o.Code))
	}
}

func (t *lines) fault(f Fault) {
	switch f.Posture.(type) {
	case FailOpen:
		t.add("NOT JUDGED, LET THROUGH: a fault at %s, %s", f.Stage, f.Code)
	default:
		t.add("NOT JUDGED, STOPPED: a fault at %s, %s", f.Stage, f.Code)
	}
	if q, ok := f.Request(); ok {
		t.field("verb", q.Verb)
		t.request(q)
	}
}

func (t *lines) runClose(c Call, r RunClose) {
	t.add("RUN CLOSED: %s, %d statements", c.Run, r.Statements())
	for _, f := range r.Judgments.fields() {
		t.tally(f.word, *f.count)
	}
	for _, f := range r.Outcomes.fields() {
		t.tally(f.word, *f.count)
	}
	t.tally("faults", r.Faults)
	t.tally("gaps", r.Gaps)
}

func (t *lines) tally(word string, n uint64) {
	if n > 0 {
		t.field(word, n)
	}
}

func (t *lines) call(c Call) {
	t.field("by", c.By)
	if c.Run != "" {
		t.field("run", fmt.Sprintf("%s, seq %d", c.Run, c.Seq))
	}
	t.link("prev", c.Prev)
	t.link("settles", c.Settles)
	if !c.Seen.IsZero() {
		t.field("seen", fmt.Sprintf("%s at size %d, root %x", c.Seen.Origin, c.Seen.Size, c.Seen.Root))
	}
	if c.Expires != 0 {
		t.field("expires", dateOf(c.Expires))
	}
	t.field("at", dateOf(c.At)+" by the signer's clock")
}

func join[T ~string](words []T, separator string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return strings.Join(list, separator)
}

// dateOf writes Unix ms as RFC 3339 in UTC. The kernel has no package time; the
// arithmetic is that of the proleptic Gregorian calendar in eras of 400 years,
// each beginning on 1 March.
func dateOf(ms int64) string {
	const day, era = 86_400_000, 146_097
	if ms < 0 || ms > 253_402_300_799_999 { // 9999-12-31
		return fmt.Sprintf("%d ms", ms)
	}
	days, rest := ms/day+719_468, ms%day // days since 0000-03-01
	inEra := days % era
	year := (inEra - inEra/1460 + inEra/36_524 - inEra/146_096) / 365
	inYear := inEra - (365*year + year/4 - year/100)
	month := (5*inYear + 2) / 153 // 0 is March
	date := inYear - (153*month+2)/5 + 1
	year += days / era * 400
	if month += 3; month > 12 {
		month -= 12
		year++
	}
	return fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", year, month, date,
		rest/3_600_000, rest/60_000%60, rest/1000%60, rest%1000)
}
