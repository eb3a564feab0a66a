//go:build unix && !linux

package gate

import (
	"os"
	"path/filepath"
)

// superuserPath says so of a file and of every directory that leads to it.
func superuserPath(path string) bool {
	for {
		st, err := os.Lstat(path)
		if err != nil || !superuserOnly(st) {
			return false
		}
		up := filepath.Dir(path)
		if up == path {
			return true
		}
		path = up
	}
}
