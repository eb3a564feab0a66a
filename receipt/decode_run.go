package receipt

import (
	"fmt"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
)

func readRunOpen(n node) (o RunOpen, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return o, e
	}
	found := 0
	for key, v := range n.Entries() {
		switch key {
		case "engine":
			found++
			o.Engine, e = readEngine(v)
		case "plan":
			o.Plan, e = readPin(v)
		case "lock":
			o.Lock, e = readPin(v)
		case "permits":
			o.Permits, e = readPin(v)
		case "policy":
			o.Policy, e = readPin(v)
		case "vocabulary":
			found++
			e = readBytes(v, o.Vocabulary[:])
		case "logs":
			found++
			o.Logs, e = readSet(v, readName, Name.order)
		case "parent":
			o.Parent, e = readLink(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return o, under(key, e)
		}
	}
	return o, lacks(n, found, "engine", "vocabulary", "logs")
}

func readEngine(n node) (g Engine, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return g, e
	}
	found := 0
	for key, v := range n.Entries() {
		found++
		switch key {
		case "name":
			g.Name, e = readName(v)
		case "version":
			g.Version, e = readName(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return g, under(key, e)
		}
	}
	return g, lacks(n, found, "name", "version")
}

func readDecision(n node) (d Decision, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return d, e
	}
	found := 0
	for key, v := range n.Entries() {
		found++
		switch key {
		case "judgment":
			d.Judgment, e = readLink(v)
		case "request":
			d.Request, e = readDigest(v)
		case "ticket":
			e = readBytes(v, d.Ticket[:])
		case "answer":
			d.Answer, e = readWord(v, Approve, Reject)
		default:
			e = unknown(key)
		}
		if e != nil {
			return d, under(key, e)
		}
	}
	return d, lacks(n, found, "judgment", "request", "ticket", "answer")
}

func readFault(n node) (f Fault, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return f, e
	}
	var posture string
	var request *Request
	found := 0
	for key, v := range n.Entries() {
		switch key {
		case "stage":
			found++
			f.Stage, e = readWord(v, StageIntake, StagePreview, StageEvaluate, StageEscalate, StageRecord)
		case "code":
			found++
			f.Code, e = readCode(v)
		case "posture":
			found++
			posture, e = readWord(v, wordClosed, wordOpen)
		case "request":
			request = new(Request)
			e = readRequest(v, request)
		default:
			e = unknown(key)
		}
		if e != nil {
			return f, under(key, e)
		}
	}
	if e := lacks(n, found, "stage", "code", "posture"); e != nil {
		return f, e
	}
	switch {
	case posture == wordClosed:
		f.Posture = FailClosed{request}
	case request == nil:
		return f, under("request", refuse(report.CodeSchemaOpen, "the request that was let through", "nothing"))
	default:
		f.Posture = FailOpen{*request}
	}
	return f, nil
}

func readGap(n node) (g Gap, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return g, e
	}
	found := 0
	for key, v := range n.Entries() {
		found++
		switch key {
		case "count":
			g.Count, e = readUint(v, 1)
		case "code":
			g.Code, e = readCode(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return g, under(key, e)
		}
	}
	return g, lacks(n, found, "count", "code")
}

func readRunClose(n node) (c RunClose, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return c, e
	}
	var statements uint64
	found := 0
	for key, v := range n.Entries() {
		switch key {
		case "statements":
			found++
			statements, e = readUint(v, 2)
		case "judgments":
			e = readTally(v, c.Judgments.fields())
		case "outcomes":
			e = readTally(v, c.Outcomes.fields())
		case "faults":
			c.Faults, e = readUint(v, 1)
		case "gaps":
			c.Gaps, e = readUint(v, 1)
		default:
			e = unknown(key)
		}
		if e != nil {
			return c, under(key, e)
		}
	}
	if e := lacks(n, found, "statements"); e != nil {
		return c, e
	}
	if want := c.Statements(); statements != want {
		return c, under("statements", refuse(report.CodeSchemaTally, fmt.Sprintf("%d, the sum of the tallies and 2", want), fmt.Sprint(statements)))
	}
	return c, nil
}

// readTally reads counts by word: those that are not 0, and at least one.
func readTally(n node, fields []tallyField) *report.Error {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return e
	}
	if n.Len() == 0 {
		return refuse(report.CodeSchemaEmpty, "at least one count, or no tally", "none")
	}
	for key, v := range n.Entries() {
		e := unknown(key)
		for _, f := range fields {
			if f.word == key {
				*f.count, e = readUint(v, 1)
				break
			}
		}
		if e != nil {
			return under(key, e)
		}
	}
	return nil
}
