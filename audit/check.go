package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

func verified(note string) report.Check {
	return report.Check{Answer: report.Verified, Code: report.CodeOK, Note: note}
}

func unchecked(code report.Code, expected, actual string) report.Check {
	return report.Check{Code: code, Expected: expected, Actual: actual}
}

func refuted(err error) report.Check {
	c := report.Check{Answer: report.Refuted, Code: report.CodeOf(err), Actual: err.Error()}
	var e *report.Error
	if errors.As(err, &e) {
		c.Expected, c.Actual = e.Expected, e.Actual
		if e.Where != "" {
			c.Actual += ", at " + e.Where
		}
	}
	return c
}

func missing(path string) report.Check {
	return unchecked(report.CodeTileMissing, "the file "+path, "none")
}

// findings keeps, by check, what is worst and of that what stands first in the
// log, and counts the rest.
type findings map[string]*finding

type finding struct {
	check report.Check
	count int
}

// add notes something that did not hold. where says the place in words.
func (f findings) add(name, where string, c report.Check) {
	if where != "" {
		c.Note = where
	}
	have := f[name]
	switch {
	case have == nil:
		f[name] = &finding{c, 1}
	case have.check.Answer != report.Refuted && c.Answer == report.Refuted:
		f[name] = &finding{c, have.count + 1}
	default:
		have.count++
	}
}

// merge adds the findings of a piece behind those that are there.
func (f findings) merge(g findings) {
	for name, x := range g {
		f.add(name, "", x.check)
		f[name].count += x.count - 1
	}
}

// check returns what is worst under a name, verified where nothing is.
func (f findings) check(name, held string) report.Check {
	x := f[name]
	if x == nil {
		return verified(held)
	}
	c := x.check
	if x.count > 1 {
		c.Note = strings.TrimPrefix(c.Note+fmt.Sprintf("; %d such findings in all", x.count), "; ")
	}
	return c
}

// tally counts leaves by what they say.
type tally map[string]uint64

func (t tally) merge(u tally) {
	for k, n := range u {
		t[k] += n
	}
}

// String lists the counts in order of their names.
func (t tally) String() string {
	names := make([]string, 0, len(t))
	for k := range t {
		names = append(names, k)
	}
	sort.Strings(names)
	for i, k := range names {
		names[i] = k + " " + strconv.FormatUint(t[k], 10)
	}
	return strings.Join(names, ", ")
}

// readFile reads at most limit bytes; a longer file is cut there, and whoever
// reads it then finds it too long or malformed.
func readFile(fsys fs.FS, path string, limit int64) ([]byte, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// The size is a hint: the file may grow, and a file system may not know.
	b := make([]byte, 0, min(max(st.Size(), 0), limit)+1)
	for {
		n, err := f.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case err == io.EOF || int64(len(b)) > limit:
			return b, nil
		case err != nil:
			return nil, err
		case len(b) == cap(b):
			b = slices.Grow(b, len(b))
		}
	}
}

// readTile reads a tile at its width, or the full one where a log has gone on
// and dropped the partial; full says which.
func readTile(fsys fs.FS, t merkle.Tile) (data []byte, full bool, err error) {
	data, err = readFile(fsys, t.Path(), merkle.TileWidth*merkle.HashSize)
	if errors.Is(err, fs.ErrNotExist) && t.Width < merkle.TileWidth {
		whole := t
		whole.Width = merkle.TileWidth
		data, err = readFile(fsys, whole.Path(), merkle.TileWidth*merkle.HashSize)
		return data, true, err
	}
	return data, t.Width == merkle.TileWidth, err
}

// holdTile compares a tile of the site with the hashes that belong into it.
func holdTile(fsys fs.FS, t merkle.Tile, want []byte) (c report.Check, ok bool, err error) {
	data, full, err := readTile(fsys, t)
	if errors.Is(err, fs.ErrNotExist) {
		return missing(t.Path()), false, nil
	}
	if err != nil {
		return c, false, err
	}
	if full {
		t.Width = merkle.TileWidth
	}
	if err := merkle.CheckTile(t, data); err != nil {
		return refuted(err), false, nil
	}
	for i := 0; i < len(want); i += merkle.HashSize {
		if string(data[i:i+merkle.HashSize]) != string(want[i:i+merkle.HashSize]) {
			return refuted(&report.Error{
				Code: report.CodeTileMismatch, Where: fmt.Sprintf("%s, hash %d", t.Path(), i/merkle.HashSize),
				Expected: merkle.Hash(want[i : i+merkle.HashSize]).String(), Actual: merkle.Hash(data[i : i+merkle.HashSize]).String(),
			}), false, nil
		}
	}
	return c, true, nil
}
