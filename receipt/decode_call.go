package receipt

import (
	"fmt"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
)

// callFields is the set of fields that a call has.
type callFields uint8

const (
	callBy callFields = 1 << iota
	callRun
	callSeq
	callPrev
	callSettles
	callSeen
	callExpires
	callAt
)

func readCall(n node) (c Call, fields callFields, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return c, 0, e
	}
	var ms uint64
	for key, v := range n.Entries() {
		switch key {
		case "by":
			fields |= callBy
			e = readBytes(v, c.By[:])
		case "run":
			fields |= callRun
			c.Run, e = readName(v)
		case "seq":
			fields |= callSeq
			c.Seq, e = readUint(v, 0)
		case "prev":
			fields |= callPrev
			c.Prev, e = readLink(v)
		case "settles":
			fields |= callSettles
			c.Settles, e = readLink(v)
		case "seen":
			fields |= callSeen
			c.Seen, e = readSeen(v)
		case "expires":
			fields |= callExpires
			ms, e = readUint(v, 1)
			c.Expires = int64(ms)
		case "at":
			fields |= callAt
			ms, e = readUint(v, 0)
			c.At = int64(ms)
		default:
			e = unknown(key)
		}
		if e != nil {
			return c, fields, under(key, e)
		}
	}
	return c, fields, nil
}

func readSeen(n node) (s Seen, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return s, e
	}
	found := 0
	for key, v := range n.Entries() {
		found++
		switch key {
		case "origin":
			s.Origin, e = readName(v)
		case "size":
			s.Size, e = readUint(v, 0)
		case "root":
			e = readBytes(v, s.Root[:])
		default:
			e = unknown(key)
		}
		if e != nil {
			return s, under(key, e)
		}
	}
	return s, lacks(n, found, "origin", "size", "root")
}

// checkCall holds the rules of spec/statement.md#call that need no more than
// the kind. A kind of a later version is bound by what is frozen: it stands in
// a run and behind its run-open.
func checkCall(c *Call, fields callFields, kind Kind) *report.Error {
	required := callBy | callRun | callSeq | callAt
	if kind == KindDecision {
		required = callBy | callSettles | callAt
		if e := callHasNo(fields, callRun|callSeq|callPrev|callSeen|callExpires, report.CodeSchemaCall, kind); e != nil {
			return e
		}
	}
	if missing := required &^ fields; missing != 0 {
		code := report.CodeSchemaMissing
		if missing == callSettles {
			code = report.CodeSchemaSettles
		}
		return under(missing.first(), refuse(code, "a value", "nothing"))
	}
	if kind == KindDecision {
		return nil
	}
	if (c.Seq == 0) != (kind == KindRunOpen) {
		return under("seq", refuse(report.CodeSchemaSeq, "0 exactly for run-open", fmt.Sprintf("%d for %s", c.Seq, kind)))
	}
	if hasPrev := fields&callPrev != 0; hasPrev != (c.Seq > 0) {
		return under("prev", refuse(report.CodeSchemaPrev, "one exactly where seq is not 0", fmt.Sprintf("%s at seq %d", oneOrNone(hasPrev), c.Seq)))
	}
	switch kind {
	case KindOutcome:
		if fields&callSettles == 0 {
			return under("settles", refuse(report.CodeSchemaSettles, "the statement that this outcome answers", "nothing"))
		}
	case KindRunOpen, KindJudgment, KindFault, KindGap, KindRunClose:
		if e := callHasNo(fields, callSettles, report.CodeSchemaSettles, kind); e != nil {
			return e
		}
	}
	switch kind {
	case KindRunOpen, KindOutcome, KindFault, KindGap, KindRunClose:
		return callHasNo(fields, callExpires, report.CodeSchemaExpires, kind)
	}
	return nil
}

func callHasNo(fields, none callFields, code report.Code, kind Kind) *report.Error {
	if extra := fields & none; extra != 0 {
		return under(extra.first(), refuse(code, "none in the call of a "+string(kind), "one"))
	}
	return nil
}

func oneOrNone(one bool) string {
	if one {
		return "one"
	}
	return "none"
}

// first names the first field of the set.
func (f callFields) first() string {
	names := [...]string{"by", "run", "seq", "prev", "settles", "seen", "expires", "at"}
	for i, name := range names {
		if f&(1<<i) != 0 {
			return name
		}
	}
	return ""
}
