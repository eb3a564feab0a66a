package bundle

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// content is what a receipt says: one line for the headline, and the values
// that Expectations compare with.
type content struct {
	says   string
	values map[string]string
}

// describe puts a whole statement into words. Every text in it is a code, a
// name or a digest, so nothing of it is prose that somebody injected.
func describe(d *receipt.Decoded) content {
	c := content{values: map[string]string{}}
	switch r := d.Statement.Receipt.(type) {
	case receipt.Judgment:
		c.judgment(r, d.Statement.Call)
	case receipt.Outcome:
		c.outcome(r)
	case receipt.Decision:
		word := map[receipt.Answer]string{receipt.Approve: "APPROVED", receipt.Reject: "REJECTED"}[r.Answer]
		c.says = fmt.Sprintf("%s by an approver: ticket %s of judgment %s", word, r.Ticket, r.Judgment)
		c.values["answer"] = string(r.Answer)
		c.values["request"] = r.Request.String()
	case receipt.Fault:
		c.fault(r)
	case receipt.Gap:
		c.says = fmt.Sprintf("GAP: %d receipts of this run are lost (%s)", r.Count, r.Code)
	case receipt.RunOpen:
		c.says = fmt.Sprintf("RUN OPENED by engine %s %s", r.Engine.Name, r.Engine.Version)
	case receipt.RunClose:
		j, o := r.Judgments, r.Outcomes
		c.says = fmt.Sprintf("RUN CLOSED: %d statements; admitted %d, denied %d, escalated %d; committed %d of %d outcomes; faults %d, gaps %d",
			r.Statements(), j.Admit, j.Deny, j.Escalate, o.Committed, o.Total(), r.Faults, r.Gaps)
	}
	c.frame(d.Frame())
	return c
}

func (c *content) judgment(r receipt.Judgment, call receipt.Call) {
	v := r.Ruling.Verdict()
	words := map[verdict.Arm]string{verdict.ArmAdmit: "ADMITTED", verdict.ArmDeny: "DENIED", verdict.ArmEscalate: "ESCALATED to an approver"}
	c.says = fmt.Sprintf("%s: %s, class %s", words[v.Arm()], r.Request.Verb, r.Class)
	if v.Arm() == verdict.ArmAdmit {
		c.says += ", by " + strings.Join(v.By(), " ")
	} else {
		c.says += ", because " + strings.Join(v.Reasons(), " ")
	}
	if rec, refused := r.Ruling.Recovery(); refused {
		c.says += fmt.Sprintf(", recovery %s %s %s", rec.Class, rec.Code, rec.Hint)
	}
	if v.Arm() == verdict.ArmEscalate {
		c.says += ", a denial from " + strconv.FormatInt(call.Expires, 10) + " ms on"
	}
	c.values["verdict"] = v.Arm().String()
	c.values["class"] = string(r.Class)
	c.values["verb"] = string(r.Request.Verb)
	c.values["request"] = r.Request.Digest.String()
}

func (c *content) outcome(r receipt.Outcome) {
	word := r.Disposition.Word()
	meaning := map[string]string{
		receipt.Committed{}.Word():  "the effect was fired and succeeded",
		receipt.Diverged{}.Word():   "what was about to be fired was not what was judged; nothing was fired",
		receipt.Refused{}.Word():    "the engine refused at commit; nothing was fired",
		receipt.Rejected{}.Word():   "an approver said no; nothing was fired",
		receipt.Expired{}.Word():    "nobody answered in time; nothing was fired",
		receipt.Cancelled{}.Word():  "withdrawn before commit; nothing was fired",
		receipt.Stale{}.Word():      "a value that the judgment had read has moved; nothing was fired",
		receipt.Withheld{}.Word():   "no payload was rendered; nothing was sent",
		receipt.Rendered{}.Word():   "a payload was rendered and not sent by this engine",
		receipt.Failed{}.Word():     "the effect was attempted and failed",
		receipt.Unobserved{}.Word(): "the effect may or may not have happened",
	}[word]
	c.says = fmt.Sprintf("%s: %s", strings.ToUpper(word), meaning)
	switch d := r.Disposition.(type) {
	case receipt.Failed:
		c.says += fmt.Sprintf(" (%s, restored: %s)", d.Code, d.Restored)
	case receipt.Unobserved:
		c.says += fmt.Sprintf(" (%s)", d.Code)
	case receipt.Refused:
		c.says += fmt.Sprintf(" (%s)", d.Code)
	case receipt.Cancelled:
		c.says += fmt.Sprintf(" (%s)", d.Code)
	case receipt.Withheld:
		c.says += fmt.Sprintf(" (%s)", d.Code)
	}
	if rec, refused := receipt.RecoveryOf(r.Disposition); refused {
		c.says += fmt.Sprintf(", recovery %s %s %s", rec.Class, rec.Code, rec.Hint)
	}
	if r.Compensates != nil {
		c.says += fmt.Sprintf("; it undoes outcome %s", r.Compensates.Outcome)
	}
	c.values["disposition"] = word
	c.values["request"] = r.Request.String()
}

func (c *content) fault(r receipt.Fault) {
	what := "the effect did not happen"
	if r.Posture.Word() == (receipt.FailOpen{}).Word() {
		what = "the effect was let through unjudged"
	}
	c.says = fmt.Sprintf("FAULT at %s (%s), posture %s: no verdict was reached, %s", r.Stage, r.Code, r.Posture.Word(), what)
	c.values["posture"] = r.Posture.Word()
	if req, ok := r.Request(); ok {
		c.values["verb"] = string(req.Verb)
		c.values["request"] = req.Digest.String()
	}
}

// frame adds what statements of every version have.
func (c *content) frame(f receipt.Frame) {
	if c.values == nil {
		c.values = map[string]string{}
	}
	c.values["kind"] = string(f.Kind)
	c.values["receipt"] = f.ReceiptCID.String()
	c.values["statement"] = f.CID.String()
	if f.Kind != receipt.KindDecision {
		c.values["run"] = string(f.Call.Run)
		c.values["seq"] = strconv.FormatUint(f.Call.Seq, 10)
	}
}

// ExpectKeys returns what an Expectation may ask for, in the order of
// spec/report.md#expectations.
func ExpectKeys() []string {
	return []string{
		"kind", "verdict", "class", "verb", "disposition", "answer", "posture", "request",
		"principal", "run", "seq", "receipt", "statement", "log", "index", "level",
	}
}
