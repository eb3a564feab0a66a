package preview

import "github.com/obstat/obstat/internal/jcs"

// Intent is what one verb wants done, in Go values: [Exec], [Files], [HTTP],
// [Tool], [Render] or [Undo]. Each is filled from the plan when a request is judged and from the very bytes that
// are about to be fired when it is committed; equal bytes give equal digests.
type Intent interface {
	// Verb returns the name of the verb.
	Verb() string

	// normal returns a checked copy in which every list has the order of ρ.
	normal() (Intent, error)
	// members returns the members of ρ's intent that are the verb's own. It is
	// asked only of a normal intent.
	members() jcs.Object
	// changes returns the files that a normal intent changes, in the order of ρ.
	changes() []Change
}

// readIntent reads the members of an intent that are left once the common ones
// are taken. Verbs that are not known here give a foreign intent, which has a
// digest and commitments like any other.
func readIntent(verb string, m *members, changes []Change) (Intent, error) {
	switch verb {
	case VerbExec:
		return readExec(m, changes)
	case VerbFiles:
		return readFiles(m, changes)
	case VerbHTTP:
		return readHTTP(m, changes)
	case VerbTool:
		return readTool(m, changes)
	case VerbRender:
		return readRender(m, changes)
	case VerbUndo:
		return readUndo(m, changes)
	}
	f := foreign{verb: verb, own: m.left, set: changes}
	m.left = nil
	return f, nil
}

// foreign is the intent of a verb that this version does not know.
type foreign struct {
	verb string
	own  jcs.Object
	set  []Change
}

func (f foreign) Verb() string        { return f.verb }
func (f foreign) members() jcs.Object { return append(jcs.Object(nil), f.own...) }
func (f foreign) changes() []Change   { return f.set }

func (f foreign) normal() (Intent, error) {
	var err error
	f.set, err = normalChanges(f.set)
	return f, err
}
