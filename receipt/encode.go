package receipt

import (
	"errors"
	"strings"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// Encode returns the canonical bytes of the statement, the DSSE payload. It
// refuses whatever Decode would refuse, by asking Decode: the error is a
// *report.Error with the same codes and paths. Sets must stand in their order
// (SortSet helps); an optional set that is empty is absent.
func (s Statement) Encode() ([]byte, error) {
	d, err := s.Build()
	if err != nil {
		return nil, err
	}
	return d.payload, nil
}

// Build is Encode for a caller that needs the identities too.
func (s Statement) Build() (*Decoded, error) {
	payload, err := dagcbor.Encode(dagcbor.Map{
		{Key: "call", Value: s.Call.value()},
		{Key: "receipt", Value: receiptValue(s.Receipt)},
	})
	if err != nil {
		return nil, dotted(err)
	}
	return Decode(payload)
}

// EncodeReceipt returns the canonical bytes of a receipt alone, which its CID
// names. It refuses what the schema refuses of a receipt in any call.
func EncodeReceipt(r Receipt) ([]byte, error) {
	b, err := dagcbor.Encode(receiptValue(r))
	if err != nil {
		return nil, dotted(err)
	}
	if _, err := DecodeReceipt(b); err != nil {
		return nil, err
	}
	return b, nil
}

// DecodeReceipt reads a receipt alone. Errors are as Decode's, with paths that
// begin at the kind.
func DecodeReceipt(b []byte) (Receipt, error) {
	n, err := dagcbor.Parse(b)
	if err != nil {
		return nil, err
	}
	r, e := readReceipt(n)
	if e != nil {
		return nil, e
	}
	return r, nil
}

// ID returns the receipt CID of r.
func ID(r Receipt) (CID, error) {
	b, err := EncodeReceipt(r)
	if err != nil {
		return CID{}, err
	}
	return dagcbor.Sum(b), nil
}

// dotted turns the path of dagcbor.Encode ("/call/run") into this package's.
func dotted(err error) error {
	var e *report.Error
	if errors.As(err, &e) {
		e.Where = strings.ReplaceAll(strings.TrimPrefix(e.Where, "/"), "/", ".")
	}
	return err
}

// fields builds a map field by field; an absent optional adds nothing.
type fields dagcbor.Map

func (f *fields) add(key string, v dagcbor.Value) {
	*f = append(*f, dagcbor.Entry{Key: key, Value: v})
}

func (f *fields) name(key string, n Name) {
	if n != "" {
		f.add(key, dagcbor.Text(n))
	}
}

func (f *fields) link(key string, c CID) {
	if !c.IsZero() {
		f.add(key, c.Link())
	}
}

func (f *fields) pin(key string, p Pin) {
	if !p.IsZero() {
		f.add(key, dagcbor.Bytes(p[:]))
	}
}

func (f *fields) count(key string, n uint64) {
	if n != 0 {
		f.add(key, dagcbor.Int(n))
	}
}

// arm is a sum: the one-key map of its arm.
func arm(word string, body dagcbor.Map) dagcbor.Map {
	return dagcbor.Map{{Key: word, Value: body}}
}

// noArmValue is what an absent sum encodes as, and no schema takes.
func noArmValue() dagcbor.Map { return dagcbor.Map{} }

func digestValue(d Digest) dagcbor.Value         { return dagcbor.Bytes(d[:]) }
func commitmentValue(c Commitment) dagcbor.Value { return dagcbor.Bytes(c[:]) }
func codeValue(c Code) dagcbor.Value             { return dagcbor.Text(c) }

func linkValue(c CID) dagcbor.Value {
	if c.IsZero() {
		return dagcbor.Bytes{} // not a link, so the schema names the field
	}
	return c.Link()
}

func (v Value) value() dagcbor.Value {
	if v.form == formCommitted {
		return commitmentValue(v.commitment)
	}
	return dagcbor.Text(v.clear)
}

func listValue[T any](set []T, value func(*T) dagcbor.Value) dagcbor.List {
	list := make(dagcbor.List, len(set))
	for i := range set {
		list[i] = value(&set[i])
	}
	return list
}

func texts[T ~string](set []T) dagcbor.List {
	return listValue(set, func(t *T) dagcbor.Value { return dagcbor.Text(*t) })
}

func (c *Call) value() dagcbor.Value {
	f := make(fields, 0, 8)
	f.add("by", dagcbor.Bytes(c.By[:]))
	f.add("at", dagcbor.Int(c.At))
	if c.Run != "" {
		f.name("run", c.Run)
		f.add("seq", dagcbor.Int(c.Seq))
	} else {
		f.count("seq", c.Seq)
	}
	f.link("prev", c.Prev)
	f.link("settles", c.Settles)
	if !c.Seen.IsZero() {
		f.add("seen", dagcbor.Map{
			{Key: "origin", Value: dagcbor.Text(c.Seen.Origin)},
			{Key: "size", Value: dagcbor.Int(c.Seen.Size)},
			{Key: "root", Value: dagcbor.Bytes(c.Seen.Root[:])},
		})
	}
	if c.Expires != 0 {
		f.add("expires", dagcbor.Int(c.Expires))
	}
	return dagcbor.Map(f)
}

func receiptValue(r Receipt) dagcbor.Value {
	switch r := r.(type) {
	case RunOpen:
		return arm(string(KindRunOpen), r.value())
	case Judgment:
		return arm(string(KindJudgment), r.value())
	case Decision:
		return arm(string(KindDecision), r.value())
	case Outcome:
		return arm(string(KindOutcome), r.value())
	case Fault:
		return arm(string(KindFault), r.value())
	case Gap:
		return arm(string(KindGap), dagcbor.Map{
			{Key: "count", Value: dagcbor.Int(r.Count)},
			{Key: "code", Value: codeValue(r.Code)},
		})
	case RunClose:
		return arm(string(KindRunClose), r.value())
	}
	return noArmValue()
}

func (o *RunOpen) value() dagcbor.Map {
	f := make(fields, 0, 8)
	f.add("engine", dagcbor.Map{
		{Key: "name", Value: dagcbor.Text(o.Engine.Name)},
		{Key: "version", Value: dagcbor.Text(o.Engine.Version)},
	})
	f.pin("plan", o.Plan)
	f.pin("lock", o.Lock)
	f.pin("permits", o.Permits)
	f.pin("policy", o.Policy)
	f.add("vocabulary", dagcbor.Bytes(o.Vocabulary[:]))
	f.add("logs", texts(o.Logs))
	f.link("parent", o.Parent)
	return dagcbor.Map(f)
}

func (c *RunClose) value() dagcbor.Map {
	f := make(fields, 0, 5)
	f.add("statements", dagcbor.Int(c.Statements()))
	f.tally("judgments", c.Judgments.fields())
	f.tally("outcomes", c.Outcomes.fields())
	f.count("faults", c.Faults)
	f.count("gaps", c.Gaps)
	return dagcbor.Map(f)
}

func (f *fields) tally(key string, counts []tallyField) {
	var t fields
	for _, c := range counts {
		t.count(c.word, *c.count)
	}
	if len(t) > 0 {
		f.add(key, dagcbor.Map(t))
	}
}

func (d *Decision) value() dagcbor.Map {
	return dagcbor.Map{
		{Key: "judgment", Value: linkValue(d.Judgment)},
		{Key: "request", Value: digestValue(d.Request)},
		{Key: "ticket", Value: dagcbor.Bytes(d.Ticket[:])},
		{Key: "answer", Value: dagcbor.Text(d.Answer)},
	}
}

func (t *Fault) value() dagcbor.Map {
	f := make(fields, 0, 4)
	f.add("stage", dagcbor.Text(t.Stage))
	f.add("code", codeValue(t.Code))
	switch p := t.Posture.(type) {
	case FailOpen:
		f.add("posture", dagcbor.Text(wordOpen))
		f.add("request", p.Request.value())
	case FailClosed:
		f.add("posture", dagcbor.Text(wordClosed))
		if p.Request != nil {
			f.add("request", p.Request.value())
		}
	}
	return dagcbor.Map(f)
}

func (j *Judgment) value() dagcbor.Map {
	f := make(fields, 0, 7)
	f.add("request", j.Request.value())
	f.add("class", dagcbor.Text(j.Class))
	f.add("verdict", verdictValue(j.Ruling.verdict))
	f.add("origin", originValue(j.Origin))
	if j.Reads != nil {
		f.add("reads", listValue(j.Reads, func(r *Read) dagcbor.Value {
			return dagcbor.Map{{Key: "key", Value: r.Key.value()}, {Key: "seen", Value: commitmentValue(r.Seen)}}
		}))
	}
	f.add("inverse", inverseValue(j.Inverse))
	if !j.Ruling.recovery.IsZero() {
		f.add("recovery", j.Ruling.recovery.value())
	}
	return dagcbor.Map(f)
}

func verdictValue(v verdict.Verdict) dagcbor.Map {
	switch v.Arm() {
	case verdict.ArmAdmit:
		return arm("admit", dagcbor.Map{{Key: "by", Value: texts(v.By())}})
	case verdict.ArmDeny, verdict.ArmEscalate:
		return arm(v.Arm().String(), dagcbor.Map{{Key: "reasons", Value: texts(v.Reasons())}})
	}
	return noArmValue()
}

func originValue(o verdict.Origin) dagcbor.Map {
	if !o.IsMixed() {
		return arm(o.Intent().String(), dagcbor.Map{})
	}
	return arm(wordMixed, dagcbor.Map{
		{Key: "intent", Value: dagcbor.Text(o.Intent().String())},
		{Key: "rendering", Value: dagcbor.Text(o.Rendering().String())},
	})
}

func inverseValue(i Inverse) dagcbor.Map {
	switch i := i.(type) {
	case Escrowed:
		return arm(wordEscrowed, dagcbor.Map{{Key: "delta", Value: commitmentValue(i.Delta)}})
	case NoInverse:
		return arm(wordNone, dagcbor.Map{{Key: "code", Value: codeValue(i.Code)}})
	case Unneeded:
		return arm(wordUnneeded, dagcbor.Map{})
	}
	return noArmValue()
}

func (r *Recovery) value() dagcbor.Map {
	return dagcbor.Map{
		{Key: "class", Value: dagcbor.Text(r.Class)},
		{Key: "code", Value: codeValue(r.Code)},
		{Key: "hint", Value: codeValue(r.Hint)},
	}
}
