package bundle

import "github.com/obstat/obstat/dsse"

// otherCommand is one sentence for whoever handed an artifact to the command of
// another one; empty where the bytes are none of them.
func otherCommand(command string, data []byte) string {
	what, right := "", ""
	switch {
	case len(data) == 0 || len(data) > MaxBundle:
		return ""
	case isTlogProof(data):
		what, right = "a .tlog-proof file", "bundle"
	default:
		if _, err := dsse.ParseLeaf(data); err == nil {
			what, right = "a leaf", "receipt"
		} else if _, err := dsse.ParseJSON(data); err == nil {
			what, right = "an envelope", "receipt"
		} else if _, err := Parse(data); err == nil {
			what, right = "a bundle", "bundle"
		} else if _, err := ParseChain(data); err == nil {
			return "this is a registry chain, which goes with --registry"
		}
	}
	if right == "" || right == command {
		return ""
	}
	return "this is " + what + ": verify " + right
}
