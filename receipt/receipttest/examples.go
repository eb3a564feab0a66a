package receipttest

import (
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// Example is one statement under a name that says what is special about it.
type Example struct {
	Name    string
	Decoded *receipt.Decoded
}

// EngineKey and ApproverKey are the calls' By in Examples.
func EngineKey() receipt.KeyID { return Key("example engine") }

// ApproverKey signs the decisions.
func ApproverKey() receipt.KeyID { return Key("example approver") }

// Examples returns at least one statement of every kind, verdict, origin form,
// inverse, posture, disposition and observation, in the order of one log: they
// are a lawful run with the decisions that it rests on.
func Examples() []Example { return ExamplesBy(EngineKey(), ApproverKey()) }

// ExamplesBy returns Examples as an engine and an approver of these keys would
// make them.
func ExamplesBy(engine, approver receipt.KeyID) []Example {
	var all []Example
	add := func(name string, d *receipt.Decoded) *receipt.Decoded {
		all = append(all, Example{name, d})
		return d
	}
	run := NewRun(engine, "run-1")
	add("run-open", run.Add(fullOpen()))
	admitted := add("judgment-admit", run.Add(fullJudgment()))
	first := add("outcome-committed", run.Settle(admitted, receipt.Committed{
		Fired: RequestOf(admitted),
		Wrote: []receipt.Wrote{{Key: Hidden("path 0"), Value: Commitment("after 0")}},
	}))
	add("judgment-deny", run.Add(deniedJudgment()))
	addEscalations(run, approver, add)
	addRefusals(run, add)
	addAttempts(run, add)
	addUndo(run, add, first)
	addFaults(run, add)
	add("gap", run.Lose(2))
	add("run-close", run.Close())
	return all
}

type adder func(name string, d *receipt.Decoded) *receipt.Decoded

func fullOpen() receipt.RunOpen {
	o := Open("example.com/log", "example.org/second")
	o.Plan = receipt.PinBLAKE3([]byte("plan"))
	o.Lock = receipt.PinSHA256([]byte("lock"))
	o.Permits = receipt.PinBLAKE3([]byte("permits"))
	o.Parent = Build(receipt.Call{By: Key("outer engine"), Run: "outer", At: Start}, Open("example.com/log")).CID
	return o
}

func fullJudgment() receipt.Judgment {
	q := receipt.Request{
		Verb: "files", Digest: Digest("full"), Task: "task-1", Attempt: 2,
		Inputs: []receipt.Input{
			{Name: "branch", Value: receipt.Clear("feature/täg one")},
			{Name: "message", Value: Hidden("message")},
		},
		Changes: []receipt.Change{
			{Path: Hidden("path 0"), Edit: receipt.Replace{Before: Commitment("before 0"), After: Commitment("after 0")}},
			{Path: receipt.Clear("src/new.go"), Edit: receipt.Create{After: Commitment("after 1")}},
			{Path: receipt.Clear("src/old file.go"), Edit: receipt.Delete{Before: Commitment("before 2")}},
		},
		Slots: []receipt.Slot{{Name: "title", Value: Hidden("title"), Source: "user"}},
		Context: receipt.Context{
			Plan: receipt.PinBLAKE3([]byte("plan")), Lock: receipt.PinSHA256([]byte("lock")),
			Permits: receipt.PinBLAKE3([]byte("permits")), Tool: receipt.PinSHA256([]byte("tool")),
			Sandbox: receipt.PinBLAKE3([]byte("sandbox")), Approval: "two-eyes",
		},
	}
	for _, on := range []receipt.On{
		receipt.OnReads, receipt.OnWrites, receipt.OnExec, receipt.OnNetwork,
		receipt.OnSecrets, receipt.OnModels, receipt.OnSpend, receipt.OnHuman,
	} {
		q.Effects = append(q.Effects, receipt.Effect{On: on, Target: Hidden("target " + string(on))})
	}
	receipt.SortSet(q.Changes)
	receipt.SortSet(q.Effects)
	reads := []receipt.Read{
		{Key: Hidden("path 0"), Seen: Commitment("before 0")},
		{Key: receipt.Clear("etag"), Seen: Commitment("etag")},
	}
	receipt.SortSet(reads)
	return receipt.Judgment{
		Request: q, Class: receipt.Yellow, Ruling: Admit("files/inside-root", "git@feature"),
		Origin: verdict.Mixed(verdict.LLM, verdict.Replay), Reads: reads,
		Inverse: receipt.Escrowed{Delta: Commitment("delta")},
	}
}

func deniedJudgment() receipt.Judgment {
	j := Judgment("denied", Deny("COMMAND-NOT-ALLOWED", "CLASS-RED"))
	j.Class = receipt.Red
	j.Origin = verdict.Whole(verdict.Unknown)
	j.Inverse = receipt.NoInverse{Code: "IRREVERSIBLE"}
	j.Reads = []receipt.Read{}
	return j
}

func addEscalations(run *Run, approver receipt.KeyID, add adder) {
	escalated := func(label string) *receipt.Decoded {
		j := Judgment(label, Escalate("RULE-ASKS"))
		j.Origin = verdict.Whole(verdict.Replay)
		return run.Add(j)
	}
	asked := add("judgment-escalate", escalated("approved"))
	approve := add("decision-approve", Decide(approver, asked, receipt.Approve))
	add("outcome-committed-approved", run.Settle(asked, receipt.Committed{Fired: RequestOf(asked), Approval: approve.CID}))

	asked = add("judgment-escalate-2", escalated("rejected"))
	reject := add("decision-reject", Decide(approver, asked, receipt.Reject))
	add("outcome-rejected", run.Settle(asked, receipt.Rejected{Decision: reject.CID, Recovery: Recovery("rejected")}))

	asked = add("judgment-escalate-3", escalated("approved and failed"))
	approve = add("decision-approve-2", Decide(approver, asked, receipt.Approve))
	lost := add("outcome-unobserved-approved", run.Settle(asked, receipt.Unobserved{Code: "NO-ANSWER", Approval: approve.CID}))
	add("outcome-failed-approved", run.Settle(lost, receipt.Failed{Code: "IO-ERROR", Restored: receipt.RestoredYes, Approval: approve.CID}))

	asked = add("judgment-escalate-4", escalated("expired"))
	add("outcome-expired", run.Settle(asked, receipt.Expired{Recovery: Recovery("expired")}))
}

func addRefusals(run *Run, add adder) {
	for _, d := range []receipt.Disposition{
		receipt.Diverged{Fired: Digest("something else"), Recovery: Recovery("diverged")},
		receipt.Refused{Code: "POLICY-CHANGED", Recovery: Recovery("refused")},
		receipt.Cancelled{Code: "WITHDRAWN", Recovery: Recovery("cancelled")},
		receipt.Stale{Key: Hidden("path 0"), Expected: Commitment("before 0"), Seen: Commitment("moved"), Recovery: Recovery("stale")},
		receipt.Withheld{Code: "SLOT-UNFILLED", Recovery: Recovery("withheld")},
		receipt.Rendered{Digest: Digest("rendered")},
	} {
		j := add("judgment-for-"+d.Word(), run.Add(Judgment(d.Word(), Admit("rule"))))
		add("outcome-"+d.Word(), run.Settle(j, d))
	}
}

func addAttempts(run *Run, add adder) {
	for _, restored := range []receipt.Restored{receipt.RestoredYes, receipt.RestoredNo, receipt.RestoredUnknown} {
		j := add("judgment-for-failed-"+string(restored), run.Add(Judgment("failed "+string(restored), Admit("rule"))))
		o := add("outcome-failed-"+string(restored), run.Settle(j, receipt.Failed{Code: "EXIT-STATUS", Restored: restored}))
		if restored == receipt.RestoredUnknown {
			add("outcome-settles-failed", run.Settle(o, receipt.Failed{Code: "EXIT-STATUS", Restored: receipt.RestoredYes}))
		}
	}
	j := add("judgment-for-unobserved", run.Add(Judgment("unobserved", Admit("rule"))))
	o := add("outcome-unobserved", run.Settle(j, receipt.Unobserved{Code: "CONNECTION-LOST"}))
	add("outcome-settles-unobserved", run.Settle(o, Commit(o)))
}

func addUndo(run *Run, add adder, undone *receipt.Decoded) {
	c := undone.Statement.Receipt.(receipt.Outcome).Disposition.(receipt.Committed)
	undo := func(label string, observation receipt.Observation) {
		j := add("judgment-for-undo-"+label, run.Add(Judgment("undo "+label, Admit("rule"))))
		o := Outcome(j, Commit(j))
		o.Compensates = &receipt.Compensates{Outcome: undone.CID, Observation: observation}
		call := run.Call()
		call.Settles = j.CID
		add("outcome-undo-"+label, run.AddCall(call, o))
	}
	undo("attested", receipt.Attested{Compared: []receipt.Comparison{{Key: c.Wrote[0].Key, Expected: c.Wrote[0].Value, Seen: c.Wrote[0].Value}}})
	undo("unobservable", receipt.Unobservable{Code: "NO-STATE"})
}

func addFaults(run *Run, add adder) {
	q := Request("exec", "unjudged")
	add("fault-closed", run.Add(receipt.Fault{Stage: receipt.StageIntake, Code: "REQUEST-MALFORMED", Posture: receipt.FailClosed{}}))
	add("fault-closed-request", run.Add(receipt.Fault{Stage: receipt.StageEvaluate, Code: "RULE-FAILED", Posture: receipt.FailClosed{Request: &q}}))
	open := add("fault-open", run.Add(receipt.Fault{Stage: receipt.StageEvaluate, Code: "RULE-TIMED-OUT", Posture: receipt.FailOpen{Request: q}}))

	c := run.Call()
	c.Settles = open.CID
	c.Seen = receipt.Seen{Origin: "example.com/log", Size: 40, Root: Digest("root")}
	add("outcome-after-fault", run.AddCall(c, Outcome(open, Commit(open))))
}
