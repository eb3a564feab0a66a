package receipt

// Request is the effect that was asked for (spec/receipt.md#request).
type Request struct {
	Verb    Name
	Digest  Digest   // preview digest (spec/preview.md)
	Task    Name     // optional
	Attempt uint64   // from 1; 0 is absent
	Inputs  []Input  // set by Name
	Changes []Change // set by Path
	Slots   []Slot   // set by Name
	Effects []Effect // set by On, then Target
	Context Context  // optional
}

// Input is one named value that the effect is made from.
type Input struct {
	Name  Name
	Value Value
}

// Change is what happens to one file: Create, Replace or Delete.
type Change struct {
	Path Value // relative, clean, inside the root, where it is in the clear
	Edit Edit
}

// Edit is Create, Replace or Delete. In the receipt a create has no `before`
// and a delete no `after`. Contents are always committed to.
type Edit interface{ isEdit() }

// Create makes a file that was not there.
type Create struct{ After Commitment }

// Replace gives a file other content.
type Replace struct{ Before, After Commitment }

// Delete removes a file.
type Delete struct{ Before Commitment }

func (Create) isEdit()  {}
func (Replace) isEdit() {}
func (Delete) isEdit()  {}

// Slot is a hole of a template and what filled it.
type Slot struct {
	Name   Name
	Value  Value
	Source Name // where the value came from
}

// Effect is one thing that the engine's own audit expects the call to touch.
type Effect struct {
	On     On
	Target Value
}

// On is what an effect touches.
type On string

// The closed list.
const (
	OnReads   On = "reads"
	OnWrites  On = "writes"
	OnExec    On = "exec"
	OnNetwork On = "network"
	OnSecrets On = "secrets"
	OnModels  On = "models"
	OnSpend   On = "spend"
	OnHuman   On = "human"
)

// Context is what the request was judged under, as far as the run-open does
// not say it. Every member is optional; the zero Context is absent.
type Context struct {
	Plan     Pin
	Lock     Pin
	Permits  Pin
	Tool     Pin
	Sandbox  Pin
	Approval Name // approval class
}

// IsZero reports whether the context says nothing.
func (c Context) IsZero() bool { return c == Context{} }
