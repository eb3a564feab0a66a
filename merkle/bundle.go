package merkle

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/obstat/obstat/report"
)

const (
	// MaxEntry is the largest entry in bytes: its length is a uint16
	// (C2SP tlog-tiles, entry bundles).
	MaxEntry = 1<<16 - 1

	// MaxBundle is the largest full bundle in bytes, and so the most that
	// anyone need read of one.
	MaxBundle = TileWidth * (2 + MaxEntry)
)

// AppendEntry appends one entry to a bundle: its length as a big-endian
// uint16, then its bytes. An empty entry is legal. The error is
// ENTRY-TOO-LARGE, and bundle is then unchanged.
func AppendEntry(bundle, entry []byte) ([]byte, error) {
	if len(entry) > MaxEntry {
		return bundle, &report.Error{
			Code:     report.CodeEntryTooLarge,
			Where:    "entry",
			Expected: "at most " + strconv.Itoa(MaxEntry) + " bytes",
			Actual:   strconv.Itoa(len(entry)),
		}
	}
	bundle = binary.BigEndian.AppendUint16(bundle, uint16(len(entry)))
	return append(bundle, entry...), nil
}

// ParseBundle splits a bundle into exactly width entries, 1 to 256, with
// nothing behind them. They alias b. A bundle does not say how many entries it
// has, so width comes from the tree size (TileWidthAt). The error is
// BUNDLE-MALFORMED.
func ParseBundle(b []byte, width int) ([][]byte, error) {
	if width < 1 || width > TileWidth {
		return nil, badBundle("width", "1 to 256", strconv.Itoa(width))
	}
	entries := make([][]byte, 0, width)
	at := 0
	for len(entries) < width {
		rest := b[at:]
		if len(rest) < 2 {
			return nil, badBundle(entryAt(len(entries), at), "2 bytes of length", strconv.Itoa(len(rest)))
		}
		n := int(binary.BigEndian.Uint16(rest))
		if len(rest)-2 < n {
			return nil, badBundle(entryAt(len(entries), at), strconv.Itoa(n)+" bytes", strconv.Itoa(len(rest)-2))
		}
		entries = append(entries, rest[2:2+n:2+n])
		at += 2 + n
	}
	if at != len(b) {
		return nil, badBundle("byte "+strconv.Itoa(at), "the end after "+strconv.Itoa(width)+" entries", strconv.Itoa(len(b)-at)+" more bytes")
	}
	return entries, nil
}

func entryAt(i, at int) string { return fmt.Sprintf("entry %d, byte %d", i, at) }

func badBundle(where, expected, actual string) error {
	return &report.Error{Code: report.CodeBundleMalformed, Where: where, Expected: expected, Actual: actual}
}
