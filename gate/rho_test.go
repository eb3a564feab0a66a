package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/preview"
)

func rhoOf(t *testing.T, n int) preview.Rho {
	t.Helper()
	r, err := preview.Preview{Intent: preview.Tool{Server: "s", Tool: "t", Arguments: fmt.Appendf(nil, `{"n":%d}`, n)}}.Seal(secret(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every ρ is found again, by the store that kept it and by the next one, and after
// a crash in the middle of a line.
func TestStoreKeepsRho(t *testing.T) {
	dir := t.TempDir()
	open := func() *Store {
		s, err := OpenStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	has := func(s *Store, from, to int) {
		t.Helper()
		for n := from; n < to; n++ {
			if r, err := s.Rho(rhoOf(t, n).Digest()); err != nil || r.Digest() != rhoOf(t, n).Digest() {
				t.Errorf("%d: %v", n, err)
			}
		}
	}
	put := func(s *Store, n int) {
		t.Helper()
		if err := s.putRho(rhoOf(t, n)); err != nil {
			t.Fatal(err)
		}
	}
	one := open()
	for n := range 10 {
		put(one, n)
	}
	has(one, 0, 10)
	if _, err := one.Rho(rhoOf(t, 10).Digest()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what nobody kept: %v", err)
	}
	two, three := open(), open() // two of one process, at a time
	for n := 10; n < 20; n += 2 {
		put(two, n)
		put(three, n+1)
	}
	put(two, 0) // judged again
	has(open(), 0, 20)

	// The first line of a file is cut: the same request can be judged again.
	four := open()
	put(four, 20)
	file := filepath.Join(dir, rhoDir, rhoOf(t, 20).Digest().String()+rhoSuffix)
	if err := os.Truncate(file, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := open().Rho(rhoOf(t, 20).Digest()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a line: %v", err)
	}
	five := open()
	put(five, 20)
	put(five, 21)
	has(open(), 0, 22)
}
