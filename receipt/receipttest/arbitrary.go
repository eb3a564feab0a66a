package receipttest

import (
	"strings"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

const maxInt = 1<<53 - 1

// Statement draws any statement that the schema takes.
func Statement(t *rapid.T) receipt.Statement {
	d := draw{t}
	r := d.receipt()
	return receipt.Statement{Call: d.call(r), Receipt: r}
}

// draw draws parts of a statement.
type draw struct{ t *rapid.T }

func (d draw) int(least, most int) int { return rapid.IntRange(least, most).Draw(d.t, "int") }

func (d draw) flip() bool { return rapid.Bool().Draw(d.t, "flip") }

func (d draw) count(least uint64) uint64 { return rapid.Uint64Range(least, maxInt).Draw(d.t, "count") }

func (d draw) fill(dst []byte) {
	copy(dst, rapid.SliceOfN(rapid.Byte(), len(dst), len(dst)).Draw(d.t, "bytes"))
}

func pick[T any](d draw, of ...T) T { return rapid.SampledFrom(of).Draw(d.t, "pick") }

func (d draw) digest() (x receipt.Digest) { d.fill(x[:]); return x }

func (d draw) commitment() (x receipt.Commitment) { d.fill(x[:]); return x }

func (d draw) cid() (c receipt.CID) {
	x := d.digest()
	return dagcbor.Sum(x[:])
}

func (d draw) name() receipt.Name {
	return receipt.Name(rapid.StringMatching(`[A-Za-z0-9._/@:+-]{1,12}`).Draw(d.t, "name"))
}

func (d draw) code() receipt.Code {
	return receipt.Code(rapid.StringMatching(`[A-Z0-9]{1,4}(-[A-Z0-9]{1,4}){0,2}`).Draw(d.t, "code"))
}

func (d draw) pin() (p receipt.Pin) {
	if d.flip() {
		return p
	}
	content := rapid.SliceOf(rapid.Byte()).Draw(d.t, "pinned")
	if d.flip() {
		return receipt.PinBLAKE3(content)
	}
	return receipt.PinSHA256(content)
}

func (d draw) value() receipt.Value {
	if d.flip() {
		return receipt.CommittedTo(d.commitment())
	}
	return receipt.Clear(rapid.StringN(1, 20, 200).Draw(d.t, "clear"))
}

func (d draw) path() receipt.Value {
	if d.flip() {
		return receipt.CommittedTo(d.commitment())
	}
	segment := rapid.StringMatching(`[a-z .ü]{0,4}[a-z]`)
	return receipt.Clear(strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(d.t, "path"), "/"))
}

// set draws up to four items, sorted, of which no two have the same key.
func set[T receipt.Element[T], K comparable](d draw, least int, item func() T, key func(T) K) []T {
	var out []T
	seen := make(map[K]bool)
	for range d.int(least, 4) {
		if t := item(); !seen[key(t)] {
			seen[key(t)] = true
			out = append(out, t)
		}
	}
	receipt.SortSet(out)
	return out
}

func (d draw) names(least int) []receipt.Name {
	return set(d, least, d.name, func(n receipt.Name) receipt.Name { return n })
}

func (d draw) recovery() receipt.Recovery {
	return receipt.Recovery{
		Class: pick(d, receipt.RecoveryRetry, receipt.RecoveryRefresh, receipt.RecoveryRevise, receipt.RecoveryAwait, receipt.RecoveryStop),
		Code:  d.code(), Hint: d.code(),
	}
}

func (d draw) ruling() receipt.Ruling {
	var v verdict.Verdict
	var err error
	var words []string
	build := pick(d, verdict.Admit, verdict.Deny, verdict.Escalate)
	for range d.int(1, 4) {
		words = append(words, string(d.code())) // every code is a name too
	}
	v, err = build(words...)
	must(err)
	var r receipt.Recovery
	if v.Arm() != verdict.ArmAdmit {
		r = d.recovery()
	}
	ruling, err := receipt.Rule(v, r)
	must(err)
	return ruling
}

func (d draw) request() receipt.Request {
	q := receipt.Request{Verb: d.name(), Digest: d.digest()}
	if d.flip() {
		q.Task = d.name()
	}
	if d.flip() {
		q.Attempt = d.count(1)
	}
	if d.flip() {
		q.Inputs = set(d, 1, func() receipt.Input { return receipt.Input{Name: d.name(), Value: d.value()} }, func(i receipt.Input) receipt.Name { return i.Name })
	}
	if d.flip() {
		q.Changes = set(d, 1, d.change, func(c receipt.Change) receipt.Value { return c.Path })
	}
	if d.flip() {
		q.Slots = set(d, 1, func() receipt.Slot {
			return receipt.Slot{Name: d.name(), Value: d.value(), Source: d.name()}
		}, func(s receipt.Slot) receipt.Name { return s.Name })
	}
	if d.flip() {
		q.Effects = set(d, 1, func() receipt.Effect {
			on := pick(d, receipt.OnReads, receipt.OnWrites, receipt.OnExec, receipt.OnNetwork,
				receipt.OnSecrets, receipt.OnModels, receipt.OnSpend, receipt.OnHuman)
			return receipt.Effect{On: on, Target: d.value()}
		}, func(e receipt.Effect) receipt.Effect { return e })
	}
	q.Context = receipt.Context{Plan: d.pin(), Lock: d.pin(), Permits: d.pin(), Tool: d.pin(), Sandbox: d.pin()}
	if d.flip() {
		q.Context.Approval = d.name()
	}
	return q
}

func (d draw) change() receipt.Change {
	return receipt.Change{Path: d.path(), Edit: pick[receipt.Edit](d,
		receipt.Create{After: d.commitment()},
		receipt.Replace{Before: d.commitment(), After: d.commitment()},
		receipt.Delete{Before: d.commitment()})}
}

func (d draw) judgment() receipt.Judgment {
	j := receipt.Judgment{
		Request: d.request(),
		Class:   pick(d, receipt.Green, receipt.Yellow, receipt.Red),
		Ruling:  d.ruling(),
		Origin:  pick(d, verdict.Origins()...),
		Inverse: pick[receipt.Inverse](d, receipt.Escrowed{Delta: d.commitment()}, receipt.NoInverse{Code: d.code()}, receipt.Unneeded{}),
	}
	if d.flip() {
		j.Reads = set(d, 0, func() receipt.Read { return receipt.Read{Key: d.value(), Seen: d.commitment()} }, func(r receipt.Read) receipt.Value { return r.Key })
		if j.Reads == nil {
			j.Reads = []receipt.Read{}
		}
	}
	return j
}

func (d draw) disposition() receipt.Disposition {
	committed := receipt.Committed{Fired: d.digest()}
	if d.flip() {
		committed.Wrote = set(d, 1, func() receipt.Wrote {
			return receipt.Wrote{Key: d.value(), Value: d.commitment()}
		}, func(w receipt.Wrote) receipt.Value { return w.Key })
	}
	var approval receipt.CID
	if d.flip() {
		approval = d.cid()
	}
	committed.Approval = approval
	expected, seen := d.commitment(), d.commitment()
	if expected == seen {
		seen[0] ^= 1
	}
	return pick[receipt.Disposition](d, committed,
		receipt.Diverged{Fired: d.digest(), Recovery: d.recovery()},
		receipt.Refused{Code: d.code(), Recovery: d.recovery()},
		receipt.Rejected{Decision: d.cid(), Recovery: d.recovery()},
		receipt.Expired{Recovery: d.recovery()},
		receipt.Cancelled{Code: d.code(), Recovery: d.recovery()},
		receipt.Stale{Key: d.value(), Expected: expected, Seen: seen, Recovery: d.recovery()},
		receipt.Withheld{Code: d.code(), Recovery: d.recovery()},
		receipt.Rendered{Digest: d.digest()},
		receipt.Failed{Code: d.code(), Restored: pick(d, receipt.RestoredYes, receipt.RestoredNo, receipt.RestoredUnknown), Approval: approval},
		receipt.Unobserved{Code: d.code(), Approval: approval})
}

func (d draw) outcome() receipt.Outcome {
	o := receipt.Outcome{Of: d.cid(), Request: d.digest(), Disposition: d.disposition()}
	if g, ok := o.Disposition.(receipt.Diverged); ok && g.Fired == o.Request {
		o.Request[0] ^= 1
	}
	if d.flip() {
		attested := receipt.Attested{Compared: set(d, 1, func() receipt.Comparison {
			return receipt.Comparison{Key: d.value(), Expected: d.commitment(), Seen: d.commitment()}
		}, func(c receipt.Comparison) receipt.Value { return c.Key })}
		o.Compensates = &receipt.Compensates{
			Outcome:     d.cid(),
			Observation: pick[receipt.Observation](d, attested, receipt.Unobservable{Code: d.code()}),
		}
	}
	return o
}

func (d draw) fault() receipt.Fault {
	f := receipt.Fault{
		Stage: pick(d, receipt.StageIntake, receipt.StagePreview, receipt.StageEvaluate, receipt.StageEscalate, receipt.StageRecord),
		Code:  d.code(),
	}
	q := d.request()
	f.Posture = pick[receipt.Posture](d, receipt.FailOpen{Request: q}, receipt.FailClosed{Request: &q}, receipt.FailClosed{})
	return f
}

func (d draw) tally() uint64 { return rapid.Uint64Range(0, 1<<40).Draw(d.t, "tally") }

func (d draw) runClose() receipt.RunClose {
	return receipt.RunClose{
		Judgments: receipt.JudgmentTally{Admit: d.tally(), Deny: d.tally(), Escalate: d.tally()},
		Outcomes: receipt.OutcomeTally{
			Committed: d.tally(), Diverged: d.tally(), Refused: d.tally(), Rejected: d.tally(), Expired: d.tally(), Cancelled: d.tally(),
			Stale: d.tally(), Withheld: d.tally(), Rendered: d.tally(), Failed: d.tally(), Unobserved: d.tally(),
		},
		Faults: d.tally(), Gaps: d.tally(),
	}
}

func (d draw) receipt() receipt.Receipt {
	switch pick(d, receipt.Kinds()...) {
	case receipt.KindRunOpen:
		o := receipt.RunOpen{
			Engine: receipt.Engine{Name: d.name(), Version: d.name()},
			Plan:   d.pin(), Lock: d.pin(), Permits: d.pin(), Policy: d.pin(),
			Vocabulary: d.digest(), Logs: d.names(1),
		}
		if d.flip() {
			o.Parent = d.cid()
		}
		return o
	case receipt.KindJudgment:
		return d.judgment()
	case receipt.KindDecision:
		r := receipt.Decision{Judgment: d.cid(), Request: d.digest(), Answer: pick(d, receipt.Approve, receipt.Reject)}
		d.fill(r.Ticket[:])
		return r
	case receipt.KindOutcome:
		return d.outcome()
	case receipt.KindFault:
		return d.fault()
	case receipt.KindGap:
		return receipt.Gap{Count: rapid.Uint64Range(1, 1<<40).Draw(d.t, "count"), Code: d.code()}
	default:
		return d.runClose()
	}
}

func (d draw) call(r receipt.Receipt) receipt.Call {
	c := receipt.Call{At: int64(d.count(0))}
	d.fill(c.By[:])
	if r.Kind() == receipt.KindDecision {
		c.Settles = d.cid()
		return c
	}
	c.Run = d.name()
	if d.flip() {
		c.Seen = receipt.Seen{Origin: d.name(), Size: d.count(0)}
		d.fill(c.Seen.Root[:])
	}
	least := uint64(1)
	switch r := r.(type) {
	case receipt.RunOpen:
		return c
	case receipt.Outcome:
		c.Settles = d.cid()
	case receipt.Gap:
		least = r.Count + 1
	case receipt.Judgment:
		if r.Ruling.Verdict().Arm() == verdict.ArmEscalate {
			c.Expires = rapid.Int64Range(max(c.At, 1), maxInt).Draw(d.t, "expires")
		}
	}
	c.Seq, c.Prev = d.count(least), d.cid()
	return c
}
