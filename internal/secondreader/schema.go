package secondreader

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// This file is statement.md, receipt.md and obstat.cddl.

// rule says what is wrong with an item, empty where nothing is.
type rule func(item) refusal

var (
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9._/@:+-]{1,128}$`)
	codeForm  = regexp.MustCompile(`^[A-Z0-9]+(-[A-Z0-9]+)*$`)
	clearForm = regexp.MustCompile(`^([A-Za-z0-9._/@:+-]|%[0-9A-F]{2})+$`)
	clean     = regexp.MustCompile(`[A-Za-z0-9._/@:+-]`)
)

func isName(s string) bool { return nameForm.MatchString(s) }
func isCode(s string) bool { return codeForm.MatchString(s) && len(s) <= 64 }

func textOf(code refusal, ok func(string) bool) rule {
	return func(v item) refusal {
		s, is := v.(string)
		switch {
		case !is:
			return "SCHEMA-TYPE"
		case !ok(s):
			return code
		}
		return ""
	}
}

func word(list ...string) rule {
	return textOf("SCHEMA-WORD", func(s string) bool { return slices.Contains(list, s) })
}

func size(n int) rule {
	return func(v item) refusal {
		b, is := v.([]byte)
		switch {
		case !is:
			return "SCHEMA-TYPE"
		case len(b) != n:
			return "SCHEMA-LENGTH"
		}
		return ""
	}
}

func atLeast(least int64) rule {
	return func(v item) refusal {
		n, is := v.(int64)
		switch {
		case !is:
			return "SCHEMA-TYPE"
		case n < least:
			return "SCHEMA-RANGE"
		}
		return ""
	}
}

func aLink(v item) refusal {
	l, is := v.(link)
	switch {
	case !is:
		return "SCHEMA-TYPE"
	case len(l) != 36 || string(l[:4]) != "\x01\x71\x1e\x20":
		return "SCHEMA-LINK"
	}
	return ""
}

func aPin(v item) refusal {
	if err := size(34)(v); err != "" {
		return err
	}
	if start := string(v.([]byte)[:2]); start != "\x1e\x20" && start != "\x12\x20" {
		return "SCHEMA-PIN"
	}
	return ""
}

// aValue is a commitment or the clear form.
func aValue(v item) refusal {
	s, clear := v.(string)
	if !clear {
		return size(32)(v)
	}
	if len(s) == 0 || len(s) > 1024 || !clearForm.MatchString(s) {
		return "SCHEMA-CLEAR"
	}
	for i, part := range strings.Split(s, "%") {
		if i > 0 && clean.MatchString(unhex(part[:2])) {
			return "SCHEMA-CLEAR" // escaped without need
		}
	}
	return ""
}

func unhex(digits string) string {
	const hex = "0123456789ABCDEF"
	return string([]byte{byte(strings.IndexByte(hex, digits[0])<<4 | strings.IndexByte(hex, digits[1]))})
}

func aPath(v item) refusal {
	if err := aValue(v); err != "" {
		return err
	}
	if s, clear := v.(string); clear {
		for _, element := range strings.Split(s, "/") {
			if element == "" || element == "." || element == ".." || strings.Contains(element, "%00") {
				return "SCHEMA-PATH"
			}
		}
	}
	return ""
}

// fields is a map of exactly these; a ? before a name makes it optional.
type fields map[string]rule

func (f fields) rule(v item) refusal {
	d, is := v.(*dict)
	if !is {
		return "SCHEMA-TYPE"
	}
	for _, key := range d.keys {
		if f[key] == nil && f["?"+key] == nil {
			return "SCHEMA-UNKNOWN"
		}
	}
	for name, r := range f {
		key, optional := strings.CutPrefix(name, "?")
		x, has := d.m[key]
		switch {
		case !has && !optional:
			return "SCHEMA-MISSING"
		case has:
			if err := r(x); err != "" {
				return err
			}
		}
	}
	return ""
}

// arms is a map of exactly one of these.
type arms map[string]rule

func (a arms) rule(v item) refusal {
	d, is := v.(*dict)
	if !is {
		return "SCHEMA-TYPE"
	}
	if len(d.keys) != 1 || a[d.keys[0]] == nil {
		return "SCHEMA-ARM"
	}
	return a[d.keys[0]](d.m[d.keys[0]])
}

// ordered is a list that ascends strictly by a key of its items.
func ordered(each rule, least int, key func(item) []byte) rule {
	return func(v item) refusal {
		l, is := v.(list)
		switch {
		case !is:
			return "SCHEMA-TYPE"
		case len(l) < least:
			return "SCHEMA-EMPTY"
		}
		for i, x := range l {
			if err := each(x); err != "" {
				return err
			}
			if i > 0 && bytes.Compare(key(l[i-1]), key(x)) >= 0 {
				return "SCHEMA-ORDER"
			}
		}
		return ""
	}
}

func set(each rule, key func(item) []byte) rule { return ordered(each, 1, key) }

// bytesOf is what items are compared by: of a value the commitment before the
// clear form where the bytes are the same.
func bytesOf(v item) []byte {
	switch v := v.(type) {
	case string:
		return append([]byte(v), 1)
	case []byte:
		return append(slices.Clone(v), 0)
	}
	return nil
}

func by(names ...string) func(item) []byte {
	return func(v item) []byte {
		var out []byte
		for _, name := range names {
			out = append(append(out, bytesOf(v.(*dict).m[name])...), 0)
		}
		return out
	}
}

func filled(r rule) rule {
	return func(v item) refusal {
		if d, is := v.(*dict); is && len(d.keys) == 0 {
			return "SCHEMA-EMPTY"
		}
		return r(v)
	}
}

// receipts are the kinds.
func receipts() arms {
	name, code, commitment, count := textOf("SCHEMA-NAME", isName), textOf("SCHEMA-CODE", isCode), size(32), atLeast(1)
	stage := word("unknown", "deterministic_replay", "llm_originated")
	recovery := fields{"class": word("retry", "refresh", "revise", "await", "stop"), "code": code, "hint": code}.rule
	request := fields{
		"verb": name, "digest": size(32), "?task": name, "?attempt": count,
		"?inputs": set(fields{"name": name, "value": aValue}.rule, by("name")),
		"?changes": set(func(v item) refusal {
			if err := (fields{"path": aPath, "?before": commitment, "?after": commitment}).rule(v); err != "" {
				return err
			}
			if len(v.(*dict).keys) == 1 {
				return "SCHEMA-EDIT"
			}
			return ""
		}, by("path")),
		"?slots":   set(fields{"name": name, "value": aValue, "source": name}.rule, by("name")),
		"?effects": set(fields{"on": word("reads", "writes", "exec", "network", "secrets", "models", "spend", "human"), "target": aValue}.rule, by("on", "target")),
		"?context": filled(fields{"?plan": aPin, "?lock": aPin, "?permits": aPin, "?tool": aPin, "?sandbox": aPin, "?approval": name}.rule),
	}.rule
	reasons := fields{"reasons": set(code, bytesOf)}.rule
	wrote := fields{"key": aValue, "value": commitment}.rule
	tally := func(names ...string) rule {
		f := fields{}
		for _, n := range names {
			f["?"+n] = count
		}
		return filled(f.rule)
	}
	return arms{
		"run-open": fields{
			"engine": fields{"name": name, "version": name}.rule, "vocabulary": size(32), "logs": set(name, bytesOf),
			"?plan": aPin, "?lock": aPin, "?permits": aPin, "?policy": aPin, "?parent": aLink,
		}.rule,
		"judgment": fields{
			"request": request, "class": word("green", "yellow", "red"),
			"verdict":   arms{"admit": fields{"by": set(name, bytesOf)}.rule, "deny": reasons, "escalate": reasons}.rule,
			"origin":    arms{"unknown": fields{}.rule, "deterministic_replay": fields{}.rule, "llm_originated": fields{}.rule, "mixed": fields{"intent": stage, "rendering": stage}.rule}.rule,
			"?reads":    ordered(fields{"key": aValue, "seen": commitment}.rule, 0, by("key")),
			"inverse":   arms{"escrowed": fields{"delta": commitment}.rule, "none": fields{"code": code}.rule, "unneeded": fields{}.rule}.rule,
			"?recovery": recovery,
		}.rule,
		"decision": fields{"judgment": aLink, "request": size(32), "ticket": size(16), "answer": word("approve", "reject")}.rule,
		"outcome": fields{
			"of": aLink, "request": size(32),
			"disposition": arms{
				"committed":  fields{"fired": size(32), "?wrote": set(wrote, by("key")), "?approval": aLink}.rule,
				"diverged":   fields{"fired": size(32), "recovery": recovery}.rule,
				"refused":    fields{"code": code, "recovery": recovery}.rule,
				"rejected":   fields{"decision": aLink, "recovery": recovery}.rule,
				"expired":    fields{"recovery": recovery}.rule,
				"cancelled":  fields{"code": code, "recovery": recovery}.rule,
				"stale":      fields{"key": aValue, "expected": commitment, "seen": commitment, "recovery": recovery}.rule,
				"withheld":   fields{"code": code, "recovery": recovery}.rule,
				"rendered":   fields{"digest": size(32)}.rule,
				"failed":     fields{"code": code, "restored": word("yes", "no", "unknown"), "?approval": aLink}.rule,
				"unobserved": fields{"code": code, "?approval": aLink}.rule,
			}.rule,
			"?compensates": fields{"outcome": aLink, "observation": arms{
				"attested":     fields{"compared": set(fields{"key": aValue, "expected": commitment, "seen": commitment}.rule, by("key"))}.rule,
				"unobservable": fields{"code": code}.rule,
			}.rule}.rule,
		}.rule,
		"fault": fields{
			"stage": word("intake", "preview", "evaluate", "escalate", "record"), "code": code, "posture": word("closed", "open"), "?request": request,
		}.rule,
		"gap": fields{"count": count, "code": code}.rule,
		"run-close": fields{
			"statements": atLeast(2), "?judgments": tally("admit", "deny", "escalate"), "?faults": count, "?gaps": count,
			"?outcomes": tally("committed", "diverged", "refused", "rejected", "expired", "cancelled", "stale", "withheld", "rendered", "failed", "unobserved"),
		}.rule,
	}
}

// statement is a payload that was read.
type statement struct {
	payload    []byte
	kind       string
	call, body *dict
	receipt    []byte // the bytes under the key receipt
}

// at follows a path of keys, nil where it ends.
func at(d *dict, path ...string) item {
	var v item = d
	for _, key := range path {
		d, is := v.(*dict)
		if !is {
			return nil
		}
		v = d.m[key]
	}
	return v
}

func (s *statement) text(path ...string) string { t, _ := at(s.body, path...).(string); return t }

func (s *statement) bytes(path ...string) []byte { b, _ := at(s.body, path...).([]byte); return b }

func (s *statement) link(path ...string) string { l, _ := at(s.body, path...).(link); return string(l) }

func (s *statement) int(name string) int64 { n, _ := s.call.m[name].(int64); return n }

func (s *statement) settles() string { l, _ := s.call.m["settles"].(link); return string(l) }

// arm is the one key of a sum.
func arm(v item) string {
	if d, is := v.(*dict); is && len(d.keys) == 1 {
		return d.keys[0]
	}
	return ""
}

// readFrame reads what is the same in every version.
func readFrame(payload []byte) (*statement, refusal) {
	v, err := block(payload)
	if err != "" {
		return nil, err
	}
	isMap := func(v item) refusal {
		if _, is := v.(*dict); !is {
			return "SCHEMA-TYPE"
		}
		return ""
	}
	if err := (fields{"call": isMap, "receipt": isMap}).rule(v); err != "" {
		return nil, err
	}
	d := v.(*dict)
	s := &statement{payload: payload, call: d.m["call"].(*dict), receipt: d.raw["receipt"]}
	body := d.m["receipt"].(*dict)
	if s.kind = arm(body); s.kind == "" {
		return nil, "SCHEMA-ARM"
	}
	s.body, _ = body.m[s.kind].(*dict)
	return s, s.callRules()
}

func (s *statement) callRules() refusal {
	has := func(name string) bool { _, ok := s.call.m[name]; return ok }
	all := fields{
		"?by": size(32), "?run": textOf("SCHEMA-NAME", isName), "?seq": atLeast(0), "?prev": aLink, "?settles": aLink, "?expires": atLeast(1), "?at": atLeast(0),
		"?seen": fields{"origin": textOf("SCHEMA-NAME", isName), "size": atLeast(0), "root": size(32)}.rule,
	}
	if err := all.rule(s.call); err != "" {
		return err
	}
	if s.kind == "decision" {
		for _, key := range s.call.keys {
			if key != "by" && key != "settles" && key != "at" {
				return "SCHEMA-CALL"
			}
		}
		switch {
		case !has("settles"):
			return "SCHEMA-SETTLES"
		case !has("by") || !has("at"):
			return "SCHEMA-MISSING"
		}
		return ""
	}
	switch {
	case !has("by") || !has("run") || !has("seq") || !has("at"):
		return "SCHEMA-MISSING"
	case (s.int("seq") == 0) != (s.kind == "run-open"):
		return "SCHEMA-SEQ"
	case has("prev") != (s.int("seq") != 0):
		return "SCHEMA-PREV"
	}
	return ""
}

// readStatement reads the whole of this version.
func readStatement(payload []byte) (*statement, refusal) {
	s, err := readFrame(payload)
	if err != "" {
		return nil, err
	}
	d, _ := block(payload)
	if err := receipts().rule(d.(*dict).m["receipt"]); err != "" {
		return nil, err
	}
	return s, s.acrossFields()
}

// acrossFields are the rules that compare two fields.
func (s *statement) acrossFields() refusal {
	_, settles := s.call.m["settles"]
	if settles != (s.kind == "outcome" || s.kind == "decision") {
		return "SCHEMA-SETTLES"
	}
	verdict := arm(at(s.body, "verdict"))
	if _, has := s.call.m["expires"]; has != (verdict == "escalate") || has && s.int("expires") < s.int("at") {
		return "SCHEMA-EXPIRES"
	}
	switch s.kind {
	case "judgment":
		if _, has := s.body.m["recovery"]; has == (verdict == "admit") {
			return "SCHEMA-RECOVERY"
		}
	case "outcome":
		if bytes.Equal(s.bytes("disposition", "diverged", "fired"), s.bytes("request")) {
			return "SCHEMA-FIRED"
		}
		if x := s.bytes("disposition", "stale", "expected"); x != nil && bytes.Equal(x, s.bytes("disposition", "stale", "seen")) {
			return "SCHEMA-STALE"
		}
	case "fault":
		if _, has := s.body.m["request"]; s.text("posture") == "open" && !has {
			return "SCHEMA-OPEN"
		}
	case "gap":
		if at(s.body, "count").(int64) >= s.int("seq") {
			return "SCHEMA-GAP"
		}
	case "run-close":
		if total := s.tally(); total+2 != at(s.body, "statements").(int64) {
			return "SCHEMA-TALLY"
		}
	}
	return ""
}

// tally adds up what a run-close counts.
func (s *statement) tally() int64 {
	var total int64
	var add func(v item)
	add = func(v item) {
		switch v := v.(type) {
		case int64:
			total += v
		case *dict:
			for _, key := range v.keys {
				if key != "statements" {
					add(v.m[key])
				}
			}
		}
	}
	add(s.body)
	return total
}
