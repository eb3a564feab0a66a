package receipt

import (
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
)

func readOutcome(n node) (o Outcome, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return o, e
	}
	found := 0
	for key, v := range n.Entries() {
		switch key {
		case "of":
			found++
			o.Of, e = readLink(v)
		case "request":
			found++
			o.Request, e = readDigest(v)
		case "disposition":
			found++
			o.Disposition, e = readDisposition(v)
		case "compensates":
			o.Compensates, e = readCompensates(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return o, under(key, e)
		}
	}
	if e := lacks(n, found, "of", "request", "disposition"); e != nil {
		return o, e
	}
	if d, ok := o.Disposition.(Diverged); ok && d.Fired == o.Request {
		e := refuse(report.CodeSchemaFired, "another digest than the outcome's request", "the same")
		return o, under("disposition", under(wordDiverged, under("fired", e)))
	}
	return o, nil
}

// dispositionFields is what the body of a disposition may have; each arm takes
// the fields that it names.
type dispositionFields struct {
	fired, digest  Digest
	wrote          []Wrote
	approval       CID
	decision       CID
	code           Code
	key            Value
	expected, seen Commitment
	restored       Restored
	recovery       Recovery
}

func readDisposition(n node) (Disposition, *report.Error) {
	arm, body, e := onlyEntry(n)
	if e != nil {
		return nil, e
	}
	d, e := readArm(arm, body)
	if e != nil && e.Code != report.CodeSchemaArm {
		return nil, under(arm, e)
	}
	return d, e
}

func readArm(arm string, body node) (Disposition, *report.Error) {
	var f dispositionFields
	var e *report.Error
	switch arm {
	case wordCommitted:
		e = f.read(body, []string{"fired"}, "wrote", "approval")
		return Committed{Fired: f.fired, Wrote: f.wrote, Approval: f.approval}, e
	case wordDiverged:
		e = f.read(body, []string{"fired", "recovery"})
		return Diverged{Fired: f.fired, Recovery: f.recovery}, e
	case wordRefused:
		e = f.read(body, []string{"code", "recovery"})
		return Refused{Code: f.code, Recovery: f.recovery}, e
	case wordRejected:
		e = f.read(body, []string{"decision", "recovery"})
		return Rejected{Decision: f.decision, Recovery: f.recovery}, e
	case wordExpired:
		e = f.read(body, []string{"recovery"})
		return Expired{Recovery: f.recovery}, e
	case wordCancelled:
		e = f.read(body, []string{"code", "recovery"})
		return Cancelled{Code: f.code, Recovery: f.recovery}, e
	case wordStale:
		e = f.read(body, []string{"key", "expected", "seen", "recovery"})
		if e == nil && f.expected == f.seen {
			e = under("seen", refuse(report.CodeSchemaStale, "another commitment than expected", "the same"))
		}
		return Stale{Key: f.key, Expected: f.expected, Seen: f.seen, Recovery: f.recovery}, e
	case wordWithheld:
		e = f.read(body, []string{"code", "recovery"})
		return Withheld{Code: f.code, Recovery: f.recovery}, e
	case wordRendered:
		e = f.read(body, []string{"digest"})
		return Rendered{Digest: f.digest}, e
	case wordFailed:
		e = f.read(body, []string{"code", "restored"}, "approval")
		return Failed{Code: f.code, Restored: f.restored, Approval: f.approval}, e
	case wordUnobserved:
		e = f.read(body, []string{"code"}, "approval")
		return Unobserved{Code: f.code, Approval: f.approval}, e
	}
	return nil, noArm(arm, wordCommitted, wordDiverged, wordRefused, wordRejected, wordExpired, wordCancelled,
		wordStale, wordWithheld, wordRendered, wordFailed, wordUnobserved)
}

// read reads the fields of one arm and no others.
func (f *dispositionFields) read(n node, required []string, optional ...string) (e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return e
	}
	found := 0
	for key, v := range n.Entries() {
		switch {
		case holds(required, key):
			found++
			e = f.readField(key, v)
		case holds(optional, key):
			e = f.readField(key, v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return under(key, e)
		}
	}
	return lacks(n, found, required...)
}

func holds(keys []string, key string) bool {
	for _, k := range keys {
		if k == key {
			return true
		}
	}
	return false
}

func (f *dispositionFields) readField(key string, v node) (e *report.Error) {
	switch key {
	case "fired":
		f.fired, e = readDigest(v)
	case "digest":
		f.digest, e = readDigest(v)
	case "wrote":
		f.wrote, e = readSet(v, readWrote, Wrote.order)
	case "approval":
		f.approval, e = readLink(v)
	case "decision":
		f.decision, e = readLink(v)
	case "code":
		f.code, e = readCode(v)
	case "key":
		f.key, e = readValue(v)
	case "expected":
		f.expected, e = readCommitment(v)
	case "seen":
		f.seen, e = readCommitment(v)
	case "restored":
		f.restored, e = readWord(v, RestoredYes, RestoredNo, RestoredUnknown)
	case "recovery":
		f.recovery, e = readRecovery(v)
	}
	return e
}

func readWrote(n node) (w Wrote, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return w, e
	}
	found := 0
	for key, v := range n.Entries() {
		found++
		switch key {
		case "key":
			w.Key, e = readValue(v)
		case "value":
			w.Value, e = readCommitment(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return w, under(key, e)
		}
	}
	return w, lacks(n, found, "key", "value")
}

func readCompensates(n node) (*Compensates, *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return nil, e
	}
	c := new(Compensates)
	found := 0
	for key, v := range n.Entries() {
		found++
		var e *report.Error
		switch key {
		case "outcome":
			c.Outcome, e = readLink(v)
		case "observation":
			c.Observation, e = readObservation(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return nil, under(key, e)
		}
	}
	return c, lacks(n, found, "outcome", "observation")
}

func readObservation(n node) (Observation, *report.Error) {
	arm, body, e := onlyEntry(n)
	if e != nil {
		return nil, e
	}
	var o Observation
	switch arm {
	case wordAttested:
		var set []Comparison
		set, e = readCompared(body)
		o = Attested{set}
	case wordUnobservable:
		var c Code
		c, e = readCodeOnly(body)
		o = Unobservable{c}
	default:
		return nil, noArm(arm, wordAttested, wordUnobservable)
	}
	if e != nil {
		return nil, under(arm, e)
	}
	return o, nil
}

func readCompared(n node) (set []Comparison, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return nil, e
	}
	found := 0
	for key, v := range n.Entries() {
		if key != "compared" {
			return nil, under(key, unknown(key))
		}
		found++
		if set, e = readSet(v, readComparison, Comparison.order); e != nil {
			return nil, under(key, e)
		}
	}
	return set, lacks(n, found, "compared")
}

func readComparison(n node) (c Comparison, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return c, e
	}
	found := 0
	for key, v := range n.Entries() {
		found++
		switch key {
		case "key":
			c.Key, e = readValue(v)
		case "expected":
			c.Expected, e = readCommitment(v)
		case "seen":
			c.Seen, e = readCommitment(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return c, under(key, e)
		}
	}
	return c, lacks(n, found, "key", "expected", "seen")
}
