package dsse

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat/report"
)

// Loose is a DSSE JSON envelope whose signatures are not yet bound to keys,
// because keyid is an unauthenticated hint that is ignored. Sigs are in the
// order in which they stood. It owns its payload.
type Loose struct {
	Type    string
	Payload []byte
	Sigs    [][64]byte
}

// ParseJSON reads a DSSE JSON envelope strictly (spec/leaf.md#json):
//
//	{"payload": base64, "payloadType": text, "signatures": [{"keyid"?: text, "sig": base64}]}
//
// Members that DSSE does not name are ignored, as it says they must be. Refused
// are: a member that is missing, of another type, or there twice; a name that
// is one of DSSE's but for upper and lower case; base64 other than in one
// alphabet, standard or URL-safe, padded or not, without line breaks, its spare
// bits zero; invalid UTF-8; anything but white space behind the object; no
// signature, or more than MaxSignatures; a signature that is not 64 bytes.
// Where of the error is "byte N" or a path such as "/signatures/0/sig".
func ParseJSON(b []byte) (*Loose, error) {
	raw, e := parseJSON(b)
	if e != nil {
		return nil, e
	}
	payload, e := decodeBase64(raw.payload, "/payload")
	if e != nil {
		return nil, e
	}
	if err := checkPayloadSize(len(payload)); err != nil {
		return nil, err
	}
	l := &Loose{Type: string(raw.payloadType), Payload: payload, Sigs: make([][64]byte, len(raw.sigs))}
	for i, text := range raw.sigs {
		sig, e := decodeBase64(text, "/sig")
		if e == nil && len(sig) != len(l.Sigs[i]) {
			e = refuse(report.CodeDSSESigSize, "/sig", "the 64 bytes of an Ed25519 signature", fmt.Sprintf("%d bytes", len(sig)))
		}
		if e != nil {
			return nil, inSignature(i, e)
		}
		copy(l.Sigs[i][:], sig)
	}
	return l, nil
}

// rawEnvelope is what the JSON says, with base64 as it stands. It knows nothing
// of algorithms, and aliases the JSON.
type rawEnvelope struct {
	payload, payloadType []byte // nil where there is none
	sigs                 [][]byte
	hasSigs              bool
}

func parseJSON(b []byte) (*rawEnvelope, *report.Error) {
	if !utf8.Valid(b) {
		return nil, refuse(report.CodeDSSEUTF8, "", "valid UTF-8", "bytes that are not")
	}
	r := &jsonReader{b: b}
	if r.peek() != '{' {
		return nil, r.syntax("an object")
	}
	raw := new(rawEnvelope)
	e := r.object("", []string{"payload", "payloadType", "signatures"}, func(i int) (e *report.Error) {
		switch i {
		case 0:
			raw.payload, e = r.text("/payload")
		case 1:
			raw.payloadType, e = r.text("/payloadType")
		case 2:
			raw.hasSigs = true
			e = r.array("/signatures", func(i int) *report.Error { return r.signature(raw, i) })
		}
		return e
	})
	if e != nil {
		return nil, e
	}
	if r.space(); r.pos < len(b) {
		return nil, refuse(report.CodeDSSETrailing, byteAt(r.pos), "the end of the input", fmt.Sprintf("%d more bytes", len(b)-r.pos))
	}
	switch {
	case raw.payload == nil:
		return nil, missing("payload")
	case raw.payloadType == nil:
		return nil, missing("payloadType")
	case !raw.hasSigs:
		return nil, missing("signatures")
	case len(raw.sigs) == 0:
		return nil, refuse(report.CodeDSSESigCount, "/signatures", fmt.Sprintf("1 to %d signatures", MaxSignatures), "none")
	}
	return raw, nil
}

// signature reads one signature object.
func (r *jsonReader) signature(raw *rawEnvelope, i int) *report.Error {
	if i == MaxSignatures {
		return refuse(report.CodeDSSESigCount, "/signatures", fmt.Sprintf("1 to %d signatures", MaxSignatures), "more")
	}
	var sig []byte
	e := r.object("", []string{"keyid", "sig"}, func(i int) (e *report.Error) {
		switch i {
		case 0: // must be a text, and says nothing
			_, e = r.text("/keyid")
		case 1:
			sig, e = r.text("/sig")
		}
		return e
	})
	if e == nil && sig == nil {
		e = missing("sig")
	}
	if e != nil {
		return inSignature(i, e)
	}
	raw.sigs = append(raw.sigs, sig)
	return nil
}

// inSignature puts the signature's place before a path; a byte offset stays.
func inSignature(i int, e *report.Error) *report.Error {
	if !strings.HasPrefix(e.Where, "byte ") {
		e.Where = fmt.Sprintf("/signatures/%d%s", i, e.Where)
	}
	return e
}

func missing(name string) *report.Error {
	return refuse(report.CodeDSSEMissing, "", "the member "+name, "none")
}

func refuse(code report.Code, where, expected, actual string) *report.Error {
	return &report.Error{Code: code, Where: where, Expected: expected, Actual: actual}
}

// decodeBase64 reads one of the four spellings that RFC 4648 gives a byte
// string: standard or URL-safe, padded or not. encoding/base64 alone would skip
// line breaks and let spare bits be anything.
func decodeBase64(s []byte, where string) ([]byte, *report.Error) {
	digits := bytes.TrimRight(s, "=")
	if pad := len(s) - len(digits); pad > 0 && (pad > 2 || len(s)%4 != 0) {
		return nil, refuse(report.CodeDSSEBase64, where, "full padding or none", fmt.Sprintf("%d = at the end of %d characters", pad, len(s)))
	}
	has := func(c byte) bool { return bytes.IndexByte(digits, c) >= 0 }
	if has('\n') || has('\r') {
		return nil, refuse(report.CodeDSSEBase64, where, "no line breaks", "one")
	}
	enc := base64.RawStdEncoding
	if has('-') || has('_') {
		enc = base64.RawURLEncoding
	}
	b := make([]byte, enc.DecodedLen(len(digits)))
	if _, err := enc.Decode(b, digits); err != nil {
		return nil, refuse(report.CodeDSSEBase64, where, "base64 in one alphabet, standard or URL-safe", err.Error())
	}
	if tail := len(digits) % 4; tail > 0 && enc.EncodeToString(b[len(b)-(tail-1):]) != string(digits[len(digits)-tail:]) {
		return nil, refuse(report.CodeDSSEBase64, where, "spare bits that are zero", "others in the last character")
	}
	return b, nil
}

// JSON returns the DSSE JSON view: standard padded base64, and as keyid the
// lowercase hex of By. ParseJSON reads it; so does any DSSE implementation.
func (e *Envelope) JSON() []byte {
	size := 80 + len(e.Type) + base64.StdEncoding.EncodedLen(len(e.Payload)) + len(e.Sigs)*180
	b := make([]byte, 0, size)
	b = append(b, `{"payload":"`...)
	b = base64.StdEncoding.AppendEncode(b, e.Payload)
	b = append(b, `","payloadType":`...)
	b = appendJSONText(b, e.Type)
	b = append(b, `,"signatures":[`...)
	for i := range e.Sigs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"keyid":"`...)
		b = hex.AppendEncode(b, e.Sigs[i].By[:])
		b = append(b, `","sig":"`...)
		b = base64.StdEncoding.AppendEncode(b, e.Sigs[i].Sig[:])
		b = append(b, `"}`...)
	}
	return append(b, `]}`...)
}

// appendJSONText appends s as a JSON string: valid UTF-8 as it is, and only
// what must be escaped is. Bytes that are not UTF-8, which no parsed envelope
// has, become U+FFFD.
func appendJSONText(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < 0x20:
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return append(b, '"')
}
