package trust

import "github.com/obstat/obstat/receipt"

// Role is what a key may sign (spec/trust.md#roles). A key has one role for
// ever, and no key and no principal is both engine and approver.
type Role = receipt.Role

// The three roles. The empty Role is no role.
const (
	Engine    = receipt.RoleEngine    // every receipt kind but decision
	Approver  = receipt.RoleApprover  // decisions
	Registrar = receipt.RoleRegistrar // registry statements
)

// ParseRole reads one of the three words, exactly.
func ParseRole(s string) (Role, bool) {
	switch r := Role(s); r {
	case Engine, Approver, Registrar:
		return r, true
	}
	return "", false
}
