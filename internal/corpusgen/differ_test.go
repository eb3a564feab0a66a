package corpusgen

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/fstest"
	"time"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/internal/secondreader"
)

// TestTwoReadersAgree spoils files of cases at random and asks both readers: the
// verifier and the second one, which was written from the pages alone, give one
// answer to whatever comes of it. Their codes may differ where several rules are
// broken.
func TestTwoReadersAgree(t *testing.T) {
	m, files := built(t)
	fsys := mapFS(files)
	second, err := secondreader.Cases(fsys)
	if err != nil {
		t.Fatal(err)
	}
	r := drawing(t)
	rounds := 2000
	if os.Getenv("OBSTAT_HEAVY") != "" {
		rounds = 40_000
	}
	asked := 0
	for range rounds {
		i := r.IntN(len(m.Cases))
		c := &m.Cases[i]
		if secondreader.Skipped()[string(c.Command)] != "" {
			continue
		}
		path, how := spoiled(r, c, fsys)
		if path == "" {
			continue
		}
		asked++
		other := maps.Clone(fsys)
		other[path] = &fstest.MapFile{Data: how.data}
		agree(t, c, second[i], other, fmt.Sprintf("%s %s", path, how.what))
	}
	t.Logf("%d spoilt files, one answer each", asked)
}

// drawing is where samples come from: always the same ones, so that nobody
// else's change turns red by chance. OBSTAT_SEED draws those of another seed, and
// OBSTAT_SEED=new of one that nobody drew before.
func drawing(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(1)
	if s := os.Getenv("OBSTAT_SEED"); s == "new" {
		seed = uint64(time.Now().UnixNano())
	} else if s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d; OBSTAT_SEED=%d draws the same again", seed, seed)
	return rand.New(rand.NewPCG(seed, 2))
}

// agree asks both readers about one case over these files.
func agree(t *testing.T, c *corpus.Case, s secondreader.Case, fsys fstest.MapFS, how string) {
	t.Helper()
	var first string
	if rep, err := c.Report(fsys); err == nil {
		answer, _ := corpus.Of(rep)
		first = string(answer)
	} else {
		first = "none" // a trust file that is none
	}
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s, %s: the second reader panics: %v", c.Name, how, p)
		}
	}()
	answer, found, err := s.Got(fsys)
	if err != nil {
		answer = "none"
	}
	if answer != first {
		t.Errorf("%s, %s: %s, and %s %q by the second reader (%v): %s", c.Name, how, first, answer, found, err, c.Line())
	}
}

type spoilt struct {
	what string
	data []byte
}

// spoiled changes one file of a case: a bit, a byte left out, one doubled, or
// the end cut off.
func spoiled(r *rand.Rand, c *corpus.Case, fsys fstest.MapFS) (string, spoilt) {
	var paths []string
	for part, at := range c.Files {
		if part != corpus.Log {
			paths = append(paths, at)
			continue
		}
		for path := range fsys {
			if len(path) > len(at) && path[:len(at)+1] == at+"/" {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	path := paths[r.IntN(len(paths))]
	data := bytes.Clone(fsys[path].Data)
	if len(data) == 0 {
		return "", spoilt{}
	}
	i := r.IntN(len(data))
	switch r.IntN(5) {
	case 0:
		return path, spoilt{fmt.Sprintf("without byte %d", i), slices.Delete(data, i, i+1)}
	case 1:
		return path, spoilt{fmt.Sprintf("with byte %d twice", i), slices.Insert(data, i, data[i])}
	case 2:
		return path, spoilt{fmt.Sprintf("cut at %d", i), data[:i]}
	}
	bit := r.IntN(8)
	data[i] ^= 1 << bit
	return path, spoilt{fmt.Sprintf("with bit %d of byte %d flipped", bit, i), data}
}
