package bundle

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// How the binary artifacts begin that say what they are: the first key of a
// canonical map. Entry bundles and tiles say nothing.
const (
	beginsLeaf       = "\xa3\x64sigs"
	beginsVocabulary = "\xa4\x64name"
)

// showBytes shows what is no text: a leaf, a vocabulary, an entry bundle or a
// hash tile.
func showBytes(r *report.Report, data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte(beginsLeaf)):
		env, err := dsse.ParseLeaf(data)
		if err != nil {
			return err
		}
		return showEnvelope(r, env.JSON())
	case bytes.HasPrefix(data, []byte(beginsVocabulary)):
		return showVocabulary(r, data)
	}
	entries := split(data)
	_, err := readEntry(entries)
	isTile := len(data)%merkle.HashSize == 0 && len(data) <= merkle.TileWidth*merkle.HashSize
	switch {
	case entries != nil && (err == nil || !isTile):
		showEntries(r, entries)
	case isTile:
		return showTile(r, data)
	default:
		return unknownInput(data)
	}
	return nil
}

// split returns the entries of a bundle, of whatever width; nil where the bytes
// are none.
func split(data []byte) [][]byte {
	for width := 1; width <= merkle.TileWidth; width++ {
		// Quadratic in at most 256 entries, and the one parser that there is.
		if entries, err := merkle.ParseBundle(data, width); err == nil {
			return entries
		}
	}
	return nil
}

// readEntry reads the first of some entries as a leaf of ours.
func readEntry(entries [][]byte) (*dsse.Envelope, error) {
	if len(entries) == 0 {
		return nil, empty()
	}
	return dsse.ParseLeaf(entries[0])
}

func showEntries(r *report.Report, entries [][]byte) {
	r.Says = fmt.Sprintf("an entry bundle of %d entries", len(entries))
	for i, entry := range entries {
		says := "no leaf of this kind of log"
		if env, err := readEntry(entries[i:]); err == nil {
			says, _ = saysOf(env.Type, env.Payload)
		}
		r.AddFact("entry "+strconv.Itoa(i), fmt.Sprintf("%d bytes, leaf hash %s: %s", len(entry), merkle.LeafHash(entry), says))
	}
}

func showTile(r *report.Report, data []byte) error {
	width := len(data) / merkle.HashSize
	r.Says = fmt.Sprintf("a hash tile of width %d, if it is one: any %d bytes look alike", width, len(data))
	if width == merkle.TileWidth {
		up, err := merkle.TileRoot(data)
		if err != nil {
			return err
		}
		r.AddFact("above", up.String()+", its hash in the tile of the next level")
	}
	for i := range width {
		r.AddFact("hash "+strconv.Itoa(i), merkle.Hash(data[i*merkle.HashSize:(i+1)*merkle.HashSize]).String())
	}
	return nil
}

func showVocabulary(r *report.Report, data []byte) error {
	v, err := receipt.ParseVocabulary(data)
	if err != nil {
		return err
	}
	digest := v.Digest()
	r.Says = fmt.Sprintf("the vocabulary %s, version %d", v.Name(), v.Version())
	r.AddFact("digest", "0x"+hex.EncodeToString(digest[:])+", as a run-open pins it")
	for _, place := range receipt.Places() {
		if codes := v.Codes(place); codes != nil {
			r.AddFact(string(place), words(codes))
		}
	}
	for _, w := range v.Recoveries() {
		r.AddFact("recovery", strings.TrimSpace(fmt.Sprintf("%s %s %s", w.Class, w.Code, words(w.Hints))))
	}
	return nil
}

func words(codes []receipt.Code) string {
	out := make([]string, len(codes))
	for i, c := range codes {
		out[i] = string(c)
	}
	return strings.Join(out, " ")
}

func unknownInput(data []byte) error {
	return &report.Error{
		Code:     report.CodeInputUnknown,
		Expected: "a bundle, .tlog-proof, envelope, leaf, disclosure, registry chain, checkpoint, evidence of a fork, tile, entry bundle, vocabulary or trust file",
		Actual:   fmt.Sprintf("%d other bytes", len(data)),
	}
}

// saysOf puts the payload of an envelope into words; the second is the CID of
// its receipt, if it has one.
func saysOf(typ string, payload []byte) (says, receiptCID string) {
	says = "an envelope of type " + typ
	if typ == dsse.ReceiptType {
		if d, err := receipt.Decode(payload); err == nil {
			return describe(d).says, d.ReceiptCID.String()
		}
	}
	switch typ {
	case dsse.RegistryType:
		if s, err := trust.DecodeStatement(payload); err == nil {
			says = fmt.Sprintf("a registry statement of %s, version %d", s.Log, s.Version)
		}
	case dsse.FreezeType:
		if z, err := trust.DecodeFreeze(payload); err == nil {
			says = "the freeze of " + z.Log
			if z.Heir != nil {
				says += ", which goes on as " + z.Heir.Log
			}
		}
	case dsse.SuccessorType:
		if s, err := trust.DecodeSuccessor(payload); err == nil {
			says = fmt.Sprintf("%s as the successor of %s, which ended with %d leaves", s.Log, s.Predecessor.Log, s.Predecessor.Size)
		}
	}
	return says, ""
}
