package dsse

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"testing"
)

func fuzzSeeds(f *testing.F) (leaves, texts [][]byte) {
	for _, names := range [][]string{{"a"}, {"a", "b", "c"}} {
		env, err := SignMany("t/"+names[0], []byte("payload"), testKeys(names...)...)
		if err != nil {
			f.Fatal(err)
		}
		leaf, err := env.Leaf()
		if err != nil {
			f.Fatal(err)
		}
		leaves, texts = append(leaves, leaf), append(texts, env.JSON())
	}
	return leaves, texts
}

// FuzzParseLeaf: what is read is written back byte for byte, and its JSON view
// holds the same.
func FuzzParseLeaf(f *testing.F) {
	leaves, texts := fuzzSeeds(f)
	for _, b := range append(leaves, texts...) {
		f.Add(b)
	}
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, b []byte) {
		env, err := ParseLeaf(b)
		if err != nil {
			return
		}
		if again, err := env.Leaf(); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x is written back as %x, %v", b, again, err)
		}
		sameLoose(t, env)
	})
}

// FuzzParseJSON: what is read is written and read again the same, and
// encoding/json, lax as it is, finds the same in it.
func FuzzParseJSON(f *testing.F) {
	_, texts := fuzzSeeds(f)
	for _, b := range texts {
		f.Add(b)
	}
	for _, s := range []string{"", "{}", `{"payload":"","payloadType":"","signatures":[]}`, `{"a":[{"b":-1.5e3}],"payload":"\u0041A"}`, `{"Payload":""}`, `{"x":"\ud83d\ude00"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseJSON(b)
		if err != nil {
			if l != nil {
				t.Fatalf("%q is refused and is %v", b, l)
			}
			return
		}
		env := &Envelope{Type: l.Type, Payload: l.Payload}
		for i, sig := range l.Sigs {
			env.Sigs = append(env.Sigs, Signature{By: KeyID{byte(i)}, Sig: sig})
		}
		sameLoose(t, env)
		var e struct {
			Payload, PayloadType string
			Signatures           []struct{ Sig string }
		}
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatalf("%q is no JSON to encoding/json: %v", b, err)
		}
		if e.PayloadType != l.Type || len(e.Signatures) != len(l.Sigs) {
			t.Fatalf("%q is %v, to encoding/json %v", b, l, e)
		}
		if payload, bad := decodeBase64([]byte(e.Payload), ""); bad != nil || !bytes.Equal(payload, l.Payload) {
			t.Fatalf("%q has payload %x, %v; want %x", b, payload, bad, l.Payload)
		}
	})
}

// sameLoose holds that the JSON view of env reads back as env.
func sameLoose(t *testing.T, env *Envelope) {
	t.Helper()
	l, err := ParseJSON(env.JSON())
	if err != nil {
		t.Fatalf("%s does not read back: %v", env.JSON(), err)
	}
	if l.Type != env.Type || !bytes.Equal(l.Payload, env.Payload) || len(l.Sigs) != len(env.Sigs) {
		t.Fatalf("%s reads back as %v", env.JSON(), l)
	}
	for i := range l.Sigs {
		if l.Sigs[i] != env.Sigs[i].Sig {
			t.Fatalf("signature %d is %x, want %x", i, l.Sigs[i], env.Sigs[i].Sig)
		}
	}
}

// FuzzParsePublicKeyPEM: what is read is an Ed25519 key to crypto/x509 too, is
// fit to be registered, and is written back as a PEM of the same key.
func FuzzParsePublicKeyPEM(f *testing.F) {
	good := MarshalPublicKeyPEM(publicOf(testKey("a")))
	f.Add(good)
	f.Add(append([]byte("\n"), good...))
	f.Add(bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		pub, err := ParsePublicKeyPEM(b)
		if err != nil {
			return
		}
		block, _ := pem.Decode(b)
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil || !pub.Equal(key.(crypto.PublicKey)) || CheckPublicKey(pub) != nil {
			t.Fatalf("%q reads as %x, to crypto/x509 it is %v, %v", b, pub, key, err)
		}
		if again, err := ParsePublicKeyPEM(MarshalPublicKeyPEM(pub)); err != nil || !again.Equal(pub) {
			t.Fatalf("%x reads back as %x, %v", pub, again, err)
		}
	})
}
