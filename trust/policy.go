package trust

import "github.com/obstat/obstat/checkpoint"

// Policy is a C2SP tlog-policy: the logs that are accepted, the witnesses that
// are known, and which of them must have cosigned. Only ParsePolicy makes one.
type Policy struct {
	logs      []PolicyLog
	witnesses []PolicyWitness
	groups    []policyGroup
	quorum    int // index of a node: witnesses first, then groups; -1 is "none"
}

// PolicyLog is one log line. The key's name is the log's origin.
type PolicyLog struct {
	Key checkpoint.VKey
	URL string
}

// PolicyWitness is one witness line. Name means nothing outside of the file.
type PolicyWitness struct {
	Name string
	Key  checkpoint.VKey
	URL  string
}

type policyGroup struct {
	name    string
	k       int
	members []int
}

// Quorum is how the quorum rule of a policy ended for one checkpoint.
type Quorum struct {
	Met       bool
	None      bool     // the policy says "quorum none": nothing was asked
	Rule      string   // the quorum's name in the file
	Cosigned  []string // names of witnesses whose cosignatures were verified
	Witnesses int      // witnesses that the policy knows
}

// ParsePolicy reads a tlog-policy file strictly.
func ParsePolicy(b []byte) (*Policy, error) { panic("stub") }

// Logs and Witnesses return the lines in file order; the caller does not change them.
func (p *Policy) Logs() []PolicyLog          { return p.logs }
func (p *Policy) Witnesses() []PolicyWitness { return p.witnesses }

// Keys returns the keys to open a checkpoint of origin with: those of the logs
// of that name, and all witnesses.
func (p *Policy) Keys(origin string) []checkpoint.VKey { panic("stub") }

// SignedByLog returns the verified line of a log key whose name is origin.
func (p *Policy) SignedByLog(origin string, verified []checkpoint.Cosignature) (checkpoint.VKey, bool) {
	panic("stub")
}

// Evaluate applies the quorum rule to verified cosignatures.
func (p *Policy) Evaluate(verified []checkpoint.Cosignature) Quorum { panic("stub") }
