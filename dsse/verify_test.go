package dsse

import (
	"bytes"
	"crypto/ed25519"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat/report"
)

func TestVerify(t *testing.T) {
	keys := testKeys("a", "b", "c")
	env, err := SignMany(RegistryType, []byte("payload"), keys...)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Verify(env, ring(keys...))
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := env.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	want := *env.clone()
	// Nobody can change what was verified: not through the envelope that was
	// given, nor through anything that is handed out.
	env.Type, env.Payload[0] = ReceiptType, 'X'
	env.Sigs[0].Sig[0]++
	v.Payload()[0] = 'X'
	v.Envelope().Payload[0] = 'X'
	v.Envelope().Sigs[0].Sig[0]++
	v.Signers()[0][0]++
	if diff := cmp.Diff(&want, v.Envelope()); diff != "" {
		t.Errorf("what was verified has changed: %s", diff)
	}
	if got, err := v.Leaf(); err != nil || !bytes.Equal(got, leaf) {
		t.Errorf("its leaf is %x, %v", got, err)
	}
	if v.Type() != RegistryType || string(v.Payload()) != "payload" {
		t.Errorf("it is %q, %q", v.Type(), v.Payload())
	}
	ids := v.Signers()
	if len(ids) != 3 || !slices.IsSortedFunc(ids, func(a, b KeyID) int { return bytes.Compare(a[:], b[:]) }) {
		t.Errorf("signers are %v", ids)
	}
}

func TestVerifyRefuses(t *testing.T) {
	keys := testKeys("a", "b")
	sign := func() *Envelope {
		env, err := SignMany(ReceiptType, []byte("payload"), keys...)
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	refused := func(name string, env *Envelope, lookup func(KeyID) (ed25519.PublicKey, bool), code report.Code, where string) {
		t.Helper()
		v, err := Verify(env, lookup)
		e, ok := err.(*report.Error)
		if !ok || v != nil || e.Code != code || e.Where != where {
			t.Errorf("%s: %v, %v; want %s at %q", name, v, err, code, where)
		}
	}
	env := sign()
	at := slices.IndexFunc(env.Sigs, func(s Signature) bool { return s.By == IDOf(publicOf(keys[1])) })
	refused("an unknown key", env, ring(keys[0]), report.CodeKeyUnknown, []string{"/sigs/0/by", "/sigs/1/by"}[at])
	refused("no key", sign(), ring(), report.CodeKeyUnknown, "/sigs/0/by")

	env = sign()
	env.Type = RegistryType
	refused("another type", env, ring(keys...), report.CodeSignatureInvalid, "/sigs/0/sig")
	env = sign()
	env.Payload = append(env.Payload, 0)
	refused("another payload", env, ring(keys...), report.CodeSignatureInvalid, "/sigs/0/sig")
	env = sign()
	env.Sigs[1].Sig[40] ^= 1
	refused("the second signature bad", env, ring(keys...), report.CodeSignatureInvalid, "/sigs/1/sig")
	env = sign()
	env.Sigs[0].Sig, env.Sigs[1].Sig = env.Sigs[1].Sig, env.Sigs[0].Sig
	refused("signatures exchanged", env, ring(keys...), report.CodeSignatureInvalid, "/sigs/0/sig")
	env = sign()
	copy(env.Sigs[0].Sig[:], ed25519.Sign(keys[1-at], env.Payload)) // over the bare payload
	refused("a signature not over the PAE", env, ring(keys...), report.CodeSignatureInvalid, "/sigs/0/sig")

	wrong := func(KeyID) (ed25519.PublicKey, bool) { return publicOf(testKey("c")), true }
	refused("a lookup that errs", sign(), wrong, report.CodeInternal, "")
	short := func(KeyID) (ed25519.PublicKey, bool) { return nil, true }
	refused("a lookup without a key", sign(), short, report.CodeInternal, "")
	zero := sign()
	zero.Sigs = []Signature{{Sig: zero.Sigs[0].Sig}}
	refused("the id that no key has", zero, short, report.CodeSignatureInvalid, "/sigs/0/sig")
}

// TestUnknownKeyCostsNoArithmetic: all keys are looked up first.
func TestUnknownKeyCostsNoArithmetic(t *testing.T) {
	keys := testKeys("a", "b", "c")
	env, err := SignMany("t", nil, keys...)
	if err != nil {
		t.Fatal(err)
	}
	env.Sigs[0].Sig = [64]byte{} // would be refused as SIGNATURE-INVALID
	last := env.Sigs[2].By
	_, err = Verify(env, func(id KeyID) (ed25519.PublicKey, bool) {
		if id == last {
			return nil, false
		}
		return ring(keys...)(id)
	})
	if report.CodeOf(err) != report.CodeKeyUnknown {
		t.Errorf("got %v", err)
	}
}

func TestBind(t *testing.T) {
	keys := testKeys("a", "b", "c")
	pubs := []ed25519.PublicKey{publicOf(keys[0]), publicOf(keys[1]), publicOf(keys[2])}
	env, err := SignMany("t", []byte("p"), keys[0], keys[2])
	if err != nil {
		t.Fatal(err)
	}
	loose := func(sigs ...[64]byte) *Loose { return &Loose{Type: "t", Payload: []byte("p"), Sigs: sigs} }
	one, two := env.Sigs[0].Sig, env.Sigs[1].Sig

	if got, err := bindKeys(loose(two, one), pubs); err != nil || cmp.Diff(env, got) != "" {
		t.Errorf("in another order: %v, %v", got, err)
	}
	if got, err := loose(one).BindOne(KeyID{1}); err != nil || got.Sigs[0] != (Signature{KeyID{1}, one}) {
		t.Errorf("BindOne makes %v, %v", got, err)
	}
	for name, tc := range map[string]struct {
		bind func() (*Envelope, error)
		code report.Code
	}{
		"one of two":           {func() (*Envelope, error) { return loose(one, two).BindOne(env.Sigs[0].By) }, report.CodeDSSESigCount},
		"one of none":          {func() (*Envelope, error) { return loose().BindOne(env.Sigs[0].By) }, report.CodeDSSESigCount},
		"none":                 {func() (*Envelope, error) { return bindKeys(loose(), pubs) }, report.CodeDSSESigCount},
		"an unknown signer":    {func() (*Envelope, error) { return bindKeys(loose(one, two), pubs[:1]) }, report.CodeSignatureNoKey},
		"no keys":              {func() (*Envelope, error) { return bindKeys(loose(one), nil) }, report.CodeSignatureNoKey},
		"keys of wrong length": {func() (*Envelope, error) { return bindKeys(loose(one), []ed25519.PublicKey{nil, pubs[0][:31]}) }, report.CodeSignatureNoKey},
		"one signature twice":  {func() (*Envelope, error) { return bindKeys(loose(one, two, one), pubs) }, report.CodeDSSESigDuplicate},
		"14":                   {func() (*Envelope, error) { return bindKeys(loose(make([][64]byte, 14)...), pubs) }, report.CodeDSSESigCount},
		"too large": {func() (*Envelope, error) {
			return (&Loose{Payload: make([]byte, MaxPayload+1), Sigs: make([][64]byte, 1)}).BindOne(KeyID{})
		}, report.CodeDSSEPayloadSize},
	} {
		if got, err := tc.bind(); report.CodeOf(err) != tc.code || got != nil {
			t.Errorf("%s: %v, %v; want %s", name, got, err, tc.code)
		}
	}
}

// TestEveryBitOfALeaf: with any one bit of a leaf changed, nothing verifies.
func TestEveryBitOfALeaf(t *testing.T) {
	key := testKey("a")
	env, err := Sign(ReceiptType, []byte("\xa1\x61k\x18*"), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := env.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := verifyLeaf(leaf, key); err != nil || v == nil {
		t.Fatal(err)
	}
	for i := range leaf {
		for bit := range 8 {
			leaf[i] ^= 1 << bit
			if _, err := verifyLeaf(leaf, key); err == nil {
				t.Errorf("byte %d, bit %d: verifies", i, bit)
			}
			leaf[i] ^= 1 << bit
		}
	}
}

func verifyLeaf(leaf []byte, key ed25519.PrivateKey) (*Verified, error) {
	env, err := ParseLeaf(leaf)
	if err != nil {
		return nil, err
	}
	return Verify(env, ring(key))
}

// TestEveryBitOfJSON: with any one bit of the JSON changed, either nothing
// verifies, or it was a bit that says nothing and the leaf is the same.
func TestEveryBitOfJSON(t *testing.T) {
	key := testKey("a")
	id := IDOf(publicOf(key))
	env, err := Sign("t", []byte("a payload"), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := env.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	text := env.JSON()
	start, end := bytes.Index(text, []byte(`"keyid"`)), bytes.Index(text, []byte(`,"sig"`))
	same := 0
	for i := range text {
		for bit := range 8 {
			text[i] ^= 1 << bit
			if l, err := ParseJSON(text); err == nil {
				if bound, err := l.BindOne(id); err == nil {
					if v, err := Verify(bound, ring(key)); err == nil {
						same++
						got, err := v.Leaf()
						if err != nil || !bytes.Equal(got, leaf) || i < start || i >= end {
							t.Errorf("byte %d, bit %d: verifies as %x, %v", i, bit, got, err)
						}
					}
				}
			}
			text[i] ^= 1 << bit
		}
	}
	if same == 0 {
		t.Error("no change of keyid was ignored")
	}
}

// bindKeys binds l to keys, which are tried in one round.
func bindKeys(l *Loose, keys []ed25519.PublicKey) (*Envelope, error) {
	b := l.Bind()
	b.Try(keys)
	return b.Envelope()
}

// TestBindInRounds: a later round tries what an earlier one left, and no more.
func TestBindInRounds(t *testing.T) {
	keys := testKeys("a", "b", "c")
	env, err := SignMany("t", []byte("p"), keys...)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ParseJSON(env.JSON())
	if err != nil {
		t.Fatal(err)
	}
	b := l.Bind()
	if n := b.Try([]ed25519.PublicKey{publicOf(keys[1])}); n != 1 {
		t.Errorf("the first round binds %d", n)
	}
	if _, err := b.Envelope(); report.CodeOf(err) != report.CodeSignatureNoKey {
		t.Errorf("half bound: %v", err)
	}
	if n := b.Try([]ed25519.PublicKey{publicOf(keys[1]), publicOf(keys[0]), publicOf(keys[2])}); n != 3 {
		t.Errorf("the second round binds %d", n)
	}
	if got, err := b.Envelope(); err != nil || cmp.Diff(env, got) != "" {
		t.Errorf("%v, %v", got, err)
	}
}
