package dsse

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/report"
)

// sig64 is 64 bytes whose base64 has every special character in it.
func sig64() (sig [64]byte) {
	copy(sig[:], bytes.Repeat([]byte{0xfb, 0xff, 0xbe}, 22))
	return sig
}

func TestParseJSONAccepts(t *testing.T) {
	sig := sig64()
	std, url := base64.StdEncoding.EncodeToString(sig[:]), base64.URLEncoding.EncodeToString(sig[:])
	rawStd, rawURL := strings.TrimRight(std, "="), strings.TrimRight(url, "=")
	want := &Loose{Type: "a/b", Payload: []byte{0xfb, 0xff}, Sigs: [][64]byte{sig}}
	for name, text := range map[string]string{
		"standard, padded":     `{"payload":"+/8=","payloadType":"a/b","signatures":[{"sig":"` + std + `"}]}`,
		"standard, unpadded":   `{"payload":"+/8","payloadType":"a/b","signatures":[{"sig":"` + rawStd + `"}]}`,
		"URL-safe, padded":     `{"payload":"-_8=","payloadType":"a/b","signatures":[{"sig":"` + url + `"}]}`,
		"URL-safe, unpadded":   `{"payload":"-_8","payloadType":"a/b","signatures":[{"sig":"` + rawURL + `"}]}`,
		"one of each":          `{"payload":"+/8","payloadType":"a/b","signatures":[{"sig":"` + url + `"}]}`,
		"another order":        `{"signatures":[{"sig":"` + std + `"}],"payloadType":"a/b","payload":"+/8="}`,
		"white space":          " {\n\t\"payload\" : \"+/8=\" ,\r\n\"payloadType\":\"a/b\", \"signatures\": [ { \"sig\" : \"" + std + "\" } ] } \n",
		"escapes":              `{"payl\u006fad":"\u002b\/8=","payloadType":"a\/b","signatures":[{"sig":"` + std + `"}]}`,
		"keyid":                `{"payload":"+/8=","payloadType":"a/b","signatures":[{"keyid":"whoever","sig":"` + std + `"}]}`,
		"empty keyid":          `{"payload":"+/8=","payloadType":"a/b","signatures":[{"sig":"` + std + `","keyid":""}]}`,
		"unknown members":      `{"x":{"payload":1,"payload":[null,true,false,-0.5e+3,"\ud83d\ude00"]},"payload":"+/8=","payloadType":"a/b","signatures":[{"cert":"-----","sig":"` + std + `","y":{}}],"z":[]}`,
		"other cases of those": `{"x":1,"X":2,"payload":"+/8=","payloadType":"a/b","signatures":[{"sig":"` + std + `","payload":0,"Payload":0}]}`,
		"nested 30 deep":       `{"x":` + strings.Repeat("[", 30) + strings.Repeat("]", 30) + `,"payload":"+/8=","payloadType":"a/b","signatures":[{"sig":"` + std + `"}]}`,
	} {
		got, err := ParseJSON([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// Depth is of what is open, not of what was: forty values beside each other.
	side := func(name, v string) string { return `"` + name + `":[` + strings.Repeat(v+",", 40) + v + `],` }
	wide := `{` + side("a", `{}`) + side("b", `[]`) + side("c", `{"":[]}`) + `"signatures":[` + strings.Repeat(`{"sig":"`+std+`"},`, 12) + `{"sig":"` + std + `"}],"y":` + strings.Repeat("[", 30) + strings.Repeat("]", 30) + `,"payload":"","payloadType":""}`
	if _, err := ParseJSON([]byte(wide)); err != nil {
		t.Errorf("many beside each other: %v", err)
	}
	empty := `{"payload":"","payloadType":"","signatures":[{"sig":"` + std + `"}]}`
	if got, err := ParseJSON([]byte(empty)); err != nil || len(got.Payload) != 0 || got.Type != "" {
		t.Errorf("empty payload and type: %v, %v", got, err)
	}
}

func TestParseJSONRefuses(t *testing.T) {
	sig := sig64()
	s := base64.StdEncoding.EncodeToString(sig[:])
	good := `{"payload":"+/8=","payloadType":"t","signatures":[{"sig":"` + s + `"}]}`
	if _, err := ParseJSON([]byte(good)); err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		t.Helper()
		if strings.Count(good, old) != 1 {
			t.Fatalf("%q stands %d times", old, strings.Count(good, old))
		}
		return strings.Replace(good, old, new, 1)
	}
	first := func(member string) string { return strings.Replace(good, "{", "{"+member+",", 1) }
	inSig := func(member string) string { return change(`{"sig"`, `{`+member+`,"sig"`) }
	for _, tc := range []struct {
		name, text string
		code       report.Code
		where      string // empty: any
	}{
		{"nothing", "", report.CodeDSSESyntax, "byte 0"},
		{"white space", " \n", report.CodeDSSESyntax, "byte 2"},
		{"a list", "[" + good + "]", report.CodeDSSESyntax, "byte 0"},
		{"null", "null", report.CodeDSSESyntax, "byte 0"},
		{"a byte order mark", "\ufeff" + good, report.CodeDSSESyntax, "byte 0"},
		{"cut", good[:len(good)-1], report.CodeDSSESyntax, ""},
		{"cut in a string", good[:20], report.CodeDSSESyntax, "byte 20"},
		{"a comma too many", change(`"}]}`, `"}],}`), report.CodeDSSESyntax, ""},
		{"a comma too many in the list", change(`"}]}`, `"},]}`), report.CodeDSSESyntax, ""},
		{"a comma too few", change(`"payloadType":"t",`, `"payloadType":"t"`), report.CodeDSSESyntax, ""},
		{"no colon", change(`"payload":`, `"payload"`), report.CodeDSSESyntax, ""},
		{"single quotes", strings.ReplaceAll(good, `"`, `'`), report.CodeDSSESyntax, "byte 1"},
		{"a comment", good[:1] + "/**/" + good[1:], report.CodeDSSESyntax, "byte 1"},
		{"control character", change(`"t"`, "\"\x01\""), report.CodeDSSESyntax, ""},
		{"line break in base64", change(`+/8=`, "+/\n8="), report.CodeDSSESyntax, ""},
		{"bad escape", change(`"t"`, `"\x41"`), report.CodeDSSESyntax, ""},
		{"short escape", change(`"t"`, `"\u00g0"`), report.CodeDSSESyntax, ""},
		{"control characters for digits", change(`"t"`, "\"\\u\x10\x11\x12\x13\""), report.CodeDSSESyntax, ""},
		{"escape at the end", `{"payload":"\`, report.CodeDSSESyntax, ""},
		{"u escape at the end", `{"payload":"\u12`, report.CodeDSSESyntax, ""},
		{"bad number", first(`"x":01`), report.CodeDSSESyntax, ""},
		{"bad fraction", first(`"x":1.`), report.CodeDSSESyntax, ""},
		{"bad exponent", first(`"x":1e`), report.CodeDSSESyntax, ""},
		{"plus", first(`"x":+1`), report.CodeDSSESyntax, ""},
		{"minus alone", first(`"x":-`), report.CodeDSSESyntax, ""},
		{"bad word", first(`"x":nul`), report.CodeDSSESyntax, ""},
		{"other word", first(`"x":NaN`), report.CodeDSSESyntax, ""},
		{"ignored member without a value", first(`"x":`), report.CodeDSSESyntax, ""},
		{"ignored object without a colon", first(`"x":{"y"}`), report.CodeDSSESyntax, ""},
		{"ignored object with a number for name", first(`"x":{1:2}`), report.CodeDSSESyntax, ""},
		{"ignored object left open", first(`"x":{"y":1`), report.CodeDSSESyntax, ""},
		{"ignored list left open", first(`"x":[1`), report.CodeDSSESyntax, ""},
		{"too deep", first(`"x":` + strings.Repeat("[", 32) + strings.Repeat("]", 32)), report.CodeDSSESyntax, ""},
		{"too deep, objects", first(`"x":` + strings.Repeat(`{"":`, 32) + "0" + strings.Repeat("}", 32)), report.CodeDSSESyntax, ""},
		{"100,000 deep", strings.Repeat(`{"x":[`, 50000), report.CodeDSSESyntax, ""},
		{"65 members", first(manyMembers(62)), report.CodeDSSESyntax, ""},

		{"a second envelope", good + good, report.CodeDSSETrailing, fmt.Sprintf("byte %d", len(good))},
		{"a NUL behind it", good + "\x00", report.CodeDSSETrailing, ""},
		{"a brace behind it", good + " }", report.CodeDSSETrailing, ""},

		{"invalid UTF-8", change(`"t"`, "\"\xff\""), report.CodeDSSEUTF8, ""},
		{"invalid UTF-8 where it is ignored", first("\"x\":\"\xc0\x80\""), report.CodeDSSEUTF8, ""},
		{"encoded surrogate", change(`"t"`, "\"\xed\xa0\x80\""), report.CodeDSSEUTF8, ""},
		{"high surrogate alone", change(`"t"`, `"\ud83d"`), report.CodeDSSEUTF8, ""},
		{"low surrogate alone", change(`"t"`, `"\ude00\ud83d"`), report.CodeDSSEUTF8, ""},
		{"two high surrogates", change(`"t"`, `"\ud83d\ud83d"`), report.CodeDSSEUTF8, ""},
		{"half a pair where it is ignored", inSig(`"keyid":"\ud83d"`), report.CodeDSSEUTF8, ""},

		{"payload twice", first(`"payload":"+/8="`), report.CodeDSSEDuplicate, ""},
		{"payload twice, escaped", first(`"p\u0061yload":"AA=="`), report.CodeDSSEDuplicate, ""},
		{"payloadType twice", first(`"payloadType":"t"`), report.CodeDSSEDuplicate, ""},
		{"signatures twice", first(`"signatures":[{"sig":"` + s + `"}]`), report.CodeDSSEDuplicate, ""},
		{"sig twice", inSig(`"sig":"` + s + `"`), report.CodeDSSEDuplicate, ""},
		{"keyid twice", inSig(`"keyid":"","keyid":""`), report.CodeDSSEDuplicate, ""},
		{"an unknown member twice", first(`"x":1,"x":1`), report.CodeDSSEDuplicate, ""},

		{"Payload", first(`"Payload":"+/8="`), report.CodeDSSECase, "byte 1"},
		{"payloadtype", change(`"payloadType"`, `"payloadtype"`), report.CodeDSSECase, ""},
		{"SIGNATURES", change(`"signatures"`, `"SIGNATURES"`), report.CodeDSSECase, ""},
		{"with a long s", change(`"signatures"`, `"ſignatures"`), report.CodeDSSECase, ""},
		{"Sig", inSig(`"Sig":""`), report.CodeDSSECase, ""},
		{"keyID", inSig(`"keyID":""`), report.CodeDSSECase, ""},
		{"with a Kelvin sign", inSig(`"\u212aeyid":""`), report.CodeDSSECase, ""},

		{"no payload", change(`"payload":"+/8=",`, ``), report.CodeDSSEMissing, ""},
		{"no payloadType", change(`"payloadType":"t",`, ``), report.CodeDSSEMissing, ""},
		{"no signatures", `{"payload":"","payloadType":""}`, report.CodeDSSEMissing, ""},
		{"an empty object", `{}`, report.CodeDSSEMissing, ""},
		{"no sig", change(`{"sig":"`+s+`"}`, `{}`), report.CodeDSSEMissing, "/signatures/0"},
		{"only keyid", change(`"sig"`, `"keyid"`), report.CodeDSSEMissing, "/signatures/0"},

		{"payload null", change(`"+/8="`, `null`), report.CodeDSSEType, "/payload"},
		{"payload a number", change(`"+/8="`, `5`), report.CodeDSSEType, "/payload"},
		{"payloadType an object", change(`"t"`, `{}`), report.CodeDSSEType, "/payloadType"},
		{"signatures an object", change(`[{"sig":"`+s+`"}]`, `{"sig":"`+s+`"}`), report.CodeDSSEType, "/signatures"},
		{"signatures a string", change(`[{"sig":"`+s+`"}]`, `"`+s+`"`), report.CodeDSSEType, "/signatures"},
		{"signature a string", change(`{"sig":"`+s+`"}`, `"`+s+`"`), report.CodeDSSEType, "/signatures/0"},
		{"sig a list", change(`"`+s+`"`, `[]`), report.CodeDSSEType, "/signatures/0/sig"},
		{"keyid null", inSig(`"keyid":null`), report.CodeDSSEType, "/signatures/0/keyid"},
		{"keyid a boolean", inSig(`"keyid":true`), report.CodeDSSEType, "/signatures/0/keyid"},

		{"mixed alphabets", change(`+/8=`, `+_8=`), report.CodeDSSEBase64, "/payload"},
		{"half padded", change(`+/8=`, `+w=`), report.CodeDSSEBase64, "/payload"},
		{"padded too much", change(`+/8=`, `+/8==`), report.CodeDSSEBase64, "/payload"},
		{"four pads", change(`+/8=`, `+/8=====`), report.CodeDSSEBase64, "/payload"},
		{"pads alone", change(`+/8=`, `====`), report.CodeDSSEBase64, "/payload"},
		{"pad inside", change(`+/8=`, `+w==+/8=`), report.CodeDSSEBase64, "/payload"},
		{"one character", change(`+/8=`, `A`), report.CodeDSSEBase64, "/payload"},
		{"a space", change(`+/8=`, `+/ 8=`), report.CodeDSSEBase64, "/payload"},
		{"a line break", change(`+/8=`, `+/8=\n`), report.CodeDSSEBase64, "/payload"},
		{"a line break inside", change(`+/8=`, `+/\r\n8=`), report.CodeDSSEBase64, "/payload"},
		{"a line break for a character", change(`+/8=`, `+/8\n`), report.CodeDSSEBase64, "/payload"},
		{"spare bits of two", change(`+/8=`, `+/9=`), report.CodeDSSEBase64, "/payload"},
		{"spare bits of one", change(`+/8=`, `+x==`), report.CodeDSSEBase64, "/payload"},
		{"spare bits, unpadded", change(`+/8=`, `+/9`), report.CodeDSSEBase64, "/payload"},
		{"not base64", change(s, `!`+s[1:]), report.CodeDSSEBase64, "/signatures/0/sig"},

		{"no signature", change(`{"sig":"`+s+`"}`, ``), report.CodeDSSESigCount, "/signatures"},
		{"14 signatures", change(`{"sig":"`+s+`"}`, strings.Repeat(`{"sig":"`+s+`"},`, 13)+`{"sig":"`+s+`"}`), report.CodeDSSESigCount, "/signatures"},
		{"empty sig", change(s, ``), report.CodeDSSESigSize, "/signatures/0/sig"},
		{"sig of 63", change(s, base64.StdEncoding.EncodeToString(sig[:63])), report.CodeDSSESigSize, "/signatures/0/sig"},
		{"sig of 65", change(s, base64.StdEncoding.EncodeToString(append(sig[:], 0))), report.CodeDSSESigSize, "/signatures/0/sig"},
	} {
		got, err := ParseJSON([]byte(tc.text))
		e, ok := err.(*report.Error)
		if !ok || got != nil || e.Code != tc.code || tc.where != "" && e.Where != tc.where {
			t.Errorf("%s: %v, %v; want %s at %q", tc.name, got, err, tc.code, tc.where)
		}
	}
	thirteen := change(`{"sig":"`+s+`"}`, strings.Repeat(`{"sig":"`+s+`"},`, 12)+`{"sig":"`+s+`"}`)
	if got, err := ParseJSON([]byte(thirteen)); err != nil || len(got.Sigs) != 13 {
		t.Errorf("13 signatures: %v", err)
	}
	if _, err := ParseJSON([]byte(first(manyMembers(61)))); err != nil {
		t.Errorf("64 members: %v", err)
	}
}

// manyMembers returns n unknown members.
func manyMembers(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"m%d":0`, i))
	}
	return strings.Join(list, ",")
}

// TestReaderIsJSON: what the reader skips is what encoding/json calls valid,
// but for depth, UTF-8 and halves of surrogate pairs.
func TestReaderIsJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(
			rapid.StringOfN(rapid.SampledFrom([]rune(`{}[]:,"\/ubfnrt0123456789.eE+-truefalsnl `+"\n\x01é")), 0, 30, -1),
			rapid.Custom(drawJSON),
		).Draw(rt, "text")
		r := &jsonReader{b: []byte(text)}
		e := r.skip()
		r.space()
		ours := e == nil && r.pos == len(text)
		if theirs := json.Valid([]byte(text)); ours != theirs && (e == nil || e.Code != report.CodeDSSEUTF8) {
			rt.Fatalf("%q: ours says %v (%v), encoding/json %v", text, ours, e, theirs)
		}
		if len(text) > 0 && text[0] == '"' && ours {
			var want string
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				rt.Fatal(err)
			}
			r := &jsonReader{b: []byte(text)}
			if got, e := r.str(); e != nil || string(got) != want {
				rt.Fatalf("%q reads as %q, %v; encoding/json has %q", text, got, e, want)
			}
		}
	})
}

// drawJSON draws valid JSON, three levels deep at most.
func drawJSON(t *rapid.T) string {
	var v any
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		v = rapid.String().Draw(t, "string")
	case 1:
		v = rapid.Float64Range(-1e300, 1e300).Draw(t, "number")
	case 2:
		v = rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.Bool())).Draw(t, "object")
	default:
		v = []any{nil, rapid.Int().Draw(t, "int"), map[string]any{"": rapid.String().Draw(t, "inner")}}
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestJSONEscapes: any valid text as a type comes back, and encoding/json reads
// the same.
func TestJSONEscapes(t *testing.T) {
	var all []rune
	for c := range rune(0x100) {
		all = append(all, c)
	}
	control := (&Envelope{Type: string(all)}).JSON()
	var read standardEnvelope
	if err := json.Unmarshal(control, &read); err != nil || read.PayloadType != string(all) {
		t.Errorf("%s: %q, %v", control, read.PayloadType, err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		env := &Envelope{
			Type:    rapid.String().Draw(rt, "type"),
			Payload: rapid.SliceOf(rapid.Byte()).Draw(rt, "payload"),
			Sigs:    []Signature{{By: KeyID{1}, Sig: sig64()}, {By: KeyID{2}}},
		}
		text := env.JSON()
		l, err := ParseJSON(text)
		if err != nil {
			rt.Fatal(err)
		}
		if l.Type != env.Type || !bytes.Equal(l.Payload, env.Payload) || len(l.Sigs) != 2 || l.Sigs[0] != env.Sigs[0].Sig {
			rt.Fatalf("%s reads as %v", text, l)
		}
		var theirs standardEnvelope
		if err := json.Unmarshal(text, &theirs); err != nil {
			rt.Fatal(err)
		}
		if theirs.PayloadType != env.Type || !bytes.Equal(theirs.Payload, env.Payload) || theirs.Signatures[1].KeyID != env.Sigs[1].By.String() {
			rt.Fatalf("%s is to encoding/json %v", text, theirs)
		}
	})
}

// standardEnvelope is DSSE JSON as encoding/json reads it.
type standardEnvelope struct {
	Payload     []byte `json:"payload"`
	PayloadType string `json:"payloadType"`
	Signatures  []struct {
		KeyID string `json:"keyid"`
		Sig   []byte `json:"sig"`
	} `json:"signatures"`
}

// TestBase64 holds the four spellings, and that what is refused is no other
// spelling of anything.
func TestBase64(t *testing.T) {
	encodings := []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding}
	rapid.Check(t, func(rt *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes")
		for _, enc := range encodings {
			if got, e := decodeBase64([]byte(enc.EncodeToString(b)), ""); e != nil || !bytes.Equal(got, b) {
				rt.Fatalf("%x reads back as %x, %v", b, got, e)
			}
		}
		text := rapid.StringOf(rapid.SampledFrom([]rune("AQgw/+-_=9\n\r "))).Draw(rt, "text")
		got, e := decodeBase64([]byte(text), "")
		spelling := false
		for _, enc := range encodings {
			spelling = spelling || e == nil && enc.EncodeToString(got) == text
			if strict, err := enc.Strict().DecodeString(text); err == nil && !strings.ContainsAny(text, "\r\n") && (e != nil || !bytes.Equal(strict, got)) {
				rt.Fatalf("%q is %x to encoding/base64, %x, %v here", text, strict, got, e)
			}
		}
		if e == nil && !spelling {
			rt.Fatalf("%q reads as %x, which nothing spells so", text, got)
		}
	})
}
