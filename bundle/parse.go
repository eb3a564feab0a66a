package bundle

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/report"
)

// Parse reads the JSON form strictly: one JSON value as package jcs reads it,
// exactly the members of spec/bundle.md#bundle, envelopes as dsse.ParseJSON
// reads them, and the proof as checkpoint.ParseProof does, without extra. The
// error names the place, "byte N" or a path such as "/registry/0/index".
// VERSION-UNKNOWN says that another version of this program may read it, and
// INPUT-EMPTY that there was nothing.
func Parse(doc []byte) (*Bundle, error) {
	o, err := open(doc, MediaType)
	if err != nil {
		return nil, err
	}
	if err := members(o, "", []string{"mediaType", "level", "envelope", "proof"}, "registry", "disclosures"); err != nil {
		return nil, err
	}
	b := &Bundle{}
	level, err := text(o, "", "level")
	if err != nil {
		return nil, err
	}
	switch level {
	case Promise.String():
	case Witnessed.String():
		b.Level = Witnessed
	default:
		return nil, refuse(report.CodeProofBundleValue, "/level", "promise or witnessed", strconv.Quote(level))
	}
	if b.Envelope, err = envelope(o, ""); err != nil {
		return nil, err
	}
	proof, err := text(o, "", "proof")
	if err != nil {
		return nil, err
	}
	if b.Proof, err = checkpoint.ParseProof([]byte(proof)); err != nil {
		return nil, err
	}
	if b.Proof.HasExtra {
		return nil, refuse(report.CodeProofBundleValue, "/proof", "a tlog-proof without extra", "one with it")
	}
	if err := checkIndex("/proof", b.Proof.Index); err != nil {
		return nil, err
	}
	if v, ok := o.Get("registry"); ok {
		if b.Registry, err = leaves(v); err != nil {
			return nil, err
		}
	}
	if v, ok := o.Get("disclosures"); ok {
		if b.Disclosures, err = disclosures(v); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// ParseChain reads the JSON form of a registry chain as strictly.
func ParseChain(doc []byte) (*Chain, error) {
	o, err := open(doc, ChainMediaType)
	if err != nil {
		return nil, err
	}
	if err := members(o, "", []string{"mediaType", "registry", "checkpoint"}); err != nil {
		return nil, err
	}
	c := &Chain{}
	v, _ := o.Get("registry")
	if c.Leaves, err = leaves(v); err != nil {
		return nil, err
	}
	note, err := text(o, "", "checkpoint")
	if err != nil {
		return nil, err
	}
	if _, err := checkpoint.ParseNote([]byte(note)); err != nil {
		return nil, err
	}
	c.Checkpoint = []byte(note)
	return c, nil
}

// ParseTlogProof reads a .tlog-proof file whose extra is the canonical leaf.
func ParseTlogProof(b []byte) (*Bundle, error) {
	switch {
	case len(b) == 0:
		return nil, empty()
	case len(b) > MaxTlogProof:
		return nil, tooLarge(len(b), MaxTlogProof)
	}
	p, err := checkpoint.ParseProof(b)
	if err != nil {
		return nil, err
	}
	if !p.HasExtra {
		return nil, refuse(report.CodeProofBundleMissing, "extra", "the canonical leaf", "nothing")
	}
	env, err := dsse.ParseLeaf(p.Extra)
	if err != nil {
		return nil, err
	}
	if err := checkIndex("index", p.Index); err != nil {
		return nil, err
	}
	out := &Bundle{Envelope: env.JSON(), Proof: p, leaf: p.Extra}
	p.Extra, p.HasExtra = nil, false
	return out, nil
}

// isTlogProof reports whether bytes that nobody has looked at begin as a
// .tlog-proof file does; everything else is taken for JSON.
func isTlogProof(b []byte) bool { return strings.HasPrefix(string(b), "c2sp.org/tlog-proof@") }

// open reads doc up to its media type.
func open(doc []byte, mediaType string) (jcs.Object, error) {
	switch {
	case len(doc) == 0:
		return nil, empty()
	case len(doc) > MaxBundle:
		return nil, tooLarge(len(doc), MaxBundle)
	}
	v, err := jcs.Parse(doc)
	if err != nil {
		return nil, err
	}
	o, ok := v.(jcs.Object)
	if !ok {
		return nil, refuse(report.CodeProofBundleType, "/", "an object", kind(v))
	}
	got, err := text(o, "", "mediaType")
	if err != nil {
		return nil, err
	}
	if got == mediaType {
		return o, nil
	}
	code := report.CodeProofBundleMediaType
	if otherVersion(got, mediaType) {
		code = report.CodeVersionUnknown
	}
	return nil, refuse(code, "/mediaType", mediaType, strconv.Quote(got))
}

// otherVersion reports whether got is ours but for the number in ".vN+", which
// is how versions of one kind of thing are told apart.
func otherVersion(got, ours string) bool {
	at := strings.Index(ours, ".v1+")
	head, tail := ours[:at+2], ours[at+3:]
	number, ok := strings.CutPrefix(got, head)
	if !ok {
		return false
	}
	number, ok = strings.CutSuffix(number, tail)
	n, err := strconv.ParseUint(number, 10, 32)
	return ok && err == nil && n > 1 && strconv.FormatUint(n, 10) == number
}

func empty() error {
	return &report.Error{Code: report.CodeInputEmpty, Expected: "an artifact", Actual: "0 bytes"}
}

func tooLarge(n, limit int) error {
	return &report.Error{Code: report.CodeProofBundleSize, Expected: fmt.Sprintf("at most %d bytes", limit), Actual: strconv.Itoa(n)}
}

func refuse(code report.Code, where, expected, actual string) error {
	return &report.Error{Code: code, Where: where, Expected: expected, Actual: actual}
}

// members holds the names of an object: all that must be there, and no others
// than those and the optional ones.
func members(o jcs.Object, path string, must []string, optional ...string) error {
	known := append(append([]string(nil), must...), optional...)
	for _, m := range o {
		found, fold := false, ""
		for _, name := range known {
			found = found || name == m.Name
			if strings.EqualFold(name, m.Name) {
				fold = name
			}
		}
		switch where := path + "/" + m.Name; {
		case found:
		case fold != "":
			return refuse(report.CodeProofBundleCase, where, strconv.Quote(fold), strconv.Quote(m.Name))
		default:
			return refuse(report.CodeProofBundleUnknown, where, fmt.Sprintf("one of %q", known), strconv.Quote(m.Name))
		}
	}
	for _, name := range must {
		if _, ok := o.Get(name); !ok {
			return refuse(report.CodeProofBundleMissing, path+"/"+name, "a value", "nothing")
		}
	}
	return nil
}

func text(o jcs.Object, path, name string) (string, error) {
	v, ok := o.Get(name)
	if !ok {
		return "", refuse(report.CodeProofBundleMissing, path+"/"+name, "a string", "nothing")
	}
	s, ok := v.(jcs.String)
	if !ok {
		return "", refuse(report.CodeProofBundleType, path+"/"+name, "a string", kind(v))
	}
	return string(s), nil
}

// envelope returns the member as JSON text, after reading it as DSSE.
func envelope(o jcs.Object, path string) ([]byte, error) {
	v, _ := o.Get("envelope")
	if _, ok := v.(jcs.Object); !ok {
		return nil, refuse(report.CodeProofBundleType, path+"/envelope", "an object", kind(v))
	}
	doc, err := jcs.Append(nil, v)
	if err != nil {
		return nil, err
	}
	if _, err := dsse.ParseJSON(doc); err != nil {
		return nil, under(path+"/envelope", err)
	}
	return doc, nil
}

// under puts the place of a part before the place within it.
func under(path string, err error) error {
	if e, ok := err.(*report.Error); ok {
		moved := *e
		if strings.HasPrefix(e.Where, "/") || e.Where == "" {
			moved.Where = path + e.Where
		} else {
			moved.Where = path + ", " + e.Where
		}
		return &moved
	}
	return err
}

func leaves(v jcs.Value) ([]RegistryLeaf, error) {
	list, ok := v.(jcs.Array)
	if !ok {
		return nil, refuse(report.CodeProofBundleType, "/registry", "an array", kind(v))
	}
	if len(list) == 0 {
		return nil, refuse(report.CodeProofBundleValue, "/registry", "at least the genesis leaf", "an empty array")
	}
	out := make([]RegistryLeaf, 0, len(list))
	for i, item := range list {
		path := fmt.Sprintf("/registry/%d", i)
		o, ok := item.(jcs.Object)
		if !ok {
			return nil, refuse(report.CodeProofBundleType, path, "an object", kind(item))
		}
		l, err := leaf(o, path)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

func leaf(o jcs.Object, path string) (l RegistryLeaf, err error) {
	if err := members(o, path, []string{"envelope", "index", "proof"}); err != nil {
		return l, err
	}
	if l.Envelope, err = envelope(o, path); err != nil {
		return l, err
	}
	v, _ := o.Get("index")
	n, ok := v.(jcs.Number)
	if !ok {
		return l, refuse(report.CodeProofBundleType, path+"/index", "a number", kind(v))
	}
	if n < 0 || n > dagcbor.MaxInt || n != jcs.Number(uint64(n)) {
		return l, refuse(report.CodeProofBundleValue, path+"/index", "an integer from 0 to 2^53-1", strconv.FormatFloat(float64(n), 'g', -1, 64))
	}
	l.Index = uint64(n)
	v, _ = o.Get("proof")
	l.Proof, err = hashes(v, path+"/proof")
	return l, err
}

// checkIndex keeps indexes where every JSON reader keeps them exact.
func checkIndex(where string, n uint64) error {
	if n > dagcbor.MaxInt {
		return refuse(report.CodeProofBundleValue, where, "an index up to 2^53-1", strconv.FormatUint(n, 10))
	}
	return nil
}

func disclosures(v jcs.Value) ([]preview.Disclosure, error) {
	list, ok := v.(jcs.Array)
	if !ok {
		return nil, refuse(report.CodeProofBundleType, "/disclosures", "an array", kind(v))
	}
	if len(list) == 0 {
		return nil, refuse(report.CodeProofBundleValue, "/disclosures", "at least one, or no such member", "an empty array")
	}
	if len(list) > MaxDisclosures {
		return nil, refuse(report.CodeProofBundleValue, "/disclosures", fmt.Sprintf("at most %d disclosures", MaxDisclosures), strconv.Itoa(len(list)))
	}
	out := make([]preview.Disclosure, 0, len(list))
	for i, item := range list {
		doc, err := jcs.Append(nil, item)
		if err != nil {
			return nil, err
		}
		d, err := preview.ParseDisclosure(doc)
		if err != nil {
			return nil, under(fmt.Sprintf("/disclosures/%d", i), err)
		}
		out = append(out, d)
	}
	return out, nil
}

// kind names the JSON type of a value.
func kind(v jcs.Value) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case jcs.Null:
		return "null"
	case jcs.Bool:
		return "a boolean"
	case jcs.Number:
		return "a number"
	case jcs.String:
		return "a string"
	case jcs.Array:
		return "an array"
	}
	return "an object"
}
