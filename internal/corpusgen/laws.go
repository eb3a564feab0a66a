package corpusgen

import (
	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

// breach is a run of which one law is not held, or a lawful one.
type breach struct {
	name  string
	want  want
	why   string
	build func(w *lawWorld)
}

func waiting(l laws.Law, code report.Code) want { return unknown(checkOf(l), code) }

const (
	one   = laws.JudgedFirst
	two   = laws.AdmittedFirst
	three = laws.JudgedIsExecuted
	four  = laws.SettledOnce
	five  = laws.NothingMissing
	six   = laws.NothingHanging
	seven = laws.UndoneSoundly
	eight = laws.ClosedVocabulary
)

// lawCases: whole runs held to the eight laws.
func lawCases(b *builder) {
	b.in("laws")
	trust := b.world.log.PlainEngines()
	text := string(trust.Bytes()) + "key rival engine " + base64Of(public("rival")) + "\n"
	b.put(lawTrust, []byte(text))
	for _, part := range []struct {
		spec string
		list []breach
	}{
		{"laws.md", lawful()}, {"laws.md#judged-first", judged()}, {"laws.md#admitted-first", admitted()}, {"laws.md#judged-is-executed", executed()},
		{"laws.md#settled-once", settled()}, {"laws.md#nothing-missing", missing()}, {"laws.md#nothing-hanging", hanging()},
		{"laws.md#undone-soundly", undone()}, {"laws.md#closed-vocabulary", vocabulary(b)}, {"laws.md", general()},
	} {
		b.about(part.spec)
		for _, c := range part.list {
			w := b.newLawWorld()
			c.build(w)
			w.held(c.name, c.want, c.why)
		}
	}
	b.disownedRuns()
}

func cancelled() receipt.Cancelled {
	return receipt.Cancelled{Code: "WITHDRAWN", Recovery: receipttest.Recovery("cancelled")}
}

func compared(key, expected, seen string) receipt.Attested {
	return receipt.Attested{Compared: []receipt.Comparison{{
		Key: receipttest.Hidden(key), Expected: receipttest.Commitment(expected), Seen: receipttest.Commitment(seen),
	}}}
}

// wrote is a commit that recorded what it left behind.
func (w *lawWorld) wrote(label string) *receipt.Decoded {
	j := w.admit(label)
	return w.settle(j, receipt.Committed{Fired: receipttest.RequestOf(j), Wrote: []receipt.Wrote{{Key: receipttest.Hidden("k"), Value: receipttest.Commitment("v")}}})
}

func lawful() []breach {
	return []breach{
		{"lawful", ok(), "a run with something for every law, closed", func(w *lawWorld) {
			w.open()
			first := w.wrote("a")
			w.deny("b")
			j := w.escalate("c")
			w.commitUnder(j, w.decide(j, receipt.Approve))
			j = w.escalate("d")
			w.settle(j, receipt.Rejected{Decision: w.decide(j, receipt.Reject).CID, Recovery: receipttest.Recovery("rejected")})
			w.settle(w.escalate("e"), receipt.Expired{Recovery: receipttest.Recovery("expired")})
			lost := w.settle(w.admit("f"), receipt.Unobserved{Code: "NO-ANSWER"})
			lost = w.settle(lost, receipt.Failed{Code: "IO-ERROR", Restored: receipt.RestoredUnknown})
			w.settle(lost, receipt.Failed{Code: "IO-ERROR", Restored: receipt.RestoredYes})
			w.commit(w.fault())
			w.undo("g", first, compared("k", "v", "v"))
			w.close()
		}},
		{"lawful-empty", ok(), "a run in which nothing was asked for", func(w *lawWorld) { w.open(); w.close() }},
		{"lawful-two-decisions", ok(), "a second decision comes behind the first and changes nothing", func(w *lawWorld) {
			w.open()
			j := w.escalate("x")
			d := w.decide(j, receipt.Approve)
			w.decide(j, receipt.Reject)
			w.commitUnder(j, d)
			w.close()
		}},
		{"lawful-beside-a-rival", ok(), "another principal's run of the same name counts neither for nor against this one", func(w *lawWorld) {
			w.open()
			rival := receipttest.NewRun(idOf("rival"), "run-1")
			w.log(rival.Add(receipttest.Open(testlog.Origin)))
			j := w.admit("x")
			w.log(rival.Settle(j, cancelled())) // answers what is not its own
			w.commit(j)
			w.close()
		}},
	}
}

func judged() []breach {
	return []breach{
		{"answers-nothing-in-the-log", broken(one, report.CodeLaw1Missing).and(waiting(two, report.CodeLaw1Missing)), "what it answers was never logged", func(w *lawWorld) {
			w.open()
			elsewhere := receipttest.NewRun(idOf("engine"), "elsewhere")
			elsewhere.Add(receipttest.Open(testlog.Origin))
			w.commit(elsewhere.Add(receipttest.Judgment("x", receipttest.Admit("rule"))))
			w.close()
		}},
		{"logged-before-what-it-answers", broken(one, report.CodeLaw1Later).and(broken(five, report.CodeLaw5Order)), "the outcome stands in the log before its judgment", func(w *lawWorld) {
			w.open()
			w.commit(w.admit("x"))
			w.close()
			w.swap(1, 2)
		}},
		{"answers-another-principal", broken(one, report.CodeLaw1Principal).and(waiting(two, report.CodeLaw1Principal)), "a judgment of somebody else", func(w *lawWorld) {
			rival := receipttest.NewRun(idOf("rival"), "run-1")
			w.log(rival.Add(receipttest.Open(testlog.Origin)))
			j := w.log(rival.Add(receipttest.Judgment("x", receipttest.Admit("rule"))))
			w.open()
			w.commit(j)
			w.close()
		}},
		{"answers-another-run", broken(one, report.CodeLaw1Run).and(waiting(two, report.CodeLaw1Run)), "a judgment of another run", func(w *lawWorld) {
			other := receipttest.NewRun(idOf("engine"), "other")
			w.log(other.Add(receipttest.Open(testlog.Origin)))
			j := w.log(other.Add(receipttest.Judgment("x", receipttest.Admit("rule"))))
			w.open()
			w.commit(j)
			w.close()
		}},
		{"answers-a-closed-fault", broken(one, report.CodeLaw1Kind).and(waiting(two, report.CodeLaw1Kind)), "a closed fault lets nothing through", func(w *lawWorld) {
			w.open()
			q := receipttest.Request("exec", "x")
			w.commit(w.log(w.run.Add(receipt.Fault{Stage: receipt.StageIntake, Code: "REQUEST-MALFORMED", Posture: receipt.FailClosed{Request: &q}})))
			w.close()
		}},
		{"names-another-receipt", broken(one, report.CodeLaw1Receipt), "the receipt that it names is not that of the statement it answers", func(w *lawWorld) {
			open := w.open()
			w.settleWith(w.admit("x"), func(_ *receipt.Call, o *receipt.Outcome) { o.Of = open.ReceiptCID })
			w.close()
		}},
		{"names-another-request", broken(one, report.CodeLaw1Request), "the request that it names is not that of the statement it answers", func(w *lawWorld) {
			w.open()
			w.settleWith(w.admit("x"), func(_ *receipt.Call, o *receipt.Outcome) {
				o.Request, o.Disposition = receipttest.Digest("y"), cancelled()
			})
			w.close()
		}},
	}
}

func executed() []breach {
	return []breach{
		{"fires-another-digest", broken(three, report.CodeLaw3Fired), "what was fired is not what was judged", func(w *lawWorld) {
			w.open()
			w.settle(w.admit("x"), receipt.Committed{Fired: receipttest.Digest("y")})
			w.close()
		}},
		{"fires-another-digest-after-an-approval", broken(three, report.CodeLaw3Fired), "an approval is of one digest", func(w *lawWorld) {
			w.open()
			j := w.escalate("x")
			w.settle(j, receipt.Committed{Fired: receipttest.Digest("y"), Approval: w.decide(j, receipt.Approve).CID})
			w.close()
		}},
	}
}

func admitted() []breach {
	asked := func(build func(w *lawWorld, j *receipt.Decoded)) func(w *lawWorld) {
		return func(w *lawWorld) {
			w.open()
			build(w, w.escalate("x"))
			w.close()
		}
	}
	decision := func(change func(*receipt.Call, *receipt.Decision)) func(w *lawWorld) {
		return asked(func(w *lawWorld, j *receipt.Decoded) {
			d := receipttest.Decide(idOf("approver"), j, receipt.Approve)
			c, r := d.Statement.Call, d.Statement.Receipt.(receipt.Decision)
			change(&c, &r)
			w.commitUnder(j, w.log(receipttest.Build(c, r)))
		})
	}
	denied := func(d func(j *receipt.Decoded) receipt.Disposition) func(w *lawWorld) {
		return func(w *lawWorld) {
			w.open()
			j := w.deny("x")
			w.settle(j, d(j))
			w.close()
		}
	}
	no := func(code report.Code) want { return broken(two, code) }
	return []breach{
		{"committed-after-a-denial", no(report.CodeLaw2Denied), "a denial was fired", denied(func(j *receipt.Decoded) receipt.Disposition { return receipttest.Commit(j) })},
		{"attempted-after-a-denial", no(report.CodeLaw2Denied), "an attempt that failed was an attempt", denied(func(*receipt.Decoded) receipt.Disposition {
			return receipt.Failed{Code: "IO-ERROR", Restored: receipt.RestoredNo}
		})},
		{"perhaps-after-a-denial", no(report.CodeLaw2Denied), "what may have happened was attempted", denied(func(*receipt.Decoded) receipt.Disposition { return receipt.Unobserved{Code: "NO-ANSWER"} })},
		{"committed-without-a-decision", no(report.CodeLaw2Undecided), "nobody decided", asked(func(w *lawWorld, j *receipt.Decoded) { w.commit(j) })},
		{"committed-before-the-decision", no(report.CodeLaw2Undecided), "the decision stands behind the attempt", func(w *lawWorld) {
			w.open()
			j := w.escalate("x")
			w.commitUnder(j, w.decide(j, receipt.Approve))
			w.close()
			w.swap(2, 3)
		}},
		{"decided-before-the-judgment", no(report.CodeLaw2Early), "the decision stands before the judgment", func(w *lawWorld) {
			w.open()
			j := w.escalate("x")
			w.commitUnder(j, w.decide(j, receipt.Approve))
			w.close()
			w.swap(1, 2)
		}},
		{"the-first-decision-rejects", no(report.CodeLaw2Rejected), "later decisions change nothing", asked(func(w *lawWorld, j *receipt.Decoded) {
			d := w.decide(j, receipt.Reject)
			w.decide(j, receipt.Approve)
			w.commitUnder(j, d)
		})},
		{"decision-on-another-judgment", no(report.CodeLaw2Mismatch), "it names another receipt", decision(func(c *receipt.Call, d *receipt.Decision) { d.Judgment = c.Settles })},
		{"decision-on-another-request", no(report.CodeLaw2Mismatch), "it names another request", decision(func(_ *receipt.Call, d *receipt.Decision) { d.Request = receipttest.Digest("y") })},
		{"decision-with-another-ticket", no(report.CodeLaw2Mismatch), "its ticket is for other reasons", decision(func(_ *receipt.Call, d *receipt.Decision) { d.Ticket[0] ^= 1 })},
		{"decision-too-late", no(report.CodeLaw2Late), "late by the approver's own clock", decision(func(c *receipt.Call, _ *receipt.Decision) { c.At += 100_000 })},
		{"decision-in-the-last-moment", ok(), "not after expires is in time", decision(func(c *receipt.Call, _ *receipt.Decision) { c.At += 50_000 })},
		{"approval-not-named", no(report.CodeLaw2Approval), "an attempt names the decision that it rests on", asked(func(w *lawWorld, j *receipt.Decoded) {
			w.decide(j, receipt.Approve)
			w.commit(j)
		})},
		{"another-approval-named", no(report.CodeLaw2Approval), "it names something else", asked(func(w *lawWorld, j *receipt.Decoded) {
			w.decide(j, receipt.Approve)
			w.commitUnder(j, j)
		})},
		{"approval-where-nobody-was-asked", no(report.CodeLaw2Approval), "an attempt after an admission names none", func(w *lawWorld) {
			w.open()
			j := w.admit("x")
			w.commitUnder(j, j)
			w.close()
		}},
		{"later-outcome-without-the-approval", no(report.CodeLaw2Approval), "what settles an open outcome names the same approval", asked(func(w *lawWorld, j *receipt.Decoded) {
			w.commit(w.settle(j, receipt.Unobserved{Code: "NO-ANSWER", Approval: w.decide(j, receipt.Approve).CID}))
		})},
		{"rejected-without-a-decision", no(report.CodeLaw2Rejection), "nobody said no", asked(func(w *lawWorld, j *receipt.Decoded) {
			w.settle(j, receipt.Rejected{Decision: j.CID, Recovery: receipttest.Recovery("rejected")})
		})},
		{"rejected-although-approved", no(report.CodeLaw2Rejection), "the decision says yes", asked(func(w *lawWorld, j *receipt.Decoded) {
			w.settle(j, receipt.Rejected{Decision: w.decide(j, receipt.Approve).CID, Recovery: receipttest.Recovery("rejected")})
		})},
		{"decision-of-a-later-version", waiting(two, report.CodeLawVersion).and(unknown("schema", report.CodeVersionUnknown)), "what it decides is not known", asked(func(w *lawWorld, j *receipt.Decoded) {
			d := w.decide(j, receipt.Approve)
			w.later()
			w.commitUnder(j, d)
		})},
	}
}

func settled() []breach {
	return []breach{
		{"two-outcomes-of-one-call", broken(four, report.CodeLaw4Twice), "a call has one outcome", func(w *lawWorld) {
			w.open()
			j := w.admit("x")
			w.commit(j)
			w.settle(j, cancelled())
			w.close()
		}},
		{"two-later-outcomes", broken(four, report.CodeLaw4Twice), "an open outcome is settled by one", func(w *lawWorld) {
			w.open()
			o := w.settle(w.admit("x"), receipt.Unobserved{Code: "NO-ANSWER"})
			w.commit(o)
			w.settle(o, receipt.Failed{Code: "IO-ERROR", Restored: receipt.RestoredYes})
			w.close()
		}},
		{"outcome-of-a-restored-failure", broken(four, report.CodeLaw4Again).and(broken(one, report.CodeLaw1Kind)), "a failure that was restored leaves nothing open", func(w *lawWorld) {
			w.open()
			w.commit(w.settle(w.admit("x"), receipt.Failed{Code: "IO-ERROR", Restored: receipt.RestoredYes}))
			w.close()
		}},
		{"one-approval-for-two-calls", broken(four, report.CodeLaw4Approval).and(broken(two, report.CodeLaw2Approval)), "one approval serves one call", func(w *lawWorld) {
			w.open()
			j, k := w.escalate("x"), w.escalate("y")
			d := w.decide(j, receipt.Approve)
			w.decide(k, receipt.Approve)
			w.commitUnder(j, d)
			w.commitUnder(k, d)
			w.close()
		}},
	}
}

func missing() []breach {
	twice := no("once", report.CodeStatementTwice)
	no := func(code report.Code) want { return broken(five, code) }
	return []breach{
		{"fork", no(report.CodeLaw5Fork), "two statements in one place, the gravest of all", func(w *lawWorld) {
			w.open()
			w.commit(w.admit("x"))
			c := w.run.Call()
			w.commit(w.admit("y"))
			w.log(receipttest.Build(c, receipttest.Judgment("z", receipttest.Deny("NO-RULE"))))
			w.close()
		}},
		{"hole", no(report.CodeLaw5Hole), "a place is missing and nothing says so", func(w *lawWorld) {
			w.open()
			w.deny("x")
			w.commit(w.admit("y"))
			w.close()
			w.drop(1)
		}},
		{"no-run-open", no(report.CodeLaw5Hole).and(waiting(eight, report.CodeLaw8Vocabulary)), "the first place is missing, and with it the vocabulary", func(w *lawWorld) {
			w.open()
			w.commit(w.admit("y"))
			w.close()
			w.drop(0)
		}},
		{"gap", waiting(five, report.CodeLaw5Gap), "a gap is disclosed and never held", func(w *lawWorld) {
			w.open()
			w.commit(w.admit("x"))
			w.log(w.run.Lose(2))
			w.close()
		}},
		{"gap-too-small", no(report.CodeLaw5Hole), "more is missing than the gap says", func(w *lawWorld) {
			w.open()
			w.deny("x")
			w.log(w.run.Lose(2))
			w.close()
			w.drop(1)
		}},
		{"gapped-statement-turns-up", no(report.CodeLaw5Contradicted), "what the gap says was lost is there", func(w *lawWorld) {
			w.open()
			w.deny("x")
			w.log(w.run.AddCall(w.run.Call(), receipt.Gap{Count: 1, Code: "SPOOL-LOST"}))
			w.close()
		}},
		{"prev-of-another", no(report.CodeLaw5Prev), "prev is not the place before", func(w *lawWorld) {
			open := w.open()
			w.deny("x")
			c := w.run.Call()
			c.Prev = open.CID
			w.log(w.run.AddCall(c, receipttest.Judgment("y", receipttest.Deny("NO-RULE"))))
			w.close()
		}},
		{"another-order", no(report.CodeLaw5Order), "the log's order is not that of seq", func(w *lawWorld) {
			w.open()
			w.deny("x")
			w.deny("y")
			w.close()
			w.swap(1, 2)
		}},
		{"tally-too-high", no(report.CodeLaw5Tally), "the run-close counts a judgment that is not there", func(w *lawWorld) {
			w.open()
			w.deny("x")
			w.log(w.run.Add(receipt.RunClose{Judgments: receipt.JudgmentTally{Deny: 2}}))
		}},
		{"tally-of-another-disposition", no(report.CodeLaw5Tally), "the run-close counts another word", func(w *lawWorld) {
			w.open()
			w.settle(w.admit("x"), receipt.Unobserved{Code: "NO-ANSWER"})
			w.log(w.run.Add(receipt.RunClose{Judgments: receipt.JudgmentTally{Admit: 1}, Outcomes: receipt.OutcomeTally{Failed: 1}}))
		}},
		{"behind-the-run-close", no(report.CodeLaw5AfterClose), "nothing stands behind a run-close", func(w *lawWorld) {
			w.open()
			w.close()
			w.deny("x")
		}},
		{"open-run", waiting(five, report.CodeLaw5Open).and(waiting(six, report.CodeLaw6Open)), "an open run is never held", func(w *lawWorld) {
			w.open()
			w.commit(w.admit("x"))
		}},
		{"one-statement-in-two-leaves", twice.and(waiting(five, report.CodeLawRepeated)), "the log's fault and not the signer's", func(w *lawWorld) {
			w.open()
			w.commit(w.admit("x"))
			w.close()
			w.log(w.entries[2].d)
		}},
	}
}

func hanging() []breach {
	open := waiting(five, report.CodeLaw5Open)
	hangs := func(code report.Code) want { return waiting(six, code).and(open) }
	closed := broken(six, report.CodeLaw6Closed)
	return []breach{
		{"hanging-admission", hangs(report.CodeLaw6Hanging), "an admitted call without an outcome, in a run that goes on", func(w *lawWorld) { w.open(); w.admit("x") }},
		{"hanging-fault", hangs(report.CodeLaw6Hanging), "an open fault without an outcome", func(w *lawWorld) { w.open(); w.fault() }},
		{"hanging-approval", hangs(report.CodeLaw6Hanging), "approved and not settled", func(w *lawWorld) {
			w.open()
			w.decide(w.escalate("x"), receipt.Approve)
			w.deny("y")
		}},
		{"hanging-past-its-expiry", hangs(report.CodeLaw6Expired), "nobody answered and no outcome says so", func(w *lawWorld) { w.open(); w.escalate("x") }},
		{"not-yet-expired", waiting(six, report.CodeLaw6Open).and(open), "before its expiry an escalation does not hang", func(w *lawWorld) {
			w.ask.Now = receipttest.Start + 1000
			w.open()
			w.escalate("x")
		}},
		{"closed-and-no-time", waiting(six, report.CodeLaw6Now), "without a time nobody knows whether it has expired", func(w *lawWorld) {
			w.ask.Now = 0
			w.open()
			w.escalate("x")
			w.close()
		}},
		{"closed-over-an-admission", closed, "a run is not closed over a hanging call", func(w *lawWorld) { w.open(); w.admit("x"); w.close() }},
		{"closed-over-a-fault", closed, "a run is not closed over a hanging call", func(w *lawWorld) { w.open(); w.fault(); w.close() }},
		{"closed-over-an-approval", closed, "a run is not closed over a hanging call", func(w *lawWorld) { w.open(); w.decide(w.escalate("x"), receipt.Approve); w.close() }},
		{"closed-over-an-expiry", closed, "silence is a denial that somebody has to write down", func(w *lawWorld) { w.open(); w.escalate("x"); w.close() }},
		{"closed-over-a-rejection", ok(), "an escalation that a person rejected needs no outcome", func(w *lawWorld) { w.open(); w.decide(w.escalate("x"), receipt.Reject); w.close() }},
		{"a-rivals-answer-settles-nothing", closed, "another principal's outcome does not count for me", func(w *lawWorld) {
			w.open()
			j := w.admit("x")
			w.close()
			rival := receipttest.NewRun(idOf("rival"), "run-1")
			w.log(rival.Add(receipttest.Open(testlog.Origin)))
			w.log(rival.Settle(j, receipttest.Commit(j)))
		}},
	}
}

func undone() []breach {
	undo := func(seen receipt.Observation) func(w *lawWorld) {
		return func(w *lawWorld) {
			w.open()
			w.undo("y", w.wrote("x"), seen)
			w.close()
		}
	}
	no := func(code report.Code) want { return broken(seven, code) }
	return []breach{
		{"undone", ok(), "compared with what had been recorded, found as it was", undo(compared("k", "v", "v"))},
		{"undone-from-another-value", no(report.CodeLaw7Expected), "it expects what the outcome did not record", undo(compared("k", "w", "w"))},
		{"undone-from-another-key", no(report.CodeLaw7Expected), "it expects it under another key", undo(compared("j", "v", "v"))},
		{"undone-over-a-change", no(report.CodeLaw7Overwrote), "it overwrote what had changed since", undo(compared("k", "v", "w"))},
		{"undone-blindly", waiting(seven, report.CodeLaw7Unobservable), "nothing could be compared", undo(receipt.Unobservable{Code: "NO-STATE"})},
		{"undone-of-nothing-in-the-log", waiting(seven, report.CodeLaw7Missing), "what it undoes is not in this log", func(w *lawWorld) {
			w.open()
			w.undo("y", receipttest.NewRun(idOf("engine"), "elsewhere").Add(receipttest.Open(testlog.Origin)), compared("k", "v", "v"))
			w.close()
		}},
		{"undone-of-a-judgment", no(report.CodeLaw7Kind), "only an outcome can be undone", func(w *lawWorld) {
			w.open()
			w.undo("y", w.deny("x"), compared("k", "v", "v"))
			w.close()
		}},
		{"undone-before-it-was-done", no(report.CodeLaw7Later).and(broken(five, report.CodeLaw5Order)), "what it undoes stands behind it", func(w *lawWorld) {
			undo(compared("k", "v", "v"))(w)
			w.move(2, 4)
		}},
		{"undone-of-what-recorded-nothing", no(report.CodeLaw7Expected), "nothing was recorded to compare with", func(w *lawWorld) {
			w.open()
			w.undo("y", w.commit(w.admit("x")), compared("k", "v", "v"))
			w.close()
		}},
	}
}

func vocabulary(b *builder) []breach {
	codes := map[receipt.Place][]receipt.Code{receipt.PlaceReason: {"BECAUSE"}}
	own, err := receipt.NewVocabulary("corpus", 1, codes, []receipt.RecoveryWords{{Code: "NOT-ALLOWED", Class: receipt.RecoveryStop, Hints: []receipt.Code{"DO-NOT-ASK-AGAIN"}}})
	if err != nil {
		b.t.Fatal(err)
	}
	path := b.put("laws/own.vocabulary", own.Document())
	open := func(w *lawWorld) {
		o := receipttest.Open(testlog.Origin)
		o.Vocabulary = own.Digest()
		w.log(w.run.Add(o))
		w.judge("x", receipttest.Deny("BECAUSE"))
		w.close()
	}
	return []breach{
		{"reason-in-no-vocabulary", broken(eight, report.CodeLaw8Word), "a reason that the vocabulary has not", func(w *lawWorld) {
			w.open()
			w.judge("x", receipttest.Deny("BECAUSE"))
			w.close()
		}},
		{"hint-in-no-vocabulary", broken(eight, report.CodeLaw8Word), "a hint that the vocabulary has not", func(w *lawWorld) {
			w.open()
			w.settle(w.admit("x"), receipt.Cancelled{Code: "WITHDRAWN", Recovery: receipt.Recovery{Class: receipt.RecoveryStop, Code: "NO-LONGER-WANTED", Hint: "PRAY"}})
			w.close()
		}},
		{"hint-of-another-recovery", broken(eight, report.CodeLaw8Word), "a word of the vocabulary in the wrong place", func(w *lawWorld) {
			w.open()
			w.settle(w.admit("x"), receipt.Cancelled{Code: "WITHDRAWN", Recovery: receipt.Recovery{Class: receipt.RecoveryStop, Code: "NO-LONGER-WANTED", Hint: "READ-AGAIN"}})
			w.close()
		}},
		{"code-of-another-place", broken(eight, report.CodeLaw8Word), "a reason is no code of a cancellation", func(w *lawWorld) {
			w.open()
			w.settle(w.admit("x"), receipt.Cancelled{Code: "NO-RULE", Recovery: receipttest.Recovery("cancelled")})
			w.close()
		}},
		{"own-vocabulary", ok(), "a run that pins another vocabulary, which the caller has", func(w *lawWorld) {
			w.files[corpus.Vocabulary] = path
			open(w)
		}},
		{"own-vocabulary-not-known", waiting(eight, report.CodeLaw8Vocabulary), "the same run, and nobody has its vocabulary", open},
	}
}

func general() []breach {
	all := func(code report.Code) want {
		w := waiting(one, code)
		for _, l := range laws.All()[1:] {
			w = w.and(waiting(l, code))
		}
		return w
	}
	return []breach{
		{"no-such-run", all(report.CodeLawNothing), "no statement of the run is there", func(w *lawWorld) {
			w.ask.Run = "run-2"
			w.open()
			w.close()
		}},
		{"foreign-run", all(report.CodeLawForeign), "the run-open does not list this log", func(w *lawWorld) {
			w.log(w.run.Add(receipttest.Open("example.org/second")))
			w.deny("x")
			w.close()
		}},
		{"statement-of-a-later-version", all(report.CodeLawVersion).and(unknown("schema", report.CodeVersionUnknown)), "what it says is not known", func(w *lawWorld) {
			w.open()
			w.deny("x")
			w.later()
			w.close()
		}},
		{"signer-that-is-nobodys", all(report.CodeLawSigner).and(unknown("keys", report.CodeKeyUnknown)), "whose runs these are is not known", func(w *lawWorld) {
			w.open()
			w.close()
			w.log(receipttest.NewRun(idOf("stranger"), "run-1").Add(receipttest.Open(testlog.Origin)))
		}},
	}
}
