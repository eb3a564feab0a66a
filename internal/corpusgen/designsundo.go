package corpusgen

import (
	"fmt"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

// logOf is a log of the statements of a world.
func (b *builder) logOf(w *lawWorld) *testlog.Log {
	l := testlog.New(b.t)
	w.fill(l)
	return l
}

// reversible is (d): transformations with an inverse, and what is undone.
func reversible(b *builder) {
	b.in("design-d-reversible")
	do := rhoOf("files", `"move"`, "1", "{}", `{"changes":[{"after":`+content("new")+`,"before":`+content("old")+`,"mode":null,"path":"config"}],"root":"/srv/work"}`, "", "")
	undo := func(outcome receipt.CID) rho {
		return rhoOf("undo", `"move"`, "1", "{}", fmt.Sprintf(`{"changes":[{"after":%s,"before":%s,"mode":null,"path":"config"}],"outcome":"%s","root":"/srv/work"}`, content("old"), content("new"), outcome), "", "")
	}
	path, before, after := b.text(do.digest, "path", "0", "config"), b.contents(do.digest, "before", "0", "old"), b.contents(do.digest, "after", "0", "new")
	delta := b.contents(do.digest, "delta", "0", "old")
	say := func(j *receipt.Judgment) {
		j.Request.Changes = []receipt.Change{{Path: b.hidden(path), Edit: receipt.Replace{Before: b.commitment(before), After: b.commitment(after)}}}
		j.Reads = []receipt.Read{{Key: b.hidden(path), Seen: b.commitment(before)}}
		j.Inverse = receipt.Escrowed{Delta: b.commitment(delta)}
	}
	done := func(w *lawWorld) *receipt.Decoded {
		return w.settle(w.judgeRho(do, receipttest.Admit("files/inside-root"), say), receipt.Committed{Fired: do.digest, Wrote: []receipt.Wrote{{Key: b.hidden(path), Value: b.commitment(after)}}})
	}
	moved := b.commitment(after.at(b.contents(do.digest, "after", "0", "moved")))
	asFound := receipt.Attested{Compared: []receipt.Comparison{{Key: b.hidden(path), Expected: b.commitment(after), Seen: b.commitment(after)}}}
	// undone asks for the undo of an outcome and settles it.
	undone := func(w *lawWorld, of *receipt.Decoded, seen receipt.Observation, d func(r rho) receipt.Disposition) {
		r := undo(of.CID)
		j := w.judgeRho(r, receipttest.Admit("undo/own"), nil)
		c := w.run.Call()
		c.Settles = j.CID
		o := receipttest.Outcome(j, d(r))
		if seen != nil {
			o.Compensates = &receipt.Compensates{Outcome: of.CID, Observation: seen}
		}
		w.log(w.run.AddCall(c, o))
	}
	committed := func(r rho) receipt.Disposition { return receipt.Committed{Fired: r.digest} }
	stale := func(rho) receipt.Disposition {
		return receipt.Stale{Key: b.hidden(path), Expected: b.commitment(after), Seen: moved, Recovery: receipttest.Recovery("stale")}
	}
	again := func(rho) receipt.Disposition {
		return receipt.Refused{Code: "ALREADY-UNDONE", Recovery: receipt.Recovery{Class: receipt.RecoveryStop, Code: "NO-LONGER-WANTED", Hint: "NOTHING-TO-DO"}}
	}
	sample := b.newLawWorld()
	sample.open()
	first := done(sample)
	b.about("preview.md#undo")
	b.preview("do", do, "a transformation")
	b.preview("undo", undo(first.CID), "its undo: another preview, which names the outcome that it undoes")
	b.one(corpus.AskPreview, "undo-of-nothing", ".preview.json", []byte(rhoOf("undo", "null", "null", "{}", `{"changes":[{"after":`+content("old")+`,"before":`+content("new")+`,"mode":null,"path":"config"}],"outcome":"bafy","root":"/srv/work"}`, "", "").text),
		no("form", report.CodePreviewIntent), "an undo names an outcome by its statement CID")
	b.runs("laws.md#undone-soundly", []breach{
		{"escrowed-inverse", ok(), "the engine holds what undoes it, and said which values it had read", func(w *lawWorld) { done(w); w.close() }},
		{"undo-attested", ok(), "found as it had been left, and put back", func(w *lawWorld) {
			undone(w, done(w), asFound, committed)
			w.close()
		}},
		{"undo-unobservable", waiting(seven, report.CodeLaw7Unobservable), "put back without having looked", func(w *lawWorld) {
			undone(w, done(w), receipt.Unobservable{Code: "ACCESS-LOST"}, committed)
			w.close()
		}},
		{"undo-refused-as-stale", ok(), "somebody had changed it since: the undo is refused", func(w *lawWorld) {
			undone(w, done(w), nil, stale)
			w.close()
		}},
		{"undo-over-somebody-elses-change", broken(seven, report.CodeLaw7Overwrote), "somebody had changed it since, and the undo wrote over it", func(w *lawWorld) {
			undone(w, done(w), receipt.Attested{Compared: []receipt.Comparison{{Key: b.hidden(path), Expected: b.commitment(after), Seen: moved}}}, committed)
			w.close()
		}},
		{"undo-from-what-was-not-recorded", broken(seven, report.CodeLaw7Expected), "it expects another value than the outcome recorded", func(w *lawWorld) {
			undone(w, done(w), receipt.Attested{Compared: []receipt.Comparison{{Key: b.hidden(path), Expected: moved, Seen: moved}}}, committed)
			w.close()
		}},
		{"undo-repeated", ok(), "the second undo has a disposition of its own: there was nothing left to undo", func(w *lawWorld) {
			o := done(w)
			undone(w, o, asFound, committed)
			undone(w, o, nil, again)
			w.close()
		}},
		{"undo-fired-as-something-else", broken(three, report.CodeLaw3Fired), "an undo is an ordinary effect: what was fired is what was judged", func(w *lawWorld) {
			undone(w, done(w), asFound, func(rho) receipt.Disposition { return receipt.Committed{Fired: do.digest} })
			w.close()
		}},
	})
	b.runs("laws.md#nothing-hanging", []breach{
		{"planned-and-never-settled", waiting(six, report.CodeLaw6Hanging).and(waiting(five, report.CodeLaw5Open)), "planned, and nobody said what became of it", func(w *lawWorld) {
			w.judgeRho(do, receipttest.Admit("files/inside-root"), say)
		}},
		{"planned-and-closed-over", broken(six, report.CodeLaw6Closed), "the run ended over it", func(w *lawWorld) {
			w.judgeRho(do, receipttest.Admit("files/inside-root"), say)
			w.close()
		}},
	})
	request := receipt.Request{Verb: "files", Digest: do.digest}
	b.runs("verdict.md#faults", []breach{
		{"fault-closed", ok(), "no evaluation, no verdict: nothing happened", func(w *lawWorld) {
			w.log(w.run.Add(receipt.Fault{Stage: receipt.StageEvaluate, Code: "EVALUATION-NONE", Posture: receipt.FailClosed{Request: &request}}))
			w.close()
		}},
		{"fault-open", ok(), "no evaluation, no verdict: let through unjudged, and counted apart", func(w *lawWorld) {
			w.commit(w.log(w.run.Add(receipt.Fault{Stage: receipt.StageEvaluate, Code: "EVALUATION-FAILED", Posture: receipt.FailOpen{Request: request}})))
			w.close()
		}},
		{"fault-closed-and-fired", broken(one, report.CodeLaw1Kind).and(waiting(two, report.CodeLaw1Kind)), "no evaluation, no verdict, and it was fired", func(w *lawWorld) {
			w.commit(w.log(w.run.Add(receipt.Fault{Stage: receipt.StageEvaluate, Code: "EVALUATION-NONE", Posture: receipt.FailClosed{Request: &request}})))
			w.close()
		}},
	})
	b.about("preview.md#commitments")
	l := b.logOf(sample)
	b.bundleBytes("inverse-disclosed", disclosed(l.Bundle(2, l.Size()).Append(nil), delta.document(), before.document()), noQuorum, registryTrust, ok(), "what was escrowed, opened for whoever has to undo it", "verdict=admit")
}

// rendered is (e): payloads that are made from slots, and sent or not.
func rendered(b *builder) {
	b.in("design-e-rendered")
	render := func(title, payload string) rho {
		return rhoOf("render", `"mail"`, "1", "{}", `{"payload":`+payload+`,"scaffolding":`+content("Dear {who}, {title}")+
			`,"slots":{"title":{"source":"user","value":"`+title+`"},"who":{"source":"directory","value":"Ada"}},"template":"letters/invitation"}`, "", "")
	}
	made, unmade := render("Dinner", content("Dear Ada, Dinner")), render("Dinner", "null")
	b.about("preview.md#render")
	b.preview("payload", made, "a payload that was made, by its digest")
	b.preview("no-payload", unmade, "slots that make no payload")
	b.one(corpus.AskPreview, "another-slot", ".preview.json", []byte(render("Supper", content("Dear Ada, Supper")).text), no("expect digest", report.CodeExpectationUnmet), "what fills a slot is judged too", made.expect())
	title, who := b.text(made.digest, "slot", "title", "Dinner"), b.text(made.digest, "slot", "who", "Ada")
	say := func(j *receipt.Judgment) {
		j.Request.Slots = []receipt.Slot{{Name: "title", Value: b.hidden(title), Source: "user"}, {Name: "who", Value: b.hidden(who), Source: "directory"}}
	}
	withheld := func(code receipt.Code) receipt.Withheld {
		return receipt.Withheld{Code: code, Recovery: receipttest.Recovery("withheld")}
	}
	payload := receipt.Rendered{Digest: made.digest}
	because := func(code receipt.Code) func(w *lawWorld) {
		return func(w *lawWorld) {
			w.settle(w.judgeRho(unmade, receipttest.Admit("render/allowed"), nil), withheld(code))
			w.close()
		}
	}
	b.runs("receipt.md#dispositions", []breach{
		{"rendered-and-not-sent", ok(), "made, and not sent by this engine", func(w *lawWorld) {
			w.settle(w.judgeRho(made, receipttest.Admit("render/allowed"), say), payload)
			w.close()
		}},
		{"rendered-and-then-sent", broken(four, report.CodeLaw4Twice), "whoever says that it was not sent has not sent it", func(w *lawWorld) {
			j := w.judgeRho(made, receipttest.Admit("render/allowed"), say)
			w.settle(j, payload)
			w.settle(j, receipt.Committed{Fired: made.digest})
			w.close()
		}},
		{"withheld-for-an-ungrounded-slot", ok(), "a slot that nothing stands behind", because("SLOT-UNGROUNDED")},
		{"withheld-for-a-missing-title", ok(), "a title that is not there", because("TITLE-MISSING")},
		{"withheld-for-an-unlabelled-role", ok(), "a role without its label", because("ROLE-UNLABELLED")},
		{"withheld-for-no-published-reason", broken(eight, report.CodeLaw8Word), "a reason that the vocabulary has not", because("DID-NOT-FEEL-LIKE-IT")},
		{"withheld-and-sent", broken(four, report.CodeLaw4Twice), "whoever says that nothing was rendered has sent nothing", func(w *lawWorld) {
			j := w.judgeRho(unmade, receipttest.Admit("render/allowed"), nil)
			w.settle(j, withheld("SLOT-UNGROUNDED"))
			w.settle(j, receipt.Committed{Fired: unmade.digest})
			w.close()
		}},
	})
	w := b.newLawWorld()
	w.open()
	w.settle(w.judgeRho(made, receipttest.Admit("render/allowed"), say), payload)
	w.settle(w.judgeRho(unmade, receipttest.Admit("render/allowed"), nil), withheld("SLOT-UNGROUNDED"))
	l := b.logOf(w)
	b.about("receipt.md#request")
	b.bundleBytes("slots-disclosed", disclosed(l.Bundle(2, l.Size()).Append(nil), title.document(), who.document()), noQuorum, registryTrust, ok(), "what filled the slots, opened", "verb=render")
	b.bundle("rendered", l.Bundle(3, l.Size()), noQuorum, ok(), "a genuine receipt that says that nothing was sent", "disposition=rendered")
	b.bundle("rendered-is-not-committed", l.Bundle(3, l.Size()), noQuorum, no("expect disposition", report.CodeExpectationUnmet), "what was rendered has not been sent", "disposition=committed")
	b.bundle("withheld", l.Bundle(5, l.Size()), noQuorum, ok(), "a genuine receipt that says that nothing was rendered", "disposition=withheld")
}
