package receipt

import "github.com/obstat/obstat/verdict"

// Judgment says that a request was judged before anything happened
// (spec/receipt.md#judgment).
type Judgment struct {
	Request Request
	Class   Class
	Ruling  Ruling
	Origin  verdict.Origin
	// Reads is what an undo must compare first, a set by Key. nil says that it
	// was not recorded, an empty list that nothing was compared.
	Reads   []Read
	Inverse Inverse
}

// Class is how grave the effect is.
type Class string

// The three classes.
const (
	Green  Class = "green"
	Yellow Class = "yellow"
	Red    Class = "red"
)

// Read is one value that the judgment rests on.
type Read struct {
	Key  Value
	Seen Commitment
}

// Inverse is Escrowed, NoInverse or Unneeded: what would undo the effect.
type Inverse interface {
	Word() string // as in the receipt
	isInverse()
}

// Escrowed says that the engine holds what undoes the effect.
type Escrowed struct {
	Delta Commitment
}

// NoInverse says that the effect cannot be undone, and why.
type NoInverse struct {
	Code Code
}

// Unneeded says that there is nothing to undo.
type Unneeded struct{}

const (
	wordEscrowed = "escrowed"
	wordNone     = "none"
	wordUnneeded = "unneeded"
)

func (Escrowed) Word() string  { return wordEscrowed }
func (NoInverse) Word() string { return wordNone }
func (Unneeded) Word() string  { return wordUnneeded }
func (Escrowed) isInverse()    {}
func (NoInverse) isInverse()   {}
func (Unneeded) isInverse()    {}
