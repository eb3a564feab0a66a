package preview

import (
	"errors"
	"fmt"
	"io"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/zeebo/blake3"
)

const (
	blindTag = "obstat blind v1"
	saltTag  = "obstat salt v1"
)

// RunSecret is the 32 random bytes of a run under which its blinds and salts
// are derived (spec/preview.md#run-secret). The engine draws them, stores them
// before run-open is sent, and never discloses them. The zero RunSecret is
// none; everything that takes one refuses it.
//
// A RunSecret does not print, format or marshal itself. It holds its key by a
// pointer so that not even a struct around it prints the bytes.
type RunSecret struct{ key *[32]byte }

// NewRunSecret returns the secret with the given 32 bytes, which it copies. It
// refuses another length and 32 zeros, which no random source draws and an
// uninitialised buffer holds.
func NewRunSecret(key []byte) (RunSecret, error) {
	if len(key) != 32 {
		return RunSecret{}, &report.Error{Code: report.CodePreviewSecret, Expected: "a run secret of 32 bytes", Actual: fmt.Sprintf("%d bytes", len(key))}
	}
	k := [32]byte(key)
	if k == [32]byte{} {
		return RunSecret{}, &report.Error{Code: report.CodePreviewSecret, Expected: "32 random bytes", Actual: "32 zeros"}
	}
	return RunSecret{&k}, nil
}

// Format writes a fixed text, whatever the verb.
func (RunSecret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "run secret (not shown)") }

var errSecret = errors.New("a run secret is not written out")

// MarshalText refuses, so that no encoder of texts writes the secret.
func (RunSecret) MarshalText() ([]byte, error) { return nil, errSecret }

// MarshalJSON refuses, as MarshalText does.
func (RunSecret) MarshalJSON() ([]byte, error) { return nil, errSecret }

// MarshalBinary refuses, as MarshalText does.
func (RunSecret) MarshalBinary() ([]byte, error) { return nil, errSecret }

// mac returns keyed BLAKE3 under the secret over the parts, one after another.
func (s RunSecret) mac(tag string, message []byte) ([32]byte, error) {
	if s.key == nil {
		return [32]byte{}, &report.Error{Code: report.CodePreviewSecret, Expected: "a run secret", Actual: "none"}
	}
	h, err := blake3.NewKeyed(s.key[:])
	if err != nil {
		return [32]byte{}, err // the key has 32 bytes
	}
	_, _ = h.WriteString(tag) // a hash never fails
	_, _ = h.Write(message)
	return [32]byte(h.Sum(nil)), nil
}

// Salt returns the salt of one place of one request
// (spec/preview.md#commitments). No two requests share one, and asking again
// gives the same.
func (s RunSecret) Salt(request Digest, field Field, name string) (Salt, error) {
	if err := checkPlace(field, name); err != nil {
		return Salt{}, err
	}
	m, err := dagcbor.Encode(dagcbor.List{dagcbor.Bytes(request[:]), dagcbor.Text(field), dagcbor.Text(name)})
	if err != nil {
		return Salt{}, err
	}
	return s.mac(saltTag, m)
}

// Disclose returns what opens the commitment to value at a place of a request:
// for values that ρ does not hold, such as postconditions. [Rho.Open] does it
// for those that it does.
func (s RunSecret) Disclose(request Digest, field Field, name string, value Value) (Disclosure, error) {
	salt, err := s.Salt(request, field, name)
	if err != nil {
		return Disclosure{}, err
	}
	return NewDisclosure(salt, field, name, value)
}
