// Package dsse is DSSE v1.0.2 with Ed25519: envelopes, their one canonical
// leaf spelling, strict DSSE JSON both ways, and keys.
//
// An envelope comes in as JSON ([ParseJSON], a [Loose]: its signatures are not
// bound to keys yet, because DSSE's keyid is an unauthenticated hint) or as a
// canonical leaf ([ParseLeaf], an [Envelope]). Binding ([Loose.BindOne],
// [Loose.Bind]) turns the first into the second, and [Verify] alone turns
// an Envelope into a [Verified]. Nothing reads a payload between the check and
// its use: what Verified hands out is a copy of the bytes that were checked.
//
// Which payload types and which signers are acceptable is asked by the callers.
package dsse

// Payload types. One never verifies as another, since the type is signed.
const (
	ReceiptType   = "application/vnd.obstat.receipt.v1+cbor"
	RegistryType  = "application/vnd.obstat.registry.v1+cbor"
	FreezeType    = "application/vnd.obstat.freeze.v1+cbor"
	SuccessorType = "application/vnd.obstat.successor.v1+cbor"
)

// Limits, in bytes unless named otherwise (spec/limits.md).
const (
	MaxLeaf       = 65535 // a C2SP tlog-tiles entry
	MaxPayload    = 64000
	MaxSignatures = 13 // signatures of one envelope
)
