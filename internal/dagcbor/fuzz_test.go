package dagcbor

import (
	"encoding/hex"
	"testing"

	"github.com/ipfs/go-cid"
)

// FuzzCheck holds Check, Parse, Node, Value and Encode against fxamacker/cbor
// and go-cid, in both directions: what one accepts the other must.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{
		"", "a0", "a2616101616202", "a2616201616102", "8201820203", "d82a450001551200", "d82a5823001220" + zeros(32),
		"d82a58250001711e20" + zeros(32), "1b001fffffffffffff", "1b0020000000000000", "3b001ffffffffffffe", "fb3ff8000000000000", "f6", "f5", "63e6b0b4", "61ff", "1817",
		"9bffffffffffffffff", "81818181818181818181818181818181a0", "8181818181818181818181818181818180", "5f4100ff", "c11a514b67b0", "a1f600", "d82ad82a4100",
	} {
		b, err := hex.DecodeString(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	if b, err := Encode(sample()); err == nil {
		f.Add(b)
	}
	o := newOracle(f)
	f.Fuzz(func(t *testing.T, b []byte) { o.judge(t, b) })
}

// FuzzParseCID: what passes is written back the same and go-cid reads the same.
func FuzzParseCID(f *testing.F) {
	for _, s := range []string{"", emptyMap, emptyMap[:58] + "j", emptyMap[:57] + "\n7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseCID(s)
		if err != nil {
			if c != (CID{}) {
				t.Fatalf("%q is refused and is %v", s, c)
			}
			return
		}
		theirs, err := cid.Decode(s)
		if err != nil || theirs.String() != s || string(theirs.Bytes()) != string(c[:]) || c.String() != s {
			t.Fatalf("%q is %v, to go-cid %v, %v", s, c, theirs, err)
		}
	})
}
