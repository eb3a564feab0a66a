package checkpoint

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/obstat/obstat/report"
)

// cosignatureSize is the length of a cosignature/v1: 8 bytes of time, big
// endian, and the Ed25519 signature.
const cosignatureSize = 8 + ed25519.SignatureSize

// Cosignature is one verified line. Time is in Unix seconds, and 0 for
// TypeEd25519, which has none. It is what the cosigner says.
type Cosignature struct {
	Key  VKey
	Time uint64
}

// Opened is a checkpoint with the lines that verify under known keys, in the
// order of the note. Only Open makes one.
type Opened struct {
	Checkpoint
	Verified []Cosignature
	Unknown  int // lines of keys that are not known
	note     *Note
}

// Note returns the note that was opened. The caller does not change it.
func (o *Opened) Note() *Note { return o.note }

// Open parses a signed checkpoint and verifies every line whose name and key
// ID are those of one of keys; lines of other keys are counted and no more.
// At least one line has to verify, and one that does not refuses the whole
// note. Whether the keys that did are enough, and whether the origin is the
// one wanted, is asked by a policy.
//
// Errors: those of ParseNote and ParseBody; CHECKPOINT-SIGNATURE-INVALID;
// CHECKPOINT-UNSIGNED where no line is of a known key, so that nothing was
// checked; VKEY-AMBIGUOUS where two keys that are given have the name and ID
// of a line.
func Open(note []byte, keys []VKey) (*Opened, error) {
	n, err := ParseNote(note)
	if err != nil {
		return nil, err
	}
	c, err := ParseBody(n.Text)
	if err != nil {
		return nil, err
	}
	verified, err := n.Verify(keys)
	if err != nil {
		return nil, err
	}
	return &Opened{Checkpoint: c, Verified: verified, Unknown: len(n.Sigs) - len(verified), note: n}, nil
}

// Verify is what Open does of a note whatever its text says; the same errors.
func (n *Note) Verify(keys []VKey) ([]Cosignature, error) {
	var verified []Cosignature
	for i, sig := range n.Sigs {
		where := "signature line " + strconv.Itoa(i+1)
		key, known, err := find(keys, sig, where)
		if err != nil {
			return nil, err
		}
		if !known {
			continue
		}
		unix, ok := key.verify(n.Text, sig.Sig)
		if !ok {
			return nil, &report.Error{
				Code:     report.CodeCheckpointSignatureInvalid,
				Where:    where,
				Expected: "a signature of the text by " + key.String(),
				Actual:   "one that does not verify",
			}
		}
		verified = append(verified, Cosignature{Key: key, Time: unix})
	}
	if len(verified) == 0 {
		return nil, &report.Error{
			Code:     report.CodeCheckpointUnsigned,
			Where:    "signature lines",
			Expected: "at least one of a known key",
			Actual:   fmt.Sprintf("%d of keys that are not known", len(n.Sigs)),
		}
	}
	return verified, nil
}

// find returns the one key of a line. Both halves have to match; either alone
// says nothing.
func find(keys []VKey, sig NoteSignature, where string) (key VKey, known bool, err error) {
	for _, k := range keys {
		if k.ID != sig.ID || k.Name != sig.Name {
			continue
		}
		if known {
			return VKey{}, false, malformed(report.CodeVKeyAmbiguous, where, "one known key", "two of "+keyText(k.Name, k.ID))
		}
		key, known = k, true
	}
	return key, known, nil
}

// verify checks one signature over the text of a note and returns its time.
func (k VKey) verify(text string, sig []byte) (unix uint64, ok bool) {
	if len(k.Public) != ed25519.PublicKeySize { // a key made by hand
		return 0, false
	}
	switch k.Type {
	case TypeEd25519:
		return 0, ed25519.Verify(k.Public, []byte(text), sig)
	case TypeCosignature:
		if len(sig) != cosignatureSize {
			return 0, false
		}
		unix = binary.BigEndian.Uint64(sig)
		if unix > math.MaxInt64 {
			return 0, false
		}
		return unix, ed25519.Verify(k.Public, cosignedMessage(unix, text), sig[8:])
	default:
		return 0, false
	}
}

// cosignedMessage is what a cosignature/v1 signs (C2SP tlog-cosignature).
func cosignedMessage(unix uint64, body string) []byte {
	return fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", unix, body)
}
