package spec

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/blake3"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

func grammar(t testing.TB) *cddl {
	t.Helper()
	c, err := parseCDDL(read(t, "obstat.cddl"))
	if err != nil {
		t.Fatalf("obstat.cddl: %v", err)
	}
	return c
}

// held is one object that obstat.cddl describes: blocks that are of its rule,
// the decoder that judges changed ones, and the codes under which that decoder
// refuses what CDDL has no means to say.
type held struct {
	rule   string
	blocks [][]byte
	broken [][]byte // judged as they are
	few    bool     // they are small, so that little comes of changing them
	decode func([]byte) error
	// blind reports whether CDDL cannot say why the decoder refused.
	blind func(e *report.Error) bool
}

func codes(blind ...report.Code) func(*report.Error) bool {
	return func(e *report.Error) bool { return slices.Contains(blind, e.Code) }
}

func keyOf(label string) trust.PublicKey { return trust.PublicKey(testlog.Public(label)) }

// again names examples that show nothing which another does not.
var again = regexp.MustCompile(`^(judgment-for|judgment-escalate-|decision-approve-|outcome-settles|outcome-failed-(no|yes)|outcome-(un)?[a-z]+-approved)`)

func objects(t testing.TB) []held {
	w := newWorld(t)
	var statements, leaves [][]byte
	for _, e := range receipttest.Examples() {
		if !again.MatchString(e.Name) {
			statements = append(statements, e.Decoded.Payload())
		}
	}
	for _, name := range []string{"registry", "fault", "decision"} {
		l, _ := w.leaf(name)
		leaves = append(leaves, must(l.envelope.Leaf()))
	}
	ends := logEnds(t)
	leaves = append(leaves, ends.leaves...)
	cidOrOther := func(e *report.Error) bool {
		return strings.HasPrefix(e.Expected, "a CIDv1") || e.Expected == "another log"
	}
	return []held{
		{
			rule: "statement", blocks: statements,
			decode: func(b []byte) error { _, err := receipt.Decode(b); return err },
			blind: func(e *report.Error) bool {
				switch e.Code {
				case report.CodeSchemaOrder, report.CodeSchemaFired, report.CodeSchemaStale, report.CodeSchemaTally,
					report.CodeSchemaGap, report.CodeSchemaLink, report.CodeSchemaPin, report.CodeSchemaPath:
					return true
				case report.CodeSchemaExpires: // stands where it may, and is before at
					return strings.HasPrefix(e.Expected, "not before")
				case report.CodeSchemaEmpty: // a map of optional entries that has none
					return strings.HasSuffix(e.Where, "context") || strings.HasSuffix(e.Where, "judgments") || strings.HasSuffix(e.Where, "outcomes")
				}
				return false
			},
		},
		{
			rule: "registry-statement", blocks: registryStatements(t),
			decode: func(b []byte) error { _, err := trust.DecodeStatement(b); return err },
			blind: func(e *report.Error) bool {
				return strings.HasPrefix(e.Expected, "keys strictly ascending") || strings.HasPrefix(e.Expected, "a CIDv1")
			},
		},
		{
			rule: "freeze", blocks: ends.freezes, few: true,
			decode: func(b []byte) error { _, err := trust.DecodeFreeze(b); return err },
			blind:  cidOrOther,
		},
		{
			rule: "successor", blocks: [][]byte{ends.successor}, few: true,
			decode: func(b []byte) error { _, err := trust.DecodeSuccessor(b); return err },
			blind:  func(e *report.Error) bool { return cidOrOther(e) || e.Where == "/checkpoint" },
		},
		{
			rule: "vocabulary", blocks: [][]byte{smallVocabulary().Document()},
			decode: func(b []byte) error { _, err := receipt.ParseVocabulary(b); return err },
			blind:  func(e *report.Error) bool { return strings.HasPrefix(e.Expected, "a key greater") },
		},
		{
			rule: "leaf", blocks: leaves, broken: [][]byte{twiceSigned(t)},
			decode: decodeLeaf,
			blind:  codes(report.CodeDSSESigOrder),
		},
	}
}

// logEnds are freezes and a successor statement, and leaves of both.
func logEnds(t testing.TB) (out struct {
	freezes   [][]byte
	successor []byte
	leaves    [][]byte
}) {
	const second = "example.com/log-2"
	old, heir := testlog.New(t), testlog.Named(t, second)
	for _, h := range []*trust.Heir{nil, {Log: second, Key: keyOf(second), Genesis: heir.Genesis}} {
		out.freezes = append(out.freezes, must(must(old.Registry.Freeze(h)).Encode()))
	}
	at := old.Freeze(nil)
	out.leaves = append(out.leaves, old.Leaves[at])
	at = heir.Succeed(old.Final(), old.Checkpoint(old.Size()))
	env := must(dsse.ParseLeaf(heir.Leaves[at]))
	out.successor, out.leaves = env.Payload, append(out.leaves, heir.Leaves[at])
	return out
}

// smallVocabulary has a word in every place, and two in one.
func smallVocabulary() *receipt.Vocabulary {
	words := map[receipt.Place][]receipt.Code{}
	for _, place := range receipt.Places() {
		words[place] = []receipt.Code{"WORD"}
	}
	words[receipt.PlaceReason] = append(words[receipt.PlaceReason], "OTHER")
	return must(receipt.NewVocabulary("test", 1, words, []receipt.RecoveryWords{{Code: "STOP", Class: receipt.RecoveryStop, Hints: []receipt.Code{"A", "B"}}}))
}

// twiceSigned is a receipt with two signatures, both good.
func twiceSigned(t testing.TB) []byte {
	l, _ := newWorld(t).leaf("fault")
	env := must(dsse.SignMany(dsse.ReceiptType, l.envelope.Payload, testlog.Key("engine"), testlog.Key("approver")))
	return must(env.Leaf())
}

// decodeLeaf reads a leaf and what it carries, as a log does.
func decodeLeaf(b []byte) error {
	env, err := dsse.ParseLeaf(b)
	if err != nil {
		return err
	}
	switch env.Type {
	case dsse.ReceiptType:
		if len(env.Sigs) != 1 {
			return &report.Error{Code: report.CodeDSSESigCount}
		}
		_, err = receipt.Decode(env.Payload)
	case dsse.RegistryType:
		_, err = trust.DecodeStatement(env.Payload)
	case dsse.FreezeType:
		_, err = trust.DecodeFreeze(env.Payload)
	case dsse.SuccessorType:
		_, err = trust.DecodeSuccessor(env.Payload)
	default:
		err = &report.Error{Code: report.CodePayloadType}
	}
	return err
}

// registryStatements is a genesis and a version that changes everything.
func registryStatements(t testing.TB) [][]byte {
	w := newWorld(t)
	change := trust.Change{
		Threshold: 1,
		Add:       []trust.Addition{{Key: keyOf("engine-2"), Name: "engine", Role: trust.Engine}, {Key: keyOf("registrar-3"), Name: "registrar-3", Role: trust.Registrar}},
		Retire:    []trust.PublicKey{keyOf("registrar-2")},
		Revoke:    []trust.Revocation{{Key: keyOf("engine"), From: 3, HasFrom: true}, {Key: keyOf("registrar-1")}},
	}
	next := must(w.log.Registry.Next(change))
	l, _ := w.leaf("registry")
	return [][]byte{l.envelope.Payload, must(next.Encode())}
}

// judged is a block with what the decoder says of it.
type judged struct {
	block []byte
	err   error
}

// judge returns the blocks of h and what comes of changing them, all judged by
// the decoder.
func (h held) judge() []judged {
	var out []judged
	for _, b := range slices.Concat(h.broken, h.blocks) {
		out = append(out, judged{b, h.decode(b)})
	}
	for _, b := range h.blocks {
		for m := range mutants(must(dagcbor.Parse(b)).Value()) {
			if changed, err := dagcbor.Encode(m); err == nil { // else a key twice
				out = append(out, judged{changed, h.decode(changed)})
			}
		}
	}
	return out
}

// disagreements says which blocks decoder and CDDL judge differently.
func (h held) disagreements(c *cddl, all []judged, limit int) (out []string) {
	for _, j := range all {
		switch why := c.match(h.rule, j.block); {
		case j.err == nil && why != "":
			out = append(out, fmt.Sprintf("%s: the decoder takes and CDDL refuses (%s): %x", h.rule, why, j.block))
		case j.err != nil && why == "":
			if e, ok := j.err.(*report.Error); !ok || !h.blind(e) {
				out = append(out, fmt.Sprintf("%s: CDDL takes and the decoder refuses (%v): %x", h.rule, j.err, j.block))
			}
		}
		if len(out) >= limit {
			break
		}
	}
	return out
}

// TestCDDLAgrees: what the decoders take obstat.cddl takes, and what they refuse
// it refuses, but for what it says it cannot say.
func TestCDDLAgrees(t *testing.T) {
	t.Parallel()
	c := grammar(t)
	for _, h := range objects(t) {
		all := h.judge()
		for _, j := range all[:len(h.broken)] {
			if j.err == nil {
				t.Errorf("%s: the decoder takes %x", h.rule, j.block)
			}
		}
		for _, j := range all[len(h.broken) : len(h.broken)+len(h.blocks)] {
			if j.err != nil {
				t.Errorf("%s: the decoder refuses an example: %v", h.rule, j.err)
			}
		}
		for _, s := range h.disagreements(c, all, 5) {
			t.Error(s)
		}
		t.Logf("%s: %d blocks", h.rule, len(all))
		if len(all) < 500 && !h.few || len(all) < 100 {
			t.Errorf("%s: only %d blocks", h.rule, len(all))
		}
	}
}

// TestCDDLVocabulary: the standard vocabulary is of the grammar.
func TestCDDLVocabulary(t *testing.T) {
	if why := grammar(t).match("vocabulary", receipt.StandardVocabulary().Document()); why != "" {
		t.Error(why)
	}
}

// TestCDDLAgreesProperty: any statement that can be built is of the grammar.
func TestCDDLAgreesProperty(t *testing.T) {
	c := grammar(t)
	rapid.Check(t, func(t *rapid.T) {
		d, err := receipttest.Statement(t).Build()
		if err != nil {
			t.Fatal(err)
		}
		if why := c.match("statement", d.Payload()); why != "" {
			t.Errorf("%s: %x", why, d.Payload())
		}
	})
}

// TestCDDLMutants: a grammar that says less or more is found out.
func TestCDDLMutants(t *testing.T) {
	t.Parallel()
	src := read(t, "obstat.cddl")
	all := objects(t)
	blocks := map[string][]judged{}
	for _, h := range all {
		blocks[h.rule] = h.judge()
	}
	for _, m := range []struct{ rule, old, new string }{
		{"statement", "digest = bstr .size 32", "digest = bstr"},
		{"statement", "seq: 0, ? seen", "seq: count, ? seen"},
		{"statement", "outcome-call = { run-place, settles: link }", "outcome-call = { run-place, ? settles: link }"},
		{"statement", "escalation-call = { run-place, expires: positive }", "escalation-call = { run-place, ? expires: positive }"},
		{"statement", "logs: [ + name ]", "logs: [ * name ]"},
		{"statement", "? parent: link", "parent: link"},
		{"statement", ":+-]{1,128}", ":+-]{1,129}"},
		{"statement", "tstr .size (1..64)", "tstr .size (1..65)"},
		{"statement", "{ rendered: { digest: digest } }", "{ rendered: { digest: digest, ? code: code } }"},
		{"statement", `posture: "open", request: request`, `posture: "open", ? request: request`},
		{"statement", "gap = { count: positive", "gap = { count: count"},
		{"registry-statement", "threshold: 0..13", "threshold: 0..14"},
		{"registry-statement", "version: 0, ? add", "version: count, ? add"},
		{"freeze", "? successor: {", "successor: {"},
		{"freeze", "key: public-key, genesis", "? key: public-key, genesis"},
		{"successor", "predecessor: { log: log-name, ", "predecessor: { ? log: log-name, "},
		{"vocabulary", "hints: [ + code ]", "hints: [ * code ]"},
		{"leaf", "sig: bstr .size 64", "sig: bstr"},
		{"leaf", "sigs: [ signature ]", "sigs: [ + signature ]"},
		{"leaf", "vnd.obstat.freeze.v1", "vnd.obstat.freeze.v2"},
	} {
		if strings.Count(src, m.old) != 1 {
			t.Errorf("%q stands %d times in obstat.cddl", m.old, strings.Count(src, m.old))
			continue
		}
		c, err := parseCDDL(strings.Replace(src, m.old, m.new, 1))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, h := range all {
			if h.rule == m.rule {
				found = found || len(h.disagreements(c, blocks[h.rule], 1)) > 0
			}
		}
		if !found {
			t.Errorf("%s instead of %s is not noticed", m.new, m.old)
		}
	}
}

// TestCDDLMessages: the messages that are hashed are of their rules, and give
// what the code computes, by BLAKE3 alone.
func TestCDDLMessages(t *testing.T) {
	c := grammar(t)
	w := newWorld(t)
	message := func(rule string, list dagcbor.List) []byte {
		t.Helper()
		b := must(dagcbor.Encode(list))
		if why := c.match(rule, b); why != "" {
			t.Errorf("%s: %s", rule, why)
		}
		return b
	}
	keyed := func(tag string, b []byte) []byte {
		h := must(blake3.NewKeyed(secretBytes()))
		_, _ = h.WriteString(tag)
		_, _ = h.Write(b)
		return h.Sum(nil)
	}
	derived := func(context string, b []byte, n int) []byte {
		out := make([]byte, n)
		blake3.DeriveKey(context, b, out)
		return out
	}
	for _, s := range []sealed{w.files, w.exec} {
		digest := s.rho.Digest()
		if got := blake3.Sum256(append([]byte("effect-preview"), s.rho.JSON()...)); got != digest {
			t.Errorf("digest %x, want %s", got, digest)
		}
		for _, item := range s.rho.Items() {
			salt := keyed("obstat salt v1", message("salt-message", dagcbor.List{
				dagcbor.Bytes(digest[:]), dagcbor.Text(item.Field), dagcbor.Text(item.Name)}))
			var value dagcbor.Value
			switch raw, isBytes := item.Value.Raw(); {
			case item.Value.IsAbsent():
				value = dagcbor.Bool(false)
			case isBytes:
				value = dagcbor.Text(raw)
			default: // the text form says the digest of a content
				value = dagcbor.Bytes(must(hex.DecodeString(strings.TrimPrefix(item.Value.String(), "b3:"))))
			}
			got := derived("obstat commitment v1", message("commitment-message", dagcbor.List{
				dagcbor.Bytes(salt), dagcbor.Text(item.Field), dagcbor.Text(item.Name), value}), 32)
			want := must(secret().Disclose(digest, item.Field, item.Name, item.Value)).Commitment()
			if string(got) != string(want[:]) {
				t.Errorf("commitment to %s %s: %x, want %s", item.Field, item.Name, got, want)
			}
		}
	}
	digest := w.exec.rho.Digest()
	reasons := dagcbor.List{dagcbor.Text("CLASS-RED"), dagcbor.Text("RULE-ASKS")}
	if got := derived("obstat ticket v1", message("ticket-message", dagcbor.List{dagcbor.Bytes(digest[:]), reasons}), 16); string(got) != string(w.ticket[:]) {
		t.Errorf("ticket %x, want %s", got, w.ticket)
	}
	l, _ := w.leaf("escalation")
	refusal := must(preview.RefusalOf(digest, l.statement.Statement.Receipt.(receipt.Judgment).Ruling.Verdict()))
	if got := derived("obstat refusal v1", message("refusal-message", dagcbor.List{dagcbor.Bytes(digest[:]), dagcbor.Text("escalate"), reasons}), 32); string(got) != string(refusal[:]) {
		t.Errorf("refusal %x, want %s", got, refusal)
	}
}

// TestCDDLRegistryState: the folded registry, built by hand as trust.md says,
// has the digest that the genesis states.
func TestCDDLRegistryState(t *testing.T) {
	w := newWorld(t)
	l, _ := w.leaf("registry")
	s := must(trust.DecodeStatement(l.envelope.Payload))
	var keys dagcbor.List
	for _, a := range s.Add {
		keys = append(keys, dagcbor.Map{
			{Key: "key", Value: dagcbor.Bytes(a.Key[:])}, {Key: "name", Value: dagcbor.Text(a.Name)},
			{Key: "role", Value: dagcbor.Text(a.Role)}, {Key: "added", Value: dagcbor.Int(0)},
		})
	}
	b := must(dagcbor.Encode(dagcbor.Map{
		{Key: "log", Value: dagcbor.Text(s.Log)}, {Key: "version", Value: dagcbor.Int(0)},
		{Key: "threshold", Value: dagcbor.Int(s.Threshold)}, {Key: "keys", Value: keys},
	}))
	if why := grammar(t).match("registry-state", b); why != "" {
		t.Error(why)
	}
	if got := blake3.Sum256(b); got != s.State {
		t.Errorf("state %x, want %x", got, s.State)
	}
}

// TestCDDLIsUsed: the examples reach every rule of the file.
func TestCDDLIsUsed(t *testing.T) {
	c := grammar(t)
	for _, h := range objects(t) {
		for _, b := range h.blocks {
			c.match(h.rule, b)
		}
	}
	for name := range c.types {
		switch name {
		case "registry-state", "listed-key", "salt-message", "commitment-message", "salt", "field-word", "committed-value",
			"ticket-message", "refusal-message": // the tests above
			continue
		}
		if !c.used[name] {
			t.Errorf("no example reaches %s", name)
		}
	}
	for name := range c.groups {
		if !c.used[name] {
			t.Errorf("no example reaches the group %s", name)
		}
	}
	for _, bad := range []string{"a = b .within c", "a = { x: any } // { y: 1 }", "a = #6.32(tstr)", `a = tstr a = bstr`} {
		if _, err := parseCDDL(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
