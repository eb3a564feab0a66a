package merkle

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/report"
)

func TestBundleRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 300), 1, TileWidth).Draw(t, "entries")
		var b []byte
		var err error
		for _, e := range in {
			if b, err = AppendEntry(b, e); err != nil {
				t.Fatal(err)
			}
		}
		out, err := ParseBundle(b, len(in))
		if err != nil || len(out) != len(in) {
			t.Fatalf("%d entries, %v", len(out), err)
		}
		for i := range in {
			if !bytes.Equal(in[i], out[i]) || cap(out[i]) != len(out[i]) {
				t.Fatalf("entry %d: %x became %x", i, in[i], out[i])
			}
		}
		for _, width := range []int{len(in) - 1, len(in) + 1} {
			if _, err := ParseBundle(b, width); report.CodeOf(err) != report.CodeBundleMalformed {
				t.Fatalf("width %d of %d: %v", width, len(in), err)
			}
		}
		if _, err := ParseBundle(b[:len(b)-1], len(in)); report.CodeOf(err) != report.CodeBundleMalformed {
			t.Fatalf("cut by a byte: %v", err)
		}
		if _, err := ParseBundle(append(b, 0), len(in)); report.CodeOf(err) != report.CodeBundleMalformed {
			t.Fatalf("a byte more: %v", err)
		}
	})
}

func TestBundleLimits(t *testing.T) {
	largest := bytes.Repeat([]byte{7}, MaxEntry)
	var b []byte
	for range TileWidth {
		var err error
		if b, err = AppendEntry(b, largest); err != nil {
			t.Fatal(err)
		}
	}
	if len(b) != MaxBundle || MaxBundle != 16777472 {
		t.Errorf("the largest bundle has %d bytes, MaxBundle is %d", len(b), MaxBundle)
	}
	if _, err := ParseBundle(b, TileWidth); err != nil {
		t.Error(err)
	}
	same, err := AppendEntry([]byte{1, 2}, append(largest, 7))
	if report.CodeOf(err) != report.CodeEntryTooLarge || !bytes.Equal(same, []byte{1, 2}) {
		t.Errorf("an entry of 65,536 bytes: %x, %v", same, err)
	}
	for _, width := range []int{-1, 0, 257} {
		if _, err := ParseBundle(nil, width); report.CodeOf(err) != report.CodeBundleMalformed {
			t.Errorf("width %d: %v", width, err)
		}
	}
}

func FuzzParseBundle(f *testing.F) {
	f.Add([]byte{0, 0}, 1)
	f.Add([]byte{0, 3, 'o', 'n', 'e', 0, 0}, 2)
	f.Add([]byte{0xff, 0xff, 1}, 1)
	f.Add([]byte{}, 256)
	f.Fuzz(func(t *testing.T, b []byte, width int) {
		entries, err := ParseBundle(b, width)
		if err != nil {
			if report.CodeOf(err) != report.CodeBundleMalformed {
				t.Fatal(err)
			}
			return
		}
		var again []byte
		for _, e := range entries {
			if again, err = AppendEntry(again, e); err != nil {
				t.Fatal(err)
			}
		}
		if len(entries) != width || !bytes.Equal(again, b) {
			t.Fatalf("%x parses into %d entries that are %x", b, len(entries), again)
		}
	})
}
