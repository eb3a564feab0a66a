package merkle

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/obstat/obstat/report"
)

const (
	// TileWidth is the number of hashes in a full tile and of entries in a
	// full bundle; tileHeight is its logarithm.
	TileWidth  = 256
	tileHeight = 8

	// MaxLevel is the highest tile level. C2SP tlog-tiles allows 63 in the
	// grammar, but a node of level 8 would span 2^64 leaves, and a tree has
	// at most MaxSize.
	MaxLevel = 7
)

// Tile is a hash tile of C2SP tlog-tiles: Width hashes of tree level
// 8×Level, from position 256×Index on.
type Tile struct {
	Level uint
	Index uint64
	Width int // 1..256
}

// Valid reports whether some tree of at most MaxSize leaves has this tile.
func (t Tile) Valid() bool {
	if t.Level > MaxLevel || t.Width < 1 || t.Width > TileWidth {
		return false
	}
	most := uint64(MaxSize) >> (tileHeight * t.Level) // complete nodes of this level
	return t.Index <= most/TileWidth && t.Index*TileWidth+uint64(t.Width) <= most
}

// In reports whether a tree of size leaves has this tile, at this width or wider.
func (t Tile) In(size uint64) bool {
	return t.Valid() && t.Width <= TileWidthAt(t.Level, t.Index, size)
}

// Path returns the path of C2SP tlog-tiles: "tile/0/x001/x234/067" for a full
// tile, with ".p/W" behind it for a partial one. A tile that is not Valid has
// no path, and Path returns "".
func (t Tile) Path() string {
	if !t.Valid() {
		return ""
	}
	return "tile/" + strconv.FormatUint(uint64(t.Level), 10) + "/" + indexPath(t.Index, t.Width)
}

// EntriesPath returns the path of an entry bundle of width entries, 1 to 256;
// "" where no tree has that bundle.
func EntriesPath(index uint64, width int) string {
	if !(Tile{Level: 0, Index: index, Width: width}).Valid() {
		return ""
	}
	return "tile/entries/" + indexPath(index, width)
}

// indexPath cuts an index into groups of three digits, all but the last with
// an x before them, and adds the width of a partial tile.
func indexPath(index uint64, width int) string {
	s := fmt.Sprintf("%03d", index%1000)
	for index >= 1000 {
		index /= 1000
		s = fmt.Sprintf("x%03d/%s", index%1000, s)
	}
	if width < TileWidth {
		s += ".p/" + strconv.Itoa(width)
	}
	return s
}

// ParsePath reads the path of a tile or of an entry bundle; entries reports
// which, and a bundle has level 0. A path has one spelling: ParsePath accepts
// exactly what Path and EntriesPath return. The error is TILE-PATH.
func ParsePath(path string) (t Tile, entries bool, err error) {
	t, entries, ok := splitPath(path)
	if ok {
		again := t.Path()
		if entries {
			again = EntriesPath(t.Index, t.Width)
		}
		ok = again == path && path != ""
	}
	if !ok {
		return Tile{}, false, &report.Error{
			Code:     report.CodeTilePath,
			Expected: "tile/<level 0-7 or entries>/<index in groups of three digits>, with .p/<1-255> if partial",
			Actual:   strconv.Quote(clip(path)),
		}
	}
	return t, entries, nil
}

// splitPath reads the parts of a path; that they are spelled right is seen by
// writing them again.
func splitPath(path string) (t Tile, entries, ok bool) {
	rest, ok := strings.CutPrefix(path, "tile/")
	if !ok || len(path) > 64 { // longer than any valid path
		return Tile{}, false, false
	}
	level, rest, _ := strings.Cut(rest, "/")
	if level == "entries" {
		entries = true
	} else {
		n, err := strconv.ParseUint(level, 10, 8)
		if err != nil {
			return Tile{}, false, false
		}
		t.Level = uint(n)
	}
	t.Width = TileWidth
	if index, width, partial := strings.Cut(rest, ".p/"); partial {
		n, err := strconv.ParseUint(width, 10, 8)
		if err != nil {
			return Tile{}, false, false
		}
		rest, t.Width = index, int(n)
	}
	digits := strings.ReplaceAll(strings.ReplaceAll(rest, "/", ""), "x", "")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return Tile{}, false, false
	}
	t.Index = n
	return t, entries, true
}

// clip keeps an error message short whatever was handed in.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// TileWidthAt returns the width of the tile, 0 to 256, in a tree of size
// leaves; 0 where that tree has no such tile. For level 0 it is the width of
// the entry bundle as well.
func TileWidthAt(level uint, index, size uint64) int {
	if level > MaxLevel {
		return 0
	}
	nodes := size >> (tileHeight * level)
	if index > nodes/TileWidth {
		return 0
	}
	return int(min(nodes-index*TileWidth, TileWidth))
}

// NewTiles yields, level by level and from the left, the tiles that a tree of
// size to has and a tree of size from had not, or had narrower: what has to be
// written when a tree grows. Where a tile became full on the way, its partial
// widths in between are not among them.
func NewTiles(from, to uint64) iter.Seq[Tile] {
	return func(yield func(Tile) bool) {
		for level := uint(0); level <= MaxLevel && to>>(tileHeight*level) > 0; level++ {
			had, has := from>>(tileHeight*level), to>>(tileHeight*level)
			if had >= has {
				continue
			}
			for i := had / TileWidth; i <= (has-1)/TileWidth; i++ {
				if !yield(Tile{Level: level, Index: i, Width: TileWidthAt(level, i, to)}) {
					return
				}
			}
		}
	}
}
