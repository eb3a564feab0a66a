//go:build !linux

package gate

import "os"

// exchange gives two files of a directory each other's names. This system has no
// one step for it.
func exchange(dir *os.Root, a, b string, step func(string)) error {
	return exchangeInSteps(dir, a, b, step)
}
