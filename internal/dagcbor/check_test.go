package dagcbor

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/obstat/obstat/report"
)

// TestCheckNamesTheFault holds, for every code, one block with that fault alone,
// and the byte that is named.
func TestCheckNamesTheFault(t *testing.T) {
	link := "d82a5825000171 1e20" + strings.Repeat("07", 32)
	for _, tc := range []struct {
		name, hex string
		code      report.Code
		where     int
	}{
		{"nothing", "", report.CodeCBORTruncated, 0},
		{"argument cut", "19 01", report.CodeCBORTruncated, 0},
		{"argument gone", "18", report.CodeCBORTruncated, 0},
		{"bytes cut", "82 01 43 0102", report.CodeCBORTruncated, 2},
		{"text cut", "62 61", report.CodeCBORTruncated, 0},
		{"text of 2^63-1", "7b 7fffffffffffffff 61", report.CodeCBORTruncated, 0},
		{"bytes of 2^64-1", "5b ffffffffffffffff 61", report.CodeCBORTruncated, 0},
		{"list of 2^64-1", "9b ffffffffffffffff 01", report.CodeCBORTruncated, 0},
		{"map of 2^63", "bb 8000000000000000 6161 01", report.CodeCBORTruncated, 0},
		{"map of 2 with room for 1", "a2 6161 01", report.CodeCBORTruncated, 0},
		{"list of 2 with 1 and a half", "82 01 18", report.CodeCBORTruncated, 2},
		{"list short of a byte", "82 01", report.CodeCBORTruncated, 0},
		{"item missing", "82 41 00", report.CodeCBORTruncated, 3},
		{"key cut", "a1 63 6161", report.CodeCBORTruncated, 1},
		{"value missing", "a1 61 61", report.CodeCBORTruncated, 3},
		{"tag alone", "d8 2a", report.CodeCBORTruncated, 2},
		{"link cut", "d8 2a 58 25 00", report.CodeCBORTruncated, 2},
		{"link cut by a byte", strings.TrimSuffix(link, "07"), report.CodeCBORTruncated, 2},
		{"two items", "01 02", report.CodeCBORTrailing, 1},
		{"byte behind a map", "a1 61 61 01 00", report.CodeCBORTrailing, 4},
		{"1 in one byte", "18 01", report.CodeCBORNotShortest, 0},
		{"23 in one byte", "18 17", report.CodeCBORNotShortest, 0},
		{"255 in two bytes", "19 00ff", report.CodeCBORNotShortest, 0},
		{"65535 in four bytes", "1a 0000ffff", report.CodeCBORNotShortest, 0},
		{"2^32-1 in eight bytes", "1b 00000000ffffffff", report.CodeCBORNotShortest, 0},
		{"0 in eight bytes", "1b 0000000000000000", report.CodeCBORNotShortest, 0},
		{"-1 in one byte", "38 00", report.CodeCBORNotShortest, 0},
		{"length", "81 58 00", report.CodeCBORNotShortest, 1},
		{"text length", "78 01 61", report.CodeCBORNotShortest, 0},
		{"list length", "98 01 01", report.CodeCBORNotShortest, 0},
		{"map length", "b8 01 6161 01", report.CodeCBORNotShortest, 0},
		{"key length", "a1 78 01 61 01", report.CodeCBORNotShortest, 1},
		{"tag 42 in two bytes", "d9 002a 4100", report.CodeCBORNotShortest, 0},
		{"link length", "d8 2a 59 0025 00", report.CodeCBORNotShortest, 2},
		{"indefinite bytes", "5f 41 00 ff", report.CodeCBORIndefinite, 0},
		{"indefinite text", "7f 61 61 ff", report.CodeCBORIndefinite, 0},
		{"indefinite list", "81 9f ff", report.CodeCBORIndefinite, 1},
		{"indefinite map", "bf ff", report.CodeCBORIndefinite, 0},
		{"break", "ff", report.CodeCBORIndefinite, 0},
		{"indefinite integer", "1f", report.CodeCBORReserved, 0},
		{"indefinite tag", "df", report.CodeCBORReserved, 0},
		{"reserved 28", "1c", report.CodeCBORReserved, 0},
		{"reserved 30", "9e", report.CodeCBORReserved, 0},
		{"reserved simple", "fc", report.CodeCBORReserved, 0},
		{"half float", "f9 3e00", report.CodeCBORFloat, 0},
		{"single float", "fa 3f800000", report.CodeCBORFloat, 0},
		{"double float", "82 00 fb 3ff0000000000000", report.CodeCBORFloat, 2},
		{"null", "a1 61 61 f6", report.CodeCBORNull, 3},
		{"undefined", "f7", report.CodeCBORSimple, 0},
		{"simple 0", "e0", report.CodeCBORSimple, 0},
		{"simple 19", "f3", report.CodeCBORSimple, 0},
		{"simple 24", "f8 18", report.CodeCBORSimple, 0},
		{"simple 255", "f8 ff", report.CodeCBORSimple, 0},
		{"tag 0", "c0 61 61", report.CodeCBORTag, 0},
		{"tag 41", "d8 29 4100", report.CodeCBORTag, 0},
		{"tag 55799", "d9 d9f7 00", report.CodeCBORTag, 0},
		{"tag 42 over an integer", "d8 2a 00", report.CodeCBORLink, 2},
		{"tag 42 over text", "d8 2a 61 61", report.CodeCBORLink, 2},
		{"tag 42 over tag 42", "d8 2a" + link, report.CodeCBORLink, 2},
		{"empty link", "d8 2a 40", report.CodeCBORLink, 2},
		{"link of 0x00", "d8 2a 41 00", report.CodeCBORLink, 2},
		{"link without 0x00", strings.Replace(link, "58250001", "58250101", 1), report.CodeCBORLink, 2},
		{"link of version 2", strings.Replace(link, "000171", "000271", 1), report.CodeCBORLink, 2},
		{"link with a digest too short", strings.Replace(strings.TrimSuffix(link, "07"), "5825", "5824", 1), report.CodeCBORLink, 2},
		{"link with a byte too many", strings.Replace(link+"07", "5825", "5826", 1), report.CodeCBORLink, 2},
		{"link with a codec not shortest", strings.Replace(strings.Replace(link, "0171", "01f100", 1), "5825", "5826", 1), report.CodeCBORLink, 2},
		{"2^53", "1b 0020000000000000", report.CodeCBORIntRange, 0},
		{"2^64-1", "1b ffffffffffffffff", report.CodeCBORIntRange, 0},
		{"-2^53", "3b 001fffffffffffff", report.CodeCBORIntRange, 0},
		{"-2^64", "81 3b ffffffffffffffff", report.CodeCBORIntRange, 1},
		{"a lone continuation byte", "61 80", report.CodeCBORUTF8, 0},
		{"overlong", "62 c080", report.CodeCBORUTF8, 0},
		{"surrogate", "81 63 eda080", report.CodeCBORUTF8, 1},
		{"key that is no text", "a1 61 ff 00", report.CodeCBORUTF8, 1},
		{"integer key", "a1 01 02", report.CodeCBORKeyType, 1},
		{"bytes key", "a1 41 61 02", report.CodeCBORKeyType, 1},
		{"list key", "a1 80 02", report.CodeCBORKeyType, 1},
		{"boolean key", "a1 f5 02", report.CodeCBORKeyType, 1},
		{"link key", "a1" + link + "02", report.CodeCBORKeyType, 1},
		{"shorter key later", "a2 62 6161 01 61 62 02", report.CodeCBORKeyOrder, 5},
		{"smaller key later", "a2 61 62 01 61 61 02", report.CodeCBORKeyOrder, 4},
		{"key twice", "a2 61 61 01 61 61 02", report.CodeCBORKeyDuplicate, 4},
		{"empty key twice", "a2 60 01 60 02", report.CodeCBORKeyDuplicate, 3},
		{"key twice, deep", "81 a2 61 61 80 61 61 80", report.CodeCBORKeyDuplicate, 5},
		{"17 lists", strings.Repeat("81", 16) + "80", report.CodeCBORDepth, 16},
		{"17 lists, the last ones empty", strings.Repeat("81", 15) + "82 80 80", report.CodeCBORDepth, 16},
		{"17 maps", strings.Repeat("a16161", 16) + "a0", report.CodeCBORDepth, 48},
		{"10,000 lists", strings.Repeat("81", 10000) + "00", report.CodeCBORDepth, 16},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := unhex(t, tc.hex)
			err := Check(b)
			if err == nil {
				t.Fatalf("accepts %x", b)
			}
			e, ok := err.(*report.Error)
			if !ok || e.Code != tc.code || e.Where != fmt.Sprintf("byte %d", tc.where) {
				t.Errorf("got %v, want %s at byte %d", err, tc.code, tc.where)
			}
			if e.Expected == "" || e.Actual == "" {
				t.Errorf("%v does not say what was expected and what came", err)
			}
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	for _, text := range []string{
		"00", "17", "18 18", "18ff", "19 0100", "1a 00010000", "1b 0000000100000000", "1b 001fffffffffffff",
		"20", "38 18", "3b 001ffffffffffffe", "40", "60", "80", "a0", "f4", "f5",
		"a2 60 00 61 00 01",                      // the empty key sorts first
		"a3 61 61 01 61 62 02 62 6161 03",        // by length, then bytes
		"a2 61 7a 01 62 6161 02",                 // z before aa
		"d8 2a 45 00 01 55 12 00",                // a digest of no bytes, as DAG-CBOR has it
		"d8 2a 4a 00 01 55 00 05 0001020304",     // the identity function
		"d8 2a 47 00 01 81 01 12 01 ff",          // a codec of two bytes
		"d8 2a 58 23 00 12 20" + zeros(32),       // CIDv0
		"d8 2a 58 25 00 01 71 1e 20" + zeros(32), // the one form
		strings.Repeat("81", 16) + "00",          // 16 levels and an item
		strings.Repeat("a160", 15) + "a160 6161", // 16 levels of maps
	} {
		b := unhex(t, text)
		if err := Check(b); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCheckCostsWhatIsThere: lengths that a block claims cost nothing.
func TestCheckCostsWhatIsThere(t *testing.T) {
	long := append([]byte{0x9a, 0, 1, 0, 0}, bytes.Repeat([]byte{0x80}, 65536)...)
	if n := testing.AllocsPerRun(10, func() {
		if err := Check(long); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("an accepted block costs %v allocations", n)
	}
	huge := unhex(t, "9b 00ffffffffffffff 80")
	if n := testing.AllocsPerRun(10, func() { _ = Check(huge) }); n > 10 {
		t.Errorf("a refused block costs %v allocations", n)
	}
}

// TestValidText: looking at eight bytes at once decides as utf8.Valid does,
// wherever in the block the text ends and whatever stands behind it.
func TestValidText(t *testing.T) {
	for _, piece := range []string{"\xff", "\x80", "é", "水", "\xe6\xb0"} {
		for length := range 20 {
			for at := range length + 1 {
				text := strings.Repeat("a", at) + piece + strings.Repeat("a", length-at)
				for _, behind := range []string{"", "a", "\xff", "aaaaaaaaaaaa", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
					b := []byte("\xff" + text + behind)
					if got, want := validText(b, 1, 1+len(text)), utf8.ValidString(text); got != want {
						t.Fatalf("%q before %q: %v, want %v", text, behind, got, want)
					}
				}
			}
		}
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func zeros(n int) string { return strings.Repeat("00", n) }
