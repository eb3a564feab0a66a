package corpusgen

import (
	"encoding/hex"
	"strings"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/report"
)

// canonicalForm: single blocks, written byte by byte.
func canonicalForm(b *builder) {
	b.in("canonical-form")
	b.about("encoding.md#canonical-form")
	for _, c := range []struct{ name, hex, why string }{
		{"empty-map", "a0", "the smallest map"},
		{"zero", "00", "an integer below 24 is its own head"},
		{"twenty-three", "17", "the largest integer without a byte behind the head"},
		{"twenty-four", "1818", "the smallest integer with one byte behind the head"},
		{"one-byte-integer", "18ff", "the largest integer with one byte"},
		{"two-byte-integer", "190100", "the smallest integer with two bytes"},
		{"four-byte-integer", "1a00010000", "the smallest integer with four bytes"},
		{"eight-byte-integer", "1b0000000100000000", "the smallest integer with eight bytes"},
		{"largest-integer", "1b001fffffffffffff", "2^53-1"},
		{"smallest-integer", "3b001ffffffffffffe", "-(2^53-1)"},
		{"minus-one", "20", "a negative integer"},
		{"empty-bytes", "40", "a byte string of no bytes"},
		{"bytes", "4401020304", "a byte string"},
		{"empty-text", "60", "a text of no bytes"},
		{"text-in-utf8", "66c3a4e282ac21", "characters of one, two and three bytes"},
		{"text-of-four-byte-characters", "64f09f8c8d", "a character of four bytes"},
		{"text-not-normalised", "6361cc88", "a letter and a combining mark: no text is normalised"},
		{"empty-list", "80", "a list of nothing"},
		{"list-of-each-kind", "86004100616180a0f5", "one item of each kind in a list"},
		{"keys-by-length-then-bytes", "a361620062616100626162f4", "shorter keys first, then by bytes"},
		{"empty-key", "a16000", "a key of no bytes is a text like others"},
		{"true", "f5", "one of the two simple values"},
		{"false", "f4", "the other one"},
		{"link", "d82a58250001711e20" + zeros(32), "tag 42 over 0x00 and a CID of dag-cbor and BLAKE3"},
		{"link-of-another-cid", "d82a58250001551220" + zeros(32), "any well-formed CID is canonical; which one stands where is a matter of the schema"},
		{"sixteen-lists", strings.Repeat("81", 15) + "80", "sixteen levels are the most"},
		{"sixteen-maps", strings.Repeat("a16161", 15) + "a0", "sixteen levels are the most"},
	} {
		b.block(c.name, c.hex, ok(), c.why)
	}
	for _, c := range []struct {
		code           report.Code
		name, hex, why string
	}{
		{report.CodeCBORNotShortest, "integer-in-two-bytes", "1817", "23 fits the head"},
		{report.CodeCBORNotShortest, "integer-in-three-bytes", "1900ff", "255 fits one byte"},
		{report.CodeCBORNotShortest, "integer-in-five-bytes", "1a0000ffff", "65535 fits two bytes"},
		{report.CodeCBORNotShortest, "integer-in-nine-bytes", "1b00000000ffffffff", "2^32-1 fits four bytes"},
		{report.CodeCBORNotShortest, "negative-integer-in-two-bytes", "3817", "-24 fits the head"},
		{report.CodeCBORNotShortest, "length-of-bytes", "580100", "a length of 1 fits the head"},
		{report.CodeCBORNotShortest, "length-of-text", "780161", "a length of 1 fits the head"},
		{report.CodeCBORNotShortest, "length-of-key", "a178016100", "a length of 1 fits the head, in a key too"},
		{report.CodeCBORNotShortest, "count-of-list", "980100", "a count of 1 fits the head"},
		{report.CodeCBORNotShortest, "count-of-map", "b801616100", "a count of 1 fits the head"},
		{report.CodeCBORNotShortest, "tag-in-three-bytes", "d9002a58250001711e20" + zeros(32), "the head of tag 42 is d8 2a"},
		{report.CodeCBORIndefinite, "indefinite-bytes", "5f4100ff", "lengths are definite"},
		{report.CodeCBORIndefinite, "indefinite-text", "7f6161ff", "lengths are definite"},
		{report.CodeCBORIndefinite, "indefinite-list", "9f00ff", "lengths are definite"},
		{report.CodeCBORIndefinite, "indefinite-map", "bf616100ff", "lengths are definite"},
		{report.CodeCBORIndefinite, "break-alone", "ff", "nothing is there to be broken off"},
		{report.CodeCBORReserved, "additional-28", "1c", "additional information 28 does not occur"},
		{report.CodeCBORReserved, "additional-29", "5d00", "additional information 29 does not occur"},
		{report.CodeCBORReserved, "additional-30", "9e00", "additional information 30 does not occur"},
		{report.CodeCBORReserved, "simple-with-additional-28", "fc", "additional information 28 does not occur under major type 7"},
		{report.CodeCBORKeyType, "integer-key", "a10000", "map keys are texts"},
		{report.CodeCBORKeyType, "bytes-key", "a1416100", "map keys are texts"},
		{report.CodeCBORKeyType, "boolean-key", "a1f500", "map keys are texts"},
		{report.CodeCBORKeyOrder, "keys-not-by-bytes", "a26162006161f5", "b stands before a"},
		{report.CodeCBORKeyOrder, "keys-not-by-length", "a262616100616200", "the longer key stands before the shorter"},
		{report.CodeCBORKeyOrder, "keys-not-in-order-deep-inside", "81a2616200616100", "the order holds on every level"},
		{report.CodeCBORKeyDuplicate, "key-twice", "a2616100616101", "one key has one value"},
		{report.CodeCBORUTF8, "text-not-utf8", "61ff", "a byte that no character has"},
		{report.CodeCBORUTF8, "text-overlong", "62c080", "a character in more bytes than it needs"},
		{report.CodeCBORUTF8, "text-surrogate", "63eda080", "half of a surrogate pair is no character"},
		{report.CodeCBORUTF8, "text-cut", "61c3", "a character cut short"},
		{report.CodeCBORUTF8, "text-beyond-unicode", "64f4908080", "no character is above U+10FFFF"},
		{report.CodeCBORUTF8, "key-not-utf8", "a161ff00", "keys are texts like others"},
		{report.CodeCBORIntRange, "integer-too-large", "1b0020000000000000", "2^53"},
		{report.CodeCBORIntRange, "integer-too-small", "3b001fffffffffffff", "-2^53"},
		{report.CodeCBORIntRange, "integer-of-64-bits", "1bffffffffffffffff", "2^64-1"},
		{report.CodeCBORFloat, "half-float", "f93c00", "1.0 in two bytes"},
		{report.CodeCBORFloat, "single-float", "fa3f800000", "1.0 in four bytes"},
		{report.CodeCBORFloat, "double-float", "fb3ff0000000000000", "1.0 in eight bytes, which DAG-CBOR takes and this profile does not"},
		{report.CodeCBORFloat, "not-a-number", "fb7ff8000000000000", "NaN"},
		{report.CodeCBORFloat, "infinity", "f97c00", "infinity"},
		{report.CodeCBORFloat, "minus-zero", "fb8000000000000000", "-0.0"},
		{report.CodeCBORNull, "null", "f6", "an absent value is an absent key"},
		{report.CodeCBORNull, "null-in-a-map", "a16161f6", "an absent value is an absent key"},
		{report.CodeCBORSimple, "undefined", "f7", "only false and true occur"},
		{report.CodeCBORSimple, "simple-0", "e0", "only false and true occur"},
		{report.CodeCBORSimple, "simple-in-two-bytes", "f820", "only false and true occur"},
		{report.CodeCBORSimple, "false-in-two-bytes", "f814", "false has one spelling"},
		{report.CodeCBORTag, "tag-0", "c060", "a date"},
		{report.CodeCBORTag, "tag-2", "c24101", "a big number"},
		{report.CodeCBORTag, "tag-32", "d82060", "an address"},
		{report.CodeCBORTag, "tag-55799", "d9d9f7a0", "self-described CBOR"},
		{report.CodeCBORLink, "link-over-text", "d82a6161", "tag 42 holds a byte string"},
		{report.CodeCBORLink, "link-over-nothing", "d82a40", "a link is to something"},
		{report.CodeCBORLink, "link-without-zero", "d82a582401711e20" + zeros(32), "0x00 stands before the CID"},
		{report.CodeCBORLink, "link-cut", "d82a58240001711e20" + zeros(31), "the digest has 31 of its 32 bytes"},
		{report.CodeCBORLink, "link-with-a-byte-behind", "d82a58260001711e20" + zeros(33), "nothing follows the CID"},
		{report.CodeCBORDepth, "seventeen-lists", strings.Repeat("81", 16) + "80", "sixteen levels are the most"},
		{report.CodeCBORDepth, "seventeen-maps", strings.Repeat("a16161", 16) + "a0", "sixteen levels are the most"},
		{report.CodeCBORTruncated, "nothing", "", "there is no item"},
		{report.CodeCBORTruncated, "integer-cut", "19ff", "one of two bytes is missing"},
		{report.CodeCBORTruncated, "text-too-short", "646162", "two of four bytes are missing"},
		{report.CodeCBORTruncated, "list-too-short", "8200", "the second item is missing"},
		{report.CodeCBORTruncated, "map-without-value", "a16161", "the value is missing"},
		{report.CodeCBORTruncated, "list-of-too-many", "9affffffff", "a count costs nothing to claim, and nobody must reserve memory by it"},
		{report.CodeCBORTruncated, "text-of-too-many", "7b001fffffffffffff", "a length costs nothing to claim"},
		{report.CodeCBORTrailing, "a-byte-behind", "a000", "nothing follows the item"},
		{report.CodeCBORTrailing, "a-second-item", "0001", "a block is one item"},
	} {
		b.block(c.name, c.hex, no("form", c.code), c.why)
	}
}

func (b *builder) block(name, digits string, w want, why string) {
	b.t.Helper()
	data, err := hex.DecodeString(digits)
	if err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	b.one(corpus.AskBlock, name, ".cbor", data, w, why)
}

func zeros(n int) string { return strings.Repeat("00", n) }
