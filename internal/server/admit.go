package server

import (
	"fmt"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// submission is an envelope that was read: its form is that of a receipt's and
// its signature is bound to the signer that its statement names. Nothing is
// verified. Only parseLeaf and parseJSON make one.
type submission struct {
	envelope *dsse.Envelope
	leaf     []byte // its canonical spelling
	payload  payload
}

// payload is a statement that was read as far as its call says who signed it.
// That it is against the schema is told only to whoever could sign it.
type payload struct {
	signer    dsse.KeyID
	statement *receipt.Decoded // nil where it is against the schema
	refusal   error            // then why
}

// readPayload reads a statement once where it is good, which most are.
func readPayload(b []byte) (payload, error) {
	st, refusal := receipt.Decode(b)
	if refusal == nil {
		return payload{signer: dsse.KeyID(st.Statement.Call.By), statement: st}, nil
	}
	frame, err := receipt.DecodeFrame(b)
	if err != nil {
		return payload{}, inPayload(err)
	}
	return payload{signer: dsse.KeyID(frame.Call.By), refusal: inPayload(refusal)}, nil
}

// admitted is a submission whose signature holds under a listed key, whose
// statement is of the schema, and whose signer's role signs that kind. Only
// admit makes one.
type admitted struct {
	envelope  *dsse.Envelope
	leaf      []byte
	statement dagcbor.CID
	signer    dsse.KeyID
	registry  *registry // that all of this was checked under
}

// parseLeaf reads a body of LeafType, which it keeps.
func parseLeaf(body []byte) (*submission, error) {
	env, err := dsse.ParseLeaf(body)
	if err != nil {
		return nil, err
	}
	if err := checkType(env.Type); err != nil {
		return nil, err
	}
	if len(env.Sigs) != 1 {
		return nil, &report.Error{
			Code: report.CodeDSSESigCount, Where: "/sigs",
			Expected: "exactly 1 signature", Actual: fmt.Sprint(len(env.Sigs)),
		}
	}
	p, err := readPayload(env.Payload)
	if err != nil {
		return nil, err
	}
	if env.Sigs[0].By != p.signer {
		return nil, &report.Error{
			Code: report.CodeSignerMismatch, Where: "/sigs/0/by",
			Expected: p.signer.String() + ", the call's by", Actual: env.Sigs[0].By.String(),
		}
	}
	return &submission{envelope: env, leaf: body, payload: p}, nil
}

// parseJSON reads a body of DSSEType or JSONType.
func parseJSON(body []byte) (*submission, error) {
	loose, err := dsse.ParseJSON(body)
	if err != nil {
		return nil, err
	}
	if err := checkType(loose.Type); err != nil {
		return nil, err
	}
	p, err := readPayload(loose.Payload)
	if err != nil {
		return nil, err
	}
	env, err := loose.BindOne(p.signer)
	if err != nil {
		return nil, err
	}
	leaf, err := env.Leaf()
	if err != nil {
		return nil, err
	}
	return &submission{envelope: env, leaf: leaf, payload: p}, nil
}

// checkType refuses every payloadType but a receipt's.
func checkType(payloadType string) error {
	switch payloadType {
	case dsse.ReceiptType:
		return nil
	case dsse.RegistryType, dsse.FreezeType, dsse.SuccessorType:
		return &report.Error{
			Code:     report.CodeRegistryElsewhere,
			Expected: dsse.ReceiptType,
			Actual:   payloadType,
			Fix:      "a registry statement is no receipt: submit it to /v1/registry",
		}
	}
	return &report.Error{Code: report.CodePayloadType, Expected: dsse.ReceiptType, Actual: fmt.Sprintf("%q", payloadType)}
}

// admit makes every check of a submission that needs no place in the log:
// key known (before any signature is checked), signature, schema, role.
func (s *Server) admit(sub *submission) (*admitted, error) {
	registry := s.registry.durable(s.log.Size())
	if _, err := dsse.Verify(sub.envelope, registry.Public); err != nil {
		return nil, err
	}
	st, signer := sub.payload.statement, sub.payload.signer
	if st == nil {
		return nil, sub.payload.refusal
	}
	if err := registry.role(signer, st.Statement.Receipt.Kind()); err != nil {
		return nil, err
	}
	return &admitted{envelope: sub.envelope, leaf: sub.leaf, statement: st.CID, signer: signer, registry: registry}, nil
}

// inPayload says that the place an error names is in the payload.
func inPayload(err error) error {
	if e, ok := err.(*report.Error); ok {
		at := *e
		at.Where = "payload"
		if e.Where != "" {
			at.Where += ", " + e.Where
		}
		return &at
	}
	return err
}
