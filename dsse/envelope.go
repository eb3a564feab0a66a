package dsse

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"fmt"
	"slices"

	"github.com/obstat/obstat/report"
)

// Signature is one signature of an envelope: over the PAE, by the key whose
// KeyID is By.
type Signature struct {
	By  KeyID
	Sig [64]byte
}

// Envelope is a payload with signatures bound to keys, not verified. Sigs are
// strictly ascending by By, at least one, at most MaxSignatures. It owns its
// payload.
type Envelope struct {
	Type    string // the payloadType
	Payload []byte
	Sigs    []Signature
}

// Sign makes an envelope with one signature. The payload is copied.
func Sign(payloadType string, payload []byte, key ed25519.PrivateKey) (*Envelope, error) {
	return SignMany(payloadType, payload, key)
}

// SignMany makes an envelope with one signature per key, sorted. The payload is
// copied. It refuses one key given twice. A key may be kept anywhere: what signs
// Ed25519 messages as package crypto says (opts is crypto.Hash(0)) will do. What
// a key that is not in memory signs is verified before it is used.
func SignMany[K crypto.Signer](payloadType string, payload []byte, keys ...K) (*Envelope, error) {
	e := &Envelope{Type: payloadType, Payload: bytes.Clone(payload), Sigs: make([]Signature, 0, len(keys))}
	pae := PAE(payloadType, payload)
	for _, key := range keys {
		sig, err := signOne(key, pae)
		if err != nil {
			return nil, err
		}
		e.Sigs = append(e.Sigs, sig)
	}
	if err := e.arrange(); err != nil {
		return nil, err
	}
	return e, nil
}

func signOne(key crypto.Signer, pae []byte) (Signature, error) {
	if own, ok := key.(ed25519.PrivateKey); ok {
		if len(own) != ed25519.PrivateKeySize {
			return Signature{}, &report.Error{
				Code:     report.CodeKeyForm,
				Expected: fmt.Sprintf("a private key of %d bytes", ed25519.PrivateKeySize),
				Actual:   fmt.Sprintf("%d bytes", len(own)),
			}
		}
		return Signature{IDOf(ed25519.PublicKey(own[32:])), [64]byte(ed25519.Sign(own, pae))}, nil
	}
	pub, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return Signature{}, &report.Error{Code: report.CodeKeyForm, Expected: "an Ed25519 key", Actual: fmt.Sprintf("%T", key.Public())}
	}
	sig, err := key.Sign(nil, pae, crypto.Hash(0)) // Ed25519 draws nothing
	if err != nil {
		return Signature{}, err
	}
	if !holds(pub, pae, sig) {
		return Signature{}, &report.Error{Code: report.CodeSignatureInvalid, Where: "the signer", Expected: "a signature by " + IDOf(pub).String(), Actual: "another, or none"}
	}
	return Signature{IDOf(pub), [64]byte(sig)}, nil
}

// arrange sorts the signatures and checks the form of e.
func (e *Envelope) arrange() error {
	slices.SortFunc(e.Sigs, func(a, b Signature) int { return bytes.Compare(a.By[:], b.By[:]) })
	for i := 1; i < len(e.Sigs); i++ {
		if e.Sigs[i].By == e.Sigs[i-1].By {
			return &report.Error{
				Code:     report.CodeDSSESigDuplicate,
				Expected: "each key once",
				Actual:   "two signatures by " + e.Sigs[i].By.String(),
			}
		}
	}
	return e.check()
}

// check refuses an envelope whose form is not that of a leaf. It says nothing
// about whether signatures hold.
func (e *Envelope) check() error {
	if err := checkPayloadSize(len(e.Payload)); err != nil {
		return err
	}
	if err := checkSigCount(len(e.Sigs)); err != nil {
		return err
	}
	for i := 1; i < len(e.Sigs); i++ {
		if bytes.Compare(e.Sigs[i-1].By[:], e.Sigs[i].By[:]) >= 0 {
			return &report.Error{
				Code:     report.CodeDSSESigOrder,
				Where:    fmt.Sprintf("/sigs/%d/by", i),
				Expected: "key ids strictly ascending",
				Actual:   "one that is not greater than the one before it",
			}
		}
	}
	return nil
}

func checkPayloadSize(n int) error {
	if n > MaxPayload {
		return &report.Error{
			Code:     report.CodeDSSEPayloadSize,
			Expected: fmt.Sprintf("a payload of at most %d bytes", MaxPayload),
			Actual:   fmt.Sprint(n),
		}
	}
	return nil
}

func checkSigCount(n int) error {
	if n == 0 || n > MaxSignatures {
		return &report.Error{
			Code:     report.CodeDSSESigCount,
			Expected: fmt.Sprintf("1 to %d signatures", MaxSignatures),
			Actual:   fmt.Sprint(n),
		}
	}
	return nil
}

// clone returns a copy that shares nothing with e.
func (e *Envelope) clone() *Envelope {
	return &Envelope{Type: e.Type, Payload: bytes.Clone(e.Payload), Sigs: slices.Clone(e.Sigs)}
}
