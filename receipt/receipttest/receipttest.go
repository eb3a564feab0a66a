// Package receipttest makes statements for tests: examples of every kind,
// verdict and disposition, and runs whose statements are linked as an engine
// would link them. Everything is deterministic. It panics where it is misused.
package receipttest

import (
	"fmt"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// Start is the engine clock at which runs begin, Unix ms: 2026-01-01.
const Start = 1_767_225_600_000

// Digest returns a digest that belongs to a label.
func Digest(label string) receipt.Digest { return blake3.Sum256([]byte(label)) }

// Commitment returns a commitment that belongs to a label.
func Commitment(label string) receipt.Commitment {
	return blake3.Sum256([]byte("commitment " + label))
}

// Key returns a key ID that belongs to a label and to no key.
func Key(label string) receipt.KeyID { return blake3.Sum256([]byte("key " + label)) }

// Hidden returns a committed value that belongs to a label.
func Hidden(label string) receipt.Value { return receipt.CommittedTo(Commitment(label)) }

// Open returns a run-open of the standard vocabulary for the given logs.
func Open(logs ...receipt.Name) receipt.RunOpen {
	receipt.SortSet(logs)
	return receipt.RunOpen{
		Engine:     receipt.Engine{Name: "gate", Version: "1.0.0"},
		Policy:     receipt.PinSHA256([]byte("policy")),
		Vocabulary: receipt.StandardVocabulary().Digest(),
		Logs:       logs,
	}
}

// Recovery returns a recovery of the standard vocabulary that fits a word: a
// verdict's or a disposition's.
func Recovery(word string) receipt.Recovery {
	switch word {
	case "escalate":
		return receipt.Recovery{Class: receipt.RecoveryAwait, Code: "HUMAN-DECIDES", Hint: "WAIT-FOR-ANSWER"}
	case "rejected":
		return receipt.Recovery{Class: receipt.RecoveryStop, Code: "HUMAN-SAID-NO", Hint: "ASK-APPROVER"}
	case "expired":
		return receipt.Recovery{Class: receipt.RecoveryRetry, Code: "ASK-AGAIN", Hint: "APPROVER-WAS-AWAY"}
	case "stale":
		return receipt.Recovery{Class: receipt.RecoveryRefresh, Code: "STATE-MOVED", Hint: "READ-AGAIN"}
	case "diverged":
		return receipt.Recovery{Class: receipt.RecoveryRefresh, Code: "REQUEST-MOVED", Hint: "PREVIEW-AGAIN"}
	case "cancelled":
		return receipt.Recovery{Class: receipt.RecoveryStop, Code: "NO-LONGER-WANTED", Hint: "NOTHING-TO-DO"}
	case "refused":
		return receipt.Recovery{Class: receipt.RecoveryRetry, Code: "TRY-LATER", Hint: "WAIT"}
	case "withheld":
		return receipt.Recovery{Class: receipt.RecoveryRevise, Code: "CHANGE-REQUEST", Hint: "FILL-SLOTS"}
	}
	return receipt.Recovery{Class: receipt.RecoveryStop, Code: "NOT-ALLOWED", Hint: "DO-NOT-ASK-AGAIN"}
}

// Admit, Deny and Escalate return rulings.
func Admit(by ...string) receipt.Ruling { return rule(verdict.Admit(by...)) }

// Deny refuses for reasons of the standard vocabulary.
func Deny(reasons ...string) receipt.Ruling { return rule(verdict.Deny(reasons...)) }

// Escalate asks a person for reasons of the standard vocabulary.
func Escalate(reasons ...string) receipt.Ruling { return rule(verdict.Escalate(reasons...)) }

func rule(v verdict.Verdict, err error) receipt.Ruling {
	must(err)
	var r receipt.Recovery
	if v.Arm() != verdict.ArmAdmit {
		r = Recovery(v.Arm().String())
	}
	ruling, err := receipt.Rule(v, r)
	must(err)
	return ruling
}

// Request returns a small request of a verb; label makes its digest.
func Request(verb receipt.Name, label string) receipt.Request {
	return receipt.Request{Verb: verb, Digest: Digest(label), Task: "task-1", Attempt: 1}
}

// Judgment returns a small judgment of a green request.
func Judgment(label string, ruling receipt.Ruling) receipt.Judgment {
	return receipt.Judgment{
		Request: Request("exec", label),
		Class:   receipt.Green,
		Ruling:  ruling,
		Origin:  verdict.Whole(verdict.LLM),
		Inverse: receipt.Unneeded{},
	}
}

// Run links the statements of one run.
type Run struct {
	By   receipt.KeyID
	Name receipt.Name
	At   int64 // clock of the next statement; each takes one ms

	seq   uint64
	prev  receipt.CID
	tally receipt.RunClose
}

// NewRun returns a run of which nothing has been said.
func NewRun(by receipt.KeyID, name receipt.Name) *Run { return &Run{By: by, Name: name, At: Start} }

// Call returns the call that the next statement of the run would have.
func (r *Run) Call() receipt.Call {
	return receipt.Call{By: r.By, Run: r.Name, Seq: r.seq, Prev: r.prev, At: r.At}
}

// Add makes the next statement of the run. A judgment that escalates expires
// after one minute.
func (r *Run) Add(rec receipt.Receipt) *receipt.Decoded {
	c := r.Call()
	if j, ok := rec.(receipt.Judgment); ok && j.Ruling.Verdict().Arm() == verdict.ArmEscalate {
		c.Expires = c.At + 60_000
	}
	return r.AddCall(c, rec)
}

// Settle makes the next statement of the run, an outcome of the given earlier
// statement: a judgment, an open fault or an outcome.
func (r *Run) Settle(of *receipt.Decoded, d receipt.Disposition) *receipt.Decoded {
	c := r.Call()
	c.Settles = of.CID
	return r.AddCall(c, Outcome(of, d))
}

// AddCall makes the next statement of the run with a call of the caller's.
func (r *Run) AddCall(c receipt.Call, rec receipt.Receipt) *receipt.Decoded {
	d := Build(c, rec)
	r.seq, r.prev, r.At = c.Seq+1, d.CID, r.At+1
	r.tally.Count(rec)
	return d
}

// Lose skips count places, as if their statements had been lost, and makes the
// gap that says so.
func (r *Run) Lose(count uint64) *receipt.Decoded {
	r.seq += count
	return r.Add(receipt.Gap{Count: count, Code: "SPOOL-LOST"})
}

// Close makes the run-close with the right tally.
func (r *Run) Close() *receipt.Decoded { return r.Add(r.tally) }

// Outcome returns the outcome that settles an earlier statement.
func Outcome(of *receipt.Decoded, d receipt.Disposition) receipt.Outcome {
	return receipt.Outcome{Of: of.ReceiptCID, Request: RequestOf(of), Disposition: d}
}

// RequestOf returns the request digest of a judgment, a fault or an outcome.
func RequestOf(d *receipt.Decoded) receipt.Digest {
	switch r := d.Statement.Receipt.(type) {
	case receipt.Judgment:
		return r.Request.Digest
	case receipt.Outcome:
		return r.Request
	case receipt.Fault:
		if q, ok := r.Request(); ok {
			return q.Digest
		}
	}
	panic(fmt.Sprintf("receipttest: a %s has no request", d.Statement.Receipt.Kind()))
}

// Commit returns the disposition of an earlier statement whose effect was fired
// as judged.
func Commit(of *receipt.Decoded) receipt.Committed { return receipt.Committed{Fired: RequestOf(of)} }

// Decide makes the statement by which an approver answers a judgment that
// escalated.
func Decide(approver receipt.KeyID, judgment *receipt.Decoded, answer receipt.Answer) *receipt.Decoded {
	j := judgment.Statement.Receipt.(receipt.Judgment)
	ticket, err := preview.TicketOf(j.Request.Digest, j.Ruling.Verdict())
	must(err)
	return Build(receipt.Call{By: approver, Settles: judgment.CID, At: judgment.Statement.Call.At + 10_000},
		receipt.Decision{Judgment: judgment.ReceiptCID, Request: j.Request.Digest, Ticket: ticket, Answer: answer})
}

// Build encodes a statement.
func Build(c receipt.Call, rec receipt.Receipt) *receipt.Decoded {
	d, err := receipt.Statement{Call: c, Receipt: rec}.Build()
	must(err)
	return d
}

func must(err error) {
	if err != nil {
		panic("receipttest: " + err.Error())
	}
}
