package laws

import (
	"bytes"

	"github.com/obstat/obstat/report"
)

// dossier is what the log says about one statement, in the order in which its
// records come: the statement, the decisions on it, the outcomes of it, the
// compensations of it. Of each only as much is kept as the next needs.
type dossier struct {
	id      digest
	subject subject
	first   decision // the first decision, by an approver
	decided bool

	answers uint64 // outcomes of the same run
	answer  answer // the first of them
	unknown bool   // an outcome of a later version answers it
}

// subject is the statement that a dossier is about.
type subject struct {
	has      bool
	index    uint64
	flags    byte
	names    names
	act      act
	receipt  digest
	request  digest
	ticket   [16]byte
	expires  int64
	approval digest
	wrote    []byte // of committed: key and value, one after another
}

// decision is what an approver answered.
type decision struct {
	index    uint64
	flags    byte
	id       digest
	judgment digest
	request  digest
	ticket   [16]byte
	approves bool
	at       int64
}

// answer is an outcome that settles the statement.
type answer struct {
	index   uint64
	id      digest
	flags   byte
	names   names
	act     act
	of      digest
	request digest
	fired   bool   // of committed: what was fired is the outcome's request
	rests   digest // the approval of an attempt, the decision of a rejection
	seen    uint64 // size of a checkpoint of this log
}

// readDossiers goes through the first order.
func (c *Check) readDossiers() error {
	var ds dossier
	started := false
	err := c.dossiers.each(func(record []byte) error {
		r := reader{b: record}
		id, tag, index := r.digest(), r.byte(), r.uint64()
		if !started || id != ds.id {
			if started {
				if err := c.closeDossier(&ds); err != nil {
					return err
				}
			}
			kept := ds.subject // its buffers serve the next dossier
			ds = dossier{id: id, subject: subject{names: kept.names[:0], wrote: kept.wrote[:0]}}
			started = true
		}
		var err error
		switch tag {
		case tagSubject:
			err = c.readSubject(&ds, index, &r)
		case tagDecision:
			c.readDecision(&ds, index, &r)
		case tagAnswer:
			err = c.readAnswer(&ds, index, &r)
		case tagCompensation:
			err = c.readCompensation(&ds, index, &r)
		}
		if r.bad {
			return spoilt()
		}
		return err
	})
	if err == nil && started {
		err = c.closeDossier(&ds)
	}
	return err
}

func (c *Check) readSubject(ds *dossier, index uint64, r *reader) error {
	flags, who := c.readFlags(r, index), r.names()
	if ds.subject.has {
		return c.find(finding{law: NothingMissing, code: report.CodeLawRepeated, only: true, flags: flags | ds.subject.flags,
			evidence: evidence(index, ds.subject.index), leaves: 2}, who.run())
	}
	s := subject{has: true, index: index, flags: flags, act: act(r.byte())}
	s.names, s.wrote = append(ds.subject.names, who...), ds.subject.wrote
	if flags&flagVersion == 0 && s.act != actDecision {
		s.receipt = r.digest()
		switch {
		case s.act.isJudgment() || s.act == actFaultOpen:
			s.request = r.digest()
		case s.act.isOutcome():
			s.request = r.digest()
			s.approval = r.optional()
			s.wrote = append(s.wrote, r.b...)
		}
		if s.act == actEscalate {
			s.ticket = [16]byte(r.take(16))
			s.expires = int64(r.uint64())
		}
	}
	ds.subject = s
	return nil
}

func (c *Check) readDecision(ds *dossier, index uint64, r *reader) {
	if ds.decided {
		c.rep.Late++
		return
	}
	ds.decided = true
	d := decision{index: index, flags: c.readFlags(r, index)}
	if d.flags&flagVersion == 0 {
		d.id, d.judgment, d.request = r.digest(), r.digest(), r.digest()
		d.ticket = [16]byte(r.take(16))
		d.approves = r.bool()
		d.at = int64(r.uint64())
	}
	ds.first = d
}

// matches: the decision is about this judgment and no other.
func (d *decision) matches(s *subject) bool {
	return d.judgment == s.receipt && d.request == s.request && d.ticket == s.ticket
}

// violates sends a violation shown by the answer, its statement and at most one
// more leaf to the run of the answer.
func (c *Check) violates(l Law, code report.Code, a *answer, s *subject, more *decision) error {
	f := finding{law: l, code: code, flags: a.flags, evidence: evidence(a.index), leaves: 1}
	if s != nil {
		f.flags |= s.flags
		f.evidence[f.leaves] = s.index
		f.leaves++
	}
	if more != nil {
		f.flags |= more.flags
		f.evidence[f.leaves] = more.index
		f.leaves++
	}
	return c.find(f, a.names.run())
}

// unchecked says that law 2 cannot be asked of an attempt, since law 1 has not
// found what it answers.
func (c *Check) unchecked(code report.Code, a *answer) error {
	if !a.act.attempted() && a.act != actRejected {
		return nil
	}
	return c.find(finding{law: AdmittedFirst, code: code, only: true, flags: a.flags, evidence: evidence(a.index)}, a.names.run())
}

func (c *Check) readAnswer(ds *dossier, index uint64, r *reader) error {
	a := answer{index: index, flags: c.readFlags(r, index), names: r.names()}
	s := &ds.subject
	if a.flags&flagVersion != 0 {
		ds.unknown = ds.unknown || s.has && s.names.equal(a.names)
		return nil
	}
	a.id, a.act = r.digest(), act(r.byte())
	a.of, a.request, a.fired = r.digest(), r.digest(), r.bool()
	a.rests, a.seen = r.optional(), r.uint64()
	if !a.fired && !r.bad { // law 3, which an outcome answers alone
		if err := c.violates(JudgedIsExecuted, report.CodeLaw3Fired, &a, nil, nil); err != nil {
			return err
		}
	}
	if ds.answers > 0 && a.id == ds.answer.id {
		return nil // one statement in two leaves, which its own dossier tells
	}
	code := report.Code("")
	switch {
	case r.bad:
		return nil
	case !s.has:
		if err := c.violates(JudgedFirst, report.CodeLaw1Missing, &a, nil, nil); err != nil {
			return err
		}
		return c.unchecked(report.CodeLaw1Missing, &a)
	case !bytes.Equal(s.names.principal(), a.names.principal()):
		code = report.CodeLaw1Principal
	case !s.names.equal(a.names):
		code = report.CodeLaw1Run
	case s.flags&flagVersion != 0:
		return nil // the run is not checked: a statement of it is not known
	case !s.act.isJudgment() && s.act != actFaultOpen && !s.act.isOutcome():
		code = report.CodeLaw1Kind
	}
	if code != "" {
		if err := c.violates(JudgedFirst, code, &a, s, nil); err != nil {
			return err
		}
		return c.unchecked(code, &a)
	}
	return c.settle(ds, &a)
}

// settle holds an outcome to laws 1 to 4 against the statement of its run that
// it answers.
func (c *Check) settle(ds *dossier, a *answer) error {
	s := &ds.subject
	var found []finding
	add := func(l Law, code report.Code, more *answer) {
		x := finding{law: l, code: code, flags: a.flags | s.flags, evidence: evidence(a.index, s.index), leaves: 2}
		if more != nil {
			x.flags |= more.flags
			x.evidence[2], x.leaves = more.index, 3
		}
		found = append(found, x)
	}
	if a.index < s.index {
		add(JudgedFirst, report.CodeLaw1Later, nil)
	}
	if s.act.isOutcome() && !s.act.leftOpen() {
		add(JudgedFirst, report.CodeLaw1Kind, nil)
		add(SettledOnce, report.CodeLaw4Again, nil)
	}
	if a.of != s.receipt {
		add(JudgedFirst, report.CodeLaw1Receipt, nil)
	}
	if a.request != s.request {
		add(JudgedFirst, report.CodeLaw1Request, nil)
		if a.act == actCommitted && a.fired {
			add(JudgedIsExecuted, report.CodeLaw3Fired, nil)
		}
	}
	if ds.answers > 0 {
		add(SettledOnce, report.CodeLaw4Twice, &ds.answer)
	} else {
		ds.answer = *a
		ds.answer.names = nil // the record is gone after this
	}
	ds.answers++
	c.rep.Outcomes++
	if a.seen > s.index {
		c.rep.Seen++
	}
	for _, x := range found {
		if err := c.find(x, a.names.run()); err != nil {
			return err
		}
	}
	switch {
	case a.act.attempted():
		return c.admitted(ds, a)
	case a.act == actRejected:
		return c.rejection(ds, a)
	}
	return nil
}

// admitted is law 2 for an effect that was attempted.
func (c *Check) admitted(ds *dossier, a *answer) error {
	s := &ds.subject
	if s.act.isOutcome() {
		if a.rests != s.approval {
			return c.violates(AdmittedFirst, report.CodeLaw2Approval, a, s, nil)
		}
		return nil
	}
	if a.rests != (digest{}) {
		c.rec.head(a.rests, 0, a.index)
		c.rec.byte(a.flags)
		c.rec = append(c.rec, a.names...)
		if err := c.uses.add(c.rec); err != nil {
			return err
		}
	}
	switch s.act {
	case actDeny:
		return c.violates(AdmittedFirst, report.CodeLaw2Denied, a, s, nil)
	case actEscalate:
		return c.approved(ds, a)
	}
	if a.rests != (digest{}) { // nobody was asked
		return c.violates(AdmittedFirst, report.CodeLaw2Approval, a, s, nil)
	}
	return nil
}

// approved is law 2 after an escalation.
func (c *Check) approved(ds *dossier, a *answer) error {
	s, d := &ds.subject, &ds.first
	if !ds.decided {
		return c.violates(AdmittedFirst, report.CodeLaw2Undecided, a, s, nil)
	}
	if d.flags&flagVersion != 0 {
		return c.find(finding{law: AdmittedFirst, code: report.CodeLawVersion, only: true, flags: a.flags | d.flags,
			evidence: evidence(a.index, d.index), leaves: 2}, a.names.run())
	}
	var codes []report.Code
	switch {
	case d.index > a.index:
		codes = append(codes, report.CodeLaw2Undecided)
	case d.index < s.index:
		codes = append(codes, report.CodeLaw2Early)
	}
	if !d.approves {
		codes = append(codes, report.CodeLaw2Rejected)
	}
	if !d.matches(s) {
		codes = append(codes, report.CodeLaw2Mismatch)
	}
	if d.at > s.expires {
		codes = append(codes, report.CodeLaw2Late)
	}
	if c.cosignedWithout(s.expires, d.index) {
		codes = append(codes, report.CodeLaw2LateLogged)
	}
	if a.rests != d.id {
		codes = append(codes, report.CodeLaw2Approval)
	}
	for _, code := range codes {
		if err := c.violates(AdmittedFirst, code, a, s, d); err != nil {
			return err
		}
	}
	return nil
}

// rejection is law 2 for an outcome that says that a person said no: the first
// decision must say so, and the outcome name it.
func (c *Check) rejection(ds *dossier, a *answer) error {
	s, d := &ds.subject, &ds.first
	if !ds.decided {
		return c.violates(AdmittedFirst, report.CodeLaw2Rejection, a, s, nil)
	}
	if d.flags&flagVersion != 0 {
		return c.find(finding{law: AdmittedFirst, code: report.CodeLawVersion, only: true, flags: a.flags | d.flags,
			evidence: evidence(a.index, d.index), leaves: 2}, a.names.run())
	}
	if s.act != actEscalate || d.approves || !d.matches(s) || d.index > a.index || d.index < s.index || a.rests != d.id {
		return c.violates(AdmittedFirst, report.CodeLaw2Rejection, a, s, d)
	}
	return nil
}

// closeDossier says what no outcome answers (law 6), and that a law rests on a
// disowned decision.
func (c *Check) closeDossier(ds *dossier) error {
	s := &ds.subject
	if !s.has || s.flags&flagVersion != 0 || !s.act.isJudgment() && s.act != actFaultOpen {
		return nil
	}
	if s.act == actEscalate && ds.decided && ds.first.flags&flagDisowned != 0 {
		for _, l := range []Law{AdmittedFirst, SettledOnce, NothingHanging} {
			if err := c.find(finding{law: l, code: report.CodeLawDisowned, only: true, flags: ds.first.flags,
				evidence: evidence(ds.first.index, s.index), leaves: 2}, s.names.run()); err != nil {
				return err
			}
		}
	}
	if ds.answers > 0 || ds.unknown {
		return nil
	}
	hanging := finding{law: NothingHanging, code: report.CodeLaw6Hanging, hangs: true, flags: s.flags, evidence: evidence(s.index)}
	switch s.act {
	case actAdmit, actFaultOpen:
		return c.find(hanging, s.names.run())
	case actEscalate:
		return c.pending(ds, hanging)
	}
	return nil
}

// pending is an escalation without an outcome.
func (c *Check) pending(ds *dossier, hanging finding) error {
	s, d := &ds.subject, &ds.first
	if ds.decided {
		hanging.flags |= d.flags
		hanging.evidence[1], hanging.leaves = d.index, 2
		switch {
		case d.flags&flagVersion != 0:
			hanging.code, hanging.hangs, hanging.only = report.CodeLawVersion, false, true
			return c.find(hanging, s.names.run())
		case d.matches(s) && !d.approves:
			return nil // a person said no, and a denial needs no outcome
		case d.matches(s) && d.at <= s.expires:
			return c.find(hanging, s.names.run())
		}
	}
	switch {
	case c.o.Now == 0:
		hanging.code, hanging.hangs, hanging.only = report.CodeLaw6Now, false, true
	case c.o.Now > s.expires:
		hanging.code = report.CodeLaw6Expired
	default:
		return nil
	}
	return c.find(hanging, s.names.run())
}
