package checkpoint

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/obstat/obstat/report"
)

const (
	// MaxNote is the most bytes of a note that are read: 100 post-quantum
	// signatures and room for the text.
	MaxNote = 1 << 20

	// MaxSignatures is the most signature lines of a note. signed-note asks
	// for 16; golang.org/x/mod/sumdb/note has the same limit of 100.
	MaxSignatures = 100
)

const signaturePrefix = "— " // U+2014, space

// NoteSignature is one signature line, parsed and not verified.
type NoteSignature struct {
	Name string // of the key; 1..255 bytes without Unicode spaces and plus
	ID   uint32 // of the key
	Sig  []byte // what follows the four bytes of the key ID, at least one byte
}

// Line returns the signature line, with its newline.
func (s NoteSignature) Line() string {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(s.Sig)), s.ID)
	b = append(b, s.Sig...)
	return signaturePrefix + s.Name + " " + base64.StdEncoding.EncodeToString(b) + "\n"
}

// Note is a signed note (C2SP signed-note), parsed and not verified. No two
// lines share name and ID.
type Note struct {
	Text string // ends in a newline
	Sigs []NoteSignature
}

// ParseNote reads a signed note. Bytes returns the same bytes again. It is
// stricter than the specification where that is silent: base64 has its one
// spelling, names have at most 255 bytes, and two lines of one name and key ID
// are refused, since a reader that verifies one of them and a reader that
// verifies the other would answer differently (C2SP/C2SP issue 257).
// Errors: NOTE-MALFORMED, NOTE-TOO-LARGE, NOTE-DUPLICATE-SIGNATURE.
func ParseNote(b []byte) (*Note, error) {
	if len(b) > MaxNote {
		return nil, malformed(report.CodeNoteTooLarge, "note", strconv.Itoa(MaxNote)+" bytes at most", strconv.Itoa(len(b)))
	}
	s := string(b)
	if !utf8.ValidString(s) {
		return nil, badNote("note", "valid UTF-8", "other bytes")
	}
	if i := strings.IndexFunc(s, isControl); i >= 0 {
		return nil, badNote("byte "+strconv.Itoa(i), "no control character but newline", quote(s[i:i+1]))
	}
	split := strings.LastIndex(s, "\n\n")
	if split < 0 {
		return nil, badNote("note", "a text, an empty line and signature lines", "no empty line")
	}
	n := &Note{Text: s[:split+1]}
	rest := s[split+2:]
	if rest == "" {
		return nil, badNote("note", "at least one signature line", "none")
	}
	for rest != "" {
		where := "signature line " + strconv.Itoa(len(n.Sigs)+1)
		line, after, ok := strings.Cut(rest, "\n")
		if !ok {
			return nil, badNote(where, "a newline at the end", quote(line))
		}
		if len(n.Sigs) == MaxSignatures {
			return nil, malformed(report.CodeNoteTooLarge, "note", strconv.Itoa(MaxSignatures)+" signature lines at most", "more")
		}
		sig, err := parseLine(where, line)
		if err != nil {
			return nil, err
		}
		for _, other := range n.Sigs {
			if other.ID == sig.ID && other.Name == sig.Name {
				return nil, malformed(report.CodeNoteDuplicate, where, "a name and key ID that no line before has", keyText(sig.Name, sig.ID))
			}
		}
		n.Sigs, rest = append(n.Sigs, sig), after
	}
	if !bytes.Equal(n.Bytes(), b) {
		return nil, badNote("note", "the one spelling of its content", "another")
	}
	return n, nil
}

func parseLine(where, line string) (NoteSignature, error) {
	line, ok := strings.CutPrefix(line, signaturePrefix)
	if !ok {
		return NoteSignature{}, badNote(where, "an em dash and a space at the beginning", quote(line))
	}
	name, sig64, _ := strings.Cut(line, " ")
	if !validName(name) {
		return NoteSignature{}, badNote(where, "a key name of 1 to 255 bytes without spaces and plus", quote(name))
	}
	sig, err := strict64.DecodeString(sig64)
	if err != nil || len(sig) < 5 {
		return NoteSignature{}, badNote(where, "the base64 of a key ID of 4 bytes and a signature", quote(sig64))
	}
	return NoteSignature{Name: name, ID: binary.BigEndian.Uint32(sig), Sig: sig[4:]}, nil
}

// NoteText returns what the signature lines of a note stand behind, of bytes that
// need not be a note; false where there is no empty line.
func NoteText(b []byte) (text string, ok bool) {
	split := bytes.LastIndex(b, []byte("\n\n"))
	if split < 0 {
		return "", false
	}
	return string(b[:split+1]), true
}

// Bytes returns the note as it is signed and sent.
func (n *Note) Bytes() []byte {
	var b bytes.Buffer
	b.WriteString(n.Text)
	b.WriteByte('\n')
	for _, s := range n.Sigs {
		b.WriteString(s.Line())
	}
	return b.Bytes()
}

// validName reports whether name can be the name of a key.
func validName(name string) bool {
	return name != "" && len(name) <= MaxName && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == '+' || unicode.IsSpace(r) })
}

func badNote(where, expected, actual string) error {
	return malformed(report.CodeNoteMalformed, where, expected, actual)
}
