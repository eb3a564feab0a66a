package dsse

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
)

var update = flag.Bool("update", false, "write golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestGolden fixes both spellings of one envelope with two signatures. A change
// here is a change of the format.
func TestGolden(t *testing.T) {
	env, err := SignMany(ReceiptType, []byte("\xa1\x61k\x18*"), testKeys("golden one", "golden two")...)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := env.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for text := hex.EncodeToString(leaf); text != ""; {
		n := min(64, len(text))
		lines = append(lines, text[:n])
		text = text[n:]
	}
	golden(t, "leaf.hex", []byte(strings.Join(lines, "\n")+"\n"))
	golden(t, "envelope.json", append(env.JSON(), '\n'))
	golden(t, "key.pem", MarshalPublicKeyPEM(publicOf(testKey("golden one"))))
}

func TestPAE(t *testing.T) {
	for _, tc := range []struct{ typ, payload, want string }{
		// The example of DSSE v1.0.2, protocol.md.
		{"http://example.com/HelloWorld", "hello world", "DSSEv1 29 http://example.com/HelloWorld 11 hello world"},
		{"", "", "DSSEv1 0  0 "},
		{"ü", "\x00\xff", "DSSEv1 2 ü 2 \x00\xff"}, // bytes, not characters
	} {
		if got := string(PAE(tc.typ, []byte(tc.payload))); got != tc.want {
			t.Errorf("PAE(%q, %q) is %q, want %q", tc.typ, tc.payload, got, tc.want)
		}
	}
}

func TestLeafRoundTrip(t *testing.T) {
	names := strings.Split("abcdefghijklm", "")
	for n := 1; n <= MaxSignatures; n++ {
		payload := bytes.Repeat([]byte{byte(n)}, 7*n)
		env, err := SignMany(RegistryType, payload, testKeys(names[:n]...)...)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := env.Leaf()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseLeaf(leaf)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(env, back); diff != "" {
			t.Errorf("%d signatures: %s", n, diff)
		}
		if again, err := back.Leaf(); err != nil || !bytes.Equal(again, leaf) {
			t.Errorf("%d signatures: again %x, %v", n, again, err)
		}
		loose, err := ParseJSON(env.JSON())
		if err != nil {
			t.Fatal(err)
		}
		var keys []ed25519.PublicKey
		for _, name := range names {
			keys = append(keys, publicOf(testKey(name)))
		}
		bound, err := bindKeys(loose, keys)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(env, bound); diff != "" {
			t.Errorf("%d signatures through JSON: %s", n, diff)
		}
		clear(leaf) // the envelope keeps nothing of it
		if diff := cmp.Diff(env, back); diff != "" {
			t.Errorf("the envelope changed with the leaf: %s", diff)
		}
	}
}

// TestLargestLeaf: the largest payload with the most signatures fits a log
// entry, and one byte more is refused everywhere.
func TestLargestLeaf(t *testing.T) {
	keys := testKeys(strings.Split("abcdefghijklm", "")...)
	env, err := SignMany(RegistryType, make([]byte, MaxPayload), keys...)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := env.Leaf()
	if err != nil || len(leaf) > MaxLeaf {
		t.Fatalf("%d bytes, %v", len(leaf), err)
	}
	if _, err := ParseLeaf(leaf); err != nil {
		t.Error(err)
	}
	if _, err := ParseJSON(env.JSON()); err != nil {
		t.Error(err)
	}
	tooLarge := func(what string, err error, want report.Code) {
		t.Helper()
		if got := report.CodeOf(err); got != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	_, err = Sign(ReceiptType, make([]byte, MaxPayload+1), keys[0])
	tooLarge("Sign", err, report.CodeDSSEPayloadSize)
	env.Payload = make([]byte, MaxPayload+1)
	_, err = env.Leaf()
	tooLarge("Leaf", err, report.CodeDSSEPayloadSize)
	_, err = ParseJSON(env.JSON())
	tooLarge("ParseJSON", err, report.CodeDSSEPayloadSize)
	_, err = Verify(env, ring(keys...))
	tooLarge("Verify", err, report.CodeDSSEPayloadSize)
	small := &Envelope{Type: "t", Sigs: env.Sigs[:1], Payload: make([]byte, MaxPayload+1)}
	b, err := dagcbor.Encode(leafValue(small))
	if err != nil {
		t.Fatal(err)
	}
	_, err = ParseLeaf(b)
	tooLarge("ParseLeaf", err, report.CodeDSSEPayloadSize)

	long := &Envelope{Type: strings.Repeat("t", MaxLeaf), Sigs: env.Sigs[:1]}
	_, err = long.Leaf()
	tooLarge("Leaf of a long type", err, report.CodeLeafSize)
	b, err = dagcbor.Encode(leafValue(long))
	if err != nil {
		t.Fatal(err)
	}
	_, err = ParseLeaf(b)
	tooLarge("ParseLeaf of a long type", err, report.CodeLeafSize)
}

// leafValue is a leaf as a tree that tests can spoil.
func leafValue(e *Envelope) dagcbor.Map {
	var sigs dagcbor.List
	for i := range e.Sigs {
		s := e.Sigs[i]
		sigs = append(sigs, dagcbor.Map{{Key: "by", Value: dagcbor.Bytes(s.By[:])}, {Key: "sig", Value: dagcbor.Bytes(s.Sig[:])}})
	}
	return dagcbor.Map{
		{Key: "sigs", Value: sigs},
		{Key: "type", Value: dagcbor.Text(e.Type)},
		{Key: "payload", Value: dagcbor.Bytes(e.Payload)},
	}
}

func TestParseLeafRefuses(t *testing.T) {
	env, err := SignMany(ReceiptType, []byte("payload"), testKeys("a", "b")...)
	if err != nil {
		t.Fatal(err)
	}
	one := dagcbor.Map{{Key: "by", Value: dagcbor.Bytes(make([]byte, 32))}, {Key: "sig", Value: dagcbor.Bytes(make([]byte, 64))}}
	with := func(key string, v dagcbor.Value) dagcbor.Value {
		m := leafValue(env)
		for i := range m {
			if m[i].Key == key {
				m[i].Value = v
				return m
			}
		}
		return append(m, dagcbor.Entry{Key: key, Value: v})
	}
	without := func(key string) dagcbor.Value {
		var m dagcbor.Map
		for _, e := range leafValue(env) {
			if e.Key != key {
				m = append(m, e)
			}
		}
		return m
	}
	sigs := func(list ...dagcbor.Value) dagcbor.Value { return with("sigs", dagcbor.List(list)) }
	sig := func(key string, v dagcbor.Value) dagcbor.Value {
		m := dagcbor.Map{}
		for _, e := range one {
			if e.Key != key {
				m = append(m, e)
			}
		}
		if v != nil {
			m = append(m, dagcbor.Entry{Key: key, Value: v})
		}
		return sigs(m)
	}
	first, second := leafValue(env)[0].Value.(dagcbor.List)[0], leafValue(env)[0].Value.(dagcbor.List)[1]
	var many []dagcbor.Value
	for i := range MaxSignatures + 1 {
		by := make(dagcbor.Bytes, 32)
		by[0] = byte(i)
		many = append(many, dagcbor.Map{{Key: "by", Value: by}, one[1]})
	}
	for _, tc := range []struct {
		name  string
		v     dagcbor.Value
		code  report.Code
		where string
	}{
		{"a list", dagcbor.List{}, report.CodeLeafForm, ""},
		{"an empty map", dagcbor.Map{}, report.CodeLeafForm, ""},
		{"no sigs", without("sigs"), report.CodeLeafForm, ""},
		{"no type", without("type"), report.CodeLeafForm, ""},
		{"no payload", without("payload"), report.CodeLeafForm, ""},
		{"one more key", with("zz", dagcbor.Int(1)), report.CodeLeafForm, ""},
		{"one more key at the end", with("payload2", dagcbor.Int(1)), report.CodeLeafForm, ""},
		{"sigs not a list", with("sigs", one), report.CodeLeafForm, "/sigs"},
		{"type not a text", with("type", dagcbor.Bytes("t")), report.CodeLeafForm, "/type"},
		{"payload not bytes", with("payload", dagcbor.Text("p")), report.CodeLeafForm, "/payload"},
		{"no signature", sigs(), report.CodeDSSESigCount, ""},
		{"14 signatures", sigs(many...), report.CodeDSSESigCount, ""},
		{"signature not a map", sigs(dagcbor.Int(1)), report.CodeLeafForm, "/sigs/0"},
		{"no by", sig("by", nil), report.CodeLeafForm, "/sigs/0"},
		{"no sig", sig("sig", nil), report.CodeLeafForm, "/sigs/0"},
		{"one more member", sig("zzz", dagcbor.Int(1)), report.CodeLeafForm, "/sigs/0"},
		{"by not bytes", sig("by", dagcbor.Text("x")), report.CodeLeafForm, "/sigs/0/by"},
		{"by of 31", sig("by", make(dagcbor.Bytes, 31)), report.CodeLeafForm, "/sigs/0/by"},
		{"by of 33", sig("by", make(dagcbor.Bytes, 33)), report.CodeLeafForm, "/sigs/0/by"},
		{"sig of 63", sig("sig", make(dagcbor.Bytes, 63)), report.CodeLeafForm, "/sigs/0/sig"},
		{"sig of 65", sig("sig", make(dagcbor.Bytes, 65)), report.CodeLeafForm, "/sigs/0/sig"},
		{"descending", sigs(second, first), report.CodeDSSESigOrder, "/sigs/1/by"},
		{"twice", sigs(first, first), report.CodeDSSESigOrder, "/sigs/1/by"},
	} {
		b, err := dagcbor.Encode(tc.v)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		got, err := ParseLeaf(b)
		e, ok := err.(*report.Error)
		if !ok || got != nil || e.Code != tc.code || e.Where != tc.where {
			t.Errorf("%s: %v, %v; want %s at %q", tc.name, got, err, tc.code, tc.where)
		}
	}
	// What is not canonical is refused before its form is looked at.
	leaf, err := env.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"nothing":      nil,
		"a byte more":  append(bytes.Clone(leaf), 0),
		"a byte fewer": leaf[:len(leaf)-1],
		"JSON":         env.JSON(),
	} {
		if _, err := ParseLeaf(b); !strings.HasPrefix(string(report.CodeOf(err)), "CBOR-") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLeafRefuses: an envelope put together by hand is held to the same form.
func TestLeafRefuses(t *testing.T) {
	good, err := SignMany("t", []byte("p"), testKeys("a", "b")...)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		env  Envelope
		code report.Code
	}{
		"no signature": {Envelope{Type: "t"}, report.CodeDSSESigCount},
		"descending":   {Envelope{Type: "t", Sigs: []Signature{good.Sigs[1], good.Sigs[0]}}, report.CodeDSSESigOrder},
		"twice":        {Envelope{Type: "t", Sigs: []Signature{good.Sigs[0], good.Sigs[0]}}, report.CodeDSSESigOrder},
		"14":           {Envelope{Type: "t", Sigs: make([]Signature, 14)}, report.CodeDSSESigCount},
		"broken type":  {Envelope{Type: "\xff", Sigs: good.Sigs}, report.CodeCBORUTF8},
	} {
		if b, err := tc.env.Leaf(); report.CodeOf(err) != tc.code || b != nil {
			t.Errorf("%s: %x, %v, want %s", name, b, err, tc.code)
		}
		if _, err := Verify(&tc.env, ring(testKeys("a", "b")...)); name != "broken type" && report.CodeOf(err) != tc.code {
			t.Errorf("%s: Verify says %v, want %s", name, err, tc.code)
		}
	}
}

func TestSignRefuses(t *testing.T) {
	key := testKey("a")
	for name, tc := range map[string]struct {
		keys []ed25519.PrivateKey
		code report.Code
	}{
		"no key":      {nil, report.CodeDSSESigCount},
		"a short key": {[]ed25519.PrivateKey{key[:63]}, report.CodeKeyForm},
		"a nil key":   {[]ed25519.PrivateKey{nil}, report.CodeKeyForm},
		"a key twice": {[]ed25519.PrivateKey{key, testKey("b"), key}, report.CodeDSSESigDuplicate},
		"14 keys":     {testKeys(strings.Split("abcdefghijklmn", "")...), report.CodeDSSESigCount},
	} {
		if env, err := SignMany("t", nil, tc.keys...); report.CodeOf(err) != tc.code || env != nil {
			t.Errorf("%s: %v, %v, want %s", name, env, err, tc.code)
		}
	}
	payload := []byte("payload")
	env, err := Sign("t", payload, key)
	if err != nil {
		t.Fatal(err)
	}
	payload[0] = 'X'
	if string(env.Payload) != "payload" {
		t.Error("Sign keeps the caller's payload")
	}
}
