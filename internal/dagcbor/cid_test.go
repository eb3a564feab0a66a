package dagcbor

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multibase"
	"github.com/multiformats/go-multihash"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/report"
)

// The CID of the empty map, from outside this module: multihash and base32 of
// the published BLAKE3 digest.
const emptyMap = "bafyr4ia7stf7ge5tzyrsk6tskhva7sk2erkw5jqr4t4pi5pfjglrxlw3ai"

func TestSum(t *testing.T) {
	c := Sum([]byte{0xa0})
	if c.String() != emptyMap {
		t.Errorf("the empty map is %s, want %s", c, emptyMap)
	}
	if c.IsZero() || !(CID{}).IsZero() {
		t.Error("IsZero is wrong")
	}
	digest := c.Digest()
	if !bytes.Equal(c[:4], []byte{1, 0x71, 0x1e, 0x20}) || !bytes.Equal(c[4:], digest[:]) {
		t.Errorf("bytes are %x, digest %x", c, digest)
	}
	link := c.Link()
	link[5]++
	if c.String() != emptyMap {
		t.Error("Link aliases the CID")
	}
}

// TestCIDIsGoCID: go-cid reads both forms as the same CID and writes the same.
func TestCIDIsGoCID(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := Sum(rapid.SliceOf(rapid.Byte()).Draw(rt, "block"))
		theirs, err := cid.Decode(c.String())
		if err != nil || !bytes.Equal(theirs.Bytes(), c[:]) || theirs.String() != c.String() {
			rt.Fatalf("%v is %v, %v", c, theirs, err)
		}
		theirs, err = cid.Cast(c[:])
		if err != nil || theirs.String() != c.String() || theirs.Type() != cid.DagCBOR {
			rt.Fatalf("%v is %v, %v", c, theirs, err)
		}
		back, err := ParseCID(c.String())
		if err != nil || back != c {
			rt.Fatalf("%v reads back as %v, %v", c, back, err)
		}
		back, err = CIDFromBytes(c[:])
		if err != nil || back != c {
			rt.Fatalf("%x reads back as %v, %v", c, back, err)
		}
	})
}

// TestOneSpelling: of all the texts that go-cid reads as this CID, one passes.
func TestOneSpelling(t *testing.T) {
	c, err := ParseCID(emptyMap)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := cid.Cast(c[:])
	if err != nil {
		t.Fatal(err)
	}
	sha2 := func(s string) multihash.Multihash {
		h, err := multihash.Sum([]byte(s), multihash.SHA2_256, -1)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	refuse := func(s string) {
		t.Helper()
		if got, err := ParseCID(s); report.CodeOf(err) != report.CodeCIDText || got != (CID{}) {
			t.Errorf("%q reads as %v, %v", s, got, err)
		}
	}
	for name, base := range multibase.Encodings {
		text, err := theirs.StringOfBase(base)
		if err != nil {
			continue // identity and such, which go-cid does not write
		}
		if text == emptyMap {
			continue
		}
		if back, err := cid.Decode(text); err == nil && back.Equals(theirs) {
			refuse(text)
		} else {
			t.Logf("go-cid does not read %s back", name)
		}
	}
	last := strings.IndexByte(base32Digits, emptyMap[58])
	for spare := 1; spare < 4; spare++ {
		refuse(emptyMap[:58] + base32Digits[last+spare:last+spare+1])
	}
	for _, s := range []string{
		"", "b", strings.Repeat("b", 59), emptyMap[:58], emptyMap + "a", emptyMap + "=", emptyMap + "\n",
		" " + emptyMap, strings.ToUpper(emptyMap), "b" + strings.ToUpper(emptyMap[1:]), "/ipfs/" + emptyMap,
		emptyMap[:20] + "\n" + emptyMap[20:58], emptyMap[:58] + "\n", emptyMap[:58] + "=", emptyMap[:58] + "1",
		emptyMap[:30] + "0" + emptyMap[31:], emptyMap[:30] + "８" + emptyMap[33:],
		cid.NewCidV1(cid.DagCBOR, sha2("block")).String(),
		cid.NewCidV1(cid.Raw, theirs.Hash()).String(),
		"QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n", // v0
	} {
		refuse(s)
	}
	for i := range emptyMap { // any one character
		for _, ch := range "b2z" {
			changed := emptyMap[:i] + string(ch) + emptyMap[i+1:]
			if got, err := ParseCID(changed); changed != emptyMap && err == nil && (got == c || got.String() != changed) {
				t.Errorf("%q reads as %v", changed, got)
			}
		}
	}
}

func TestCIDFromBytes(t *testing.T) {
	good := Sum(nil)
	other := func(i int, v byte) []byte { b := bytes.Clone(good[:]); b[i] = v; return b }
	for name, b := range map[string][]byte{
		"nothing": nil, "short": good[:35], "long": append(bytes.Clone(good[:]), 0), "only the prefix": good[:4],
		"version 0": other(0, 0), "raw": other(1, 0x55), "sha2-256": other(2, 0x12), "31 bytes": other(3, 0x1f),
		"with 0x00 before it": append([]byte{0}, good[:]...),
	} {
		if c, err := CIDFromBytes(b); report.CodeOf(err) != report.CodeCIDForm || c != (CID{}) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}

// TestWellFormedIsGoCID: what may stand in a link is what go-cid reads as one
// whole CID.
func TestWellFormedIsGoCID(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 40),
			rapid.Custom(drawCIDBytes),
		).Draw(rt, "bytes")
		sameAsGoCID(rt, b)
	})
	for _, text := range []string{
		"", "00", "01", "0171", "01711e", "01711e00", "01711e01aa", "01711e01", "01711e01aabb", "02711e01aa",
		"01f1001e01aa", "01711e8100aa", "01ffffffffffffffff7f1e01aa", "01ffffffffffffffffff011e01aa",
		"01711effffffffffffffff7f", "1220" + zeros(32), "1220" + zeros(31), "1220" + zeros(33), "1221" + zeros(33), "1221" + zeros(32), "1320" + zeros(32),
		"011220" + zeros(32), "8100711e01aa",
	} {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		sameAsGoCID(t, b)
	}
}

// drawCIDBytes draws something close to a CID: right, or wrong by a little.
func drawCIDBytes(t *rapid.T) []byte {
	varint := rapid.OneOf(
		rapid.SampledFrom([][]byte{{0x71}, {0x55}, {0x12}, {0x1e}, {0}, {0x81, 1}, {0x81, 0}, {0x80}}),
		rapid.SliceOfN(rapid.ByteRange(0x80, 0xff), 0, 9),
	)
	b := rapid.SampledFrom([][]byte{{1}, {1}, {1}, {0}, {2}, {0x12, 0x20}, {}}).Draw(t, "version")
	b = append(bytes.Clone(b), varint.Draw(t, "codec")...)
	b = append(b, varint.Draw(t, "hash")...)
	digest := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "digest")
	b = append(b, byte(len(digest)+rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "off")))
	return append(b, digest...)
}

func sameAsGoCID(t interface {
	Helper()
	Fatalf(string, ...any)
}, b []byte) {
	t.Helper()
	_, err := cid.Cast(b)
	if ours := wellFormedCID(b); ours != (err == nil) {
		t.Fatalf("%x: ours says %v, go-cid %v", b, ours, err)
	}
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }
