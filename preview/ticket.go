package preview

import (
	"encoding/hex"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
	"github.com/zeebo/blake3"
)

const (
	ticketContext  = "obstat ticket v1"
	refusalContext = "obstat refusal v1"
)

// Ticket names one escalation to the person who answers it, 16 bytes
// (spec/preview.md#ticket). It is never stored in a judgment: whoever has the
// request's digest and the reasons derives it.
type Ticket [16]byte

// String returns lowercase hex.
func (t Ticket) String() string { return hex.EncodeToString(t[:]) }

// TicketOf returns the first 16 bytes of BLAKE3 derive-key, context
// "obstat ticket v1", over the DAG-CBOR list [request digest, reasons]. It
// refuses a verdict that does not escalate.
func TicketOf(request Digest, v verdict.Verdict) (t Ticket, err error) {
	if v.Arm() != verdict.ArmEscalate {
		return t, bad(report.CodePreviewTicket, "verdict", "escalate", v.Arm().String())
	}
	m, err := dagcbor.Encode(dagcbor.List{dagcbor.Bytes(request[:]), texts(v.Reasons())})
	if err != nil {
		return t, err
	}
	blake3.DeriveKey(ticketContext, m, t[:])
	return t, nil
}

// Refusal names one refusal, 32 bytes (spec/preview.md#refusal): the same for
// the same request, arm and reasons, whichever system spoke first.
type Refusal [32]byte

// String returns lowercase hex.
func (r Refusal) String() string { return hex.EncodeToString(r[:]) }

// RefusalOf returns BLAKE3 derive-key, context "obstat refusal v1", over the
// DAG-CBOR list [request digest, arm, reasons], arm being the text "deny" or
// "escalate". It refuses an admit.
func RefusalOf(request Digest, v verdict.Verdict) (r Refusal, err error) {
	if v.Arm() != verdict.ArmDeny && v.Arm() != verdict.ArmEscalate {
		return r, bad(report.CodePreviewTicket, "verdict", "deny or escalate", v.Arm().String())
	}
	m, err := dagcbor.Encode(dagcbor.List{dagcbor.Bytes(request[:]), dagcbor.Text(v.Arm().String()), texts(v.Reasons())})
	if err != nil {
		return r, err
	}
	blake3.DeriveKey(refusalContext, m, r[:])
	return r, nil
}

func texts(in []string) dagcbor.List {
	out := make(dagcbor.List, len(in))
	for i, s := range in {
		out[i] = dagcbor.Text(s)
	}
	return out
}
