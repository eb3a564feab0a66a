package corpusgen

import (
	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// disownedRuns: runs in which a key is revoked afterwards, from some leaf on.
func (b *builder) disownedRuns() {
	b.about("laws.md")
	held := func(name string, x want, why string, build func(w *lawWorld), revoke string, from uint64) {
		w := b.newLawWorld()
		w.files[corpus.Trust] = registryTrust
		build(w)
		dir := b.path(name, "")
		l := testlog.New(b.t)
		w.fill(l)
		l.Change(trust.Change{Revoke: []trust.Revocation{{Key: trust.PublicKey(public(revoke)), From: from, HasFrom: true}}})
		b.site(dir, l, l.Size())
		w.add(name, dir, x, why)
	}
	lawful := func(w *lawWorld) {
		w.open()
		j := w.escalate("x")
		w.commitUnder(j, w.decide(j, receipt.Approve))
		w.close()
	}
	var all, others want
	for _, l := range laws.All() {
		all = all.and(waiting(l, report.CodeLawDisowned))
		if l != two {
			others = others.and(waiting(l, report.CodeLawDisowned))
		}
	}
	all.answer = corpus.NotChecked
	held("disowned-statement", all, "a law that rests on a disowned leaf is never held", lawful, "engine", 3)
	held("disowned-from-behind", ok(), "what stands before the index is as good as ever", lawful, "engine", 6)
	held("disowned-decision", waiting(two, report.CodeLawDisowned).and(waiting(four, report.CodeLawDisowned), waiting(six, report.CodeLawDisowned)), "the laws that rest on the decision", lawful, "approver", 3)
	held("disowned-and-violated", broken(two, report.CodeLaw2Denied).and(others), "leaves that are not disowned suffice to show it", func(w *lawWorld) {
		w.open()
		w.commit(w.deny("x"))
		w.deny("y")
		w.close()
	}, "engine", 4)
}
