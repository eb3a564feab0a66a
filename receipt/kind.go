package receipt

// Kind is the kind of a receipt, the one key of its map.
type Kind string

// The closed list of kinds.
const (
	KindRunOpen  Kind = "run-open"
	KindJudgment Kind = "judgment"
	KindDecision Kind = "decision"
	KindOutcome  Kind = "outcome"
	KindFault    Kind = "fault"
	KindGap      Kind = "gap"
	KindRunClose Kind = "run-close"
)

// Kinds is every kind, in the order of spec/receipt.md.
func Kinds() []Kind {
	return []Kind{KindRunOpen, KindJudgment, KindDecision, KindOutcome, KindFault, KindGap, KindRunClose}
}

// Receipt is one of RunOpen, Judgment, Decision, Outcome, Fault, Gap and
// RunClose, by value; there is no other.
type Receipt interface {
	Kind() Kind
	isReceipt()
}

// Role is what a registered key may sign.
type Role string

// The roles of spec/trust.md#roles.
const (
	RoleEngine    Role = "engine"
	RoleApprover  Role = "approver"
	RoleRegistrar Role = "registrar"
)

// RoleFor returns the one role whose keys may sign k: an approver for a
// decision, an engine for everything else, kinds of later versions included
// (spec/receipt.md#roles). No key signs receipts as a registrar.
func RoleFor(k Kind) Role {
	if k == KindDecision {
		return RoleApprover
	}
	return RoleEngine
}

func (RunOpen) Kind() Kind  { return KindRunOpen }
func (Judgment) Kind() Kind { return KindJudgment }
func (Decision) Kind() Kind { return KindDecision }
func (Outcome) Kind() Kind  { return KindOutcome }
func (Fault) Kind() Kind    { return KindFault }
func (Gap) Kind() Kind      { return KindGap }
func (RunClose) Kind() Kind { return KindRunClose }

func (RunOpen) isReceipt()  {}
func (Judgment) isReceipt() {}
func (Decision) isReceipt() {}
func (Outcome) isReceipt()  {}
func (Fault) isReceipt()    {}
func (Gap) isReceipt()      {}
func (RunClose) isReceipt() {}
