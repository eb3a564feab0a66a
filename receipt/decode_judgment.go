package receipt

import (
	"strings"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

func readJudgment(n node) (j Judgment, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return j, e
	}
	found := 0
	for key, v := range n.Entries() {
		switch key {
		case "request":
			found++
			e = readRequest(v, &j.Request)
		case "class":
			found++
			j.Class, e = readWord(v, Green, Yellow, Red)
		case "verdict":
			found++
			j.Ruling.verdict, e = readVerdict(v)
		case "origin":
			found++
			j.Origin, e = readOrigin(v)
		case "reads":
			j.Reads, e = readAscending(v, readRead, Read.order)
		case "inverse":
			found++
			j.Inverse, e = readInverse(v)
		case "recovery":
			j.Ruling.recovery, e = readRecovery(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return j, under(key, e)
		}
	}
	if e := lacks(n, found, "request", "class", "verdict", "origin", "inverse"); e != nil {
		return j, e
	}
	if e := checkRuling(j.Ruling.verdict.Arm(), !j.Ruling.recovery.IsZero()); e != nil {
		return j, under("recovery", e)
	}
	return j, nil
}

func readVerdict(n node) (v verdict.Verdict, e *report.Error) {
	arm, body, e := onlyEntry(n)
	if e != nil {
		return v, e
	}
	build, field := verdict.Admit, "by"
	read := readRule
	switch arm {
	case "admit":
	case "deny":
		build, field, read = verdict.Deny, "reasons", readReason
	case "escalate":
		build, field, read = verdict.Escalate, "reasons", readReason
	default:
		return v, noArm(arm, "admit", "deny", "escalate")
	}
	set, e := readOnlyField(body, field, read)
	if e != nil {
		return v, under(arm, e)
	}
	v, err := build(set...)
	if err != nil { // every member was checked, so this cannot be
		return v, under(arm, refuse(report.CodeInternal, "a verdict", err.Error()))
	}
	return v, nil
}

// readOnlyField reads a map whose one field is a set of texts.
func readOnlyField(n node, field string, read func(node) (string, *report.Error)) (set []string, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return nil, e
	}
	found := 0
	for key, v := range n.Entries() {
		if key != field {
			return nil, under(key, unknown(key))
		}
		found++
		if set, e = readSet(v, read, strings.Compare); e != nil {
			return nil, under(key, e)
		}
	}
	return set, lacks(n, found, field)
}

func readRule(n node) (string, *report.Error) {
	s, e := readName(n)
	return string(s), e
}

func readReason(n node) (string, *report.Error) {
	s, e := readCode(n)
	return string(s), e
}

const wordMixed = "mixed"

func readOrigin(n node) (o verdict.Origin, e *report.Error) {
	arm, body, e := onlyEntry(n)
	if e != nil {
		return o, e
	}
	if arm != wordMixed {
		stage, err := verdict.ParseStage(arm)
		if err != nil {
			return o, noArm(arm, verdict.Replay.String(), verdict.LLM.String(), verdict.Unknown.String(), wordMixed)
		}
		if e := readEmpty(body); e != nil {
			return o, under(arm, e)
		}
		return verdict.Whole(stage), nil
	}
	if e := isKind(body, dagcbor.KindMap); e != nil {
		return o, under(arm, e)
	}
	var intent, rendering verdict.Stage
	found := 0
	for key, v := range body.Entries() {
		found++
		switch key {
		case "intent":
			intent, e = readStage(v)
		case "rendering":
			rendering, e = readStage(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return o, under(arm, under(key, e))
		}
	}
	if e := lacks(body, found, "intent", "rendering"); e != nil {
		return o, under(arm, e)
	}
	return verdict.Mixed(intent, rendering), nil
}

func readStage(n node) (verdict.Stage, *report.Error) {
	s, e := readText(n)
	if e != nil {
		return verdict.Unknown, e
	}
	stage, err := verdict.ParseStage(s)
	if err != nil {
		words := []string{verdict.Replay.String(), verdict.LLM.String(), verdict.Unknown.String()}
		return stage, refuse(report.CodeSchemaWord, oneOf(words), quote(s))
	}
	return stage, nil
}

func readRead(n node) (r Read, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return r, e
	}
	found := 0
	for key, v := range n.Entries() {
		found++
		switch key {
		case "key":
			r.Key, e = readValue(v)
		case "seen":
			r.Seen, e = readCommitment(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return r, under(key, e)
		}
	}
	return r, lacks(n, found, "key", "seen")
}

func readInverse(n node) (Inverse, *report.Error) {
	arm, body, e := onlyEntry(n)
	if e != nil {
		return nil, e
	}
	var inv Inverse
	switch arm {
	case wordEscrowed:
		var d Commitment
		d, e = readDelta(body)
		inv = Escrowed{d}
	case wordNone:
		var c Code
		c, e = readCodeOnly(body)
		inv = NoInverse{c}
	case wordUnneeded:
		e = readEmpty(body)
		inv = Unneeded{}
	default:
		return nil, noArm(arm, wordEscrowed, wordNone, wordUnneeded)
	}
	if e != nil {
		return nil, under(arm, e)
	}
	return inv, nil
}

func readDelta(n node) (d Commitment, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return d, e
	}
	found := 0
	for key, v := range n.Entries() {
		if key != "delta" {
			return d, under(key, unknown(key))
		}
		found++
		if d, e = readCommitment(v); e != nil {
			return d, under(key, e)
		}
	}
	return d, lacks(n, found, "delta")
}

// readCodeOnly reads a map whose one field is a code.
func readCodeOnly(n node) (c Code, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return c, e
	}
	found := 0
	for key, v := range n.Entries() {
		if key != "code" {
			return c, under(key, unknown(key))
		}
		found++
		if c, e = readCode(v); e != nil {
			return c, under(key, e)
		}
	}
	return c, lacks(n, found, "code")
}

func readRecovery(n node) (r Recovery, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return r, e
	}
	found := 0
	for key, v := range n.Entries() {
		found++
		switch key {
		case "class":
			r.Class, e = readRecoveryClass(v)
		case "code":
			r.Code, e = readCode(v)
		case "hint":
			r.Hint, e = readCode(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return r, under(key, e)
		}
	}
	return r, lacks(n, found, "class", "code", "hint")
}

func readRecoveryClass(n node) (RecoveryClass, *report.Error) {
	return readWord(n, RecoveryRetry, RecoveryRefresh, RecoveryRevise, RecoveryAwait, RecoveryStop)
}

// readRequest fills q, which is large, in place.
func readRequest(n node, q *Request) (e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return e
	}
	found := 0
	for key, v := range n.Entries() {
		switch key {
		case "verb":
			found++
			q.Verb, e = readName(v)
		case "digest":
			found++
			q.Digest, e = readDigest(v)
		case "task":
			q.Task, e = readName(v)
		case "attempt":
			q.Attempt, e = readUint(v, 1)
		case "inputs":
			q.Inputs, e = readSet(v, readInput, Input.order)
		case "changes":
			q.Changes, e = readSet(v, readChange, Change.order)
		case "slots":
			q.Slots, e = readSet(v, readSlot, Slot.order)
		case "effects":
			q.Effects, e = readSet(v, readEffect, Effect.order)
		case "context":
			e = readContext(v, &q.Context)
		default:
			e = unknown(key)
		}
		if e != nil {
			return under(key, e)
		}
	}
	return lacks(n, found, "verb", "digest")
}

func readInput(n node) (in Input, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return in, e
	}
	found := 0
	for key, v := range n.Entries() {
		found++
		switch key {
		case "name":
			in.Name, e = readName(v)
		case "value":
			in.Value, e = readValue(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return in, under(key, e)
		}
	}
	return in, lacks(n, found, "name", "value")
}

func readChange(n node) (c Change, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return c, e
	}
	var before, after Commitment
	var hasPath, hasBefore, hasAfter bool
	for key, v := range n.Entries() {
		switch key {
		case "path":
			hasPath = true
			c.Path, e = readPath(v)
		case "before":
			hasBefore = true
			before, e = readCommitment(v)
		case "after":
			hasAfter = true
			after, e = readCommitment(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return c, under(key, e)
		}
	}
	switch {
	case !hasPath:
		return c, lacks(n, 0, "path")
	case hasBefore && hasAfter:
		c.Edit = Replace{before, after}
	case hasAfter:
		c.Edit = Create{after}
	case hasBefore:
		c.Edit = Delete{before}
	default:
		return c, refuse(report.CodeSchemaEdit, "before, after or both", "neither")
	}
	return c, nil
}

func readSlot(n node) (s Slot, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return s, e
	}
	found := 0
	for key, v := range n.Entries() {
		found++
		switch key {
		case "name":
			s.Name, e = readName(v)
		case "value":
			s.Value, e = readValue(v)
		case "source":
			s.Source, e = readName(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return s, under(key, e)
		}
	}
	return s, lacks(n, found, "name", "value", "source")
}

func readEffect(n node) (f Effect, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return f, e
	}
	found := 0
	for key, v := range n.Entries() {
		found++
		switch key {
		case "on":
			f.On, e = readWord(v, OnReads, OnWrites, OnExec, OnNetwork, OnSecrets, OnModels, OnSpend, OnHuman)
		case "target":
			f.Target, e = readValue(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return f, under(key, e)
		}
	}
	return f, lacks(n, found, "on", "target")
}

func readContext(n node, c *Context) (e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return e
	}
	if n.Len() == 0 {
		return refuse(report.CodeSchemaEmpty, "at least one field, or no context", "none")
	}
	for key, v := range n.Entries() {
		switch key {
		case "plan":
			c.Plan, e = readPin(v)
		case "lock":
			c.Lock, e = readPin(v)
		case "permits":
			c.Permits, e = readPin(v)
		case "tool":
			c.Tool, e = readPin(v)
		case "sandbox":
			c.Sandbox, e = readPin(v)
		case "approval":
			c.Approval, e = readName(v)
		default:
			e = unknown(key)
		}
		if e != nil {
			return under(key, e)
		}
	}
	return nil
}
