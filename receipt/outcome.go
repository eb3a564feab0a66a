package receipt

// Outcome says what became of a judged call (spec/receipt.md#outcome).
type Outcome struct {
	// Of is the receipt that is settled: of a judgment, an open fault, or an
	// outcome that was unobserved or failed with restored unknown.
	Of          CID
	Request     Digest // request digest of the judgment or fault at the root
	Disposition Disposition
	Compensates *Compensates // where this effect was to undo another
}

// Compensates makes an undo an ordinary effect.
type Compensates struct {
	Outcome     CID // statement of the outcome that was to be undone
	Observation Observation
}

// Observation is Attested or Unobservable: what an undo saw before it acted.
type Observation interface {
	Word() string // as in the receipt
	isObservation()
}

// Attested says that the present state was compared with what the compensated
// outcome had recorded.
type Attested struct {
	Compared []Comparison // set by Key
}

// Comparison is one value compared. Key and Expected are byte copies of an
// entry of the compensated outcome's Wrote, and Seen is made with the salt of
// Expected, so the two are equal exactly if the values are.
type Comparison struct {
	Key      Value
	Expected Commitment
	Seen     Commitment
}

// Unobservable says why nothing could be compared.
type Unobservable struct {
	Code Code
}

const (
	wordAttested     = "attested"
	wordUnobservable = "unobservable"
)

func (Attested) Word() string       { return wordAttested }
func (Unobservable) Word() string   { return wordUnobservable }
func (Attested) isObservation()     {}
func (Unobservable) isObservation() {}
