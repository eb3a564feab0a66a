package trust

// Role is what a key may sign (spec/trust.md#roles). A key has one role for
// ever, and no key and no principal is both engine and approver.
type Role uint8

// The three roles. The zero Role is no role.
const (
	Engine    Role = iota + 1 // every receipt kind but decision
	Approver                  // decisions
	Registrar                 // registry statements
)

// String returns the word that stands in files and statements.
func (r Role) String() string {
	switch r {
	case Engine:
		return "engine"
	case Approver:
		return "approver"
	case Registrar:
		return "registrar"
	}
	return "none"
}

// ParseRole reads one of the three words, exactly.
func ParseRole(s string) (Role, bool) {
	switch s {
	case "engine":
		return Engine, true
	case "approver":
		return Approver, true
	case "registrar":
		return Registrar, true
	}
	return 0, false
}
