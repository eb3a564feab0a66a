package checkpoint

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/report"
)

// Signature types of C2SP signed-note that are known here. ECDSA (0x02) and
// RFC 6962 tree heads (0x05) are not, and will not be.
const (
	TypeEd25519     = 0x01 // a log's own signature over the note text
	TypeCosignature = 0x04 // timestamped Ed25519 cosignature/v1
)

// VKey is a verifier key (C2SP signed-note): "name+hash+base64(type‖key)".
// ParseVKey and NewVKey are the ways to a sound one.
type VKey struct {
	Name   string
	ID     uint32 // first four bytes of SHA-256(name ‖ 0x0A ‖ type ‖ key)
	Type   byte   // TypeEd25519 or TypeCosignature
	Public ed25519.PublicKey
}

// ParseVKey reads a verifier key; String returns the same text again. Errors:
// VKEY-MALFORMED; VKEY-TYPE for a signature type that is not known; VKEY-ID;
// and those of dsse.CheckPublicKey, as for every key that comes from outside.
func ParseVKey(s string) (VKey, error) {
	parts := strings.SplitN(s, "+", 3) // base64 may have more of them
	if len(parts) != 3 {
		return VKey{}, badVKey("verifier key", "name+hash+base64", quote(s))
	}
	name, id, key64 := parts[0], parts[1], parts[2]
	key, err := strict64.DecodeString(key64)
	if err != nil || len(key) == 0 || base64.StdEncoding.EncodeToString(key) != key64 {
		return VKey{}, badVKey("verifier key", "the base64 of a signature type and a public key", quote(key64))
	}
	k, err := NewVKey(name, key[0], key[1:])
	if err != nil {
		return VKey{}, err
	}
	if want := fmt.Sprintf("%08x", k.ID); id != want {
		return VKey{}, &report.Error{Code: report.CodeVKeyID, Where: "key ID of " + name, Expected: want, Actual: quote(id)}
	}
	return k, nil
}

// NewVKey makes the verifier key of a public key. pub is copied.
func NewVKey(name string, typ byte, pub ed25519.PublicKey) (VKey, error) {
	if !validName(name) {
		return VKey{}, badVKey("key name", "1 to 255 bytes without spaces and plus", quote(name))
	}
	if typ != TypeEd25519 && typ != TypeCosignature {
		return VKey{}, &report.Error{
			Code:     report.CodeVKeyType,
			Where:    "signature type of " + name,
			Expected: "0x01 (Ed25519) or 0x04 (cosignature/v1)",
			Actual:   fmt.Sprintf("0x%02x", typ),
		}
	}
	if len(pub) != ed25519.PublicKeySize {
		return VKey{}, badVKey("public key of "+name, "32 bytes", fmt.Sprint(len(pub)))
	}
	if err := dsse.CheckPublicKey(pub); err != nil {
		return VKey{}, err
	}
	return VKey{Name: name, ID: keyID(name, typ, pub), Type: typ, Public: append(ed25519.PublicKey(nil), pub...)}, nil
}

// String returns the verifier key in its text form.
func (k VKey) String() string {
	return keyText(k.Name, k.ID) + "+" + base64.StdEncoding.EncodeToString(append([]byte{k.Type}, k.Public...))
}

func keyID(name string, typ byte, pub []byte) uint32 {
	h := sha256.New()
	h.Write([]byte(name))
	h.Write([]byte{'\n', typ})
	h.Write(pub)
	return binary.BigEndian.Uint32(h.Sum(nil))
}

// keyText names a key the way verifier keys begin.
func keyText(name string, id uint32) string { return fmt.Sprintf("%s+%08x", name, id) }

func badVKey(where, expected, actual string) error {
	return malformed(report.CodeVKeyMalformed, where, expected, actual)
}
