package bundle

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
)

// Append appends the JSON form to dst. Envelopes must be what dsse.Envelope's
// JSON returned or Parse accepted: they go in as they are.
func (b *Bundle) Append(dst []byte) []byte {
	dst = append(dst, `{"mediaType":"`+MediaType+`","level":"`...)
	dst = append(dst, b.Level.String()...)
	dst = append(dst, `","envelope":`...)
	dst = append(dst, b.Envelope...)
	dst = append(dst, `,"proof":`...)
	proof := checkpoint.Proof{Index: b.Proof.Index, Hashes: b.Proof.Hashes, Checkpoint: b.Proof.Checkpoint}
	dst = appendString(dst, proof.Bytes())
	if b.Registry != nil {
		dst = append(dst, `,"registry":`...)
		dst = appendLeaves(dst, b.Registry)
	}
	if b.Disclosures != nil {
		dst = append(dst, `,"disclosures":[`...)
		for i, d := range b.Disclosures {
			if i > 0 {
				dst = append(dst, ',')
			}
			doc, err := d.MarshalJSON()
			if err != nil {
				// A Disclosure is made only from values that have a JSON form.
				panic("bundle: " + err.Error())
			}
			dst = append(dst, doc...)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// Append appends the JSON form to dst.
func (c *Chain) Append(dst []byte) []byte {
	dst = append(dst, `{"mediaType":"`+ChainMediaType+`","registry":`...)
	dst = appendLeaves(dst, c.Leaves)
	dst = append(dst, `,"checkpoint":`...)
	dst = appendString(dst, c.Checkpoint)
	return append(dst, '}')
}

func appendLeaves(dst []byte, leaves []RegistryLeaf) []byte {
	dst = append(dst, '[')
	for i, l := range leaves {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"envelope":`...)
		dst = append(dst, l.Envelope...)
		dst = append(dst, `,"index":`...)
		dst = strconv.AppendUint(dst, l.Index, 10)
		dst = append(dst, `,"proof":[`...)
		dst = appendHashes(dst, l.Proof)
		dst = append(dst, `]}`...)
	}
	return append(dst, ']')
}

func appendHashes(dst []byte, hashes []merkle.Hash) []byte {
	for i := range hashes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, hashes[i][:])
		dst = append(dst, '"')
	}
	return dst
}

// appendString appends s as a JSON string; bytes that are not UTF-8, which no
// note that was parsed has, become U+FFFD.
func appendString(dst, s []byte) []byte {
	const hexDigits = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[from:i]...)
			switch c {
			case '\n':
				dst = append(dst, '\\', 'n')
			case '"', '\\':
				dst = append(dst, '\\', c)
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[from:i]...)
			dst = append(dst, "\uFFFD"...)
			from = i + 1
		}
		i += n
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// TlogProof returns the .tlog-proof form, whose extra is the canonical leaf.
// Registry, disclosures and level stay behind. It fails where the envelope is
// not that of a receipt.
func (b *Bundle) TlogProof() ([]byte, error) {
	leaf := b.leaf
	if leaf == nil {
		loose, err := dsse.ParseJSON(b.Envelope)
		if err != nil {
			return nil, err
		}
		frame, err := receipt.DecodeFrame(loose.Payload)
		if err != nil {
			return nil, err
		}
		env, err := loose.BindOne(dsse.KeyID(frame.Call.By))
		if err != nil {
			return nil, err
		}
		if leaf, err = env.Leaf(); err != nil {
			return nil, err
		}
	}
	p := checkpoint.Proof{Extra: leaf, HasExtra: true, Index: b.Proof.Index, Hashes: b.Proof.Hashes, Checkpoint: b.Proof.Checkpoint}
	return p.Bytes(), nil
}
