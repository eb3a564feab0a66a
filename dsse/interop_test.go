package dsse

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	theirs "github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/secure-systems-lab/go-securesystemslib/signerverifier"
)

// theirKey is our key as go-securesystemslib holds it, under any key id.
func theirKey(t *testing.T, key ed25519.PrivateKey, keyid string) *signerverifier.ED25519SignerVerifier {
	t.Helper()
	sv, err := signerverifier.NewED25519SignerVerifierFromSSLibKey(&signerverifier.SSLibKey{
		KeyID:  keyid,
		KeyVal: signerverifier.KeyVal{Public: hex.EncodeToString(publicOf(key)), Private: hex.EncodeToString(key.Seed())},
	})
	if err != nil {
		t.Fatal(err)
	}
	return sv
}

// TestOursVerifiesThere: go-securesystemslib reads our JSON, finds the same
// bytes, and every one of our signatures counts towards its threshold.
func TestOursVerifiesThere(t *testing.T) {
	names := strings.Split("abcdefghijklm", "")
	for _, n := range []int{1, 2, 5, 13} {
		keys := testKeys(names[:n]...)
		payload := bytes.Repeat([]byte{0, 0xff, byte(n)}, 400)
		env, err := SignMany(ReceiptType, payload, keys...)
		if err != nil {
			t.Fatal(err)
		}
		var e theirs.Envelope
		if err := json.Unmarshal(env.JSON(), &e); err != nil {
			t.Fatal(err)
		}
		var verifiers []theirs.Verifier
		for _, key := range keys {
			verifiers = append(verifiers, theirKey(t, key, IDOf(publicOf(key)).String()))
		}
		v, err := theirs.NewMultiEnvelopeVerifier(n, verifiers...)
		if err != nil {
			t.Fatal(err)
		}
		accepted, decoded, err := v.VerifyAndDecode(context.Background(), &e)
		if err != nil || len(accepted) != n || !bytes.Equal(decoded, payload) || e.PayloadType != ReceiptType {
			t.Errorf("%d signatures: %d accepted, %v", n, len(accepted), err)
		}
		e.PayloadType = RegistryType
		if _, err := v.Verify(context.Background(), &e); err == nil {
			t.Errorf("%d signatures: verifies under another type", n)
		}
		if !bytes.Equal(theirs.PAE(ReceiptType, payload), PAE(ReceiptType, payload)) {
			t.Error("PAE differs")
		}
	}
}

// TestTheirsVerifiesHere: whatever key ids it writes and in whatever order.
func TestTheirsVerifiesHere(t *testing.T) {
	names := strings.Split("abcdefghijklm", "")
	for _, n := range []int{1, 2, 5, 13} {
		keys := testKeys(names[:n]...)
		payload := bytes.Repeat([]byte{0, 0xff, byte(n)}, 401)
		var signers []theirs.Signer
		var pubs []ed25519.PublicKey
		for i, key := range keys {
			signers = append(signers, theirKey(t, key, []string{"", "misleading", names[i]}[i%3]))
			pubs = append(pubs, publicOf(key))
		}
		slices.Reverse(signers)
		s, err := theirs.NewEnvelopeSigner(signers...)
		if err != nil {
			t.Fatal(err)
		}
		e, err := s.SignPayload(context.Background(), RegistryType, payload)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(e, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		l, err := ParseJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		env, err := bindKeys(l, pubs)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Verify(env, ring(keys...))
		if err != nil || len(v.Signers()) != n || !bytes.Equal(v.Payload(), payload) || v.Type() != RegistryType {
			t.Errorf("%d signatures: %v", n, err)
		}
		// One statement, one leaf, whoever wrote the envelope.
		ours, err := SignMany(RegistryType, payload, keys...)
		if err != nil {
			t.Fatal(err)
		}
		want, err := ours.Leaf()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := v.Leaf(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d signatures: leaf %x, %v; want %x", n, got, err, want)
		}
	}
}
