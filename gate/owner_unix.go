//go:build unix

package gate

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// superuserOnly says whether nobody but the superuser may write to a file. An
// access list that lets others write shows in the mode, as the group's bit.
func superuserOnly(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && sys.Uid == 0 && st.Mode().Perm()&0o022 == 0
}

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
