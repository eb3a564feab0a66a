package receipt

// Disposition is one of Committed, Diverged, Refused, Rejected, Expired,
// Cancelled, Stale, Withheld, Rendered, Failed and Unobserved
// (spec/receipt.md#dispositions). Those that refuse carry a Recovery; those
// after an effect was attempted, and Rendered, carry none.
type Disposition interface {
	Word() string // as in the receipt
	isDisposition()
}

// Committed says that the effect was fired and succeeded.
type Committed struct {
	Fired    Digest  // preview digest recomputed over what was fired
	Wrote    []Wrote // set by Key; empty: no postcondition was recorded
	Approval CID     // where the judgment escalated: statement of the decision
}

// Wrote is one postcondition: what a key holds after the effect.
type Wrote struct {
	Key   Value
	Value Commitment
}

// Diverged says that what was about to be fired was not what was judged, so it
// was not fired. Fired differs from the outcome's Request.
type Diverged struct {
	Fired    Digest
	Recovery Recovery
}

// Refused says that the engine refused at commit for a reason of its own.
type Refused struct {
	Code     Code
	Recovery Recovery
}

// Rejected says that a person said no.
type Rejected struct {
	Decision CID // statement of the decision
	Recovery Recovery
}

// Expired says that nobody answered in time; silence is a denial.
type Expired struct {
	Recovery Recovery
}

// Cancelled says that the call was withdrawn, discarded or replaced before it
// was committed.
type Cancelled struct {
	Code     Code
	Recovery Recovery
}

// Stale says that a value which the judgment had read had moved; nothing was
// applied. Expected and Seen differ and are made with the same salt.
type Stale struct {
	Key      Value
	Expected Commitment
	Seen     Commitment
	Recovery Recovery
}

// Withheld says that no payload was rendered.
type Withheld struct {
	Code     Code
	Recovery Recovery
}

// Rendered says that a payload was rendered and not sent by this engine.
type Rendered struct {
	Digest Digest // preview digest recomputed over what was rendered
}

// Failed says that the effect was attempted and failed.
type Failed struct {
	Code     Code
	Restored Restored
	Approval CID // where the judgment escalated: statement of the decision
}

// Unobserved says that the effect may or may not have happened.
type Unobserved struct {
	Code     Code
	Approval CID // where the judgment escalated: statement of the decision
}

// Restored says whether a failed effect left the world as it was.
type Restored string

// The three answers.
const (
	RestoredYes     Restored = "yes"
	RestoredNo      Restored = "no"
	RestoredUnknown Restored = "unknown"
)

const (
	wordCommitted  = "committed"
	wordDiverged   = "diverged"
	wordRefused    = "refused"
	wordRejected   = "rejected"
	wordExpired    = "expired"
	wordCancelled  = "cancelled"
	wordStale      = "stale"
	wordWithheld   = "withheld"
	wordRendered   = "rendered"
	wordFailed     = "failed"
	wordUnobserved = "unobserved"
)

func (Committed) Word() string  { return wordCommitted }
func (Diverged) Word() string   { return wordDiverged }
func (Refused) Word() string    { return wordRefused }
func (Rejected) Word() string   { return wordRejected }
func (Expired) Word() string    { return wordExpired }
func (Cancelled) Word() string  { return wordCancelled }
func (Stale) Word() string      { return wordStale }
func (Withheld) Word() string   { return wordWithheld }
func (Rendered) Word() string   { return wordRendered }
func (Failed) Word() string     { return wordFailed }
func (Unobserved) Word() string { return wordUnobserved }

func (Committed) isDisposition()  {}
func (Diverged) isDisposition()   {}
func (Refused) isDisposition()    {}
func (Rejected) isDisposition()   {}
func (Expired) isDisposition()    {}
func (Cancelled) isDisposition()  {}
func (Stale) isDisposition()      {}
func (Withheld) isDisposition()   {}
func (Rendered) isDisposition()   {}
func (Failed) isDisposition()     {}
func (Unobserved) isDisposition() {}

// RecoveryOf returns the recovery that a disposition carries, and whether it
// carries one: exactly those that refuse do.
func RecoveryOf(d Disposition) (Recovery, bool) {
	switch d := d.(type) {
	case Diverged:
		return d.Recovery, true
	case Refused:
		return d.Recovery, true
	case Rejected:
		return d.Recovery, true
	case Expired:
		return d.Recovery, true
	case Cancelled:
		return d.Recovery, true
	case Stale:
		return d.Recovery, true
	case Withheld:
		return d.Recovery, true
	}
	return Recovery{}, false
}

// Open reports whether the disposition leaves open what happened, so that one
// later outcome may settle it: unobserved, and failed with restored unknown
// (law 4).
func Open(d Disposition) bool {
	switch d := d.(type) {
	case Unobserved:
		return true
	case Failed:
		return d.Restored == RestoredUnknown
	}
	return false
}

// ApprovalOf returns the statement of the decision that an attempt rested on,
// zero where it names none.
func ApprovalOf(d Disposition) CID {
	switch d := d.(type) {
	case Committed:
		return d.Approval
	case Failed:
		return d.Approval
	case Unobserved:
		return d.Approval
	}
	return CID{}
}

// Attempted reports whether the disposition says that the effect was fired,
// whatever came of it: committed, failed or unobserved.
func Attempted(d Disposition) bool {
	switch d.(type) {
	case Committed, Failed, Unobserved:
		return true
	}
	return false
}
