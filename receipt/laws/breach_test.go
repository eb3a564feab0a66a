package laws_test

import (
	"fmt"
	"testing"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

// breach is one way in which a law is not held.
type breach struct {
	name   string
	law    laws.Law
	answer laws.Answer
	code   report.Code
	build  func(w *world)
	leaf   int // the entry at fault, by its place; counted from the end if negative
	// also are other laws that are not held by the same run.
	also []laws.Law
}

func breaches() []breach {
	all := judgedBreaches()
	all = append(all, admittedBreaches()...)
	all = append(all, settledBreaches()...)
	all = append(all, missingBreaches()...)
	all = append(all, hangingBreaches()...)
	all = append(all, undoneBreaches()...)
	return append(all, generalBreaches()...)
}

func judgedBreaches() []breach {
	const l = laws.JudgedFirst
	two, four, six := laws.AdmittedFirst, laws.SettledOnce, laws.NothingHanging
	return []breach{
		{"answers nothing in the log", l, laws.Violated, report.CodeLaw1Missing, func(w *world) {
			w.open()
			elsewhere := receipttest.NewRun(receipttest.Key("engine"), "elsewhere")
			elsewhere.Add(receipttest.Open(origin))
			w.commit(elsewhere.Add(receipttest.Judgment("x", receipttest.Admit("rule"))))
			w.close()
		}, -2, []laws.Law{two}},
		{"logged before what it answers", l, laws.Violated, report.CodeLaw1Later, func(w *world) {
			w.open()
			w.commit(w.admit("x"))
			w.close()
			w.swap(1, 2)
		}, 1, []laws.Law{laws.NothingMissing}},
		{"answers another principal", l, laws.Violated, report.CodeLaw1Principal, func(w *world) {
			rival := receipttest.NewRun(receipttest.Key("rival"), "run")
			w.log(rival.Add(receipttest.Open(origin)))
			j := w.log(rival.Add(receipttest.Judgment("x", receipttest.Admit("rule"))))
			w.log(rival.Settle(j, receipttest.Commit(j)))
			w.log(rival.Close())
			w.open()
			w.commit(j)
			w.close()
		}, -2, []laws.Law{two}},
		{"answers another run", l, laws.Violated, report.CodeLaw1Run, func(w *world) {
			other := receipttest.NewRun(receipttest.Key("engine"), "other")
			w.log(other.Add(receipttest.Open(origin)))
			j := w.log(other.Add(receipttest.Judgment("x", receipttest.Admit("rule"))))
			w.log(other.Settle(j, receipttest.Commit(j)))
			w.log(other.Close())
			w.open()
			w.commit(j)
			w.close()
		}, -2, []laws.Law{two}},
		{"answers a closed fault", l, laws.Violated, report.CodeLaw1Kind, func(w *world) {
			w.open()
			q := receipttest.Request("exec", "x")
			w.commit(w.log(w.run.Add(receipt.Fault{Stage: receipt.StageIntake, Code: "INTERNAL", Posture: receipt.FailClosed{Request: &q}})))
			w.close()
		}, -2, []laws.Law{two}},
		{"answers the run-open", l, laws.Violated, report.CodeLaw1Kind, func(w *world) {
			open := w.open()
			w.settleWith(w.admit("x"), func(c *receipt.Call, o *receipt.Outcome) { c.Settles, o.Of = open.CID, open.ReceiptCID })
			w.close()
		}, -2, []laws.Law{two, six}},
		{"names another receipt", l, laws.Violated, report.CodeLaw1Receipt, func(w *world) {
			open := w.open()
			w.settleWith(w.admit("x"), func(_ *receipt.Call, o *receipt.Outcome) { o.Of = open.ReceiptCID })
			w.close()
		}, -2, nil},
		{"names another request", l, laws.Violated, report.CodeLaw1Request, func(w *world) {
			w.open()
			w.settleWith(w.admit("x"), func(_ *receipt.Call, o *receipt.Outcome) {
				o.Request = receipttest.Digest("y")
				o.Disposition = receipt.Cancelled{Code: "WITHDRAWN", Recovery: receipttest.Recovery("cancelled")}
			})
			w.close()
		}, -2, nil},
		{"fires what another request says", laws.JudgedIsExecuted, laws.Violated, report.CodeLaw3Fired, func(w *world) {
			w.open()
			w.settleWith(w.admit("x"), func(_ *receipt.Call, o *receipt.Outcome) {
				o.Request = receipttest.Digest("y")
				o.Disposition = receipt.Committed{Fired: o.Request}
			})
			w.close()
		}, -2, []laws.Law{l}},
		{"fires another digest", laws.JudgedIsExecuted, laws.Violated, report.CodeLaw3Fired, func(w *world) {
			w.open()
			w.settle(w.admit("x"), receipt.Committed{Fired: receipttest.Digest("y")})
			w.close()
		}, -2, nil},
		{"settles a settled outcome", l, laws.Violated, report.CodeLaw1Kind, func(w *world) {
			w.open()
			w.commit(w.commit(w.admit("x")))
			w.close()
		}, -2, []laws.Law{four}},
	}
}

func admittedBreaches() []breach {
	const l = laws.AdmittedFirst
	asked := func(spoil func(w *world, j *receipt.Decoded)) func(w *world) {
		return func(w *world) {
			w.open()
			spoil(w, w.ask("x"))
			w.close()
		}
	}
	decision := func(j *receipt.Decoded, spoil func(*receipt.Call, *receipt.Decision)) *receipt.Decoded {
		d := receipttest.Decide(receipttest.Key("approver"), j, receipt.Approve)
		c, r := d.Statement.Call, d.Statement.Receipt.(receipt.Decision)
		spoil(&c, &r)
		return receipttest.Build(c, r)
	}
	mismatch := func(spoil func(*receipt.Call, *receipt.Decision)) func(w *world) {
		return asked(func(w *world, j *receipt.Decoded) { w.commitUnder(j, w.log(decision(j, spoil))) })
	}
	return []breach{
		{"committed after a denial", l, laws.Violated, report.CodeLaw2Denied, func(w *world) {
			w.open()
			w.commit(w.judge("x", receipttest.Deny("NO-RULE")))
			w.close()
		}, -2, nil},
		{"attempted after a denial", l, laws.Violated, report.CodeLaw2Denied, func(w *world) {
			w.open()
			w.settle(w.judge("x", receipttest.Deny("NO-RULE")), receipt.Failed{Code: "IO-ERROR", Restored: receipt.RestoredNo})
			w.close()
		}, -2, nil},
		{"maybe happened after a denial", l, laws.Violated, report.CodeLaw2Denied, func(w *world) {
			w.open()
			w.settle(w.judge("x", receipttest.Deny("NO-RULE")), receipt.Unobserved{Code: "NO-ANSWER"})
			w.close()
		}, -2, nil},
		{"committed without a decision", l, laws.Violated, report.CodeLaw2Undecided, asked(func(w *world, j *receipt.Decoded) {
			w.commit(j)
		}), -2, nil},
		{"committed before the decision", l, laws.Violated, report.CodeLaw2Undecided, func(w *world) {
			w.open()
			j := w.ask("x")
			w.commitUnder(j, w.decide(j, receipt.Approve))
			w.close()
			w.swap(2, 3)
		}, 2, nil},
		{"decided before the judgment was logged", l, laws.Violated, report.CodeLaw2Early, func(w *world) {
			w.open()
			j := w.ask("x")
			w.commitUnder(j, w.decide(j, receipt.Approve))
			w.close()
			w.swap(1, 2)
		}, -2, nil},
		{"the first decision rejects", l, laws.Violated, report.CodeLaw2Rejected, asked(func(w *world, j *receipt.Decoded) {
			w.decide(j, receipt.Reject)
			w.commitUnder(j, w.decide(j, receipt.Approve))
		}), -2, nil},
		{"the decision names another judgment", l, laws.Violated, report.CodeLaw2Mismatch, mismatch(func(c *receipt.Call, d *receipt.Decision) { d.Judgment = c.Settles }), -2, nil},
		{"the decision names another request", l, laws.Violated, report.CodeLaw2Mismatch, mismatch(func(_ *receipt.Call, d *receipt.Decision) { d.Request = receipttest.Digest("y") }), -2, nil},
		{"the decision names another ticket", l, laws.Violated, report.CodeLaw2Mismatch, mismatch(func(_ *receipt.Call, d *receipt.Decision) { d.Ticket[0] ^= 1 }), -2, nil},
		{"the decision is late by its own clock", l, laws.Violated, report.CodeLaw2Late, mismatch(func(c *receipt.Call, _ *receipt.Decision) { c.At += 1_000_000 }), -2, nil},
		{"the decision was logged after a later cosignature", l, laws.Violated, report.CodeLaw2LateLogged, asked(func(w *world, j *receipt.Decoded) {
			w.o.Cosigned = []laws.Cosigned{
				{Size: 2, Time: j.Statement.Call.Expires - 1}, {Size: w.last().Index + 1, Time: j.Statement.Call.Expires + 1}, {Size: 99, Time: j.Statement.Call.Expires + 2},
			}
			w.commitUnder(j, w.decide(j, receipt.Approve))
		}), -2, nil},
		{"the approval is not named", l, laws.Violated, report.CodeLaw2Approval, asked(func(w *world, j *receipt.Decoded) {
			w.decide(j, receipt.Approve)
			w.commit(j)
		}), -2, nil},
		{"another approval is named", l, laws.Violated, report.CodeLaw2Approval, asked(func(w *world, j *receipt.Decoded) {
			w.decide(j, receipt.Approve)
			w.commitUnder(j, j)
		}), -2, nil},
		{"an approval is named where nobody was asked", l, laws.Violated, report.CodeLaw2Approval, func(w *world) {
			w.open()
			j := w.admit("x")
			w.commitUnder(j, j)
			w.close()
		}, -2, nil},
		{"a later outcome names another approval", l, laws.Violated, report.CodeLaw2Approval, asked(func(w *world, j *receipt.Decoded) {
			d := w.decide(j, receipt.Approve)
			w.commit(w.settle(j, receipt.Unobserved{Code: "NO-ANSWER", Approval: d.CID}))
		}), -2, nil},
		{"rejected without a decision", l, laws.Violated, report.CodeLaw2Rejection, asked(func(w *world, j *receipt.Decoded) {
			w.settle(j, receipt.Rejected{Decision: j.CID, Recovery: receipttest.Recovery("rejected")})
		}), -2, nil},
		{"rejected although approved", l, laws.Violated, report.CodeLaw2Rejection, asked(func(w *world, j *receipt.Decoded) {
			w.settle(j, receipt.Rejected{Decision: w.decide(j, receipt.Approve).CID, Recovery: receipttest.Recovery("rejected")})
		}), -2, nil},
		{"rests on a disowned decision", l, laws.NotChecked, report.CodeLawDisowned, asked(func(w *world, j *receipt.Decoded) {
			d := w.decide(j, receipt.Approve)
			w.last().Key = disowned
			w.commitUnder(j, d)
		}), 2, []laws.Law{laws.SettledOnce, laws.NothingHanging}},
		{"rests on a decision of a later version", l, laws.NotChecked, report.CodeLawVersion, asked(func(w *world, j *receipt.Decoded) {
			d := w.decide(j, receipt.Approve)
			w.later()
			w.commitUnder(j, d)
		}), -2, nil},
		{"rejected by a decision of a later version", l, laws.NotChecked, report.CodeLawVersion, asked(func(w *world, j *receipt.Decoded) {
			d := w.decide(j, receipt.Reject)
			w.later()
			w.settle(j, receipt.Rejected{Decision: d.CID, Recovery: receipttest.Recovery("rejected")})
		}), -2, nil},
	}
}

func settledBreaches() []breach {
	const l = laws.SettledOnce
	return []breach{
		{"two outcomes of one call", l, laws.Violated, report.CodeLaw4Twice, func(w *world) {
			w.open()
			j := w.admit("x")
			w.commit(j)
			w.settle(j, receipt.Cancelled{Code: "WITHDRAWN", Recovery: receipttest.Recovery("cancelled")})
			w.close()
		}, -2, nil},
		{"two later outcomes", l, laws.Violated, report.CodeLaw4Twice, func(w *world) {
			w.open()
			o := w.settle(w.admit("x"), receipt.Unobserved{Code: "NO-ANSWER"})
			w.commit(o)
			w.settle(o, receipt.Failed{Code: "IO-ERROR", Restored: receipt.RestoredYes})
			w.close()
		}, -2, nil},
		{"an outcome of a failure that was restored", l, laws.Violated, report.CodeLaw4Again, func(w *world) {
			w.open()
			w.commit(w.settle(w.admit("x"), receipt.Failed{Code: "IO-ERROR", Restored: receipt.RestoredYes}))
			w.close()
		}, -2, []laws.Law{laws.JudgedFirst}},
		{"an approval used twice", l, laws.Violated, report.CodeLaw4Approval, func(w *world) {
			w.open()
			j, k := w.ask("x"), w.ask("y")
			d := w.decide(j, receipt.Approve)
			w.decide(k, receipt.Approve)
			w.commitUnder(j, d)
			w.commitUnder(k, d)
			w.close()
		}, -2, []laws.Law{laws.AdmittedFirst}},
	}
}

func missingBreaches() []breach {
	const l = laws.NothingMissing
	fork := func(w *world) {
		w.open()
		w.admitAndCommit("x")
		c := w.run.Call()
		w.admitAndCommit("y")
		w.log(receipttest.Build(c, receipttest.Judgment("z", receipttest.Deny("NO-RULE"))))
		w.close()
	}
	return []breach{
		{"two statements in one place", l, laws.Violated, report.CodeLaw5Fork, fork, 5, nil},
		{"a hole", l, laws.Violated, report.CodeLaw5Hole, func(w *world) {
			w.open()
			w.judge("x", receipttest.Deny("NO-RULE"))
			w.admitAndCommit("y")
			w.close()
			w.drop(1)
		}, 1, nil},
		{"no run-open", l, laws.Violated, report.CodeLaw5Hole, func(w *world) {
			w.open()
			w.admitAndCommit("y")
			w.close()
			w.drop(0)
		}, 0, []laws.Law{laws.ClosedVocabulary}},
		{"a disclosed gap", l, laws.NotChecked, report.CodeLaw5Gap, func(w *world) {
			w.open()
			w.admitAndCommit("x")
			w.log(w.run.Lose(2))
			w.close()
		}, -2, nil},
		{"a gap that is too small", l, laws.Violated, report.CodeLaw5Hole, func(w *world) {
			w.open()
			w.judge("x", receipttest.Deny("NO-RULE"))
			w.log(w.run.Lose(2))
			w.close()
			w.drop(1)
		}, 1, nil},
		{"a gapped statement that turns up", l, laws.Violated, report.CodeLaw5Contradicted, func(w *world) {
			w.open()
			w.judge("x", receipttest.Deny("NO-RULE"))
			c := w.run.Call()
			w.log(w.run.AddCall(c, receipt.Gap{Count: 1, Code: "SPOOL-LOST"}))
			w.close()
		}, -2, nil},
		{"a prev that names another", l, laws.Violated, report.CodeLaw5Prev, func(w *world) {
			open := w.open()
			w.judge("x", receipttest.Deny("NO-RULE"))
			c := w.run.Call()
			c.Prev = open.CID
			w.log(w.run.AddCall(c, receipttest.Judgment("y", receipttest.Deny("NO-RULE"))))
			w.close()
		}, -2, nil},
		{"another order", l, laws.Violated, report.CodeLaw5Order, func(w *world) {
			w.open()
			w.judge("x", receipttest.Deny("NO-RULE"))
			w.judge("y", receipttest.Deny("NO-RULE"))
			w.close()
			w.swap(1, 2)
		}, 1, nil},
		{"a wrong tally", l, laws.Violated, report.CodeLaw5Tally, func(w *world) {
			w.open()
			w.judge("x", receipttest.Deny("NO-RULE"))
			w.log(w.run.Add(receipt.RunClose{Judgments: receipt.JudgmentTally{Deny: 2}}))
		}, -1, nil},
		{"a tally of the wrong disposition", l, laws.Violated, report.CodeLaw5Tally, func(w *world) {
			w.open()
			w.settle(w.admit("x"), receipt.Unobserved{Code: "NO-ANSWER"})
			w.log(w.run.Add(receipt.RunClose{Judgments: receipt.JudgmentTally{Admit: 1}, Outcomes: receipt.OutcomeTally{Failed: 1}}))
		}, -1, nil},
		{"behind the run-close", l, laws.Violated, report.CodeLaw5AfterClose, func(w *world) {
			w.open()
			w.close()
			w.judge("x", receipttest.Deny("NO-RULE"))
		}, -1, nil},
		{"an open run", l, laws.NotChecked, report.CodeLaw5Open, func(w *world) {
			w.open()
			w.admitAndCommit("x")
		}, -1, []laws.Law{laws.NothingHanging}},
		{"one statement in two leaves", l, laws.NotChecked, report.CodeLawRepeated, func(w *world) {
			w.open()
			j := w.admit("x")
			w.commit(j)
			w.close()
			w.log(w.entries[2].Decoded)
		}, -1, nil},
		{"one decision in two leaves", l, laws.NotChecked, report.CodeLawRepeated, func(w *world) {
			w.open()
			j := w.ask("x")
			d := w.decide(j, receipt.Approve)
			w.commitUnder(j, d)
			w.close()
			w.log(d)
		}, -1, nil},
	}
}

func (w *world) admitAndCommit(label string) { w.commit(w.admit(label)) }

func hangingBreaches() []breach {
	const l = laws.NothingHanging
	five := []laws.Law{laws.NothingMissing}
	return []breach{
		{"an open run", l, laws.NotChecked, report.CodeLaw6Open, func(w *world) { w.open() }, -1, five},
		{"an admitted call", l, laws.NotChecked, report.CodeLaw6Hanging, func(w *world) {
			w.open()
			w.admit("x")
		}, 1, five},
		{"an open fault", l, laws.NotChecked, report.CodeLaw6Hanging, func(w *world) {
			w.open()
			w.fault()
		}, 1, five},
		{"an approved call", l, laws.NotChecked, report.CodeLaw6Hanging, func(w *world) {
			w.open()
			w.decide(w.ask("x"), receipt.Approve)
		}, 1, five},
		{"an escalation past its expiry", l, laws.NotChecked, report.CodeLaw6Expired, func(w *world) {
			w.open()
			w.ask("x")
		}, 1, five},
		{"an escalation past its expiry by a cosignature", l, laws.NotChecked, report.CodeLaw6Expired, func(w *world) {
			w.open()
			j := w.ask("x")
			w.o.Now = 0
			w.o.Cosigned = []laws.Cosigned{{Size: 1, Time: 1}, {Size: 9, Time: j.Statement.Call.Expires + 1}}
		}, 1, five},
		{"an escalation and no time", l, laws.NotChecked, report.CodeLaw6Now, func(w *world) {
			w.open()
			w.ask("x")
			w.o.Now = 0
			w.close()
		}, 1, nil},
		{"closed over an admitted call", l, laws.Violated, report.CodeLaw6Closed, func(w *world) {
			w.open()
			w.admit("x")
			w.close()
		}, 1, nil},
		{"closed over an open fault", l, laws.Violated, report.CodeLaw6Closed, func(w *world) {
			w.open()
			w.fault()
			w.close()
		}, 1, nil},
		{"closed over an approved call", l, laws.Violated, report.CodeLaw6Closed, func(w *world) {
			w.open()
			w.decide(w.ask("x"), receipt.Approve)
			w.close()
		}, 1, nil},
		{"closed over an expired escalation", l, laws.Violated, report.CodeLaw6Closed, func(w *world) {
			w.open()
			w.ask("x")
			w.close()
		}, 1, nil},
		{"an answer by a rival does not settle", l, laws.Violated, report.CodeLaw6Closed, func(w *world) {
			w.open()
			j := w.admit("x")
			w.close()
			rival := receipttest.NewRun(receipttest.Key("rival"), "run")
			w.log(rival.Add(receipttest.Open(origin)))
			w.log(rival.Settle(j, receipttest.Commit(j)))
			w.log(rival.Close())
		}, 1, []laws.Law{laws.JudgedFirst, laws.AdmittedFirst}},
		{"a decision of a later version", l, laws.NotChecked, report.CodeLawVersion, func(w *world) {
			w.open()
			w.decide(w.ask("x"), receipt.Approve)
			w.later()
			w.close()
		}, 1, nil},
	}
}

func undoneBreaches() []breach {
	const l = laws.UndoneSoundly
	compared := func(key, expected, seen string) receipt.Attested {
		return receipt.Attested{Compared: []receipt.Comparison{{
			Key: receipttest.Hidden(key), Expected: receipttest.Commitment(expected), Seen: receipttest.Commitment(seen),
		}}}
	}
	undo := func(seen receipt.Observation) func(w *world) {
		return func(w *world) {
			w.open()
			first := w.settle(w.admit("x"), receipt.Committed{
				Fired: receipttest.Digest("x"), Wrote: []receipt.Wrote{{Key: receipttest.Hidden("k"), Value: receipttest.Commitment("v")}},
			})
			w.undo("y", first, seen)
			w.close()
		}
	}
	return []breach{
		{"expects what was not recorded", l, laws.Violated, report.CodeLaw7Expected, undo(compared("k", "w", "w")), -2, nil},
		{"expects it under another key", l, laws.Violated, report.CodeLaw7Expected, undo(compared("j", "v", "v")), -2, nil},
		{"overwrites what had changed", l, laws.Violated, report.CodeLaw7Overwrote, undo(compared("k", "v", "w")), -2, nil},
		{"could compare nothing", l, laws.NotChecked, report.CodeLaw7Unobservable, undo(receipt.Unobservable{Code: "NO-STATE"}), -2, nil},
		{"undoes what is not in the log", l, laws.NotChecked, report.CodeLaw7Missing, func(w *world) {
			w.open()
			elsewhere := receipttest.NewRun(receipttest.Key("engine"), "elsewhere")
			w.undo("y", elsewhere.Add(receipttest.Open(origin)), compared("k", "v", "v"))
			w.close()
		}, -2, nil},
		{"undoes a judgment", l, laws.Violated, report.CodeLaw7Kind, func(w *world) {
			w.open()
			w.undo("y", w.judge("x", receipttest.Deny("NO-RULE")), compared("k", "v", "v"))
			w.close()
		}, -2, nil},
		{"undoes what is done later", l, laws.Violated, report.CodeLaw7Later, func(w *world) {
			undo(compared("k", "v", "v"))(w)
			w.move(2, 5)
		}, 3, []laws.Law{laws.NothingMissing}},
		{"undoes what recorded nothing", l, laws.Violated, report.CodeLaw7Expected, func(w *world) {
			w.open()
			w.undo("y", w.commit(w.admit("x")), compared("k", "v", "v"))
			w.close()
		}, -2, nil},
		{"undoes an outcome of a later version", l, laws.NotChecked, report.CodeLawVersion, func(w *world) {
			w.open()
			o := w.commit(w.admit("x"))
			w.later()
			w.undo("y", o, compared("k", "v", "v"))
			w.close()
		}, 2, laws.All()},
	}
}

func generalBreaches() []breach {
	const l = laws.ClosedVocabulary
	all := []breach{
		{"a reason that is in no vocabulary", l, laws.Violated, report.CodeLaw8Word, func(w *world) {
			w.open()
			w.judge("x", receipttest.Deny("BECAUSE"))
			w.close()
		}, -2, nil},
		{"a hint that is in no vocabulary", l, laws.Violated, report.CodeLaw8Word, func(w *world) {
			w.open()
			w.settle(w.admit("x"), receipt.Cancelled{Code: "WITHDRAWN", Recovery: receipt.Recovery{Class: receipt.RecoveryStop, Code: "NO-LONGER-WANTED", Hint: "PRAY"}})
			w.close()
		}, -2, nil},
		{"a vocabulary that is not known", l, laws.NotChecked, report.CodeLaw8Vocabulary, func(w *world) {
			w.o.Vocabularies = nil
			w.open()
			w.close()
		}, -1, nil},
	}
	for _, l := range laws.All() {
		all = append(all,
			breach{"a run that does not list the log", l, laws.NotChecked, report.CodeLawForeign, func(w *world) {
				w.log(w.run.Add(receipttest.Open("other")))
				w.commit(w.judge("x", receipttest.Deny("NO-RULE"))) // which nobody hears of
				w.close()
			}, -1, laws.All()},
			breach{"a disowned leaf", l, laws.NotChecked, report.CodeLawDisowned, func(w *world) {
				w.lawful()
				w.entries[2].Key = disowned
			}, 2, laws.All()},
			breach{"a statement of a later version", l, laws.NotChecked, report.CodeLawVersion, func(w *world) {
				w.open()
				w.judge("x", receipttest.Deny("NO-RULE"))
				w.later()
				w.close()
			}, 1, laws.All()},
			breach{"a statement in a wrong role", l, laws.NotChecked, report.CodeLawRole, func(w *world) {
				w.open()
				w.judge("x", receipttest.Deny("NO-RULE"))
				w.last().Role = receipt.RoleApprover
				w.close()
			}, 1, laws.All()},
			breach{"a signer that is nobody's", l, laws.NotChecked, report.CodeLawSigner, func(w *world) {
				w.open()
				w.close()
				w.log(receipttest.NewRun(receipttest.Key("stranger"), "run").Add(receipttest.Open(origin)))
				w.last().Principal = ""
			}, -1, laws.All()},
		)
	}
	return all
}

// TestBreaches holds every way of not being held to its law, answer, code and
// evidence, and every other law to being held.
func TestBreaches(t *testing.T) {
	for _, b := range breaches() {
		name := fmt.Sprintf("law %d: %s", b.law, b.name)
		w := newWorld()
		b.build(w)
		r := w.check(t)
		f, ok := found(r, b.law, b.code)
		if !ok {
			t.Errorf("%s: not found in%s", name, list(r))
			continue
		}
		leaf := b.leaf
		if leaf < 0 {
			leaf += len(w.entries)
		}
		if f.Answer != b.answer || f.Evidence[0] != w.entries[leaf].Index {
			t.Errorf("%s: %v at leaf %d, want %v at leaf %d", name, f.Answer, f.Evidence[0], b.answer, w.entries[leaf].Index)
		}
		for _, res := range r.Results {
			want := laws.Held
			for _, l := range b.also {
				if l == res.Law {
					want = laws.NotChecked // or worse
				}
			}
			switch {
			case res.Law == b.law && res.Answer != b.answer:
				t.Errorf("%s: law %d is %v, want %v:%s", name, res.Law, res.Answer, b.answer, list(r))
			case res.Law != b.law && want == laws.Held && res.Answer != laws.Held:
				t.Errorf("%s: law %d is %v too:%s", name, res.Law, res.Answer, list(r))
			case res.Law != b.law && want != laws.Held && res.Answer == laws.Held:
				t.Errorf("%s: law %d is held", name, res.Law)
			}
		}
	}
}

// TestEveryLawCodeHasABreach: no code of the laws is without a case.
func TestEveryLawCodeHasABreach(t *testing.T) {
	have := map[report.Code]bool{report.CodeLawNothing: true, report.CodeLawStateLimit: true} // tested by themselves
	answers := make(map[laws.Law]map[laws.Answer]bool)
	for _, b := range breaches() {
		have[b.code] = true
		if answers[b.law] == nil {
			answers[b.law] = make(map[laws.Answer]bool)
		}
		answers[b.law][b.answer] = true
	}
	for code := range report.Meaning {
		if len(code) > 3 && code[:3] == "LAW" && !have[code] {
			t.Errorf("no case for %s", code)
		}
	}
	for _, l := range laws.All() {
		if !answers[l][laws.Violated] || !answers[l][laws.NotChecked] {
			t.Errorf("law %d has no case for every answer: %v", l, answers[l])
		}
	}
}
