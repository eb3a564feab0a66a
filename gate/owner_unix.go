//go:build unix

package gate

import (
	"io/fs"
	"syscall"
)

// superuserOnly says whether nobody but the superuser may write to a file. An
// access list that lets others write shows in the mode, as the group's bit.
func superuserOnly(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && sys.Uid == 0 && st.Mode().Perm()&0o022 == 0
}
