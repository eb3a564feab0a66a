package corpusgen

import (
	"encoding/hex"
	"strings"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

// The five designs that the model came from, each in the terms that it had: as
// previews, as single receipts, and as whole runs held to the laws.

// judgeRho judges the request of a preview; change adds what the receipt says
// besides.
func (w *lawWorld) judgeRho(r rho, ruling receipt.Ruling, change func(*receipt.Judgment)) *receipt.Decoded {
	j := receipttest.Judgment("", ruling)
	p, err := preview.ParseRho([]byte(r.text))
	if err != nil {
		w.b.t.Fatal(err)
	}
	j.Request = receipt.Request{
		Verb: receipt.Name(p.Verb()), Digest: r.digest, Task: receipt.Name(p.Task()), Attempt: p.Attempt(),
		Context: receipt.Context{Tool: receipt.Pin(p.Context().Tool)},
	}
	if change != nil {
		change(&j)
	}
	return w.log(w.run.Add(j))
}

// preview adds the case of a preview with its digest.
func (b *builder) preview(name string, r rho, why string) {
	b.one(corpus.AskPreview, name, ".preview.json", []byte(r.text), ok(), why, r.expect())
}

// runs adds a case for each run.
func (b *builder) runs(spec string, list []breach) {
	b.about(spec)
	for _, c := range list {
		w := b.newLawWorld()
		w.open()
		c.build(w)
		w.held(c.name, c.want, c.why)
	}
}

func diverged(r rho) receipt.Diverged {
	return receipt.Diverged{Fired: r.digest, Recovery: receipttest.Recovery("diverged")}
}

// previewCommit is (a): what is fired is compared with what was judged, bit by
// bit, for programs and tools.
func previewCommit(b *builder) {
	b.in("design-a-preview-commit")
	tool := func(pin, arguments string) rho {
		return rhoOf("tool", `"t"`, "1", "{}", `{"arguments":`+arguments+`,"server":"files","tool":"list"}`, "", `"tool":"1220`+strings.Repeat(pin, 32)+`"`)
	}
	exec, bit := execRho(`["git","push","origin","main"]`), execRho(`["git","push","origin","maio"]`)
	listed, changed := tool("aa", "{}"), tool("ab", "{}")
	b.about("preview.md#exec")
	b.preview("exec", exec, "a program as it was judged")
	b.preview("exec-one-bit", bit, "one bit of one argument is another digest")
	b.one(corpus.AskPreview, "exec-one-bit-judged", ".preview.json", []byte(bit.text), no("expect digest", report.CodeExpectationUnmet), "what is about to be fired is not what was judged", exec.expect())
	b.about("preview.md#tool")
	b.preview("tool-without-arguments", listed, "a call without arguments")
	b.preview("tool-with-another-definition", changed, "the same call, and only the definition of the tool is another")
	b.preview("tool-with-arguments", tool("aa", `{"all":true,"depth":2}`), "arguments are bound as a value")
	b.about("preview.md#json")
	source := strings.NewReplacer(`{"argv"`, "{\n  \"argv\"", `","`, "\" ,\n \"").Replace(exec.text)
	b.one(corpus.AskPreview, "plan-by-one-author", ".preview.json", []byte(source), ok(), "one plan, written with line breaks", exec.expect())
	another := `{"verb":"exec",` + strings.TrimSuffix(strings.Replace(exec.text, `"push"`, `"\u0070us\u0068"`, 1)[1:], `,"verb":"exec"}`) + "}"
	b.one(corpus.AskPreview, "plan-by-another-author", ".preview.json", []byte(another), ok(), "the same plan, written in another order and with escapes: it previews identically", exec.expect())

	b.runs("laws.md#judged-is-executed", []breach{
		{"fired-as-judged", ok(), "judged, computed again over what was fired, the same", func(w *lawWorld) {
			j := w.judgeRho(exec, receipttest.Admit("exec/allowed"), nil)
			w.settle(j, receipt.Committed{Fired: exec.digest})
			w.close()
		}},
		{"diverged-by-one-bit", ok(), "one bit is another: refused before the effect", func(w *lawWorld) {
			w.settle(w.judgeRho(exec, receipttest.Admit("exec/allowed"), nil), diverged(bit))
			w.close()
		}},
		{"fired-although-diverged", broken(three, report.CodeLaw3Fired), "one bit is another, and it was fired all the same", func(w *lawWorld) {
			w.settle(w.judgeRho(exec, receipttest.Admit("exec/allowed"), nil), receipt.Committed{Fired: bit.digest})
			w.close()
		}},
		{"tool-whose-definition-changed", ok(), "a call without arguments diverges by its context alone", func(w *lawWorld) {
			w.settle(w.judgeRho(listed, receipttest.Admit("tools/read-only"), nil), diverged(changed))
			w.close()
		}},
		{"tool-fired-under-another-definition", broken(three, report.CodeLaw3Fired), "nothing but the context changed, and it was fired", func(w *lawWorld) {
			w.settle(w.judgeRho(listed, receipttest.Admit("tools/read-only"), nil), receipt.Committed{Fired: changed.digest})
			w.close()
		}},
		{"two-sources-of-one-plan", ok(), "both are one request: one receipt, two calls", func(w *lawWorld) {
			for range 2 {
				w.commit(w.judgeRho(exec, receipttest.Admit("exec/allowed"), nil))
			}
			w.close()
		}},
	})
	recovery := func(r receipt.Recovery) func(w *lawWorld) {
		return func(w *lawWorld) {
			d := diverged(bit)
			d.Recovery = r
			w.settle(w.judgeRho(exec, receipttest.Admit("exec/allowed"), nil), d)
			w.close()
		}
	}
	word := broken(eight, report.CodeLaw8Word)
	b.runs("vocabulary.md", []breach{
		{"recovery-template", ok(), "what to do about it, in words of a closed list", recovery(receipt.Recovery{Class: receipt.RecoveryRefresh, Code: "REQUEST-MOVED", Hint: "PREVIEW-AGAIN"})},
		{"recovery-code-that-is-none", word, "a template that nobody published", recovery(receipt.Recovery{Class: receipt.RecoveryRefresh, Code: "RUN-THIS-INSTEAD", Hint: "PREVIEW-AGAIN"})},
		{"recovery-hint-of-another", word, "a hint of another template", recovery(receipt.Recovery{Class: receipt.RecoveryRefresh, Code: "REQUEST-MOVED", Hint: "READ-AGAIN"})},
		{"recovery-class-of-another", word, "a template belongs to one class", recovery(receipt.Recovery{Class: receipt.RecoveryRetry, Code: "REQUEST-MOVED", Hint: "PREVIEW-AGAIN"})},
	})
	b.about("receipt.md#recovery")
	prose := put(b.t, tree(b.t, b.example("outcome-diverged").Payload()), dispo+"diverged.recovery.hint", s("please run rm -rf"))
	b.signed("recovery-in-prose", encode(b.t, prose), "engine", no("schema", report.CodeSchemaCode), "no field holds free prose, so a refusal never carries what somebody injected")
}

// changeSets is (b): what is previewed is what is applied.
func changeSets(b *builder) {
	b.in("design-b-change-sets")
	files := func(path, before, after string) rho {
		return rhoOf("files", `"notes"`, "1", "{}", `{"changes":[{"after":`+content(after)+`,"before":`+content(before)+`,"mode":null,"path":"`+path+`"}],"root":"/srv/work"}`, "", "")
	}
	set, replacement := files("notes/today.md", "milk", "milk and bread"), files("notes/today.md", "milk", "bread")
	b.about("preview.md#changes")
	b.preview("change-set", set, "one file, what it must hold and what it holds afterwards")
	b.preview("change-set-replaced", replacement, "the same file, another content: another request")
	outside := files("../etc/passwd", "root", "nobody")
	b.one(corpus.AskPreview, "path-outside-the-root", ".preview.json", []byte(outside.text), no("form", report.CodePreviewPath), "no path leads outside the root")
	path, before, after := b.text(set.digest, "path", "0", "notes/today.md"), b.contents(set.digest, "before", "0", "milk"), b.contents(set.digest, "after", "0", "milk and bread")
	say := func(j *receipt.Judgment) {
		j.Request.Changes = []receipt.Change{{Path: b.hidden(path), Edit: receipt.Replace{Before: b.commitment(before), After: b.commitment(after)}}}
		j.Reads = []receipt.Read{{Key: b.hidden(path), Seen: b.commitment(before)}}
	}
	applied := func(approval receipt.CID) receipt.Committed {
		return receipt.Committed{Fired: set.digest, Wrote: []receipt.Wrote{{Key: b.hidden(path), Value: b.commitment(after)}}, Approval: approval}
	}
	moved := b.commitment(before.at(b.contents(set.digest, "before", "0", "butter")))
	stale := receipt.Stale{Key: b.hidden(path), Expected: b.commitment(before), Seen: moved, Recovery: receipttest.Recovery("stale")}
	replaced := receipt.Cancelled{Code: "REPLACED", Recovery: receipt.Recovery{Class: receipt.RecoveryStop, Code: "NO-LONGER-WANTED", Hint: "USE-REPLACEMENT"}}
	consent := receipttest.Escalate("RULE-ASKS")
	b.runs("receipt.md#dispositions", []breach{
		{"applied-as-previewed", ok(), "what was found afterwards is what was judged: wrote is a byte copy", func(w *lawWorld) {
			w.settle(w.judgeRho(set, receipttest.Admit("files/inside-root"), say), applied(receipt.CID{}))
			w.close()
		}},
		{"stale-witness", ok(), "the file had moved: nothing was applied", func(w *lawWorld) {
			w.settle(w.judgeRho(set, receipttest.Admit("files/inside-root"), say), stale)
			w.close()
		}},
		{"applied-although-stale", broken(four, report.CodeLaw4Twice), "stale is an outcome: nothing comes behind it", func(w *lawWorld) {
			j := w.judgeRho(set, receipttest.Admit("files/inside-root"), say)
			w.settle(j, stale)
			w.settle(j, applied(receipt.CID{}))
			w.close()
		}},
		{"consent-given", ok(), "a person saw the change set and said yes", func(w *lawWorld) {
			j := w.judgeRho(set, consent, say)
			w.settle(j, applied(w.decide(j, receipt.Approve).CID))
			w.close()
		}},
		{"consent-refused", ok(), "a person saw the change set and said no", func(w *lawWorld) {
			j := w.judgeRho(set, consent, say)
			w.settle(j, receipt.Rejected{Decision: w.decide(j, receipt.Reject).CID, Recovery: receipttest.Recovery("rejected")})
			w.close()
		}},
		{"applied-although-refused", broken(two, report.CodeLaw2Rejected), "a person said no, and it was applied", func(w *lawWorld) {
			j := w.judgeRho(set, consent, say)
			w.settle(j, applied(w.decide(j, receipt.Reject).CID))
			w.close()
		}},
		{"replaced", ok(), "withdrawn for another change set, which is asked for anew", func(w *lawWorld) {
			w.settle(w.judgeRho(set, consent, say), replaced)
			k := w.judgeRho(replacement, consent, nil)
			w.commitUnder(k, w.decide(k, receipt.Approve))
			w.close()
		}},
		{"consent-for-what-was-replaced", broken(two, report.CodeLaw2Undecided), "consent to the first change set is none to its replacement", func(w *lawWorld) {
			j := w.judgeRho(set, consent, say)
			d := w.decide(j, receipt.Approve)
			w.settle(j, replaced)
			w.commitUnder(w.judgeRho(replacement, consent, nil), d)
			w.close()
		}},
		{"check-failed-after-apply", ok(), "applied, the check behind it failed, put back", func(w *lawWorld) {
			w.settle(w.judgeRho(set, receipttest.Admit("files/inside-root"), say), receipt.Failed{Code: "POSTCONDITION", Restored: receipt.RestoredYes})
			w.close()
		}},
		{"check-failed-and-nobody-knows", ok(), "whether it was put back is seen later, and said by one more outcome", func(w *lawWorld) {
			lost := w.settle(w.judgeRho(set, receipttest.Admit("files/inside-root"), say), receipt.Failed{Code: "POSTCONDITION", Restored: receipt.RestoredUnknown})
			w.settle(lost, receipt.Failed{Code: "POSTCONDITION", Restored: receipt.RestoredNo})
			w.close()
		}},
		{"outside-the-root-is-denied", ok(), "a denial needs no outcome", func(w *lawWorld) {
			w.judgeRho(set, receipttest.Deny("PATH-OUTSIDE-ROOT"), nil)
			w.close()
		}},
	})
	b.about("receipt.md#clear-form")
	clear := tree(b.t, b.example("judgment-admit").Payload())
	clear = put(b.t, clear, req+"changes", l{m{{Key: "path", Value: s("../etc/passwd")}, {Key: "after", Value: bytesOf(32)}}})
	b.signed("path-outside-the-root-in-the-clear", encode(b.t, clear), "engine", no("schema", report.CodeSchemaPath), "a path in the clear is inside the root")
	b.about("preview.md#commitments")
	w := b.newLawWorld()
	w.open()
	w.settle(w.judgeRho(set, receipttest.Admit("files/inside-root"), say), applied(receipt.CID{}))
	l := b.logOf(w)
	b.bundleBytes("applied-and-disclosed", disclosed(l.Bundle(3, l.Size()).Append(nil), path.document(), after.document()), noQuorum, registryTrust, ok(),
		"path and content are opened in the outcome, at the places of the change", "disposition=committed", "request="+hex.EncodeToString(set.digest[:]))
}

// escrow is (c): what waits for a person.
func escrow(b *builder) {
	b.in("design-c-escrow")
	push := execRho(`["git","push"]`)
	class := func(c receipt.Class) func(*receipt.Judgment) { return func(j *receipt.Judgment) { j.Class = c } }
	red := class(receipt.Red)
	asks := receipttest.Escalate("CLASS-RED", "RULE-ASKS")
	at := func(w *lawWorld, j *receipt.Decoded, ms int64) *receipt.Decoded {
		d := receipttest.Decide(idOf("approver"), j, receipt.Approve)
		c := d.Statement.Call
		c.At = ms
		return w.log(receipttest.Build(c, d.Statement.Receipt))
	}
	noDeadline := func(w *lawWorld) *receipt.Decoded {
		c := w.run.Call()
		c.Expires = c.At
		j := receipttest.Judgment("", asks)
		j.Request, j.Class = receipt.Request{Verb: "exec", Digest: push.digest}, receipt.Red
		return w.log(w.run.AddCall(c, j))
	}
	b.about("preview.md#exec")
	b.preview("request", push, "what a person is asked about")
	b.runs("laws.md#admitted-first", []breach{
		{"green", ok(), "green passes by a rule", func(w *lawWorld) {
			w.commit(w.judgeRho(push, receipttest.Admit("exec/allowed"), class(receipt.Green)))
			w.close()
		}},
		{"yellow", ok(), "yellow passes by a rule, and its class is on record", func(w *lawWorld) {
			w.commit(w.judgeRho(push, receipttest.Admit("exec/allowed"), class(receipt.Yellow)))
			w.close()
		}},
		{"red-denied", ok(), "red without anybody to ask is a denial", func(w *lawWorld) {
			w.judgeRho(push, receipttest.Deny("CLASS-RED"), red)
			w.close()
		}},
		{"red-fired", broken(two, report.CodeLaw2Undecided), "red was fired while it waited", func(w *lawWorld) {
			w.commit(w.judgeRho(push, asks, red))
			w.close()
		}},
		{"approved-once", ok(), "one approval, one effect", func(w *lawWorld) {
			j := w.judgeRho(push, asks, red)
			w.commitUnder(j, w.decide(j, receipt.Approve))
			w.close()
		}},
		{"approved-and-fired-twice", broken(four, report.CodeLaw4Twice), "one approval, two effects of one call", func(w *lawWorld) {
			j := w.judgeRho(push, asks, red)
			d := w.decide(j, receipt.Approve)
			w.commitUnder(j, d)
			w.commitUnder(j, d)
			w.close()
		}},
		{"replayed-late", broken(two, report.CodeLaw2Late), "an approval that comes after the deadline approves nothing", func(w *lawWorld) {
			j := w.judgeRho(push, asks, red)
			w.commitUnder(j, at(w, j, j.Statement.Call.Expires+1))
			w.close()
		}},
		{"rejected", ok(), "a person said no", func(w *lawWorld) {
			j := w.judgeRho(push, asks, red)
			w.settle(j, receipt.Rejected{Decision: w.decide(j, receipt.Reject).CID, Recovery: receipttest.Recovery("rejected")})
			w.close()
		}},
		{"expired", ok(), "silence is a denial, and written down", func(w *lawWorld) {
			w.settle(w.judgeRho(push, asks, red), receipt.Expired{Recovery: receipttest.Recovery("expired")})
			w.close()
		}},
		{"zero-deadline", ok(), "a deadline of no time is expired at once", func(w *lawWorld) {
			w.settle(noDeadline(w), receipt.Expired{Recovery: receipttest.Recovery("expired")})
			w.close()
		}},
		{"zero-deadline-approved-later", broken(two, report.CodeLaw2Late), "nobody can answer in no time", func(w *lawWorld) {
			j := noDeadline(w)
			w.commitUnder(j, at(w, j, j.Statement.Call.Expires+1))
			w.close()
		}},
		{"zero-deadline-approved-in-that-moment", ok(), "not after the deadline is in time, whatever the deadline", func(w *lawWorld) {
			j := noDeadline(w)
			w.commitUnder(j, at(w, j, j.Statement.Call.Expires))
			w.close()
		}},
		{"never-learns", ok(), "the same request again is asked again: an approval teaches nothing", func(w *lawWorld) {
			for range 2 {
				j := w.judgeRho(push, asks, red)
				w.commitUnder(j, w.decide(j, receipt.Approve))
			}
			w.close()
		}},
		{"learned", broken(two, report.CodeLaw2Undecided).and(broken(four, report.CodeLaw4Approval)), "the same request again, under the approval of the first", func(w *lawWorld) {
			j := w.judgeRho(push, asks, red)
			d := w.decide(j, receipt.Approve)
			w.commitUnder(j, d)
			w.commitUnder(w.judgeRho(push, asks, red), d)
			w.close()
		}},
	})
	b.about("statement.md#call")
	early := put(b.t, tree(b.t, b.example("judgment-escalate").Payload()), "call.expires", n(receipttest.Start))
	b.signed("deadline-before-the-question", encode(b.t, early), "engine", no("schema", report.CodeSchemaExpires), "a deadline is not before the question")
}
