//go:build unix

package server

import "golang.org/x/sys/unix"

// descriptors returns how many files this process may have open at once.
func descriptors() (uint64, bool) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 0, false
	}
	return r.Cur, true
}
