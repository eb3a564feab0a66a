// Package checkpoint is C2SP signed-note, tlog-checkpoint, tlog-cosignature
// and tlog-proof, parsed strictly (spec/checkpoint.md).
//
// A [Note] is parsed and not verified; an [Opened] checkpoint carries the
// signature lines that verify under the keys of the caller, and only [Open]
// makes one. A [Proof] is a parsed .tlog-proof, whose checkpoint still has to
// be opened and whose hashes still have to lead to its root.
//
// Every parser here accepts exactly what its type writes back: what parses is
// the one spelling of its value, and Bytes, Body or String returns the input.
//
// Two signature types are known, Ed25519 over the note text (0x01) and the
// timestamped Ed25519 cosignature (0x04). A verifier key of any other type is
// refused with VKEY-TYPE; a signature line by a key that is not given is
// ignored and counted, whatever its type.
package checkpoint

import (
	"strconv"

	"github.com/obstat/obstat/report"
)

func malformed(code report.Code, where, expected, actual string) error {
	return &report.Error{Code: code, Where: where, Expected: expected, Actual: actual}
}

// quote keeps an error message short and printable whatever was handed in.
func quote(s string) string {
	const most = 60
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:most]) + "…"
}
