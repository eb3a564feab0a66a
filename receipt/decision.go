package receipt

// Decision is an approver's answer to a judgment that escalated; its call's
// Settles names which call (spec/receipt.md#decision).
type Decision struct {
	Judgment CID    // receipt of the judgment
	Request  Digest // that judgment's request digest
	Ticket   Ticket // that judgment's ticket, preview.TicketOf
	Answer   Answer
}

// Answer is approve or reject.
type Answer string

// The two answers.
const (
	Approve Answer = "approve"
	Reject  Answer = "reject"
)
