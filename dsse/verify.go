package dsse

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"slices"

	"github.com/obstat/obstat/report"
)

// Verified is an envelope all of whose signatures hold. Only Verify makes one,
// and nobody can change it: what its methods hand out are copies.
type Verified struct{ env *Envelope }

// Verify checks every signature of e under the key that lookup names for its
// By. All keys are looked up before any signature is checked, so an unknown key
// costs no curve arithmetic. Keys are distinct because their ids are.
//
// The predicate is crypto/ed25519's (spec/leaf.md#signatures): cofactorless,
// S < L, R compared as bytes. Errors: KEY-UNKNOWN, SIGNATURE-INVALID, or those
// of an envelope whose form is not that of a leaf.
func Verify(e *Envelope, lookup func(KeyID) (ed25519.PublicKey, bool)) (*Verified, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	var keys [MaxSignatures]ed25519.PublicKey
	for i, s := range e.Sigs {
		pub, ok := lookup(s.By)
		if !ok {
			return nil, unknownKey(i, "a key that is known here", s.By.String())
		}
		if IDOf(pub) != s.By {
			return nil, &report.Error{
				Code:     report.CodeInternal,
				Expected: "the key with id " + s.By.String(),
				Actual:   "a key with id " + IDOf(pub).String(),
			}
		}
		keys[i] = pub
	}
	e = e.clone() // what is checked is what is kept
	pae := PAE(e.Type, e.Payload)
	for i := range e.Sigs {
		if !holds(keys[i], pae, e.Sigs[i].Sig[:]) {
			return nil, invalidSignature(i, e.Sigs[i].By)
		}
	}
	return &Verified{env: e}, nil
}

func unknownKey(i int, expected, actual string) error {
	return &report.Error{Code: report.CodeKeyUnknown, Where: fmt.Sprintf("/sigs/%d/by", i), Expected: expected, Actual: actual}
}

func invalidSignature(i int, by KeyID) error {
	return &report.Error{
		Code:     report.CodeSignatureInvalid,
		Where:    fmt.Sprintf("/sigs/%d/sig", i),
		Expected: "a signature by " + by.String() + " over this type and payload",
		Actual:   "one that does not hold",
	}
}

// holds is the one predicate for Ed25519 in this package. A key or signature of
// another length does not hold, where the standard library would panic.
func holds(pub, message, sig []byte) bool {
	return len(pub) == ed25519.PublicKeySize && ed25519.Verify(pub, message, sig)
}

// Type returns the payload type.
func (v *Verified) Type() string { return v.env.Type }

// Payload returns a copy of the bytes that were signed.
func (v *Verified) Payload() []byte { return bytes.Clone(v.env.Payload) }

// Signers returns the ids of the keys that signed, ascending.
func (v *Verified) Signers() []KeyID {
	ids := make([]KeyID, len(v.env.Sigs))
	for i := range v.env.Sigs {
		ids[i] = v.env.Sigs[i].By
	}
	return ids
}

// Leaf returns the canonical leaf, as Envelope.Leaf does.
func (v *Verified) Leaf() ([]byte, error) { return v.env.Leaf() }

// Envelope returns a copy of the envelope that was verified.
func (v *Verified) Envelope() *Envelope { return v.env.clone() }

// BindOne binds the only signature to by, without checking it; more than one is
// refused. It is for statements that name their signer in the payload. The
// envelope takes over the payload of l.
func (l *Loose) BindOne(by KeyID) (*Envelope, error) {
	if len(l.Sigs) != 1 {
		return nil, &report.Error{
			Code:     report.CodeDSSESigCount,
			Expected: "exactly 1 signature",
			Actual:   fmt.Sprint(len(l.Sigs)),
		}
	}
	e := &Envelope{Type: l.Type, Payload: l.Payload, Sigs: []Signature{{By: by, Sig: l.Sigs[0]}}}
	if err := e.check(); err != nil {
		return nil, err
	}
	return e, nil
}

// Binding is a Loose envelope whose signatures are being given their keys.
type Binding struct {
	loose *Loose
	pae   []byte
	by    []KeyID
	bound int
	tried int
}

// Bind begins to give the signatures of l their keys.
func (l *Loose) Bind() *Binding {
	return &Binding{loose: l, pae: PAE(l.Type, l.Payload), by: make([]KeyID, len(l.Sigs))}
}

// Try holds every signature that has no key yet against keys, in order, and
// returns how many have one now. It costs as many verifications as there are
// such signatures times keys.
func (b *Binding) Try(keys []ed25519.PublicKey) (bound int) {
	b.tried += len(keys)
	for i, by := range b.by {
		if by != (KeyID{}) {
			continue
		}
		at := slices.IndexFunc(keys, func(pub ed25519.PublicKey) bool { return holds(pub, b.pae, b.loose.Sigs[i][:]) })
		if at >= 0 {
			b.by[i] = IDOf(keys[at])
			b.bound++
		}
	}
	return b.bound
}

// Envelope returns the bound envelope, which takes over the payload. A signature
// that no key made is refused (SIGNATURE-NO-KEY), and so are two by one key.
func (b *Binding) Envelope() (*Envelope, error) {
	if err := checkSigCount(len(b.by)); err != nil {
		return nil, err
	}
	e := &Envelope{Type: b.loose.Type, Payload: b.loose.Payload, Sigs: make([]Signature, len(b.by))}
	for i, by := range b.by {
		if by == (KeyID{}) {
			return nil, &report.Error{
				Code:     report.CodeSignatureNoKey,
				Where:    fmt.Sprintf("/signatures/%d/sig", i),
				Expected: "a signature over this type and payload by a known key",
				Actual:   fmt.Sprintf("one by none of %d", b.tried),
			}
		}
		e.Sigs[i] = Signature{By: by, Sig: b.loose.Sigs[i]}
	}
	if err := e.arrange(); err != nil {
		return nil, err
	}
	return e, nil
}
