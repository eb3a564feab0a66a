package checkpoint

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

const oldPrefix = "old "

// AddCheckpoint is a checkpoint with the proof that its tree extends an older
// one: the body of the request of that name (C2SP tlog-witness), and the file in
// which a log and its auditors hand each other such proofs (spec/checkpoint.md#growth).
// It is parsed and not verified: the checkpoint is to be opened, and Proof is
// for merkle.VerifyConsistency, which holds the number of hashes as well.
type AddCheckpoint struct {
	Old        uint64        // size of the older tree, at most 2^63-1
	Proof      []merkle.Hash // at most merkle.MaxProof
	Checkpoint []byte        // the signed note of the newer tree, verbatim
}

// ParseAddCheckpoint reads the one spelling; Bytes returns the same bytes again.
// The checkpoint is not looked into beyond its last newline and does not alias
// b. The error is ADD-CHECKPOINT-MALFORMED.
func ParseAddCheckpoint(b []byte) (*AddCheckpoint, error) {
	line, rest, _ := bytes.Cut(b, []byte("\n"))
	old, ok := strings.CutPrefix(string(line), oldPrefix)
	if !ok {
		return nil, badAdd("line 1", `a line that begins with "old "`, quote(string(line)))
	}
	a := &AddCheckpoint{}
	if a.Old, ok = parseDecimal(old); !ok {
		return nil, badAdd("line 1", "a decimal of at most 2^63-1 without leading zeros", quote(old))
	}
	for {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return nil, badAdd("hashes", "an empty line and a checkpoint behind them", quote(string(line)))
		}
		rest = after
		if len(line) == 0 {
			break
		}
		if len(a.Proof) == merkle.MaxProof {
			return nil, badAdd("hashes", "at most "+strconv.Itoa(merkle.MaxProof), "more")
		}
		h, ok := parseHash(string(line))
		if !ok {
			return nil, badAdd("hash "+strconv.Itoa(len(a.Proof)+1), "the base64 of 32 bytes", quote(string(line)))
		}
		a.Proof = append(a.Proof, h)
	}
	if !bytes.HasSuffix(rest, []byte("\n")) {
		return nil, badAdd("checkpoint", "a signed note, which ends in a newline", quote(string(rest)))
	}
	a.Checkpoint = bytes.Clone(rest)
	return a, nil
}

// Bytes returns the spelling that ParseAddCheckpoint reads.
func (a *AddCheckpoint) Bytes() []byte {
	b := append([]byte(oldPrefix), strconv.FormatUint(a.Old, 10)...)
	b = append(b, '\n')
	for _, h := range a.Proof {
		b = base64.StdEncoding.AppendEncode(b, h[:])
		b = append(b, '\n')
	}
	b = append(b, '\n')
	return append(b, a.Checkpoint...)
}

func badAdd(where, expected, actual string) error {
	return malformed(report.CodeAddCheckpointMalformed, where, expected, actual)
}
