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
// A RunSecret does not print, format or marshal itself. It holds its key inside
// a function: fmt calls no methods on the unexported fields of a struct around
// it, and follows pointers for verbs that do not fit.
type RunSecret struct{ key func() [32]byte }

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
	return RunSecret{func() [32]byte { return k }}, nil
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

// hasher returns keyed BLAKE3 under the secret. A hasher is large, so whoever
// needs many sums takes one and resets it.
func (s RunSecret) hasher() (*blake3.Hasher, error) {
	if s.key == nil {
		return nil, &report.Error{Code: report.CodePreviewSecret, Expected: "a run secret", Actual: "none"}
	}
	k := s.key()
	return blake3.NewKeyed(k[:])
}

// sumOf returns what h makes of tag ‖ message. A hash never fails.
func sumOf(h *blake3.Hasher, tag string, message []byte) (out [32]byte) {
	h.Reset()
	_, _ = h.WriteString(tag)
	_, _ = h.Write(message)
	h.Sum(out[:0])
	return out
}

// opener makes disclosures of one request under one secret.
type opener struct {
	request Digest
	salts   *blake3.Hasher
	commits *blake3.Hasher
}

func (s RunSecret) opener(request Digest) (*opener, error) {
	h, err := s.hasher()
	if err != nil {
		return nil, err
	}
	return &opener{request, h, blake3.NewDeriveKey(commitmentContext)}, nil
}

func (o *opener) salt(field Field, name string) (Salt, error) {
	m, err := dagcbor.Encode(dagcbor.List{dagcbor.Bytes(o.request[:]), dagcbor.Text(field), dagcbor.Text(name)})
	if err != nil {
		return Salt{}, err
	}
	return sumOf(o.salts, saltTag, m), nil
}

func (o *opener) disclose(item Item) (Disclosure, error) {
	if err := item.check(); err != nil {
		return Disclosure{}, err
	}
	salt, err := o.salt(item.Field, item.Name)
	if err != nil {
		return Disclosure{}, err
	}
	return commit(o.commits, salt, item)
}

// Salt returns the salt of one place of one request
// (spec/preview.md#commitments). No two requests share one, and asking again
// gives the same.
func (s RunSecret) Salt(request Digest, field Field, name string) (Salt, error) {
	if err := checkPlace(field, name); err != nil {
		return Salt{}, err
	}
	o, err := s.opener(request)
	if err != nil {
		return Salt{}, err
	}
	return o.salt(field, name)
}

// Disclose returns what opens the commitment to value at a place of a request:
// for values that ρ does not hold, such as postconditions. [Rho.Open] does it
// for those that it does.
func (s RunSecret) Disclose(request Digest, field Field, name string, value Value) (Disclosure, error) {
	o, err := s.opener(request)
	if err != nil {
		return Disclosure{}, err
	}
	return o.disclose(Item{field, name, value})
}
